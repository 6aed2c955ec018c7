"""Losses with margins, and of alignments."""

from __future__ import annotations

import builtins
import itertools
import math

import numpy as np

from ...array.tensor import Tensor, wrap
from ...modes import quiet
from ...ops.binding import functions, nn_functions, public
from ...ops.creation.copies import clone
from ...ops.creation.factories import full_like
from ...ops.indexing.gather import put_along, take_along
from ...ops.indexing.masking import where
from ...ops.network.loss import (
    _check_weight,
    as_float,
    checked_reduction,
    moved_by,
    paired,
    reduce_loss,
    reduced,
    spread,
)
from ...ops.op import Op
from ...ops.operands import check_writable, need_float, need_tensor, refuse_cast, refuse_mismatch, refuse_mixture
from ...ops.pointwise.arithmetic import AddNumber, abs, sub
from ...ops.pointwise.clamp import clamp_min, minimum
from ...ops.pointwise.exponential import exp, log, sigmoid
from ...ops.pointwise.powers import pow, sqrt
from ...ops.reductions.reduce import mean, sum
from ...ops.shapes.joining import stack
from ...ops.shapes.shape import axis_of, reshape, unsqueeze
from .distance import pairwise_distance
from .logarithms import xlogy
from .padding import pad
from .rectifiers import Hardtanh

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


class MultiMarginLoss(Op):
    """For each row the mean over the other classes of weight·max(0, margin - s[target] + s[class])^p."""

    without_gradient = ("target", "weight")

    def forward(self, *, target, p, margin, weight, reduction):
        need_float(self, "multi_margin_loss_cpu_kernel")
        refuse_mixture([self, weight])
        x, classes = np.atleast_2d(self), target.reshape(-1, 1)
        # As in PyTorch, a nan counts as no loss.
        gap = np.fmax(margin - np.take_along_axis(x, classes, 1) + x, 0) ** p
        loss = (gap * _others(x, classes, weight)).sum(1)
        return reduced(loss if self.ndim == 2 or target.ndim else loss[0], reduction)

    def grad_self(grad, self, target, p, margin, weight, reduction):
        target, weight = (getattr(x, "_data", x) for x in (target, weight))
        x, classes = reshape(self, (target.size, self.shape[-1] if self.ndim else 1)), target.reshape(-1, 1)
        gap = margin - take_along(x, 1, classes) + x
        each = spread(grad, tuple(target.shape) or (1,) * (reduction != "none"), reduction)
        share = _others(getattr(x, "_data", x), classes, weight)
        slope = where((gap > 0) & (share != 0), reshape(each, (-1, 1)) * (gap * 2 if p == 2 else 1.0) * share, 0.0)
        return reshape(slope - put_along(sum(slope, 1, True), tuple(x.shape), 1, classes), tuple(self.shape))


def _others(x, classes, weight):
    """How much each class counts in the loss of a row: nothing for its own."""
    share = np.full(x.shape, 1 / x.shape[1], x.dtype)
    if weight is not None:
        share *= weight[classes]
    np.put_along_axis(share, classes, 0, 1)
    return share


class MultilabelMarginLoss(Op):
    """For each row the sum of max(0, 1 - s[own] + s[other])/classes, over those in `target` up to its first -1, and the others."""

    without_gradient = ("target",)

    def forward(self, *, target, reduction):
        need_float(self, "multilabel_margin_loss_forward_out_frame")
        gap, share, _ = _pairs(self, target)
        loss = (np.fmax(gap, 0) * share).sum((1, 2))
        return reduced(loss if self.ndim == 2 else loss[0], reduction)

    def grad_self(grad, self, target, reduction):
        array, target = (getattr(x, "_data", x) for x in (self, target))
        gap, share, own = quiet(_pairs, array, target)
        slope = np.where(gap > 0, share, 0)
        by_row = slope.sum(1)
        for row, classes, lost in zip(by_row, own, slope.sum(2), strict=True):
            np.subtract.at(row, classes, lost)
        each = spread(grad, (len(by_row),)[: array.ndim - 1] or (1,) * (reduction != "none"), reduction)
        return reshape(reshape(each, (-1, 1)) * by_row, array.shape)


def _pairs(array, target):
    """1 - s[own] + s[other] for each row, own class and class; how much it counts; and the own classes."""
    x, target = np.atleast_2d(array), np.atleast_2d(target)
    named = np.logical_and.accumulate(target >= 0, 1)
    own = np.where(named, target, 0)[:, : max(1, int(named.sum(1).max(initial=0)))]
    named = named[:, : own.shape[1]]
    other = np.ones(x.shape, bool)
    for row, classes, there in zip(other, own, named, strict=True):
        row[classes[there]] = False
    share = (named[:, :, None] & other[:, None]).astype(x.dtype) / x.shape[1]
    return 1 - np.take_along_axis(x, own, 1)[:, :, None] + x[:, None], share, own


@public(where=_NN, method=False)
def multi_margin_loss(
    input: Tensor,
    target,
    p=1,
    margin: float = 1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the other classes of max(0, margin - x[target] + x[class])^p.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.multi_margin_loss(T.tensor([[0.1, 0.9]]), T.tensor([1]))
    tensor(0.1000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    _check_multi_margin(input, target, weight)
    return MultiMarginLoss.apply(input, target=target, p=p, margin=margin, weight=weight, reduction=reduction)


def _check_multi_margin(input, target, weight):
    rows = 1 if input.ndim < 2 else input.shape[0]
    classes = input.shape[-1] if input.ndim else 1
    if input.ndim > 2 or not classes:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if target.ndim > 1 or target.numel() != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{rows}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    _need_labels(target)
    labels = target._data
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise RuntimeError(f"target out of range: the classes are 0 to {classes - 1}")


def _need_labels(target):
    if target._data.dtype != np.int64:
        raise RuntimeError(
            f"expected scalar type Long but found {target.dtype.legacy_name}. Convert the target: target.long()."
        )


@public(where=_NN, method=False)
def multilabel_margin_loss(input: Tensor, target, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """The mean of max(0, 1 - (x[own] - x[other])) over the classes in `target` (up to its first -1) and all others.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.multilabel_margin_loss(T.tensor([[0.1, 0.2, 0.8]]), T.tensor([[2, -1, 0]]))
    tensor(0.2333)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if input.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _need_labels(target)
    if (target._data >= (input.shape[-1] if input.ndim else 1)).any():
        raise RuntimeError("argument #2 'target' is out of range: the classes are those of the last dimension, or -1")
    return MultilabelMarginLoss.apply(input, target=target, reduction=reduction)


@public(where=_NN, method=False)
def multilabel_soft_margin_loss(
    input: Tensor, target, weight=None, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The mean over the classes of the binary cross entropy of the logits.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.multilabel_soft_margin_loss(T.tensor([[0.0, 2.0]]), T.tensor([[1.0, 1.0]]))
    tensor(0.4100)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    logsigmoid = nn_functions["logsigmoid"]
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduce_loss(sum(loss, axis_of(-1, input.ndim)) / input.shape[-1], reduction)


@public(where=_NN, method=False)
def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """The mean of max(0, d(a, p) - d(a, n) + margin), for a custom distance d.

    >>> import tinygrad_edu as T
    >>> a, p, n = T.zeros(1, 2), T.ones(1, 2), T.tensor([[3.0, 4.0]])
    >>> T.nn.functional.triplet_margin_with_distance_loss(a, p, n)
    tensor(0.)
    """
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduce_loss(clamp_min(near - far + margin, 0), reduction)


@public(where=_BOTH, method=False)
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction: str = "mean", zero_infinity: bool = False
) -> Tensor:
    """The negative log-likelihood of a sequence of labels, over all its alignments in time (Graves et al. 2006).

    log_probs has shape (T, N, C) or (T, C). targets has shape (N, S), or is one vector with all labels.

    >>> import tinygrad_edu as T
    >>> scores = T.zeros(3, 1, 2).log_softmax(-1)  # three steps, a blank and one label, all equally likely
    >>> (-T.nn.functional.ctc_loss(scores, T.tensor([[1]]), [3], [1])).exp()  # six of eight paths spell the label
    tensor(0.7500)
    """
    alone = log_probs.ndim == 2
    if alone:
        log_probs = unsqueeze(log_probs, 1)
    lengths, sizes = (
        np.atleast_1d(np.asarray(getattr(x, "_data", x))).tolist() for x in (input_lengths, target_lengths)
    )
    _check_ctc(log_probs, targets, lengths, sizes, blank)
    labels, start, losses = targets._data, 0, []
    for n, (length, size) in enumerate(zip(lengths, sizes, strict=True)):
        if labels.ndim == 2:
            own = labels[n, :size]
        else:
            own, start = labels[start : start + size], start + size
        scores = log_probs[:length, n]
        # PyTorch's gradient assumes that the probabilities sum to 1, as after log_softmax, so it contains their sum as well.
        total = sum(exp(scores))
        extra = total - total.detach()
        made = _ctc(scores, own.tolist(), blank)
        if made._data == math.inf and not zero_infinity:
            extra = pow(extra * 0, 0.5)  # no alignment is possible: the gradient is nan, as in PyTorch
        losses.append(made + extra)
    loss = stack(losses)
    if zero_infinity:
        loss = where(loss == math.inf, 0.0, loss)
    if reduction == "mean":
        return mean(loss / wrap(np.maximum(sizes, 1).astype(loss._data.dtype)))
    loss = reduce_loss(loss, reduction)
    return loss[0] if alone and reduction == "none" else loss


def _check_ctc(log_probs, targets, lengths, sizes, blank):
    steps, batch, classes = log_probs.shape
    if 0 in log_probs.shape:
        raise RuntimeError("log_probs tensor must not be empty: it needs a step, a sequence and a class at least")
    where_from = "(while checking arguments for ctc_loss_allocate_outputs)"
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: 0 to {classes - 1}")
    for name, given in (("input_lengths", lengths), ("target_lengths", sizes)):
        if any(isinstance(n, float) for n in given):
            raise RuntimeError(f"{name} must be integral")
        if len(given) != batch:
            raise RuntimeError(f"{name} must be of size batch_size, which is {batch}; got {len(given)}")
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {n} {where_from}")
    if targets.ndim == 1:
        wanted = [(0, builtins.sum(sizes), False)]
    else:
        wanted = [(0, batch, False), (1, max(sizes, default=0), True)]
    for dim, n, at_least in wanted:
        found = targets.shape[dim]
        if found < n or (found > n and not at_least):
            most = "at least " if at_least else ""
            raise RuntimeError(
                f"Expected tensor to have size {most}{n} at dimension {dim}, but got size {found} for argument #2 'targets' "
                f"{where_from}"
            )
    for n in lengths:
        if n < 0 or n > steps:
            bound = "least 0" if n < 0 else f"most {steps}"
            raise RuntimeError(f"Expected input_lengths to have value at {bound}, but got value {n} {where_from}")


def _ctc(scores, labels, blank):
    """The loss of one sequence: a running sum, for each position in blank a blank b … blank, over all paths that reach it."""
    if not len(scores):
        return wrap(scores._data.dtype.type(math.inf if labels else 0))  # no path spells labels in no time
    path = [blank, *itertools.chain.from_iterable((label, blank) for label in labels)]
    never = -1e30 if scores._data.dtype != np.float16 else -1e4
    skips = wrap(np.array([i >= 2 and s != blank and s != path[i - 2] for i, s in enumerate(path)]))
    emitted = scores[:, path]
    first = wrap(np.array([i < 2 for i in range(len(path))]))
    state = where(first, emitted[0], never)
    for t in range(1, scores.shape[0]):
        one = pad(state, (1, 0), value=never)[: len(path)]
        two = where(skips, pad(state, (2, 0), value=never)[: len(path)], never)
        state = functions["logsumexp"](stack([state, one, two]), 0) + emitted[t]
    ends = state[-2:] if len(path) > 1 else state
    total = functions["logsumexp"](ends, 0)
    return where(total < never / 2, math.inf, -total)


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

    def jvp(tangent, target_tangent, self, target, reduction, delta):
        return moved_by((tangent - target_tangent) * (_bent((self - target) / delta) * delta), reduction)


class SoftMarginLoss(Op):
    """ln(1 + e^(-t·s))"""

    without_gradient = ("target",)

    def forward(self, *, target, reduction):
        return reduced(np.log1p(np.exp(-target * self)), reduction)

    def grad_self(grad, self, target, reduction):
        return spread(grad, tuple(self.shape), reduction) * (sigmoid(self * -target) * -target)

    def jvp(tangent, self, target, reduction):
        return moved_by(tangent * (sigmoid(self * -target) * -target), reduction)


@public(where=_NN, method=False)
def huber_loss(input: Tensor, target, reduction: str = "mean", delta: float = 1.0, weight=None) -> Tensor:
    """½d² for differences up to `delta`, linear beyond.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.huber_loss(T.tensor([0.5, 3.0]), T.tensor([0.0, 0.0]))
    tensor(1.3125)
    """
    reduction = checked_reduction(None, None, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    kind = input.dtype
    _check_weight(weight, input)
    input, target = paired(input, target)
    if weight is not None or kind != target.dtype:
        loss = HuberLoss.apply(input, target, reduction="none", delta=delta)
        loss = refuse_cast(loss, kind).to(kind)  # as PyTorch's kernel writes it
        return reduce_loss(loss if weight is None else loss * weight, reduction)
    return HuberLoss.apply(input, target, reduction=reduction, delta=delta)


@public(where=_NN, method=False)
def soft_margin_loss(input: Tensor, target, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """The mean of ln(1 + e^(-t·x)), for targets t of 1 or -1.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.soft_margin_loss(T.tensor([2.0, -1.0]), T.tensor([1.0, -1.0]))
    tensor(0.2201)
    """
    check_writable(tuple(input.shape), tuple(target.shape))
    return SoftMarginLoss.apply(
        input,
        target=refuse_cast(target, input.dtype).to(input.dtype),
        reduction=checked_reduction(size_average, reduce, reduction),
    )


@public(where=_BOTH, method=False)
def margin_ranking_loss(
    input1, input2, target, margin: float = 0.0, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The mean of max(0, -t·(x1 - x2) + margin).

    >>> import tinygrad_edu as T
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


@public(where=_NN, method=False)
def gaussian_nll_loss(
    input: Tensor, target, var, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of the target under a normal distribution: the mean of ½·(ln var + (input - target)²/var).

    >>> import tinygrad_edu as T
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
    bounded._data[...] = np.maximum(var._data, eps)
    loss = 0.5 * (log(bounded) + (input - target) ** 2 / bounded)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@public(where=_BOTH, method=False)
def poisson_nll_loss(
    input: Tensor,
    target,
    log_input: bool = True,
    full: bool = False,
    size_average=None,
    eps: float = 1e-8,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of a count t under a Poisson distribution: the mean of e^x - t·x, or of x - t·ln x.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.poisson_nll_loss(T.tensor([0.0]), T.tensor([2.0]))
    tensor(1.)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        stirling = target * log(target) - target + 0.5 * log(2 * math.pi * target)
        loss = loss + where(target > 1, stirling, 0.0)
    return reduce_loss(loss, reduction)


@public(where=_BOTH, method=False)
def cosine_embedding_loss(
    input1, input2, target, margin: float = 0.0, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The mean of 1 - cos(x1, x2) where the target is 1, and of max(0, cos - margin) where it is -1.

    >>> import tinygrad_edu as T
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
    cosine = dot / sqrt((sum(input1 * input1, -1) + 1e-12) * (sum(input2 * input2, -1) + 1e-12))
    refuse_mismatch([target.shape, cosine.shape])
    near = where(target == 1, 1 - cosine, 0.0)
    return reduce_loss(near + where(target == -1, clamp_min(cosine - margin, 0), 0.0), reduction)


@public(where=_BOTH, method=False)
def hinge_embedding_loss(
    input: Tensor, target, margin: float = 1.0, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The mean of x where the target is 1, and of max(0, margin - x) where it is -1.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.hinge_embedding_loss(T.tensor([0.3, 0.3]), T.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    target = need_tensor("hinge_embedding_loss", target, "target")
    most, none = (wrap(np.asarray(x, input._data.dtype)) for x in (margin, 0))
    far = where(target != 1, clamp_min(sub(most, input), 0), none)
    near = where(target != -1, input, none)
    return reduce_loss(far + near, reduction)


@public(where=_NN, method=False)
def kl_div(
    input: Tensor, target, size_average=None, reduce=None, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence: the mean of t·(ln t - x), for log-probabilities x and probabilities t (or log t).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.kl_div(T.tensor([[0.5, 0.5]]).log(), T.tensor([[0.25, 0.75]]), reduction='batchmean')
    tensor(0.1308)
    """
    if input._data.dtype.kind not in "fV" or target._data.dtype.kind not in "fV":
        raise RuntimeError("kl_div: Integral inputs not supported. Convert first: t.float().")
    batch_mean = reduction == "batchmean"
    reduction = "sum" if batch_mean else checked_reduction(size_average, reduce, reduction)
    loss = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.shape[0] if batch_mean and input.ndim else loss


class SmoothL1Loss(Op):
    """½(s - t)²/beta where |s - t| < beta, |s - t| - ½beta elsewhere."""

    promotes = True

    def forward(self, target, *, reduction, beta):
        need_float(self, "smooth_l1_cpu")
        d = np.abs(self - target)
        bent = np.minimum(d, beta)
        return reduced(bent * (d - 0.5 * bent) / beta, reduction)

    def grad_self(grad, self, target, reduction, beta):
        return spread(grad, tuple(self.shape), reduction) * _bent((self - target) / beta)

    def grad_target(grad, self, target, reduction, beta):
        return spread(grad, tuple(self.shape), reduction) * -_bent((self - target) / beta)

    def jvp(tangent, target_tangent, self, target, reduction, beta):
        return moved_by((tangent - target_tangent) * _bent((self - target) / beta), reduction)


def _bent(difference):
    """The difference, clamped to [-1, 1]."""
    return Hardtanh.apply(difference, min_val=-1.0, max_val=1.0)


@public(where=_NN, method=False)
def smooth_l1_loss(
    input: Tensor, target, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squared for differences below `beta`, absolute beyond.

    >>> import tinygrad_edu as T
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
