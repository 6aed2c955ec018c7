"""Regression and ranking losses: how far a prediction is from its target, as one number or element by element."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, wrap
from ..arrays import in_order
from ..binding import BOTH, NN, functions, public
from ..creation.copies import clone
from ..creation.factories import full_like
from ..indexing.masking import where
from ..op import Op
from ..operands import need_float, refuse_cast, refuse_mismatch
from ..pointwise.arithmetic import AddNumber, abs, sub
from ..pointwise.clamp import clamp_min, minimum
from ..pointwise.exponential import exp, log
from ..pointwise.powers import sqrt
from ..pointwise.rounding import sign
from ..reductions.norms import VectorNorm
from ..reductions.reduce import averaged, mean, sum
from ..shapes.shape import broadcast_to, expand, unsqueeze


def reduced(array: Any, reduction: Any) -> Any:
    return array if reduction == "none" else array.sum() if reduction == "sum" else averaged(array)


def spread(grad: Any, sizes: Any, reduction: Any) -> Any:
    """The gradient of a reduced loss at each element."""
    if reduction == "none":
        return grad
    return broadcast_to(grad / math.prod(sizes) if reduction == "mean" else grad, sizes)


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
        return reduce_loss((tangent - target_tangent) * ((self - target) * 2), reduction)


def _bent(difference):
    """The difference, clamped to [-1, 1]; no gradient passes at the bounds."""
    return where(abs(difference) >= 1, sign(difference), difference)


class HuberLoss(Op):
    """½(s - t)² where |s - t| <= delta, delta·(|s - t| - ½delta) elsewhere."""

    promotes = True

    def forward(self, target, *, reduction, delta):
        need_float(self, "huber_cpu")
        d = np.abs(self - target)
        bent = np.minimum(d, delta)
        return reduced(bent * (d - 0.5 * bent), reduction)

    def grad_self(grad, self, target, reduction, delta):
        return spread(grad, tuple(self.shape), reduction) * (_bent((self - target) / delta) * delta)

    def grad_target(grad, self, target, reduction, delta):
        return spread(grad, tuple(self.shape), reduction) * (_bent((self - target) / delta) * -delta)


class SmoothL1Loss(Op):
    """½(s - t)²/beta where |s - t| < beta, |s - t| - ½beta elsewhere."""

    promotes = True

    def forward(self, target, *, reduction, beta):
        return HuberLoss.forward(self, target, reduction=reduction, delta=beta) / beta

    def grad_self(grad, self, target, reduction, beta):
        return spread(grad, tuple(self.shape), reduction) * _bent((self - target) / beta)

    def grad_target(grad, self, target, reduction, beta):
        return spread(grad, tuple(self.shape), reduction) * -_bent((self - target) / beta)


class PairwiseNorm(VectorNorm, name="NormBackward1"):
    """The length of a difference, under the older name that it has in PyTorch's distances."""

    forward = VectorNorm.forward


# --- functions -------------------------------------------------------------------------------------------------------


def checked_reduction(size_average: Any, reduce: Any, reduction: Any) -> Any:
    """Translate PyTorch's older arguments `size_average` and `reduce` into a reduction."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduce_loss(loss: Any, reduction: Any) -> Any:
    return loss if reduction == "none" else sum(loss) if reduction == "sum" else mean(loss)


def paired(input: Any, target: Any, weight: Any = None) -> Any:
    """Broadcast input and target to one shape."""
    if weight is not None and weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=4,
    )
    refuse_mismatch([input.shape, target.shape])
    sizes = np.broadcast_shapes(tuple(input.shape), tuple(target.shape))
    return tuple(x if tuple(x.shape) == sizes else expand(x, sizes) for x in (input, target))


@public(where=NN)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean squared error: the mean of (input - target)².

    >>> T.nn.functional.mse_loss(T.tensor([1.0, 2.0]), T.tensor([0.0, 4.0]))
    tensor(2.5000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    input, target = paired(input, target, weight)
    if weight is not None:
        return _weighted((input - target) ** 2, weight, reduction)
    return MseLoss.apply(input, target, reduction=reduction)


@public(where=NN)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean absolute error: the mean of |input - target|.

    >>> T.nn.functional.l1_loss(T.tensor([1.0, 2.0]), T.tensor([0.0, 4.0]))
    tensor(1.5000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    input, target = paired(input, target, weight)
    loss = abs(input - target)
    return reduce_loss(loss, reduction) if weight is None else _weighted(loss, weight, reduction)


def _weighted(loss, weight, reduction):
    """Multiply each element by its weight; the mean divides by the sum of the weights."""
    total = reduce_loss(loss * weight, "sum" if reduction == "mean" else reduction)
    return total / sum(weight) if reduction == "mean" else total


def as_float(x: Any) -> Any:
    """`x` as a number beside it makes it: integers become the default float type."""
    return x if x.value.dtype.kind == "f" else x.to(dtypes.get_default_dtype())


@public(where=NN)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared for differences below `beta`, absolute beyond.

    >>> T.nn.functional.smooth_l1_loss(T.tensor([0.5, 3.0]), T.tensor([0.0, 0.0]))
    tensor(1.3125)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = paired(input, target)
    if beta == 0:
        return reduce_loss(abs(input - target), reduction)
    return SmoothL1Loss.apply(input, target, reduction=reduction, beta=beta)


@public(where=NN)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """½d² for differences up to `delta`, linear beyond.

    >>> T.nn.functional.huber_loss(T.tensor([0.5, 3.0]), T.tensor([0.0, 0.0]))
    tensor(1.3125)
    """
    reduction = checked_reduction(None, None, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    kind = input.dtype
    input, target = paired(input, target, weight)
    if weight is not None or kind != target.dtype:
        loss = HuberLoss.apply(input, target, reduction="none", delta=delta)
        loss = refuse_cast(loss, kind).to(kind)  # as PyTorch's kernel writes it
        return reduce_loss(loss if weight is None else loss * weight, reduction)
    return HuberLoss.apply(input, target, reduction=reduction, delta=delta)


@public(where=NN)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence: the mean of t·(ln t - x) for log-probabilities x, probabilities t (or log t).

    >>> T.nn.functional.kl_div(T.tensor([[0.5, 0.5]]).log(), T.tensor([[0.25, 0.75]]), reduction='batchmean')
    tensor(0.1308)
    """
    if input.value.dtype.kind != "f" or target.value.dtype.kind != "f":
        raise RuntimeError("kl_div: Integral inputs not supported. Convert first: t.float().")
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.",
            stacklevel=3,
        )
    batch_mean = reduction == "batchmean"
    reduction = "sum" if batch_mean else checked_reduction(size_average, reduce, reduction)
    loss = exp(target) * (target - input) if log_target else functions["xlogy"](target, target) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.shape[0] if batch_mean and input.ndim else loss


@public(where=NN)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood under a normal distribution: the mean of ½·(ln var + (input - target)²/var).

    >>> T.nn.functional.gaussian_nll_loss(T.tensor([1.0]), T.tensor([3.0]), var=T.tensor([1.0]))
    tensor(2.)
    """
    if isinstance(var, int | float):
        var = full_like(input, var)
    if (var._data < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if var.shape == input.shape[:-1]:
            var = unsqueeze(var, -1)
        elif var.ndim != input.ndim or [a for a, b in zip(var.shape, input.shape, strict=True) if a != b] != [1]:
            raise ValueError("var is of incorrect size")
    reduction = checked_reduction(None, None, reduction)
    # Clamp the variance to eps, without affecting its gradient.
    bounded = clone(var)
    bounded._data[...] = refuse_cast(clamp_min(var.detach(), eps), var.dtype)._data
    loss = 0.5 * (log(bounded) + (input - target) ** 2 / bounded)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@public(where=BOTH)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of a count t under a Poisson distribution: the mean of e^x - t·x, or of x - t·ln x.

    >>> T.nn.functional.poisson_nll_loss(T.tensor([0.0]), T.tensor([2.0]))
    tensor(1.)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    loss = exp(input) - target * input if log_input else input - target * log(AddNumber.apply(input, other=eps))
    if full:
        stirling = target * log(target) - target + 0.5 * log(2 * math.pi * target)
        loss = loss + where(target > 1, stirling, 0.0)
    return reduce_loss(loss, reduction)


@public(where=BOTH)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of max(0, -t·(x1 - x2) + margin).

    >>> T.nn.functional.margin_ranking_loss(T.tensor([1.0]), T.tensor([2.0]), T.tensor([1.0]), margin=0.5)
    tensor(1.5000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduce_loss(clamp_min(AddNumber.apply(as_float(-target * (input1 - input2)), other=margin), 0), reduction)


@public(where=BOTH)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of x where the target is 1, and of max(0, margin - x) where it is -1.

    >>> T.nn.functional.hinge_embedding_loss(T.tensor([0.3, 0.3]), T.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    most, zero = (wrap(np.asarray(x, input.value.dtype)) for x in (margin, 0))
    far = where(target != 1, clamp_min(sub(most, input), 0), zero)
    return reduce_loss(far + where(target != -1, input, zero), reduction)


@public(where=BOTH)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of 1 - cos(x1, x2) where the target is 1, and of max(0, cos - margin) where it is -1.

    >>> a, b = T.tensor([[1.0, 0.0]]), T.tensor([[0.0, 1.0]])
    >>> T.nn.functional.cosine_embedding_loss(a, b, T.tensor([1.0]))
    tensor(1.)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}. Each pair of vectors has one target."
        )
    dot = sum(input1 * input2, -1)
    squares = [AddNumber.apply(as_float(sum(x * x, -1)), other=1e-12) for x in (input1, input2)]
    cosine = dot / sqrt(squares[0] * squares[1])
    refuse_mismatch([target.shape, cosine.shape])
    near = where(target == 1, 1 - cosine, 0.0)
    return reduce_loss(near + where(target == -1, clamp_min(cosine - margin, 0), 0.0), reduction)


@public(where=BOTH)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of max(0, ‖a - p‖ - ‖a - n‖ + margin).

    >>> anchor, near, far = T.zeros(1, 2), T.ones(1, 2), T.full((1, 2), 3.0)
    >>> T.nn.functional.triplet_margin_loss(anchor, near, far)
    tensor(0.)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )

    def distance(a, b):
        return PairwiseNorm.apply(AddNumber.apply(as_float(a - b), other=eps), ord=p, dim=(-1,))

    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduce_loss(clamp_min(AddNumber.apply(near, other=margin) - far, 0), reduction)
