"""Functions of complex numbers, applied to real ones: the real part and the conjugate are the tensor itself."""

from __future__ import annotations

import math

import numpy as np

from ...overrides import overridable
from ...tensor import Tensor, bind
from ..binding import functions, public
from ..creation.factories import zeros_like
from .special import FloatOp


class Angle(FloatOp):
    """0 for positive numbers, π for negative ones."""

    def forward(self):
        return np.where(np.isnan(self), self, np.where(self < 0, math.pi, 0)).astype(self.dtype)

    def grad_self(grad):
        return zeros_like(grad)

    def jvp(tangent):
        return zeros_like(tangent)


@public()
def angle(input: Tensor) -> Tensor:
    """The angle of a real number: 0, or π if it is negative."""
    return Angle.apply(input)


def _itself(name):
    def same(input):
        return input

    same.__name__ = name
    same.__doc__ = "The tensor itself, as it holds real numbers."
    return public()(same)


for _name in ("conj", "conj_physical", "resolve_conj", "resolve_neg"):
    _itself(_name)


@public(method=False)
def real(input: Tensor) -> Tensor:
    """The tensor itself, because it holds real numbers."""
    return input


@public(method=False)
def imag(input: Tensor) -> Tensor:
    """Refused, as in PyTorch: a real number has no imaginary part of its own."""
    raise RuntimeError(
        "imag is not implemented for tensors with non-complex dtypes. Complex numbers are not built here: keep the real and "
        "the imaginary part as two tensors."
    )


def is_conj(input):
    """False: no tensor here has a pending conjugation."""
    return False


def is_neg(input):
    """False: no tensor here has a pending negation."""
    return False


for _asked in (is_conj, is_neg):
    functions[_asked.__name__] = overridable(_asked)
    bind(_asked.__name__, overridable(_asked))
bind("conj_physical_", overridable(lambda self: self, "conj_physical_"))
bind("real", property(lambda self: self))
bind("imag", property(imag))
