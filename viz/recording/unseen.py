"""Lets the recorder read the program's objects: no op is seen, and an error of ours is never one of the program."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import TypeGuard

from viz.engines import Engine
from viz.recording.graph import Graph

LONGEST_REASON = 200  # characters
PART = "a part of this program"
OURS, HOME = "viz.", str(Path(__file__).parents[1])
BETWEEN = OURS, "torch.overrides", "tinygrad_edu.overrides", "contextlib"  # an op and who called it


class Reading:
    """A context in which the recorder reads what belongs to the program. The program never notices.

    What is raised here becomes the note of the graph, and the program goes on. Interrupts and time limits pass.
    """

    untraced = False  # whether Python's trace function is off meanwhile

    def __init__(self, engine: Engine, graph: Graph, what: str = PART) -> None:
        self._quietly = engine.quietly()
        self._graph = graph
        self._what = what

    def __enter__(self) -> None:
        if self.untraced:
            self._trace = sys.gettrace()
            sys.settrace(None)
        self._quietly.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        try:
            self._quietly.__exit__(kind, error, traceback)
            if error is None or not is_ours(error):
                return False
            note(self._graph, error, self._what)
            return True
        finally:
            if self.untraced:
                sys.settrace(self._trace)


class Unseen(Reading):
    """As `Reading`, where a call would be seen as one of the program.

    While a program is watched, Python calls the trace function for each function that is entered. To read an op takes a
    hundred of them: more time than the reading itself.
    """

    untraced = True


def is_ours(error: BaseException) -> TypeGuard[Exception]:
    """Whether an error raised as we read is ours: neither one that ends the program, nor one of its handlers.

    Python calls a handler, such as an alarm's, wherever it is, with the number of the signal and the frame it stopped.
    """
    for frame, _ in walk_tb(error.__traceback__):
        if _module(frame).startswith(OURS):  # to read its locals would keep the error
            continue
        first = [frame.f_locals.get(name) for name in frame.f_code.co_varnames[:3]]
        arguments = [part for argument in first for part in (argument if type(argument) is tuple else (argument,))]
        if any(type(number) is int and stopped is frame.f_back for number, stopped in pairwise(arguments)):
            return False
    return isinstance(error, Exception)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


@contextmanager
def warnings_in_place() -> Iterator[None]:
    """A context in which a warning has the place of who called an op, and not ours, which passes the call on."""
    shows: Callable[[warnings.WarningMessage], None] = vars(warnings)["_showwarnmsg"]

    def placed(told: warnings.WarningMessage) -> None:
        frame, inner = sys._getframe(1), None
        while frame.f_back is not None and not _module(frame).startswith(OURS):
            frame, inner = frame.f_back, frame.f_code
        if told.filename.startswith(HOME):
            while frame.f_back is not None and (_module(frame).startswith(BETWEEN) or frame.f_code is inner):
                frame = frame.f_back
            told.filename, told.lineno = frame.f_code.co_filename, frame.f_lineno
        shows(told)

    vars(warnings)["_showwarnmsg"] = placed
    try:
        yield
    finally:
        if vars(warnings)["_showwarnmsg"] is placed:
            vars(warnings)["_showwarnmsg"] = shows


def note(graph: Graph, error: Exception, what: str = PART) -> None:
    """Note what of the program could not be read, and why. The first note stays."""
    reason = " ".join((str(error) or type(error).__name__).encode("utf-8", "replace").decode().split())
    reason = reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
    graph.note = graph.note or f"viz could not read {what}: {reason}"
