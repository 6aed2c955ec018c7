"""Powers and roots, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...core.tensor import Pow
from ...overrides import behind_core
from ..binding import both_forms, in_place, method, operator, public
from ..indexing.masking import where
from ..op import ElementwiseOp, Op
from ..operands import checks
from ..tangents import Elementwise
from .exponential import log, unary


def _no_negative_power(values, settings):
    exponent = settings["exponent"]
    if isinstance(exponent, int) and exponent < 0 and values[0].dtype.kind != "f":
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return settings


checks[Pow] = _no_negative_power


class PowTensor(ElementwiseOp, name="PowBackward1"):
    promotes = True
    refuses = ("pow", "b")

    def forward(self, exponent):
        if np.result_type(self, exponent).kind != "f" and np.any(exponent < 0):
            # The integer part of 1/n is 1 or -1 for these two, else 0.
            inverse = np.where(np.abs(self) == 1, np.power(self, exponent & 1), 0)
            return np.where(exponent < 0, inverse, np.power(self, np.maximum(exponent, 0)))
        return np.power(self, exponent)

    # Where the other branch multiplies 0 by infinity, a second derivative is nan, as in PyTorch.
    def grad_self(grad, self, exponent):
        return where(exponent == 0, 0.0, grad * (exponent * pow(self, exponent - 1)))

    # d sᵉ/de = sᵉ·ln s, and 0 where s is 0 and e is not negative
    def grad_exponent(grad, self, exponent, result):
        return grad * where((self == 0) & (exponent >= 0), 0.0, result * log(self))


class PowScalar(Op, name="PowBackward2"):
    """self ** exponent, for a number `self`."""

    def forward(exponent, *, self):
        common = dtypes.promote([self, exponent])
        return PowTensor.forward(np.asarray(self, common), exponent.astype(common, copy=False))

    def grad_exponent(grad, self, exponent, result):
        if self == 0:
            return where(exponent >= 0, 0.0, grad * result * float("-inf"))
        return grad * (result * (math.log(self) if self > 0 else math.nan))

    jvp = Elementwise(forward=0)


# d√s = 1/(2√s), and d s^-½ = -½·s^-³ᐟ²
Sqrt = unary("Sqrt", np.sqrt, lambda grad, result: grad / (2 * result))
Rsqrt = unary("Rsqrt", lambda s: 1 / np.sqrt(s), lambda grad, result: grad * (-0.5 * (result * result * result)))


def _pow_(self, exponent):
    if isinstance(exponent, Tensor):
        return PowTensor.apply_(self, exponent)
    return Pow.apply_(self, exponent=exponent)


@public(number_first=True)
def pow(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """input ** exponent; either one may be a number.

    >>> T.pow(T.tensor([2.0, 3.0]), 2)
    tensor([4., 9.])
    """
    if isinstance(exponent, int | float):
        return Pow.apply(input, exponent=exponent)
    if isinstance(input, int | float):
        return PowScalar.apply(exponent, self=input)
    return PowTensor.apply(input, exponent)


def __rpow__(self, other) -> Any:
    return pow(other, self)


@public()
def square(input: Tensor) -> Tensor:
    """input²."""
    return Pow.apply(input, exponent=2)


@public()
def sqrt(input: Tensor) -> Tensor:
    """The square root."""
    return Sqrt.apply(input)


@public()
def rsqrt(input: Tensor) -> Tensor:
    """1 / √input."""
    return Rsqrt.apply(input)


class PowersMethods:
    """The methods of Tensor that are defined here."""

    __rpow__ = operator(__rpow__, name="__rpow__")
    pow_ = __ipow__ = in_place(pow, _pow_)
    pow = method(pow)
    square, square_ = both_forms(square, lambda self: Pow.apply_(self, exponent=2))
    sqrt, sqrt_ = both_forms(sqrt, Sqrt)
    rsqrt, rsqrt_ = both_forms(rsqrt, Rsqrt)


behind_core["__pow__"] = operator(pow)
