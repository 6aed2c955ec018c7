"""Regression and ranking losses: how far a prediction is from its target, as one number or element by element."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..arrays import in_order
from ..binding import functions, nn_functions, public
from ..op import Op
from ..operands import need_float, refuse_mismatch
from ..pointwise.arithmetic import abs
from ..reductions.reduce import averaged, mean, sum
from ..shapes.shape import broadcast_to, expand

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


def reduced(array, reduction):
    return array if reduction == "none" else array.sum() if reduction == "sum" else averaged(array)


def spread(grad, sizes, reduction):
    """The gradient of a reduced loss at each element."""
    if reduction == "none":
        return grad
    return broadcast_to(grad / math.prod(sizes) if reduction == "mean" else grad, sizes)


def moved_by(tangent, reduction):
    return tangent if reduction == "none" else sum(tangent) if reduction == "sum" else mean(tangent)


class MseLoss(Op):
    """(s - t)²"""

    promotes = True

    def forward(self, target, *, reduction):
        need_float(self, "mse_cpu")
        return reduced(np.square(in_order(self - target, (self, target))), reduction)

    def grad_self(grad, self, target, reduction):
        return spread(grad, tuple(self.shape), reduction) * ((self - target) * 2)

    def grad_target(grad, self, target, reduction):
        return spread(grad, tuple(self.shape), reduction) * ((target - self) * 2)

    def jvp(tangent, target_tangent, self, target, reduction):
        return moved_by((tangent - target_tangent) * ((self - target) * 2), reduction)


# --- functions -------------------------------------------------------------------------------------------------------


def checked_reduction(size_average, reduce, reduction):
    """Translate PyTorch's older arguments `size_average` and `reduce` into a reduction."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduce_loss(loss, reduction):
    return loss if reduction == "none" else sum(loss) if reduction == "sum" else mean(loss)


def paired(input, target):
    """Broadcast input and target to one shape."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=4,
    )
    refuse_mismatch([input.shape, target.shape])
    sizes = np.broadcast_shapes(tuple(input.shape), tuple(target.shape))
    return tuple(x if tuple(x.shape) == sizes else expand(x, sizes) for x in (input, target))


@public(where=_NN, method=False)
def mse_loss(input: Tensor, target, size_average=None, reduce=None, reduction: str = "mean", weight=None) -> Tensor:
    """The mean squared error: the mean of (input - target)².

    >>> import tinygrad_edu as T
    >>> T.nn.functional.mse_loss(T.tensor([1.0, 2.0]), T.tensor([0.0, 4.0]))
    tensor(2.5000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    _check_weight(weight, input)
    input, target = paired(input, target)
    if weight is not None:
        return _weighted((input - target) ** 2, weight, reduction)
    return MseLoss.apply(input, target, reduction=reduction)


@public(where=_NN, method=False)
def l1_loss(input: Tensor, target, size_average=None, reduce=None, reduction: str = "mean", weight=None) -> Tensor:
    """The mean absolute error: the mean of |input - target|.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.l1_loss(T.tensor([1.0, 2.0]), T.tensor([0.0, 4.0]))
    tensor(1.5000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    _check_weight(weight, input)
    input, target = paired(input, target)
    if weight is not None:
        return _weighted(abs(input - target), weight, reduction)
    return reduce_loss(abs(input - target), reduction)


def _weighted(loss, weight, reduction):
    """Multiply each element by its weight; the mean divides by the sum of the weights."""
    total = reduce_loss(loss * weight, "sum" if reduction == "mean" else reduction)
    return total / sum(weight) if reduction == "mean" else total


def _check_weight(weight, input):
    if weight is not None and weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


def as_float(x):
    """`x` as a number beside it makes it: integers become the default float type."""
    return x if x._data.dtype.kind in "fcV" else x.to(dtypes.get_default_dtype())
