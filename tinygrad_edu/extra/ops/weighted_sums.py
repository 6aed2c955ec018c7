"""Sums with a product, a quotient, or a weight."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.op import Op, elementwise
from ...ops.operands import need_float, need_tensor, refuse_mismatch
from ...ops.pointwise.arithmetic import abs


class Addcmul(Op):
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

    jvp = elementwise


class Addcdiv(Op):
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

    jvp = elementwise


class Lerp(Op):
    """self + weight·(end - self), for a number `weight`."""

    def forward(self, end, *, weight):
        # Interpolate from the nearer end, as PyTorch does, so that weight 1 returns exactly `end`.
        return self + weight * (end - self) if abs(weight) < 0.5 else end - (end - self) * (1 - weight)

    def grad_self(grad, weight):
        return grad * (1 - weight)

    def grad_end(grad, weight):
        return grad * weight

    jvp = elementwise


class LerpTensor(Op, name="LerpBackward1"):
    def forward(self, end, weight):
        return np.where(np.abs(weight) < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))

    def grad_self(grad, weight):
        return grad * (1 - weight)

    def grad_end(grad, weight):
        return grad * weight

    def grad_weight(grad, self, end):
        return grad * (end - self)

    jvp = elementwise


def _check_factors(name, tensor1, tensor2):
    for position, factor in enumerate((tensor1, tensor2), 1):
        need_tensor(name, factor, f"tensor{position}", position)


def _addcmul_(self, tensor1, tensor2, *, value=1):
    _check_factors("addcmul_", tensor1, tensor2)
    return Addcmul.apply_(self, tensor1, tensor2, value=value)


@public(inplace=_addcmul_)
def addcmul(input, tensor1, tensor2, *, value=1) -> Tensor:
    """input + value * tensor1 * tensor2.

    >>> import tinygrad_edu as T
    >>> T.addcmul(T.tensor([1.0, 1.0]), T.tensor([2.0, 3.0]), T.tensor([4.0, 5.0]), value=0.1)
    tensor([1.8000, 2.5000])
    """
    _check_factors("addcmul", tensor1, tensor2)
    return Addcmul.apply(input, tensor1, tensor2, value=value)


def _check_addcdiv(name, tensor1, tensor2):
    _check_factors(name, tensor1, tensor2)
    if all(t._data.dtype.kind not in "fcV" for t in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true "
            "division of tensor1 and tensor2. Make them floats first."
        )


def _addcdiv_(self, tensor1, tensor2, *, value=1):
    _check_addcdiv("addcdiv_", tensor1, tensor2)
    return Addcdiv.apply_(self, tensor1, tensor2, value=value)


@public(inplace=_addcdiv_)
def addcdiv(input, tensor1, tensor2, *, value=1) -> Tensor:
    """input + value * tensor1 / tensor2.

    >>> import tinygrad_edu as T
    >>> T.addcdiv(T.tensor([1.0, 1.0]), T.tensor([2.0, 3.0]), T.tensor([4.0, 6.0]))
    tensor([1.5000, 1.5000])
    """
    _check_addcdiv("addcdiv", tensor1, tensor2)
    return Addcdiv.apply(input, tensor1, tensor2, value=value)


def _lerp_(self, end, weight):
    _check_lerp(self, end, weight)
    if isinstance(weight, Tensor):
        return LerpTensor.apply_(self, end, weight)
    return Lerp.apply_(self, end, weight=weight)


@public(inplace=_lerp_)
def lerp(input, end, weight) -> Tensor:
    """input + weight * (end - input).

    >>> import tinygrad_edu as T
    >>> T.lerp(T.tensor([0.0, 10.0]), T.tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    _check_lerp(input, end, weight)
    if isinstance(weight, int | float):
        return Lerp.apply(input, end, weight=weight)
    return LerpTensor.apply(input, end, weight)


def _check_lerp(input, end, weight):
    need_tensor("lerp", end)
    for name, other in (("end", end), ("weight", weight)):
        # A weight of no dimension is a number, of any type.
        is_number = name == "weight" and not getattr(other, "ndim", 0)
        if not is_number and input._data.dtype != other._data.dtype:
            names = [_SPELLED.get(t.dtype.name, t.dtype.name) for t in (input, other)]
            raise RuntimeError(f"expected dtype {names[0]} for `{name}` but got dtype {names[1]}. Convert it first.")
    refuse_mismatch([t._data.shape for t in (input, end, weight) if isinstance(t, Tensor)])
    if input._data.dtype.kind != "c":
        need_float(input._data, "lerp_kernel_tensor" if isinstance(weight, Tensor) else "lerp_kernel_scalar")


# As C++ calls them.
_SPELLED = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}
