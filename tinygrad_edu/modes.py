"""The modes of a thread, in one object: grad mode, and what the layers around the core add to it.

An op, a public call and a backward pass look at `unusual`, and at the details only where it is set.
"""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .core import graph, layers

__all__ = ["NOT_COUNTED", "State", "bump_version", "everywhere", "quiet", "thread", "warn_once"]


def _mode(name: str) -> Any:
    """A mode from which `recording` and `unusual` follow."""

    def write(self: State, value: Any) -> None:
        setattr(self, name, value)
        self.follow()

    return property(operator.attrgetter(name), write)


class State(layers.State):
    """What one thread has switched on. Every thread starts with recording on, and nothing else."""

    inference = _mode("_inference")
    anomaly = _mode("_anomaly")
    saved_hooks = _mode("_saved_hooks")  # pairs of pack and unpack, the innermost last
    modes = _mode("_modes")  # the function modes, the innermost last

    def __init__(self) -> None:
        super().__init__()
        self.check_nan = True
        self._inference = self._anomaly = False
        self._saved_hooks: tuple[Any, ...] = ()
        self._modes: tuple[Any, ...] = ()
        self.follow()
        everywhere.states.add(self)

    def follow(self) -> None:
        """Set what follows from the modes."""
        self.recording = self._grad_enabled and not self._inference
        records = self._inference or self._anomaly or self._saved_hooks
        self.unusual = bool(self._modes or records or everywhere.in_force)


class _Everywhere:
    """What is in force in all threads now: an open level of forward mode, volatile tensors that are alive."""

    def __init__(self) -> None:
        self.in_force: frozenset[str] = frozenset()
        self.warns_always = False  # what PyTorch says once in a process
        self.warned: set[str] = set()  # what was said
        self.states: weakref.WeakSet[State] = weakref.WeakSet()

    def now(self, what: str, is_so: bool) -> None:
        """Say that `what` is in force from now on, or no longer is."""
        self.in_force = self.in_force | {what} if is_so else self.in_force - {what}
        for state in list(self.states):
            state.follow()


everywhere = _Everywhere()

if TYPE_CHECKING:

    class _Thread(layers.Thread):
        state: State  # type: ignore[assignment]

    thread = _Thread()
else:
    thread = layers.thread
    layers.Thread.kind = State
    thread.state = State()


# What is said of a tensor of inference mode that a node is to keep.
REFUSED_IN_GRAPH = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
    "use it in autograd, or use `no_grad()` instead of `inference_mode()`."
)


# The counter of all inference tensors, which counts nothing. A node may not keep one: see `Around.version`.
NOT_COUNTED = [-1]


def bump_version(t: graph.TensorBase) -> None:
    """Count one in-place write to the storage of `t`, if it counts them."""
    if t._counter is not NOT_COUNTED:
        graph.bump_version(t)


def quiet(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`State.quietly` of the thread that runs."""
    return thread.state.quietly(function, *args, **kwargs)


def warn_once(text: str, stacklevel: int = 2) -> None:
    """Warn with `text`, as PyTorch once in a process unless `set_warn_always(True)` was called."""
    if everywhere.warns_always or text not in everywhere.warned:
        warnings.warn(text, UserWarning, stacklevel + 1)
        everywhere.warned.add(text)
