"""One line for what many use: it runs past them, and each link branches off. A lane for each would fill a stage."""

from __future__ import annotations

from collections.abc import Callable

from viz.picture.layout import Box, Layout, Link, in_order

MANY = 5  # links from one box that pass others by; from so many on they share a line
POINT = 1.0  # pixels of the places where they branch off


def place(
    boxes: list[Box], links: list[Link], loose: set[str], put: Callable[[list[Box], list[Link]], Layout]
) -> Layout:
    """Lay out boxes and links with `put`; long links from one box share a line as far as they go the same way."""
    points, parts, ways = _branching(boxes, links, loose)
    if not ways:
        return put(boxes, links)
    layout = put([*boxes, *points], parts)
    for key, way in ways.items():
        layout.curves[key] = _joined([layout.curves[part] for part in way if layout.curves.get(part)])
    for point, *_ in points:
        del layout.spots[point]
        layout.curves.pop(point, None)
    return layout


def _branching(
    boxes: list[Box], links: list[Link], loose: set[str]
) -> tuple[list[Box], list[Link], dict[str, list[str]]]:
    """The points where lines branch off, the links with these, and the parts that each link then consists of."""
    rank = _ranks(boxes, [link for link in links if link[0] not in loose])
    long: dict[str, list[Link]] = {}
    for link in links:
        key, tail, head, *label = link
        if key not in loose and not any(label) and rank.get(head, 0) > rank.get(tail, 0) + 1:
            long.setdefault(tail, []).append(link)
    points: list[Box] = []
    parts = [link for link in links if len(long.get(link[1], ())) < MANY or link not in long[link[1]]]
    ways: dict[str, list[str]] = {}
    for tail, shared in long.items():
        if len(shared) < MANY:
            continue
        line: list[str] = []
        for stop in sorted({rank[head] for _, _, head, *_ in shared}):
            point = f"{tail} to {stop}"
            points.append((point, POINT, POINT))
            parts.append((point, line[-1] if line else tail, point, 0.0, 0.0))
            line.append(point)
            for key, _, head, *_ in shared:
                if rank[head] == stop:
                    parts.append((key, point, head, 0.0, 0.0))
                    ways[key] = [*line, key]
    return points, parts, ways


def _ranks(boxes: list[Box], links: list[Link]) -> dict[str, int]:
    """How many links lead to each box, one after the other; nothing for what is in a cycle."""
    below: dict[str, list[str]] = {key: [] for key, *_ in boxes}
    for _, tail, head, *_ in links:
        below[tail].append(head)
    rank = dict.fromkeys(in_order(below), 0)
    for key in rank:
        for head in below[key]:
            if head in rank:
                rank[head] = max(rank[head], rank[key] + 1)
    return rank


def _joined(curves: list[list[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Bezier curves one after the other as one."""
    whole = list(curves[0])
    for curve in curves[1:]:
        whole += [whole[-1], curve[0], curve[0], *curve[1:]]
    return whole
