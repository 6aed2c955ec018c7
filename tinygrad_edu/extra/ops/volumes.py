"""Pooling over volumes; adaptive and fractional max pooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import functions, nn_functions, public
from ...ops.indexing.gather import put_along, take_along
from ...ops.op import Op, linear
from ...ops.shapes.shape import reshape, squeeze, unsqueeze
from .convolution import as_tuple
from .images import _count, window_of
from .resampling import Resample, Spread, Taps, told

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


# --- maximum -----------------------------------------------------------------------------------------------------------


class _Largest(Op, name="MaxPoolBackward0"):
    """The element of each window at position `_at` among the last `_dims` dimensions, and that position."""

    def forward(self, *, _at, _dims):
        leading = self.shape[: self.ndim - _dims]
        flat = np.take_along_axis(self.reshape(*leading, -1), _at.reshape(*leading, -1), -1)
        return flat.reshape(_at.shape), _at

    def jvp(tangent, _dims, result1):
        leading = tuple(tangent.shape[: tangent.ndim - _dims])
        flat = take_along(reshape(tangent, (*leading, -1)), len(leading), reshape(result1, (*leading, -1)))
        return reshape(flat, tuple(result1.shape)), None


def _named(kind, shown):
    class Largest(_Largest, name=f"{kind}Backward0"):
        non_differentiable = (1,)

        def forward(self, *, _at, _dims, **about):
            return _Largest.forward(self, _at=_at, _dims=_dims)

        # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
        def grad_self(grad, self, result1, *about):
            grad, sizes, dims = grad[0], tuple(self.shape), about[-1]
            leading, inner = sizes[: len(sizes) - dims], sizes[len(sizes) - dims :]
            flat = (*leading, math.prod(grad.shape[len(leading) :]))
            room = (*leading, math.prod(inner))
            return reshape(put_along(reshape(grad, flat), room, len(leading), reshape(result1, flat)), sizes)

        forward = told(forward, ("self",), (*shown, "_at", "_dims"))
        grad_self = told(grad_self, ("grad", "self", "result1", *shown, "_dims"))
        jvp = _Largest.jvp

    return Largest


_OPS = {
    kind: _named(kind, shown)
    for kind, shown in {
        "MaxPool3DWithIndices": ("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
        "AdaptiveMaxPool2D": (),
        "AdaptiveMaxPool3D": (),
        "FractionalMaxPool2D": ("kernel_size", "output_size"),
        "FractionalMaxPool3D": ("kernel_size", "output_size"),
    }.items()
}


def _chosen(op, input, windows, **about):
    """The maximum of each window, and its position. `windows` holds, for each dimension, the elements of each window (counts,
    size), padded with -1; with an extra first dimension each plane has its own windows."""
    dims = len(windows)
    array = input._data
    sizes, leading = array.shape[array.ndim - dims :], array.shape[: array.ndim - dims]
    flat = array.reshape(-1, math.prod(sizes))
    counts = [w.shape[-2] for w in windows]
    at = np.zeros((1, *(1,) * (2 * dims)), np.int64)
    there = np.ones((1, *(1,) * (2 * dims)), bool)
    for d, (window, n) in enumerate(zip(windows, sizes, strict=True)):
        shape = [window.shape[0] if window.ndim == 3 else 1, *(1,) * (2 * dims)]
        shape[1 + d], shape[1 + dims + d] = window.shape[-2:]
        spread = window.reshape(shape)
        at, there = at * n + np.maximum(spread, 0), there & (spread >= 0)
    at, there = (x.reshape(len(x), math.prod(counts), -1) for x in np.broadcast_arrays(at, there))
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
    return _OPS[op].apply(input, _at=places.reshape(*leading, *counts), _dims=dims, **about)


def _at(values, place):
    """The element of each row at its position."""
    return np.take_along_axis(values, place[..., None], -1)[..., 0]


def _out_of_room(sizes, counts):
    shown = ["x".join(map(str, x)) for x in (sizes, (sizes[0], *counts))]
    raise RuntimeError(
        f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
    )


def _arguments(name, input, kernel_size, stride, padding):
    if input.ndim not in (4, 5):
        raise RuntimeError(f"{name}: Expected 4D or 5D (batch mode) tensor for input, but got: {list(input.shape)}")
    return window_of(name, 3, kernel_size, stride, padding)


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
    given = stride
    kernel, stride, padding = _arguments("max_pool3d", input, kernel_size, stride, padding)
    dilation = as_tuple(dilation, 3)
    windows = []
    for n, k, s, p, d in zip(input.shape[-3:], kernel, stride, padding, dilation, strict=True):
        at = np.arange(max(_count(n, k, s, p, d, ceil_mode), 0))[:, None] * s - p + np.arange(k) * d
        windows.append(np.where((at >= 0) & (at < n), at, -1))
    if any(not len(w) for w in windows):
        _out_of_room(tuple(input.shape[-4:]), [len(w) for w in windows])
    about = {
        "kernel_size": kernel,
        "stride": () if given is None else stride,
        "padding": padding,
        "dilation": dilation,
        "ceil_mode": ceil_mode,
    }
    values, places = _chosen("MaxPool3DWithIndices", input, windows, **about)
    return (values, places) if return_indices else values


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
    at = start[:, None] + np.arange((end - start).max(initial=0))
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
    sizes = _adaptive_sizes(input, output_size, dims)
    windows = [_evenly(n, m) for n, m in zip(input.shape[-dims:], sizes, strict=True)]
    return _chosen(f"AdaptiveMaxPool{dims}D", input, windows)


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


def _fractional(name, dims, input, kernel_size, output_size, output_ratio, return_indices, samples):
    """Graham, "Fractional max-pooling" (2014), arXiv:1412.6071: windows with random strides, drawn for each channel."""
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
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
    drawn = samples._data.reshape(-1, dims)
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
    values, places = _chosen(f"FractionalMaxPool{dims}D", input, windows, kernel_size=kernel, output_size=tuple(counts))
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


def _named_mean(kind, shown):
    class Mean(Op, name=f"{kind}Backward0"):
        """Sums along each dimension, divided by the number of elements that each window counts."""

        def forward(self, *, _ways, _divisor, **about):
            return Resample.forward(self, ways=_ways, size=None) / _divisor

        # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
        def grad_self(grad, self, *about):
            return Share.apply(grad, _ways=about[-2], _divisor=about[-1], _size=tuple(self.shape))

        forward = told(forward, ("self",), (*shown, "_ways", "_divisor"))
        grad_self = told(grad_self, ("grad", "self", *shown, "_ways", "_divisor"))
        jvp = linear

    class Share(Op, name=f"{kind}BackwardBackward0"):
        """The transpose: distribute each value evenly over the elements of its window."""

        def forward(self, *, _ways, _divisor, _size):
            return Spread.forward(self / _divisor, ways=_ways, size=_size)

        def grad_self(grad, _ways, _divisor):
            return Mean.apply(grad, _ways=_ways, _divisor=_divisor, **dict.fromkeys(shown))

        jvp = linear

    return Mean


AvgPool3D = _named_mean(
    "AvgPool3D", ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
)
AdaptiveAvgPool3D = _named_mean("AdaptiveAvgPool3D", ())


def _means(op, input, windows, numbers, **about):
    """The mean of each window of volumes, with or without a batch. A window counts `numbers` elements along each dimension."""
    ways = tuple(Taps(w) for w in windows)
    divisor = (np.einsum("i,j,k->ijk", *numbers) if isinstance(numbers, list) else numbers).astype(input._data.dtype)
    return op.apply(input, _ways=ways, _divisor=divisor, **about)


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
    given = stride
    kernel, stride, padding = _arguments("avg_pool3d", input, kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    windows, numbers = [], []
    for n, k, s, p in zip(input.shape[-3:], kernel, stride, padding, strict=True):
        start = np.arange(max(_count(n, k, s, p, 1, ceil_mode), 0)) * s - p
        at = start[:, None] + np.arange(k)
        windows.append(np.where((at >= 0) & (at < n), at, -1))
        end = np.minimum(start + k, n + p)
        numbers.append(end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0))
    if any(not len(w) for w in windows):
        _out_of_room(tuple(input.shape[-4:]), [len(w) for w in windows])
    about = {
        "kernel_size": kernel,
        "stride": () if given is None else stride,
        "padding": padding,
        "ceil_mode": ceil_mode,
    }
    about |= {"count_include_pad": count_include_pad, "divisor_override": divisor_override}
    counted = numbers if divisor_override is None else np.asarray(divisor_override)
    return _means(AvgPool3D, input, windows, counted, **about)


@public(where=_NN, method=False)
def adaptive_avg_pool3d(input: Tensor, output_size) -> Tensor:
    """The means of `output_size` windows that cover volumes evenly.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.adaptive_avg_pool3d(T.ones(1, 2, 4, 4, 4), 1).shape
    tinygrad_edu.Size([1, 2, 1, 1, 1])
    """
    windows = [_evenly(n, m) for n, m in zip(input.shape[-3:], _adaptive_sizes(input, output_size, 3), strict=True)]
    return _means(AdaptiveAvgPool3D, input, windows, [(w >= 0).sum(1) for w in windows])


@public(where=_NN, method=False)
def lp_pool3d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of volumes, with p = norm_type.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.lp_pool3d(T.ones(1, 2, 2, 2), 2, kernel_size=2)  # √8
    tensor([[[[2.8284]]]])
    """
    pooled = avg_pool3d(functions["pow"](input, norm_type), kernel_size, stride, 0, ceil_mode)
    room = math.prod(as_tuple(kernel_size, 3))
    size = functions["sign"](pooled) * functions["relu"](functions["abs"](pooled))
    return functions["pow"](size * room, 1.0 / norm_type)
