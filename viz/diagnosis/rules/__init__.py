"""The rules: each finds one cause in what was seen, and gives the evidence."""

from viz.diagnosis.rules import (
    comparing,
    copies,
    cut,
    finite,
    freezing,
    memory,
    modes,
    optimizer,
    order,
    refused,
    silent,
    sizes,
    softmax,
    zero,
)
from viz.diagnosis.rules.rule import Rule

GROUPS = [refused, cut, freezing, zero, finite, sizes, order]
GROUPS += [optimizer, comparing, softmax, modes, memory, silent, copies]
RULES: tuple[Rule, ...] = tuple(rule for group in GROUPS for rule in group.RULES)
