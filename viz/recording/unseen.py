"""Lets the recorder read the program's objects: no op is seen, and an error of ours is never one of the program."""

from __future__ import annotations

import sys
from types import TracebackType

from viz.engines import Engine
from viz.recording.graph import Graph

LONGEST_REASON = 200  # characters
PART = "a part of this program"


class Reading:
    """A context in which the recorder reads what belongs to the program. The program never notices.

    What is raised here becomes the note of the graph, and the program goes on. Interrupts and time limits pass.
    """

    def __init__(self, engine: Engine, graph: Graph, what: str = PART) -> None:
        self._quietly = engine.quietly()
        self._graph = graph
        self._what = what

    def __enter__(self) -> None:
        self._quietly.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._quietly.__exit__(kind, error, traceback)
        if not isinstance(error, Exception):
            return False
        note(self._graph, error, self._what)
        return True


def note(graph: Graph, error: Exception, what: str = PART) -> None:
    """Note what of the program could not be read, and why. The first note stays."""
    reason = " ".join((str(error) or type(error).__name__).encode("utf-8", "replace").decode().split())
    reason = reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
    graph.note = graph.note or f"viz could not read {what}: {reason}"


class Unseen(Reading):
    """As `Reading`, where a call would be seen as one of the program.

    While a program is watched, Python calls the trace function for each function that is entered. To read an op takes a
    hundred of them: more time than the reading itself.
    """

    def __enter__(self) -> None:
        self._trace = sys.gettrace()
        sys.settrace(None)
        super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        try:
            return super().__exit__(kind, error, traceback)
        finally:
            sys.settrace(self._trace)
