"""The rules: each finds one cause in what was seen, and gives the evidence."""

from collections.abc import Callable, Iterator

from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation
from viz.diagnosis.rules import (
    comparing,
    finite,
    intent,
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

ALL: tuple[Callable[[Observation], Iterator[Finding]], ...] = (
    *(rule.findings for rule in refused.RULES),
    none.find,
    zero.find,
    *(rule.findings for rule in finite.RULES),
    sizes.find,
    *(rule.findings for rule in order.RULES),
    optimizer.find,
    comparing.find,
    objective.find,
    *(rule.findings for rule in modes.RULES),
    memory.find,
    *(rule.findings for rule in silent.RULES),
    *(rule.findings for rule in intent.RULES),
)
