"""The contents of the folds of a recording: a picture for each, laid out once, that a player opens by a click.

Every fold is a separate level with its own patches, so opening one needs no kernel. A level may contain folds again.
The total size is limited, and a fold beyond the limit stays closed.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz.frames.director import Director
from viz.frames.stage import translated
from viz.picture import shapes, svg
from viz.picture.fold import Fold, Folding, inside
from viz.picture.layout import Layout
from viz.picture.shapes import Detail, Drawing
from viz.recording.graph import Graph, Op

Place = Callable[[str, str, Callable[[Detail], Drawing]], tuple[Drawing, Layout]]
MOST = 80  # the most levels of one scene, as each takes some milliseconds to lay out


@dataclass
class Level:
    """The contents of one fold."""

    fold: Fold
    parent: str | None  # the fold around it; None: the whole picture
    graph: Graph
    folding: Folding
    border: list[Op]


def levels(graph: Graph, *foldings: Folding) -> list[Level]:
    """The contents of the folds of a graph, folded in one way or several, outermost first."""
    users: dict[str, list[Op]] = {}
    for op in graph.ops.values():
        for key, _ in op.next:
            if key is not None and op.recorded:
                users.setdefault(key, []).append(op)
    levels: list[Level] = []
    waiting: list[tuple[Fold, str | None]] = [(fold, None) for folding in foldings for fold in folding.folds.values()]
    known: set[str] = set()
    while waiting and len(levels) < MOST:
        fold, parent = waiting.pop(0)
        if fold.key in known:
            continue
        known.add(fold.key)
        part, folded = inside(graph, fold)
        border: dict[str, Op] = {}
        for op in part.ops.values():
            behind = [graph.ops[key] for key, _ in op.next if key in graph.ops]
            border.update(
                {other.key: other for other in (*behind, *users.get(op.key, ())) if other.key not in part.ops}
            )
        levels.append(Level(fold, parent, part, folded, list(border.values())))
        waiting += [(inner, fold.key) for inner in folded.folds.values()]
    return levels


def details(graph: Graph, foldings: list[Folding], levels: list[Level], opened: set[str]) -> dict[str, list[list[str]]]:
    """The details of each fold; `opened` are the keys of those that have a picture."""
    about = {}
    folded = (fold for folding in foldings for fold in folding.folds.values())
    for fold in [*folded, *(fold for level in levels for fold in level.folding.folds.values())]:
        rows = [["folded", f"{fold.title(graph)} {fold.place}".strip()], ["ops", f"{len(fold.ops):,}"]]
        if fold.leaves:
            rows.append(["leaves", f"{len(fold.leaves):,}"])
        rows.append(["inside", "a click or Enter opens it" if fold.key in opened else "too large to include"])
        about[fold.key] = rows
    return about


def pictures(
    director: Director, view: str, found: list[Level], identity: str, top: set[str], place: Place, characters: int
) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The picture of each level in one view, by the key of its fold, as long as they fit into so many `characters`.

    Also returns the keys of everything that they show.

    A level has the identity of the view's own picture and takes its place. Its patches are those of the steps that
    change something in it; `own` are those that change what the view's own picture (`top`) does not show. `place` gets
    the view, the fold and a function that draws the level in more or less detail, and returns a drawing with positions.
    """
    stage = director.stages[view]
    longest = stage.longest
    steps: dict[str, list[int]] = {}
    for step, patch in enumerate(stage.patches):
        for key in patch:
            steps.setdefault(key, []).append(step)
    levels: dict[str, dict[str, Any]] = {}
    shown: set[str] = set()
    for level in found:
        if level.parent is not None and level.parent not in levels:
            continue
        drawing, layout = place(
            view,
            level.fold.key,
            functools.partial(shapes.drawing, level.graph, view, longest, director.layers, level.folding, level.border),
        )
        patches: dict[int, dict[str, Any]] = {}
        for key in drawing.keys | drawing.alias.keys():
            for step in steps.get(key, ()):
                patches.setdefault(step, {})[key] = stage.patches[step][key]
        patches.pop(0, None)
        own = {step for key in (drawing.keys | drawing.alias.keys()) - top for step in steps.get(key, ()) if step}
        title = f"{level.fold.title(level.graph)} {level.fold.place}".strip()
        picture = {
            "svg": svg.write(drawing, layout, identity, stage.first, f"Inside {title}", title, styled=False),
            "least": drawing.detail.least,
            "own": sorted(own),
            "patches": {str(step): translated(patches[step], drawing) for step in sorted(patches)},
        }
        text = packed(picture)
        characters -= len(text)
        if characters < 0:
            break
        levels[level.fold.key] = {"title": title, "parent": level.parent, "packed": text}
        shown |= drawing.keys
    return levels, shown


def packed(data: Any) -> str:
    """Data in the form that a page unpacks when a reader asks for it: JSON, gzip, base64; a tenth of its size."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode()
