"""Activations that few networks use."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import choose, in_blocks
from ...ops.binding import functions, nn_functions, public
from ...ops.indexing.masking import where
from ...ops.network.activation import _NN, Elu, softplus
from ...ops.network.rectifier import in_place_or_not
from ...ops.op import Op, elementwise
from ...ops.operands import need_float
from ...ops.pointwise.arithmetic import abs
from ...ops.pointwise.exponential import exp, sigmoid
from ...ops.pointwise.trigonometric import tanh
from ...ops.shapes.joining import _along
from ...ops.shapes.shape import axis_of

# Some are bound both in `tinygrad_edu` and in `nn.functional`, the others only in the second.
_BOTH = (functions, nn_functions)


class Celu(Op):
    """max(0, s) + min(0, alpha·(e^(s/alpha) - 1))"""

    @in_blocks
    def forward(self, *, alpha=1.0):
        need_float(self, "elu_cpu")
        return choose(self > 0, self, np.expm1(np.minimum(self / alpha, 0)) * alpha)

    @in_blocks
    def grad_self(grad, self, alpha):
        negative = self <= 0
        below = where(self < 0, self, 0.0) / alpha
        return where(negative, grad * exp(below), grad)

    jvp = elementwise


class Mish(Op):
    """s·tanh(softplus(s))"""

    @in_blocks
    def forward(self):
        need_float(self, "mish_cpu")
        return self * np.tanh(np.logaddexp(self, 0).astype(self.dtype))

    @in_blocks
    def grad_self(grad, self):
        t = tanh(softplus(self))
        return grad * (t + self * ((1 - t * t) * sigmoid(self)))

    jvp = elementwise


class Glu(Op):
    """The first half along `dim`, multiplied by the sigmoid of the second half."""

    def forward(self, *, dim=-1):
        need_float(self, "glu_cpu")
        a, b = np.split(self, 2, axis=dim)
        return a / (1 + np.exp(-b))

    def grad_self(grad, self, dim):
        from ...ops.shapes.joining import cat

        a, b = halves(self, dim)
        s = sigmoid(b)
        return cat((grad * s, grad * (a * (s * (1 - s)))), dim)

    def jvp(tangent, self, dim):

        (a, b), (ta, tb) = halves(self, dim), halves(tangent, dim)
        s = sigmoid(b)
        return ta * s + a * (s * (1 - s)) * tb


@public(where=_BOTH, method=False)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """ELU with the two constants that keep mean 0 and variance 1 through the layers.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.selu(T.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    scales = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}
    return in_place_or_not(Elu, input, inplace, input_scale=1.0, **scales)


@public(where=_BOTH, method=False)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The continuously differentiable ELU: max(0, x) + min(0, alpha·(e^(x/alpha) - 1)).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.celu(T.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return in_place_or_not(Celu, input, inplace, alpha=alpha)


@public(where=_NN, method=False)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x·tanh(softplus(x)).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.mish(T.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    return in_place_or_not(Mish, input, inplace)


@public(where=_NN, method=False)
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.softsign(T.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (abs(input) + 1)


@public(where=_NN, method=False)
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.tanhshrink(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


@public(where=_NN, method=False)
def glu(input: Tensor, dim=-1) -> Tensor:
    """The gated linear unit: the first half along `dim`, multiplied by the sigmoid of the second half.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.glu(T.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    return Glu.apply(input, dim=dim)


def halves(value, dim):
    """The two halves along `dim`, of an array or a Tensor."""
    dim = axis_of(dim, len(value.shape))
    n = value.shape[dim] // 2
    return value[_along(dim, 0, n)], value[_along(dim, n, 2 * n)]
