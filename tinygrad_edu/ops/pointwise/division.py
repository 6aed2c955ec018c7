"""Division and remainders, element by element: `/`, `//`, `%` and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...core.tensor import Div
from ...overrides import behind_core
from ..binding import both_forms, in_place, method, operator, public
from ..creation.copies import FlatOp
from ..op import ElementwiseOp, Op
from .arithmetic import mul
from .exponential import unary


def _refuse_zero(divisor, other):
    """Raise if an integer is divided by 0: integers have no nan."""
    if np.result_type(divisor, other).kind in "iub" and not np.all(divisor):
        raise RuntimeError("ZeroDivisionError: an integer cannot be divided by 0. Convert to float to get inf or nan.")


class DivRounded(FlatOp, name="DivBackward2"):
    """The quotient rounded to an integer. It is piecewise constant, so its gradient is 0."""

    promotes = True
    refuses = ("div_floor_cpu", "b")

    def forward(self, other, *, rounding_mode):
        _refuse_zero(other, self)
        if rounding_mode == "floor":
            return np.floor_divide(self, other)
        return np.trunc(np.true_divide(self, other)).astype(np.result_type(self, other))

    grad_other = FlatOp.grad_self


class FloorDivide(Op, name="torch::autograd::NotImplemented"):
    promotes = True
    refuses = ("div_floor_cpu", "b")

    def forward(self, other):
        return DivRounded.forward(self, other, rounding_mode="floor")

    def gradients(grad, needs_input_grad):
        raise RuntimeError(
            "derivative for aten::floor_divide is not implemented. It is 0 wherever it exists: detach()."
        )


# d(1/s) = -1/s²
Reciprocal = unary("Reciprocal", lambda s: 1 / s, lambda grad, result: -grad * (result * result))


class RemainderTensor(ElementwiseOp, name="RemainderBackward1"):
    """The remainder of floor division, with the sign of `other`."""

    promotes = True
    refuses = ("remainder_cpu", "b")

    def forward(self, other):
        _refuse_zero(other, self)
        if np.result_type(self, other).kind != "f":
            return np.remainder(self, other)
        # Where nothing remains, a zero has the sign of `self`, as in PyTorch; NumPy's has that of `other`.
        rest = np.fmod(self, other)
        return np.where((rest != 0) & ((other < 0) != (rest < 0)), rest + other, rest)

    def grad_self(grad):
        return grad

    # s - o·⌊s/o⌋
    def grad_other(grad, self, other):
        return -grad * div(self, other, rounding_mode="floor")


class FmodTensor(RemainderTensor, name="FmodBackward1"):
    """The remainder of division rounded toward zero, with the sign of `self`."""

    refuses = ("fmod_cpu", "b")

    def forward(self, other):
        _refuse_zero(other, self)
        return np.fmod(self, other)

    def grad_other(grad, self, other):
        return -grad * div(self, other, rounding_mode="trunc")


class Remainder(ElementwiseOp):
    """The remainder of division by a number."""

    def forward(self, *, other):
        return RemainderTensor.forward(*_in_one_dtype(self, other, *RemainderTensor.refuses))

    def grad_self(grad):
        return grad


class Fmod(Remainder):
    def forward(self, *, other):
        return FmodTensor.forward(*_in_one_dtype(self, other, *FmodTensor.refuses))


def _in_one_dtype(self, other, kernel, kinds):
    kind = dtypes.promote([self, other])
    dtypes.refuse_kind(kind, kernel, kinds)
    return np.asarray(self, kind), np.asarray(other).astype(kind)


def _div(form, input, other, mode):
    if mode is None:
        return getattr(Div, form)(input, other)
    if mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
    return getattr(DivRounded, form)(input, other, rounding_mode=mode)


def _div_(self, other, *, rounding_mode=None):
    return _div("apply_", self, other, rounding_mode)


@public("divide", "true_divide", number_first=True)
def div(input: Tensor | float, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, with broadcasting; integers become floats. `rounding_mode` "floor" or "trunc" rounds it."""
    return _div("apply", input, other, rounding_mode)


def __rdiv__(self, other) -> Any:
    """other / self, which PyTorch computes as a product with the reciprocal."""
    return mul(reciprocal(self), other)


@public()
def reciprocal(input: Tensor) -> Tensor:
    """1 / input."""
    return Reciprocal.apply(input)


@public(number_first=True)
def floor_divide(input: Tensor | float, other: Tensor | float) -> Tensor:
    """⌊input / other⌋: division rounded down."""
    return FloorDivide.apply(input, other)


def __rfloordiv__(self, other) -> Any:
    return FloorDivide.apply(other, self)


def _remainder_(self, other):
    return RemainderTensor.apply_(self, other) if isinstance(other, Tensor) else Remainder.apply_(self, other=other)


@public(number_first=True)
def remainder(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The remainder of `input` divided by `other`, with the sign of `other`, like Python's %.

    >>> T.remainder(T.tensor([7.0, -7.0]), 3)
    tensor([1., 2.])
    """
    if isinstance(other, int | float):
        return Remainder.apply(input, other=other)
    return RemainderTensor.apply(input, other)


def __rmod__(self, other) -> Any:
    return remainder(other, self)


def _fmod_(self, other):
    return FmodTensor.apply_(self, other) if isinstance(other, Tensor) else Fmod.apply_(self, other=other)


@public()
def fmod(input: Tensor, other: Tensor | float) -> Tensor:
    """The remainder of `input` divided by `other`, with the sign of `input`, like C's fmod."""
    return Fmod.apply(input, other=other) if isinstance(other, int | float) else FmodTensor.apply(input, other)


class DivisionMethods:
    """The methods of Tensor that are defined here."""

    __rtruediv__ = operator(__rdiv__, name="__rdiv__")
    __floordiv__ = operator(floor_divide, name="__floordiv__")
    __rfloordiv__ = operator(__rfloordiv__, name="__rfloordiv__")
    __mod__ = operator(remainder)
    __rmod__ = operator(__rmod__, name="__rmod__")
    div_ = divide_ = true_divide_ = __itruediv__ = in_place(div, _div_)
    div = divide = true_divide = method(div)
    reciprocal, reciprocal_ = both_forms(reciprocal, Reciprocal)
    floor_divide_ = __ifloordiv__ = in_place(floor_divide, FloorDivide)
    floor_divide = method(floor_divide)
    remainder_ = __imod__ = in_place(remainder, _remainder_)
    remainder = method(remainder)
    fmod, fmod_ = both_forms(fmod, _fmod_)


behind_core["__truediv__"] = operator(div)
