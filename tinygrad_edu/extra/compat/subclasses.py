"""Tensor subclasses: functions preserve them, and `__torch_function__` can override functions.

As in PyTorch, a function with an argument of a subclass returns that subclass. The first subclass that a program defines
installs a mode for this; before that nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...array.absent import met
from ...array.tensor import Tensor, bind
from ...modes import thread
from ...overrides import FunctionMode, overridable, standing

__all__ = ["as_subclass", "follow"]

# Functions that return no new tensor, and would only pass themselves on.
_PLAIN = {
    "item",
    "tolist",
    "numpy",
    "__len__",
    "__bool__",
    "__float__",
    "__int__",
    "__index__",
    "__format__",
    "__array__",
}


def as_subclass(self: Tensor, cls: type) -> Any:
    """The same tensor, in the graph, as an instance of `cls`. Its `__init__` is not called."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass(): argument 'cls' must be a subclass of Tensor, not {cls!r}")
    return _turned(self.view_as(self), cls)


def _turned(out: Any, cls: type) -> Any:
    if isinstance(out, tuple | list):
        kept = [_turned(item, cls) for item in out]
        return type(out)(*kept) if hasattr(out, "_fields") else type(out)(kept)
    if type(out) is Tensor:
        out.__class__ = cls
    return out


def _classes(values: Any) -> Iterator[type]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _classes(value)
        elif getattr(type(value), "_follows", False):
            yield type(value)


class _Following(FunctionMode):
    """Passes each function called with a tensor of a subclass to its `__torch_function__`."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        met = list(dict.fromkeys(_classes((*args, *kwargs.values()))))
        if not met:
            return func(*args, **kwargs)
        # The most derived class decides.
        first = next((c for c in met if all(issubclass(c, other) for other in met)), met[0])
        state = thread.state
        state.modes = (*state.modes, self)
        try:
            return first.__torch_function__(func, tuple(met), args, kwargs)  # type: ignore[attr-defined]
        finally:
            state.modes = state.modes[:-1]


_mode = _Following()


def __torch_function__(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run a function on tensors of this class, and convert its results to the class."""
    if not str(getattr(func, "__module__", "")).startswith("tinygrad_edu"):
        raise TypeError(met("tinygrad_edu", "torch"))
    state = thread.state
    held = _mode in state.modes
    if held:
        place = state.modes.index(_mode)
        state.modes = (*state.modes[:place], *state.modes[place + 1 :])
    try:
        out = func(*args, **(kwargs or {}))
    finally:
        if held:
            state.modes = (*state.modes, _mode)
    return out if func.__name__ in _PLAIN else _turned(out, cls)


def follow(cls: type) -> None:
    """Called when a program defines a subclass: install the mode for it."""
    if getattr(cls, "_follows", None) is False:
        return
    cls._follows = True  # type: ignore[attr-defined]
    if _mode not in standing:
        standing.append(_mode)
        thread.state.modes = (_mode, *thread.state.modes)


bind("__torch_function__", classmethod(__torch_function__))
bind("as_subclass", overridable(as_subclass))
