"""Exponentials, logarithms and the error function, element by element. Integers become floats first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...core.tensor import Exp, Log
from ...overrides import behind_core
from ..arrays import in_blocks
from ..binding import both_forms, in_place, method, public
from ..indexing.masking import where
from ..op import ElementwiseOp, by_mask
from ..operands import need_float, need_tensor


class FloatOp(ElementwiseOp):
    """An elementwise op defined only for floats: integers are converted first."""

    makes_float = True


def unary(name: str, formula: Any, rule: Any) -> Any:
    """The op of a function of one number: its formula on arrays, and the rule of its gradient."""
    return type(name, (FloatOp,), {"forward": lambda self: formula(self), "grad_self": rule})


Expm1 = unary("Expm1", np.expm1, lambda grad, result: grad * (result + 1))
Log1p = unary("Log1P", np.log1p, lambda grad, self: grad / (self + 1))
Log2 = unary("Log2", np.log2, lambda grad, self: grad / (self * math.log(2)))
Log10 = unary("Log10", np.log10, lambda grad, self: grad / (self * math.log(10)))
Sigmoid = unary("Sigmoid", lambda s: 1 / (1 + np.exp(-s)), lambda grad, result: grad * ((1 - result) * result))


class Logit(FloatOp):
    """The inverse of the sigmoid; `eps` keeps its argument away from 0 and 1."""

    def forward(self, *, eps=None):
        z = self if eps is None else np.clip(self, eps, 1 - eps)
        return np.log(z / (1 - z))

    def grad_self(grad, self, eps):
        low, high, outside = (0.0, 1.0, math.nan) if eps is None else (eps, 1 - eps, 0.0)
        return where((self < low) | (self > high), outside, grad / (self * (1 - self)))


class Logaddexp(FloatOp):
    """ln(e^self + e^other)"""

    promotes = True

    def forward(self, other):
        return np.logaddexp(self, other)

    def grad_self(grad, self, other):
        return grad * sigmoid(self - other)

    def grad_other(grad, self, other):
        return grad * sigmoid(other - self)


class Xlogy(FloatOp):
    """self·ln other, and 0 where self is 0."""

    promotes = True

    def forward(self, other):
        product = np.multiply(self, np.log(other))
        return np.where((self == 0) & ~np.isnan(other), 0, product).astype(product.dtype)

    def grad_self(grad, self, other):
        return where((self == 0) & (other <= 0), 0.0, xlogy(grad, other))

    def grad_other(grad, self, other):
        return grad * (self / other)


@public()
def exp(input: Tensor) -> Tensor:
    """e to the power of input.

    >>> x = T.tensor([0.0, 1.0], requires_grad=True)
    >>> T.exp(x).sum().backward()
    >>> x.grad  # exp is its own derivative
    tensor([1.0000, 2.7183])"""
    return Exp.apply(input)


@public()
def expm1(input: Tensor) -> Tensor:
    """eˣ - 1, accurate near 0."""
    return Expm1.apply(input)


@public()
def log(input: Tensor) -> Tensor:
    """The natural logarithm.

    >>> T.log(T.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])"""
    return Log.apply(input)


@public()
def log1p(input: Tensor) -> Tensor:
    """ln(1 + x), accurate near 0."""
    return Log1p.apply(input)


@public()
def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2."""
    return Log2.apply(input)


@public()
def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10."""
    return Log10.apply(input)


@public()
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e⁻ˣ).

    >>> T.sigmoid(T.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])"""
    return Sigmoid.apply(input)


@public()
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """ln(x / (1 - x)), the inverse of the sigmoid; `eps` keeps x within [eps, 1 - eps]."""
    return Logit.apply(input, eps=eps)


@public()
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """ln(e^input + e^other), without overflow.

    >>> T.logaddexp(T.tensor([0.0]), T.tensor([0.0]))
    tensor([0.6931])
    """
    if not (input.is_floating_point() or need_tensor("logaddexp", other).is_floating_point()):
        need_float(input._data, "logaddexp_cpu")
    return Logaddexp.apply(input, need_tensor("logaddexp", other))


@public(number_first=True)
def xlogy(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input * ln(other), and 0 where `input` is 0."""
    return Xlogy.apply(input, other)


# For float32, with |x| <= 4: erf x = tanh(x·p(x²)). p is a least-squares fit to artanh(erf x)/x, weighted so that erf
# has an even relative error: below 1e-7, or 3e-7 with float32's rounding. Highest power first.
_ERF = (1.41854251e-07, -5.66850781e-06, 8.76375010e-05, -6.19785048e-04, -1.91830438e-04, 1.02769056e-01, 1.12837927)


@in_blocks
def erf_of(x: Any) -> Any:
    """The error function of an array."""
    if x.dtype == np.float64:
        return np.array([math.erf(value) for value in x.ravel().tolist()], np.float64).reshape(x.shape)
    squared = np.asarray(np.minimum(np.square(x, dtype=np.float32), np.float32(16)))
    out = squared * _ERF[0]
    for c in _ERF[1:-1]:
        out += c
        out *= squared
    out += _ERF[-1]
    out *= x
    return np.tanh(out).astype(x.dtype, copy=False)


class Erf(FloatOp):
    def forward(self):
        return erf_of(self)

    # d erf = 2/√π·e^(-s²)
    def grad_self(grad, self):
        return grad * (exp(-(self * self)) * (2 / math.sqrt(math.pi)))

    jvp = by_mask


@public()
def erf(input: Tensor) -> Tensor:
    """The error function 2/√π·∫₀ˣ e^(-t²) dt."""
    return Erf.apply(input)


class ExponentialMethods:
    """The methods of Tensor that are defined here."""

    erf, erf_ = both_forms(erf, Erf)
    exp_ = in_place(exp, Exp)
    expm1, expm1_ = both_forms(expm1, Expm1)
    log_ = in_place(log, Log)
    log1p, log1p_ = both_forms(log1p, Log1p)
    log2, log2_ = both_forms(log2, Log2)
    log10, log10_ = both_forms(log10, Log10)
    sigmoid, sigmoid_ = both_forms(sigmoid, Sigmoid)
    logit, logit_ = both_forms(logit, Logit)
    logaddexp = method(logaddexp)
    xlogy, xlogy_ = both_forms(xlogy, Xlogy)


behind_core |= {"exp": method(exp), "log": method(log)}
