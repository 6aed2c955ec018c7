"""Losses: how far a prediction is from its target, as one number, or element by element."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..tensor import wrap
from .activation import LogSigmoid
from .binding import functions, nn_functions, public
from .exponential import exp, log, log1p, sigmoid, xlogy
from .op import Op
from .pointwise import abs, clamp_min, minimum, sign, where
from .reduce import mean, sum, vector_norm
from .shape import broadcast_to, expand, reshape, unsqueeze
from .softmax import log_softmax

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


def _reduced(array, reduction):
    return array if reduction == "none" else array.sum() if reduction == "sum" else array.mean()


def _spread(grad, sizes, reduction):
    """The gradient of a reduced loss at each element."""
    if reduction == "none":
        return grad
    return broadcast_to(grad / math.prod(sizes) if reduction == "mean" else grad, sizes)


def _moved(tangent, reduction):
    return tangent if reduction == "none" else sum(tangent) if reduction == "sum" else mean(tangent)


class MseLoss(Op):
    """(s - t)²"""

    promotes = True

    def forward(self, target, *, reduction):
        return _reduced(np.square(self - target), reduction)

    def grad_self(grad, self, target, reduction):
        return _spread(grad, tuple(self.shape), reduction) * ((self - target) * 2)

    def grad_target(grad, self, target, reduction):
        return _spread(grad, tuple(self.shape), reduction) * ((target - self) * 2)

    def jvp(tangent, target_tangent, self, target, reduction):
        return _moved((tangent - target_tangent) * ((self - target) * 2), reduction)


class SmoothL1Loss(Op):
    """½(s - t)²/beta where |s - t| < beta, |s - t| - ½beta elsewhere."""

    promotes = True

    def forward(self, target, *, reduction, beta):
        d = np.abs(self - target)
        return _reduced(np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)

    def grad_self(grad, self, target, reduction, beta):
        return _spread(grad, tuple(self.shape), reduction) * _bent(self - target, beta, 1 / beta)

    def grad_target(grad, self, target, reduction, beta):
        return _spread(grad, tuple(self.shape), reduction) * -_bent(self - target, beta, 1 / beta)

    def jvp(tangent, target_tangent, self, target, reduction, beta):
        return _moved((tangent - target_tangent) * _bent(self - target, beta, 1 / beta), reduction)


class HuberLoss(Op):
    """½(s - t)² where |s - t| <= delta, delta·(|s - t| - ½delta) elsewhere."""

    promotes = True

    def forward(self, target, *, reduction, delta):
        d = np.abs(self - target)
        return _reduced(np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)

    def grad_self(grad, self, target, reduction, delta):
        return _spread(grad, tuple(self.shape), reduction) * (_bent(self - target, delta, 1 / delta) * delta)

    def grad_target(grad, self, target, reduction, delta):
        return _spread(grad, tuple(self.shape), reduction) * (_bent(self - target, delta, 1 / delta) * -delta)

    def jvp(tangent, target_tangent, self, target, reduction, delta):
        return _moved((tangent - target_tangent) * (_bent(self - target, delta, 1 / delta) * delta), reduction)


def _bent(difference, bound, slope):
    """slope·d within the bound, ±1 beyond it."""
    return where(abs(difference) < bound, difference * slope, sign(difference))


class BinaryCrossEntropy(Op):
    """-w·(t·ln s + (1 - t)·ln(1 - s)), with logarithms no lower than -100."""

    def forward(self, target, weight, *, reduction):
        loss = (target - 1) * np.maximum(np.log1p(-self), -100) - target * np.maximum(np.log(self), -100)
        return _reduced(loss if weight is None else loss * weight, reduction)

    def grad_self(grad, self, target, weight, reduction):
        slope = (self - target) / clamp_min((1 - self) * self, 1e-12)
        return _spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)

    def grad_target(grad, self, target, weight, reduction):
        slope = log1p(-self) - log(self)
        return _spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)

    def jvp(tangent, target_tangent, weight_tangent, self, target, weight, reduction):
        moved = tangent * ((self - target) / ((1 - self) * self)) + target_tangent * (log1p(-self) - log(self))
        return _moved(moved if weight is None else moved * weight, reduction)


class BinaryCrossEntropyWithLogits(Op):
    """-w·(p·t·ln σ(s) + (1 - t)·ln(1 - σ(s)))"""

    def forward(self, target, weight, pos_weight, *, reduction):
        # ln(1 - σ(s)) = -s - ln(1 + e^-s), computed without overflow.
        minus_log = np.log1p(np.exp(-np.abs(self))) + np.maximum(-self, 0)
        factor = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
        loss = (1 - target) * self + factor * minus_log
        return _reduced(loss if weight is None else loss * weight, reduction)

    def grad_self(grad, self, target, weight, pos_weight, reduction):
        s = sigmoid(self)
        # With pos_weight: (1 + (p - 1)·t)·(σ(s) - 1) + 1 - t
        slope = s - target if pos_weight is None else (1 + (pos_weight - 1) * target) * (s - 1) + 1 - target
        return _spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)

    def grad_target(grad, self, target, weight, pos_weight, reduction):
        slope = -self if pos_weight is None else (pos_weight - 1) * -LogSigmoid.apply(self) - self
        return _spread(grad, tuple(self.shape), reduction) * (slope if weight is None else slope * weight)

    def jvp(tangent, target_tangent, weight_tangent, pos_tangent, self, target, weight, pos_weight, reduction):
        s = sigmoid(self)
        factor = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
        to_target = -self if pos_weight is None else (pos_weight - 1) * -LogSigmoid.apply(self) - self
        moved = tangent * (factor * (s - 1) + 1 - target) + target_tangent * to_target
        return _moved(moved if weight is None else moved * weight, reduction)


class NllLoss(Op):
    """-w[t]·s[t], for each row the log-probability at its target; the mean is weighted by w[t]."""

    visible_outputs = 1
    results = ("loss", "total_weight")

    def forward(self, *, target, weight, reduction, ignore_index):
        picked, share = _picked(target, weight, ignore_index, self)
        loss = -self.reshape(_rows(self))[picked] * share
        total = share.sum(dtype=self.dtype)
        if reduction == "none":
            return loss.reshape(target.shape), total
        return (loss.sum() / total if reduction == "mean" else loss.sum()), total

    # The scores are asked for their shape alone, and are kept, and checked, as PyTorch does.
    def grad_self(grad, self, target, weight, reduction, ignore_index, total_weight):
        grad = grad[0] if isinstance(grad, list) else grad
        sizes = tuple(self.shape)
        kind = getattr(grad, "_data", grad).dtype
        slope = _slope(sizes, target, weight, ignore_index, kind)
        if reduction == "none":
            return unsqueeze(grad, 1) * slope if len(sizes) > 1 else grad * slope
        return (grad / total_weight if reduction == "mean" else grad) * slope

    def jvp(tangent, self, target, weight, reduction, ignore_index, total_weight):
        sizes = tuple(self.shape)
        moved = tangent * wrap(_slope(sizes, target, weight, ignore_index, self._data.dtype))
        if reduction == "none":
            return sum(moved, 1) if len(sizes) > 1 else sum(moved)
        return sum(moved) / total_weight if reduction == "mean" else sum(moved)


class NllLoss2D(NllLoss, name="NllLoss2DBackward0"):
    """As NllLoss, of a batch of images of rows."""

    forward = NllLoss.forward


def _rows(scores):
    """Classes along dimension 1, all others flattened around it."""
    sizes = scores.shape
    return (sizes[0], sizes[1], math.prod(sizes[2:])) if len(sizes) > 1 else (1, sizes[0], 1)


def _picked(target, weight, ignore_index, scores):
    """Where the targets are in the scores of shape _rows, and what each counts: its weight, or 0 if it is ignored."""
    n, classes, places = _rows(scores)
    flat = target.reshape(n, places)
    ignored = flat == ignore_index
    outside = ~ignored & ((flat < 0) | (flat >= classes))
    if outside.any():
        raise IndexError(f"Target {flat[outside].flat[0]} is out of bounds.")
    safe = np.where(ignored, 0, flat)
    share = np.ones(1, scores.dtype)[np.zeros_like(safe)] if weight is None else weight[safe]
    return (np.arange(n)[:, None], safe, np.arange(places)), np.where(ignored, scores.dtype.type(0), share)


def _slope(sizes, target, weight, ignore_index, dtype):
    """-w[t] at each target, 0 elsewhere: the loss is linear in its input."""
    out = np.zeros(sizes, dtype)
    picked, share = _picked(target, weight, ignore_index, out)
    out.reshape(_rows(out))[picked] = -share
    return out


class SoftMarginLoss(Op):
    """ln(1 + e^(-t·s))"""

    def forward(self, *, target, reduction):
        return _reduced(np.log1p(np.exp(-target * self)), reduction)

    def grad_self(grad, self, target, reduction):
        return _spread(grad, tuple(self.shape), reduction) * (sigmoid(self * -target) * -target)

    def jvp(tangent, self, target, reduction):
        return _moved(tangent * (sigmoid(self * -target) * -target), reduction)


# --- functions -------------------------------------------------------------------------------------------------------


def _legacy(size_average, reduce, reduction):
    """PyTorch's older way to say which reduction."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduce(loss, reduction):
    return loss if reduction == "none" else sum(loss) if reduction == "sum" else mean(loss)


def _paired(input, target):
    """Both in one shape."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=4,
    )
    sizes = np.broadcast_shapes(tuple(input.shape), tuple(target.shape))
    return tuple(x if tuple(x.shape) == sizes else expand(x, sizes) for x in (input, target))


@public(where=_NN, method=False)
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of (input - target)²."""
    reduction = _legacy(size_average, reduce, reduction)
    input, target = _paired(input, target)
    if weight is not None:
        return _reduce(MseLoss.apply(input, target, reduction="none") * weight, reduction)
    return MseLoss.apply(input, target, reduction=reduction)


@public(where=_NN, method=False)
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The mean of |input - target|."""
    reduction = _legacy(size_average, reduce, reduction)
    input, target = _paired(input, target)
    return _reduce(abs(input - target), reduction)


@public(where=_NN, method=False)
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squares for small differences, absolute values for large ones: the two meet at `beta`."""
    reduction = _legacy(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = _paired(input, target)
    if beta == 0:
        return _reduce(abs(input - target), reduction)
    return SmoothL1Loss.apply(input, target, reduction=reduction, beta=beta)


@public(where=_NN, method=False)
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """½d² for differences up to `delta`, and a line beyond."""
    reduction = _legacy(None, None, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = _paired(input, target)
    return HuberLoss.apply(input, target, reduction=reduction, delta=delta)


@public(where=_BOTH, method=False)
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The mean of -input[i, target[i]]: `input` (N, C, …) holds log-probabilities, `target` (N, …) classes."""
    reduction = _legacy(size_average, reduce, reduction)
    if input.ndim and target.ndim and input.ndim > 1 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    if target._data.dtype.kind not in "iu":
        raise RuntimeError(
            f"expected scalar type Long but found {target.dtype.legacy_name}: targets are class indices."
        )
    expected = (*input.shape[:1], *input.shape[2:]) if input.ndim > 1 else ()
    if tuple(target.shape) != expected:
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")
    classes = target._data
    settings = {
        "weight": None if weight is None else weight._data,
        "reduction": reduction,
        "ignore_index": ignore_index,
    }
    if input.ndim <= 2:
        return NllLoss.apply(input, target=classes, **settings)[0]
    if input.ndim == 4:
        return NllLoss2D.apply(input, target=classes, **settings)[0]
    # As images of one row.
    rows = reshape(input, (*input.shape[:2], 1, -1))
    loss = NllLoss2D.apply(rows, target=classes.reshape(classes.shape[0], 1, -1), **settings)[0]
    return reshape(loss, expected) if reduction == "none" else loss


@public(where=_NN, method=False)
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """The mean of -ln softmax(input) at the targets: `input` (N, C, …) holds scores, `target` classes or probabilities."""
    reduction = _legacy(size_average, reduce, reduction)
    axis = 0 if input.ndim == 1 else 1
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.shape == input.shape and target.is_floating_point():
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, axis)
    logs = log_softmax(input, axis)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    classes = input.shape[axis]
    # Each class takes a share of the target.
    smooth = -sum(logs, axis) if weight is None else -sum(logs * _per_class(weight, input.ndim, axis), axis)
    ignored = target._data == ignore_index
    smooth = smooth.masked_fill(wrap(ignored), 0.0)
    if reduction == "mean":
        count = (
            (~ignored).sum()
            if weight is None
            else np.where(ignored, 0, weight._data[np.where(ignored, 0, target._data)]).sum()
        )
        smooth = sum(smooth) / wrap(np.asarray(count, input._data.dtype))
    elif reduction == "sum":
        smooth = sum(smooth)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def _per_class(weight, ndim, axis):
    return reshape(weight, tuple(-1 if d == axis else 1 for d in range(ndim)))


def _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing, axis):
    classes = input.shape[axis]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    logs = log_softmax(input, axis)
    product = logs * target
    if weight is not None:
        product = product * _per_class(weight, input.ndim, axis)
    if reduction == "none":
        return -sum(product, axis)
    total = -sum(product)
    return total if reduction == "sum" else total / (input.numel() // classes)


@public(where=_NN, method=False)
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean of -(t·ln x + (1 - t)·ln(1 - x)): `input` holds probabilities."""
    reduction = _legacy(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if input._data.dtype != target._data.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.legacy_name} but expected {input.dtype.legacy_name}")
    if input._data.size and not (input._data.min() >= 0 and input._data.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    return BinaryCrossEntropy.apply(input, target, weight, reduction=reduction)


@public(where=_BOTH, method=False)
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """As binary_cross_entropy of sigmoid(input), exact for large scores."""
    reduction = _legacy(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return BinaryCrossEntropyWithLogits.apply(input, target, weight, pos_weight, reduction=reduction)


@public(where=_NN, method=False)
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The mean of t·(ln t - x): `input` holds log-probabilities, `target` probabilities (or their logarithms)."""
    batch_mean = reduction == "batchmean"
    reduction = "sum" if batch_mean else _legacy(size_average, reduce, reduction)
    loss = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    loss = _reduce(loss, reduction)
    return loss / input.shape[0] if batch_mean and input.ndim else loss


@public(where=_BOTH, method=False)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between two tensors along `dim`."""
    sizes = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    x1, x2 = (x if tuple(x.shape) == sizes else expand(x, sizes) for x in (x1, x2))
    return sum(_direction(x1, dim, eps) * _direction(x2, dim, eps), dim)


def _direction(x, dim, eps):
    length = vector_norm(x, 2, dim, True)
    # As in PyTorch the floor is part of no gradient.
    kept = length.clone()
    kept._data[...] = np.maximum(kept._data, eps)
    return x / kept


@public(where=_BOTH, method=False)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """‖x1 - x2 + eps‖ along the last dimension."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@public(where=_NN, method=False)
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The mean of ln(1 + e^(-t·x)), for targets 1 and -1."""
    return SoftMarginLoss.apply(input, target=target._data, reduction=_legacy(size_average, reduce, reduction))


@public(where=_BOTH, method=False)
def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """The mean of max(0, -t·(x1 - x2) + margin)."""
    reduction = _legacy(size_average, reduce, reduction)
    return _reduce(clamp_min(-target * (input1 - input2) + margin, 0), reduction)


@public(where=_BOTH, method=False)
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """The mean of x where t is 1, of max(0, margin - x) where it is -1."""
    reduction = _legacy(size_average, reduce, reduction)
    far = where(target != 1, clamp_min(margin - input, 0), 0.0)
    near = where(target != -1, input, 0.0)
    return _reduce(far + near, reduction)


@public(where=_BOTH, method=False)
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """The mean of max(0, ‖a - p‖ - ‖a - n‖ + margin)."""
    reduction = _legacy(size_average, reduce, reduction)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduce(clamp_min(margin + near - far, 0), reduction)
