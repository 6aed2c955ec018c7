"""Runs ahead: while nobody asks, each switch of the explorer in use is tried, so that a press finds its answer.

The worker calls `rehearse` whenever it is idle. One call tries one switch: a press waits for no more than that.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Iterator
from typing import Any

import kernel
import later

LONGEST_S = 0.2  # a run that takes longer is the last: a press would wait for it
FIRST_MS = 1000  # the longest answer, with its picture, of a program that is tried at all
REMEMBERED = 160  # runs and pictures: those of all switches of a program, and of a few presses
_going: list[tuple[Any, Any, Iterator[dict[str, Any]]]] = []  # an explorer, its result, the states to try


def rehearse() -> bool:
    """Try one switch of the explorer that was opened or touched last. Returns whether there is another to try."""
    shown = kernel.widgets.get(kernel.touched)
    if not hasattr(shown, "rehearse"):
        _going.clear()
        return False
    if not _going or _going[0][0] is not shown or _going[0][1] is not shown.result:
        _going[:] = [(shown, shown.result, _presses(shown))]
    states = _going[0][2]
    state = next(states, None)
    if state is None:
        return False
    began = time.monotonic()
    try:
        with contextlib.suppress(Exception):  # a press will tell it
            shown.rehearse(state)
    except later.NotHere:  # the rest of Python is on its way to this page, and the worker calls again when it has come
        _going.clear()
        return False
    if time.monotonic() - began > LONGEST_S:
        _going[0] = (*_going[0][:2], iter(()))
        return False
    return True


def _presses(shown: Any) -> Iterator[dict[str, Any]]:
    """The states that one press leads to; none for a program that is not tried."""
    from viz.experiments.switches import pressed, presses
    from viz.picture import kept

    result = shown.result
    if result.get("refused") or result["took"] > FIRST_MS or _may_not_end("\n".join(result["code"])):
        return
    kept.KEPT = REMEMBERED
    for switch in sorted(presses(shown.program["switches"]), key=lambda switch: bool(switch["rare"])):
        yield pressed(result["state"], switch)


def _may_not_end(source: str) -> bool:
    return any(isinstance(node, ast.While) for node in ast.walk(ast.parse(source)))
