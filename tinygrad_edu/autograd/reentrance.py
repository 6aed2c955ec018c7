"""Backward passes inside backward passes: at certain depths they continue in a new thread.

Each level takes room on Python's stack, which is limited; a new thread has a new stack. PyTorch does the same.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from ..modes import thread as this_thread

__all__ = ["LEVELS", "in_another_thread"]

# The number of nested passes in one thread. It is small enough that a level may be thirty calls deep.
LEVELS = 20
# The number of nested passes in total. A rule that starts a pass through itself would never end.
MOST = 10_000


def in_another_thread(depth: int, function: Callable[..., Any], *args: Any) -> Any:
    """The result of `function(*args)`, or what it raises, computed in a new thread with the modes of this one, in which passes are
    `depth` deep.

    Raises:
        RecursionError: there are thousands of passes inside one another.
    """
    state = this_thread.state
    below = state.below + depth
    if below >= MOST:
        raise RecursionError(
            f"maximum recursion depth exceeded: {below} backward passes inside one another. Does a backward, or a "
            "hook, start a pass that reaches itself again?"
        )
    results: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        kept = ("is_quiet", "running", "task", "below")
        vars(this_thread.state).update({name: value for name, value in vars(state).items() if name not in kept})
        this_thread.state.below = below
        try:
            results.append(function(*args))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    thread.start()
    thread.join()
    if errors:
        try:
            raise errors[0]
        finally:
            # The error holds this frame: without this, one would keep the other alive.
            errors.clear()
    return results[0]
