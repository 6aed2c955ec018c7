"""A graph in rows, and with lines that many links share: every box has its place, every link joins its two boxes."""

import random
from itertools import combinations

import pytest

from viz.picture import branches, rows
from viz.picture.layout import Layout

SLACK = 8.0  # pixels: control points may lie outside of what they bend


def graph(seed: int) -> tuple[list[rows.Box], list[rows.Link]]:
    """A chain, as programs are, with leaves and links that skip some of it."""
    chosen = random.Random(seed)
    boxes = [(f"b{n}", chosen.uniform(20, 90), chosen.uniform(16, 50)) for n in range(24)]
    links = [(f"l{n}", f"b{n}", f"b{n + 1}", 0.0, 0.0) for n in range(23) if n % 7 != 5]
    links += [(f"s{n}", *(f"b{end}" for end in sorted(chosen.sample(range(24), 2))), 0.0, 0.0) for n in range(6)]
    return boxes, links


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_a_graph_in_rows_is_narrower_and_nothing_in_it_overlaps_or_is_lost(seed: int, count: int) -> None:
    boxes, links = graph(seed)
    made = rows.place(boxes, links, count, set(), snug=True)
    assert made.width < rows.layouts.place(boxes, links, "LR", snug=True).width
    _is_whole(made, boxes, links)


@pytest.mark.parametrize("direction", ["LR", "TB", "2 rows"])
@pytest.mark.parametrize("seed", range(6))
def test_the_links_of_what_many_use_share_a_line(seed: int, direction: str) -> None:
    boxes, links = graph(seed)
    boxes.append(("w", 60.0, 40.0))
    links += [(f"w{n}", "w", f"b{n}", 0.0, 0.0) for n in random.Random(seed).sample(range(2, 24), 12)]

    def put(boxes: list[rows.Box], links: list[rows.Link]) -> Layout:
        if direction == "2 rows":
            return rows.place(boxes, links, 2, set(), snug=True)
        return rows.layouts.place(boxes, links, direction, snug=True)

    made = branches.place(boxes, links, set(), put)
    _is_whole(made, boxes, links)
    lane = (lambda layout: layout.width) if direction == "TB" else (lambda layout: layout.height)
    assert lane(made) < lane(put(boxes, links))


def test_links_in_a_cycle_keep_their_lanes() -> None:
    boxes = [(f"b{n}", 20.0, 20.0) for n in range(8)]
    links = [(f"l{n}", f"b{n}", f"b{(n + 1) % 8}", 0.0, 0.0) for n in range(8)]
    links += [(f"s{n}", "b0", f"b{n}", 0.0, 0.0) for n in (2, 3, 4, 5, 6)]
    asked: list[int] = []
    branches.place(boxes, links, set(), lambda boxes, links: asked.append(len(boxes)) or Layout(0.0, 0.0))
    assert asked == [8]


def _is_whole(made: Layout, boxes: list[rows.Box], links: list[rows.Link]) -> None:
    size = {key: (width, height) for key, width, height in boxes}
    assert made.spots.keys() == size.keys()
    for one, other in combinations(size, 2):
        (x, y), (a, b) = ((made.spots[key].x, made.spots[key].y) for key in (one, other))
        apart = abs(x - a) >= (size[one][0] + size[other][0]) / 2, abs(y - b) >= (size[one][1] + size[other][1]) / 2
        assert any(apart), (one, other)
    for key, tail, head, *_ in links:
        curve = made.curves[key]
        assert len(curve) % 3 == 1, "the points of Bezier curves"
        for (x, y), end in ((curve[0], tail), (curve[-1], head)):
            spot, (width, height) = made.spots[end], size[end]
            assert abs(x - spot.x) <= width / 2 + 2 and abs(y - spot.y) <= height / 2 + 2, (key, end)
        least, most = (min(min(x, y) for x, y in curve), (max(x for x, _ in curve), max(y for _, y in curve)))
        assert least >= -SLACK and most[0] <= made.width + SLACK and most[1] <= made.height + SLACK, (key, least, most)
