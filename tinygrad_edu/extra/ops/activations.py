"""Activations that few networks use."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import choose, in_blocks
from ...ops.binding import functions, nn_functions, public
from ...ops.indexing.masking import where
from ...ops.network.activation import _NN
from ...ops.network.rectifier import in_place_or_not
from ...ops.op import Op, elementwise
from ...ops.operands import need_float
from ...ops.pointwise.arithmetic import abs
from ...ops.pointwise.exponential import exp, sigmoid
from ...ops.pointwise.trigonometric import tanh
from ...ops.shapes.joining import _along
from ...ops.shapes.shape import axis_of
from .error_function import erf, normal_cdf

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


for _name in ("celu", "elu", "selu"):
    nn_functions[f"{_name}_"] = functools.partial(nn_functions[_name], inplace=True)
