"""Places a long graph in rows, as a text is written: what does not fit beside the rest goes on below it.

Graphviz lays out the whole once, which shows where few links are cut, and then each row by itself. A link from one row
into another leaves its row on the right, runs back between the rows, and comes in on the left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, reduce
from itertools import combinations, pairwise, starmap
from operator import or_

from viz.picture import layout as layouts
from viz.picture.layout import Box, Layout, Link, Spot
from viz.picture.recurrence import bent

Pairs = Sequence[tuple[str, str]]  # boxes one above the other
LANE = 9.0  # pixels for a link outside of its rows
CUT = 40.0  # pixels of width that one link less between the rows is worth
SLENDER = 160.0  # pixels: what is wider, such as an open module, stands where it is
PLACES = {2: 24, 3: 24, 4: 15}  # the most columns between which a graph is cut into so many rows


def place(boxes: list[Box], links: list[Link], count: int, loose: set[str], snug: bool, level: Pairs = ()) -> Layout:
    """Lay out boxes and links, as `layout.place` does, in `count` rows; in one if it cannot be cut into so many."""
    whole = layouts.place(boxes, links, "LR", loose, snug=snug, level=level)
    tight = [link for link in links if link[0] not in loose]
    row = _cut(whole, boxes, tight, count)
    if any(row[tail] > row[head] for _, tail, head, *_ in tight) or len(set(row.values())) < count:
        return whole
    layout = Layout(0.0, 0.0, direction="LR")
    crossing = [link for link in tight if row[link[1]] != row[link[2]]]
    tails = list(dict.fromkeys(tail for _, tail, *_ in crossing))
    parts = [_row(number, boxes, links, crossing, row, loose, snug, level) for number in range(count)]
    left = LANE * (len(tails) + 1)
    right = left + max(part.width for part in parts)
    way: dict[str, list[tuple[float, float]]] = {}  # of what comes from a box into the rows below, up to the left
    for number, part in enumerate(parts):
        _move(part, left, layout.height)
        layout.spots |= {key: spot for key, spot in part.spots.items() if key in row}
        layout.curves |= {key: curve for key, curve in part.curves.items() if not key.startswith("out ")}
        for key, tail, head, *_ in crossing:
            if row[head] == number and key in part.curves:
                x, y = part.curves[key][0]
                lane = way[tail][-1][0]
                corners = [*way[tail][1:], (lane, y), (x, y)]
                layout.curves[key] = (
                    way_out(parts[row[tail]], tail) + bent([way[tail][0], *corners])[1:] + part.curves[key][1:]
                )
        layout.height += part.height
        leaving = sorted((tail for tail in tails if row[tail] == number), key=lambda tail: -part.spots[f"out {tail}"].y)
        for place, tail in enumerate(leaving, 1):
            end = way_out(part, tail)[-1]
            lane, down = LANE * (len(tails) - tails.index(tail)), layout.height + LANE * place
            way[tail] = [end, (right + LANE * place, end[1]), (right + LANE * place, down), (lane, down)]
        layout.height += LANE * (len(leaving) + 1) if number < count - 1 else 0.0
    layout.width = right + LANE * (1 + max(sum(row[tail] == number for tail in tails) for number in range(count)))
    return layout


def way_out(part: Layout, tail: str) -> list[tuple[float, float]]:
    """The curve from a box to the end of its row."""
    return part.curves[f"out {tail}"]


def _row(
    number: int,
    boxes: list[Box],
    links: list[Link],
    crossing: list[Link],
    row: dict[str, int],
    loose: set[str],
    snug: bool,
    level: Pairs,
) -> Layout:
    """One row, with a point on its left for each box above that leads in, and on its right for each that leads on."""
    coming = list(dict.fromkeys(tail for _, tail, head, *_ in crossing if row[head] == number))
    going = list(dict.fromkeys(tail for _, tail, *_ in crossing if row[tail] == number))
    mine = [box for box in boxes if row[box[0]] == number]
    points = [(f"in {tail}", 1.0, 1.0) for tail in coming], [(f"out {tail}", 1.0, 1.0) for tail in going]
    inside = [link for link in links if row[link[1]] == row[link[2]] == number]
    inside += [(key, f"in {tail}", head, 0.0, 0.0) for key, tail, head, *_ in crossing if row[head] == number]
    inside += [(f"out {tail}", tail, f"out {tail}", 0.0, 0.0) for tail in going]
    ends = [key for key, *_ in points[0]], [key for key, *_ in points[1]]
    level = [pair for pair in level if row[pair[0]] == row[pair[1]] == number]
    parts = [*mine, *points[0], *points[1]]
    return layouts.place(parts, inside, "LR", loose, snug=snug, ends=ends, level=level)


def _cut(whole: Layout, boxes: list[Box], links: list[Link], count: int) -> dict[str, int]:
    """The row of each box: the widest row is as narrow as possible, and few boxes lead out of their row."""
    half = {key: width / 2 for key, width, _ in boxes}
    columns = sorted({round(whole.spots[key].x) for key in half})
    if len(columns) < count:
        return dict.fromkeys(half, 0)
    column = {key: columns.index(round(whole.spots[key].x)) for key in half}
    heads: dict[str, list[str]] = {}
    for _, tail, head, *_ in links:
        heads.setdefault(tail, []).append(head)
    reach = {tail: sorted(column[head] for head in ends) for tail, ends in heads.items()}
    # What nothing leads to, such as an input, stands in the row of its first user.
    first = heads.keys() - {head for ends in heads.values() for head in ends}
    given = {key: reach[key][0] for key in first if 2 * half[key] <= SLENDER}
    spans = [(given.get(tail, column[tail]), ends[-1]) for tail, ends in reach.items()]
    left, right = ({key: whole.spots[key].x + way * half[key] for key in half} for way in (-1, 1))
    at = {key: given.get(key, column[key]) for key in half}

    @cache
    def width(first: int, last: int) -> float:
        """That of a row of these columns; infinite if nothing stands in it."""
        here = [key for key in half if first <= at[key] < last and column[key] >= first]
        if not here:
            return math.inf
        start = min(column[key] for key in here)
        moved = [2 * half[key] for key in given if column[key] < first and at[key] == start]
        return max(right[key] for key in here) - min(left[key] for key in here) + max(moved, default=0.0)

    def cost(cuts: tuple[int, ...]) -> float:
        widest = max(starmap(width, pairwise((0, *cuts, len(columns)))))
        return widest + CUT * reduce(or_, (crossed[cut] for cut in cuts), 0).bit_count()

    places = range(1, len(columns), max(1, len(columns) // PLACES[count]))
    # Of each place, the spans that a cut there crosses: a bit a span.
    crossed = {cut: sum((first < cut <= last) << bit for bit, (first, last) in enumerate(spans)) for cut in places}
    best = min(combinations(places, count - 1), key=cost, default=())
    return {key: sum(at[key] >= cut for cut in best) for key in half}


def _move(part: Layout, right: float, down: float) -> None:
    part.spots = {key: Spot(spot.x + right, spot.y + down) for key, spot in part.spots.items()}
    part.curves = {key: [(x + right, y + down) for x, y in curve] for key, curve in part.curves.items()}
