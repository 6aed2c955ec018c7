"""The rules: each finds one cause in what was seen, and gives the evidence."""

from viz.diagnosis.rules import (
    activation,
    comparing,
    copies,
    data,
    dimensions,
    finite,
    freezing,
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
    targets,
    terms,
    zero,
)
from viz.diagnosis.rules.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    rule
    for group in (refused, none, freezing, zero, finite, sizes, order, optimizer, comparing, dimensions, objective, targets, modes, memory, silent, intent, copies, data, terms, activation)
    for rule in group.RULES
)  # fmt: skip
