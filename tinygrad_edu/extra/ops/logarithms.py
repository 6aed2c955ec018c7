"""Logarithms and powers of other bases, and near 0."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.indexing.masking import where
from ...ops.op import elementwise
from ...ops.operands import need_float, need_tensor
from ...ops.pointwise.exponential import FloatOp, sigmoid


class Exp2(FloatOp):
    def forward(self):
        return np.exp2(self)

    def grad_self(grad, result):
        return grad * (result * math.log(2))

    jvp = elementwise


class Expm1(FloatOp):
    def forward(self):
        return np.expm1(self)

    def grad_self(grad, result):
        return grad * (result + 1)

    jvp = elementwise


class Log2(FloatOp):
    def forward(self):
        return np.log2(self)

    def grad_self(grad, self):
        return grad / (self * math.log(2))

    jvp = elementwise


class Log10(FloatOp):
    def forward(self):
        return np.log10(self)

    def grad_self(grad, self):
        return grad / (self * math.log(10))

    jvp = elementwise


class Logaddexp(FloatOp):
    """ln(e^self + e^other)"""

    promotes = True

    def forward(self, other):
        return np.logaddexp(self, other)

    def grad_self(grad, self, other):
        return grad * sigmoid(self - other)

    def grad_other(grad, self, other):
        return grad * sigmoid(other - self)

    jvp = elementwise


class Logit(FloatOp):
    """The inverse of the sigmoid; `eps` keeps its argument away from 0 and 1."""

    def forward(self, *, eps=None):
        z = self if eps is None else np.clip(self, eps, 1 - eps)
        return np.log(z / (1 - z))

    def grad_self(grad, self, eps):
        slope = grad / (self * (1 - self))
        low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
        return where((self >= low) & (self <= high), slope, math.nan if eps is None else 0.0)

    jvp = elementwise


class Xlogy(FloatOp):
    """self·ln other, and 0 where self is 0."""

    promotes = True

    def forward(self, other):
        return np.where((self == 0) & ~np.isnan(other), 0, np.multiply(self, np.log(other))).astype(
            np.result_type(self, other)
        )

    def grad_self(grad, self, other):
        return where((self == 0) & (other <= 0), 0.0, xlogy(grad, other))

    def grad_other(grad, self, other):
        return grad * (self / other)

    jvp = elementwise


@public(inplace=Exp2)
def exp2(input: Tensor) -> Tensor:
    """2 to the power of input.

    >>> import tinygrad_edu as T
    >>> T.exp2(T.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """
    return Exp2.apply(input)


@public(inplace=Expm1)
def expm1(input: Tensor) -> Tensor:
    """eˣ - 1, accurate near 0.

    >>> import tinygrad_edu as T
    >>> T.expm1(T.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
    return Expm1.apply(input)


@public(inplace=Log2)
def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2.

    >>> import tinygrad_edu as T
    >>> T.log2(T.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """
    return Log2.apply(input)


@public(inplace=Log10)
def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10.

    >>> import tinygrad_edu as T
    >>> T.log10(T.tensor([1.0, 50.0]))
    tensor([0.0000, 1.6990])
    """
    return Log10.apply(input)


@public()
def logaddexp(input: Tensor, other) -> Tensor:
    """ln(e^input + e^other), without overflow.

    >>> import tinygrad_edu as T
    >>> T.logaddexp(T.tensor([0.0]), T.tensor([0.0]))
    tensor([0.6931])
    """
    if not (input.is_floating_point() or need_tensor("logaddexp", other).is_floating_point()):
        need_float(input._data, "logaddexp_cpu")
    return Logaddexp.apply(input, need_tensor("logaddexp", other))


@public(inplace=Logit)
def logit(input: Tensor, eps=None) -> Tensor:
    """ln(x / (1 - x)), the inverse of the sigmoid; `eps` keeps x within [eps, 1 - eps].

    >>> import tinygrad_edu as T
    >>> T.logit(T.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    return Logit.apply(input, eps=eps)


@public(inplace=Xlogy, number_first=True)
def xlogy(input, other) -> Tensor:
    """input * ln(other), and 0 where `input` is 0.

    >>> import tinygrad_edu as T
    >>> T.xlogy(T.tensor([0.0, 2.0]), T.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return Xlogy.apply(input, other)
