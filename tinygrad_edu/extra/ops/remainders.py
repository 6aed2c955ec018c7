""""""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, bind
from ...ops.binding import operator, public
from ...ops.op import Op, elementwise
from ...ops.operands import refuse_kinds
from ...ops.pointwise.division import _refuse_zero, div


class FloorDivide(Op, name="torch::autograd::NotImplemented"):
    promotes = True
    refuses = ("div_floor_cpu", "b")

    def forward(self, other):
        _refuse_zero(other, self)
        return np.floor_divide(self, other)

    def gradients(grad, needs_input_grad):
        raise RuntimeError(
            "derivative for aten::floor_divide is not implemented. It is 0 wherever it exists; div(a, b, "
            "rounding_mode='floor') has that gradient."
        )


def _remainder_of(a, b):
    """As NumPy's, but where nothing remains a zero has the sign of `a`, as in PyTorch, and not that of `b`."""
    if np.result_type(a, b).kind != "f":
        return np.remainder(a, b)
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


class Remainder(Op):
    """The remainder of floor division, with the sign of `other`, a number."""

    promotes = True

    def forward(self, *, other):
        kind = dtypes.promote([self, other])
        refuse_kinds((np.empty(0, kind),), "remainder_cpu", "b")
        _refuse_zero(other, self)
        return _remainder_of(np.asarray(self, kind), np.asarray(other).astype(kind))

    def grad_self(grad):
        return grad

    jvp = elementwise


class RemainderTensor(Op, name="RemainderBackward1"):
    promotes = True
    refuses = ("remainder_cpu", "b")

    def forward(self, other):
        _refuse_zero(other, self)
        return _remainder_of(self, other)

    def grad_self(grad):
        return grad

    # s - o·⌊s/o⌋
    def grad_other(grad, self, other):
        return -grad * div(self, other, rounding_mode="floor")

    jvp = elementwise


class Fmod(Op):
    """The remainder of division rounded toward zero, with the sign of `self`."""

    promotes = True

    def forward(self, *, other):
        kind = dtypes.promote([self, other])
        refuse_kinds((np.empty(0, kind),), "fmod_cpu", "b")
        _refuse_zero(other, self)
        return np.fmod(self, other, dtype=kind)

    def grad_self(grad):
        return grad

    jvp = elementwise


class FmodTensor(Op, name="FmodBackward1"):
    promotes = True
    refuses = ("fmod_cpu", "b")

    def forward(self, other):
        _refuse_zero(other, self)
        return np.fmod(self, other)

    def grad_self(grad):
        return grad

    def grad_other(grad, self, other):
        return -grad * div(self, other, rounding_mode="trunc")

    jvp = elementwise


@operator("__floordiv__")
@public(inplace=FloorDivide, number_first=True)
def floor_divide(input, other) -> Tensor:
    """⌊input / other⌋: division rounded down.

    >>> import tinygrad_edu as T
    >>> T.floor_divide(T.tensor([7.0, -7.0]), 2)
    tensor([ 3., -4.])
    """
    return FloorDivide.apply(input, other)


@operator("__rfloordiv__")
def __rfloordiv__(self, other) -> Any:
    return FloorDivide.apply(other, self)


def _remainder_(self, other):
    if isinstance(other, Tensor):
        return RemainderTensor.apply_(self, other)
    return Remainder.apply_(self, other=other)


@public(inplace=_remainder_, operators=("__mod__",), number_first=True)
def remainder(input, other) -> Tensor:
    """The remainder of `input` divided by `other`, with the sign of `other`, like Python's %.

    >>> import tinygrad_edu as T
    >>> T.remainder(T.tensor([7.0, -7.0]), 3)
    tensor([1., 2.])
    """
    if isinstance(other, int | float):
        return Remainder.apply(input, other=other)
    return RemainderTensor.apply(input, other)


@operator("__rmod__")
def __rmod__(self, other) -> Any:
    return remainder(other, self)


def _fmod_(self, other):
    if isinstance(other, Tensor):
        return FmodTensor.apply_(self, other)
    return Fmod.apply_(self, other=other)


@public(inplace=_fmod_)
def fmod(input, other) -> Tensor:
    """The remainder of `input` divided by `other`, with the sign of `input`, like C's fmod.

    >>> import tinygrad_edu as T
    >>> T.fmod(T.tensor([7.0, -7.0]), 3)
    tensor([ 1., -1.])
    """
    if isinstance(other, int | float):
        return Fmod.apply(input, other=other)
    return FmodTensor.apply(input, other)


class Frac(Op):
    refuses = ("frac_cpu", "biu")

    def forward(self):
        return self - np.trunc(self)

    def grad_self(grad):
        return grad

    jvp = elementwise


@public(inplace=Frac)
def frac(input: Tensor) -> Tensor:
    """The fractional part, with the sign of `input`.

    >>> import tinygrad_edu as T
    >>> T.frac(T.tensor([1.5, -1.5]))
    tensor([ 0.5000, -0.5000])
    """
    return Frac.apply(input)


bind("__ifloordiv__", getattr(Tensor, "floor_divide_"))  # noqa: B009 - bound above
