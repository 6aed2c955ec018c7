"""Smooth activation functions; the piecewise linear ones are in `rectifier`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..arrays import choose, in_blocks, row_major
from ..binding import nn_functions, public
from ..indexing.masking import where
from ..op import Op, elementwise
from ..operands import need_float
from ..pointwise.error_function import erf, normal_cdf
from ..pointwise.exponential import exp, sigmoid
from ..pointwise.trigonometric import tanh
from .rectifier import in_place_or_not

_NN = (nn_functions,)


class Elu(Op):
    """scale·s above 0, scale·alpha·(e^(input_scale·s) - 1) below."""

    @in_blocks
    def forward(self, *, alpha=1.0, scale=1.0, input_scale=1.0):
        need_float(self, "elu_cpu")
        return choose(self > 0, self * scale, np.expm1(np.minimum(self * input_scale, 0)) * (alpha * scale))

    @in_blocks
    def grad_self(grad, self, alpha, scale, input_scale):
        negative = self <= 0
        below = where(self < 0, self, 0.0) * input_scale
        return where(negative, grad * (exp(below) * (alpha * scale * input_scale)), grad * scale)

    jvp = elementwise


class Gelu(Op):
    """s·Φ(s), where Φ is the normal distribution function, or its tanh approximation."""

    results = ("output", "_cdf")
    visible_outputs = 1

    def forward(self, *, approximate="none"):
        need_float(self, "GeluKernelImpl")
        if approximate == "tanh":
            return _gelu_by_tanh(self), np.empty(0, self.dtype)
        if self.size > _KEPT:
            return _gelu(self), np.empty(0, self.dtype)
        cdf = normal_cdf(self)
        return self * cdf, cdf

    # Φ(s) + s·φ(s)
    def grad_self(grad, self, approximate, _cdf):
        if approximate == "tanh":
            return _gelu_grad_by_tanh(grad, self)
        if isinstance(_cdf, np.ndarray) and isinstance(self, np.ndarray) and _cdf.size:
            # Computing again what the forward pass computed would cost as much as everything else.
            slope = self * self
            slope *= -0.5
            np.exp(slope, out=slope)
            slope *= self
            slope *= _DENSITY
            slope += _cdf
            slope *= grad
            return slope
        return _gelu_grad(grad, self)

    jvp = elementwise


# Up to this many numbers, Φ is kept for the backward pass.
_KEPT = 32_768
_DENSITY = 1 / math.sqrt(2 * math.pi)


@in_blocks
def _gelu(s):
    return s * normal_cdf(s)


@in_blocks
def _gelu_grad(grad, s):
    density = exp(s * s * -0.5) * _DENSITY
    return grad * (0.5 * (1 + erf(s * math.sqrt(0.5))) + s * density)


@in_blocks
def _gelu_by_tanh(s):
    return 0.5 * s * (1 + np.tanh(_INNER * (s + _CUBE * (s * s * s))))


@in_blocks
def _gelu_grad_by_tanh(grad, s):
    t = tanh(_INNER * (s + _CUBE * (s * s * s)))
    slope = _INNER * (1 + 3 * _CUBE * (s * s))
    return grad * (0.5 * (1 + t) + 0.5 * s * ((1 - t * t) * slope))


_INNER = math.sqrt(2 / math.pi)
_CUBE = 0.044715


class Silu(Op):
    """s·σ(s)"""

    @in_blocks
    def forward(self):
        need_float(self, "silu_cpu")
        return self / (1 + np.exp(-self))

    @in_blocks
    def grad_self(grad, self):
        s = sigmoid(self)
        return grad * (s * (1 + self * (1 - s)))

    jvp = elementwise


class Softplus(Op):
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

    jvp = elementwise


class LogSigmoid(Op):
    @in_blocks
    def forward(self):
        need_float(self, "log_sigmoid_cpu")
        return row_major(np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self))))

    # d ln σ(s) = σ(-s)
    @in_blocks
    def grad_self(grad, self):
        return grad * sigmoid(-self)

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


@public(where=_NN, method=False)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The exponential linear unit: x if x > 0, else alpha·(eˣ - 1).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.elu(T.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return in_place_or_not(Elu, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0)


@public(where=_NN, method=False)
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit x·Φ(x), where Φ is the normal distribution function; or its tanh approximation.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.gelu(T.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return Gelu.apply(input, approximate=approximate)[0]


@public(where=_NN, method=False)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """The sigmoid linear unit x·sigmoid(x), also called swish.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.silu(T.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return in_place_or_not(Silu, input, inplace)


@public(where=_NN, method=False)
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """A smooth ReLU: ln(1 + e^(beta·x)) / beta; x itself where beta·x exceeds `threshold`.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.softplus(T.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3133, 0.6931, 2.1269])
    """
    return Softplus.apply(input, beta=beta, threshold=threshold)


@public(where=_NN, method=False)
def logsigmoid(input: Tensor) -> Any:
    """The logarithm of sigmoid(x), accurate for large negative x.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.logsigmoid(T.tensor([0.0, 2.0]))
    tensor([-0.6931, -0.1269])
    """
    return LogSigmoid.apply(input)
