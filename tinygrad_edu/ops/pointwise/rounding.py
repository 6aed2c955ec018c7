"""Rounding and signs, element by element. They are piecewise constant, so the gradient is 0; that of `frac` is 1."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ..binding import both_forms, public
from ..creation.copies import FlatOp
from ..op import ElementwiseOp


class Sign(FlatOp):
    """-1, 0 or 1; 0 for nan."""

    def forward(self):
        return np.subtract(self > 0, self < 0, dtype=self.dtype) if self.dtype.kind != "b" else self.copy()


def _rounded(name, compute):
    forward = {"forward": lambda self: compute(self).astype(self.dtype, copy=False)}
    return type(name, (FlatOp,), {**forward, "refuses": (f"{name.lower()}_vml_cpu", "b")})


Floor, Ceil, Trunc = _rounded("Floor", np.floor), _rounded("Ceil", np.ceil), _rounded("Trunc", np.trunc)
Round = _rounded("Round", np.round)  # halves round to the even neighbour


class RoundDecimals(FlatOp, name="RoundBackward1"):
    refuses = ("round_cpu", "biu")

    def forward(self, *, decimals):
        scale = 10.0 ** abs(decimals)
        return (np.round(self * scale) / scale if decimals > 0 else np.round(self / scale) * scale).astype(self.dtype)


class Frac(ElementwiseOp):
    refuses = ("frac_cpu", "biu")

    def forward(self):
        return self - np.trunc(self)

    def grad_self(grad):
        return grad


@public()
def sign(input: Tensor) -> Tensor:
    """The sign of each element: -1, 0 or 1."""
    return Sign.apply(input)


@public()
def floor(input: Tensor) -> Tensor:
    """Round down to an integer."""
    return Floor.apply(input)


@public()
def ceil(input: Tensor) -> Tensor:
    """Round up to an integer."""
    return Ceil.apply(input)


@public()
def trunc(input: Tensor) -> Tensor:
    """Round toward zero: drop the fraction."""
    return Trunc.apply(input)


def _round_(self, *, decimals=None):
    return Round.apply_(self) if decimals is None else RoundDecimals.apply_(self, decimals=decimals)


@public()
def round(input: Tensor, *, decimals: int | None = None) -> Tensor:
    """Round to the nearest integer, or to a multiple of 10**-decimals. Halves round to the even neighbour."""
    return Round.apply(input) if decimals is None else RoundDecimals.apply(input, decimals=decimals)


@public()
def frac(input: Tensor) -> Tensor:
    """The fractional part, with the sign of `input`."""
    return Frac.apply(input)


class RoundingMethods:
    """The methods of Tensor that are defined here."""

    sign, sign_ = both_forms(sign, Sign)
    floor, floor_ = both_forms(floor, Floor)
    ceil, ceil_ = both_forms(ceil, Ceil)
    trunc, trunc_ = both_forms(trunc, Trunc)
    round, round_ = both_forms(round, _round_)
    frac, frac_ = both_forms(frac, Frac)
