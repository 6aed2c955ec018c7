"""Convolutions over any number of dimensions: a product of windows of the input (columns) and kernels (rows).

A convolution is linear in its input and in its kernel, and so are the two maps that compute its gradients. The
gradients of each of the three are computed by the other two, so these three ops suffice for derivatives of any order.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..binding import BOTH, NN, Sizes, by_dimension, public
from ..op import LinearOp, Op
from ..reductions.reduce import sum
from ..shapes.shape import squeeze, unsqueeze
from .padding import pad
from .resampling import batch_first, batch_last

# --- windows ---------------------------------------------------------------------------------------------------------


def as_tuple(value: Any, n: int) -> Any:
    """One number for each of `n` dimensions, from a number or a tuple."""
    values = (value,) if isinstance(value, int | np.integer) else tuple(value)
    return values * n if len(values) == 1 else values


def _output_sizes(sizes, kernel, stride, padding, dilation):
    """How many windows there are along each dimension."""
    along = zip(sizes, kernel, stride, padding, dilation, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in along])


def _windows(padded, leading, kernel, counts, stride, dilation):
    """All windows of an array, a view (leading, kernel, counts, …) in which its elements stand several times."""
    end = leading + len(kernel)
    along = padded.strides[leading:end]
    within = [step * d for step, d in zip(along, dilation, strict=True)]
    between = [step * s for step, s in zip(along, stride, strict=True)]
    shape = (*padded.shape[:leading], *kernel, *counts, *padded.shape[end:])
    strides = (*padded.strides[:leading], *within, *between, *padded.strides[end:])
    return np.ndarray(shape, padded.dtype, padded, 0, strides)


@functools.lru_cache(maxsize=256)
def _offsets(leading, kernel, counts, stride, dilation):
    """For each element of a kernel: its index behind so many dimensions, and the slices that it multiplies."""
    before, offsets = (slice(None),) * leading, []
    for index in itertools.product(*map(range, kernel)):
        along = zip(index, counts, stride, dilation, strict=True)
        offsets.append(
            ((*before, *index), (*before, *[slice(o * d, o * d + (n - 1) * s + 1, s) for o, n, s, d in along]))
        )
    return offsets


def _add_windows(columns, padded, leading, kernel, counts, stride, dilation):
    """Add the windows `columns` (leading, kernel, counts, …) where they lie in `padded`: `_windows` transposed."""
    for index, window in _offsets(leading, tuple(kernel), tuple(counts), tuple(stride), tuple(dilation)):
        padded[window] += columns[index]


def _inner(leading, sizes, padding):
    """The index of an array inside its padded form."""
    return (slice(None),) * leading + tuple(slice(p, p + n) for p, n in zip(padding, sizes, strict=True))


# The number of elements of the columns that are made at once: they fit into the processor's cache.
_CACHED = 2**19


def _parts(images, channels, kernel, counts):
    size = max(1, _CACHED // max(1, channels * math.prod(kernel) * math.prod(counts)))
    return [slice(start, start + size) for start in range(0, images, size)]


def _columns(array, kernel, counts, stride, padding, dilation, groups):
    """The windows as columns: (groups, channels per group · kernel elements, output positions · N). The batch comes
    last. So a single matrix product serves all of it, and copies run over N elements where the rows of a small image
    would be short."""
    n, channels, *sizes = array.shape
    padded = np.zeros((channels, *[m + 2 * p for m, p in zip(sizes, padding, strict=True)], n), array.dtype)
    padded[_inner(1, sizes, padding)] = batch_last(array)
    columns = _windows(padded, 1, kernel, counts, stride, dilation).copy()
    return columns.reshape(groups, channels // groups * math.prod(kernel), math.prod(counts) * n)


def _in_groups(array, groups):
    """(groups, channels per group, positions · N)"""
    n, channels, *sizes = array.shape
    return np.ascontiguousarray(batch_last(array)).reshape(groups, channels // groups, math.prod(sizes) * n)


# --- the three maps ---------------------------------------------------------------------------------------------------


class Convolution(Op):
    """Each output is the sum of a window times the kernel."""

    def forward(input, weight, bias, *, stride, padding, dilation, groups):
        kernel = weight.shape[2:]
        counts = _output_sizes(input.shape[2:], kernel, stride, padding, dilation)
        rows = weight.reshape(groups, weight.shape[0] // groups, -1)
        out = np.empty((input.shape[0], weight.shape[0], *counts), np.result_type(input, weight))
        for part in _parts(input.shape[0], input.shape[1], kernel, counts):
            columns = _columns(input[part], kernel, counts, stride, padding, dilation, groups)
            out[part] = batch_first((rows @ columns).reshape(weight.shape[0], *counts, -1))
        return out if bias is None else _with_bias(out, bias)

    def grad_input(grad, weight, input_sym_sizes, stride, padding, dilation, groups):
        return InputOfConvolution.apply(
            grad, weight, size=input_sym_sizes, geometry=(stride, padding, dilation, groups)
        )

    def grad_weight(grad, input, weight_sym_sizes, stride, padding, dilation, groups):
        return WeightOfConvolution.apply(
            input, grad, size=weight_sym_sizes, geometry=(stride, padding, dilation, groups)
        )

    def grad_bias(grad):
        return sum(grad, (0, *range(2, len(grad.shape))))

    def jvp(input_tangent, weight_tangent, bias_tangent, input, weight, stride, padding, dilation, groups):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        moved = Convolution.apply(input_tangent, weight, bias_tangent, **settings)
        return moved + Convolution.apply(input, weight_tangent, None, **settings)


def _with_bias(out, bias):
    out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


def _convolve(input, weight, sizes, geometry):
    """The convolution, without the windows that the `output_padding` of a transposed convolution made room for."""
    stride, padding, dilation, groups = geometry
    out = Convolution.apply(input, weight, None, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return out if tuple(out.shape) == tuple(sizes) else out[tuple(slice(n) for n in sizes)]


class InputOfConvolution(Op, name="ConvolutionBackwardBackward0"):
    """The gradient of a convolution's input (of shape `size`), from its output's gradient: a transposed convolution."""

    def forward(self, weight, *, size, geometry):
        stride, padding, dilation, groups = geometry
        kernel, counts = weight.shape[2:], self.shape[2:]
        n, channels, *sizes = size
        rows = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
        out = np.empty(size, self.dtype)
        for part in _parts(n, channels, kernel, counts):
            columns = (rows @ _in_groups(self[part], groups)).reshape(channels, *kernel, *counts, -1)
            padded = [m + 2 * p for m, p in zip(sizes, padding, strict=True)]
            total = np.zeros((channels, *padded, columns.shape[-1]), self.dtype)
            _add_windows(columns, total, 1, kernel, counts, stride, dilation)
            out[part] = batch_first(total[_inner(1, sizes, padding)])
        return out

    def grad_self(grad, weight, self_sym_sizes, geometry):
        return _convolve(grad, weight, self_sym_sizes, geometry)

    def grad_weight(grad, self, weight_sym_sizes, geometry):
        return WeightOfConvolution.apply(grad, self, size=weight_sym_sizes, geometry=geometry)


class WeightOfConvolution(Op, name="ConvolutionBackwardBackward1"):
    """The gradient of a convolution's kernel (of shape `size`), from its input and the gradient of its output."""

    def forward(self, grad_output, *, size, geometry):
        groups = geometry[-1]
        kernel, counts = size[2:], grad_output.shape[2:]
        total = np.zeros((groups, size[0] // groups, math.prod(size[1:])), self.dtype)
        for part in _parts(self.shape[0], self.shape[1], kernel, counts):
            columns = _columns(self[part], kernel, counts, *geometry)
            total += _in_groups(grad_output[part], groups) @ columns.swapaxes(1, 2)
        return total.reshape(size)

    def grad_self(grad, grad_output, self_sym_sizes, geometry):
        return InputOfConvolution.apply(grad_output, grad, size=self_sym_sizes, geometry=geometry)

    def grad_grad_output(grad, self, grad_output_sym_sizes, geometry):
        return _convolve(self, grad, grad_output_sym_sizes, geometry)


class ConvolutionTransposed(Op, name="ConvolutionBackward0"):
    """A transposed convolution as a layer: the gradient of a convolution with respect to its input."""

    def forward(input, weight, bias, *, size, geometry):
        out = InputOfConvolution.forward(input, weight, size=size, geometry=geometry)
        return out if bias is None else _with_bias(out, bias)

    def grad_input(grad, weight, input_sym_sizes, geometry):
        return _convolve(grad, weight, input_sym_sizes, geometry)

    def grad_weight(grad, input, weight_sym_sizes, geometry):
        return WeightOfConvolution.apply(grad, input, size=weight_sym_sizes, geometry=geometry)

    grad_bias = Convolution.grad_bias

    def jvp(input_tangent, weight_tangent, bias_tangent, input, weight, size, geometry):
        moved = ConvolutionTransposed.apply(input_tangent, weight, bias_tangent, size=size, geometry=geometry)
        return moved + ConvolutionTransposed.apply(input, weight_tangent, None, size=size, geometry=geometry)


class Im2Col(LinearOp, name="Im2ColBackward0"):
    """Each window of the padded image as a column: (N, C, H, W) to (N, C·kernel elements, positions)."""

    def forward(self, *, kernel_size, dilation, padding, stride):
        padded = np.pad(self, ((0, 0), (0, 0), *((p, p) for p in padding)))
        counts = _output_sizes(self.shape[2:], kernel_size, stride, padding, dilation)
        columns = _windows(padded, 2, kernel_size, counts, stride, dilation).copy()
        return columns.reshape(self.shape[0], self.shape[1] * math.prod(kernel_size), math.prod(counts))

    def grad_self(grad, self_sym_sizes, kernel_size, dilation, padding, stride):
        settings = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
        return Col2Im.apply(grad, output_size=self_sym_sizes[2:], **settings)


class Col2Im(LinearOp, name="Col2ImBackward0"):
    """The transpose of Im2Col: add each column at the position of its window."""

    def forward(self, *, output_size, kernel_size, dilation, padding, stride):
        n, channels = self.shape[0], self.shape[1] // math.prod(kernel_size)
        counts = _output_sizes(output_size, kernel_size, stride, padding, dilation)
        total = np.zeros((n, channels, *(m + 2 * p for m, p in zip(output_size, padding, strict=True))), self.dtype)
        _add_windows(self.reshape(n, channels, *kernel_size, *counts), total, 2, kernel_size, counts, stride, dilation)
        return total[_inner(2, output_size, padding)].copy()

    def grad_self(grad, kernel_size, dilation, padding, stride):
        return Im2Col.apply(grad, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


# --- functions -------------------------------------------------------------------------------------------------------


def _check(name, n, input, weight, bias, groups, transposed=False):
    given = (
        f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(weight.shape)}, expected"
    )
    if weight.ndim != n + 2:
        raise RuntimeError(f"expected a {n + 2}D weight for {name}, got {weight.ndim}D")
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    for t, what in ((weight, "weight"), (bias, "bias")):
        if t is not None and t.value.dtype != input.value.dtype:
            raise RuntimeError(
                f"Input type ({input.dtype.name}) and {what} type ({t.dtype.name}) should be the same. "
                "Convert one: t.to(other.dtype)."
            )
    channels, wanted = input.shape[-n - 1], weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != wanted:
        raise RuntimeError(
            f"{given} input{list(input.shape)} to have {wanted} channels, but got {channels} channels instead"
        )
    if groups < 1 or weight.shape[0] < groups or weight.shape[0] % groups:
        raise RuntimeError(f"{given} weight to be divisible by groups={groups} at dimension 0")
    made = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(bias.shape) != (made,):
        raise RuntimeError(
            f"{given} bias to be 1-dimensional with {made} elements, but got bias of size {list(bias.shape)} instead"
        )


def _need_positive(**settings):
    for what, numbers in settings.items():
        if min(numbers) < 1:
            raise RuntimeError(
                f"non-positive {what} is not supported: {what} should be greater than zero, got {numbers}"
            )


def _conv(n, input, weight, bias, stride, padding, dilation, groups):
    _check(f"conv{n}d", n, input, weight, bias, groups)
    stride, dilation, kernel = as_tuple(stride, n), as_tuple(dilation, n), tuple(weight.shape[2:])
    _need_positive(kernel_size=kernel, stride=stride, dilation=dilation)
    if padding == "same":
        if max(stride) != 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        room = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        padding = [r // 2 for r in room]
        if any(r % 2 for r in room):
            input = pad(input, [width for r in reversed(room) for width in (0, r % 2)])
    padding = as_tuple(0 if padding == "valid" else padding, n)
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if any(m < 1 for m in _output_sizes(input.shape[-n:], kernel, stride, padding, dilation)):
        padded = [str(m + 2 * p) for m, p in zip(input.shape[-n:], padding, strict=True)]
        effective = [str(d * (k - 1) + 1) for k, d in zip(kernel, dilation, strict=True)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(padded)}). Kernel size: "
            f"({' x '.join(effective)}). Kernel size can't be greater than actual input size"
        )
    batch = input if input.ndim == n + 2 else unsqueeze(input, 0)
    out = Convolution.apply(batch, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return out if batch is input else squeeze(out, 0)


def _conv_transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    _check(f"conv_transpose{n}d", n, input, weight, bias, groups, transposed=True)
    stride, padding, dilation, extra = (as_tuple(x, n) for x in (stride, padding, dilation, output_padding))
    _need_positive(stride=stride, dilation=dilation)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding {extra}, stride "
            f"{stride}, dilation {dilation}"
        )
    batch = input if input.ndim == n + 2 else unsqueeze(input, 0)
    along = zip(batch.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    sizes = [(m - 1) * s - 2 * p + d * (k - 1) + e + 1 for m, s, p, d, k, e in along]
    if min(sizes) < 1:
        given, made = (" x ".join(map(str, x)) for x in (batch.shape[2:], sizes))
        raise RuntimeError(
            f"Given input size per channel: ({given}). Calculated output size per channel: ({made}). Output size is "
            "too small"
        )
    size = (batch.shape[0], weight.shape[1] * groups, *sizes)
    out = ConvolutionTransposed.apply(batch, weight, bias, size=size, geometry=(stride, padding, dilation, groups))
    return out if batch is input else squeeze(out, 0)


def _conv_of(n):
    def call(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        """Convolve a batch of {what} (N, in, {sizes}) with kernels (out, in/groups, {kernel})."""
        return _conv(n, input, weight, bias, stride, padding, dilation, groups)

    return call


def _conv_transpose_of(n):
    def call(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
    ) -> Tensor:
        """The transpose of conv{n}d: each element is spread over a kernel (in, out/groups, {kernel})."""
        return _conv_transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation)

    return call


conv1d, conv2d, conv3d = by_dimension("conv{n}d", _conv_of, BOTH)
conv_transpose1d, conv_transpose2d, conv_transpose3d = by_dimension("conv_transpose{n}d", _conv_transpose_of, BOTH)


def _patches(op, input, dims, kernel_size, dilation, padding, stride, **settings):
    if input.ndim not in (dims, dims - 1) or 0 in input.shape[1 - dims :]:
        raise RuntimeError(
            f"Expected {dims - 1}D or {dims}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    batch = input if input.ndim == dims else unsqueeze(input, 0)
    kernel_size, dilation, padding, stride = (as_tuple(x, 2) for x in (kernel_size, dilation, padding, stride))
    sizes = settings.get("output_size", tuple(batch.shape[2:]))
    counts, elements = _output_sizes(sizes, kernel_size, stride, padding, dilation), math.prod(kernel_size)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {sizes}, kernel_size={kernel_size}, calculated shape of the array of "
            f"sliding blocks as {counts}, but its components must be at least one."
        )
    if op is Col2Im and (batch.shape[1] % elements or batch.shape[2] != math.prod(counts)):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size={kernel_size}, and of "
            f"dimension 2 to match the calculated number of sliding blocks {' * '.join(map(str, counts))}, but got "
            f"{list(batch.shape)}."
        )
    out = op.apply(batch, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride, **settings)
    return out if batch is input else squeeze(out, 0)


@public(where=NN)
def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """The windows of images (N, C, H, W) as columns: (N, C·kernel elements, positions)."""
    return _patches(Im2Col, input, 4, kernel_size, dilation, padding, stride)


@public(where=NN)
def fold(
    input: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """Images of `output_size`, made by adding each column at the position of its window: the transpose of `unfold`."""
    return _patches(Col2Im, input, 3, kernel_size, dilation, padding, stride, output_size=as_tuple(output_size, 2))
