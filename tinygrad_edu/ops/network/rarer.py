"""Less common functions of networks, composed of other ops: 3-d layers, pooling by norms, losses, sampling grids."""

from __future__ import annotations

import builtins
import itertools
import math

import numpy as np

from ...tensor import Tensor, wrap
from ..binding import functions, nn_functions, public
from ..indexing.gather import put_along, take_along
from ..indexing.masking import where
from ..linalg.distance import pairwise_distance
from ..op import Op, elementwise
from ..pointwise.arithmetic import abs
from ..pointwise.clamp import clamp_min, minimum
from ..pointwise.exponential import exp
from ..pointwise.powers import pow
from ..pointwise.rounding import sign
from ..reductions.reduce import mean, sum
from ..shapes.joining import pad, stack
from ..shapes.shape import reshape, unsqueeze
from .convolution import _conv, _conv_transpose, as_tuple
from .loss import checked_reduction, reduce_loss, reduced, spread
from .normalization import channels, dropped_channels
from .pooling import avg_pool2d
from .rectifier import in_place_or_not

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


@public(where=_BOTH, method=False)
def conv3d(input: Tensor, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """Convolve a batch of volumes (N, in, D, H, W) with kernels (out, in/groups, kd, kh, kw).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv3d(T.zeros(1, 2, 4, 4, 4), T.zeros(3, 2, 2, 2, 2)).shape
    tinygrad_edu.Size([1, 3, 3, 3, 3])
    """
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@public(where=_BOTH, method=False)
def conv_transpose3d(
    input: Tensor, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
) -> Tensor:
    """The transpose of conv3d: each element is spread over a kernel (in, out/groups, kd, kh, kw).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv_transpose3d(T.zeros(1, 2, 2, 2, 2), T.zeros(2, 3, 2, 2, 2), stride=2).shape
    tinygrad_edu.Size([1, 3, 4, 4, 4])
    """
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# --- pooling -----------------------------------------------------------------------------------------------------------


@public(where=_NN, method=False)
def lp_pool1d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of sequences, with p = norm_type.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.lp_pool1d(T.tensor([[3.0, 4.0]]), norm_type=2, kernel_size=2)
    tensor([[5.]])
    """
    pooled = nn_functions["avg_pool1d"](pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(pooled * as_tuple(kernel_size, 1)[0], norm_type)


@public(where=_NN, method=False)
def lp_pool2d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of images, with p = norm_type.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.lp_pool2d(T.tensor([[[3.0, 0.0], [0.0, 4.0]]]), norm_type=2, kernel_size=2)
    tensor([[[5.]]])
    """
    pooled = avg_pool2d(pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(pooled * math.prod(as_tuple(kernel_size, 2)), norm_type)


def _root(value, p):
    return pow(functions["sign"](value) * functions["relu"](abs(value)), 1.0 / p)


@public(where=_NN, method=False)
def local_response_norm(input: Tensor, size, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each element by (k + alpha·mean square of the neighbouring channels)^beta.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.local_response_norm(T.ones(1, 2, 1, 1), size=2, alpha=2.0).shape
    tinygrad_edu.Size([1, 2, 1, 1])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    squares = pad(input * input, [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2])
    channels = input.shape[1]
    total = squares.narrow(1, 0, channels)
    for shift in range(1, size):
        total = total + squares.narrow(1, shift, channels)
    return input / pow(total / size * alpha + k, beta)


def _unpool(input, indices, output_size, dims):
    flat, places = (reshape(x, (*x.shape[:-dims], -1)) for x in (input, indices))
    room = wrap(np.zeros((*flat.shape[:-1], math.prod(output_size)), input._data.dtype))
    return reshape(functions["scatter"](room, -1, places, flat), (*input.shape[:-dims], *output_size))


def _max_unpool(dims):
    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, step, room = (as_tuple(x, dims) for x in (kernel_size, stride or kernel_size, padding))
        natural = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], step, room, kernel, strict=True)]
        sizes = natural if output_size is None else list(output_size)[-dims:]
        return _unpool(input, indices, sizes, dims)

    unpool.__name__ = f"max_unpool{dims}d"
    unpool.__doc__ = f"""Puts the elements back where max_pool{dims}d took them from, with zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> x = T.arange({2.0**dims}).reshape{(1, *(2,) * dims)}
    >>> values, indices = T.nn.functional.max_pool{dims}d(x, 2, return_indices=True)
    >>> T.nn.functional.max_unpool{dims}d(values, indices, 2).flatten()[-2:]
    tensor([0., {2.0**dims - 1:.0f}.])
    """
    return public(where=_NN, method=False)(unpool)


_max_unpool(1)
_max_unpool(2)
_max_unpool(3)


# --- dropout -------------------------------------------------------------------------------------------------------------


@public(where=_NN, method=False)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """As dropout, of whole channels of volumes (N, C, D, H, W) or (C, D, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.dropout3d(T.ones(1, 1, 1, 1, 2), training=False)
    tensor([[[[[1., 1.]]]]])
    """
    return dropped_channels(input, p, training, inplace, "dropout3d", 5)


_SLOPE = 1.7580993408473766  # of SELU: minus the limit of its output for x → -∞


@public(where=_BOTH, method=False)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for SELU: dropped elements become its lowest value, and mean and variance are preserved.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.alpha_dropout(T.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    return _alpha_dropout(input, p, training, input._data)


@public(where=_BOTH, method=False)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Alpha dropout of whole channels.

    >>> import tinygrad_edu as T
    >>> T.feature_alpha_dropout(T.ones(1, 2, 2), training=False)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    return _alpha_dropout(input, p, training, channels(input))


def _alpha_dropout(input, p, training, like):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0
    scale = 1 / math.sqrt((_SLOPE**2 * p + 1) * (1 - p))
    from ...random import chance  # imported here because it binds to the ops

    kept = wrap(chance(like, 1 - p))
    shift = (kept - 1) * (_SLOPE * scale) + _SLOPE * scale * p
    return input * (kept * scale) + shift


class RreluWithNoise(Op):
    """A rectifier with slopes `noise`, or the mean of `lower` and `upper` below 0."""

    def forward(self, *, noise, lower, upper, training):
        return self * noise if training else np.where(self > 0, self, self * self.dtype.type((lower + upper) / 2))

    def grad_self(grad, self, noise, lower, upper, training):
        return grad * noise if training else where(self > 0, grad, grad * ((lower + upper) / 2))

    jvp = elementwise


@public(where=_BOTH, method=False)
def rrelu(input: Tensor, lower=1.0 / 8, upper=1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """A leaky ReLU whose slope below 0 is random in training, and the mean of the two bounds otherwise.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.rrelu(T.tensor([-6.0, 2.0]), lower=0.1, upper=0.3, training=False)
    tensor([-1.2000,  2.0000])
    """
    noise = np.zeros(input.shape, input._data.dtype)
    if training:
        from ...random import source

        below = input._data <= 0
        noise = np.where(below, noise, 1).astype(noise.dtype)
        noise[below] = source(None).uniform((int(below.sum()),), np.float64, lower, upper)
    settings = {"noise": noise, "lower": lower, "upper": upper, "training": training}
    return in_place_or_not(RreluWithNoise, input, inplace, **settings)


# --- losses ----------------------------------------------------------------------------------------------------------------


class MultiMarginLoss(Op):
    """For each row the mean over the other classes of weight·max(0, margin - s[target] + s[class])^p."""

    without_gradient = ("target", "weight")

    def forward(self, *, target, p, margin, weight, reduction):
        x, classes = np.atleast_2d(self), target.reshape(-1, 1)
        gap = np.maximum(margin - np.take_along_axis(x, classes, 1) + x, 0) ** p
        loss = (gap * _others(x, classes, weight)).sum(1)
        return reduced(loss if self.ndim == 2 or target.ndim else loss[0], reduction)

    def grad_self(grad, self, target, p, margin, weight, reduction):
        target, weight = (getattr(x, "_data", x) for x in (target, weight))
        x, classes = reshape(self, (target.size, -1)), target.reshape(-1, 1)
        gap = margin - take_along(x, 1, classes) + x
        each = spread(grad, tuple(target.shape) or (1,) * (reduction != "none"), reduction)
        share = _others(getattr(x, "_data", x), classes, weight)
        slope = reshape(each, (-1, 1)) * where(gap > 0, gap * 2 if p == 2 else 1.0, 0.0) * share
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
        gap, share, _ = _pairs(self, target)
        loss = (np.maximum(gap, 0) * share).sum((1, 2))
        return reduced(loss if self.ndim == 2 else loss[0], reduction)

    def grad_self(grad, self, target, reduction):
        array, target = (getattr(x, "_data", x) for x in (self, target))
        gap, share, own = _pairs(array, target)
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
    labels = target._data
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise RuntimeError(f"target out of range: the classes are 0 to {classes - 1}")


@public(where=_NN, method=False)
def multilabel_margin_loss(input: Tensor, target, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """The mean of max(0, 1 - (x[own] - x[other])) over the classes in `target` (up to its first -1) and all others.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.multilabel_margin_loss(T.tensor([[0.1, 0.2, 0.8]]), T.tensor([[2, -1, 0]]))
    tensor(0.2333)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
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
    return reduce_loss(sum(loss, -1) / input.shape[-1], reduction)


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


# --- grids ------------------------------------------------------------------------------------------------------------------


@public(where=_NN, method=False)
def affine_grid(theta, size, align_corners=None) -> Tensor:
    """A grid (N, H, W, 2) of sampling positions for images of `size` (N, C, H, W), from affine maps theta (N, 2, 3).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.affine_grid(T.eye(2, 3).unsqueeze(0), (1, 1, 2, 2), align_corners=True).shape
    tinygrad_edu.Size([1, 2, 2, 2])
    """
    batch, _, height, width = size
    kind = theta._data.dtype

    def line(n):
        # Round at each step in the dtype of theta, as PyTorch does: the last bit decides on which side of a pixel a position
        # lies, and so its gradient there.
        steps = functions["linspace"](-1, 1, n, dtype=theta.dtype)._data if n > 1 else np.zeros(1, kind)
        return steps if align_corners else steps * kind.type(n - 1) / kind.type(n)

    base = np.stack([*np.meshgrid(line(width), line(height)), np.ones((height, width), kind)], -1).reshape(1, -1, 3)
    return reshape(wrap(np.repeat(base, batch, 0)) @ theta.transpose(1, 2), (batch, height, width, 2))


def _reflected(at, low, high):
    """Reflect positions beyond `low` and `high` back between them, as often as necessary."""
    span = high - low
    if span <= 0:
        return at * 0.0
    away = abs(at - low)
    times = np.floor(away._data / span)
    back = away - wrap((times * span).astype(away._data.dtype))
    return where(wrap(times % 2 == 0), back + low, span - back + low)


def _inside(at, n):
    """Move positions to the edge; their gradient there is 0, as in PyTorch."""
    return where(wrap(at._data <= 0), 0.0, where(wrap(at._data >= n - 1), float(n - 1), at))


def _padded_place(at, n, padding_mode, align_corners):
    if padding_mode == "reflection":
        at = _reflected(at, 0.0, float(n - 1)) if align_corners else _reflected(at, -0.5, n - 0.5)
    return at if padding_mode == "zeros" else _inside(at, n)


def _cubic_weights(t):
    """The weights of the four pixels around a position that lies `t` after the second of them."""

    def near(x):
        return ((x * 1.25) - 2.25) * x * x + 1

    def far(x):
        return ((x * -0.75 + 3.75) * x - 6.0) * x + 3.0

    return far(t + 1), near(t), near(1 - t), far(2 - t)


@public(where=_NN, method=False)
def grid_sample(input: Tensor, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners=None) -> Tensor:
    """Sample images (N, C, H, W) at the positions of `grid` (N, h, w, 2), from -1 to 1: interpolated or nearest.

    >>> import tinygrad_edu as T
    >>> image = T.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> T.nn.functional.grid_sample(image, T.tensor([[[[0.0, 0.0]]]]), align_corners=False)  # the center
    tensor([[[[2.5000]]]])
    """
    for name, value, known in (
        ("mode", mode, ("bilinear", "nearest", "bicubic")), ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):  # fmt: skip
        if value not in known:
            raise ValueError(
                f"nn.functional.grid_sample(): expected {name} to be '{known[0]}', '{known[1]}' or '{known[2]}', but got: "
                f"'{value}'"
            )
    if input.ndim != 4:
        raise NotImplementedError("grid_sample of volumes is not built: pass images (N, C, H, W).")
    batch, channels, height, width = input.shape

    def place(value, n):
        at = (value + 1) * ((n - 1) / 2) if align_corners else (value + 1) * (n / 2) - 0.5
        return at if mode == "bicubic" else _padded_place(at, n, padding_mode, align_corners)

    x, y = place(grid[..., 0], width), place(grid[..., 1], height)

    def read(column, row):
        """The pixels at integer positions, 0 outside: (N, C, h, w)."""
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        number = np.clip(row, 0, height - 1) * width + np.clip(column, 0, width - 1)
        flat = np.broadcast_to(number.reshape(batch, 1, -1), (batch, channels, number[0].size))
        picked = reshape(input, (batch, channels, -1)).gather(2, wrap(np.ascontiguousarray(flat)))
        shown = reshape(picked, (batch, channels, *grid.shape[1:3]))
        return where(wrap(inside[:, None]), shown, 0.0)

    if mode == "nearest":
        # The positions get a gradient of 0, as in PyTorch: a small shift reads the same pixel.
        no_slope = unsqueeze((sign(x) + sign(y)) * 0.0, 1)
        # Clamp to one pixel outside, because infinity has no integer.
        column, row = (np.rint(np.clip(at._data, -1, n)).astype(np.int64) for at, n in ((x, width), (y, height)))
        return read(column, row) + no_slope
    left, top = np.floor(x._data).astype(np.int64), np.floor(y._data).astype(np.int64)
    across, down = (unsqueeze(a - wrap(b.astype(a._data.dtype)), 1) for a, b in ((x, left), (y, top)))
    if mode == "bicubic":

        def whole(at, n):
            moved = _padded_place(wrap(at.astype(input._data.dtype)), n, padding_mode, align_corners)
            return moved._data.astype(np.int64)

        rows = []
        for i in range(-1, 3):
            row = whole(top + i, height)
            taps = [
                read(whole(left + j, width), row) * w for j, w in zip(range(-1, 3), _cubic_weights(across), strict=True)
            ]
            rows.append(taps[0] + taps[1] + taps[2] + taps[3])
        parts = [row * w for row, w in zip(rows, _cubic_weights(down), strict=True)]
        return parts[0] + parts[1] + parts[2] + parts[3]
    return (
        read(left, top) * (1 - across) * (1 - down)
        + read(left + 1, top) * across * (1 - down)
        + read(left, top + 1) * (1 - across) * down
        + read(left + 1, top + 1) * across * down
    )
