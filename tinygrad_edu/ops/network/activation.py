"""Smooth activation functions; the piecewise linear ones are in `rectifier`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..arrays import choose, in_blocks
from ..binding import BOTH, NN, public
from ..indexing.masking import where
from ..op import ElementwiseOp, Op
from ..operands import need_float
from ..pointwise.arithmetic import abs
from ..pointwise.exponential import erf, erf_of, exp, sigmoid
from ..pointwise.trigonometric import tanh
from ..shapes.joining import cat
from ..shapes.shape import axis_of
from ..tangents import Elementwise
from .rectifier import in_place_or_not


class LogSigmoid(Op):
    @in_blocks
    def forward(self):
        need_float(self, "log_sigmoid_cpu")
        return np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))

    # d ln σ(s) = σ(-s)
    @in_blocks
    def grad_self(grad, self):
        return grad * sigmoid(-self)

    jvp = Elementwise(forward=0)


class Elu(ElementwiseOp):
    """scale·s above 0, scale·alpha·(e^s - 1) below."""

    @in_blocks
    def forward(self, *, alpha=1.0, scale=1.0, input_scale=1.0):
        need_float(self, "elu_cpu")
        return choose(self > 0, self * scale, np.expm1(np.minimum(0, self)) * (alpha * scale))

    @in_blocks
    def grad_self(grad, self, alpha, scale, input_scale):
        below = exp(where(self < 0, self, 0.0))
        return where(self <= 0, grad * (below * (alpha * scale)), grad * scale)


class Silu(ElementwiseOp):
    """s·σ(s)"""

    @in_blocks
    def forward(self):
        need_float(self, "silu_cpu")
        return self / (1 + np.exp(-self))

    @in_blocks
    def grad_self(grad, self):
        s = sigmoid(self)
        return grad * (s * (1 + self * (1 - s)))


class Softplus(ElementwiseOp):
    """ln(1 + e^(beta·s))/beta; s itself where beta·s exceeds `threshold`."""

    @in_blocks
    def forward(self, *, beta=1.0, threshold=20.0):
        need_float(self, "softplus_cpu")
        scaled = self * beta
        return choose(scaled > threshold, self, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)

    @in_blocks
    def grad_self(grad, self, beta, threshold):
        scaled = self * beta
        return where(scaled > threshold, grad, grad * sigmoid(scaled))


class Mish(ElementwiseOp):
    """s·tanh(softplus(s))"""

    @in_blocks
    def forward(self):
        need_float(self, "mish_cpu")
        return self * np.tanh(np.logaddexp(self, 0).astype(self.dtype))

    @in_blocks
    def grad_self(grad, self):
        t = tanh(softplus(self))
        return grad * (t + self * ((1 - t * t) * sigmoid(self)))


class Gelu(ElementwiseOp):
    """s·Φ(s), where Φ is the normal distribution function, or its tanh approximation."""

    @in_blocks
    def forward(self, *, approximate="none"):
        need_float(self, "GeluKernelImpl")
        if approximate == "tanh":
            return 0.5 * self * (1 + np.tanh(_INNER * (self + _CUBE * (self * self * self))))
        return 0.5 * self * (1 + erf_of(self * math.sqrt(0.5)))

    # Φ(s) + s·φ(s)
    @in_blocks
    def grad_self(grad, self, approximate):
        square = self * self
        if approximate == "tanh":
            t = tanh(_INNER * (self + _CUBE * (self * square)))
            slope = _INNER * (1 + 3 * _CUBE * square)
            return grad * (0.5 * (1 + t) + 0.5 * self * ((1 - t * t) * slope))
        return grad * (0.5 * (1 + erf(self * math.sqrt(0.5))) + self * (exp(square * -0.5) * _DENSITY))


_INNER, _CUBE, _DENSITY = math.sqrt(2 / math.pi), 0.044715, 1 / math.sqrt(2 * math.pi)


class Glu(Op):
    """The first half along `dim`, multiplied by the sigmoid of the second half."""

    def forward(self, *, dim=-1):
        need_float(self, "glu_cpu")
        a, b = np.split(self, 2, axis=dim)
        return a / (1 + np.exp(-b))

    def grad_self(grad, self, dim):
        before = (slice(None),) * axis_of(dim, len(self.shape))
        half = self.shape[dim] // 2
        a, s = self[(*before, slice(half))], sigmoid(self[(*before, slice(half, None))])
        return cat((grad * s, grad * (a * (s * (1 - s)))), dim)


@public(where=NN)
def logsigmoid(input: Tensor) -> Any:
    """The logarithm of sigmoid(x), accurate for large negative x."""
    return LogSigmoid.apply(input)


@public(where=NN)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The exponential linear unit: x if x > 0, else alpha·(eˣ - 1)."""
    return in_place_or_not(Elu, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0)


@public(where=BOTH)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """ELU with the two constants that keep mean 0 and variance 1 through the layers.

    >>> T.nn.functional.selu(T.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    scales = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}
    return in_place_or_not(Elu, input, inplace, input_scale=1.0, **scales)


@public(where=NN)
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit x·Φ(x), where Φ is the normal distribution function; or its tanh approximation.

    >>> T.nn.functional.gelu(T.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return Gelu.apply(input, approximate=approximate)


@public(where=NN)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """The sigmoid linear unit x·sigmoid(x), also called swish."""
    return in_place_or_not(Silu, input, inplace)


@public(where=NN)
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """A smooth ReLU: ln(1 + e^(beta·x)) / beta; x itself where beta·x exceeds `threshold`."""
    return Softplus.apply(input, beta=beta, threshold=threshold)


@public(where=NN)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x·tanh(softplus(x))."""
    return in_place_or_not(Mish, input, inplace)


@public(where=NN)
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (abs(input) + 1)


@public(where=NN)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The gated linear unit: the first half along `dim`, multiplied by the sigmoid of the second half.

    >>> T.nn.functional.glu(T.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input.shape[axis_of(dim, input.ndim)] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    return Glu.apply(input, dim=dim)
