"""Boxes in boxes: what is visible when some of them are open, and where.

The inside of a box has its own layout, so it can open in place: its surroundings make room and keep their order.
`compose` does this here for files; `js/network.js` does it on a stage.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from viz.picture.boxes import PADDING, ROOT, TITLE, Unit, paths_of
from viz.picture.layout import Placed
from viz.picture.theme import SIZE, text_width


@dataclass
class Network:
    """Nested boxes, by key; `first` are those that are open at first."""

    units: dict[str, Unit]
    layouts: list[Placed]
    first: list[str]
    unit_of: dict[str, list[str]]  # op or leaf -> the boxes around it, outermost first, and its own
    copies: dict[str, list[list[str]]] = field(default_factory=dict)  # the same of a leaf that is drawn several times

    def inside(self, key: str) -> Placed:
        """The layout inside a box."""
        return self.layouts[self.units[key].layout]

    def paths(self, unit: Unit) -> list[str]:
        """The modules that a box shows."""
        return paths_of(self.units, unit)

    def chains(self, key: str) -> list[list[str]]:
        """The boxes around an op or leaf and its own, for each place where it is drawn."""
        return self.copies.get(key) or [self.unit_of.get(key, [])]


@dataclass
class Shown:
    """What is visible: each box with its center and its size, whether it is open, and the curves."""

    width: float
    height: float
    boxes: list[tuple[Unit, float, float, float, float, bool]]
    curves: list[list[tuple[float, float]]]


# Where what is inside an open box moves, across and down.
Map = tuple[Callable[[float], float], Callable[[float], float]]


Inside = Callable[[str], Placed]  # the layout inside a box, by its key


def spread(
    units: dict[str, Unit], inside: Inside, opened: Iterable[str]
) -> tuple[list[str], dict[str, tuple[float, float]], dict[str, Map]]:
    """The open boxes in sight, outer ones first, the size of each box in sight, and how open ones make room inside."""
    opened = {ROOT, *opened}
    order = [ROOT]
    for key in order:
        order += [child for child in units[key].children if child in opened and units[child].kind == "module"]
    size: dict[str, tuple[float, float]] = {}
    maps: dict[str, Map] = {}
    for key in reversed(order):  # inner ones first
        unit, placed = units[key], inside(key)
        spans: tuple[list[tuple[float, float, float]], ...] = [], []
        for child, spot, before in zip(unit.children, placed.spots, placed.sizes, strict=True):
            now = size.setdefault(child, units[child].size)
            for axis in (0, 1):
                half = before[axis] / 2
                spans[axis].append((spot[axis] - half, spot[axis] + half, now[axis] - before[axis]))
        across, down = maps[key] = _stretch(spans[0]), _stretch(spans[1])
        margin = 2 * PADDING if key != ROOT else 0.0
        title = title_width(unit) if key != ROOT else 0.0
        width, height = max(across(placed.width) + margin, title), down(placed.height) + margin
        size[key] = width, height + (TITLE if key != ROOT else 0.0)
    return order, size, maps


def compose(whole: Network, opened: Iterable[str]) -> Shown:
    """Insert the contents of the open boxes; their surroundings make room and keep their order."""
    order, size, maps = spread(whole.units, whole.inside, opened)
    origin = {ROOT: (0.0, 0.0)}
    shown = Shown(*size[ROOT], [], [])
    for key in order:
        unit, placed, (across, down) = whole.units[key], whole.inside(key), maps[key]
        left, top = origin[key]
        for child, (x, y), (width, height) in zip(unit.children, placed.spots, placed.sizes, strict=True):
            middle = (
                left + (across(x - width / 2) + across(x + width / 2)) / 2,
                top + (down(y - height / 2) + down(y + height / 2)) / 2,
            )
            wide, high = size[child]
            shown.boxes.append((whole.units[child], *middle, wide, high, child in maps))
            if child in maps:
                inside = maps[child][0](whole.inside(child).width)
                origin[child] = middle[0] - inside / 2, middle[1] - high / 2 + TITLE + PADDING
        there = {box[0].key: box for box in shown.boxes[-len(unit.children) :]}
        for (tail, head), curve in zip(unit.links, placed.curves, strict=True):
            moved = [(left + across(x), top + down(y)) for x, y in curve]
            if moved:
                ends = [
                    (there[unit.children[place]], _beside(curve[at], placed.spots[place], placed.sizes[place]))
                    for place, at in ((tail, 0), (head, -1))
                ]
                shown.curves.append(_docked(moved, *ends))
    return shown


def _beside(point: tuple[float, float], spot: tuple[float, float], size: tuple[float, float]) -> tuple[float, float]:
    """Where on the edge of a box a curve ends: -1 to 1 across and down."""
    across, down = (max(-1.0, min(1.0, (point[axis] - spot[axis]) / (size[axis] / 2))) for axis in (0, 1))
    return across, down


End = tuple[tuple[Unit, float, float, float, float, bool], tuple[float, float]]


def _docked(curve: list[tuple[float, float]], tail: End, head: End) -> list[tuple[float, float]]:
    """A curve between the edges of two boxes, at the same place of each edge as when they were laid out."""
    docked = list(curve)
    for at, near, ((_, x, y, width, height, _), (right, low)) in ((0, 1, tail), (-1, -2, head)):
        at_edge = x + right * width / 2, y + low * height / 2
        docked[near] = docked[near][0] + at_edge[0] - docked[at][0], docked[near][1] + at_edge[1] - docked[at][1]
        docked[at] = at_edge
    return docked


def title_width(unit: Unit) -> float:
    """The width of an open box's title, in pixels."""
    return (
        text_width(" ".join(text for slot, _, text in unit.rows if slot in ("name", "class")), SIZE["small"], True) + 40
    )


def _stretch(spans: list[tuple[float, float, float]]) -> Callable[[float], float]:
    """Map a coordinate when each span (start, end, extra) grows by its extra, or shrinks; parallel spans share that.

    Everywhere the space grows as fast as its most demanding span, so distances and the order are preserved.
    """
    if not any(extra for _, _, extra in spans):
        return lambda place: place
    changing = [(start, end, extra / (end - start)) for start, end, extra in spans]
    cuts = sorted({cut for start, end, _ in changing for cut in (start, end)})
    rates = [max((rate for s, e, rate in changing if s <= a and b <= e), default=0.0) for a, b in pairwise(cuts)]
    sums = [0.0]
    for (a, b), rate in zip(pairwise(cuts), rates, strict=True):
        sums.append(sums[-1] + (b - a) * rate)

    def moved(place: float) -> float:
        at = bisect_right(cuts, place) - 1
        if at < 0:
            return place
        if at >= len(rates):
            return place + sums[-1]
        return place + sums[at] + (place - cuts[at]) * rates[at]

    return moved
