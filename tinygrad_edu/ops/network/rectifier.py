"""Piecewise linear activation functions: `relu` and others. Their gradients are separate ops, constant except at the kinks."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ..arrays import choose
from ..binding import functions, nn_functions, public
from ..creation.factories import zeros_like
from ..op import Op, by_mask, elementwise
from ..operands import need_float

# Some are bound both in `tinygrad_edu` and in `nn.functional`, the others only in the second.
_BOTH = (functions, nn_functions)
_NN = (nn_functions,)


class Relu(Op):
    refuses = ("relu", "b")

    def forward(self):
        # In this order -0 stays -0, as in PyTorch.
        return np.maximum(0, self)

    # The gradient at the kink is 0. For nan the gradient passes, as in PyTorch.
    def grad_self(grad, result):
        return ThresholdBackward.apply(grad, result, threshold=0)

    jvp = by_mask


class _SlopeOfKink(Op):
    """The gradient of a piecewise linear function, as an op. With respect to `self` its own gradient is 0."""

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


class ThresholdBackward(_SlopeOfKink):
    def forward(grad_output, self, *, threshold):
        # Keep all bits of the gradient where it passes, none elsewhere: `choose`, with 0 as one choice.
        bits = f"i{grad_output.dtype.itemsize}"
        passes = np.subtract(self <= threshold, 1, dtype=bits)
        return (grad_output.view(bits) & passes).view(grad_output.dtype)

    def grad_grad_output(grad, self, threshold):
        return ThresholdBackward.apply(grad, self, threshold=threshold)


class LeakyRelu(Op):
    def forward(self, *, negative_slope=0.01):
        need_float(self, "leaky_relu_cpu")
        return choose(self > 0, self, self * negative_slope)

    def grad_self(grad, self, negative_slope):
        return LeakyReluBackward.apply(grad, self, negative_slope=negative_slope)

    jvp = by_mask


class LeakyReluBackward(_SlopeOfKink):
    def forward(grad_output, self, *, negative_slope):
        return choose(self > 0, grad_output, grad_output * negative_slope)

    def grad_grad_output(grad, self, negative_slope):
        return LeakyReluBackward.apply(grad, self, negative_slope=negative_slope)


class Threshold(Op):
    def forward(self, *, threshold, value):
        return choose(self <= threshold, self.dtype.type(value), self)

    def grad_self(grad, self, threshold):
        return ThresholdBackward.apply(grad, self, threshold=threshold)

    jvp = by_mask


# --- functions -------------------------------------------------------------------------------------------------------


def in_place_or_not(op, input, inplace, **settings):
    return op.apply_(input, **settings) if inplace else op.apply(input, **settings)


@public(where=_BOTH, inplace=lambda self: Relu.apply_(self))
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0). Its gradient at 0 is 0.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.relu(T.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return in_place_or_not(Relu, input, inplace)


@public(where=_NN, method=False)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input if positive, else negative_slope * input.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.leaky_relu(T.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return in_place_or_not(LeakyRelu, input, inplace, negative_slope=negative_slope)


@public(where=_BOTH, method=False)
def threshold(input: Tensor, threshold, value, inplace: bool = False) -> Tensor:
    """Keep x above `threshold`, and return `value` elsewhere.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.threshold(T.tensor([0.5, 2.0]), 1.0, 0.0)
    tensor([0., 2.])
    """
    return in_place_or_not(Threshold, input, inplace, threshold=threshold, value=value)
