"""Sums with a product, a quotient or a weight, as optimizers compute them: `addcmul`, `addcdiv`, `lerp`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..binding import both_forms, public
from ..op import ElementwiseOp
from ..operands import need_float, need_tensor, refuse_mismatch, refuse_mixture


class Addcmul(ElementwiseOp):
    """self + value·tensor1·tensor2"""

    promotes = True
    refuses = ("addcmul_cpu_out", "b")

    def forward(self, tensor1, tensor2, *, value=1):
        return self + np.asarray(value).astype(self.dtype) * (tensor1 * tensor2)

    def grad_self(grad):
        return grad

    def grad_tensor1(grad, tensor2, value):
        return grad * (tensor2 * value)

    def grad_tensor2(grad, tensor1, value):
        return grad * (tensor1 * value)


class Addcdiv(ElementwiseOp):
    """self + value·tensor1/tensor2"""

    promotes = True

    def forward(self, tensor1, tensor2, *, value=1):
        return self + value * (tensor1 / tensor2)

    def grad_self(grad):
        return grad

    def grad_tensor1(grad, tensor2, value):
        return grad * (value / tensor2)

    def grad_tensor2(grad, tensor1, tensor2, value):
        return -grad * (value * tensor1 / (tensor2 * tensor2))


class LerpTensor(ElementwiseOp, name="LerpBackward1"):
    """self + weight·(end - self)"""

    def forward(self, end, weight):
        # From the nearer end, as in PyTorch, so that weight 1 returns exactly `end`.
        return np.where(np.abs(weight) < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))

    def grad_self(grad, weight):
        return grad * (1 - weight)

    def grad_end(grad, weight):
        return grad * weight

    def grad_weight(grad, self, end):
        return grad * (end - self)


class Lerp(LerpTensor, name="LerpBackward0"):
    """For a number `weight`."""

    def forward(self, end, *, weight):
        return LerpTensor.forward(self, end, self.dtype.type(weight))


def _addcmul_(self, tensor1, tensor2, *, value=1):
    return Addcmul.apply_(self, *_factors("addcmul_", tensor1, tensor2), value=value)


@public()
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    return Addcmul.apply(input, *_factors("addcmul", tensor1, tensor2), value=value)


def _addcdiv_(self, tensor1, tensor2, *, value=1):
    return Addcdiv.apply_(self, *_factors("addcdiv_", tensor1, tensor2), value=value)


@public()
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return Addcdiv.apply(input, *_factors("addcdiv", tensor1, tensor2), value=value)


def _factors(name, *tensors):
    for position, factor in enumerate(tensors, 1):
        need_tensor(name, factor, f"tensor{position}", position)
    if name.startswith("addcdiv") and all(t.value.dtype.kind != "f" for t in tensors):
        raise RuntimeError("Integer division with addcdiv is no longer supported. Make the tensors floats first.")
    return tensors


@public()
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """input + weight * (end - input)."""
    return _lerp("apply", input, end, weight)


def _lerp(form, input, end, weight):
    operands = (input, need_tensor("lerp", end)) + ((weight,) if isinstance(weight, Tensor) else ())
    # A weight of no dimension is a number, of any type.
    refuse_mixture([t._data for t in operands[:2]] + [t._data for t in operands[2:] if t.ndim])
    refuse_mismatch([t.value.shape for t in operands])
    need_float(input._data, "lerp_kernel_scalar")
    if len(operands) == 3:
        return getattr(LerpTensor, form)(*operands)
    return getattr(Lerp, form)(*operands, weight=weight)


class WeightedSumsMethods:
    """The methods of Tensor that are defined here."""

    addcmul, addcmul_ = both_forms(addcmul, _addcmul_)
    addcdiv, addcdiv_ = both_forms(addcdiv, _addcdiv_)
    lerp, lerp_ = both_forms(lerp, lambda self, end, weight: _lerp("apply_", self, end, weight))
