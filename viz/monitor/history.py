"""What a watch has seen, as plain numbers: a column for each watched step, a row for each layer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# What is measured of a layer at a step, and in which words it is told.
MEASURES = {
    "gradient": "gradient norm",
    "update": "update / weight",
    "activation": "mean |activation|",
    "dead": "dead or saturated",
}
ALL = (*MEASURES, "mean", "saturated")  # `dead` and `saturated` share a map
Number = float | None


@dataclass
class Column:
    """One watched step. `values[measure][layer]` is None where there is nothing to measure; `losses` is by optimizer."""

    step: int
    losses: dict[int, float] = field(default_factory=dict)
    values: dict[str, list[Number]] = field(default_factory=lambda: {name: [] for name in ALL})

    def put(self, measure: str, layer: int, number: Number) -> None:
        """Set one number; the list grows as far as it must."""
        row = self.values[measure]
        row += [None] * (layer + 1 - len(row))
        row[layer] = number

    def at(self, measure: str, layer: int) -> Number:
        """One number; `dead` is the larger of both shares that its map shows."""
        found = [self._one(measure, layer)]
        if measure == "dead":
            found.append(self._one("saturated", layer))
        return worst(found)

    def _one(self, measure: str, layer: int) -> Number:
        row = self.values[measure]
        return row[layer] if layer < len(row) else None


def worst(numbers: Iterable[Number]) -> Number:
    """The largest of several numbers; one that is not finite comes first, and None counts only alone."""
    known = [one for one in numbers if one is not None]
    astray = [one for one in known if not math.isfinite(one)]
    return astray[0] if astray else max(known, default=None)


def gathered(columns: Sequence[Column], most: int) -> list[list[Column]]:
    """The columns in at most so many groups, each of the same number but the last."""
    each = max(1, -(-len(columns) // most))
    return [list(columns[start : start + each]) for start in range(0, len(columns), each)]
