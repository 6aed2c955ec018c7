"""Normalization of groups, instances, lengths and neighbouring channels; dropout of channels."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import by_channels, row_major
from ...ops.binding import public
from ...ops.network.normalization import (
    _BOTH,
    _NN,
    _channels,
    _check_alike,
    _check_probability,
    _dropped,
    _last_axes,
    _normalized,
    _normalized_grad,
    _statistics,
    batch_norm,
)
from ...ops.op import Op
from ...ops.operands import need_float
from ...ops.pointwise.arithmetic import AddNumber
from ...ops.pointwise.powers import pow, rsqrt
from ...ops.reductions.norms import vector_norm
from ...ops.reductions.reduce import mean, sum
from ...ops.shapes.shape import expand_as, reshape, squeeze, unsqueeze
from .padding import pad


def _blocks(input, group):
    """The shape that brings the channels of a group together."""
    n, *sizes = input.shape
    return (n, group, math.prod(sizes) // group)


class NativeGroupNorm(Op):
    """Normalize by mean and variance over groups of channels."""

    mixes = True  # float16 beside float32: see `_check_alike`
    visible_outputs = 1

    def forward(input, weight, bias, *, group, eps):
        grouped = input.reshape(_blocks(input, group))
        centre, rstd, hat = _statistics(grouped, (2,), eps)
        out = hat.reshape(input.shape)
        per_channel = _channels(input)[1]
        if weight is not None:
            out *= weight.reshape(per_channel)
        if bias is not None:
            out += bias.reshape(per_channel)
        return by_channels(row_major(out), input), centre, rstd

    def gradients(grad, needs_input_grad, input, weight, group, eps, result1, result2):
        grad = grad[0] if isinstance(grad, list) else grad
        sizes = tuple(input.shape)
        axes, per_channel = _channels(input)
        blocks = _blocks(input, group)
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

    def jvp(tangent, weight_tangent, bias_tangent, input, weight, group, eps, result1, result2):
        sizes, per_channel = tuple(input.shape), _channels(input)[1]
        blocks = _blocks(input, group)
        hat, rstd = _normalized(reshape(input, blocks), (2,), eps, result1, result2)
        moved = reshape(_normalized_grad(reshape(tangent, blocks), hat, rstd, (2,)), sizes)
        if weight is not None:
            moved = moved * reshape(weight, per_channel) + reshape(hat, sizes) * reshape(weight_tangent, per_channel)
        return moved if bias_tangent is None else moved + reshape(bias_tangent, per_channel)


@public(where=_NN, method=False)
def instance_norm(
    input: Tensor,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample by its own mean and variance, then scale and shift.

    >>> import tinygrad_edu as T
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
    if use_input_stats and running_mean is not None:
        for kept, each in zip((running_mean, running_var), running, strict=True):
            if each is not None:
                kept._data[...] = each._data.reshape(n, channels).mean(axis=0)
    return reshape(out, tuple(input.shape))


@public(where=_NN, method=False)
def group_norm(input: Tensor, num_groups, weight=None, bias=None, eps: float = 1e-5) -> Tensor:
    """Normalize by mean and variance over groups of channels, then scale and shift each channel.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.group_norm(T.tensor([[1.0, 3.0, 2.0, 6.0]]), num_groups=2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    if num_groups == 0:
        raise ZeroDivisionError("integer division or modulo by zero: num_groups is 0")
    if input.shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (input.shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(t.shape)} and input of shape {list(input.shape)}"
            )
    _check_alike(input, weight, bias)
    need_float(input._data, "GroupNormKernelImpl")
    batch, channels, *places = input.shape
    if batch * (channels // num_groups) * math.prod(places) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(input.shape)}. A group of one value "
            "has no variance."
        )
    return NativeGroupNorm.apply(input, weight, bias, group=num_groups, eps=eps)[0]


@public(where=_BOTH, method=False)
def rms_norm(input: Tensor, normalized_shape, weight=None, eps=None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, then scale.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.rms_norm(T.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    axes = _last_axes(input, normalized_shape, weight)
    # Squares overflow float16 easily.
    wide = input.float() if input._data.dtype.itemsize == 2 else input
    if eps is None:
        eps = float(np.finfo(wide._data.dtype).eps)
    out = wide * rsqrt(AddNumber.apply(mean(wide**2, axes, True), other=eps))
    return (out if weight is None else out * weight)._to_numpy_dtype(input._data.dtype)


@public(where=_NN, method=False)
def normalize(input: Tensor, p: float = 2.0, dim=1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along `dim`: input / max(‖input‖, eps).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.normalize(T.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return input / expand_as(vector_norm(input, p, dim, True).clamp_min(eps), input)


def channels(input):
    """An array of one element a channel, in whose order PyTorch draws."""
    return np.empty((*input._data.shape[:2], *(1,) * (input.ndim - 2)), input._data.dtype)


def dropped_channels(input, p, training, inplace, name, ndim):
    """dropout1d or dropout3d, which take a single example too."""
    if input.ndim not in (ndim - 1, ndim):
        raise RuntimeError(
            f"{name}: Expected {ndim - 1}D or {ndim}D input, but received a {input.ndim}D input. Give (N, C, …), or one "
            "example, (C, …)."
        )
    if input.ndim == ndim:
        return dropout2d(input, p, training, inplace)
    return squeeze(dropout2d(unsqueeze(input, 0), p, training, inplace), 0)


@public(where=_NN, method=False)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels, for sequences (N, C, L).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.dropout1d(T.ones(1, 2, 3), p=1.0)
    tensor([[[0., 0., 0.],
             [0., 0., 0.]]])
    """
    return dropped_channels(input, p, training, inplace, "dropout1d", 3)


@public(where=_NN, method=False)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels, for images (N, C, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.dropout2d(T.ones(1, 1, 1, 2), p=0.0)
    tensor([[[[1., 1.]]]])
    """
    _check_probability(p)
    if not training or p == 0:
        return input
    return _dropped(input, channels(input), p, inplace)


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
