"""Division and remainders, element by element: `/`, `//`, `%` and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..binding import operator, public
from ..creation.factories import zeros_like
from ..op import Op, elementwise
from .arithmetic import Arithmetic, mul


def _refuse_zero(divisor, other):
    """Raise if an integer is divided by 0: integers have no nan."""
    if np.result_type(divisor, other).kind in "iub" and not np.all(divisor):
        raise RuntimeError("ZeroDivisionError: an integer cannot be divided by 0. Convert to float to get inf or nan.")


class Div(Arithmetic):
    makes_float, lies = True, elementwise

    def forward(self, other):
        return self / other

    def grad_self(grad, other):
        return grad / other

    # d(s/o)/do = -s/o²
    def grad_other(grad, self, other):
        return -grad * ((self / other) / other)

    # Where the divisor is 0, adding both rules would compute inf - inf.
    def jvp(tangent, other_tangent, other, result):
        if other_tangent is None:
            return tangent / other
        moved = other_tangent * result
        return (-moved if tangent is None else tangent - moved) / other


class DivRounded(Op, name="DivBackward2"):
    """The quotient rounded to an integer. It is piecewise constant, so its gradient is 0."""

    promotes = True
    refuses = ("div_floor_cpu", "b")

    def forward(self, other, *, rounding_mode):
        _refuse_zero(other, self)
        if rounding_mode == "floor":
            return np.floor_divide(self, other)
        return np.trunc(np.true_divide(self, other)).astype(np.result_type(self, other))

    def grad_self(grad):
        return zeros_like(grad)

    def grad_other(grad):
        return zeros_like(grad)

    jvp = elementwise


class Reciprocal(Op):
    makes_float = True

    def forward(self):
        return 1 / self

    # d(1/s) = -1/s²
    def grad_self(grad, result):
        return -grad * (result * result)

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


def _div_(self, other, *, rounding_mode=None):
    if rounding_mode is None:
        return Div.apply_(self, other)
    _check_rounding(rounding_mode)
    return DivRounded.apply_(self, other, rounding_mode=rounding_mode)


def _check_rounding(mode):
    if mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")


@public("divide", inplace=_div_, operators=("__truediv__",), of_two=Div, number_first=True)
def div(input, other, *, rounding_mode=None) -> Tensor:
    """input / other, with broadcasting; integers become floats. `rounding_mode` "floor" or "trunc" rounds the quotient.

    >>> import tinygrad_edu as T
    >>> T.div(T.tensor([7.0, -7.0]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
    """
    if rounding_mode is None:
        return Div.apply(input, other)
    _check_rounding(rounding_mode)
    return DivRounded.apply(input, other, rounding_mode=rounding_mode)


@public(inplace=Div, number_first=True)
def true_divide(input, other) -> Tensor:
    """input / other, with broadcasting; integers become floats.

    >>> import tinygrad_edu as T
    >>> T.true_divide(T.tensor([1, 3]), 2)
    tensor([0.5000, 1.5000])
    """
    return Div.apply(input, other)


@operator("__rtruediv__", "__rdiv__")
def __rdiv__(self, other) -> Any:
    """other / self, which PyTorch computes as a product with the reciprocal."""
    return mul(reciprocal(self), other)


@public(inplace=Reciprocal)
def reciprocal(input) -> Tensor:
    """1 / input.

    >>> import tinygrad_edu as T
    >>> T.reciprocal(T.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """
    return Reciprocal.apply(input)
