"""Lets the recorder read tensors without being observed itself."""

from __future__ import annotations

import sys
from types import TracebackType

from viz.engines import Engine


class Unseen:
    """A context in which reading a tensor is not seen as an op, nor a call as one of the program.

    While a program is watched, Python calls the trace function for each function that is entered. To read an op takes a
    hundred of them: more time than the reading itself.
    """

    def __init__(self, engine: Engine) -> None:
        self._quietly = engine.quietly()

    def __enter__(self) -> None:
        self._trace = sys.gettrace()
        sys.settrace(None)
        self._quietly.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._quietly.__exit__(kind, error, traceback)
        sys.settrace(self._trace)
