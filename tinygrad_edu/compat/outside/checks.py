"""Checks and sizes as a compiler sees them; here they are ordinary checks and numbers (PyTorch: `torch._check`, `sym_int`)."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from ...ops import functions
from ...tensor import Tensor

__all__ = ["OutOfMemoryError", "SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_max", "sym_min", "sym_not"]


class OutOfMemoryError(RuntimeError):
    """What a GPU raises when its memory is full; it is never raised here."""


class _Symbol:
    """A size that a compiler does not know yet. There is no instance here: every size is a number."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("Sizes without a value belong to PyTorch's compiler. Here every size is a number.")


class SymInt(_Symbol):
    """A whole number without a value."""


class SymFloat(_Symbol):
    """A number without a value."""


class SymBool(_Symbol):
    """A truth without a value."""


sym_int, sym_float = builtins.int, builtins.float


def sym_not(a: Any) -> bool:
    """`not a`."""
    return not a


def _either(pick: Callable[..., Any], a: Any, b: Any) -> Any:
    chosen = pick(a, b)
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if one of them is."""
    return _either(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    return _either(min, a, b)


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)


_sym_sqrt = sym_sqrt


def _assert(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Any, assert_msg: str = "") -> None:
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _checked(kind: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Any = None) -> None:
        if not isinstance(cond, bool):
            raise TypeError(f"cond must be a bool, but got {type(cond)}.")
        if not cond:
            said = "Expected cond to be True, but got False." if message is None else message()
            raise kind(str(said))

    return check


_check, _check_index = _checked(RuntimeError), _checked(IndexError)
_check_value, _check_type, _check_not_implemented = map(_checked, (ValueError, TypeError, NotImplementedError))


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    _check(i >= 0, message)


def _shape_as_tensor(self: Tensor) -> Tensor:
    return functions["tensor"](list(self.shape))


def _cast(name: str) -> Callable[..., Tensor]:
    return lambda self, non_blocking=False: getattr(self, name)()


_cast_Double, _cast_Float, _cast_Half, _cast_Long = map(_cast, ("double", "float", "half", "long"))
_cast_Int, _cast_Short, _cast_Byte, _cast_Char = map(_cast, ("int", "short", "byte", "char"))
