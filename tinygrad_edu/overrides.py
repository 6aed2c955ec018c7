"""`FunctionMode`: intercept every function call, recorded or not (PyTorch: `torch.overrides.TorchFunctionMode`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .compat.absent import refuse_tensors_of_pytorch
from .core.state import everywhere, thread
from .core.state import standing_modes as standing
from .tensor import Tensor

__all__ = ["FunctionMode", "TorchFunctionMode", "overridable", "standing"]


class FunctionMode:
    """Inside `with`, each public function and method of tensors goes through the `__torch_function__` of a subclass.

    Example:
        >>> import tinygrad_edu as T
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
        everywhere.modes_seen = True
        thread.state.modes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        # An interrupt between two lines of `dispatch` may already have removed it.
        place = next((at for at, mode in enumerate(reversed(thread.state.modes), start=1) if mode is self), None)
        if place is not None:
            del thread.state.modes[-place]


# PyTorch's name, so that a program written for PyTorch runs when only the import changes.
TorchFunctionMode = FunctionMode


def dispatch(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pass a call to the innermost mode. If that calls `func`, the next outer mode sees it."""
    stack = thread.state.modes
    mode = stack.pop()
    try:
        types = tuple({type(a) for a in args if isinstance(a, Tensor)})
        return mode.__torch_function__(function, types, args, kwargs)
    finally:
        stack.append(mode)


def overridable(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Make a function visible to function modes."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if everywhere.modes_seen and thread.state.modes:
            return dispatch(call, args, kwargs)
        try:
            return function(*args, **kwargs)
        except Exception:
            refuse_tensors_of_pytorch((*args, *kwargs.values()))
            raise

    if name is not None:
        call.__name__ = call.__qualname__ = name
    return call


# Modes also see what hands a value to Python, or asks for a gradient. PyTorch's modes see sizes and flags too.
for _name in (
    "__array__", "__bool__", "__float__", "__format__", "__index__", "__int__", "__len__", "item", "numpy", "requires_grad_",
    "tolist",
):  # fmt: skip
    setattr(Tensor, _name, overridable(getattr(Tensor, _name)))
