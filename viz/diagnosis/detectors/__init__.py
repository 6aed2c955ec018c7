"""The detectors: each finds one kind of trouble in what was seen, and gives the evidence."""

from collections.abc import Callable, Iterator

from viz.diagnosis.detectors import (
    comparing,
    finite,
    memory,
    modes,
    none,
    objective,
    optimizer,
    order,
    refused,
    silent,
    sizes,
    zero,
)
from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation

ALL: tuple[Callable[[Observation], Iterator[Finding]], ...] = (
    refused.find,
    none.find,
    zero.find,
    finite.find,
    sizes.find,
    order.find,
    optimizer.find,
    comparing.find,
    objective.find,
    modes.find,
    memory.find,
    silent.find,
)
