"""Trigonometric and hyperbolic functions, element by element. Integers become floats first."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ..binding import public
from ..op import elementwise
from .exponential import FloatOp


class Sin(FloatOp):
    def forward(self):
        return np.sin(self)

    def grad_self(grad, self):
        return grad * cos(self)

    jvp = elementwise


class Cos(FloatOp):
    def forward(self):
        return np.cos(self)

    def grad_self(grad, self):
        return grad * -sin(self)

    jvp = elementwise


class Tanh(FloatOp):
    def forward(self):
        return np.tanh(self)

    # d tanh = 1 - tanh²
    def grad_self(grad, result):
        return grad * (1 - result * result)

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


@public(inplace=Sin)
def sin(input: Tensor) -> Tensor:
    """The sine of an angle in radians.

    >>> import tinygrad_edu as T
    >>> T.sin(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """
    return Sin.apply(input)


@public(inplace=Cos)
def cos(input: Tensor) -> Tensor:
    """The cosine of an angle in radians.

    >>> import tinygrad_edu as T
    >>> T.cos(T.tensor([0.0, 3.141592653589793]))
    tensor([ 1., -1.])
    """
    return Cos.apply(input)


@public(inplace=Tanh)
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    >>> import tinygrad_edu as T
    >>> T.tanh(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return Tanh.apply(input)
