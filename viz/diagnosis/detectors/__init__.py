"""The detectors: each claims one kind of trouble, from what was seen, with its evidence."""

from collections.abc import Callable, Iterator

from viz.diagnosis.detectors import finite, learning, memory, none, silent, sizes, zero
from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation

ALL: tuple[Callable[[Observation], Iterator[Finding]], ...] = (
    none.find,
    zero.find,
    finite.find,
    sizes.find,
    learning.find,
    memory.find,
    silent.find,
)
