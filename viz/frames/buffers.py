"""The saved tensors of a recording and their states, as the panel beside the picture lists them."""

from __future__ import annotations

from collections import Counter

from viz.frames.words import Words
from viz.recording.graph import Op


class Buffers:
    """Which saved tensors are alive, packed, changed or freed, step by step. A step costs only what it changes."""

    def __init__(self, words: Words, listed: int) -> None:
        self._words = words
        self._listed = listed  # the most that the panel shows
        self._state: dict[str, str] = {}
        self._title: dict[str, str] = {}
        self._changed: dict[str, None] = {}
        self._counts: Counter[str] = Counter()

    def set(self, op: Op, position: int, state: str) -> None:
        """Set the state of the saved tensor at `position` of an op from now on."""
        key = f"{op.key}s{position}"
        before = self._state.get(key)
        if before == state:
            return
        if before is not None:
            self._counts[before] -= 1
        self._counts[state] += 1
        self._state[key] = state
        self._changed[key] = None
        self._title[key] = self._words.tab(op, position)

    def rows(self) -> list[list[str]]:
        """The list for the current step: all of them if they are few, else what has just changed, and counts."""
        changed, self._changed = self._changed, {}
        if len(self._state) <= self._listed:
            return [[self._title[key], state] for key, state in self._state.items()]
        rows = [[self._title[key], self._state[key]] for key in list(changed)[: self._listed]]
        return rows + [[f"{count} in all", state] for state, count in self._counts.items() if count]
