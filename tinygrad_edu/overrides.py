"""`FunctionMode`: intercept every function call, recorded or not (PyTorch: `torch.overrides.TorchFunctionMode`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .array.absent import answer, refuse_tensors_of_pytorch
from .array.tensor import ArrayMethods, Tensor, item
from .modes import thread

__all__ = ["FunctionMode", "OverridableMethods", "TorchFunctionMode", "behind_core", "overridable"]


class FunctionMode:
    """Inside `with`, each public function and method of tensors goes through the `__torch_function__` of a subclass.

    >>> class Names(FunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     y = T.ones(2).exp()
    ones
    exp
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called instead of `func`. Return the result, usually by calling `func`."""
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> Any:
        thread.state.modes = (*thread.state.modes, self)
        return self

    def __exit__(self, *exception: object) -> None:
        # An interrupt between two lines of `dispatch` may already have removed it.
        modes = thread.state.modes
        place = next((at for at in reversed(range(len(modes))) if modes[at] is self), None)
        if place is not None:
            thread.state.modes = modes[:place] + modes[place + 1 :]


# PyTorch's name, so that a program written for PyTorch runs when only the import changes.
TorchFunctionMode = FunctionMode


def dispatch(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pass a call to the innermost mode. If that calls `func`, the next outer mode sees it."""
    state = thread.state
    *outer, mode = state.modes
    state.modes = tuple(outer)
    try:
        types = tuple({type(a) for a in args if isinstance(a, Tensor)})
        return mode.__torch_function__(function, types, args, kwargs)
    finally:
        state.modes = (*state.modes, mode)


# Methods of Tensor of which the core has the usual form, for all other cases: see `Around.method`.
behind_core: dict[str, Callable[..., Any]] = {}


# Switches that PyTorch reads in Python, where everything is true or false.
_IN_PYTHON = ("inplace", "return_indices", "antialias", "hard", "full")


def is_switch(parameter: inspect.Parameter) -> bool:
    """True if the parameter takes only True and False (or None, its default): declared so, or by its default."""
    declared = isinstance(parameter.default, bool) or str(parameter.annotation).removesuffix(" | None") == "bool"
    return declared and parameter.name not in _IN_PYTHON


@functools.cache
def switches_of(function: Callable[..., Any]) -> tuple[dict[str, int], int]:
    """The switches of a function with their places among its arguments (99 for a keyword), and the first place."""
    parameters = enumerate(inspect.signature(function).parameters.values())
    places = {p.name: 99 if p.kind is p.KEYWORD_ONLY else i for i, p in parameters if is_switch(p)}
    return places, min(places.values(), default=99)


@functools.cache
def _takes_none(function: Callable[..., Any], switch: str) -> bool:
    """True if None stands for the switch's default."""
    parameter = inspect.signature(function).parameters[switch]
    of_factory = switch == "requires_grad" and parameter.kind is parameter.KEYWORD_ONLY
    return parameter.default is None or of_factory


def refuse_switches(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError if a switch is given anything but True or False."""
    switches, first = switches_of(function)
    if not kwargs and len(args) <= first:
        return
    for switch, place in switches.items():
        given = kwargs.get(switch, args[place] if place < len(args) else True)
        if type(given) is not bool:
            if given is None and _takes_none(function, switch):
                continue
            position = "" if switch in kwargs else f" (position {place + 1})"
            raise TypeError(f"{name}(): argument '{switch}'{position} must be bool, not {type(given).__name__}")


def overridable(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Make a function visible to function modes, and check its switches."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if thread.state.modes:
            return dispatch(call, args, kwargs)
        try:
            if kwargs or len(args) > 1:
                refuse_switches(call.__name__, function, args, kwargs)
            return function(*args, **kwargs)
        except Exception:
            refuse_tensors_of_pytorch((*args, *kwargs.values()))
            raise

    if name is not None:
        call.__name__ = call.__qualname__ = name
    return call


class OverridableMethods(ArrayMethods):
    """What hands a value to Python, or asks for a gradient: modes see it, too. (PyTorch's also see sizes and flags.)"""

    __array__ = overridable(ArrayMethods.__array__)
    __bool__ = overridable(ArrayMethods.__bool__)
    __float__ = overridable(ArrayMethods.__float__)
    __format__ = overridable(ArrayMethods.__format__)
    __index__ = overridable(ArrayMethods.__index__)
    __int__ = overridable(ArrayMethods.__int__)
    __len__ = overridable(ArrayMethods.__len__)
    numpy = overridable(ArrayMethods.numpy)
    requires_grad_ = overridable(ArrayMethods.requires_grad_)
    tolist = overridable(ArrayMethods.tolist)


behind_core["item"] = overridable(item)

__getattr__ = answer(__name__)
