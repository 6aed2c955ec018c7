"""Piecewise linear activations, `relu` and others. Their gradients are ops, too, constant except at the kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...core.tensor import Relu
from ...overrides import behind_core
from ..arrays import choose
from ..binding import BOTH, NN, in_place, method, public
from ..creation.copies import FlatOp
from ..creation.factories import zeros_like
from ..indexing.masking import where
from ..op import ElementwiseOp, Op, by_mask
from ..operands import need_float
from ..shapes.shape import reshape


class LeakyRelu(Op):
    def forward(self, *, negative_slope=0.01):
        need_float(self, "leaky_relu_cpu")
        return choose(self > 0, self, self * negative_slope)

    def grad_self(grad, self, negative_slope):
        return LeakyReluBackward.apply(grad, self, negative_slope=negative_slope)

    jvp = by_mask


class LeakyReluBackward(FlatOp):
    def forward(grad_output, self, *, negative_slope):
        return choose(self > 0, grad_output, grad_output * negative_slope)

    def grad_grad_output(grad, self, negative_slope):
        return LeakyReluBackward.apply(grad, self, negative_slope=negative_slope)


class Hardtanh(ElementwiseOp):
    refuses = ("hardtanh", "b")

    def forward(self, *, min_val=-1.0, max_val=1.0):
        return np.clip(self, self.dtype.type(min_val), self.dtype.type(max_val))

    # Unlike in clamp, no gradient passes at the bounds themselves.
    def grad_self(grad, self, min_val, max_val):
        return HardtanhBackward.apply(grad, self, min_val=min_val, max_val=max_val)


class HardtanhBackward(FlatOp):
    def forward(grad_output, self, *, min_val, max_val):
        return choose((self <= min_val) | (self >= max_val), 0.0, grad_output)

    def grad_grad_output(grad, self, min_val, max_val):
        return HardtanhBackward.apply(grad, self, min_val=min_val, max_val=max_val)


class Hardsigmoid(ElementwiseOp):
    def forward(self):
        need_float(self, "hardsigmoid_cpu")
        return np.clip(self + 3, 0, 6) / 6

    def grad_self(grad, self):
        return where((self > -3) & (self < 3), grad / 6, 0.0)


class Hardswish(ElementwiseOp):
    def forward(self):
        need_float(self, "hardswish_cpu")
        return self * np.clip(self + 3, 0, 6) / 6

    def grad_self(grad, self):
        return where(self <= -3, 0.0, where(self < 3, grad * (self / 3 + 0.5), grad))


class PreluKernel(Op):
    def forward(self, weight):
        need_float(self, "prelu_cpu")
        return choose(self > 0, self, self * weight)

    def gradients(grad, self, weight):
        return PreluKernelBackward.apply(grad, self, weight)


class PreluKernelBackward(Op):
    """The gradients of both inputs at once."""

    def forward(grad_output, self, weight):
        positive = self > 0
        return choose(positive, grad_output, grad_output * weight), choose(positive, 0.0, grad_output * self)

    def gradients(grads, grad_output, self, weight):
        to_self, to_weight = (zeros_like(grad_output) if g is None else g for g in grads)
        positive = self > 0
        return (
            where(positive, to_self, to_self * weight + to_weight * self),
            where(positive, 0.0, grad_output * to_weight),
            where(positive, 0.0, grad_output * to_self),
        )


def in_place_or_not(op: Any, input: Any, inplace: bool, **settings: Any) -> Any:
    return op.apply_(input, **settings) if inplace else op.apply(input, **settings)


@public(where=BOTH)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0). Its gradient at 0 is 0.

    >>> T.nn.functional.relu(T.tensor([-1.0, 2.0]))
    tensor([0., 2.])"""
    return in_place_or_not(Relu, input, inplace)


@public(where=NN)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input if positive, else negative_slope * input."""
    return in_place_or_not(LeakyRelu, input, inplace, negative_slope=negative_slope)


@public(where=NN)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Clamp to [min_val, max_val]. At the bounds the gradient is 0.

    >>> T.nn.functional.hardtanh(T.tensor([-2.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return in_place_or_not(Hardtanh, input, inplace, min_val=min_val, max_val=max_val)


@public(where=NN)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)."""
    return in_place_or_not(Hardtanh, input, inplace, min_val=0.0, max_val=6.0)


@public(where=NN)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    return in_place_or_not(Hardsigmoid, input, inplace)


@public(where=NN)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x·hardsigmoid(x)."""
    return in_place_or_not(Hardswish, input, inplace)


@public(where=BOTH)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input if positive, else weight * input. `weight` is one number, or one per channel (dimension 1).

    >>> T.nn.functional.prelu(T.tensor([-2.0, 3.0]), T.tensor([0.1]))
    tensor([-0.2000,  3.0000])
    """
    channels, size = weight.numel(), input.shape[1] if input.ndim > 1 else 1
    if channels not in (1, size):
        found = f"Found parameter numbers = {channels} and channel size = {size}"
        raise RuntimeError(f"Mismatch of parameter numbers and input channel size. {found}.")
    if weight.dtype != input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Convert one of them, as in input.to({weight.dtype}).")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.ndim != input.ndim:
        weight = reshape(weight, tuple(channels if i == min(1, input.ndim - 1) else 1 for i in range(input.ndim)))
    return PreluKernel.apply(input, weight)


class RectifierMethods:
    """The methods of Tensor that are defined here."""

    relu_ = in_place(relu, lambda self: Relu.apply_(self))
    prelu = method(prelu)


behind_core["relu"] = method(relu)
