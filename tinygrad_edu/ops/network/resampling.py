"""Images cut into patches and put together again, and brought to another size."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ...tensor import wrap
from ..binding import functions, nn_functions, public
from ..indexing.gather import index_select
from ..linalg.matmul import matmul
from ..op import Op, linear
from ..shapes.permute import permute, transpose
from ..shapes.shape import reshape, squeeze, unsqueeze
from .convolution import _window, as_tuple

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


class Im2Col(Op, name="Im2ColBackward0"):
    """(N, C, H, W) to (N, C·kernel elements, places): each window of the padded image as a column."""

    def forward(self, *, kernel_size, dilation, padding, stride):
        room = np.pad(self, ((0, 0), (0, 0), *((p, p) for p in padding)))
        counts = _places(self.shape[2:], kernel_size, dilation, padding, stride)
        out = np.empty((*self.shape[:2], *kernel_size, *counts), self.dtype)
        for offsets in itertools.product(*map(range, kernel_size)):
            out[(slice(None), slice(None), *offsets)] = room[(..., *_window(offsets, counts, stride, dilation))]
        return out.reshape(self.shape[0], self.shape[1] * math.prod(kernel_size), math.prod(counts))

    def grad_self(grad, self_sym_sizes, kernel_size, dilation, padding, stride):
        settings = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
        return Col2Im.apply(grad, output_size=self_sym_sizes[2:], **settings)

    jvp = linear


class Col2Im(Op, name="Col2ImBackward0"):
    """The transpose of Im2Col: columns are added where their windows lie."""

    def forward(self, *, output_size, kernel_size, dilation, padding, stride):
        n, channels = self.shape[0], self.shape[1] // math.prod(kernel_size)
        counts = _places(output_size, kernel_size, dilation, padding, stride)
        columns = self.reshape(n, channels, *kernel_size, *counts)
        room = np.zeros((n, channels, *(m + 2 * p for m, p in zip(output_size, padding, strict=True))), self.dtype)
        for offsets in itertools.product(*map(range, kernel_size)):
            window = (..., *_window(offsets, counts, stride, dilation))
            room[window] += columns[(slice(None), slice(None), *offsets)]
        return room[(..., *(slice(p, p + m) for m, p in zip(output_size, padding, strict=True)))].copy()

    def grad_self(grad, kernel_size, dilation, padding, stride):
        return Im2Col.apply(grad, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    jvp = linear


def _places(sizes, kernel_size, dilation, padding, stride):
    """How many windows there are along each dimension."""
    return tuple(
        (m + 2 * p - d * (k - 1) - 1) // s + 1
        for m, k, d, p, s in zip(sizes, kernel_size, dilation, padding, stride, strict=True)
    )


# --- functions -------------------------------------------------------------------------------------------------------


def _patches(op, input, dims, kernel_size, dilation, padding, stride, **settings):
    if input.ndim not in (dims, dims - 1):
        raise RuntimeError(
            f"Expected {dims - 1}D or {dims}D (batch mode) tensor, but got {input.ndim}D: {list(input.shape)}"
        )
    batch = input if input.ndim == dims else unsqueeze(input, 0)
    pairs = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    settings |= {name: as_tuple(value, 2) for name, value in pairs.items()}
    sizes = settings.get("output_size", tuple(batch.shape[2:]))
    counts = _places(sizes, *(settings[name] for name in pairs))
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {sizes}, kernel_size={settings['kernel_size']}, calculated shape of the array of "
            f"sliding blocks as {counts}, but its components must be at least one."
        )
    elements = math.prod(settings["kernel_size"])
    if op is Col2Im and (batch.shape[1] % elements or batch.shape[2] != math.prod(counts)):
        raise RuntimeError(
            f"Given output_size={sizes} and kernel_size={settings['kernel_size']}, expected {math.prod(counts)} columns with a "
            f"multiple of {elements} elements, but got input of size {list(input.shape)}"
        )
    out = op.apply(batch, **settings)
    return out if batch is input else squeeze(out, 0)


@public(where=_NN, method=False)
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images (N, C, H, W) as columns: (N, C·kernel elements, places)."""
    return _patches(Im2Col, input, 4, kernel_size, dilation, padding, stride)


@public(where=_NN, method=False)
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Images of `output_size`, to which each column is added where its window lies: the transpose of `unfold`."""
    return _patches(Col2Im, input, 3, kernel_size, dilation, padding, stride, output_size=as_tuple(output_size, 2))


@public(where=_BOTH, method=False)
def pixel_shuffle(input, upscale_factor):
    """(…, C·r², H, W) to (…, C, H·r, W·r): the channels of a pixel become r×r pixels."""
    *leading, channels, height, width = input.shape
    r = upscale_factor
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(leading)
    blocks = reshape(input, (*leading, channels // (r * r), r, r, height, width))
    turned = permute(blocks, (*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return reshape(turned, (*leading, channels // (r * r), height * r, width * r))


@public(where=_BOTH, method=False)
def pixel_unshuffle(input, downscale_factor):
    """(…, C, H·r, W·r) to (…, C·r², H, W): the inverse of `pixel_shuffle`."""
    *leading, channels, height, width = input.shape
    r = downscale_factor
    if height % r or width % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got {r}")
    n = len(leading)
    blocks = reshape(input, (*leading, channels, height // r, r, width // r, r))
    turned = permute(blocks, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return reshape(turned, (*leading, channels * r * r, height // r, width // r))


@public(where=_BOTH, method=False)
def channel_shuffle(input, groups):
    """The channels of all groups in turn: (N, groups·C, …) read as (N, C, groups, …)."""
    n, channels, *places = input.shape
    parts = transpose(reshape(input, (n, groups, channels // groups, *places)), 1, 2)
    return reshape(parts, (n, channels, *places))


@public(where=_NN, method=False)
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Sequences (N, C, L) or images (N, C, H, W) in another size: each pixel repeated ("nearest"), or lines between them.

    Raises:
        NotImplementedError: another mode than "nearest", "linear" or "bilinear".
    """
    n = input.ndim - 2
    if mode not in ("nearest", {1: "linear", 2: "bilinear"}.get(n)) or antialias:
        raise NotImplementedError(
            f"interpolate: mode={mode!r} of a {input.ndim}-D input is not built. There are 'nearest', 'linear' (3-D) and "
            "'bilinear' (4-D)."
        )
    if mode != "nearest" and input._data.dtype.kind != "f":
        raise NotImplementedError(
            f"\"upsample_{mode}\" not implemented for '{input.dtype.legacy_name}'. Convert first: t.float(), and round() after."
        )
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined, and one of them has to be")
    if mode == "nearest" and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear")
    if size is None:
        factors = (scale_factor,) * n if isinstance(scale_factor, int | float) else tuple(scale_factor)
        sizes = [math.floor(m * f) for m, f in zip(input.shape[2:], factors, strict=True)]
    else:
        sizes, factors = as_tuple(size, n), (None,) * n
    if recompute_scale_factor:
        factors = (None,) * n
    for d, (new, factor) in enumerate(zip(sizes, factors, strict=True), start=2):
        old = input.shape[d]
        step = old / new if factor is None else 1 / factor
        if mode == "nearest":
            places = np.minimum(np.floor(np.arange(new) * step).astype(np.int64), old - 1)
            input = index_select(input, d, wrap(places))
        else:
            weights = wrap(_lines(old, new, step, align_corners).astype(input._data.dtype))
            # The last dimension is a product from the right, the one before it from the left.
            input = matmul(input, transpose(weights, 0, 1)) if d == n + 1 else matmul(weights, input)
    return input


def _lines(old, new, step, align_corners):
    """How much each of `old` pixels counts for each of `new` ones, between whose middles a line is drawn."""
    if align_corners:
        at = np.arange(new) * ((old - 1) / (new - 1) if new > 1 else 0.0)
    else:
        at = np.maximum((np.arange(new) + 0.5) * step - 0.5, 0)
    before = np.minimum(at.astype(np.int64), old - 1)
    share = at - before
    out = np.zeros((new, old))
    out[np.arange(new), before] += 1 - share
    out[np.arange(new), np.minimum(before + 1, old - 1)] += share
    return out


@public(where=_NN, method=False)
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The older name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)
