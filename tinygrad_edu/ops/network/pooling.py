"""Pooling over any number of dimensions: the maximum or the mean of windows, or of windows that cover the input evenly.

Both work dimension by dimension, by tables of the elements in each window: see `resampling`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...array.tensor import Tensor
from ..arrays import as_index
from ..binding import BOTH, NN, Sizes, by_dimension, public
from ..indexing.gather import put_along, take_along
from ..op import Op
from ..operands import need_float
from ..reductions.reduce import mean
from ..shapes.shape import reshape, squeeze, unsqueeze
from .convolution import as_tuple
from .resampling import Taps, resampler, take, turned, turned_back

# --- windows ----------------------------------------------------------------------------------------------------------


def _count(n, kernel, stride, padding, dilation, ceil_mode):
    """How many windows fit along a dimension. With `ceil_mode` the last may reach past the end, but starts inside."""
    reach = n + 2 * padding - dilation * (kernel - 1) - 1
    count = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= n + padding else count


class Windows(NamedTuple):
    """Along one dimension: each window's first element, the step to the next, and all (windows, taps); -1 is none."""

    first: np.ndarray
    step: int
    places: np.ndarray


@functools.lru_cache(maxsize=256)
def _strided(n, count, kernel, stride, padding, dilation):
    first = np.arange(count) * stride - padding
    at = first[:, None] + np.arange(kernel) * dilation
    return Windows(first, dilation, np.where((at >= 0) & (at < n), at, -1))


@functools.lru_cache(maxsize=256)
def _evenly(n, m):
    """m windows that cover n evenly: window i covers ⌊i·n/m⌋ to ⌈(i + 1)·n/m⌉."""
    first, end = np.arange(m) * n // m, -(-(np.arange(m) + 1) * n // m)
    at = first[:, None] + np.arange((end - first).max(initial=1))
    return Windows(first, 1, np.where(at < end[:, None], at, -1))


def _checked(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode):
    """Kernel, stride (by default the kernel), padding, dilation and number of windows along each dimension."""
    sizes = input.shape[-dims:]
    if input.ndim not in (dims + 1, dims + 2) or 0 in input.shape[-dims - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got: {list(input.shape)}"
        )
    is_given = stride is not None and stride != ()
    kernel, stride, padding, dilation = (
        as_tuple(x, dims) for x in (kernel_size, stride if is_given else kernel_size, padding, dilation)
    )
    for what, numbers in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(numbers) < 1:
            raise RuntimeError(f"{name}: {what} must be greater than zero, but got {numbers}")
    for p, k in zip(padding, kernel, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > k // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p} and kernel_size={k}"
            )
    counts = [_count(*along, ceil_mode) for along in zip(sizes, kernel, stride, padding, dilation, strict=True)]
    if min(counts) < 1:
        shown = ["x".join(map(str, x)) for x in (input.shape[-dims - 1 :], (input.shape[-dims - 1], *counts))]
        raise RuntimeError(
            f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
        )
    return list(zip(sizes, counts, kernel, stride, padding, dilation, strict=True))


def _output_size(name, dims, input, output_size):
    """The sizes of adaptive pooling, where None keeps a size."""
    if input.ndim not in (dims + 1, dims + 2) or 0 in input.shape[-dims:]:
        raise (ValueError if 1 < dims >= input.ndim else RuntimeError)(
            f"{name}: Expected {dims + 1}D or {dims + 2}D tensor with non-zero size for non-batch dimensions, but got: "
            f"{list(input.shape)}"
        )
    need_float(input._data, name)
    sizes = (None,) * dims if output_size is None else as_tuple(output_size, dims)
    if len(sizes) != dims or min(m or 0 for m in sizes) < 0:
        raise RuntimeError(f"{name}: output_size must be {dims} numbers that are not negative, but got {sizes}")
    return tuple(n if m is None else int(m) for n, m in zip(input.shape[-dims:], sizes, strict=True))


# --- maximum ----------------------------------------------------------------------------------------------------------


class MaxPool(Op):
    """The maximum of each window, and its row-major position. `windows` has those of each of the last dimensions."""

    non_differentiable = (1,)

    def forward(self, *, windows):
        sizes, leading = self.shape[-len(windows) :], self.shape[: -len(windows)]
        best, start = turned(self, len(windows))
        # Of several nan, which equal nothing, PyTorch chooses the last.
        has_nan = self.dtype.kind == "f" and np.isnan(self).any()
        number = math.prod(w.places.shape[1] for w in windows)
        winner = np.zeros(best.shape, np.uint8 if number < 2**8 else np.uint16 if number < 2**16 else np.int64)
        number = 1
        for axis, window in reversed(list(enumerate(windows, start))):
            best, winner = _largest(best, axis, window.places, winner, number, has_nan)
            number *= window.places.shape[1]
        if start == 0 < len(leading):
            best, winner = turned_back(best, leading), turned_back(winner, leading)
        # Positions in row-major order: of the first element of each window, and from there to the others.
        steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        along = list(zip(windows, steps, strict=True))
        first = functools.reduce(np.add.outer, [w.first * step for w, step in along])
        others = functools.reduce(np.add.outer, [np.arange(w.places.shape[1]) * w.step * step for w, step in along])
        best = best.copy() if np.may_share_memory(best, self) else np.ascontiguousarray(best)
        return best, as_index(np.take(others.reshape(-1), winner) + first)

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, result1, windows):
        sizes, leading = tuple(self.shape), tuple(self.shape[: len(self.shape) - len(windows)])
        flat = (*leading, math.prod(grad[0].shape[len(leading) :]))
        total = (*leading, math.prod(sizes[len(leading) :]))
        return reshape(put_along(reshape(grad[0], flat), total, len(leading), reshape(result1, flat)), sizes)

    def jvp(tangent, result1, windows):
        leading, sizes = tuple(tangent.shape[: len(tangent.shape) - len(windows)]), tuple(result1.shape)
        rows = [reshape(x, (*leading, math.prod(x.shape[len(leading) :]))) for x in (tangent, result1)]
        return reshape(take_along(rows[0], len(leading), rows[1]), sizes), None


def _largest(array, axis, places, inner, number, has_nan):
    """The largest element of each window along `axis`, and its row-major number among all elements of the window.
    `inner` has the numbers that the dimensions behind give to the elements of `array`: they are less than `number`."""
    if (places < 0).any():  # -1 refers to a lowest number that is appended
        lowest = -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        edge = np.full((*array.shape[:axis], 1, *array.shape[axis + 1 :]), lowest, array.dtype)
        array = np.concatenate([array, edge], axis)
    # This number may stand in the array too, and must never be chosen: a window starts with its first element.
    start = (places >= 0).argmax(1)
    first = places[np.arange(len(places)), start]
    best, kind = take(array, first, axis), inner.dtype.type
    winner = take(inner, first, axis) + (start * number).astype(kind).reshape(-1, *(1,) * (array.ndim - axis - 1))
    for tap in range(1, places.shape[1]):
        value = take(array, places[:, tap], axis)
        better = value > best
        if has_nan:
            better |= np.isnan(value)
        # Later elements have larger numbers.
        winner = np.maximum(winner, (take(inner, places[:, tap], axis) + kind(tap * number)) * better)
        best = np.maximum(best, value)
    return best, winner


_MAXIMA = {
    (kind, dims): type(f"{kind}{dims}D", (MaxPool,), {"forward": MaxPool.forward}, name=name.format(dims))
    for kind, name in (
        ("MaxPool", "MaxPool{}DWithIndicesBackward0"),
        ("AdaptiveMaxPool", "AdaptiveMaxPool{}DBackward0"),
    )
    for dims in (2, 3)
}


def _max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    if dims == 1:
        need_float(input._data, "max_pool1d_impl")
    along = _checked(f"max_pool{dims}d", dims, input, kernel_size, stride, padding, dilation, ceil_mode)
    windows = [_strided(*settings) for settings in along]
    if any((w.places < 0).all(1).any() for w in windows):
        raise RuntimeError(
            f"max_pool{dims}d: a window lies in the padding alone. Choose a smaller padding or dilation."
        )
    return _maxima("MaxPool", input, windows, return_indices)


def _adaptive_max_pool(dims, input, output_size, return_indices):
    sizes = _output_size(f"adaptive_max_pool{dims}d", dims, input, output_size)
    windows = [_evenly(n, m) for n, m in zip(input.shape[-dims:], sizes, strict=True)]
    return _maxima("AdaptiveMaxPool", input, windows, return_indices)


def _maxima(kind, input, windows, return_indices):
    if len(windows) == 1:  # as PyTorch: a sequence is an image of one row
        found = _MAXIMA[kind, 2].apply(unsqueeze(input, -2), windows=(_evenly(1, 1), *windows))
        values, places = (squeeze(x, -2) for x in found)
    else:
        values, places = _MAXIMA[kind, len(windows)].apply(input, windows=tuple(windows))
    return (values, places) if return_indices else values


def _max_pool_of(n):
    def call(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The maximum of each window of {what} (N, C, {sizes}). Optionally also returns the positions.

        `stride` defaults to the window's size.

        >>> T.nn.functional.max_pool{n}d(T.arange({count}).reshape(1, {twos}), 2).item()
        {last}
        """
        return _max_pool(n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    return call


def _adaptive_max_pool_of(n):
    def call(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        """The maxima of `output_size` windows that cover {what} evenly."""
        return _adaptive_max_pool(n, input, output_size, return_indices)

    return call


max_pool1d, max_pool2d, max_pool3d = by_dimension("max_pool{n}d", _max_pool_of, BOTH)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = by_dimension(
    "adaptive_max_pool{n}d", _adaptive_max_pool_of, NN
)


# --- mean -------------------------------------------------------------------------------------------------------------

_MEANS = {
    (kind, dims): resampler(f"{kind}{dims}D", keeps_input=True)
    for kind in ("AvgPool", "AdaptiveAvgPool")
    for dims in (2, 3)
}


def _avg_pool(dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    ways = []
    for n, c, k, s, p, d in _checked(f"avg_pool{dims}d", dims, input, kernel_size, stride, padding, 1, ceil_mode):
        first, _, places = _strided(n, c, k, s, p, d)
        if dims == 3 and n < k:  # there PyTorch counts without the padding
            raise RuntimeError(f"input image smaller than kernel size: {n} < {k}")
        # What a window counts: nothing beyond the padding, and the padding only on request.
        counts = np.minimum(k, n + p - first) if count_include_pad else (places >= 0).sum(1)
        if divisor_override:
            counts = np.full(c, 1 if ways else divisor_override)
        ways.append(Taps(places, divisors=counts))
    if input._data.dtype != np.int64:
        need_float(input._data, "avg_pool2d" if dims < 3 else "avg_pool3d_out_frame")
    return _means("AvgPool", input, ways)


def _adaptive_avg_pool(dims, input, output_size):
    sizes = _output_size(f"adaptive_avg_pool{dims}d", dims, input, output_size)
    if dims > 1 and sizes == (1,) * dims:
        return mean(input, tuple(range(-1, -dims - 1, -1)), True)
    tables = [_evenly(n, m).places for n, m in zip(input.shape[-dims:], sizes, strict=True)]
    return _means("AdaptiveAvgPool", input, [Taps(places, divisors=(places >= 0).sum(1)) for places in tables])


def _means(kind, input, ways):
    if len(ways) == 1:  # as PyTorch: a sequence is an image of one row
        row = Taps(np.zeros((1, 1), np.int64))
        return squeeze(_MEANS[kind, 2].apply(unsqueeze(input, -2), ways=(row, *ways)), -2)
    return _MEANS[kind, len(ways)].apply(input, ways=tuple(ways))


@public(where=BOTH)
def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of sequences (N, C, L). `stride` defaults to the window's size."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@public(where=NN)
def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of images (N, C, H, W)."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@public(where=NN)
def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of volumes (N, C, D, H, W)."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_avg_pool_of(n):
    def call(input: Tensor, output_size: Any) -> Tensor:
        """The means of `output_size` windows that cover {what} evenly. None keeps a size."""
        return _adaptive_avg_pool(n, input, output_size)

    return call


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = by_dimension(
    "adaptive_avg_pool{n}d", _adaptive_avg_pool_of, NN
)
