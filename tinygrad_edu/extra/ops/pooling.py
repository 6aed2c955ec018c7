"""Pooling of sequences, images and volumes: by maximum, mean and norm, in windows or evenly; and the way back."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...ops.arrays import by_channels, row_major
from ...ops.binding import functions, nn_functions, public
from ...ops.indexing.gather import put_along, take_along
from ...ops.op import Op, linear
from ...ops.operands import need_float
from ...ops.pointwise.arithmetic import abs
from ...ops.pointwise.powers import pow
from ...ops.reductions.reduce import mean
from ...ops.shapes.shape import reshape, squeeze, unsqueeze
from .convolution import as_tuple
from .resampling import told

_NN, _BOTH = (nn_functions,), (functions, nn_functions)

# --- windows -----------------------------------------------------------------------------------------------------------


def _count(n, kernel, stride, padding, dilation, ceil_mode):
    """How many windows fit along a dimension. With `ceil_mode` the last may reach past the end, but must start inside."""
    reach = n + 2 * padding - dilation * (kernel - 1) - 1
    count = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    return count


def _counts(sizes, kernel_size, stride, padding, dilation, ceil_mode):
    along = zip(sizes[-len(kernel_size) :], kernel_size, stride, padding, dilation, strict=True)
    return tuple([_count(n, k, s, p, d, ceil_mode) for n, k, s, p, d in along])


def _room(array, value, kernel_size, stride, padding, dilation, counts):
    """`array` padded with `value`, so that all windows fit."""
    inner = array.shape[-len(kernel_size) :]
    sizes = tuple(
        [
            max(n + 2 * p, (c - 1) * s + d * (k - 1) + 1)
            for n, k, s, p, d, c in zip(inner, kernel_size, stride, padding, dilation, counts, strict=True)
        ]
    )
    if sizes == inner:
        return array
    out = np.full((*array.shape[: -len(inner)], *sizes), value, array.dtype)
    out[_inside(inner, padding)] = array
    return out


def _inside(sizes, padding):
    """Where an array of these sizes lies in its padded form."""
    return (..., *[slice(p, p + n) for n, p in zip(sizes, padding, strict=True)])


def _part(offsets, counts, stride, dilation):
    """The elements at these offsets in each window, for all output positions."""
    along = zip(offsets, counts, stride, dilation, strict=True)
    return (..., *[slice(o * d, o * d + (c - 1) * s + 1, s) for o, c, s, d in along])


def _parts(array, kernel_size, counts, stride, dilation):
    return [array[_part(offsets, counts, stride, dilation)] for offsets in itertools.product(*map(range, kernel_size))]


def _put_back(grad, sizes, places, dims):
    """Zeros of these sizes, with a gradient at the places that a maximum was taken from."""
    leading = sizes[: len(sizes) - dims]
    flat = (*leading, math.prod(grad.shape[len(leading) :]))
    room = (*leading, math.prod(sizes[len(leading) :]))
    return reshape(put_along(reshape(grad, flat), room, len(leading), reshape(places, flat)), sizes)


def _taken(value, places, dims):
    """The elements of `value` at these places among its last dimensions."""
    leading = tuple(value.shape[: len(value.shape) - dims])
    sides = [reshape(x, (*leading, math.prod(x.shape[len(leading) :]))) for x in (value, places)]
    flat = take_along(sides[0], len(leading), sides[1])
    return reshape(flat, tuple(places.shape))


# --- maximum -----------------------------------------------------------------------------------------------------------


def _max_pool(dims):
    class MaxPool(Op, name=f"MaxPool{dims}DWithIndicesBackward0"):
        """The maximum of each window, and its position among the elements of the image."""

        non_differentiable = (1,)

        def forward(self, *, kernel_size, stride, padding, dilation, ceil_mode):
            return _largest(self, kernel_size, stride or kernel_size, padding, dilation, ceil_mode)

        # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
        def grad_self(grad, self, result1, *about):
            return _put_back(grad[0], tuple(self.shape), result1, dims)

        def jvp(tangent, result1):
            return _taken(tangent, result1, dims), None

        grad_self = told(
            grad_self, ("grad", "self", "result1", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
        )

    return MaxPool


MaxPool2D, MaxPool3D = map(_max_pool, (2, 3))


def _largest(array, kernel_size, stride, padding, dilation, ceil_mode):
    inner, where = array.shape[-len(kernel_size) :], (kernel_size, stride, padding, dilation)
    counts = _counts(array.shape, *where, ceil_mode)
    room = _room(array, -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min, *where, counts)
    window = np.stack(_parts(room, kernel_size, counts, stride, dilation))
    best, last = row_major(window.max(axis=0), array), len(window) - 1
    # Find the first element that equals the maximum, as a maximum of decreasing numbers: argmax along this axis takes ten
    # times as long. Of several nan, which equal nothing, PyTorch chooses the last.
    number = np.arange(last + 1, dtype=np.int16 if last < 2**15 else np.int64).reshape(-1, *(1,) * best.ndim)
    largest = window == best
    if room is not array:
        # The padding's number may stand in the image too, and the padding must never be chosen.
        inside = _room(np.ones(inner, bool), False, *where, counts)
        inside = np.stack(_parts(inside, kernel_size, counts, stride, dilation))
        largest &= inside.reshape(-1, *(1,) * (best.ndim - len(inner)), *counts)
    winner = last - (largest * (last - number)).max(axis=0)
    nan = np.isnan(best)
    if nan.any():
        winner[nan] = (np.isnan(window) * number).max(axis=0)[nan]
    # Positions in row-major order: of each window's first element, and from there to the others.
    steps = [math.prod(inner[d + 1 :]) for d in range(len(inner))]
    along = zip(counts, stride, padding, steps, strict=True)
    first = functools.reduce(np.add.outer, [(np.arange(c) * s - p) * step for c, s, p, step in along])
    each = [np.arange(k) * d * step for k, d, step in zip(kernel_size, dilation, steps, strict=True)]
    return best, row_major(functools.reduce(np.add.outer, each).reshape(-1)[winner] + first, array)


def _named(kind, dims, shown):
    class Largest(Op, name=f"{kind}{dims}DBackward0"):
        """The element of each window at position `_at` among the last dimensions, and that position."""

        non_differentiable = (1,)

        def forward(self, *, _at, **about):
            return _taken(self, _at, dims), _at

        # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
        def grad_self(grad, self, result1, *about):
            return _put_back(grad[0], tuple(self.shape), result1, dims)

        def jvp(tangent, result1):
            return _taken(tangent, result1, dims), None

        forward = told(forward, ("self",), (*shown, "_at"))
        grad_self = told(grad_self, ("grad", "self", "result1", *shown))

    return Largest


_OPS = {
    (kind, dims): _named(kind, dims, shown)
    for kind, shown in (("AdaptiveMaxPool", ()), ("FractionalMaxPool", ("kernel_size", "output_size")))
    for dims in (2, 3)
}


def _chosen(kind, input, windows, **about):
    """The maximum of each window, and its position. `windows` holds, for each dimension, the elements of each window (counts,
    size), padded with -1; with an extra first dimension each plane has its own windows."""
    dims = len(windows)
    array = input._data
    sizes, leading = array.shape[array.ndim - dims :], array.shape[: array.ndim - dims]
    flat = array.reshape(math.prod(leading), math.prod(sizes))
    counts = [w.shape[-2] for w in windows]
    at = np.zeros((1, *(1,) * (2 * dims)), np.int64)
    there = np.ones((1, *(1,) * (2 * dims)), bool)
    for d, (window, n) in enumerate(zip(windows, sizes, strict=True)):
        shape = [window.shape[0] if window.ndim == 3 else 1, *(1,) * (2 * dims)]
        shape[1 + d], shape[1 + dims + d] = window.shape[-2:]
        spread = window.reshape(shape)
        at, there = at * n + np.maximum(spread, 0), there & (spread >= 0)
    of_window = math.prod(w.shape[-1] for w in windows)
    at, there = (x.reshape(len(x), math.prod(counts), of_window) for x in np.broadcast_arrays(at, there))
    planes = np.arange(len(flat))[:, None, None]
    values = flat[planes, at]
    there = np.broadcast_to(there, values.shape)
    nan = there & (values != values)
    score = np.where(there & ~nan, values, -np.inf)
    # Of equal elements the first; nan before any number; of several nan the last: PyTorch's loop finds them so.
    winner = score.argmax(-1)
    winner = np.where(_at(there, winner), winner, there.argmax(-1))
    winner = np.where(nan.any(-1), values.shape[-1] - 1 - nan[..., ::-1].argmax(-1), winner)
    places = _at(np.broadcast_to(at, values.shape), winner)
    return _OPS[kind, dims].apply(input, _at=places.reshape(*leading, *counts), **about)


def _at(values, place):
    """The element of each row at its position."""
    return np.take_along_axis(values, place[..., None], -1)[..., 0]


def _arguments(name, input, kernel_size, stride, padding, dilation, ceil_mode):
    """The settings of an op that pools windows; a stride that is not given is the window's size, and () for the op."""
    dims = int(name[-2])
    if input.ndim not in (dims + 1, dims + 2):
        wanted = f"{dims + 1}D or {dims + 2}D (batch mode) tensor"
        raise RuntimeError(f"non-empty {wanted} expected for input, and {name} got {list(input.shape)}")
    if 0 in input.shape[input.ndim - dims - 1 :]:
        if dims == 2:
            raise RuntimeError(
                "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                f"{list(input.shape)}"
            )
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{list(input.shape)} and non-batch dimension 0 has length zero!"
        )
    kernel, padding, dilation = (as_tuple(x, dims) for x in (kernel_size, padding, dilation))
    given = () if stride is None or (isinstance(stride, tuple) and not stride) else as_tuple(stride, dims)
    for s in given or kernel:
        if s < 1:
            raise RuntimeError(f"{name}: stride must be greater than zero, but got {s}")
    for p, k in zip(padding, kernel, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > k // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation=1"
            )
    if min(dilation) < 1:
        raise RuntimeError(f"{name}: dilation must be greater than zero, but got {dilation}")
    counts = [max(n, 0) for n in _counts(input.shape, kernel, given or kernel, padding, dilation, ceil_mode)]
    if not all(counts):
        sizes = input.shape[-dims - 1 :]
        shown = ["x".join(map(str, x)) for x in (sizes, (sizes[0], *counts))]
        raise RuntimeError(
            f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
        )
    settings = {"kernel_size": kernel, "stride": given, "padding": padding, "ceil_mode": bool(ceil_mode)}
    return settings, dilation


def _maximum(name, op, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    settings, dilation = _arguments(name, input, kernel_size, stride, padding, dilation, ceil_mode)
    values, places = op.apply(input, dilation=dilation, **settings)
    return (values, places) if return_indices else values


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
    return _maximum("max_pool2d", MaxPool2D, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


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
    stride = kernel_size if stride is None else stride
    as_row = [(1, *as_tuple(x, 1)) for x in (kernel_size, stride, dilation)]
    result = max_pool2d(
        unsqueeze(input, -2), as_row[0], as_row[1], (0, *as_tuple(padding, 1)), as_row[2], ceil_mode, return_indices
    )
    return tuple(squeeze(x, -2) for x in result) if return_indices else squeeze(result, -2)


@public(where=_BOTH, method=False)
def max_pool3d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of volumes (N, C, D, H, W); with `return_indices` also its position.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.max_pool3d(T.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return _maximum("max_pool3d", MaxPool3D, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d_with_indices(*args: Any, **kwargs: Any) -> Any:
    """As `max_pool3d` with `return_indices=True`.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.max_pool3d_with_indices(T.arange(8.0).reshape(1, 2, 2, 2), 2)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    return max_pool3d(*args, **{**kwargs, "return_indices": True})


nn_functions["max_pool3d_with_indices"] = max_pool3d_with_indices


def _evenly(n, m):
    """The elements of m windows that cover n evenly: window i covers ⌊i·n/m⌋ to ⌈(i + 1)·n/m⌉."""
    start, end = np.arange(m) * n // m, -(-(np.arange(m) + 1) * n // m)
    at = start[:, None] + np.arange((end - start).max(initial=1))
    return np.where(at < end[:, None], at, -1)


def _adaptive_sizes(input, output_size, dims):
    sizes = (output_size,) * dims if output_size is None or isinstance(output_size, int) else tuple(output_size)
    return [n if m is None else m for n, m in zip(input.shape[-dims:], sizes, strict=True)]


@public(where=_BOTH, method=False)
def adaptive_max_pool1d(input: Tensor, output_size, return_indices: bool = False) -> Any:
    """The maxima of `output_size` windows that cover sequences evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.adaptive_max_pool1d(T.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[3., 7.]])
    """
    size = output_size if isinstance(output_size, int) else output_size[0]
    found = _adaptive_max(unsqueeze(input, -2), (1, size), 2)
    values, places = (squeeze(x, -2) for x in found)
    return (values, places) if return_indices else values


def _adaptive_max(input, output_size, dims):
    name = f"adaptive_max_pool{dims}d()"
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input.shape)}")
    if 0 in input.shape[1:]:
        raise RuntimeError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {input.shape.index(0, 1)} being empty"
        )
    need_float(input._data, f"adaptive_max_pool{max(dims, 2)}d")
    sizes = _adaptive_sizes(input, output_size, dims)
    windows = [_evenly(n, m) for n, m in zip(input.shape[-dims:], sizes, strict=True)]
    return _chosen("AdaptiveMaxPool", input, windows)


@public(where=_NN, method=False)
def adaptive_max_pool2d(input: Tensor, output_size, return_indices: bool = False) -> Any:
    """The maxima of `output_size` windows that cover images evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.adaptive_max_pool2d(T.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    values, places = _adaptive_max(input, output_size, 2)
    return (values, places) if return_indices else values


@public(where=_NN, method=False)
def adaptive_max_pool3d(input: Tensor, output_size, return_indices: bool = False) -> Any:
    """The maxima of `output_size` windows that cover volumes evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.adaptive_max_pool3d(T.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    values, places = _adaptive_max(input, output_size, 3)
    return (values, places) if return_indices else values


def _check_samples(samples, dtype, batch, planes, dims):
    if samples.dtype != dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != planes:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")


def _fractional(name, dims, input, kernel_size, output_size, output_ratio, return_indices, samples):
    """Graham, "Fractional max-pooling" (2014), arXiv:1412.6071: windows with random strides, drawn for each channel."""
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input.shape)}")
    for d in range(-dims - 1, 0):
        if not input.shape[d]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)} "
                f"with dimension {input.ndim + d} being empty."
            )
    sizes = input.shape[-dims:]
    if output_size is None:
        ratios = (output_ratio,) * dims if isinstance(output_ratio, int | float) else tuple(output_ratio)
        counts = [int(n * r) for n, r in zip(sizes, ratios, strict=True)]
    else:
        counts = as_tuple(output_size, dims)
    kernel = as_tuple(kernel_size, dims)
    planes = input.shape[-dims - 1]
    batch = input.shape[0] if input.ndim == dims + 2 else 1
    for what, n, m, k in zip(("time", "height", "width")[3 - dims :], sizes, counts, kernel, strict=True):
        if m + k - 1 > n - (dims == 3):
            raise RuntimeError(
                f"{name}{'_out' if dims == 3 else ''}(): pool {what} {k} too large relative to input {what} {n}"
            )
    if samples is None:
        samples = functions["rand"](batch, planes, dims, dtype=input.dtype)
    _check_samples(samples, input.dtype, batch, planes, dims)
    drawn = samples._data[:batch].reshape(-1, dims)
    windows = []
    for d, (n, m, k) in enumerate(zip(sizes, counts, kernel, strict=True)):
        # PyTorch uses the random numbers in reverse order for two dimensions, in order for three.
        sample = drawn[:, dims - 1 - d if dims == 2 else d][:, None]
        start = np.full((len(drawn), m), n - k, np.int64)
        if m > 1:
            step = sample.dtype.type(n - k) / sample.dtype.type(m - 1)
            steps = np.arange(m - 1, dtype=sample.dtype)
            start[:, :-1] = ((steps + sample) * step).astype(np.int64) - (sample * step).astype(np.int64)
        windows.append(start[:, :, None] + np.arange(k))
    values, places = _chosen("FractionalMaxPool", input, windows, kernel_size=kernel, output_size=tuple(counts))
    return (values, places) if return_indices else values


@public(where=_NN, method=False)
def fractional_max_pool2d(
    input: Tensor, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False, _random_samples=None
) -> Any:
    """Max pooling of images with random strides, so that any output size is possible.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.functional.fractional_max_pool2d(T.rand(1, 1, 5, 5), 2, output_size=3).shape
    tinygrad_edu.Size([1, 1, 3, 3])
    """
    return _fractional(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


@public(where=_NN, method=False)
def fractional_max_pool3d(
    input: Tensor, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False, _random_samples=None
) -> Any:
    """Max pooling of volumes with random strides, so that any output size is possible.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.functional.fractional_max_pool3d(T.rand(1, 1, 4, 4, 4), 2, output_size=2).shape
    tinygrad_edu.Size([1, 1, 2, 2, 2])
    """
    return _fractional(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


# --- mean --------------------------------------------------------------------------------------------------------------


_OF_MEANS = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")


def _avg_pool(dims):
    class AvgPool(Op, name=f"AvgPool{dims}DBackward0"):
        """The mean of each window."""

        def forward(self, *, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
            stride, dilation = stride or kernel_size, (1,) * dims
            counts = _counts(self.shape, kernel_size, stride, padding, dilation, ceil_mode)
            room = _room(self, 0, kernel_size, stride, padding, dilation, counts)
            # As in PyTorch, means of float16 are rounded once, at the end.
            kind = np.float32 if self.dtype == np.float16 else self.dtype
            total = np.zeros((*self.shape[:-dims], *counts), kind)
            for part in _parts(room, kernel_size, counts, stride, dilation):
                total += part
            divisor = _divisor(
                self.shape, counts, kernel_size, stride, padding, count_include_pad, divisor_override, total.dtype
            )
            # For integers the mean is truncated.
            mean = np.divide(total, divisor, out=total, casting="unsafe").astype(self.dtype, copy=False)
            return by_channels(mean, self)

        # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
        def grad_self(grad, self, *about):
            return AvgPoolBack.apply(grad, _size=tuple(self.shape), **dict(zip(_OF_MEANS, about, strict=True)))

        grad_self = told(grad_self, ("grad", "self", *_OF_MEANS))
        jvp = linear

    class AvgPoolBack(Op, name=f"AvgPool{dims}DBackwardBackward0"):
        """Spread each value evenly over its window: the transpose of AvgPool."""

        def forward(self, *, _size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
            stride, dilation, counts = stride or kernel_size, (1,) * dims, self.shape[-dims:]
            share = self / _divisor(
                _size, counts, kernel_size, stride, padding, count_include_pad, divisor_override, self.dtype
            )
            room = _room(np.zeros(_size, self.dtype), 0, kernel_size, stride, padding, dilation, counts)
            for part in _parts(room, kernel_size, counts, stride, dilation):
                part += share
            return room[_inside(_size[-dims:], padding)].copy()

        def grad_self(grad, *about):
            return AvgPool.apply(grad, **dict(zip(_OF_MEANS, about, strict=True)))

        grad_self = told(grad_self, ("grad", *_OF_MEANS))
        jvp = linear

    return AvgPool, AvgPoolBack


(AvgPool2D, AvgPool2DBack), (AvgPool3D, _) = map(_avg_pool, (2, 3))


def _divisor(size, counts, kernel_size, stride, padding, count_include_pad, divisor_override, dtype):
    """How many elements each window counts: none beyond the padding; those of the padding only on request."""
    if divisor_override:
        return dtype.type(divisor_override)
    along = []
    for n, c, k, s, p in zip(size[-len(counts) :], counts, kernel_size, stride, padding, strict=True):
        start = np.arange(c) * s - p
        end = np.minimum(start + k, n + p)
        along.append(end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0))
    return functools.reduce(np.multiply.outer, along).astype(dtype)


def _adaptive_avg_pool(dims):
    class AdaptiveAvgPool(Op, name=f"AdaptiveAvgPool{dims}DBackward0"):
        """Means of a given number of windows of nearly equal size, as a matrix product along each dimension."""

        def forward(self, *, _counts):
            need_float(self, f"adaptive_avg_pool{dims}d")
            return row_major(by_channels(_multiplied(self, _averages(self.shape, _counts, self.dtype)), self), self)

        # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
        def grad_self(grad, self, _counts):
            averages = _averages(tuple(self.shape), _counts, getattr(grad, "_data", grad).dtype)
            return AdaptiveBack.apply(grad, matrices=[m.T for m in averages])

        jvp = linear

    class AdaptiveBack(Op, name=f"AdaptiveAvgPool{dims}DBackwardBackward0"):
        """The transpose of AdaptiveAvgPool."""

        def forward(self, *, matrices):
            return np.ascontiguousarray(_multiplied(self, matrices))

        def grad_self(grad, matrices):
            return AdaptiveBack.apply(grad, matrices=[m.T for m in matrices])

        jvp = linear

    return AdaptiveAvgPool, AdaptiveBack


(AdaptiveAvgPool2D, AdaptiveBack), (AdaptiveAvgPool3D, _) = map(_adaptive_avg_pool, (2, 3))


def _averages(sizes, counts, dtype):
    """The matrix that maps n values to m means, for each of the last dimensions. Window i covers ⌊i·n/m⌋ to ⌈(i + 1)·n/m⌉."""
    found = []
    for n, m in zip(sizes[-len(counts) :], counts, strict=True):
        start, end = np.arange(m) * n // m, -(-(np.arange(m) + 1) * n // m)
        inside = (np.arange(n) >= start[:, None]) & (np.arange(n) < end[:, None])
        found.append((inside / inside.sum(axis=1, keepdims=True)).astype(dtype))
    return found


def _multiplied(array, matrices):
    for axis, matrix in enumerate(matrices, -len(matrices)):
        array = array.swapaxes(axis, -1)
        product = array @ matrix.T
        if not np.isfinite(product).all():  # 0 times infinity is nan: leave out what is not in the window
            product = np.stack([array[..., row != 0] @ row[row != 0] for row in matrix], -1)
        array = product.swapaxes(axis, -1)
    return array


def _average(name, op, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    settings, _ = _arguments(name, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, sizes = settings["kernel_size"], input.shape[-len(settings["kernel_size"]) :]
    if len(kernel) == 3 and any(n < k for n, k in zip(sizes, kernel, strict=True)):
        image, window = (
            " ".join(f"{name}: {n}" for name, n in zip(names, x, strict=True))
            for names, x in ((("T", "H", "W"), sizes), (("kT", "kH", "kW"), kernel))
        )
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({window})")
    return op.apply(input, **settings, count_include_pad=count_include_pad, divisor_override=divisor_override)


def _need_sequences(name, input):
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{name}: Expected 2D or 3D (batch mode) tensor for input, but got: {list(input.shape)}")


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
    return _average(
        "avg_pool2d", AvgPool2D, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


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
def avg_pool3d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override=None,
) -> Tensor:
    """The mean of each window of volumes (N, C, D, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.avg_pool3d(T.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    return _average(
        "avg_pool3d", AvgPool3D, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


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
    if 0 in input.shape[-2:]:
        raise RuntimeError(
            "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {input.shape.index(0, input.ndim - 2)} being empty"
        )
    sizes = tuple(n if m is None else m for n, m in zip(input.shape[-2:], sizes, strict=True))
    if sizes == (1, 1):
        return mean(input, (-1, -2), True)
    return AdaptiveAvgPool2D.apply(input, _counts=sizes)


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
    pooled = AdaptiveAvgPool2D.apply(unsqueeze(input, -2), _counts=(1, *as_tuple(output_size, 1)))
    return squeeze(pooled, -2)


@public(where=_NN, method=False)
def adaptive_avg_pool3d(input: Tensor, output_size) -> Tensor:
    """The means of `output_size` windows that cover volumes evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.adaptive_avg_pool3d(T.ones(1, 2, 4, 4, 4), 1).shape
    tinygrad_edu.Size([1, 2, 1, 1, 1])
    """
    return AdaptiveAvgPool3D.apply(input, _counts=tuple(_adaptive_sizes(input, output_size, 3)))


# --- norm --------------------------------------------------------------------------------------------------------------


def _lp_pool(dims):
    def pool(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
        means = nn_functions[f"avg_pool{dims}d"](pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
        sums, number = functions["sign"](means) * functions["relu"](abs(means)), math.prod(as_tuple(kernel_size, dims))
        return pow(sums * number, 1.0 / norm_type)

    pool.__name__ = f"lp_pool{dims}d"
    pool.__doc__ = f"""The p-norm of each window, with p = norm_type.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.lp_pool{dims}d(T.ones{(1, *(2,) * dims)}, norm_type=1, kernel_size=2).item()
    {2.0**dims}
    """
    return public(where=_NN, method=False)(pool)


for _dims in (1, 2, 3):
    _lp_pool(_dims)

# --- the way back ------------------------------------------------------------------------------------------------------


def _unpool(input, indices, output_size, dims):
    if 0 in input.shape[-dims - 1 :]:
        raise RuntimeError(
            f"max_unpooling{dims}d(): Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)}"
        )
    flat, places = (reshape(x, (*x.shape[:-dims], math.prod(x.shape[-dims:]))) for x in (input, indices))
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


for _dims in (1, 2, 3):
    _max_unpool(_dims)
