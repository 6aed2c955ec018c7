"""Max and average pooling over images and sequences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import by_channels, row_major
from ...ops.binding import functions, nn_functions, public
from ...ops.indexing.gather import put_along, take_along
from ...ops.op import Op, linear
from ...ops.operands import need_float
from ...ops.reductions.reduce import mean
from ...ops.shapes.shape import reshape, squeeze, unsqueeze
from .convolution import as_tuple

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


def _count(n, kernel, stride, padding, dilation, ceil_mode):
    """How many windows fit along a dimension. With `ceil_mode` the last may reach past the end, but must start inside."""
    reach = n + 2 * padding - dilation * (kernel - 1) - 1
    count = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    return count


def _sizes(sizes, kernel_size, stride, padding, dilation, ceil_mode):
    return tuple(
        _count(n, k, s, p, d, ceil_mode)
        for n, k, s, p, d in zip(sizes[-2:], kernel_size, stride, padding, dilation, strict=True)
    )


def _room(array, value, kernel_size, stride, padding, dilation, counts):
    """`array` padded with `value`, so that all windows fit."""
    height, width = (
        max(n + 2 * p, (c - 1) * s + d * (k - 1) + 1)
        for n, k, s, p, d, c in zip(array.shape[-2:], kernel_size, stride, padding, dilation, counts, strict=True)
    )
    if (height, width) == array.shape[-2:]:
        return array
    out = np.full((*array.shape[:-2], height, width), value, array.dtype)
    top, left = padding
    out[..., top : top + array.shape[-2], left : left + array.shape[-1]] = array
    return out


def _part(row, column, counts, stride, dilation=(1, 1)):
    """The elements at (row, column) of each window, for all output positions."""
    return (
        ...,
        slice(row * dilation[0], row * dilation[0] + (counts[0] - 1) * stride[0] + 1, stride[0]),
        slice(column * dilation[1], column * dilation[1] + (counts[1] - 1) * stride[1] + 1, stride[1]),
    )


class MaxPool2DWithIndices(Op):
    """The maximum of each window, and its position in the image (row · width + column)."""

    non_differentiable = (1,)

    def forward(self, *, kernel_size, stride, padding, dilation, ceil_mode):
        counts = _sizes(self.shape, kernel_size, stride, padding, dilation, ceil_mode)
        room = _room(self, -np.inf, kernel_size, stride, padding, dilation, counts)
        offsets = list(itertools.product(*map(range, kernel_size)))
        window = np.stack([room[_part(i, j, counts, stride, dilation)] for i, j in offsets])
        best = window.max(axis=0)
        # Find the first element that equals the maximum, as a maximum of decreasing numbers: argmax along this axis takes ten
        # times as long. Of several nan, which equal nothing, PyTorch chooses the last.
        number = np.arange(len(offsets), dtype=np.int16).reshape(-1, *(1,) * best.ndim)
        largest = window == best
        if room is not self:
            # -inf in the image equals the padding, which must never be chosen.
            inside = _room(np.ones(self.shape[-2:], bool), False, kernel_size, stride, padding, dilation, counts)
            inside = np.stack([inside[_part(i, j, counts, stride, dilation)] for i, j in offsets])
            largest &= inside.reshape(-1, *(1,) * (best.ndim - 2), *counts)
        winner = len(offsets) - 1 - (largest * (len(offsets) - 1 - number)).max(axis=0)
        nan = np.isnan(best)
        if nan.any():
            winner[nan] = (np.isnan(window) * number).max(axis=0)[nan]
        width = self.shape[-1]
        rows = np.arange(counts[0])[:, None] * stride[0] - padding[0]
        columns = np.arange(counts[1]) * stride[1] - padding[1]
        into = np.array([i * dilation[0] * width + j * dilation[1] for i, j in offsets])
        return best, into[winner] + (rows * width + columns)

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, result1):
        grad, sizes = grad[0], tuple(self.shape)
        *leading, height, width = sizes
        flat = (*leading, math.prod(grad.shape[-2:]))
        spread = put_along(reshape(grad, flat), (*leading, height * width), len(leading), reshape(result1, flat))
        return reshape(spread, sizes)

    def jvp(tangent, result1):
        leading = tuple(tangent.shape[:-2])
        flat = take_along(reshape(tangent, (*leading, -1)), len(leading), reshape(result1, (*leading, -1)))
        return reshape(flat, tuple(result1.shape)), None


class AvgPool2D(Op):
    """The mean of each window."""

    def forward(self, *, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        counts = _sizes(self.shape, kernel_size, stride, padding, (1, 1), ceil_mode)
        room = _room(self, 0, kernel_size, stride, padding, (1, 1), counts)
        total = np.zeros((*self.shape[:-2], *counts), self.dtype)
        for i, j in itertools.product(*map(range, kernel_size)):
            total += room[_part(i, j, counts, stride)]
        divisor = _divisor(
            self.shape, counts, kernel_size, stride, padding, count_include_pad, divisor_override, self.dtype
        )
        # For integers the mean is truncated.
        return by_channels(np.divide(total, divisor, out=total, casting="unsafe"), self)

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        settings = {
            "ceil_mode": ceil_mode,
            "count_include_pad": count_include_pad,
            "divisor_override": divisor_override,
        }
        return AvgPool2DBack.apply(
            grad, size=tuple(self.shape), kernel_size=kernel_size, stride=stride, padding=padding, **settings
        )

    jvp = linear


class AvgPool2DBack(Op, name="AvgPool2DBackwardBackward0"):
    """Spread each value evenly over its window: the transpose of AvgPool2D."""

    def forward(self, *, size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        counts = self.shape[-2:]
        share = self / _divisor(
            size, counts, kernel_size, stride, padding, count_include_pad, divisor_override, self.dtype
        )
        room = _room(np.zeros(size, self.dtype), 0, kernel_size, stride, padding, (1, 1), counts)
        for i, j in itertools.product(*map(range, kernel_size)):
            room[_part(i, j, counts, stride)] += share
        top, left = padding
        return room[..., top : top + size[-2], left : left + size[-1]].copy()

    def grad_self(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        settings = {
            "ceil_mode": ceil_mode,
            "count_include_pad": count_include_pad,
            "divisor_override": divisor_override,
        }
        return AvgPool2D.apply(grad, kernel_size=kernel_size, stride=stride, padding=padding, **settings)

    jvp = linear


def _divisor(size, counts, kernel_size, stride, padding, count_include_pad, divisor_override, dtype):
    """How many elements each window counts: none beyond the padding; those of the padding only on request."""
    if divisor_override:
        return dtype.type(divisor_override)
    along = []
    for n, c, k, s, p in zip(size[-2:], counts, kernel_size, stride, padding, strict=True):
        start = np.arange(c) * s - p
        end = np.minimum(start + k, n + p)
        along.append(end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0))
    return np.outer(*along).astype(dtype)


class AdaptiveAvgPool2D(Op):
    """Means of a given number of windows of nearly equal size, as a matrix product from each side."""

    def forward(self, *, output_size):
        need_float(self, "adaptive_avg_pool2d")
        rows, columns = (_averages(n, m, self.dtype) for n, m in zip(self.shape[-2:], output_size, strict=True))
        return row_major(by_channels(rows @ self @ columns.T, self), self)

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, output_size):
        kind = getattr(grad, "_data", grad).dtype
        rows, columns = (_averages(n, m, kind) for n, m in zip(tuple(self.shape)[-2:], output_size, strict=True))
        return AdaptiveBack.apply(grad, rows=rows, columns=columns)

    jvp = linear


class AdaptiveBack(Op, name="AdaptiveAvgPool2DBackwardBackward0"):
    """The transpose of AdaptiveAvgPool2D."""

    def forward(self, *, rows, columns):
        return rows.T @ self @ columns

    def grad_self(grad, rows, columns):
        return AdaptiveBack.apply(grad, rows=rows.T, columns=columns.T)

    jvp = linear


def _averages(n, m, dtype):
    """The matrix that maps n values to m means. Window i covers ⌊i·n/m⌋ to ⌈(i + 1)·n/m⌉."""
    start, end = np.arange(m) * n // m, -(-(np.arange(m) + 1) * n // m)
    inside = (np.arange(n) >= start[:, None]) & (np.arange(n) < end[:, None])
    return (inside / inside.sum(axis=1, keepdims=True)).astype(dtype)


def _window_arguments(name, input, kernel_size, stride, padding):
    if input.ndim not in (3, 4):
        raise RuntimeError(f"{name}: Expected 3D or 4D input (batch of images), but got {list(input.shape)}")
    return window_of(name, 2, kernel_size, stride, padding)


def window_of(name, dims, kernel_size, stride, padding):
    """The sizes of the window, its stride (its size by default) and the padding, along each of `dims` dimensions."""
    kernel, padding = as_tuple(kernel_size, dims), as_tuple(padding, dims)
    stride = kernel if stride is None or (isinstance(stride, tuple) and not stride) else as_tuple(stride, dims)
    for s in stride:
        if s < 1:
            raise RuntimeError(f"{name}: stride must be greater than zero, but got {s}")
    for p, k in zip(padding, kernel, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > k // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation=1"
            )
    return kernel, stride, padding


def _need_sequences(name, input):
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{name}: Expected 2D or 3D (batch mode) tensor for input, but got: {list(input.shape)}")


def _check_result(input, sizes):
    if any(n < 1 for n in sizes):
        raise RuntimeError(
            f"Given input size: {tuple(input.shape[-3:])}. Calculated output size: {(input.shape[-3], *sizes)}. Output size "
            "is too small"
        )


@public(where=_BOTH, method=False)
def max_pool2d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window. `stride` defaults to the window's size. Optionally also returns the positions.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.max_pool2d(T.tensor([[[1.0, 2.0], [3.0, 6.0]]]), 2)
    tensor([[[6.]]])
    """
    kernel, stride, padding = _window_arguments("max_pool2d", input, kernel_size, stride, padding)
    dilation = as_tuple(dilation, 2)
    if min(dilation) < 1:
        raise RuntimeError(f"max_pool2d: dilation must be greater than zero, but got {dilation}")
    _check_result(input, _sizes(input.shape, kernel, stride, padding, dilation, ceil_mode))
    values, indices = MaxPool2DWithIndices.apply(
        input, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )
    return (values, indices) if return_indices else values


@public(where=_BOTH, method=False)
def max_pool1d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """As max_pool2d, for a batch of sequences.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.max_pool1d(T.tensor([[1.0, 3.0, 5.0, 4.0]]), 2)
    tensor([[3., 5.]])
    """
    _need_sequences("max_pool1d", input)
    if 0 in input.shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input.shape)}"
        )
    need_float(input._data, "max_pool1d_impl")
    as_row = [x if x is None else (1, *as_tuple(x, 1)) for x in (kernel_size, stride, dilation)]
    result = max_pool2d(
        unsqueeze(input, -2), as_row[0], as_row[1], (0, *as_tuple(padding, 1)), as_row[2], ceil_mode, return_indices
    )
    return tuple(squeeze(x, -2) for x in result) if return_indices else squeeze(result, -2)


@public(where=_NN, method=False)
def avg_pool2d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override=None,
) -> Tensor:
    """The mean of each window. `stride` defaults to the window's size.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.avg_pool2d(T.tensor([[[1.0, 2.0], [3.0, 6.0]]]), 2)
    tensor([[[3.]]])
    """
    kernel, stride, padding = _window_arguments("avg_pool2d", input, kernel_size, stride, padding)
    _check_result(input, _sizes(input.shape, kernel, stride, padding, (1, 1), ceil_mode))
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    return AvgPool2D.apply(
        input, kernel_size=kernel, stride=stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )  # fmt: skip


@public(where=_BOTH, method=False)
def avg_pool1d(
    input: Tensor, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """As avg_pool2d, for a batch of sequences.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.avg_pool1d(T.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[2., 6.]])
    """
    _need_sequences("avg_pool1d", input)
    kernel, step = (x if x is None else (1, *as_tuple(x, 1)) for x in (kernel_size, stride))
    pooled = avg_pool2d(unsqueeze(input, -2), kernel, step, (0, *as_tuple(padding, 1)), ceil_mode, count_include_pad)
    return squeeze(pooled, -2)


@public(where=_NN, method=False)
def adaptive_avg_pool2d(input: Tensor, output_size) -> Tensor:
    """The means of `output_size` windows that cover each image evenly. None keeps a size.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.adaptive_avg_pool2d(T.ones(1, 3, 8, 8), 1).shape
    tinygrad_edu.Size([1, 3, 1, 1])
    """
    if input.ndim < 3:
        raise ValueError(f"Input dimension should be at least 3, but got {input.ndim}.")
    sizes = (
        (output_size,) * 2 if output_size is None or isinstance(output_size, int | np.integer) else tuple(output_size)
    )
    if len(sizes) != 2 or min(n or 0 for n in sizes) < 0:
        raise RuntimeError(f"adaptive_avg_pool2d: output_size must be 2 numbers that are not negative, but got {sizes}")
    sizes = tuple(n if m is None else m for n, m in zip(input.shape[-2:], sizes, strict=True))
    if sizes == (1, 1):
        return mean(input, (-1, -2), True)
    return AdaptiveAvgPool2D.apply(input, output_size=sizes)


@public(where=_BOTH, method=False)
def adaptive_avg_pool1d(input: Tensor, output_size) -> Tensor:
    """As adaptive_avg_pool2d, for a batch of sequences.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.adaptive_avg_pool1d(T.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[2., 6.]])
    """
    _need_sequences("adaptive_avg_pool1d", input)
    if len(as_tuple(output_size, 1)) != 1 or min(as_tuple(output_size, 1)) < 0:
        raise RuntimeError(
            f"adaptive_avg_pool1d: output_size must be one number that is not negative, but got {output_size}"
        )
    pooled = AdaptiveAvgPool2D.apply(unsqueeze(input, -2), output_size=(1, *as_tuple(output_size, 1)))
    return squeeze(pooled, -2)
