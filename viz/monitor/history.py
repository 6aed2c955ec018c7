"""What a watch has seen, as plain numbers: a column for each watched step, a row for each layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

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
    """One watched step. `values[measure][layer]` is None if there is nothing to measure; `losses` is by optimizer."""

    step: int
    losses: dict[int, float] = field(default_factory=dict)
    values: dict[str, list[Number]] = field(default_factory=lambda: {name: [] for name in ALL})

    def put(self, measure: str, layer: int, number: Number) -> None:
        """Set one number; the list grows as far as it must. One that is not finite is kept as infinity."""
        row = self.values[measure]
        row += [None] * (layer + 1 - len(row))
        row[layer] = number if number is None or math.isfinite(number) else math.inf


def table(columns: Sequence[Column], measure: str, rows: int) -> np.ndarray:
    """The numbers of a measure, a row for each layer; NaN for none. `dead` is the larger of the two shares."""
    made = np.full((rows, len(columns)), math.nan)
    for across, column in enumerate(columns):
        row = column.values[measure]
        made[: len(row), across] = row  # None becomes NaN
    return np.fmax(made, table(columns, "saturated", rows)) if measure == "dead" else made


def spans(columns: Sequence[Column], most: int) -> list[tuple[int, int]]:
    """The steps in at most so many groups, each of the same number but the last: its first and its last step."""
    each = _each(columns, most)
    groups = [columns[start : start + each] for start in range(0, len(columns), each)]
    return [(group[0].step, group[-1].step) for group in groups]


def gathered(numbers: np.ndarray, most: int) -> np.ndarray:
    """The columns of a table in at most so many groups: the largest number of each, and infinity before all others."""
    each = _each(numbers[0] if len(numbers) else (), most)
    missing = -numbers.shape[1] % each
    whole = np.pad(numbers, ((0, 0), (0, missing)), constant_values=math.nan)
    return np.fmax.reduce(whole.reshape(len(numbers), -1, each), axis=2) if whole.size else whole


def _each(columns: Sequence[object] | np.ndarray, most: int) -> int:
    return max(1, -(-len(columns) // most))
