"""Normalization (batch, instance, group, layer, RMS, lengths), and dropout of elements or channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.promotion import ones, sum_over
from ...array.tensor import Tensor
from ..arrays import row_major
from ..binding import BOTH, NN, public
from ..op import Op
from ..operands import need_float
from ..pointwise.arithmetic import AddNumber
from ..pointwise.powers import rsqrt, square
from ..reductions.norms import vector_norm
from ..reductions.reduce import mean, sum
from ..shapes.shape import expand_as, reshape


def _normalized_grad(grad, hat, rstd, axes):
    """The gradient of hat = (x - mean)·rstd with respect to x. mean and rstd are taken over `axes`."""
    return (grad - mean(grad, axes, True) - hat * mean(grad * hat, axes, True)) * rstd


def _normalized_grads_of_rows(grad, hat, rstd, weight):
    """The gradients of weight·hat (each row by itself), of the weight and of a bias. Overwrites `hat`. It works in
    place and sums by matrix products: for 128 rows of 32 it takes 20 us, the formula above 65."""
    n = len(weight)
    every_row = ones(len(grad), grad.dtype)
    moment = grad * hat
    to_weight, to_bias = every_row @ moment, every_row @ grad
    mean_grad, mean_moment = grad @ weight, moment @ weight
    mean_grad /= n
    mean_moment /= n
    to_input = np.multiply(grad, weight, out=moment)
    to_input -= mean_grad[:, None]
    hat *= mean_moment[:, None]
    to_input -= hat
    to_input *= rstd
    return to_input, to_weight, to_bias


def _in_rows(array, n):
    """True if rows of `n` may be summed by matrix products: float16 is slow that way, and long rows round more."""
    return type(array) is np.ndarray and array.dtype.char in "fd" and 0 < n <= 4096 and array.size > 0


def _statistics(array, axes, eps):
    """The mean over `axes`, the reciprocal standard deviation, and the centered array."""
    sizes = tuple([1 if axis in axes else size for axis, size in enumerate(array.shape)])
    if not array.size:
        # An empty batch has no statistics.
        none = np.full(sizes, np.nan, array.dtype)
        return none, none, array.copy()
    n = array.size // math.prod(sizes)
    if array.dtype == np.float16:  # its squares overflow easily
        return tuple(x.astype(np.float16) for x in _statistics(array.astype(np.float32), axes, eps))
    centre = sum_over(array, axes).reshape(sizes)
    centre /= n
    hat = array - centre
    rstd = sum_over(np.square(hat), axes).reshape(sizes)
    _silence(array, axes, centre, rstd, hat)
    _inverse_root(rstd, n, eps)
    hat *= rstd
    return centre, rstd, hat


def _silence(array, axes, centre, squares, hat):
    """Where all elements are equal, their mean is the element: take out the rounding, which would be scaled up."""
    if (squares <= np.square(centre) * 1e-12).any():
        low = array.min(axes, keepdims=True)
        equal = low == array.max(axes, keepdims=True)
        for part, value in ((centre, low), (squares, 0), (hat, 0)):
            np.copyto(part, value, where=equal)


def _inverse_root(squares, n, eps):
    """1/√(squares/n + eps), in place."""
    squares /= n
    squares += eps
    np.sqrt(squares, squares)
    np.reciprocal(squares, squares)


def _statistics_of_rows(rows, eps):
    """The same for each row of a matrix: results of shape (rows, 1), (rows, 1) and (rows, n)."""
    n = rows.shape[1]
    centre = rows @ ones(n, rows.dtype)
    centre /= n
    centre = centre[:, None]
    hat = rows - centre
    rstd = np.vecdot(hat, hat)[:, None]
    _silence(rows, 1, centre, rstd, hat)
    _inverse_root(rstd, n, eps)
    hat *= rstd
    return centre, rstd, hat


def _normalized(value, axes, eps, centre, rstd):
    """(value - centre)·rstd, and rstd: from the saved statistics, or recomputed and recorded under `create_graph`."""
    if isinstance(value, np.ndarray):
        hat = value - centre
        hat *= rstd
        return hat, rstd
    centred = value - mean(value, axes, True)
    rstd = rsqrt(mean(square(centred), axes, True) + eps)
    return centred * rstd, rstd


class NativeBatchNorm(Op):
    """Normalize each channel (dimension 1) by its statistics over the batch, or by the running ones."""

    mixes = True  # float16 beside float32: see `_check_alike`
    visible_outputs = 1
    without_gradient = ("running_mean", "running_var")

    def forward(input, weight, bias, *, running_mean, running_var, training, momentum, eps):
        axes, per_channel = _channels(input)
        if training:
            centre, rstd, out = _statistics(input, axes, eps)
            _update(running_mean, running_var, input, centre, rstd, momentum, eps, axes)
        else:
            centre = running_mean.reshape(per_channel)
            out, rstd = _by_running(input, running_mean, running_var, per_channel, eps)
        out = _scaled(out, weight, bias, per_channel)
        return row_major(out.astype(input.dtype, copy=False)), centre.reshape(-1), rstd.reshape(-1)

    def gradients(grad, needs_input_grad, input, weight, running_mean, running_var, training, eps, result1, result2):
        grad = grad[0] if isinstance(grad, list) else grad
        axes, per_channel = _channels(input)
        if training:
            centre, rstd = (reshape(x, per_channel) for x in (result1, result2))
            hat, rstd = _normalized(input, axes, eps, centre, rstd)
        else:
            hat, rstd = _by_running(input, running_mean, running_var, per_channel, eps)
        are_arrays = isinstance(hat, np.ndarray) and isinstance(grad, np.ndarray)
        total = sum_over if are_arrays else sum
        to_weight, to_bias = total(grad * hat, axes), total(grad, axes)
        to_input = None
        if needs_input_grad[0]:
            scale = rstd if weight is None else rstd * reshape(weight, per_channel)
            if training:
                # As _normalized_grad, but the means are already known, because the weight is constant along these axes.
                n = math.prod(input.shape[axis] for axis in axes)
                mean_grad, mean_moment = (reshape(x / n, per_channel) for x in (to_bias, to_weight))
                if are_arrays:  # the products and sums below, in the memory of `hat`, which was made here
                    hat *= mean_moment
                    to_input = grad - mean_grad
                    to_input -= hat
                    to_input *= scale
                else:
                    to_input = (grad - mean_grad - hat * mean_moment) * scale
            else:
                to_input = grad * scale
        return [to_input, to_weight if needs_input_grad[1] else None, to_bias if needs_input_grad[2] else None]


def _scaled(out, weight, bias, sizes):
    """weight·out + bias, in place; one number per channel or feature."""
    if weight is not None:
        out *= weight.reshape(sizes)
    if bias is not None:
        out += bias.reshape(sizes)
    return out


def _channels(input):
    """The axes of a channel's statistics, and the shape that broadcasts one number per channel."""
    n = len(input.shape)
    return (0, *range(2, n)), (1, input.shape[1], *(1,) * (n - 2))


def _by_running(input, running_mean, running_var, per_channel, eps):
    mean, var = (getattr(x, "_data", x).reshape(per_channel) for x in (running_mean, running_var))
    rstd = 1 / np.sqrt(var + eps)
    return (input - mean) * rstd, rstd


def _update(running_mean, running_var, input, centre, rstd, momentum, eps, axes):
    n = math.prod(input.shape[a] for a in axes)
    if running_mean is not None and n:
        variance = (1 / np.square(rstd) - eps) * (n / max(n - 1, 1))
        running_mean *= 1 - momentum
        running_mean += momentum * centre.reshape(-1)
        running_var *= 1 - momentum
        running_var += momentum * variance.reshape(-1)


class NativeLayerNorm(Op):
    """Normalize by mean and variance over the last dimensions."""

    mixes = True  # float16 beside float32: see `_check_alike`
    visible_outputs = 1

    def forward(input, weight, bias, *, normalized_shape, eps):
        axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
        n = math.prod(normalized_shape)
        if _in_rows(input, n):
            centre, rstd, out = _statistics_of_rows(input.reshape(-1, n), eps)
            sizes = (*input.shape[: axes[0]], *(1,) * len(axes))
            centre, rstd, out = centre.reshape(sizes), rstd.reshape(sizes), out.reshape(input.shape)
        else:
            centre, rstd, out = _statistics(input, axes, eps)
        return np.ascontiguousarray(_scaled(out, weight, bias, normalized_shape)), centre, rstd

    def gradients(grad, needs_input_grad, input, weight, normalized_shape, eps, result1, result2):
        grad = grad[0] if isinstance(grad, list) else grad
        n = math.prod(normalized_shape)
        if _in_rows(grad, n) and isinstance(input, np.ndarray):
            centre, rstd = result1.reshape(-1, 1), result2.reshape(-1, 1)
            hat, _ = _normalized(input.reshape(-1, n), (), eps, centre, rstd)
            each = ones(n, grad.dtype) if weight is None else weight.reshape(-1)
            grads = _normalized_grads_of_rows(grad.reshape(-1, n), hat, rstd, each)
            if len(normalized_shape) > 1:  # otherwise the shape is right, and a leaf can keep the arrays
                grads = (grads[0], *[g.reshape(normalized_shape) for g in grads[1:]])
            to_input, *others = [g if needed else None for g, needed in zip(grads, needs_input_grad, strict=True)]
            return [None if to_input is None else to_input.reshape(input.shape), *others]
        axes = tuple(range(-len(normalized_shape), 0))
        leading = tuple(range(len(input.shape) - len(normalized_shape)))
        hat, rstd = _normalized(input, axes, eps, result1, result2)
        to_input = to_weight = to_bias = None
        if needs_input_grad[0]:
            to_input = _normalized_grad(grad if weight is None else grad * weight, hat, rstd, axes)
        if needs_input_grad[1]:
            to_weight = sum(grad * hat, leading) if leading else grad * hat
        if needs_input_grad[2]:
            to_bias = sum(grad, leading) if leading else grad
        return [to_input, to_weight, to_bias]


class NativeGroupNorm(Op):
    """Normalize by mean and variance over groups of channels."""

    mixes = True  # float16 beside float32: see `_check_alike`
    visible_outputs = 1

    def forward(input, weight, bias, *, group, eps):
        blocks = np.asarray(input, order="C").reshape(_blocks(input, group))
        centre, rstd, hat = _statistics(blocks, (2,), eps)
        return _scaled(hat.reshape(input.shape), weight, bias, _channels(input)[1]), centre, rstd

    def gradients(grad, needs_input_grad, input, weight, group, eps, result1, result2):
        grad = grad[0] if isinstance(grad, list) else grad
        sizes, blocks = tuple(input.shape), _blocks(input, group)
        axes, per_channel = _channels(input)
        hat, rstd = _normalized(reshape(input, blocks), (2,), eps, result1, result2)
        to_input = to_weight = to_bias = None
        if needs_input_grad[0]:
            scaled = grad if weight is None else grad * reshape(weight, per_channel)
            to_input = reshape(_normalized_grad(reshape(scaled, blocks), hat, rstd, (2,)), sizes)
        if needs_input_grad[1]:
            to_weight = sum(grad * reshape(hat, sizes), axes)
        if needs_input_grad[2]:
            to_bias = sum(grad, axes)
        return [to_input, to_weight, to_bias]


def _blocks(input, group):
    """The shape that brings the channels of a group together."""
    n, *sizes = input.shape
    return (n, group, math.prod(sizes) // group)


# --- functions -------------------------------------------------------------------------------------------------------


def _check_alike(input, *parameters):
    """Refuse weights and running statistics of another dtype than the input, except float32 beside float16."""
    kind = input.value.dtype
    kinds = [x.value.dtype for x in parameters if x is not None and x.value.dtype != kind]
    if not kinds or (kind.itemsize == 2 and {np.dtype(np.float32)} == set(kinds)):
        return
    rule = "all inputs must share same" if kind == np.float64 else "expect parameter to have scalar type of Float, the"
    raise RuntimeError(
        f"mixed dtype (CPU): {rule} datatype. The input has {input.dtype}, the parameters have "
        f"{kinds[0]}. Convert the module: module.to({input.dtype})."
    )


@public(where=NN)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel by the batch's statistics (in training) or by the running ones, then scale and shift.

    >>> x = T.tensor([[1.0], [3.0]])
    >>> T.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training and math.prod(input.shape[:1] + input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if eps < 0 or (training and not eps):
        raise ValueError(
            f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}"
        )
    if input.ndim < 2:
        raise RuntimeError(f"expected at least 2D input (got {input.ndim}D input)")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    for name, t in {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}.items():
        if t is not None and t.numel() != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {t.numel()}")
        if t is not None and t.ndim != 1 and name.startswith("running"):
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {t.ndim}: {name} is a vector")
    need_float(input._data, "batch_norm")
    _check_alike(input, running_mean, running_var, weight, bias)
    settings = {"running_mean": running_mean, "running_var": running_var, "training": training}
    return NativeBatchNorm.apply(input, weight, bias, momentum=momentum, eps=eps, **settings)[0]


@public(where=NN)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample by its own mean and variance, then scale and shift.

    >>> T.nn.functional.instance_norm(T.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    n, channels = input.shape[:2]
    folded = reshape(input, (1, n * channels, *input.shape[2:]))
    # Each sample has its own statistics; the running ones take their mean.
    running = [None if x is None else x.repeat(n).to(input.dtype) for x in (running_mean, running_var)]
    weight, bias = (None if x is None else x.repeat(n) for x in (weight, bias))
    out = batch_norm(folded, *running, weight, bias, use_input_stats, momentum, eps)
    for kept, each in zip((running_mean, running_var), running, strict=True):
        if use_input_stats and kept is not None and each is not None:
            kept._data[...] = each._data.reshape(n, channels).mean(axis=0)
    return reshape(out, tuple(input.shape))


@public(where=NN)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize by mean and variance over groups of channels, then scale and shift each channel.

    >>> T.nn.functional.group_norm(T.tensor([[1.0, 3.0, 2.0, 6.0]]), num_groups=2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels, *places = input.shape
    if num_groups == 0:
        raise ZeroDivisionError("integer division or modulo by zero: num_groups is 0")
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(t.shape)} and input of shape {list(input.shape)}"
            )
    _check_alike(input, weight, bias)
    need_float(input._data, "GroupNormKernelImpl")
    if batch * (channels // num_groups) * math.prod(places) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(input.shape)}. A group of one "
            "value has no variance."
        )
    return NativeGroupNorm.apply(input, weight, bias, group=num_groups, eps=eps)[0]


@public(where=BOTH)
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize by mean and variance over the last dimensions, of shape `normalized_shape`, then scale and shift.

    >>> T.nn.functional.layer_norm(T.tensor([[1.0, 2.0, 3.0]]), (3,))
    tensor([[-1.2247,  0.0000,  1.2247]])
    """
    _last_axes(input, normalized_shape, weight, bias)
    _check_alike(input, weight, bias)
    need_float(input._data, "LayerNormKernelImpl")
    return NativeLayerNorm.apply(input, weight, bias, normalized_shape=tuple(normalized_shape), eps=eps)[0]


def _last_axes(input, normalized_shape, weight=None, bias=None):
    """The axes of the last dimensions, after checking that their sizes match `normalized_shape`."""
    sizes = tuple(normalized_shape)
    if not sizes:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != sizes:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} and "
                f"normalized_shape = {list(sizes)}"
            )
    if tuple(input.shape[-len(sizes) :]) != sizes:
        raise RuntimeError(
            f"Given normalized_shape={list(sizes)}, expected input with shape [*, {', '.join(map(str, sizes))}], but "
            f"got input of size{list(input.shape)}"
        )
    return tuple(range(-len(sizes), 0))


@public(where=BOTH)
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, then scale.

    >>> T.nn.functional.rms_norm(T.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    axes = _last_axes(input, normalized_shape, weight)
    need_float(input._data, "rms_norm")
    # Squares overflow float16 easily.
    wide = input.float() if input.value.dtype.itemsize == 2 else input
    if eps is None:
        eps = float(np.finfo(wide.value.dtype).eps)
    out = wide * rsqrt(AddNumber.apply(mean(wide**2, axes, True), other=eps))
    return (out if weight is None else out * weight)._to_numpy_dtype(input.value.dtype)


@public(where=NN)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along `dim`: input / max(‖input‖, eps)."""
    return input / expand_as(vector_norm(input, p, dim, True).clamp_min(eps), input)
