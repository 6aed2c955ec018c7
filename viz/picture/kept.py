"""Caches pictures: one that differs from an earlier one only in its numbers is not laid out again."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from viz.picture.arrange import Arranged
from viz.picture.fit import Choice, Manner, Room
from viz.picture.shapes import Drawing
from viz.picture.svg import States
from viz.picture.theme import text_width
from viz.recording.graph import Graph

KEPT = 12  # pictures, and as many structures
SLACK = "00"  # room for wider numbers; otherwise a slider would move everything at each tick


class Latest(dict[Any, Any]):
    """A dict that forgets its oldest entries."""

    def __setitem__(self, key: Any, item: Any) -> None:
        super().__setitem__(key, item)
        if len(self) > KEPT:
            del self[next(iter(self))]


@dataclass
class Drawn:
    """A finished picture, and everything that it was made from."""

    drawing: Drawing
    first: States
    about: tuple[str, ...]
    direction: str
    identity: str
    text: str


class Kept:
    """Remembers the pictures of a program while the program is changed and run again.

    While the graph keeps its structure, room for a text only grows: a shorter number moves nothing and still fits.

    >>> kept = Kept()
    >>> scene(record("a = T.tensor(1.0) * 2"), kept=kept) and scene(record("a = T.tensor(3.0) * 2"), kept=kept)
    ... # doctest: +SKIP
    """

    def __init__(self) -> None:
        self._longest: dict[Any, dict[str, dict[str, str]]] = {}
        self._drawn: list[Drawn] = []
        # How each view was drawn for a room, so that no change turns it.
        self.choices: dict[tuple[str, Room], Choice] = {}
        self.networks: dict[Any, Arranged] = Latest()  # how boxes in boxes were laid out
        # The Director of a recording and of the one beside it, by their ids.
        self.played: dict[tuple[int, int], tuple[Any, Any]] = Latest()
        self.insides: dict[tuple[str, str, Room], Manner] = {}  # the same for the contents of folds

    def branch(self) -> Kept:
        """One for a picture drawn ahead that may never be seen: it shares finished work and changes no choice here."""
        copied = copy.copy(self)
        copied._longest, copied.choices, copied.insides = dict(self._longest), dict(self.choices), dict(self.insides)
        return copied

    def longest(self, graph: Graph, view: str, longest: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """`longest`, with each text as wide as it ever was in a graph of this structure."""
        structure = view, _structure(graph)
        before = self._longest.pop(structure, {})
        widest = {
            key: {slot: _wider(text, before.get(key, {}).get(slot, "")) for slot, text in slots.items()}
            for key, slots in longest.items()
        }
        self._longest[structure] = widest  # move the latest to the end
        if len(self._longest) > KEPT:
            del self._longest[next(iter(self._longest))]
        return widest

    def find(self, drawing: Drawing, first: States, about: tuple[str, ...], direction: str) -> Drawn | None:
        """The cached picture for this drawing, if there is one."""
        for drawn in self._drawn:
            if (
                direction == drawn.direction
                and drawn.about == about
                and drawn.drawing == drawing
                and drawn.first == first
            ):
                return drawn
        return None

    def add(self, drawn: Drawn) -> None:
        """Store a picture, and drop the oldest."""
        self._drawn[:] = [drawn, *self._drawn[: KEPT - 1]]  # in place: branches share it


def _structure(graph: Graph) -> Any:
    """What two graphs must have in common to share a picture."""
    ops = tuple(
        (op.key, op.name, op.recorded, *op.inputs, *op.outputs, *(saved.name for saved in op.saved))
        for op in graph.ops.values()
    )
    values = tuple((value.key, value.kind, value.title, *(value.shape or ())) for value in graph.values.values())
    return ops, values


def _wider(text: str, before: str) -> str:
    """The room to reserve, line by line: the previous one, or if `text` is wider, its width and two digits more."""
    lines, others = text.split("\n"), before.split("\n")
    if not before or len(lines) != len(others):
        return text
    return "\n".join(
        f"{one}{SLACK}" if text_width(one, 10) > text_width(two, 10) else two
        for one, two in zip(lines, others, strict=True)
    )
