"""Arrays as pictures: small ones as a table of numbers, larger ones as a heat-map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from viz.picture.theme import SIZE, text_width
from viz.recording import notation
from viz.recording.graph import Array

TABLE_SIDE = 4  # rows and columns of the largest table
CELL = 8.0  # pixels of a heat-map's cell
LEVELS = 5  # shades on each side of zero
LINE = 15.0  # pixels of a table's row


@dataclass
class Grid:
    """One array, drawn; layers of the same place are switched by the class `on`."""

    key: str
    cells: list[list[float]]
    is_table: bool
    label: str = ""

    @property
    def _columns(self) -> list[float]:
        count = len(self.cells[0])
        return [
            max(text_width(notation.number(row[column], 3), SIZE["small"]) for row in self.cells) + 9
            for column in range(count)
        ]

    @property
    def width(self) -> float:
        """The width in pixels."""
        return sum(self._columns) if self.is_table else CELL * len(self.cells[0])

    @property
    def height(self) -> float:
        """The height in pixels, with a small margin below."""
        return (LINE if self.is_table else CELL) * len(self.cells) + 6

    def markup(self, left: float, top: float) -> str:
        """The SVG of the cells, relative to the top left corner. Positive cells are squares, negative ones diamonds."""
        top += 3
        return self._table(left, top) if self.is_table else self._heat(left, top)

    def _table(self, left: float, top: float) -> str:
        parts = []
        edges = [left]
        for width in self._columns:
            edges.append(edges[-1] + width)
        bottom = top + LINE * len(self.cells)
        lines = [f"M{edge:.1f} {top:.1f}V{bottom:.1f}" for edge in edges]
        lines += [f"M{left:.1f} {top + LINE * row:.1f}H{edges[-1]:.1f}" for row in range(len(self.cells) + 1)]
        parts.append(f'<path class="rule" d="{"".join(lines)}"/>')
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                x = (edges[column] + edges[column + 1]) / 2
                y = top + LINE * row + LINE * 0.74
                parts.append(f'<text class="mid cell" x="{x:.1f}" y="{y:.1f}">{notation.number(cell, 3)}</text>')
        return "".join(parts)

    def _heat(self, left: float, top: float) -> str:
        finite = [abs(cell) for row in self.cells for cell in row if math.isfinite(cell)]
        largest = max(finite, default=0.0) or 1.0
        shades: dict[tuple[str, int], list[str]] = {}
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                x, y = left + CELL * column, top + CELL * row
                if not math.isfinite(cell):
                    shades.setdefault(("odd", LEVELS), []).append(
                        f"M{x + 1:.1f} {y + 1:.1f}l{CELL - 2:.0f} {CELL - 2:.0f}"
                        f"m0 {2 - CELL:.0f}l{2 - CELL:.0f} {CELL - 2:.0f}"
                    )
                    continue
                level = min(LEVELS, math.ceil(abs(cell) / largest * LEVELS))
                if level == 0:
                    continue
                half = CELL / 2
                if cell > 0:
                    path = f"M{x:.1f} {y:.1f}h{CELL:.0f}v{CELL:.0f}h-{CELL:.0f}Z"
                else:
                    path = (
                        f"M{x + half:.1f} {y:.1f}l{half:.0f} {half:.0f}l-{half:.0f} {half:.0f}l-{half:.0f} -{half:.0f}Z"
                    )
                shades.setdefault(("high" if cell > 0 else "low", level), []).append(path)
        width, height = CELL * len(self.cells[0]), CELL * len(self.cells)
        parts = [f'<path class="rule" d="M{left:.1f} {top:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}Z"/>']
        for (side, level), paths in sorted(shades.items()):
            parts.append(f'<path class="{side}" opacity="{level / LEVELS:.1f}" d="{"".join(paths)}"/>')
        return "".join(parts)


def grid(key: str, array: Array | None) -> Grid | None:
    """The picture of an array, or None if one line of text shows it as well."""
    if array is None or array.norm is None or not array.shape or not array.size:
        return None
    if array.data is None:
        return Grid(key, array.heat, False) if array.heat else None
    if (len(array.shape) == 1 and array.size <= 3) or array.dtype.startswith("complex"):
        return None
    cells = _rows(array)
    if len(cells) <= TABLE_SIDE and len(cells[0]) <= TABLE_SIDE:
        return Grid(key, cells, True)
    return Grid(key, cells, False) if len(cells[0]) <= 32 else Grid(key, _folded(cells), False)


def _rows(array: Array) -> list[list[float]]:
    data: Any = array.data
    if len(array.shape) == 1:
        return [[float(cell) for cell in data]]
    for _ in array.shape[2:]:
        data = [item for part in data for item in part]
    return [[float(cell) for cell in row] for row in data]


def _folded(cells: list[list[float]]) -> list[list[float]]:
    flat = [cell for row in cells for cell in row]
    side = math.ceil(math.sqrt(len(flat)))
    flat += [0.0] * (-len(flat) % side)
    return [flat[start : start + side] for start in range(0, len(flat), side)]


def words(array: Array | None) -> str:
    """The text beside the picture: the numbers if there is no picture, else the norm."""
    drawn = grid("", array)
    if drawn is None or array is None:
        return notation.brief(array)
    return "" if drawn.is_table else f"norm {notation.number(array.norm, 3)}"
