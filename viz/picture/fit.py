"""Chooses the drawing of a graph that fits a space on the screen: complete, and with readable letters.

A graph is drawn as completely as the room allows. With too little room, first the secondary details disappear (dtypes,
factors, tables of numbers). Then modules and repeated blocks fold into boxes that a click opens.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from viz.picture import branches, parts, rows
from viz.picture import layout as layouts
from viz.picture.fold import Folding, fold
from viz.picture.layout import Box, Layout, Link
from viz.picture.shapes import DETAILS, Detail, Drawing
from viz.picture.svg import canvas
from viz.recording.graph import Graph

READABLE = 10.0  # pixels: the smallest letters on a screen
LARGEST = 1.4  # a picture is enlarged to at most this multiple of its own size


class Room(NamedTuple):
    """The space for a picture, in CSS pixels."""

    width: float
    height: float


# A stage beside its program in JupyterLab at 1366 x 768, below the program there, and at 1920 x 1080; on a phone.
LAPTOP, STRIP, DESKTOP, PHONE = Room(600, 400), Room(900, 280), Room(1100, 560), Room(330, 420)
BESIDE, BELOW = Room(557, 468), Room(928, 344)  # the stage of an explorer there, beside its listing and below it
WIDE = Room(900, 328)  # the stage of a player below its program there, in a window of that height
POCKET = Room(320, 256)  # the stage of an explorer on a phone
ROOMS = (LAPTOP, STRIP, DESKTOP, PHONE)


FOLDED = 1
# Directions of a graph that is longer than its stage, and how many rows these are.
ROWS = {"2 rows": 2, "3 rows": 3, "4 rows": 4}

Choice = tuple[int, Detail, str]  # which folding (0: only what must be folded), detail, direction


@dataclass
class Placed:
    """A drawing with its positions, and the choices that led to it."""

    drawing: Drawing
    folding: Folding
    layout: Layout
    choice: Choice

    @property
    def rank(self) -> int:
        """How much it leaves out: 0 means nothing."""
        level, detail, _ = self.choice
        return DETAILS.index(detail) + len(DETAILS) * level


class Fitter:
    """Finds, for one view of a graph, the most detailed drawing that fits a room.

    `make` draws the view with a given folding and amount of detail. A layout is made once and reused for other rooms.
    """

    def __init__(
        self, graph: Graph, make: Callable[[Folding, Detail], Drawing], folding: Folding | None = None
    ) -> None:
        self.graph = graph
        self._make = make
        self._foldings = [folding or fold(graph)]
        self._drawings: dict[tuple[int, str], Drawing] = {}
        self._placed: dict[tuple[int, str, str], Placed] = {}

    def fit(self, room: Room, first: Choice | None = None) -> Placed:
        """The drawing for this room, preferably `first`; if none fits, the smallest."""
        smallest: Placed | None = None
        for level, detail, direction in self._candidates(first):
            if _is_hopeless(self._drawing(level, detail), direction, room):
                continue
            placed = self._place(level, detail, direction)
            if scale(placed, room) * detail.least >= READABLE:
                return placed
            if smallest is None or scale(placed, room) > scale(smallest, room):
                smallest = placed
        return smallest or self._place(len(self._levels()) - 1, DETAILS[-1], "LR")

    def _candidates(self, first: Choice | None) -> Iterator[Choice]:
        if first is not None and (not first[0] or first[0] < len(self._levels())):
            yield first
        for level in itertools.count():
            if level and level >= len(self._levels()):
                return
            for detail in DETAILS if not level else DETAILS[1:]:
                for direction in ("LR", "TB", *(ROWS if detail.snug else ())):
                    yield level, detail, direction

    def _levels(self) -> list[Folding]:
        """The foldings to try: what must be folded, then the parts of the program, ever larger ones."""
        if len(self._foldings) == 1 and not self._foldings[0].folds:
            self._foldings += parts.foldings(self.graph)
        return self._foldings

    def _drawing(self, level: int, detail: Detail) -> Drawing:
        key = level, detail.name
        if key not in self._drawings:
            self._drawings[key] = self._make(self._foldings[level], detail)
        return self._drawings[key]

    def _place(self, level: int, detail: Detail, direction: str) -> Placed:
        key = level, detail.name, direction
        if key not in self._placed:
            drawing = self._drawing(level, detail)
            layout = lay_out(drawing, direction)
            self._placed[key] = Placed(drawing, self._foldings[level], layout, (level, detail, direction))
        return self._placed[key]


Manner = tuple[Detail, str, float]  # detail, direction, the resulting size of the letters


def fullest(
    make: Callable[[Detail], Drawing], room: Room, before: Manner | None = None
) -> tuple[Drawing, Layout, Manner]:
    """The most detailed drawing by `make` that fits a room, or one like `before` if readable; and how it was drawn."""
    smallest: tuple[Drawing, Layout, Manner] | None = None
    tried = [(detail, direction) for detail in DETAILS for direction in ("LR", "TB")]
    for detail, direction in [before[:2], *tried] if before is not None else tried:
        drawing = make(detail)
        if detail is not DETAILS[-1] and _is_hopeless(drawing, direction, room):
            continue
        layout = lay_out(drawing, direction)
        letters = _scale(layout, room) * detail.least
        fullest = drawing, layout, (detail, direction, letters)
        if letters >= READABLE or (smallest is None and before is not None and letters >= 0.95 * before[2]):
            return fullest
        if smallest is None or letters > smallest[2][2]:
            smallest = fullest
    assert smallest is not None
    return smallest


def _is_hopeless(drawing: Drawing, direction: str, room: Room) -> bool:
    """Whether a drawing certainly does not fit, estimated without a layout."""
    least = READABLE / drawing.detail.least
    width, height = room.width / least, room.height / least
    boxes = _units(drawing)
    if sum((wide + 12) * (high + 12) for wide, high in boxes.values()) > 1.1 * width * height:
        return True
    along = _longest(drawing, boxes, 1 if direction == "TB" else 0)
    return along > (height if direction == "TB" else width * ROWS.get(direction, 1))


def left_out(picture: dict[str, Any], room: Room) -> int:
    """What a picture leaves out in a room: 0 nothing, 1 the inside of folds (`FOLDED`), 2 what does not fit."""
    fitting = min(LARGEST, room.width / picture["width"], room.height / picture["height"])
    if fitting * picture["least"] < READABLE - 0.05:
        return FOLDED + 1
    return FOLDED if picture.get("rank", 0) >= len(DETAILS) else 0


def scale(placed: Placed, room: Room) -> float:
    """The scale at which a picture fits a room."""
    return _scale(placed.layout, room)


def _scale(layout: Layout, room: Room) -> float:
    width, height = canvas(layout, [])
    return min(LARGEST, room.width / width, room.height / height)


def lay_out(drawing: Drawing, direction: str) -> Layout:
    """Positions for everything in a drawing. A result docked below its op moves with it."""
    docked = {value: op for op, value in drawing.docks.items()}
    sizes = _units(drawing)
    boxes = [(key, *size) for key, size in sizes.items()]
    ends = [
        (link.key, docked.get(link.tail, link.tail), docked.get(link.head, link.head), *link.label_size)
        for link in drawing.links
    ]
    loose = {link.key for link in drawing.links if link.kind == "share"}
    ends = [end for end in ends if end[1] != end[2]]
    scopes = [replace(scope, boxes=[key for key in scope.boxes if key in sizes]) for scope in drawing.scopes]
    snug = drawing.detail.snug

    def put(boxes: list[Box], ends: list[Link]) -> Layout:
        if direction in ROWS:
            return rows.place(boxes, ends, ROWS[direction], loose, snug)
        return layouts.place(boxes, ends, direction, loose, scopes, snug)

    placed = branches.place(boxes, ends, loose, put) if snug else put(boxes, ends)
    by_key = {box.key: box for box in drawing.boxes}
    for op, value in drawing.docks.items():
        middle = placed.spots[op]
        top = middle.y - sizes[op][1] / 2
        placed.spots[op] = layouts.Spot(middle.x, top + by_key[op].height / 2)
        placed.spots[value] = layouts.Spot(middle.x, top + by_key[op].height + by_key[value].height / 2)
    return placed


def _units(drawing: Drawing) -> dict[str, tuple[float, float]]:
    """The width and height of each unit that is placed as a whole."""
    by_key = {box.key: box for box in drawing.boxes}
    results = set(drawing.docks.values())
    sizes = {}
    for key, box in by_key.items():
        if key in results:
            continue
        below = by_key[drawing.docks[key]] if key in drawing.docks else None
        sizes[key] = (
            (box.width, box.height) if below is None else (max(box.width, below.width), box.height + below.height)
        )
    return sizes


def _longest(drawing: Drawing, sizes: dict[str, tuple[float, float]], axis: int) -> float:
    """The length of the longest path through a drawing along an axis, with gaps."""
    docked = {value: op for op, value in drawing.docks.items()}
    links = []
    for link in drawing.links:
        tail, head = docked.get(link.tail, link.tail), docked.get(link.head, link.head)
        if link.kind != "share" and tail != head:
            links.append((tail, head, max(20.0, link.label_size[axis])))
    return longest({key: size[axis] for key, size in sizes.items()}, links)


def longest(lengths: dict[str, float], links: list[tuple[str, str, float]]) -> float:
    """The length of the longest path over boxes of these lengths, with the gaps of its links: (tail, head, gap)."""
    below: dict[str, list[tuple[str, float]]] = {key: [] for key in lengths}
    for tail, head, gap in links:
        below[tail].append((head, gap))
    reach = dict(lengths)
    for key in layouts.in_order({key: [head for head, _ in heads] for key, heads in below.items()}):
        for head, gap in below[key]:
            reach[head] = max(reach[head], reach[key] + gap + lengths[head])
    return max(reach.values(), default=0.0)
