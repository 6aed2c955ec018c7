"""Lays out the inside of one box: as a row, in rows as text is written, as a U, or downward."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from viz.picture import layout as layouts
from viz.picture import rows
from viz.picture.boxes import PORT
from viz.picture.layout import Layout, Placed
from viz.picture.recurrence import bent

GAP, LANE = 24.0, 12.0  # pixels between the boxes and the rows of a long chain, and beside these rows
SKIP = 56.0  # pixels between the two sides of a U
ABOUT = 1.08  # how much wider than asked for a row may be, before there is one more
WRAPPED = 80  # boxes; a larger graph is not wrapped
Size = tuple[float, float]
Link = tuple[int, int]


def laid_out(
    sizes: list[Size],
    links: list[Link],
    in_a_row: bool,
    snug: bool,
    across: float,
    level: Iterable[Link] = (),
    layers: Sequence[Sequence[int]] = (),
) -> Placed:
    """The boxes in a row from left to right, or in a column; each pair in `level` one above the other, or side by side.

    With `across`, in pixels, a column is wrapped if possible: in rows of that width, or as a U. `layers` are its rows.
    """
    if len(sizes) == 1:
        ((width, height),) = sizes
        return Placed(width, height, [(width / 2, height / 2)], [])
    if not in_a_row and across:
        if order := _chain(len(sizes), links):
            return _in_rows(sizes, links, order, across)
        if order := valley(len(sizes), links):
            return _down_and_up(sizes, links, order)
    boxes = [(f"c{place}", *size) for place, size in enumerate(sizes)]
    ends = [(f"l{place}", f"c{tail}", f"c{head}", 0.0, 0.0) for place, (tail, head) in enumerate(links)]
    pairs = [(f"c{a}", f"c{b}") for a, b in level]
    if not in_a_row and across and len(sizes) <= WRAPPED and (layout := _wrapped(boxes, ends, across, snug, pairs)):
        return _placed(layout, boxes, ends)
    pairs += [(f"c{row[0]}", f"c{other}") for row in layers for other in row[1:]]
    apart = [
        (f"s{number}", f"c{row[0]}", f"c{below[0]}", 0.0, 0.0)  # what nothing leads between stays apart
        for number, (row, below) in enumerate(pairwise(layers))
        if not any(tail in row and head in below for tail, head in links)
    ]
    layout = layouts.place(boxes, [*ends, *apart], "LR" if in_a_row else "TB", snug=snug, level=pairs)
    return _placed(layout, boxes, ends)


def _placed(layout: Layout, boxes: list[layouts.Box], ends: list[layouts.Link]) -> Placed:
    spots = [(layout.spots[key].x, layout.spots[key].y) for key, _, _ in boxes]
    return Placed(layout.width, layout.height, spots, [layout.curves.get(key, []) for key, *_ in ends])


def _wrapped(
    boxes: list[layouts.Box], ends: list[layouts.Link], across: float, snug: bool, level: rows.Pairs
) -> Layout | None:
    """A graph in one row, or in as many as it needs so that none is wider than `across`; None if that are too many."""
    whole = layout = layouts.place(boxes, ends, "LR", snug=snug, level=level)
    for count in rows.PLACES:
        if layout.width <= ABOUT * across:
            return layout
        if whole.width <= count * across:
            layout = rows.place(boxes, ends, count, set(), snug, level)
    return layout if layout.width <= ABOUT * across else None


def downward(sizes: list[Size], links: list[Link], across: float) -> list[list[int]]:
    """The boxes in rows at most `across` wide, each above all that it leads to; nothing if they lead in a circle."""
    after = {box: {head for tail, head in links if tail == box} for box in range(len(sizes))}
    rows: list[list[int]] = []
    below: set[int] = set()
    while len(below) < len(sizes):
        row: list[int] = []
        ready = [box for box in after if box not in below and after[box] <= below]
        if not ready:
            return []
        passing = {(tail, head) for tail, head in links if head in below and tail not in below}
        # What waits longest for its users to come is the last that the program has made: it stands next to them.
        for box in sorted(ready, key=lambda box: (min(after[box], default=box), box), reverse=True):
            past = sum(tail not in (*row, box) for tail, _ in passing)
            if not row or sum(sizes[member][0] + GAP for member in (*row, box)) + LANE * past <= across:
                row.append(box)
        rows.insert(0, row)
        below.update(row)
    return rows


def _chain(count: int, links: list[tuple[int, int]]) -> list[int]:
    """The boxes in their order if each leads to one other; else nothing."""
    after = dict(links)
    start = set(range(count)) - set(after.values())
    if len(links) != count - 1 or len(after) != count - 1 or len(start) != 1:
        return []
    order = [start.pop()]
    while order[-1] in after and len(order) < count:
        order.append(after[order[-1]])
    return order if len(order) == count else []


def valley(count: int, links: list[tuple[int, int]]) -> list[int]:
    """The boxes in order, if each leads to the next and other links nest around the middle, as a U-Net's skips do."""
    before = {box: {tail for tail, head in links if head == box} for box in range(count)}
    order: list[int] = []
    while ready := [box for box in before if box not in order and before[box] <= {*order}]:
        if len(ready) > 1 or (order and order[-1] not in before[ready[0]]):
            return []
        order += ready
    if len(order) < count:
        return []
    place = {box: number for number, box in enumerate(order)}
    skips = sorted((place[tail], place[head]) for tail, head in links if place[head] > place[tail] + 1)
    nested = all(a < b and c > d for (a, c), (b, d) in pairwise(skips))
    return order if len(skips) > 1 and nested else []


def _down_and_up(sizes: list[Size], links: list[Link], order: list[int]) -> Placed:
    """A valley as a U: a row for each level, the way down on the left, up on the right, and the skip between."""
    place = {box: number for number, box in enumerate(order)}
    skips = sorted((place[tail], place[head]) for tail, head in links if place[head] > place[tail] + 1)
    edges = [-1, *(tail for tail, _ in skips)], [len(order), *(head for _, head in skips)]
    left = [order[a + 1 : b + 1] for a, b in pairwise(edges[0])]
    right = [order[b:a] for a, b in pairwise(edges[1])]
    bottom = order[edges[0][-1] + 1 : edges[1][-1]]
    # Columns of the skips.
    inner = [max(sizes[group[at]][0] for group in side) for side, at in ((left, -1), (right, 0))]
    outer = [
        max(_length(sizes, group) - sizes[group[at]][0] for group in side) for side, at in ((left, -1), (right, 0))
    ]
    half = _length(sizes, bottom) / 2
    middle, right_of_it = (max(outer[at] + inner[at] + SKIP / 2, half) for at in (0, 1))
    columns = middle - (SKIP + inner[0]) / 2, middle + (SKIP + inner[1]) / 2
    spots = [(0.0, 0.0)] * len(sizes)
    floors: dict[float, float] = {}  # middle of a row -> its lower edge
    top = 0.0
    for level in range(len(left) + 1):
        groups = [left[level], right[level]] if level < len(left) else [bottom]
        height = max(sizes[box][1] for group in groups for box in group)
        starts = [middle - _length(sizes, bottom) / 2]
        if level < len(left):
            starts = [
                columns[0] + sizes[left[level][-1]][0] / 2 - _length(sizes, left[level]),
                columns[1] - sizes[right[level][0]][0] / 2,
            ]
        for start, group in zip(starts, groups, strict=True):
            for box in group:
                spots[box] = start + sizes[box][0] / 2, top + height / 2
                start += sizes[box][0] + GAP
        floors[top + height / 2] = top + height
        top += height + GAP
    curves = []
    for tail, head in links:
        lane = floors[min(spots[tail][1], spots[head][1])] + GAP / 2
        curves.append(_between_levels(sizes[tail], spots[tail], sizes[head], spots[head], lane))
    return Placed(middle + right_of_it, top - GAP, spots, curves)


def _length(sizes: list[Size], group: Sequence[int]) -> float:
    return sum(sizes[box][0] + GAP for box in group) - GAP


def _between_levels(size: Size, spot: Size, other: Size, end: Size, lane: float) -> list[tuple[float, float]]:
    """A curve between two boxes of a U: along its row, or out of it, up or down, by the `lane` between the rows."""
    (x, y), (a, b) = spot, end
    if abs(y - b) < 1:
        return bent([(x + size[0] / 2, y), (a - other[0] / 2, b)])
    way = 1 if b > y else -1
    if way > 0 and x < a - other[0] / 2:  # on to the bottom
        return bent([(x, y + size[1] / 2), (x, b), (a - other[0] / 2, b)])
    if way < 0 and a > x + size[0] / 2:  # out of the bottom
        return bent([(x + size[0] / 2, y), (a, y), (a, b + other[1] / 2)])
    return bent([(x, y + way * size[1] / 2), (x, lane), (a, lane), (a, b - way * other[1] / 2)])


def _in_rows(sizes: list[Size], links: list[Link], order: list[int], across: float) -> Placed:
    """A long chain in rows, as text is written."""
    rows: list[list[int]] = [[]]
    for box in order:
        if (
            rows[-1]
            and sizes[box][0] > PORT
            and sum(sizes[member][0] + GAP for member in (*rows[-1], box)) - GAP > across
        ):
            rows.append([])
        rows[-1].append(box)
    spots = [(0.0, 0.0)] * len(sizes)
    top = 0.0
    row_of = {}
    bottoms = []
    for number, row in enumerate(rows):
        height = max(sizes[box][1] for box in row)
        left = LANE
        for box in row:
            spots[box] = left + sizes[box][0] / 2, top + height / 2
            left += sizes[box][0] + GAP
            row_of[box] = number
        top += height
        bottoms.append(top)
        top += GAP
    curves = []
    for tail, head in links:
        (x, y), (a, b) = spots[tail], spots[head]
        start, end = (x + sizes[tail][0] / 2, y), (a - sizes[head][0] / 2, b)
        if row_of[tail] == row_of[head]:
            curves.append(bent([start, end]))
        else:
            lane, out = bottoms[row_of[tail]] + GAP / 2, start[0] + LANE
            curves.append(bent([start, (out, y), (out, lane), (0.0, lane), (0.0, b), end]))
    width = max(sum(sizes[box][0] + GAP for box in row) - GAP for row in rows) + 2 * LANE
    return Placed(width, top - GAP, spots, curves)
