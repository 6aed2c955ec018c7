"""Turns a recording into what a player gets: for each view one picture, laid out once, and a patch for each step."""

from __future__ import annotations

import functools
import json
import re
import secrets
from typing import Any

from viz.frames import details, levels
from viz.frames.director import VIEWS, Director
from viz.frames.stage import translated
from viz.picture import layout as layouts
from viz.picture import shapes, svg
from viz.picture.fold import fold
from viz.picture.kept import Drawn, Kept
from viz.recording.collection import no_collection
from viz.recording.recording import Recording

WIDE = 1240.0  # pixels; a wider left-to-right picture is drawn top to bottom instead
ROOM = 1_400_000  # characters that a scene may have, the insides of its folds included
LEAST_ROOM = 400_000  # for those insides, in a scene that is large without them
INSIDE = 2.0  # seconds for the layout of what is inside one fold
TOO_WIDE = 1.5 * WIDE  # past this, not even a picture that is to keep its direction stays left to right


@no_collection()
def scene(
    recording: Recording,
    identity: str | None = None,
    title: str = "",
    views: tuple[str, ...] = VIEWS,
    theme: str = "auto",
    direction: dict[str, str] | None = None,
    kept: Kept | None = None,
    wide: float = WIDE,
) -> dict[str, Any]:
    """All that a player needs to show `recording`, as plain data; see the contract in the design.

    Args:
        recording: what to show.
        identity: prefix of all element ids, unique on the page; made up when not given.
        title: heading of the player.
        views: which views to prepare.
        theme: `"auto"`, `"light"` or `"dark"`.
        direction: of a view, `"LR"` or `"TB"`; what fits a page when not given.
        kept: the pictures of earlier runs, which are taken again where they fit.
        wide: pixels across that a picture may have from left to right, where no direction is given.
    """
    identity = identity or new_identity()
    director = Director(recording)
    graph = recording.graph
    folding = fold(graph)
    wanted = direction or {}
    drawings = {}
    for view in views:
        rooms = director.stages[view].rooms
        if kept is not None:
            rooms = kept.rooms(graph, view, rooms)
        drawings[view] = shapes.drawing(graph, view, rooms, director.layers, folding)
    pictures = {
        view: _picture(
            director, view, drawings[view], f"{identity}{view[0]}", theme, wanted.get(view), kept or Kept(), wide
        )
        for view in views
    }
    made: dict[str, Any] = {
        "schema": 1,
        "id": identity,
        "engine": recording.engine,
        "title": title or f"{recording.engine}, step by step",
        "source": recording.source,
        "views": pictures,
        "steps": [vars(step) for step in director.steps],
        "details": details.details(graph),
        "legend": details.legend(recording, folding),
        "stdout": recording.stdout,
        "error": recording.error,
    }
    if folding.folds:
        inner = levels.levels(graph, folding)
        shown: set[str] = set()  # what a reader can point at
        room = max(LEAST_ROOM, ROOM - len(json.dumps(made, ensure_ascii=False))) // len(views)
        for view in views:
            top = drawings[view].keys
            pictures[view]["folds"], within = levels.pictures(
                director, view, inner, pictures[view]["id"], top, functools.partial(arrange, time_limit=INSIDE), room
            )
            shown |= top | within
        opened = {key for picture in pictures.values() for key in picture["folds"]}
        made["details"].update(levels.details(graph, folding, inner, opened))
        made["details"] = {key: rows for key, rows in made["details"].items() if key in shown}
    return made


def _picture(
    director: Director,
    view: str,
    drawing: shapes.Drawing,
    identity: str,
    theme: str,
    direction: str | None,
    kept: Kept,
    wide: float,
) -> dict[str, Any]:
    """Base SVG and patches of one view."""
    stage = director.stages[view]
    patches = [translated(patch, drawing) for patch in stage.patches]
    if patches:
        patches[0] = {}
    about = f"Graph of the program, {view} view", details.describe(director.graph), theme
    drawn = kept.find(drawing, stage.first, about, direction)
    if drawn is None:
        placed = arrange(drawing, direction, wide)
        text = svg.write(drawing, placed, identity, stage.first, *about)
        drawn = Drawn(drawing, stage.first, about, direction, placed.direction, identity, text)
        kept.add(drawn)
    text = drawn.text.replace(drawn.identity, identity)
    return {"svg": text, "patches": patches, "id": identity, "direction": drawn.direction}


def frame(scene: dict[str, Any], view: str, step: int) -> str:
    """The picture of one step of a scene as SVG, from the scene alone: what the player shows there.

    Raises:
        IndexError: the scene has no such step.
    """
    picture = scene["views"][view]
    patches = picture["patches"]
    if not -len(patches) <= step < len(patches):
        raise IndexError(f"step must be from 0 to {len(patches) - 1}, not {step}")
    classes: dict[str, str] = {}
    words: dict[str, str] = {}
    for patch in patches[: step % len(patches) + 1]:
        for key, change in patch.items():
            if "class" in change:
                classes[key] = change["class"]
            words.update({f"{key}-{slot}": text for slot, text in change.get("text", {}).items()})
    prefix = re.escape(picture["id"])

    def group(match: re.Match[str]) -> str:
        state = classes.get(match["key"])
        if state is None:
            return match[0]
        return f'{match["head"]}class="{match["base"]} {state}" data-base="{match["base"]}"'.replace(' "', '"')

    def text(match: re.Match[str]) -> str:
        return f"{match['head']}{svg.escape(words[match['key']])}<" if match["key"] in words else match[0]

    drawn = re.sub(
        rf'(?P<head><g id="{prefix}-(?P<key>\w+)" )class="[^"]*" data-base="(?P<base>[^"]*)"', group, picture["svg"]
    )
    return re.sub(rf'(?P<head><text id="{prefix}-(?P<key>\w+-\w+)"[^>]*>)[^<]*<', text, drawn)


_counter = iter(range(1, 1 << 62))


def new_identity() -> str:
    """A prefix for ids that no other picture of this process, nor likely of this page, has."""
    return f"g{secrets.token_hex(3)}{next(_counter)}"


def fits_across(drawing: shapes.Drawing, wide: float = WIDE) -> bool:
    """Whether the longest row fits a page, as far as can be told before anything is laid out."""
    if len(drawing.boxes) > 60:
        return False
    width = {box.key: box.width for box in drawing.boxes}
    below: dict[str, list[tuple[str, float]]] = {key: [] for key in width}
    waits = dict.fromkeys(width, 0)
    for link in drawing.links:
        if link.kind != "share":
            below[link.tail].append((link.head, max(24.0, link.room[0])))
            waits[link.head] += 1
    reach = dict(width)
    ready = [key for key, count in waits.items() if not count]
    while ready:
        key = ready.pop()
        for head, gap in below[key]:
            reach[head] = max(reach[head], reach[key] + gap + width[head])
            waits[head] -= 1
            if not waits[head]:
                ready.append(head)
    return max(reach.values(), default=0.0) <= wide


def arrange(
    drawing: shapes.Drawing,
    direction: str | None = None,
    wide: float = WIDE,
    time_limit: float = layouts.TIME_LIMIT,
) -> layouts.Layout:
    """Lay a picture out in a direction, `"LR"` or `"TB"`; without one, left to right where that fits a page.

    Asked for left to right, a picture that nobody could read so is laid out top to bottom all the same.
    """
    sizes = [(box.key, box.width, box.height) for box in drawing.boxes]
    ends = [(link.key, link.tail, link.head, *link.room) for link in drawing.links]
    loose = {link.key for link in drawing.links if link.kind == "share"}
    if direction == "LR" or (direction is None and fits_across(drawing, wide)):
        placed = layouts.place(sizes, ends, "LR", loose, time_limit, drawing.scopes)
        if placed.width <= (wide if direction is None else TOO_WIDE):
            return placed
    placed = layouts.place(sizes, ends, "TB", loose, time_limit, drawing.scopes)
    # Many side by side: a page is scrolled down more easily than across.
    if direction is None and placed.width > 2 * wide:
        other = layouts.place(sizes, ends, "LR", loose, time_limit, drawing.scopes)
        return min(placed, other, key=lambda one: one.width)
    return placed
