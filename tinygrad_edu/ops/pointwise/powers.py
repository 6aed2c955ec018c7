"""Powers and roots, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..binding import operator, public
from ..creation.factories import zeros_like
from ..indexing.masking import where
from ..op import Op, elementwise
from ..tangents import Elementwise
from .exponential import FloatOp, log

# Powers that a few products and roots compute. NumPy has a shortcut only for the square.
_SIMPLE: dict[float, Callable[[Any], Any]] = {
    3: lambda s: s * s * s,
    0.5: np.sqrt,
    -0.5: lambda s: 1 / np.sqrt(s),
    -1: np.reciprocal,
    -2: lambda s: 1 / (s * s),
}


class Pow(Op, name="PowBackward0"):
    """self ** exponent, for a number `exponent`."""

    def forward(self, *, exponent):
        if self.dtype.kind not in "fc":
            if isinstance(exponent, int) and exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            self = self.astype(dtypes.promote([self, exponent]), copy=False)
        if exponent in _SIMPLE and self.dtype.kind in "fc":
            return _SIMPLE[exponent](self)
        if exponent == 2:
            return self * self
        if exponent == 1:
            return self.copy()
        return np.power(self, exponent)

    # d sᵉ/ds = e·sᵉ⁻¹, and 0 for e = 0 whatever s is
    def grad_self(grad, self, exponent):
        if exponent == 0:
            return zeros_like(grad)
        return grad * (pow(self, exponent - 1) * exponent)

    jvp = elementwise


class PowTensor(Op, name="PowBackward1"):
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

    jvp = elementwise


class PowScalar(Op, name="PowBackward2"):
    """self ** exponent, for a number `self`."""

    def forward(exponent, *, self):
        common = dtypes.promote([self, exponent])
        return np.power(np.asarray(self, common), exponent.astype(common, copy=False))

    def grad_exponent(grad, self, exponent, result):
        if self == 0:
            return where(exponent >= 0, 0.0, grad * result * float("-inf"))
        return grad * (result * (math.log(self) if self > 0 else math.nan))

    jvp = Elementwise(forward=0)


class Sqrt(FloatOp):
    def forward(self):
        return np.sqrt(self)

    # d√s = 1/(2√s)
    def grad_self(grad, result):
        return grad / (2 * result)

    jvp = elementwise


class Rsqrt(FloatOp):
    def forward(self):
        return 1 / np.sqrt(self)

    # d s^-½ = -½·s^-³ᐟ²
    def grad_self(grad, result):
        return grad * (-0.5 * (result * result * result))

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


def _pow_(self, exponent):
    if isinstance(exponent, Tensor):
        return PowTensor.apply_(self, exponent)
    return Pow.apply_(self, exponent=exponent)


@public(inplace=_pow_, operators=("__pow__",), number_first=True)
def pow(input, exponent) -> Tensor:
    """input ** exponent; either one may be a number.

    >>> import tinygrad_edu as T
    >>> T.pow(T.tensor([2.0, 3.0]), 2)
    tensor([4., 9.])
    """
    if isinstance(exponent, int | float):
        return Pow.apply(input, exponent=exponent)
    if isinstance(input, int | float):
        return PowScalar.apply(exponent, self=input)
    return PowTensor.apply(input, exponent)


@operator("__rpow__")
def __rpow__(self, other) -> Any:
    return pow(other, self)


@public(inplace=lambda self: Pow.apply_(self, exponent=2))
def square(input) -> Tensor:
    """input².

    >>> import tinygrad_edu as T
    >>> T.square(T.tensor([2.0, -3.0]))
    tensor([4., 9.])
    """
    return Pow.apply(input, exponent=2)


@public(inplace=Sqrt)
def sqrt(input) -> Tensor:
    """The square root.

    >>> import tinygrad_edu as T
    >>> T.sqrt(T.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """
    return Sqrt.apply(input)


@public(inplace=Rsqrt)
def rsqrt(input) -> Tensor:
    """1 / √input.

    >>> import tinygrad_edu as T
    >>> T.rsqrt(T.tensor([1.0, 4.0]))
    tensor([1.0000, 0.5000])
    """
    return Rsqrt.apply(input)
