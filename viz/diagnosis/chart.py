"""The sizes of activations and gradients as a table with bars: layers from input to loss, sizes on a logarithmic scale."""

from __future__ import annotations

import math

from viz.diagnosis.finding import number
from viz.diagnosis.layers import Layers

LONGEST_NAME = 30  # letters
BAR = 24  # letters of a bar, if there is room
CELL = 10  # letters of a number


def text(told: Layers, width: int = 100) -> str:
    """The table in `width` letters: the numbers of the first and the last pass, and a bar for the last gradient; empty if there is nothing to show."""
    if not told.rows:
        return ""
    ends = [0, -1] if len(told.passes) > 1 else [-1]
    span = max(CELL * len(ends), len("largest activation"))
    names = [f"{row.name} ({row.count})" if row.count > 1 else row.name for row in told.rows]
    names = [name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}" for name in names]
    wide = max(len("layer"), *map(len, names))
    low, high = _decades([size for row in told.rows for size in row.gradients])
    room = max(4, min(BAR, width - wide - 2 * span - 7))
    titles = "".join(f"{f'pass {told.passes[end]}':>{CELL}}" for end in ends)
    lines = [
        f"{'':<{wide}}  {'largest activation':>{span}}  {'largest gradient':>{span}}",
        f"{'layer':<{wide}}  {titles:>{span}}  {titles:>{span}}   1e{low} … 1e{high}",
    ]
    for name, row in zip(names, told.rows, strict=True):
        cells = ("".join(f"{_cell(sizes[end]):>{CELL}}" for end in ends) for sizes in (row.activations, row.gradients))
        numbers = "  ".join(f"{cell:>{span}}" for cell in cells)
        lines.append(f"{name:<{wide}}  {numbers}   {_bar(row.gradients[-1], low, high, room)}".rstrip())
    return "\n".join(lines)


def _decades(sizes: list[float | None]) -> tuple[int, int]:
    """The powers of ten that the scale spans: at least two decades, so that noise does not look like a cliff."""
    known = [size for size in sizes if size is not None and 0 < size < math.inf]
    low, high = (math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))) if known else (-1, 1)
    while high - low < 2:
        low, high = (low - 1, high) if (high - low) % 2 else (low, high + 1)
    return low, high


def _cell(size: float | None) -> str:
    return "-" if size is None else number(size)


def _bar(size: float | None, low: int, high: int, room: int) -> str:
    if size is None or size == 0:
        return ""
    if not math.isfinite(size):
        return "!" * room
    return "█" * max(1, round(room * (math.log10(size) - low) / (high - low)))
