"""Classification losses, from probabilities or from logits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ..binding import BOTH, NN, public
from ..indexing.masking import where
from ..op import Op
from ..operands import check_writable, need_float, refuse_cast
from ..pointwise.arithmetic import AddNumber, DivNumber, MulNumber, refuse_booleans
from ..pointwise.clamp import clamp_min
from ..pointwise.exponential import log, log1p, sigmoid
from ..reductions.reduce import sum
from ..shapes.shape import reshape, unsqueeze
from .activation import LogSigmoid
from .loss import checked_reduction, reduced, spread
from .softmax import log_softmax


def _weighed(loss, weight):
    if weight is None:
        return loss
    check_writable(loss.shape, np.shape(weight))
    return loss * weight


class BinaryCrossEntropy(Op):
    """-w·(t·ln s + (1 - t)·ln(1 - s)), with the logarithms clamped at -100."""

    mixes = True
    without_gradient = ("weight",)

    def forward(self, target, *, weight, reduction):
        need_float(self, "binary_cross_entropy")
        loss = (target - 1) * np.maximum(np.log1p(-self), -100) - target * np.maximum(np.log(self), -100)
        return reduced(_weighed(loss, weight), reduction)

    def grad_self(grad, self, target, weight, reduction):
        slope = BinaryCrossEntropySlope.apply(self, target)
        return spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)

    def grad_target(grad, self, target, weight, reduction):
        slope = log1p(-self) - log(self)
        return spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)


class BinaryCrossEntropySlope(Op):
    """(s - t)/(s·(1 - s)), kept finite at 0 and 1, where its own slope is PyTorch's."""

    mixes = True

    def forward(self, target):
        return (self - target) / np.maximum((1 - self) * self, 1e-12)

    def grad_self(grad, self, target):
        return grad * (self * self - 2 * self * target + target) / ((self + 1e-12) * (1 - self + 1e-12)) ** 2

    def grad_target(grad, self):
        return -grad / clamp_min((1 - self) * self, 1e-12)


class BinaryCrossEntropyWithLogits(Op):
    """-w·(p·t·ln σ(s) + (1 - t)·ln(1 - σ(s)))"""

    mixes = True
    without_gradient = ("weight", "pos_weight")

    def forward(self, target, *, weight, pos_weight, reduction):
        need_float(self, "log_sigmoid_cpu")
        # ln(1 - σ(s)) = -s - ln(1 + e^-s), computed without overflow.
        minus_log = np.log1p(np.exp(-np.abs(self))) + np.maximum(-self, 0)
        factor = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
        check_writable(minus_log.shape, np.shape(factor) or minus_log.shape)
        loss = (1 - target) * self + factor * minus_log
        return reduced(_weighed(loss, weight).astype(target.dtype, copy=False), reduction)

    def grad_self(grad, self, target, weight, pos_weight, reduction):
        s = sigmoid(self)
        # With pos_weight: (1 + (p - 1)·t)·(σ(s) - 1) + 1 - t
        slope = s - target if pos_weight is None else (1 + (pos_weight - 1) * target) * (s - 1) + 1 - target
        return spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)

    def grad_target(grad, self, target, weight, pos_weight, reduction):
        slope = -self if pos_weight is None else (pos_weight - 1) * -LogSigmoid.apply(self) - self
        return spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)


class NllLoss(Op):
    """-w[t]·s[t], where row s holds log-probabilities and t is its target. The mean is weighted by w[t]."""

    visible_outputs = 1
    results = ("loss", "total_weight")
    without_gradient = ("target", "weight")

    def forward(self, *, target, weight, reduction, ignore_index):
        need_float(self, "nll_loss_out_frame")
        places, share = _picked(target, weight, ignore_index, self)
        loss = -self.reshape(-1).take(places)
        if share is None:
            total = self.dtype.type(loss.size)
        else:
            # 0 times infinity is nan: what is ignored counts nothing.
            loss = np.where(target.reshape(loss.shape) == ignore_index, 0, loss * share)
            total = share.sum(dtype=self.dtype)
        if reduction == "none":
            return loss.reshape(target.shape), total
        return (loss.sum() / total if reduction == "mean" else loss.sum()), total

    # Only the shape of the scores is used. They are still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, target, weight, reduction, ignore_index, total_weight):
        grad = grad[0] if isinstance(grad, list) else grad
        sizes = tuple(self.shape)
        kind = getattr(grad, "_data", grad).dtype
        slope = _slope(sizes, target, weight, ignore_index, kind)
        if reduction == "none":
            grad = unsqueeze(grad, 1) if len(sizes) > 1 else grad
        # The mean over no targets is nan, and its gradient is 0, as that of every other score: also where nan comes in.
        elif reduction == "mean" and getattr(total_weight, "_data", total_weight):
            grad = grad / total_weight
        moved = grad * slope
        return moved if np.isfinite(getattr(grad, "_data", grad)).all() else where(slope == 0, 0.0, moved)


class NllLoss2D(NllLoss, name="NllLoss2DBackward0"):
    """As NllLoss, for a batch of images of rows."""

    forward = NllLoss.forward


def _rows(scores):
    """The scores with classes along dimension 1; the dimensions around it are flattened."""
    sizes = scores.shape
    return (sizes[0], sizes[1], math.prod(sizes[2:])) if len(sizes) > 1 else (1, sizes[0], 1)


def _picked(target, weight, ignore_index, scores):
    """Each target's position in its row of scores, and its weight: 0 for an ignored target; None means all are 1."""
    n, classes, places = _rows(scores)
    safe = target.reshape(n, places).astype(np.int64, copy=False)
    share = None
    if not (safe.size and safe.min() >= 0 and safe.max() < classes) or 0 <= ignore_index < classes:
        kept = safe != ignore_index
        safe = safe * kept
        if safe.size and not (safe.min() >= 0 and safe.max() < classes):
            raise IndexError(f"Target {safe[(safe < 0) | (safe >= classes)].flat[0]} is out of bounds.")
        share = kept.astype(scores.dtype)
    if weight is not None:
        share = weight[safe] if share is None else np.where(kept, weight[safe], scores.dtype.type(0))
    where = safe * places
    where += np.arange(n)[:, None] * (classes * places)
    if places > 1:
        where += np.arange(places)
    return where, share


def _slope(sizes, target, weight, ignore_index, dtype):
    """-w[t] at each target, 0 elsewhere: the gradient of a loss that is linear in its input."""
    target, weight = (getattr(x, "_data", x) for x in (target, weight))
    out = np.zeros(sizes, dtype)
    places, share = _picked(target, weight, ignore_index, out)
    out.reshape(-1)[places] = -1 if share is None else 0 - share  # and no -0
    return out


# --- functions -------------------------------------------------------------------------------------------------------


@public(where=BOTH)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood: the mean of -input[i, target[i]], for log-probabilities (N, C, …), classes (N, …).

    >>> logits = T.tensor([[2.0, 0.0, 0.0]])
    >>> T.nn.functional.nll_loss(T.nn.functional.log_softmax(logits, dim=1), T.tensor([0]))
    tensor(0.2395)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if input.ndim and target.ndim and input.ndim > 1 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    if target.value.dtype not in (np.int64, np.uint8):
        whole = target.value.dtype.kind in "iu"
        said = "expected target dtype to be Long or Byte, but got" if whole else "expected scalar type Long but found"
        raise RuntimeError(
            f"{said} {target.dtype.legacy_name}: targets are class indices, as target.long() makes them."
        )
    expected = (*input.shape[:1], *input.shape[2:]) if input.ndim > 1 else ()
    if input.ndim == 1 and target.shape == (1,):
        target = reshape(target, ())
    if tuple(target.shape) != expected:
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")
    if weight is not None:
        classes = input.shape[1] if input.ndim > 1 else input.shape[0]
        if tuple(weight.shape) != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
                f"of shape: {list(weight.shape)}"
            )
        if weight.dtype != input.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype.legacy_name} but found {weight.dtype.legacy_name}")
    settings = {"weight": weight, "reduction": reduction, "ignore_index": ignore_index}
    if input.ndim <= 2:
        return NllLoss.apply(input, target=target, **settings)[0]
    if input.ndim == 4:
        return NllLoss2D.apply(input, target=target, **settings)[0]
    # Treat them as images of one row.
    places = (1, math.prod(input.shape[2:]))
    rows = reshape(input, (*input.shape[:2], *places))
    loss = NllLoss2D.apply(rows, target=reshape(target, (target.shape[0], *places)), **settings)[0]
    return reshape(loss, expected) if reduction == "none" else loss


@public(where=NN)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The mean of -ln softmax(input) at the targets, for logits (N, C, …). Targets are class indices or probabilities.

    >>> T.nn.functional.cross_entropy(T.zeros(1, 2), T.tensor([0]))
    tensor(0.6931)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    axis = 0 if input.ndim == 1 else 1
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.shape == input.shape and target.is_floating_point():
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, axis)
    logs = log_softmax(input, axis)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    classes = input.shape[axis]
    # Label smoothing gives each class a share of the target.
    smooth = -sum(logs, axis) if weight is None else -sum(logs * _per_class(weight, input.ndim, axis), axis)
    ignored = target._data == ignore_index
    smooth = smooth.masked_fill(wrap(ignored), 0.0)
    if reduction == "mean":
        count = (
            (~ignored).sum()
            if weight is None
            else np.where(ignored, 0, weight._data[np.where(ignored, 0, target._data)]).sum()
        )
        smooth = sum(smooth) / wrap(np.asarray(count, input.value.dtype))
    elif reduction == "sum":
        smooth = sum(smooth)
    return MulNumber.apply(loss, other=1 - label_smoothing) + MulNumber.apply(smooth, other=label_smoothing / classes)


def _per_class(weight, ndim, axis):
    return reshape(weight, tuple(-1 if d == axis else 1 for d in range(ndim)))


def _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, axis):
    classes = input.shape[axis]
    if label_smoothing:
        target = MulNumber.apply(target, other=1 - label_smoothing)
        target = AddNumber.apply(target, other=label_smoothing / classes)
    logs = log_softmax(input, axis)
    product = logs * target
    if weight is not None:
        if tuple(weight.shape) != (classes,):
            raise RuntimeError(
                f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but "
                f"got weight tensor of shape: {list(weight.shape)}"
            )
        product = product * _per_class(weight, input.ndim, axis)
    if reduction == "none":
        return -sum(product, axis)
    total = -sum(product)
    return total if reduction == "sum" else DivNumber.apply(total, other=input.numel() // (classes or 1))


@public(where=NN)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of -(t·ln x + (1 - t)·ln(1 - x)), for probabilities x and targets t.

    >>> T.nn.functional.binary_cross_entropy(T.tensor([0.5, 0.5]), T.tensor([1.0, 0.0]))
    tensor(0.6931)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if input.value.dtype != target.value.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.legacy_name} but expected {input.dtype.legacy_name}")
    if input.value.size and not (input._data.min() >= 0 and input._data.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.value.size and not (target._data.min() >= 0 and target._data.max() <= 1):
        raise RuntimeError("all elements of target should be between 0 and 1")
    return BinaryCrossEntropy.apply(input, target, weight=weight, reduction=reduction)


@public(where=BOTH)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The binary cross entropy of sigmoid(input), accurate for large logits.

    >>> T.nn.functional.binary_cross_entropy_with_logits(T.tensor([0.0, 2.0]), T.tensor([1.0, 1.0]))
    tensor(0.4100)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    refuse_booleans(target, *(() if pos_weight is None else (pos_weight,)))
    refuse_cast(input, target.dtype)
    return BinaryCrossEntropyWithLogits.apply(input, target, weight=weight, pos_weight=pos_weight, reduction=reduction)
