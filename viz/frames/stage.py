"""The state of one view as a recording is played: what each step changes becomes a patch."""

from __future__ import annotations

import functools
from typing import Any

from viz.picture.shapes import Drawing
from viz.picture.svg import State, States
from viz.picture.theme import text_width


class Stage:
    """The state of one view as it changes; each step's changes become a patch."""

    def __init__(self) -> None:
        self.state: States = {}
        self.first: States = {}
        self.patches: list[dict[str, dict[str, Any]]] = []
        self.moves: list[list[dict[str, Any]]] = []
        self._moves: list[dict[str, Any]] = []
        self.widest: dict[str, dict[str, str]] = {}
        self._change: dict[str, dict[str, Any]] = {}
        self._passing: dict[str, str] = {}

    def set(self, key: str, classes: str | None = None, **text: str) -> None:
        """Set the classes (None: keep them) and texts of an element from this step on."""
        state = self.state.setdefault(key, State())
        change = self._change.setdefault(key, {})
        if classes is not None:
            self._passing.pop(key, None)
            state.classes = change["class"] = classes
        for slot, words in text.items():
            state.text[slot] = words
            change.setdefault("text", {})[slot] = words
            widest = self.widest.setdefault(key, {})
            if text_width(words, 10) > text_width(widest.get(slot, ""), 10):
                widest[slot] = words

    def passing(self, key: str, classes: str, after: str, **text: str) -> None:
        """Set the classes of an element for this step only, and those that it has afterwards."""
        self.set(key, classes, **text)
        self._passing[key] = after

    def move(self, way: str, key: str, *texts: str) -> None:
        """Show a moving gradient in this step: `along` a line, `at` a node where several meet, or `into` a `.grad`.

        Its texts are shown in turn: what leaves, how it is changed, what arrives.
        """
        self._moves.append({way: key, "texts": list(dict.fromkeys(filter(None, texts)))})

    @property
    def longest(self) -> dict[str, dict[str, str]]:
        """For each element and slot, the widest text that it will ever hold."""
        longest = {}
        for key, slots in self.widest.items():
            longest[key] = dict(slots)
            if "label2" in slots:
                longest[key]["label"] = f"{slots['label']}\n{slots['label2']}"
        return longest

    def close(self) -> None:
        """End the step."""
        self.patches.append(self._change)
        self._change = {}
        self.moves.append(self._moves)
        self._moves = []
        leaving, self._passing = self._passing, {}
        for key, after in leaving.items():
            self.set(key, after)


_LOUDEST = ("error", "running", "now", "ready")


@functools.lru_cache(maxsize=256)
def loudness(state: str) -> int:
    """How much a state asks to be seen: 0 is the most."""
    return next((index for index, word in enumerate(_LOUDEST) if word in state), len(_LOUDEST))


def translated(patch: dict[str, dict[str, Any]], drawing: Drawing) -> dict[str, dict[str, Any]]:
    """A patch for the parts that are drawn: a fold shows the most important state inside it, and none of its texts."""
    keys = drawing.keys
    shown: dict[str, dict[str, Any]] = {}
    for key, change in patch.items():
        if key in keys:
            shown[key] = change if "text" not in change else {**change, "text": _fitting(key, change["text"], drawing)}
            continue
        stands = drawing.alias.get(key)
        if stands is None or stands not in keys or "class" not in change:
            continue
        shown[stands] = {"class": min(change["class"], shown.get(stands, {}).get("class", "done"), key=loudness)}
    return shown


def shown_moves(moves: list[list[dict[str, Any]]], drawing: Drawing) -> dict[str, list[dict[str, Any]]]:
    """The movements in each step, restricted to the parts that are drawn."""
    shown: dict[str, list[dict[str, Any]]] = {}
    for step, several in enumerate(moves):
        for state in several:
            way = next(iter(state))
            key = state[way] if state[way] in drawing.keys else drawing.alias.get(state[way])
            if key in drawing.keys and (key == state[way] or way == "along"):
                shown.setdefault(str(step), []).append({**state, way: key})
    return shown


def _fitting(key: str, texts: dict[str, str], drawing: Drawing) -> dict[str, str]:
    """The texts of an element for which the picture has room, each shortened to its room."""
    if key in drawing.labelled:
        return texts
    return {slot: drawing.rows[key, slot].cut(text) for slot, text in texts.items() if (key, slot) in drawing.rows}
