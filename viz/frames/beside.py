"""What another engine computed for the same program: where its numbers differ, a picture carries both."""

from __future__ import annotations

from viz.recording.distance import coarsest, distance
from viz.recording.graph import Array, Graph, Value
from viz.recording.notation import brief, short
from viz.recording.recording import Recording


class Beside:
    """Finds, for each value and gradient of a recording, the `other` engine's number.

    A value is matched by its line in the program and its name. Where the programs diverged, there is no match.
    """

    def __init__(self, recording: Recording, other: Recording) -> None:
        self._graph: Graph = other.graph
        self._rounded = coarsest(recording, other)
        self._came: dict[tuple[int, str], Array | None] = {}  # by pass and value: the complete gradient, or `.grad`
        for event in other.events:
            if event.kind == "run":
                self._came.update(
                    {(event.pass_nr, gradient.value): gradient.array for gradient in event.gradients if gradient.value}
                )
        self._left = {
            (event.pass_nr, event.values[0]): event.total for event in other.events if event.kind == "accumulate"
        }

    def value(self, value: Value) -> Array | None:
        """The other engine's array, if it differs; else None."""
        theirs = self._same(value)
        return None if theirs is None else self._other(value.array, theirs.array)

    def gradient(self, value: Value, array: Array | None, number: int, left: bool = False) -> Array | None:
        """The other engine's gradient of a value in that pass, or (`left`) its `.grad` afterwards; None if equal."""
        if self._same(value) is None:
            return None
        return self._other(array, (self._left if left else self._came).get((number, value.key)))

    def _same(self, value: Value) -> Value | None:
        theirs = self._graph.values.get(value.key)
        return theirs if theirs is not None and theirs.title == value.title else None

    def _other(self, ours: Array | None, theirs: Array | None) -> Array | None:
        if ours is None or theirs is None or distance(ours, theirs, self._rounded)[2]:
            return None
        return theirs


def both(words: str, other: Array | None, few: bool = False) -> str:
    """A number and the other engine's different one: `3 ≠ 3.1`."""
    if other is None:
        return words
    return f"{words} ≠ {short(other) if few else brief(other)}".strip()
