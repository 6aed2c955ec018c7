"""The functions that networks put between their layers. The line above a rule is its formula."""

from __future__ import annotations

import math

import numpy as np

from .arithmetic import abs
from .binding import functions, nn_functions, public
from .creation import zeros_like
from .error_function import erf_of
from .exponential import exp, sigmoid
from .masking import where
from .op import Op, elementwise
from .shape import reshape
from .trigonometric import tanh

# Bound in `tinygrad_edu` and in `nn.functional`; or in the second alone.
_BOTH = (functions, nn_functions)
_NN = (nn_functions,)


class Relu(Op):
    def forward(self):
        return np.maximum(self, 0)

    # The slope at the kink is 0. NaN lets the gradient pass, as in PyTorch.
    def grad_self(grad, result):
        return ThresholdBackward.apply(grad, result, threshold=0)

    jvp = elementwise


class _SlopeOfKink(Op):
    """The gradient of a function of straight pieces, an op itself: it depends on `self`, and has the slope 0 there."""

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


class ThresholdBackward(_SlopeOfKink):
    def forward(grad_output, self, *, threshold):
        # Every bit of the gradient where it passes, and none elsewhere. np.where takes four times as long on signs that
        # come without a pattern, and a product with 0 would make NaN of an infinite gradient.
        bits = f"i{grad_output.dtype.itemsize}"
        passes = np.subtract(self <= threshold, 1, dtype=bits)
        return (grad_output.view(bits) & passes).view(grad_output.dtype)

    def grad_grad_output(grad, self, threshold):
        return ThresholdBackward.apply(grad, self, threshold=threshold)


class LeakyRelu(Op):
    def forward(self, *, negative_slope=0.01):
        return np.where(self > 0, self, self * negative_slope)

    def grad_self(grad, self, negative_slope):
        return LeakyReluBackward.apply(grad, self, negative_slope=negative_slope)

    jvp = elementwise


class LeakyReluBackward(_SlopeOfKink):
    def forward(grad_output, self, *, negative_slope):
        return np.where(self > 0, grad_output, grad_output * negative_slope)

    def grad_grad_output(grad, self, negative_slope):
        return LeakyReluBackward.apply(grad, self, negative_slope=negative_slope)


class PreluKernel(Op):
    def forward(self, weight):
        return np.where(self > 0, self, self * weight)

    def gradients(grad, self, weight):
        return PreluKernelBackward.apply(grad, self, weight)

    def jvp(tangent, tangent_of_weight, self, weight):
        return where(self > 0, tangent, tangent * weight + tangent_of_weight * self)


class PreluKernelBackward(Op):
    """The gradients of both inputs at once."""

    def forward(grad_output, self, weight):
        positive = self > 0
        return np.where(positive, grad_output, grad_output * weight), np.where(positive, 0.0, grad_output * self)

    def gradients(grads, grad_output, self, weight):
        to_self, to_weight = (zeros_like(grad_output) if g is None else g for g in grads)
        positive = self > 0
        return (
            where(positive, to_self, to_self * weight + to_weight * self),
            where(positive, 0.0, grad_output * to_weight),
            where(positive, 0.0, grad_output * to_self),
        )

    def jvp(tangent, tangent_of_self, tangent_of_weight, grad_output, self, weight):
        positive = self > 0
        return (
            where(positive, tangent, tangent * weight + grad_output * tangent_of_weight),
            where(positive, 0.0, tangent * self + grad_output * tangent_of_self),
        )


class Elu(Op):
    """scale·s above 0, scale·alpha·(e^(input_scale·s) - 1) below."""

    def forward(self, *, alpha=1.0, scale=1.0, input_scale=1.0):
        return np.where(self > 0, self * scale, np.expm1(np.minimum(self * input_scale, 0)) * (alpha * scale))

    def grad_self(grad, self, alpha, scale, input_scale):
        positive = self > 0
        below = where(self >= 0, 0.0, self) * input_scale
        return where(positive, grad * scale, grad * (exp(below) * (alpha * scale * input_scale)))

    jvp = elementwise


class Celu(Op):
    """max(0, s) + min(0, alpha·(e^(s/alpha) - 1))"""

    def forward(self, *, alpha=1.0):
        return np.where(self > 0, self, np.expm1(np.minimum(self / alpha, 0)) * alpha)

    def grad_self(grad, self, alpha):
        positive = self > 0
        return where(positive, grad, grad * exp(where(positive, 0.0, self) / alpha))

    jvp = elementwise


class Gelu(Op):
    """s·Φ(s), with Φ the normal distribution, or its approximation by tanh."""

    def forward(self, *, approximate="none"):
        if approximate == "tanh":
            return 0.5 * self * (1 + np.tanh(_INNER * (self + _CUBE * self**3)))
        return self * (0.5 * (1 + erf_of(self * math.sqrt(0.5))))

    # Φ(s) + s·φ(s)
    def grad_self(grad, self, approximate):
        if approximate == "tanh":
            t = tanh(_INNER * (self + _CUBE * (self * self * self)))
            slope = _INNER * (1 + 3 * _CUBE * (self * self))
            return grad * (0.5 * (1 + t) + 0.5 * self * ((1 - t * t) * slope))
        from .error_function import erf

        density = exp(self * self * -0.5) * (1 / math.sqrt(2 * math.pi))
        return grad * (0.5 * (1 + erf(self * math.sqrt(0.5))) + self * density)

    jvp = elementwise


_INNER = math.sqrt(2 / math.pi)
_CUBE = 0.044715


class Silu(Op):
    """s·σ(s)"""

    def forward(self):
        return self / (1 + np.exp(-self))

    def grad_self(grad, self):
        s = sigmoid(self)
        return grad * (s * (1 + self * (1 - s)))

    jvp = elementwise


class Mish(Op):
    """s·tanh(softplus(s))"""

    def forward(self):
        return self * np.tanh(np.logaddexp(self, 0).astype(self.dtype))

    def grad_self(grad, self):
        t = tanh(softplus(self))
        return grad * (t + self * ((1 - t * t) * sigmoid(self)))

    jvp = elementwise


class Softplus(Op):
    """ln(1 + e^(beta·s))/beta, and s itself where beta·s is above `threshold`."""

    def forward(self, *, beta=1.0, threshold=20.0):
        scaled = self * beta
        return np.where(scaled > threshold, self, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)

    def grad_self(grad, self, beta, threshold):
        scaled = self * beta
        return where(scaled > threshold, grad, grad * sigmoid(scaled))

    jvp = elementwise


class LogSigmoid(Op):
    def forward(self):
        return np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))

    # d ln σ(s) = σ(-s)
    def grad_self(grad, self):
        return grad * sigmoid(-self)

    jvp = elementwise


class Hardtanh(Op):
    def forward(self, *, min_val=-1.0, max_val=1.0):
        return np.clip(self, self.dtype.type(min_val), self.dtype.type(max_val))

    # Here, unlike in clamp, the bounds themselves let nothing pass.
    def grad_self(grad, self, min_val, max_val):
        return HardtanhBackward.apply(grad, self, min_val=min_val, max_val=max_val)

    jvp = elementwise


class HardtanhBackward(_SlopeOfKink):
    def forward(grad_output, self, *, min_val, max_val):
        return np.where((self <= min_val) | (self >= max_val), 0.0, grad_output)

    def grad_grad_output(grad, self, min_val, max_val):
        return HardtanhBackward.apply(grad, self, min_val=min_val, max_val=max_val)


class Hardsigmoid(Op):
    def forward(self):
        return np.clip(self + 3, 0, 6) / 6

    def grad_self(grad, self):
        return HardsigmoidBackward.apply(grad, self)

    jvp = elementwise


class HardsigmoidBackward(_SlopeOfKink):
    def forward(grad_output, self):
        return np.where((self > -3) & (self < 3), grad_output / 6, 0.0)

    def grad_grad_output(grad, self):
        return HardsigmoidBackward.apply(grad, self)


class Hardswish(Op):
    def forward(self):
        return self * np.clip(self + 3, 0, 6) / 6

    def grad_self(grad, self):
        return where(self <= -3, 0.0, where(self >= 3, grad, grad * (self / 3 + 0.5)))

    jvp = elementwise


class Softshrink(Op):
    def forward(self, *, lambd=0.5):
        return np.where(self > lambd, self - lambd, np.where(self < -lambd, self + lambd, self * 0))

    def grad_self(grad, self, lambd):
        return SoftshrinkBackward.apply(grad, self, lambd=lambd)

    jvp = elementwise


class SoftshrinkBackward(_SlopeOfKink):
    def forward(grad_output, self, *, lambd):
        return np.where((self >= -lambd) & (self <= lambd), 0.0, grad_output)

    def grad_grad_output(grad, self, lambd):
        return SoftshrinkBackward.apply(grad, self, lambd=lambd)


class Threshold(Op):
    def forward(self, *, threshold, value):
        return np.where(self <= threshold, self.dtype.type(value), self)

    def grad_self(grad, self, threshold):
        return ThresholdBackward.apply(grad, self, threshold=threshold)

    jvp = elementwise


class Glu(Op):
    """The first half along `dim`, times the sigmoid of the second."""

    def forward(self, *, dim=-1):
        a, b = np.split(self, 2, axis=dim)
        return a / (1 + np.exp(-b))

    def grad_self(grad, self, dim):
        from .joining import cat, halves

        a, b = halves(self, dim)
        s = sigmoid(b)
        return cat((grad * s, grad * (a * (s * (1 - s)))), dim)

    def jvp(tangent, self, dim):
        from .joining import halves

        (a, b), (ta, tb) = halves(self, dim), halves(tangent, dim)
        s = sigmoid(b)
        return ta * s + a * (s * (1 - s)) * tb


# --- functions -------------------------------------------------------------------------------------------------------


def _in_place_or_not(op, input, inplace, **settings):
    return op.apply_(input, **settings) if inplace else op.apply(input, **settings)


@public(where=_BOTH, inplace=lambda self: Relu.apply_(self))
def relu(input, inplace=False):
    """max(input, 0); its slope at 0 is 0."""
    return _in_place_or_not(Relu, input, inplace)


@public(where=_NN, method=False)
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input above 0, negative_slope * input below."""
    return _in_place_or_not(LeakyRelu, input, inplace, negative_slope=negative_slope)


@public(where=_BOTH)
def prelu(input, weight):
    """input above 0, weight * input below; `weight` is one number, or one for each channel (dimension 1)."""
    channels = weight.numel()
    if channels != 1 and (input.ndim < 2 or input.shape[1] != channels):
        size = input.shape[1] if input.ndim > 1 else 1
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {channels} and channel size "
            f"= {size}."
        )
    if weight.ndim != input.ndim:
        weight = reshape(
            weight, tuple(channels if i == 1 else 1 for i in range(input.ndim)) if input.ndim > 1 else (-1,)
        )
    return PreluKernel.apply(input, weight)


@public(where=_NN, method=False)
def elu(input, alpha=1.0, inplace=False):
    """input above 0, alpha * (eˣ - 1) below."""
    return _in_place_or_not(Elu, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0)


@public(where=_BOTH, method=False)
def selu(input, inplace=False):
    """ELU with the two constants that keep mean 0 and variance 1."""
    scales = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}
    return _in_place_or_not(Elu, input, inplace, input_scale=1.0, **scales)


@public(where=_BOTH, method=False)
def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (e^(x/alpha) - 1))."""
    return _in_place_or_not(Celu, input, inplace, alpha=alpha)


@public(where=_NN, method=False)
def gelu(input, *, approximate="none"):
    """x·Φ(x), with Φ the normal distribution function, or approximated by tanh."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return Gelu.apply(input, approximate=approximate)


@public(where=_NN, method=False)
def silu(input, inplace=False):
    """x·sigmoid(x), also known as swish."""
    return _in_place_or_not(Silu, input, inplace)


@public(where=_NN, method=False)
def mish(input, inplace=False):
    """x·tanh(softplus(x))."""
    return _in_place_or_not(Mish, input, inplace)


@public(where=_NN, method=False)
def softplus(input, beta=1.0, threshold=20.0):
    """ln(1 + e^(beta·x)) / beta, and x itself where beta·x is above `threshold`."""
    return Softplus.apply(input, beta=beta, threshold=threshold)


@public(where=_NN, method=False)
def logsigmoid(input):
    """ln sigmoid(x), exact for large negative x."""
    return LogSigmoid.apply(input)


@public(where=_NN, method=False)
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input kept between two numbers; at the bounds the slope is 0."""
    return _in_place_or_not(Hardtanh, input, inplace, min_val=min_val, max_val=max_val)


@public(where=_NN, method=False)
def relu6(input, inplace=False):
    """min(max(x, 0), 6)."""
    return _in_place_or_not(Hardtanh, input, inplace, min_val=0.0, max_val=6.0)


@public(where=_NN, method=False)
def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    return _in_place_or_not(Hardsigmoid, input, inplace)


@public(where=_NN, method=False)
def hardswish(input, inplace=False):
    """x·hardsigmoid(x)."""
    return _in_place_or_not(Hardswish, input, inplace)


@public(where=_NN, method=False)
def softsign(input):
    """x / (1 + |x|)."""
    return input / (abs(input) + 1)


@public(where=_NN, method=False)
def tanhshrink(input):
    """x - tanh(x)."""
    return input - tanh(input)


@public(where=_NN, method=False)
def softshrink(input, lambd=0.5):
    """x moved by `lambd` toward 0, and 0 within it."""
    return Softshrink.apply(input, lambd=lambd)


@public(where=_BOTH, method=False)
def threshold(input, threshold, value, inplace=False):
    """x above `threshold`, `value` elsewhere."""
    return _in_place_or_not(Threshold, input, inplace, threshold=threshold, value=value)


@public(where=_NN, method=False)
def glu(input, dim=-1):
    """The first half along `dim`, gated by the sigmoid of the second."""
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    return Glu.apply(input, dim=dim)
