"""Convolutions, computed as matrix products: the windows of the input are columns, the kernels are rows.

A convolution is linear in its input and in its kernel, and so are the two maps that compute its gradients. The gradients of
each of the three are computed by the other two, so these three ops suffice for derivatives of any order.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import by_channels
from ...ops.binding import functions, nn_functions, public
from ...ops.op import Op
from ...ops.reductions.reduce import sum
from ...ops.shapes.shape import squeeze, unsqueeze

_BOTH = (functions, nn_functions)


@functools.lru_cache(maxsize=256)
def places_and_slices(leading, kernel, counts, stride, dilation):
    """For each element of a kernel: its place behind so many `leading` dimensions, and the slice of the padded input that it
    multiplies."""
    before, found = (slice(None),) * leading, []
    for place in itertools.product(*map(range, kernel)):
        by_dim = zip(place, counts, stride, dilation, strict=True)
        found.append(
            ((*before, *place), (*before, *[slice(o * d, o * d + (n - 1) * s + 1, s) for o, n, s, d in by_dim]))
        )
    return found


def windows(room, leading, kernel, counts, stride, dilation):
    """All windows of `room`, a view (leading, kernel, counts, …) in which its elements stand several times."""
    end = leading + len(kernel)
    along = room.strides[leading:end]
    by_kernel = [s * d for s, d in zip(along, dilation, strict=True)]
    by_place = [s * d for s, d in zip(along, stride, strict=True)]
    shape = (*room.shape[:leading], *kernel, *counts, *room.shape[end:])
    strides = (*room.strides[:leading], *by_kernel, *by_place, *room.strides[end:])
    return np.ndarray(shape, room.dtype, room, 0, strides)


def _parts(images, channels, kernel, counts):
    """Split the batch so that the columns of each part fit into the processor's cache."""
    size = max(1, _CACHED // max(1, channels * math.prod(kernel) * math.prod(counts)))
    return [slice(start, start + size) for start in range(0, images, size)]


# The number of elements of the columns that are made at once.
_CACHED = 2**19


def _columns(array, kernel, counts, stride, padding, dilation, groups):
    """The windows as columns: (groups, channels per group · kernel elements, output positions · N).

    The batch comes last. So a single matrix product serves all of it, and copies run over N elements where the rows of a
    small image would be short.
    """
    n, channels, *sizes = array.shape
    room = np.zeros((channels, *[m + 2 * p for m, p in zip(sizes, padding, strict=True)], n), array.dtype)
    room[_inner(sizes, padding)] = batch_last(array)
    columns = windows(room, 1, kernel, counts, stride, dilation).copy()
    return columns.reshape(groups, channels // groups * math.prod(kernel), math.prod(counts) * n)


def _inner(sizes, padding):
    """The position of the array itself inside its padded form (channels, …, N)."""
    return (slice(None), *(slice(p, p + m) for m, p in zip(sizes, padding, strict=True)))


def batch_last(array):
    """A view (channels, …, N). Where images lie a power of two apart, which the cache holds few of, it is one of a copy."""
    if array.strides[0] % 1024 == 0 and array.shape[0] > 8 and array.flags.c_contiguous:
        n, size = array.shape[0], math.prod(array.shape[1:])
        apart = np.empty((n, size + 16), array.dtype)[:, :size]
        apart[...] = array.reshape(n, size)
        return apart.T.reshape(*array.shape[1:], n)
    return array.transpose(*range(1, array.ndim), 0)


def _in_groups(array, groups):
    """(groups, channels per group, positions · N)"""
    n, channels, *places = array.shape
    turned = np.ascontiguousarray(batch_last(array))
    return turned.reshape(groups, channels // groups, math.prod(places) * n)


def _batch_first(array):
    return array.transpose(-1, *range(array.ndim - 1))


def _output_sizes(sizes, kernel, stride, padding, dilation):
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )


def _convolve(input, weight, stride, padding, dilation, groups):
    kernel = weight.shape[2:]
    counts = _output_sizes(input.shape[2:], kernel, stride, padding, dilation)
    rows = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = np.empty((input.shape[0], weight.shape[0], *counts), np.result_type(input, weight))
    for part in _parts(input.shape[0], input.shape[1], kernel, counts):
        columns = _columns(input[part], kernel, counts, stride, padding, dilation, groups)
        out[part] = _batch_first((rows @ columns).reshape(weight.shape[0], *counts, -1))
    return out


class Convolution(Op):
    def forward(input, weight, bias, *, stride, padding, dilation, groups):
        out = _convolve(input, weight, stride, padding, dilation, groups)
        if bias is not None:
            _check_bias("Given", weight, bias, out.shape[1])
            out += bias.reshape(-1, *(1,) * (input.ndim - 2))
        return by_channels(out, input, weight)

    def grad_input(grad, weight, input_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return InputOfConvolution.apply(grad, weight, size=input_sym_sizes, **settings)

    def grad_weight(grad, input, weight_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return WeightOfConvolution.apply(input, grad, size=weight_sym_sizes, **settings)

    def grad_bias(grad):
        return _to_bias(grad)

    def jvp(input_tangent, weight_tangent, bias_tangent, input, weight, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        moved = Convolution.apply(input_tangent, weight, bias_tangent, **settings)
        return moved + Convolution.apply(input, weight_tangent, None, **settings)


def _check_bias(given, weight, bias, channels):
    if bias.shape != (channels,):
        raise RuntimeError(
            f"{given} weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {channels} elements, but got "
            f"bias of size {list(bias.shape)} instead"
        )


def _to_bias(grad):
    return sum(grad, (0, *range(2, len(grad.shape))))


def _cut(value, sizes):
    """Remove the windows for which the `output_padding` of a transposed convolution made room."""
    return value if tuple(value.shape) == tuple(sizes) else value[tuple(slice(n) for n in sizes)]


class InputOfConvolution(Op, name="ConvolutionBackwardBackward0"):
    """The gradient of a convolution's input (of shape `size`), from its output's gradient: a transposed convolution."""

    def forward(self, weight, *, size, stride, padding, dilation, groups):
        kernel, counts = weight.shape[2:], self.shape[2:]
        n, channels, *sizes = size
        rows = weight.reshape(groups, weight.shape[0] // groups, -1)
        out = np.empty(size, self.dtype)
        for part in _parts(n, channels, kernel, counts):
            columns = (rows.swapaxes(1, 2) @ _in_groups(self[part], groups)).reshape(channels, *kernel, *counts, -1)
            padded = (m + 2 * p for m, p in zip(sizes, padding, strict=True))
            room = np.zeros((channels, *padded, columns.shape[-1]), self.dtype)
            for place, window in places_and_slices(1, *map(tuple, (kernel, counts, stride, dilation))):
                room[window] += columns[place]
            out[part] = _batch_first(room[_inner(sizes, padding)])
        return out

    def grad_self(grad, weight, self_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return _cut(Convolution.apply(grad, weight, None, **settings), self_sym_sizes)

    def grad_weight(grad, self, weight_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return WeightOfConvolution.apply(grad, self, size=weight_sym_sizes, **settings)

    def jvp(tangent, weight_tangent, self, weight, size, stride, padding, dilation, groups):
        settings = {"size": size, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return InputOfConvolution.apply(tangent, weight, **settings) + InputOfConvolution.apply(
            self, weight_tangent, **settings
        )


class WeightOfConvolution(Op, name="ConvolutionBackwardBackward1"):
    """The gradient of a convolution's kernel (of shape `size`), from its input and the gradient of its output."""

    def forward(self, grad_output, *, size, stride, padding, dilation, groups):
        kernel, counts = size[2:], grad_output.shape[2:]
        total = np.zeros((groups, size[0] // groups, math.prod(size[1:])), self.dtype)
        for part in _parts(self.shape[0], self.shape[1], kernel, counts):
            columns = _columns(self[part], kernel, counts, stride, padding, dilation, groups)
            total += _in_groups(grad_output[part], groups) @ columns.swapaxes(1, 2)
        return total.reshape(size)

    def grad_self(grad, grad_output, self_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return InputOfConvolution.apply(grad_output, grad, size=self_sym_sizes, **settings)

    def grad_grad_output(grad, self, grad_output_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return _cut(Convolution.apply(self, grad, None, **settings), grad_output_sym_sizes)

    def jvp(tangent, grad_tangent, self, grad_output, size, stride, padding, dilation, groups):
        settings = {"size": size, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return WeightOfConvolution.apply(tangent, grad_output, **settings) + WeightOfConvolution.apply(
            self, grad_tangent, **settings
        )


class ConvolutionTransposed(Op, name="ConvolutionBackward0"):
    """A transposed convolution as a layer: the gradient of a convolution with respect to its input."""

    def forward(input, weight, bias, *, size, stride, padding, dilation, groups):
        settings = {"size": size, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        out = InputOfConvolution.forward(input, weight, **settings)
        if bias is not None:
            _check_bias("Given transposed=1,", weight, bias, out.shape[1])
            out += bias.reshape(-1, *(1,) * (input.ndim - 2))
        return by_channels(out, input, weight)

    def grad_input(grad, weight, input_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return _cut(Convolution.apply(grad, weight, None, **settings), input_sym_sizes)

    def grad_weight(grad, input, weight_sym_sizes, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return WeightOfConvolution.apply(grad, input, size=weight_sym_sizes, **settings)

    def grad_bias(grad):
        return _to_bias(grad)

    def jvp(input_tangent, weight_tangent, bias_tangent, input, weight, size, stride, padding, dilation, groups):
        settings = {"size": size, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        moved = ConvolutionTransposed.apply(input_tangent, weight, bias_tangent, **settings)
        return moved + InputOfConvolution.apply(input, weight_tangent, **settings)


def as_tuple(value, n):
    """One number for each of `n` dimensions, from a number or a tuple."""
    values = (value,) if isinstance(value, int | np.integer) else tuple(value)
    return values * n if len(values) == 1 else values


def _same_padding(stride, kernel, dilation):
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple(t // 2 for t in total), tuple(t % 2 for t in total)


def _check(name, n, input, weight, bias, groups):
    if weight.ndim != n + 2:
        raise RuntimeError(f"expected a {n + 2}D weight for {name}, got {weight.ndim}D")
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    for t, what in ((weight, "weight"), (bias, "bias")):
        if t is not None and t._data.dtype != input._data.dtype:
            raise RuntimeError(
                f"Input type ({input.dtype.name}) and {what} type ({t.dtype.name}) should be the same. Convert one: t.to(other.dtype)."
            )
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    channels = input.shape[-n - 1]
    if channels != weight.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
            f"{weight.shape[1] * groups} channels, but got {channels} channels instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(weight.shape)}] instead"
        )


def _conv(name, n, input, weight, bias, stride, padding, dilation, groups):
    from .padding import pad

    _check(name, n, input, weight, bias, groups)
    stride, dilation = as_tuple(stride, n), as_tuple(dilation, n)
    kernel = tuple(weight.shape[2:])
    if 0 in kernel:
        raise RuntimeError(f"kernel size should be greater than zero, but got {' x '.join(map(str, kernel))}")
    for what, numbers in (("stride", stride), ("dilation", dilation)):
        if min(numbers) < 1:
            raise RuntimeError(
                f"non-positive {what} is not supported: {what} should be greater than zero, got {numbers}"
            )
    if padding == "valid":
        padding = 0
    if padding == "same":
        padding, odd = _same_padding(stride, kernel, dilation)
        if any(odd):
            input = pad(input, [x for extra in reversed(odd) for x in (0, extra)])
    padding = as_tuple(padding, n)
    sizes = _output_sizes(input.shape[-n:], kernel, stride, padding, dilation)
    if any(m < 1 for m in sizes):
        padded = [m + 2 * p for m, p in zip(input.shape[-n:], padding, strict=True)]
        effective = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, effective))}). Kernel size can't be greater than actual input size"
        )
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if input.ndim == n + 1:
        return squeeze(Convolution.apply(unsqueeze(input, 0), weight, bias, **settings), 0)
    return Convolution.apply(input, weight, bias, **settings)


@public(where=_BOTH, method=False)
def conv1d(input: Tensor, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """Convolve a batch of sequences (N, in, L) with kernels (out, in/groups, k).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv1d(T.tensor([[[1.0, 2.0, 3.0]]]), T.tensor([[[1.0, -1.0]]]))
    tensor([[[-1., -1.]]])
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@public(where=_BOTH, method=False)
def conv2d(input: Tensor, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """Convolve a batch of images (N, in, H, W) with kernels (out, in/groups, kh, kw).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv2d(T.ones(1, 1, 3, 3), T.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    stride, padding, dilation, extra = (as_tuple(x, n) for x in (stride, padding, dilation, output_padding))
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv_transpose{n}d, but got input of size: "
            f"{list(input.shape)}"
        )
    channels = input.shape[-n - 1]
    if channels != weight.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
            f"{weight.shape[0]} channels, but got {channels} channels instead"
        )
    for e, s, d in zip(extra, stride, dilation, strict=True):
        if e >= max(s, d):
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got output_padding {extra}, stride "
                f"{stride}, dilation {dilation}"
            )
    batch = input if input.ndim == n + 2 else unsqueeze(input, 0)
    sizes = [
        (m - 1) * s - 2 * p + d * (k - 1) + e + 1
        for m, s, p, d, k, e in zip(batch.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    ]
    if min(sizes) < 1:
        given, made = (" x ".join(map(str, x)) for x in (batch.shape[2:], sizes))
        raise RuntimeError(
            f"Given input size per channel: ({given}). Calculated output size per channel: ({made}). Output size is too small"
        )
    size = (batch.shape[0], weight.shape[1] * groups, *sizes)
    out = ConvolutionTransposed.apply(
        batch, weight, bias, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return out if batch is input else squeeze(out, 0)


@public(where=_BOTH, method=False)
def conv_transpose1d(
    input: Tensor, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
) -> Tensor:
    """The transpose of conv1d: each element is spread over a kernel (in, out/groups, k).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv_transpose1d(T.tensor([[[1.0, 2.0]]]), T.ones(1, 1, 2), stride=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@public(where=_BOTH, method=False)
def conv_transpose2d(
    input: Tensor, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
) -> Tensor:
    """The transpose of conv2d: each pixel is spread over a kernel (in, out/groups, kh, kw).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv_transpose2d(T.zeros(1, 3, 4, 4), T.zeros(3, 2, 2, 2), stride=2).shape
    tinygrad_edu.Size([1, 2, 8, 8])
    """
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


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
