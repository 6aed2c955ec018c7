"""Trigonometric and hyperbolic functions, element by element. Integers become floats first."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...core.tensor import Tanh
from ...overrides import behind_core
from ..binding import both_forms, in_place, method, public
from ..indexing.masking import where
from ..operands import need_tensor
from .exponential import FloatOp, unary
from .powers import rsqrt

Sin = unary("Sin", np.sin, lambda grad, self: grad * cos(self))
Cos = unary("Cos", np.cos, lambda grad, self: grad * -sin(self))
Tan = unary("Tan", np.tan, lambda grad, result: grad * (result * result + 1))
Asin = unary("Asin", np.arcsin, lambda grad, self: grad * rsqrt(1 - self * self))
Acos = unary("Acos", np.arccos, lambda grad, self: grad * -rsqrt(1 - self * self))
Atan = unary("Atan", np.arctan, lambda grad, self: grad / (self * self + 1))
Sinh = unary("Sinh", np.sinh, lambda grad, self: grad * cosh(self))
Cosh = unary("Cosh", np.cosh, lambda grad, self: grad * sinh(self))


class Atan2(FloatOp):
    """The angle of the point (other, self)."""

    promotes = True

    def forward(self, other):
        return np.arctan2(self, other)

    # d atan2(s, o) = (o·ds - s·do)/(s² + o²), and 0 at the origin; the second derivative there is nan, as in PyTorch
    def grad_self(grad, self, other):
        return grad * _over_square(other, self, other)

    def grad_other(grad, self, other):
        return grad * _over_square(-self, self, other)


def _over_square(value, self, other):
    square = self * self + other * other
    return where(square == 0, 0.0, value / square)


@public()
def sin(input: Tensor) -> Tensor:
    """The sine of an angle in radians."""
    return Sin.apply(input)


@public()
def cos(input: Tensor) -> Tensor:
    """The cosine of an angle in radians."""
    return Cos.apply(input)


@public()
def tan(input: Tensor) -> Tensor:
    """The tangent of an angle in radians."""
    return Tan.apply(input)


@public("arcsin")
def asin(input: Tensor) -> Tensor:
    """The angle in radians whose sine is `input`."""
    return Asin.apply(input)


@public("arccos")
def acos(input: Tensor) -> Tensor:
    """The angle in radians whose cosine is `input`."""
    return Acos.apply(input)


@public("arctan")
def atan(input: Tensor) -> Tensor:
    """The angle in radians whose tangent is `input`."""
    return Atan.apply(input)


@public("arctan2")
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle in radians of the point (other, input)."""
    return Atan2.apply(input, need_tensor("atan2", other))


@public()
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine."""
    return Sinh.apply(input)


@public()
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine."""
    return Cosh.apply(input)


@public()
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    >>> T.tanh(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])"""
    return Tanh.apply(input)


class TrigonometricMethods:
    """The methods of Tensor that are defined here."""

    sin, sin_ = both_forms(sin, Sin)
    cos, cos_ = both_forms(cos, Cos)
    tan, tan_ = both_forms(tan, Tan)
    asin, asin_ = arcsin, arcsin_ = both_forms(asin, Asin)
    acos, acos_ = arccos, arccos_ = both_forms(acos, Acos)
    atan, atan_ = arctan, arctan_ = both_forms(atan, Atan)
    atan2_ = arctan2_ = in_place(atan2, lambda self, other: Atan2.apply_(self, need_tensor("atan2_", other)))
    atan2 = arctan2 = method(atan2)
    sinh, sinh_ = both_forms(sinh, Sinh)
    cosh, cosh_ = both_forms(cosh, Cosh)
    tanh_ = in_place(tanh, Tanh)


behind_core["tanh"] = method(tanh)
