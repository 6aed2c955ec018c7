"""Exponentials and logarithms, element by element. Integers become floats first."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ..binding import public
from ..op import Op, elementwise


class FloatOp(Op):
    """An op defined only for floats: integers are converted first."""

    makes_float = True


class Exp(FloatOp):
    def forward(self):
        return np.exp(self)

    def grad_self(grad, result):
        return grad * result

    jvp = elementwise


class Log(FloatOp):
    def forward(self):
        return np.log(self)

    def grad_self(grad, self):
        return grad / self

    jvp = elementwise


class Log1p(FloatOp, name="Log1PBackward0"):
    def forward(self):
        return np.log1p(self)

    def grad_self(grad, self):
        return grad / (self + 1)

    jvp = elementwise


class Sigmoid(FloatOp):
    def forward(self):
        return 1 / (1 + np.exp(-self))

    # dσ = σ·(1 - σ)
    def grad_self(grad, result):
        return grad * ((1 - result) * result)

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


@public(inplace=Exp)
def exp(input: Tensor) -> Tensor:
    """e to the power of input.

    >>> import tinygrad_edu as T
    >>> x = T.tensor([0.0, 1.0], requires_grad=True)
    >>> T.exp(x).sum().backward()
    >>> x.grad  # exp is its own derivative
    tensor([1.0000, 2.7183])
    """
    return Exp.apply(input)


@public(inplace=Log)
def log(input: Tensor) -> Tensor:
    """The natural logarithm.

    >>> import tinygrad_edu as T
    >>> T.log(T.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """
    return Log.apply(input)


@public(inplace=Log1p)
def log1p(input: Tensor) -> Tensor:
    """ln(1 + x), accurate near 0.

    >>> import tinygrad_edu as T
    >>> T.log1p(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """
    return Log1p.apply(input)


@public(inplace=Sigmoid)
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e⁻ˣ).

    >>> import tinygrad_edu as T
    >>> T.sigmoid(T.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    return Sigmoid.apply(input)
