""""""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.indexing.masking import where
from ...ops.op import elementwise
from ...ops.operands import need_tensor, refuse_kinds
from ...ops.pointwise.exponential import FloatOp
from ...ops.pointwise.powers import rsqrt


class Tan(FloatOp):
    def forward(self):
        return np.tan(self)

    # d tan = 1 + tan²
    def grad_self(grad, result):
        return grad * (result * result + 1)

    jvp = elementwise


class Asin(FloatOp):
    def forward(self):
        return np.arcsin(self)

    # d asin = 1/√(1 - s²)
    def grad_self(grad, self):
        return grad * rsqrt(1 - self * self)

    jvp = elementwise


class Acos(FloatOp):
    def forward(self):
        return np.arccos(self)

    def grad_self(grad, self):
        return grad * -rsqrt(1 - self * self)

    jvp = elementwise


class Atan(FloatOp):
    def forward(self):
        return np.arctan(self)

    # d atan = 1/(1 + s²)
    def grad_self(grad, self):
        return grad / (self * self + 1)

    jvp = elementwise


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

    jvp = elementwise


def _over_square(value, self, other):
    square = self * self + other * other
    return where(square == 0, 0.0, value / square)


class Sinh(FloatOp):
    def forward(self):
        return np.sinh(self)

    def grad_self(grad, self):
        return grad * cosh(self)

    jvp = elementwise


class Cosh(FloatOp):
    def forward(self):
        return np.cosh(self)

    def grad_self(grad, self):
        return grad * sinh(self)

    jvp = elementwise


class Asinh(FloatOp):
    def forward(self):
        return np.arcsinh(self)

    def grad_self(grad, self):
        return grad * rsqrt(self * self + 1)

    jvp = elementwise


class Acosh(FloatOp):
    def forward(self):
        return np.arccosh(self)

    def grad_self(grad, self):
        return grad * rsqrt(self * self - 1)

    jvp = elementwise


class Atanh(FloatOp):
    def forward(self):
        return np.arctanh(self)

    def grad_self(grad, self):
        return grad / (1 - self * self)

    jvp = elementwise


@public(inplace=Tan)
def tan(input: Tensor) -> Tensor:
    """The tangent of an angle in radians.

    >>> import tinygrad_edu as T
    >>> T.tan(T.tensor([0.0, 0.7853981633974483]))
    tensor([0., 1.])
    """
    return Tan.apply(input)


@public("arcsin", inplace=Asin)
def asin(input: Tensor) -> Tensor:
    """The angle in radians whose sine is `input`.

    >>> import tinygrad_edu as T
    >>> T.asin(T.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """
    return Asin.apply(input)


@public("arccos", inplace=Acos)
def acos(input: Tensor) -> Tensor:
    """The angle in radians whose cosine is `input`.

    >>> import tinygrad_edu as T
    >>> T.acos(T.tensor([1.0, 0.0]))
    tensor([0.0000, 1.5708])
    """
    return Acos.apply(input)


@public("arctan", inplace=Atan)
def atan(input: Tensor) -> Tensor:
    """The angle in radians whose tangent is `input`.

    >>> import tinygrad_edu as T
    >>> T.atan(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """
    return Atan.apply(input)


@public("arctan2", inplace=lambda self, other: Atan2.apply_(self, need_tensor("atan2_", other)))
def atan2(input: Tensor, other) -> Tensor:
    """The angle in radians of the point (other, input).

    >>> import tinygrad_edu as T
    >>> T.atan2(T.tensor([1.0, -1.0]), T.tensor([1.0, -1.0]))
    tensor([ 0.7854, -2.3562])
    """
    return Atan2.apply(input, need_tensor("atan2", other))


@public(inplace=Sinh)
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine.

    >>> import tinygrad_edu as T
    >>> T.sinh(T.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """
    return Sinh.apply(input)


@public(inplace=Cosh)
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine.

    >>> import tinygrad_edu as T
    >>> T.cosh(T.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """
    return Cosh.apply(input)


@public("arcsinh", inplace=Asinh)
def asinh(input: Tensor) -> Tensor:
    """The inverse of sinh.

    >>> import tinygrad_edu as T
    >>> T.asinh(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
    return Asinh.apply(input)


@public("arccosh", inplace=Acosh)
def acosh(input: Tensor) -> Tensor:
    """The inverse of cosh.

    >>> import tinygrad_edu as T
    >>> T.acosh(T.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """
    return Acosh.apply(input)


@public("arctanh", inplace=Atanh)
def atanh(input: Tensor) -> Tensor:
    """The inverse of tanh.

    >>> import tinygrad_edu as T
    >>> T.atanh(T.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
    return Atanh.apply(input)


class Hypot(FloatOp):
    """√(self² + other²), without overflow."""

    promotes = True

    def forward(self, other):
        return np.hypot(self, other)

    def grad_self(grad, self, result):
        return grad * (self / result)

    def grad_other(grad, other, result):
        return grad * (other / result)

    jvp = elementwise


def _need_floats(input, other):
    refuse_kinds((input._data, other._data), "hypot_cpu", "biu")
    return other


@public(inplace=lambda self, other: Hypot.apply_(self, _need_floats(self, need_tensor("hypot_", other))))
def hypot(input, other) -> Tensor:
    """√(input² + other²), without overflow.

    >>> import tinygrad_edu as T
    >>> T.hypot(T.tensor([3.0]), T.tensor([4.0]))
    tensor([5.])
    """
    return Hypot.apply(input, _need_floats(input, need_tensor("hypot", other)))
