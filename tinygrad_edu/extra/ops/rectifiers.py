"""Rectifiers with hard bends, and one with a learned slope."""

from __future__ import annotations

import functools

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import choose
from ...ops.binding import nn_functions, public
from ...ops.creation.factories import zeros_like
from ...ops.indexing.masking import where
from ...ops.network.rectifier import _BOTH, _NN, _SlopeOfKink, in_place_or_not
from ...ops.op import Op, elementwise
from ...ops.operands import need_float
from ...ops.shapes.shape import reshape


class PreluKernel(Op):
    def forward(self, weight):
        need_float(self, "prelu_cpu")
        return choose(self > 0, self, self * weight)

    def gradients(grad, self, weight):
        return PreluKernelBackward.apply(grad, self, weight)

    def jvp(tangent, tangent_of_weight, self, weight):
        return where(self > 0, tangent, tangent * weight + tangent_of_weight * self)


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

    def jvp(tangent, tangent_of_self, tangent_of_weight, grad_output, self, weight):
        positive = self > 0
        return (
            where(positive, tangent, tangent * weight + grad_output * tangent_of_weight),
            where(positive, 0.0, tangent * self + grad_output * tangent_of_self),
        )


class Hardsigmoid(Op):
    def forward(self):
        need_float(self, "hardsigmoid_cpu")
        return np.clip(self + 3, 0, 6) / 6

    def grad_self(grad, self):
        return HardsigmoidBackward.apply(grad, self)

    jvp = elementwise


class HardsigmoidBackward(_SlopeOfKink):
    def forward(grad_output, self):
        return choose((self > -3) & (self < 3), grad_output / 6, 0.0)

    def grad_grad_output(grad, self):
        return HardsigmoidBackward.apply(grad, self)


class Hardswish(Op):
    def forward(self):
        need_float(self, "hardswish_cpu")
        return self * np.clip(self + 3, 0, 6) / 6

    def grad_self(grad, self):
        return where(self <= -3, 0.0, where(self < 3, grad * (self / 3 + 0.5), grad))

    jvp = elementwise


class Softshrink(Op):
    def forward(self, *, lambd=0.5):
        need_float(self, "softshrink_check")
        return choose(self > lambd, self - lambd, choose(self < -lambd, self + lambd, self * 0))

    def grad_self(grad, self, lambd):
        return SoftshrinkBackward.apply(grad, self, lambd=lambd)

    jvp = elementwise


class SoftshrinkBackward(_SlopeOfKink):
    def forward(grad_output, self, *, lambd):
        return choose((self >= -lambd) & (self <= lambd), 0.0, grad_output)

    def grad_grad_output(grad, self, lambd):
        return SoftshrinkBackward.apply(grad, self, lambd=lambd)


class Hardshrink(Op):
    def forward(self, *, lambd=0.5):
        need_float(self, "hardshrink_cpu")
        return choose((self >= -lambd) & (self <= lambd), 0.0, self)

    def grad_self(grad, self, lambd):
        return HardshrinkBackward.apply(grad, self, lambd=lambd)

    jvp = elementwise


class HardshrinkBackward(SoftshrinkBackward):
    forward = SoftshrinkBackward.forward

    def grad_grad_output(grad, self, lambd):
        return HardshrinkBackward.apply(grad, self, lambd=lambd)


class Hardtanh(Op):
    refuses = ("hardtanh", "b")

    def forward(self, *, min_val=-1.0, max_val=1.0):
        return np.clip(self, self.dtype.type(min_val), self.dtype.type(max_val))

    # Unlike in clamp, no gradient passes at the bounds themselves.
    def grad_self(grad, self, min_val, max_val):
        return HardtanhBackward.apply(grad, self, min_val=min_val, max_val=max_val)

    jvp = elementwise


class HardtanhBackward(_SlopeOfKink):
    def forward(grad_output, self, *, min_val, max_val):
        return choose((self <= min_val) | (self >= max_val), 0.0, grad_output)

    def grad_grad_output(grad, self, min_val, max_val):
        return HardtanhBackward.apply(grad, self, min_val=min_val, max_val=max_val)


@public(where=_BOTH)
def prelu(input: Tensor, weight) -> Tensor:
    """The input if positive, else weight * input. `weight` is one number, or one per channel (dimension 1).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.prelu(T.tensor([-2.0, 3.0]), T.tensor([0.1]))
    tensor([-0.2000,  3.0000])
    """
    channels = weight.numel()
    if channels != 1 and (input.ndim < 2 or input.shape[1] != channels):
        size = input.shape[1] if input.ndim > 1 else 1
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {channels} and channel size "
            f"= {size}."
        )
    if weight.dtype != input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.legacy_name} and {weight.dtype.legacy_name}. Convert "
            f"one of them, as in input.to({weight.dtype})."
        )
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.ndim != input.ndim:
        weight = reshape(weight, tuple(channels if i == min(1, input.ndim - 1) else 1 for i in range(input.ndim)))
    return PreluKernel.apply(input, weight)


@public(where=_NN, method=False)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.hardsigmoid(T.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return in_place_or_not(Hardsigmoid, input, inplace)


@public(where=_NN, method=False)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x·hardsigmoid(x).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.hardswish(T.tensor([-4.0, 0.0, 3.0]))
    tensor([-0., 0., 3.])
    """
    return in_place_or_not(Hardswish, input, inplace)


@public(where=_NN, method=False)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move x toward 0 by `lambd`; values within ±`lambd` become 0.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.softshrink(T.tensor([-1.0, 0.2, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return Softshrink.apply(input, lambd=lambd)


@public(where=_NN, method=False)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Keep x outside ±`lambd`, and return 0 within.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.hardshrink(T.tensor([-1.0, 0.2, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return Hardshrink.apply(input, lambd=lambd)


@public(where=_NN, method=False)
def hardtanh(input: Tensor, min_val=-1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Clamp to [min_val, max_val]. At the bounds the gradient is 0.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.hardtanh(T.tensor([-2.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return in_place_or_not(Hardtanh, input, inplace, min_val=min_val, max_val=max_val)


@public(where=_NN, method=False)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.relu6(T.tensor([-1.0, 3.0, 8.0]))
    tensor([0., 3., 6.])
    """
    return in_place_or_not(Hardtanh, input, inplace, min_val=0.0, max_val=6.0)


nn_functions["hardtanh_"] = functools.partial(nn_functions["hardtanh"], inplace=True)
