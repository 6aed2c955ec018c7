"""Computes positions: sizes in, positions and edge curves out, using any available Graphviz.

Graphviz computes only positions. It never sees a user's text, such as a label, and any Graphviz gives the same look.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viz.picture.scopes import Scope, held

TIME_LIMIT = 10.0  # seconds for one layout
TITLE = 14.0  # pixels of a frame's title
MOST = 4000  # ranks that the links may span together; beyond that, Graphviz takes five seconds and more
LARGE = 150  # boxes and links; in a larger layout Graphviz stops improving early: a fifth of the time, looks as good
IN_PROCESS = 400  # boxes and links together; a larger layout runs in a separate process, which can be ended
MISSING = "Graphviz was not found, and pictures need it: pip install pygraphviz (its wheel includes Graphviz)"
BROKEN = (
    "pygraphviz is installed but does not load: {}. A library of the system is missing, as on a bare container; on "
    "Debian and Ubuntu: apt-get install libglib2.0-0 libx11-6 libxext6 libxrender1 libexpat1"
)
Box = tuple[str, float, float]  # its key, width and height
Link = tuple[str, str, str, float, float]  # its key, tail and head; the width and height of its label


@dataclass
class Spot:
    """The center of a box or label, in pixels from the top left corner."""

    x: float
    y: float


@dataclass
class Layout:
    """Positions of everything, by key."""

    width: float
    height: float
    spots: dict[str, Spot] = field(default_factory=dict)
    curves: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # Bezier points, tail to head
    labels: dict[str, Spot] = field(default_factory=dict)
    frames: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)  # left, top, right, bottom
    direction: str = "LR"
    note: str = ""  # a remark for the reader on how it was laid out


@dataclass
class Placed:
    """The positions of a module's children, from the top left corner, the curves between them, and their sizes."""

    width: float
    height: float
    spots: list[tuple[float, float]]
    curves: list[list[tuple[float, float]]]
    sizes: list[tuple[float, float]] = field(default_factory=list)


class GraphvizMissing(RuntimeError):
    """Graphviz is missing; the message is the command that installs it."""


def place(
    boxes: list[Box],
    links: list[Link],
    direction: str = "LR",
    loose: set[str] | None = None,
    scopes: list[Scope] | None = None,
    snug: bool = False,
    ends: tuple[list[str], list[str]] = ([], []),
    level: Sequence[tuple[str, str]] = (),
) -> Layout:
    """Lay out boxes (key, width, height) and links (key, tail, head, label width, label height; 0 for no label).

    The members of each of `scopes` get a frame of their own, if possible. Links whose key is in `loose` do not pull
    their ends together. `snug` leaves little space between boxes; `ends` are those in the first and in the last column,
    and the pairs in `level` share a column (in `"TB"`, a row). The layout is `simple`, and its `note` says so, if
    Graphviz takes too long, or would: if every layer leads to all later ones, say.

    Raises:
        GraphvizMissing: neither pygraphviz nor a `dot` program is available.
    """
    scopes = scopes or []
    if len(boxes) * len(links) > MOST and _reach(boxes, links) > MOST:
        return simple(boxes, links)
    source = _dot(boxes, links, direction, loose or set(), scopes, snug, ends, level)
    try:
        layout = _read(_run(source, "dot", len(boxes) + len(links)), boxes, links, scopes)
    except subprocess.TimeoutExpired:
        return simple(boxes, links)
    if scopes and not _framed(layout, boxes, scopes):
        return place(boxes, links, direction, loose, snug=snug)
    layout.direction = direction
    return layout


def _framed(layout: Layout, boxes: list[Box], scopes: list[Scope]) -> bool:
    """Whether each frame surrounds exactly its own boxes: Graphviz fails at that once in a thousand times."""
    for scope in scopes:
        inside = held(scopes, scope)
        left, top, right, bottom = layout.frames.get(scope.key, (0.0, 0.0, 0.0, 0.0))
        for key, width, height in boxes:
            x, y = layout.spots[key].x, layout.spots[key].y
            across = min(right, x + width / 2) - max(left, x - width / 2)
            down = min(bottom, y + height / 2) - max(top, y - height / 2)
            if key in inside and (across < width - 1 or down < height - 1):
                return False
            if key not in inside and across > 0 and down > 0:
                return False
    return True


def in_order(below: Mapping[str, Collection[str]]) -> list[str]:
    """The keys, each after all that lead to it, but none in a cycle or below one; `below`: those that each leads to."""
    waits = Counter(head for heads in below.values() for head in heads)
    ready = [key for key in below if not waits[key]]
    for key in ready:  # which grows on the way
        for head in below[key]:
            waits[head] -= 1
            if not waits[head]:
                ready.append(head)
    return ready


def _rows(boxes: list[Box], links: list[Link]) -> dict[str, int]:
    """The row of each box: below all boxes that lead to it, or, if nothing does, above those that it leads to."""
    below: dict[str, list[str]] = {key: [] for key, _, _ in boxes}
    for _, tail, head, _, _ in links:
        below[tail].append(head)
    row = dict.fromkeys(below, 0)
    for key in in_order(below):
        for head in below[key]:
            row[head] = max(row[head], row[key] + 1)
    first = {key for key in below if not row[key] and below[key]}
    return row | {key: min(row[head] for head in below[key]) - 1 for key in first}


def _reach(boxes: list[Box], links: list[Link]) -> int:
    """How many rows all links together lead down."""
    row = _rows(boxes, links)
    return sum(row[head] - row[tail] for _, tail, head, *_ in links)


def simple(boxes: list[Box], links: list[Link]) -> Layout:
    """A cheap layout, with straight lines between plain rows. Fast for any graph."""
    row = _rows(boxes, links)
    rows: dict[int, list[Box]] = {}
    for box in boxes:
        rows.setdefault(row[box[0]], []).append(box)
    layout = Layout(max(sum(width + 16 for _, width, _ in line) for line in rows.values()), 0.0, direction="TB")
    half: dict[str, float] = {}
    for number in sorted(rows):
        line = rows[number]
        tallest = max(height for _, _, height in line)
        x = (layout.width - sum(width + 16 for _, width, _ in line)) / 2 + 8
        for key, width, height in line:
            layout.spots[key] = Spot(x + width / 2, layout.height + tallest / 2)
            half[key] = height / 2
            x += width + 16
        layout.height += tallest + 44
    layout.height = max(0.0, layout.height - 44)
    for key, tail, head, width, _ in links:
        start, end = layout.spots[tail], layout.spots[head]
        first, last = (start.x, start.y + half[tail]), (end.x, end.y - half[head])
        middle = (first[1] + last[1]) / 2
        layout.curves[key] = [first, (first[0], middle), (last[0], middle), last]
        if width:
            layout.labels[key] = Spot((first[0] + last[0]) / 2, middle)
    layout.note = "This graph is laid out in plain rows: it has more links than Graphviz can place in a few seconds."
    return layout


def _dot(
    boxes: list[Box],
    links: list[Link],
    direction: str,
    loose: set[str],
    scopes: list[Scope],
    snug: bool,
    ends: tuple[list[str], list[str]],
    level: Sequence[tuple[str, str]],
) -> str:
    number = {key: position for position, (key, _, _) in enumerate(boxes)}
    across, along = (0.14, 0.25) if snug else (0.24, 0.3 if direction == "LR" else 0.26)
    haste = "nslimit=1;" * (len(boxes) + len(links) > LARGE)
    lines = [
        f"digraph{{rankdir={direction};nodesep={across};ranksep={along};{haste}",
        'node[shape=box,fixedsize=true,label=""];edge[arrowhead=none];',
    ]
    lines += [f"{number[key]}[width={width / 72:.3f},height={height / 72:.3f}];" for key, width, height in boxes]
    lines += _clusters(scopes, number, None)
    for rank, keys in zip(("source", "sink"), ends, strict=True):
        lines += [f"{{rank={rank};{';'.join(str(number[key]) for key in keys)}}}"] if keys else []
    lines += [f"{{rank=same;{number[one]};{number[other]}}}" for one, other in level]
    for key, tail, head, width, height in links:
        label = "[constraint=false]" if key in loose else ""
        if width:
            label = f"[{_room(width, height)}]"
        lines.append(f"{number[tail]}->{number[head]}{label};")
    return "".join(lines) + "}"


def _room(width: float, height: float) -> str:
    """An empty label of this size."""
    return (
        f'label=<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" FIXEDSIZE="TRUE" '
        f'WIDTH="{width:.0f}" HEIGHT="{height:.0f}"><TR><TD></TD></TR></TABLE>>'
    )


def _clusters(scopes: list[Scope], number: dict[str, int], parent: str | None) -> list[str]:
    lines = []
    for position, scope in enumerate(scopes):
        if scope.parent != parent:
            continue
        lines.append(f"subgraph cluster_{position}{{margin=9;labeljust=l;{_room(scope.width, TITLE)};")
        lines += [f"{number[key]};" for key in scope.boxes]
        lines += [*_clusters(scopes, number, scope.key), "}"]
    return lines


def _run(source: str, program: str, size: int) -> dict[str, Any]:
    missing = ""
    try:
        import pygraphviz  # noqa: F401
    except ModuleNotFoundError:
        missing = MISSING
    except ImportError as error:
        missing = BROKEN.format(error)
    if not missing:
        if size <= IN_PROCESS:
            return _here(source, program)
        command = [sys.executable, "-c", f"from viz.picture.layout import main; main({program!r})"]
    else:
        path = shutil.which("dot")
        if path is None:
            raise GraphvizMissing(missing)
        command = [path, f"-K{program}", "-Tjson0"]
    done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=TIME_LIMIT, check=False)
    if done.returncode or not done.stdout:
        raise RuntimeError(f"Graphviz could not lay this out: {done.stderr.decode(errors='replace').strip()[:500]}")
    return _loaded(done.stdout)


# A toggle pressed back and forth asks for the same layouts again, and so does each folding that is tried.
@functools.lru_cache(maxsize=1024)
def _here(source: str, program: str) -> dict[str, Any]:
    return _loaded(bundled(source, program))


def bundled(source: str, program: str) -> bytes:
    """The output of the Graphviz inside pygraphviz for `source`."""
    import pygraphviz

    graph = pygraphviz.AGraph(string=source)
    try:
        return bytes(graph.draw(format="json0", prog=program))
    finally:
        graph.close()


def main(program: str) -> None:
    """Lay out standard input to standard output; this runs in the separate process."""
    sys.stdout.buffer.write(bundled(sys.stdin.read(), program))


def _loaded(text: bytes) -> dict[str, Any]:
    """Graphviz's output, with pixels from the top left corner in the place of its texts of numbers."""
    data = json.loads(text)
    left, bottom, right, top = (float(part) for part in data["bb"].split(","))

    def point(text: str) -> tuple[float, float]:
        x, y = text.split(",")[:2]
        return round(float(x) - left, 1), round(top - float(y), 1)

    for thing in data.get("objects", ()):
        if "pos" in thing:
            thing["pos"] = point(thing["pos"])
        elif "bb" in thing:
            west, south, east, north = thing["bb"].split(",")
            thing["bb"] = *point(f"{west},{north}"), *point(f"{east},{south}")
    for edge in data.get("edges", ()):
        if "pos" in edge:
            edge["pos"] = [point(part) for part in edge["pos"].split(" ") if part[0] not in "es"]
        if "lp" in edge:
            edge["lp"] = point(edge["lp"])
    return {**data, "bb": (right - left, top - bottom)}


def _read(data: dict[str, Any], boxes: list[Box], links: list[Link], scopes: list[Scope]) -> Layout:
    layout = Layout(*data["bb"])
    for thing in data.get("objects", ()):
        if "pos" in thing:
            layout.spots[boxes[int(thing["name"])][0]] = Spot(*thing["pos"])
        elif "bb" in thing:
            layout.frames[scopes[int(thing["name"][8:])].key] = thing["bb"]
    by_ends: dict[tuple[int, int], list[str]] = {}
    number = {key: position for position, (key, _, _) in enumerate(boxes)}
    for key, tail, head, _, _ in links:
        by_ends.setdefault((number[tail], number[head]), []).append(key)
    names = {thing["_gvid"]: int(thing["name"]) for thing in data.get("objects", ()) if "pos" in thing}
    for edge in sorted(data.get("edges", ()), key=lambda edge: edge["_gvid"]):
        key = by_ends[names[edge["tail"]], names[edge["head"]]].pop(0)
        if "pos" in edge:
            layout.curves[key] = list(edge["pos"])
        if "lp" in edge:
            layout.labels[key] = Spot(*edge["lp"])
    return layout
