"""Turns a recording into the data for a player: for each view one picture, laid out once, and a patch for each step."""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections.abc import Callable
from typing import Any

from viz.frames import details, levels, network
from viz.frames.director import VIEWS, Director
from viz.frames.stage import shown_moves, translated
from viz.picture import layout as layouts
from viz.picture import shapes, svg
from viz.picture.boxes import has_modules
from viz.picture.fit import POCKET, ROOMS, Choice, Fitter, Placed, Room, fullest, lay_out, longest
from viz.picture.fold import Folding
from viz.picture.kept import Drawn, Kept
from viz.picture.shapes import Detail
from viz.recording.collection import no_collection
from viz.recording.recording import Recording

MODULES = "modules"  # the view of a program whose ops run inside modules
WIDE = 1240.0  # pixels; a wider left-to-right picture is drawn top to bottom instead
CHARACTERS = 1_400_000  # characters that a scene may have, the insides of its folds included
LEAST_CHARACTERS = 400_000  # for those insides, in a scene that is large without them


@no_collection()
def scene(
    recording: Recording,
    identity: str | None = None,
    title: str = "",
    views: tuple[str, ...] = (MODULES, *VIEWS),
    theme: str = "auto",
    rooms: tuple[Room, ...] = ROOMS,
    kept: Kept | None = None,
    beside: Recording | None = None,
) -> dict[str, Any]:
    """Everything that a player needs to show `recording`, as plain data.

    A view has a picture for each of the rooms that needs a different one: `svg` and `patches` belong to the first,
    `others` has the rest. `rank` says how much of the graph a picture leaves out (0: nothing), `least` is the size of
    its smallest letters, `width` and `height` are its own, in pixels; `stands` says which element stands for one that
    is not drawn, `widest` for which stages a phone's picture is meant.

    Args:
        recording: what to show.
        identity: prefix of all element ids, unique on the page; made up when not given. title: heading of the player.
        views: which views to prepare; that of modules comes where the program has some.
        theme: `"auto"`, `"light"` or `"dark"`. rooms: the places to fit; a stage takes the picture that fits it best.
        kept: pictures of earlier runs, reused where they fit. beside: another engine's recording, shown if it differs.
    """
    identity, kept, graph = identity or new_identity(), kept or Kept(), recording.graph
    director = _directed(recording, beside, kept)
    by_module, views = MODULES in views and has_modules(graph), tuple(view for view in views if view != MODULES)
    foldings: dict[tuple[str, ...], Folding] = {}
    pictures: dict[str, dict[str, Any]] = {}
    drawn: dict[str, set[str]] = {}  # what at least one picture of a view shows
    common: dict[str, set[str]] = {}  # what all pictures of a view show
    for view in views:
        fitted = _fitted(director, view, rooms, kept)
        drawings = [_picture(director, view, drawing, f"{identity}{view[0]}", theme, kept) for drawing, _ in fitted]
        pictures[view] = _with_others(drawings, [meant for _, meant in fitted])
        foldings |= {tuple(placed.folding.folds): placed.folding for placed, _ in fitted}
        common[view] = set.intersection(*(placed.drawing.keys for placed, _ in fitted))
        drawn[view] = set().union(*(placed.drawing.keys for placed, _ in fitted))
    made: dict[str, Any] = {
        "schema": 1,
        "id": identity,
        "engine": recording.engine,
        "title": title or f"{recording.engine}, step by step",
        "source": recording.source,
        "views": pictures,
        "steps": [vars(step) for step in director.steps],
        "details": details.details(graph),
        "stdout": recording.stdout,
        "error": recording.error,
    }
    # Modules open in place, so the contents of the flat views' folds are not needed beside them.
    if not by_module and any(folding.folds for folding in foldings.values()):
        _add_insides(made, director, list(foldings.values()), common, drawn, functools.partial(_inside, kept, rooms[0]))
    if by_module:
        room = rooms[0] if len(rooms) == 1 else None
        whole = network.network_view(director, f"{identity}m", theme, room, kept.networks)
        made["views"] = {MODULES: whole, **made["views"]}
        made["details"].update(network.details(whole["network"]))
    return made


def _directed(recording: Recording, beside: Recording | None, kept: Kept) -> Director:
    """The director of `recording`; one of before, if that played it."""
    both = id(recording), id(beside)
    if both not in kept.played:
        kept.played[both] = Director(recording, beside), beside  # which keeps both, and so their ids
    director: Director = kept.played[both][0]
    return director


def _fitted(director: Director, view: str, rooms: tuple[Room, ...], kept: Kept) -> list[tuple[Placed, set[Room]]]:
    """The different pictures of a view that fit the rooms, each with those that it is for."""
    graph, layers = director.graph, director.layers
    texts = kept.longest(graph, view, director.stages[view].longest)
    fitter = Fitter(graph, lambda folding, detail: shapes.drawing(graph, view, texts, layers, folding, detail=detail))
    by_choice: dict[Choice, tuple[Placed, set[Room]]] = {}
    for room in rooms:
        placed = fitter.fit(room, kept.choices.get((view, room)))
        kept.choices[view, room] = placed.choice
        meant = by_choice[placed.choice][1] if placed.choice in by_choice else set()
        by_choice[placed.choice] = placed, meant | {room}
    return list(by_choice.values())


def _with_others(pictures: list[dict[str, Any]], meant: list[set[Room]]) -> dict[str, Any]:
    """The first picture of a view, with the others in it."""
    for picture, rooms in zip(pictures[1:], meant[1:], strict=True):
        if rooms == {POCKET}:
            picture["widest"] = POCKET.width + POCKET.width // 4
    return {**pictures[0], "others": pictures[1:]} if pictures[1:] else pictures[0]


def _add_insides(
    made: dict[str, Any],
    director: Director,
    foldings: list[Folding],
    common: dict[str, set[str]],
    drawn: dict[str, set[str]],
    place: levels.Place,
) -> None:
    """Add the pictures of what the folds hold, and the details of what a reader can then point at."""
    inner = levels.levels(director.graph, *foldings)
    shown: set[str] = set()
    pictures = made["views"]
    characters = max(LEAST_CHARACTERS, CHARACTERS - len(json.dumps(made, ensure_ascii=False))) // len(pictures)
    for view, picture in pictures.items():
        picture["folds"], within = levels.pictures(
            director, view, inner, picture["id"], common[view], place, characters
        )
        shown |= drawn[view] | within
    opened = {key for picture in pictures.values() for key in picture["folds"]}
    made["details"].update(levels.details(director.graph, foldings, inner, opened))
    made["details"] = {key: rows for key, rows in made["details"].items() if key in shown}


def _inside(
    kept: Kept, room: Room, view: str, fold: str, make: Callable[[Detail], shapes.Drawing]
) -> tuple[shapes.Drawing, layouts.Layout]:
    """The contents of a fold, drawn as before if that still fits."""
    drawing, layout, kept.insides[view, fold, room] = fullest(make, room, before=kept.insides.get((view, fold, room)))
    return drawing, layout


def _picture(director: Director, view: str, placed: Placed, identity: str, theme: str, kept: Kept) -> dict[str, Any]:
    """Base SVG and patches of one view."""
    stage = director.stages[view]
    drawing, (_, detail, direction) = placed.drawing, placed.choice
    patches = [translated(patch, drawing) for patch in stage.patches]
    if patches:
        patches[0] = {}
    about = f"Graph of the program, {view} view", details.describe(director.graph), theme
    drawn = kept.find(drawing, stage.first, about, direction)
    if drawn is None:
        text = svg.write(drawing, placed.layout, identity, stage.first, *about)
        drawn = Drawn(drawing, stage.first, about, direction, identity, text)
        kept.add(drawn)
    width, height = svg.canvas(placed.layout, [])
    boxes = {box.key for box in drawing.boxes}
    return {
        "svg": drawn.text.replace(drawn.identity, identity),
        "patches": patches,
        "moves": shown_moves(stage.moves, drawing),
        "id": identity,
        "direction": direction,
        "rank": placed.rank,
        "least": detail.least,
        "stands": {key: box for key, box in drawing.alias.items() if box in boxes},
        "width": round(width),
        "height": round(height),
    }


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
    """A prefix for ids that no other picture of this process has, and hardly any other of this page."""
    return f"g{secrets.token_hex(3)}{next(_counter)}"


def fits_across(drawing: shapes.Drawing) -> bool:
    """Whether the longest row fits a page, estimated before the layout."""
    if len(drawing.boxes) > 60:
        return False
    flow = [link for link in drawing.links if link.kind != "share"]
    links = [(link.tail, link.head, max(24.0, link.label_size[0])) for link in flow]
    return longest({box.key: box.width for box in drawing.boxes}, links) <= WIDE


def arrange(drawing: shapes.Drawing) -> layouts.Layout:
    """Lay out a picture for a page: left to right if its width fits, else top to bottom."""
    if fits_across(drawing):
        placed = lay_out(drawing, "LR")
        if placed.width <= WIDE:
            return placed
    placed = lay_out(drawing, "TB")
    # For many boxes side by side: it is easier to scroll down a page than sideways.
    if placed.width > 2 * WIDE:
        return min(placed, lay_out(drawing, "LR"), key=lambda layout: layout.width)
    return placed
