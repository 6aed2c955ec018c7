"""A module that runs step after step, unrolled: a column per step, a row per part.

Graphviz minimises crossings, and so puts the same part of each step at different heights. Here all positions form a
grid: columns for inputs, steps and outputs; rows for the parts of a step. Arrows pass between rows and columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from viz.picture.layout import Placed

Point = tuple[float, float]
Size = tuple[float, float]
Link = tuple[int, int]

LEAST = 3  # steps
GUTTER, ALLEY = 30.0, 24.0  # pixels between two columns, and between two rows
LANE = 8.0  # pixels between two arrows that run side by side
STACKED = 8.0  # pixels between boxes that share one place of the grid
ROUND = 6.0  # radius of an arrow's corner, in pixels
BEFORE, AFTER = -1, -2  # zones beside the numbers of the steps


@dataclass(frozen=True)
class Part:
    """A box to place: `name` is the same for the same part of each step."""

    size: Size
    name: str
    runs: bool  # an op or a module, in the order in which they ran; not a leaf, a port or a result
    weighted: bool = False  # a module with parameters


def unrolled(parts: Sequence[Part], links: Sequence[Link]) -> Placed | None:
    """The parts in columns of steps, or None if no module with parameters runs again on its last result."""
    before: list[list[int]] = [[] for _ in parts]
    after: list[list[int]] = [[] for _ in parts]
    for tail, head in links:
        if parts[tail].runs and parts[head].runs and tail >= head:
            return None
        after[tail].append(head)
        before[head].append(tail)
    beats = _beats(parts, before)
    if not beats:
        return None
    zones = _zones(parts, after, beats)
    return _Grid(parts, links, before, after, zones, len(beats)).place()


def _beats(parts: Sequence[Part], before: list[list[int]]) -> list[int]:
    """The runs of the module that gives the steps: each needs the one before it."""
    again = Counter(part.name for part in parts if part.weighted)
    for name, count in again.most_common():
        runs = [place for place, part in enumerate(parts) if part.weighted and part.name == name]
        if count >= LEAST and all(one in _behind(other, before) for one, other in pairwise(runs)):
            return runs
    return []


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many names are the same from the start."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _behind(place: int, before: list[list[int]]) -> set[int]:
    reached: set[int] = set()
    waiting = [place]
    while waiting:
        for tail in before[waiting.pop()]:
            if tail not in reached:
                reached.add(tail)
                waiting.append(tail)
    return reached


def _zones(parts: Sequence[Part], after: list[list[int]], beats: list[int]) -> list[int]:
    """Of each part the number of its step, or BEFORE, or AFTER.

    The head of a loop's body is what runs before the first beat just as before a later one; its tail is what runs after
    the last beat just as after an earlier one.
    """
    runs = [place for place, part in enumerate(parts) if part.runs]
    names = [parts[place].name for place in runs]
    at = [runs.index(beat) for beat in beats]
    between = [names[one + 1 : other] for one, other in pairwise(at)]
    head = max(_alike(names[: at[0]][::-1], segment[::-1]) for segment in between)
    tails = [segment[: len(segment) - _alike(segment[::-1], names[: at[0]][::-1])] for segment in between]
    last = at[-1] + max(_alike(names[at[-1] + 1 :], tail) for tail in tails)
    zones = [AFTER] * len(parts)
    step = 0
    for number, place in enumerate(runs):
        step += step + 1 < len(at) and number >= at[step] + 1 + len(tails[step])
        zones[place] = BEFORE if number < at[0] - head else AFTER if number > last else step
    for place, part in enumerate(parts):
        if not part.runs and after[place]:
            users = {zones[head] for head in after[place]}
            zones[place] = users.pop() if len(users) == 1 else BEFORE
    second = Counter(zones[place] == 1 for place, part in enumerate(parts) if not part.runs)[True]
    for place, part in enumerate(parts):
        if not part.runs and zones[place] == 0 and not second:  # such as the state to begin with
            zones[place] = BEFORE
    return zones


@dataclass
class _Grid:
    parts: Sequence[Part]
    links: Sequence[Link]
    before: list[list[int]]
    after: list[list[int]]
    zones: list[int]
    steps: int
    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    spots: list[Point] = field(default_factory=list)
    sides: list[tuple[float, float]] = field(default_factory=list)  # of each column: left and right
    bands: list[tuple[float, float]] = field(default_factory=list)  # of each row: top and bottom

    def place(self) -> Placed | None:
        self._rows()
        self._columns()
        if any(self.column[tail] > self.column[head] for tail, head in self.links):
            return None
        lanes = self._lanes()
        self._measure(lanes)
        curves = [self._route(link, lanes) for link in self.links]
        return Placed(
            self.sides[-1][1], self.bands[-1][1] + LANE * self._count(lanes, len(self.bands)), self.spots, curves
        )

    def _rows(self) -> None:
        """A row for each part of a step, in the order of the parts; others stand by their neighbours."""
        seen: Counter[tuple[int, str]] = Counter()
        roles: dict[int, tuple[str, int]] = {}
        depth: dict[tuple[str, int], int] = {}
        at = dict.fromkeys(range(len(self.parts)), 0)
        order = sorted(range(len(self.parts)), key=lambda place: (self.parts[place].runs, place))
        for place in order:
            step = self.zones[place]
            if step < 0:
                continue
            name = self.parts[place].name if self.parts[place].runs else ""
            roles[place] = name, seen[step, name]
            seen[step, name] += 1
            at[place] = max((at[tail] + 1 for tail in self.before[place] if self.zones[tail] == step), default=0)
            depth[roles[place]] = max(depth.get(roles[place], 0), at[place])
        rows = {role: number for number, role in enumerate(sorted(depth, key=lambda role: depth[role]))}
        row_of = {place: rows[role] for place, role in roles.items()}
        for neighbours, places in (
            (self.after, sorted(order, reverse=True)),
            (self.before, order),
            (self.after, reversed(order)),
        ):
            for place in places:
                near = [row_of[other] for other in neighbours[place] if other in row_of]
                if place not in row_of and near:
                    row_of[place] = near[0] if neighbours is self.after else near[-1]
        self.row = [row_of.get(place, len(rows) - 1) for place in range(len(self.parts))]

    def _columns(self) -> None:
        order = sorted(range(len(self.parts)), key=lambda place: (self.parts[place].runs, place))
        ends = [place for place in order if not self.parts[place].runs and not self.after[place]]
        order = [place for place in order if place not in ends] + ends  # results and the way out
        left = {place: 0 for place in order if self.zones[place] == BEFORE}
        for place in reversed(order):
            if place in left:
                left[place] = max((left[head] + 1 for head in self.after[place] if head in left), default=0)
        right: dict[int, int] = {}
        for place in order:
            if self.zones[place] == AFTER:
                right[place] = max((right[tail] + 1 for tail in self.before[place] if tail in right), default=0)
        first = max(left.values(), default=-1) + 1
        for place, step in enumerate(self.zones):
            if step == BEFORE:
                self.column.append(first - 1 - left[place])
            else:
                self.column.append(first + (step if step >= 0 else self.steps + right[place]))

    def _lanes(self) -> dict[Link, tuple[int, int]]:
        """Of each link that passes boxes: the alley it takes (the one above that row) and its place there.

        What leads to the same parts of the steps shares a lane, and so do those parts that lead to the same box.
        """
        aims: dict[tuple[int, int], list[int]] = defaultdict(list)
        for tail, head in self.links:
            aims[tail, self.row[head]].append(head)
        known: dict[int, dict[object, int]] = defaultdict(dict)
        lanes: dict[Link, tuple[int, int]] = {}
        for tail, head in self.links:
            many = self.zones[tail] == BEFORE and len(aims[tail, self.row[head]]) > 1
            if self.column[head] <= self.column[tail] + (not many):
                continue
            joins = self.zones[head] == AFTER and self.zones[tail] >= 0
            alley = self.row[tail] + 1 if joins else self.row[head]
            key = ("to", head) if joins else ("from", *aims[tail, self.row[head]])
            lanes[tail, head] = alley, known[alley].setdefault(key, len(known[alley]))
        return lanes

    @staticmethod
    def _count(lanes: dict[Link, tuple[int, int]], alley: int) -> int:
        return 1 + max((number for there, number in lanes.values() if there == alley), default=-1)

    def _measure(self, lanes: dict[Link, tuple[int, int]]) -> None:
        cells: dict[tuple[int, int], list[int]] = defaultdict(list)
        for place in range(len(self.parts)):
            cells[self.column[place], self.row[place]].append(place)
        x = 0.0
        for column in range(max(self.column) + 1):
            width = max((self.parts[p].size[0] for p, there in enumerate(self.column) if there == column), default=0.0)
            self.sides.append((x, x + width))
            x += width + GUTTER
        y = 0.0
        tall = {cell: self._tall(places) for cell, places in cells.items()}
        for row in range(max(self.row) + 1):
            y += LANE * self._count(lanes, row) + (ALLEY if row else LANE * bool(self._count(lanes, row)))
            height = max((tall[cell] for cell in cells if cell[1] == row), default=0.0)
            self.bands.append((y, y + height))
            y += height
        self.spots = [(0.0, 0.0)] * len(self.parts)
        for (column, row), places in cells.items():
            middle, top = sum(self.sides[column]) / 2, (sum(self.bands[row]) - tall[column, row]) / 2
            for place in places:
                height = self.parts[place].size[1]
                self.spots[place] = middle, top + height / 2
                top += height + STACKED

    def _tall(self, places: Iterable[int]) -> float:
        return sum(self.parts[place].size[1] + STACKED for place in places) - STACKED

    def _route(self, link: Link, lanes: dict[Link, tuple[int, int]]) -> list[Point]:
        tail, head = link
        (x, y), (a, b) = self.spots[tail], self.spots[head]
        (w, h), (v, g) = self.parts[tail].size, self.parts[head].size
        out, into = self.column[tail], self.column[head]
        if link in lanes:
            alley, number = lanes[link]
            floor = self.bands[alley][0] if alley < len(self.bands) else self.bands[-1][1] + 2 * LANE
            lane = floor - 1.5 * LANE - LANE * number
            shift = LANE * (number + 1)
            if alley == self.row[tail] + 1 and self.zones[head] == AFTER and self.zones[tail] >= 0:
                shift = min(shift, w / 2 - 3)
                if alley == len(self.bands):
                    lane = self.bands[-1][1] + LANE * (number + 1)
                end = self.sides[into][0] - GUTTER / 2
                return bent([(x + shift, y + h / 2), (x + shift, lane), (end, lane), (end, b), (a - v / 2, b)])
            side = self.sides[out][1] + GUTTER / 2
            alone = (
                sum(1 for p in range(len(self.parts)) if (self.column[p], self.row[p]) == (into, self.row[head])) == 1
            )
            if alone and self.zones[head] >= 0:
                drop = a - min(shift, v / 2 - 3)
                return bent([(x + w / 2, y), (side, y), (side, lane), (drop, lane), (drop, b - g / 2)])
            end = self.sides[into][0] - GUTTER / 2
            return bent([(x + w / 2, y), (side, y), (side, lane), (end, lane), (end, b), (a - v / 2, b)])
        if out == into:
            between = {self.row[p] for p, there in enumerate(self.column) if there == out}
            if b > y and not any(self.row[tail] < row < self.row[head] for row in between):
                return bent([(x, y + h / 2), (a, b - g / 2)])
            side = self.sides[out][0] - GUTTER / 3
            return bent([(x - w / 2, y), (side, y), (side, b - g / 4), (a - v / 2, b - g / 4)])
        if abs(y - b) < 1:
            return bent([(x + w / 2, y), (a - v / 2, b)])
        edge, near = self.sides[out][1], self.sides[into][0]
        middle = (edge + near) / 2
        leave, arrive = _straight((x + w / 2, y), (edge, y)), _straight((near, b), (a - v / 2, b))
        return [*leave, (middle, y), (middle, b), *arrive]


def _straight(one: Point, other: Point) -> list[Point]:
    return [one, _between(one, other, 1 / 3), _between(one, other, 2 / 3), other]


def _between(one: Point, other: Point, share: float) -> Point:
    return one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share


def bent(corners: list[Point]) -> list[Point]:
    """Straight lines through these points as Bezier curves, their corners round."""
    points = [one for one, other in pairwise(corners) if one != other] + corners[-1:]
    curve = [points[0]]
    for at, corner in enumerate(points[1:], 1):
        start = curve[-1]
        if at == len(points) - 1:
            return [*curve, *_straight(start, corner)[1:]]
        ahead = points[at + 1]
        lengths = [max(abs(p[0] - corner[0]) + abs(p[1] - corner[1]), 1e-9) for p in (points[at - 1], ahead)]
        turn, leave = (
            _between(corner, p, min(ROUND, length / 2) / length)
            for p, length in zip((points[at - 1], ahead), lengths, strict=True)
        )
        curve += [*_straight(start, turn)[1:], _between(turn, corner, 0.6), _between(leave, corner, 0.6), leave]
    return curve
