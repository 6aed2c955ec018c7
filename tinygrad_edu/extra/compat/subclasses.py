"""Tensor subclasses: functions preserve them, and `__torch_function__` can override functions.

As in PyTorch, a function with an argument of a subclass returns that subclass. When a program defines its first one, a companion
joins that looks at the arguments of functions; before that nothing is checked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ...array.absent import met
from ...array.companions import GO_ON, Companion, companions
from ...array.tensor import Tensor, bind
from ...modes import thread
from ...ops.binding import between_two
from ...overrides import overridable

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


class _Following(Companion):
    """Passes each function called with a tensor of a subclass to its `__torch_function__`."""

    kind = "subclass"

    def call(self, call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        met = list(dict.fromkeys(_classes((*args, *kwargs.values())))) if thread.state.follows else []
        if not met:
            return GO_ON
        # The most derived class decides.
        first = next((c for c in met if all(issubclass(c, other) for other in met)), met[0])
        return first.__torch_function__(call, tuple(met), args, kwargs)  # type: ignore[attr-defined]


_following = _Following()


def __torch_function__(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run a function on tensors of this class, and convert its results to the class."""
    if not str(getattr(func, "__module__", "")).startswith("tinygrad_edu"):
        raise TypeError(met("tinygrad_edu", "torch"))
    state = thread.state
    outer, state.follows = state.follows, False
    try:
        out = func(*args, **(kwargs or {}))
    finally:
        state.follows = outer
    return out if func.__name__ in _PLAIN else _turned(out, cls)


def follow(cls: Any) -> None:
    """Called when a program defines a subclass. Functions ask their arguments for one from now on. The operators of plain
    tensors ask nothing; the class gets those of `_Followed`, which Python calls also for a plain tensor on their left."""
    if cls._follows is False:
        return
    cls._follows = True
    cls.__bases__ = tuple([_Followed if base is Tensor else base for base in cls.__bases__])
    if _following not in companions:
        companions.insert(0, _following)


class _Followed(Tensor):
    """The base of all subclasses that a program defines: its operators, and `backward`, ask for them."""

    backward = overridable(Tensor.backward)


def _bind_operator(symbol: str) -> None:
    otherwise, reflected = between_two[symbol][2], getattr(Tensor, f"__r{symbol[2:]}")

    @functools.wraps(getattr(Tensor, symbol))
    def call(self: Tensor, other: Any) -> Any:
        return otherwise(call, self, other)

    @functools.wraps(reflected)
    def turned(self: Tensor, other: Any) -> Any:
        return call(other, self) if isinstance(other, Tensor) else reflected(self, other)

    setattr(_Followed, symbol, call)
    setattr(_Followed, f"__r{symbol[2:]}", turned)


for _symbol in between_two:
    if not _symbol.startswith("__r"):
        _bind_operator(_symbol)
bind("__torch_function__", classmethod(__torch_function__))
bind("as_subclass", overridable(as_subclass))
