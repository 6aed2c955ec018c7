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
    *(rule.findings for rule in none.RULES),
    *(rule.findings for rule in zero.RULES),
    *(rule.findings for rule in finite.RULES),
    *(rule.findings for rule in sizes.RULES),
    *(rule.findings for rule in order.RULES),
    *(rule.findings for rule in optimizer.RULES),
    *(rule.findings for rule in comparing.RULES),
    *(rule.findings for rule in objective.RULES),
    *(rule.findings for rule in modes.RULES),
    *(rule.findings for rule in memory.RULES),
    *(rule.findings for rule in silent.RULES),
    *(rule.findings for rule in intent.RULES),
)
