"""The modes of a thread, in one object, so that an op needs to look only once."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["State", "everywhere", "quiet", "standing_modes", "thread"]


# The function modes that every thread starts with.
standing_modes: list[Any] = []


def _mode(name: str) -> Any:
    """A mode from which `recording` and `unusual` follow."""

    def read(self: State) -> Any:
        return getattr(self, name)

    def write(self: State, value: Any) -> None:
        setattr(self, name, value)
        self._follow()

    return property(read, write)


class State:
    """What one thread has switched on. The layers around the core set it; an op reads `recording` and `unusual`.

    `recording` follows from two modes: grad mode is on, inference mode is off. `unusual` is true while anything unusual
    is in force: ops look at the details only then.
    """

    __slots__ = (
        "_anomaly", "_grad_enabled", "_inference", "_keep_versions", "_saved_hooks", "below", "check_nan", "depth",
        "hooks_refused", "is_quiet", "modes", "multithreading", "recording", "running", "task", "unusual",
    )  # fmt: skip

    grad_enabled = _mode("_grad_enabled")
    inference = _mode("_inference")
    anomaly = _mode("_anomaly")
    saved_hooks = _mode("_saved_hooks")  # pairs of pack and unpack, the innermost last
    keep_versions = _mode("_keep_versions")  # who copies saved tensors that are about to be changed

    def __init__(self) -> None:
        # Every thread starts with recording on and nothing else, whatever the thread that started it had set.
        self._grad_enabled = self.recording = self.multithreading = self.check_nan = True
        self._inference = self._anomaly = self.unusual = self.is_quiet = False
        self._saved_hooks: tuple[Any, ...] = ()
        self._keep_versions: Any = None
        self.hooks_refused: str | None = None  # why saved-tensor hooks may not be entered now
        self.modes: list[Any] = list(standing_modes)  # the function modes, the innermost last
        self.task: Any = None  # the backward pass that runs now
        self.depth = self.below = 0  # passes inside one another: in this thread, in the threads that wait for it
        # NumPy keeps its error state in a context variable. A context in which warnings are off is entered for a fifteenth
        # of what `np.errstate` costs: a scalar op does not notice.
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.running = context.run

    def _follow(self) -> None:
        self.recording = self._grad_enabled and not self._inference
        self.unusual = bool(self._inference or self._anomaly or self._saved_hooks or self._keep_versions is not None)

    def quietly(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of `function`, without NumPy's warnings: NaN and infinity flow silently, as in PyTorch."""
        if self.is_quiet:
            return function(*args, **kwargs)
        self.is_quiet = True
        try:
            return self.running(function, *args, **kwargs)
        finally:
            self.is_quiet = False


class _Thread(threading.local):
    def __init__(self) -> None:
        self.state = State()


thread = _Thread()


class _Everywhere:
    """What is in force in all threads: `unusual` is true while anything is.

    `modes_seen`: some thread entered a function mode, or made a complex tensor, at some time: public calls look for both.
    """

    __slots__ = ("_in_force", "modes_seen", "unusual")

    def __init__(self) -> None:
        self._in_force: frozenset[str] = frozenset()
        self.unusual = self.modes_seen = False

    def now(self, what: str, is_so: bool) -> None:
        """Say that `what` is in force from now on, or no longer is."""
        self._in_force = self._in_force | {what} if is_so else self._in_force - {what}
        self.unusual = bool(self._in_force)


everywhere = _Everywhere()


def quiet(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`State.quietly` of the thread that runs."""
    return thread.state.quietly(function, *args, **kwargs)
