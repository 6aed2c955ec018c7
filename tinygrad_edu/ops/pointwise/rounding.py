"""Rounding and signs, element by element. They are piecewise constant, so the gradient is 0."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ..binding import public
from ..creation.factories import zeros_like
from ..op import Op, elementwise


class _Flat(Op):
    """A piecewise constant op."""

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


class Sign(_Flat):
    """-1, 0 or 1; 0 for nan."""

    def forward(self):
        return np.subtract(self > 0, self < 0, dtype=self.dtype) if self.dtype.kind != "b" else self.copy()


class Sgn(Sign):
    def forward(self):
        return np.sign(self) if self.dtype.kind == "c" else Sign.forward(self)

    # Neither is used. Both are still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, result):
        return zeros_like(grad)


class Floor(_Flat):
    refuses = ("floor_vml_cpu", "b")

    def forward(self):
        return np.floor(self).astype(self.dtype, copy=False)


class Ceil(_Flat):
    refuses = ("ceil_vml_cpu", "b")

    def forward(self):
        return np.ceil(self).astype(self.dtype, copy=False)


class Trunc(_Flat):
    refuses = ("trunc_vml_cpu", "b")

    def forward(self):
        return np.trunc(self).astype(self.dtype, copy=False)


class Round(_Flat):
    """Halves round to the even neighbour."""

    refuses = ("round_vml_cpu", "b")

    def forward(self):
        return np.round(self)


class RoundDecimals(_Flat, name="RoundBackward1"):
    refuses = ("round_cpu", "biu")

    def forward(self, *, decimals):
        scale = 10.0 ** abs(decimals)
        return (np.round(self * scale) / scale if decimals > 0 else np.round(self / scale) * scale).astype(self.dtype)


# --- functions -------------------------------------------------------------------------------------------------------


@public(inplace=Sign)
def sign(input: Tensor) -> Tensor:
    """The sign of each element: -1, 0 or 1.

    >>> import tinygrad_edu as T
    >>> T.sign(T.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    return Sign.apply(input)


@public(inplace=Sgn)
def sgn(input: Tensor) -> Tensor:
    """The same as `sign` for real numbers.

    >>> import tinygrad_edu as T
    >>> T.sgn(T.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    return Sgn.apply(input)


@public(inplace=Floor)
def floor(input: Tensor) -> Tensor:
    """Round down to an integer.

    >>> import tinygrad_edu as T
    >>> T.floor(T.tensor([0.2, -0.2]))
    tensor([ 0., -1.])
    """
    return Floor.apply(input)


@public(inplace=Ceil)
def ceil(input: Tensor) -> Tensor:
    """Round up to an integer.

    >>> import tinygrad_edu as T
    >>> T.ceil(T.tensor([0.2, -0.2]))
    tensor([1., -0.])
    """
    return Ceil.apply(input)


@public("fix", inplace=Trunc)
def trunc(input: Tensor) -> Tensor:
    """Round toward zero: drop the fraction.

    >>> import tinygrad_edu as T
    >>> T.trunc(T.tensor([1.7, -1.7]))
    tensor([ 1., -1.])
    """
    return Trunc.apply(input)


def _round_(self, *, decimals=None):
    return Round.apply_(self) if decimals is None else RoundDecimals.apply_(self, decimals=decimals)


@public(inplace=_round_)
def round(input: Tensor, *, decimals=None) -> Tensor:
    """Round to the nearest integer, or to a multiple of 10**-decimals. Halves round to the even neighbour.

    >>> import tinygrad_edu as T
    >>> T.round(T.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    return Round.apply(input) if decimals is None else RoundDecimals.apply(input, decimals=decimals)
