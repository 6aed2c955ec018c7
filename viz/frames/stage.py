"""The state of one view as a recording is played: what each step changes becomes a patch."""

from __future__ import annotations

import functools
from typing import Any

from viz.picture.shapes import Drawing
from viz.picture.svg import State
from viz.picture.theme import text_width


class Stage:
    """The state of one view as it changes; each step's changes become a patch."""

    def __init__(self) -> None:
        self.state: dict[str, State] = {}
        self.first: dict[str, State] = {}
        self.patches: list[dict[str, dict[str, Any]]] = []
        self.widest: dict[str, dict[str, str]] = {}
        self._change: dict[str, dict[str, Any]] = {}
        self._passing: dict[str, str] = {}

    def set(self, key: str, classes: str | None = None, **text: str) -> None:
        """Give an element its classes (None: leave them) and texts from this step on."""
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
        """Give an element classes for this step alone, and what it has after it."""
        self.set(key, classes, **text)
        self._passing[key] = after

    @property
    def rooms(self) -> dict[str, dict[str, str]]:
        """For each element and slot the widest text that it will ever hold."""
        rooms = {}
        for key, slots in self.widest.items():
            rooms[key] = dict(slots)
            if "label2" in slots:
                rooms[key]["label"] = f"{slots['label']}\n{slots['label2']}"
        return rooms

    def close(self) -> None:
        """End the step."""
        self.patches.append(self._change)
        self._change = {}
        leaving, self._passing = self._passing, {}
        for key, after in leaving.items():
            self.set(key, after)


_LOUDEST = ("error", "running", "now", "ready")


@functools.lru_cache(maxsize=256)
def _loudness(state: str) -> int:
    return next((place for place, word in enumerate(_LOUDEST) if word in state), len(_LOUDEST))


def translated(patch: dict[str, dict[str, Any]], drawing: Drawing) -> dict[str, dict[str, Any]]:
    """A patch for what is drawn: a fold shows the loudest state of what happens inside it, and none of its texts."""
    keys = drawing.keys
    rows = drawing.rows
    made: dict[str, dict[str, Any]] = {}
    for key, change in patch.items():
        if key in keys:
            made[key] = change
            if "text" in change:
                fitting = {
                    slot: rows[key, slot].cut(text) for slot, text in change["text"].items() if (key, slot) in rows
                }
                made[key] = {**change, "text": {**change["text"], **fitting}}
            continue
        stands = drawing.alias.get(key)
        if stands is None or stands not in keys or "class" not in change:
            continue
        made[stands] = {"class": min(change["class"], made.get(stands, {}).get("class", "done"), key=_loudness)}
    return made
