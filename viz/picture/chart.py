"""Charts as SVG: axes, lines over the steps of a run, and contours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

import numpy as np

from viz.picture.svg import escape

STOPS = 400  # steps that can be selected; a longer run skips some
DOTTED = 200  # up to this many steps each have a dot on the surface
DECADES = 12  # the most that a logarithmic scale shows
LOOKS = 6  # number of distinguishable styles


def short(number: float) -> str:
    """At most four decimals, without `-0`; very small and very large numbers as powers of ten, rounding noise as 0."""
    size = abs(number)
    if size < 1e-11:
        return "0"
    text = f"{number:.4f}".rstrip("0").rstrip(".") if 1e-4 <= size < 1e7 else f"{number:.2g}"
    return text.replace("-", "−")


def power(exponent: float) -> str:
    """A power of ten as a label."""
    return "1" if exponent == 0 else "10" + f"{exponent:.0f}".translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def ticks(low: float, high: float) -> list[float]:
    """Between four and nine round numbers from `low` to `high`."""
    rough = (high - low) / 6 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / width - 1e-9)
    return [round(i * width, 10) + 0.0 for i in range(first, math.floor(high / width + 1e-9) + 1)]


class Scale:
    """A vertical axis for these numbers: logarithmic if none is below 0 and the positive ones span a factor of 100."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self.low, self.high = min(numbers), max(numbers)
        least = min((number for number in numbers if number > 0), default=math.inf)
        self.logarithmic = self.low >= 0 and self.high > 100 * least
        if self.logarithmic:
            self.low, self.high = math.log10(max(least, self.high * 10.0**-DECADES)), math.log10(self.high)

    def up(self, number: float) -> float:
        """The height of a number; on a logarithmic scale at least that of the lowest one."""
        if not self.logarithmic or not math.isfinite(number):
            return number
        return max(math.log10(number), self.low) if number > 0 else self.low

    def marks(self, most: int = 9) -> list[tuple[float, str]]:
        """The heights that have labels, at most so many, and the labels."""
        heights = [height for height in ticks(self.low, self.high) if not self.logarithmic or height == int(height)]
        write = power if self.logarithmic else short
        return [(height, write(height)) for height in heights[:: max(1, math.ceil(len(heights) / most))]]


def stops(count: int) -> list[int]:
    """The steps of `count` that can be selected: all of them, or evenly spaced ones and the last."""
    stride = max(1, math.ceil(count / STOPS))
    steps = list(range(0, count, stride))
    return steps if not steps or steps[-1] == count - 1 else [*steps, count - 1]


class Panel:
    """One pair of axes at a position in the picture."""

    def __init__(self, box: tuple[float, float, float, float], window: tuple[float, float, float, float]) -> None:
        self.x, self.y, self.wide, self.high = box
        self.left, self.right, self.bottom, self.top = window
        self.parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.left) / ((self.right - self.left) or 1)
        up = (self.top - y) / ((self.top - self.bottom) or 1)
        # A path that leaves the window continues a little outside, where it is clipped.
        return self.x + self.wide * min(2.0, max(-1.0, across)), self.y + self.high * min(2.0, max(-1.0, up))

    def axes(self, head: str, below: str, marks: list[tuple[float, str]], counted: bool = False) -> None:
        """The frame with its labels; `counted` if the horizontal axis has only whole numbers."""
        self.parts.append(f'<text class="head" x="{self.x:g}" y="{self.y - 7:g}">{escape(head)}</text>')
        for tick in ticks(self.left, self.right):
            if counted and tick != int(tick):
                continue
            x, _ = self.at(tick, 0)
            self.parts.append(
                f'<text x="{x:.1f}" y="{self.y + self.high + 15:g}" text-anchor="middle">{short(tick)}</text>'
            )
        for height, text in marks:
            _, y = self.at(0, height)
            self.parts.append(f'<text x="{self.x - 6:g}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        middle, low = self.x + self.wide / 2, self.y + self.high + 30
        self.parts.append(f'<text x="{middle:g}" y="{low:g}" text-anchor="middle">{escape(below)}</text>')
        self.parts.append(
            f'<rect class="plane" x="{self.x:g}" y="{self.y:g}" width="{self.wide:g}" height="{self.high:g}"/>'
        )

    def line(self, run: int, points: list[tuple[float, float]], look: str = "path") -> str:
        """A line through the points; where one is NaN it has a gap."""
        pieces = groupby(points, lambda point: any(map(math.isnan, point)))
        text = path([self.at(*each) for each in piece] for gap, piece in pieces if not gap)
        return f'<path class="{look} run{run % LOOKS}" data-run="{run}" d="{text}"/>' if text else ""

    def walk(self, run: int, points: list[tuple[float, float]]) -> str:
        """A path with a separate element for each stop, so that it can be shown up to any of them."""
        parts: list[str] = []
        length = 0.0  # so far, because the dash pattern continues from element to element
        drawn: list[tuple[float, float]] = []
        where = iter(stops(len(points)))
        stop = next(where, None)
        for step, each in enumerate(points):
            x, y = self.at(*each) if all(map(math.isfinite, each)) else (math.inf, math.inf)
            if abs(x - self.x - self.wide / 2) < 1.5 * self.wide and abs(y - self.y - self.high / 2) < 1.5 * self.high:
                drawn.append((x, y))
            else:  # too far outside for its line to have the right direction
                drawn.clear()
            if step != stop:
                continue
            stop = next(where, None)
            mark = f'data-run="{run}" data-step="{step}"'
            if len(drawn) > 1:
                text = "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
                dashes = f' stroke-dashoffset="{-length:.0f}"' if run % LOOKS else ""
                parts.append(f'<path class="path run{run % LOOKS}" {mark}{dashes} d="M{text}"/>')
                length += sum(math.dist(a, b) for a, b in pairwise(drawn))
            if drawn and (len(points) <= DOTTED or step == len(points) - 1):
                x, y = drawn[-1]
                parts.append(f'<circle class="dot run{run % LOOKS}" {mark} cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>')
            if drawn and step in (0, len(points) - 1):
                x, y = drawn[-1]
                end = "start" if step == 0 else "end"
                parts.append(f'<text class="name" {mark} x="{x + 6:.1f}" y="{y - 6:.1f}">{end}</text>')
            del drawn[:-1]
        return "".join(parts)

    def drawn(self, paths: str, marks: str = "") -> str:
        box = f'x="{self.x:g}" y="{self.y:g}" width="{self.wide:g}" height="{self.high:g}"'
        view = f'viewBox="{self.x:g} {self.y:g} {self.wide:g} {self.high:g}"'
        return "".join(self.parts) + f"<svg {box} {view}{marks}>{paths}</svg>"


def path(lines: Iterable[Iterable[tuple[float, float]]]) -> str:
    """Lines through points as the `d` of one path."""
    return "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line) for line in lines)


def contour(values: np.ndarray) -> list[list[tuple[float, float]]]:
    """The lines where `values` are 0, as lists of (column, row) positions; none next to a value that is not finite."""
    above, known = values > 0, np.isfinite(values)
    corners = above[:-1, :-1] + 2 * above[:-1, 1:] + 4 * above[1:, 1:] + 8 * above[1:, :-1]
    corners *= known[:-1, :-1] & known[:-1, 1:] & known[1:, 1:] & known[1:, :-1]
    ends: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    for row, column in zip(*np.nonzero((corners > 0) & (corners < 15)), strict=True):
        row, column = int(row), int(column)
        # The sides of a cell: (0, r, c) goes right from position (r, c), (1, r, c) goes down from it.
        sides = ((0, row, column), (1, row, column + 1), (0, row + 1, column), (1, row, column))
        for one, other in _CROSSED[int(corners[row, column])]:
            ends.setdefault(sides[one], []).append(sides[other])
            ends.setdefault(sides[other], []).append(sides[one])

    def place(side: tuple[int, int, int]) -> tuple[float, float]:
        down, row, column = side
        first, second = values[row, column], values[row + down, column + 1 - down]
        part = float(first / (first - second))
        return column + part * (1 - down), row + part * down

    lines = []
    while ends:
        start = next((side for side, others in ends.items() if len(others) == 1), None) or next(iter(ends))
        line = [start]
        while (others := ends.get(line[-1])) is not None:
            following = others.pop()
            ends[following].remove(line[-1])
            for side in (line[-1], following):
                if not ends[side]:
                    del ends[side]
            line.append(following)
        lines.append([place(side) for side in line])
    return lines


# Which corners of a cell are above 0 (1, 2, 4, 8, clockwise from the upper left) -> the sides that the line crosses.
_CROSSED = {
    1: ((3, 0),), 2: ((0, 1),), 3: ((3, 1),), 4: ((1, 2),), 5: ((3, 0), (1, 2)), 6: ((0, 2),), 7: ((3, 2),),
    8: ((2, 3),), 9: ((0, 2),), 10: ((0, 1), (2, 3)), 11: ((1, 2),), 12: ((1, 3),), 13: ((0, 1),), 14: ((0, 3),),
}  # fmt: skip
