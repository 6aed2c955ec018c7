"""Cut images into patches and put them together again (`unfold`, `fold`); change their size (`interpolate`)."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import by_channels, copied
from ...ops.binding import functions, nn_functions, public
from ...ops.op import Op, linear
from ...ops.shapes.permute import transpose
from ...ops.shapes.shape import reshape, squeeze, unsqueeze
from .convolution import as_tuple, places_and_slices, windows

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


class Im2Col(Op, name="Im2ColBackward0"):
    """Each window of the padded image as a column: (N, C, H, W) to (N, C·kernel elements, positions)."""

    def forward(self, *, kernel_size, dilation, padding, stride):
        room = np.pad(self, ((0, 0), (0, 0), *((p, p) for p in padding)))
        counts = _places(self.shape[2:], kernel_size, dilation, padding, stride)
        out = windows(room, 2, kernel_size, counts, stride, dilation).copy()
        return out.reshape(self.shape[0], self.shape[1] * math.prod(kernel_size), math.prod(counts))

    def grad_self(grad, self_sym_sizes, kernel_size, dilation, padding, stride):
        settings = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
        return Col2Im.apply(grad, output_size=self_sym_sizes[2:], **settings)

    jvp = linear


class Col2Im(Op, name="Col2ImBackward0"):
    """The transpose of Im2Col: add each column at the position of its window."""

    def forward(self, *, output_size, kernel_size, dilation, padding, stride):
        n, channels = self.shape[0], self.shape[1] // math.prod(kernel_size)
        counts = _places(output_size, kernel_size, dilation, padding, stride)
        columns = self.reshape(n, channels, *kernel_size, *counts)
        room = np.zeros((n, channels, *(m + 2 * p for m, p in zip(output_size, padding, strict=True))), self.dtype)
        for place, window in places_and_slices(2, *map(tuple, (kernel_size, counts, stride, dilation))):
            room[window] += columns[place]
        inner: Any = (..., *(slice(p, p + m) for m, p in zip(output_size, padding, strict=True)))
        return room[inner].copy()

    def grad_self(grad, kernel_size, dilation, padding, stride):
        return Im2Col.apply(grad, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    jvp = linear


class PixelShuffle(Op):
    """(…, C·r², H, W) to (…, C, H·r, W·r)"""

    def forward(self, *, upscale_factor):
        *leading, channels, height, width = self.shape
        r, n = upscale_factor, len(leading)
        blocks = (copied(self) if r == 1 else self).reshape(*leading, channels // (r * r), r, r, height, width)
        turned = blocks.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
        return by_channels(turned.reshape(*leading, channels // (r * r), height * r, width * r), self)

    def grad_self(grad, upscale_factor):
        return PixelUnshuffle.apply(grad, downscale_factor=upscale_factor)

    jvp = linear


class PixelUnshuffle(Op):
    def forward(self, *, downscale_factor):
        *leading, channels, height, width = self.shape
        r, n = downscale_factor, len(leading)
        blocks = (copied(self) if r == 1 else self).reshape(*leading, channels, height // r, r, width // r, r)
        turned = blocks.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
        return turned.reshape(*leading, channels * r * r, height // r, width // r)

    def grad_self(grad, downscale_factor):
        return PixelShuffle.apply(grad, upscale_factor=downscale_factor)

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
    if 0 in (input.shape[1:] if input.ndim == dims else input.shape):
        raise RuntimeError(
            f"Expected {dims - 1}D or {dims}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(input.shape)}"
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
    if op is Col2Im and batch.shape[1] % elements:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={batch.shape[1]} and kernel_size={settings['kernel_size']}."
        )
    if op is Col2Im and batch.shape[2] != math.prod(counts):
        given = ", ".join(f"{name}={settings[name]}" for name in ("output_size", *pairs))
        raise RuntimeError(
            f"Given {given}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, counts))} = {math.prod(counts)}, but got input.size(2)={batch.shape[2]}."
        )
    out = op.apply(batch, **settings)
    return out if batch is input else squeeze(out, 0)


@public(where=_NN, method=False)
def unfold(input: Tensor, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """The windows of images (N, C, H, W) as columns: (N, C·kernel elements, positions).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.unfold(T.arange(9.0).reshape(1, 1, 3, 3), 2).shape
    tinygrad_edu.Size([1, 4, 4])
    """
    return _patches(Im2Col, input, 4, kernel_size, dilation, padding, stride)


@public(where=_NN, method=False)
def fold(input: Tensor, output_size, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """Images of `output_size`, made by adding each column at the position of its window: the transpose of `unfold`.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.fold(T.ones(1, 4, 4), output_size=(3, 3), kernel_size=(2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _patches(Col2Im, input, 3, kernel_size, dilation, padding, stride, output_size=as_tuple(output_size, 2))


def _need_positive(function, name, factor):
    if factor <= 0:
        raise RuntimeError(f"{function} expects a positive {name}, but got {factor}. 1 leaves an image as it is.")


@public(where=_BOTH, method=False)
def pixel_shuffle(input: Tensor, upscale_factor) -> Tensor:
    """Rearrange (…, C·r², H, W) to (…, C, H·r, W·r): r² channels become r×r pixels.

    >>> import tinygrad_edu as T
    >>> T.pixel_shuffle(T.arange(4.0).reshape(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    _need_positive("pixel_shuffle", "upscale_factor", upscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    channels, r = input.shape[-3], upscale_factor
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    return PixelShuffle.apply(input, upscale_factor=r)


@public(where=_BOTH, method=False)
def pixel_unshuffle(input: Tensor, downscale_factor) -> Tensor:
    """Rearrange (…, C, H·r, W·r) to (…, C·r², H, W): the inverse of `pixel_shuffle`.

    >>> import tinygrad_edu as T
    >>> T.pixel_unshuffle(T.arange(4.0).reshape(1, 1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    _need_positive("pixel_unshuffle", "downscale_factor", downscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    (height, width), r = input.shape[-2:], downscale_factor
    for name, dim, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={size} is not "
                f"divisible by {r}"
            )
    return PixelUnshuffle.apply(input, downscale_factor=r)


@public(where=_BOTH, method=False)
def channel_shuffle(input: Tensor, groups) -> Tensor:
    """Interleave the channels of all groups: (N, groups·C, …) is read as (N, C, groups, …).

    >>> import tinygrad_edu as T
    >>> T.channel_shuffle(T.arange(4).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups < 1:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, channels, *places = input.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    parts = transpose(reshape(input, (n, groups, channels // groups, *places)), 1, 2)
    return reshape(parts, (n, channels, *places))


# An old element that more new ones are made of gets its gradient by sums over stretches, not one by one.
_FEW_TAPS = 12


class Taps:
    """For one dimension: the old elements that make up each new one, (new, taps), -1 for none; and their weights."""

    __slots__ = ("places", "weights")

    def __init__(self, places, weights=None):
        self.places, self.weights = places, weights

    def turned(self, n):
        """Those of the transpose: for each of the `n` old elements the new ones that it is part of."""
        count, taps = self.places.shape
        new, old = np.repeat(np.arange(count), taps), self.places.ravel()
        weights = np.ones(len(old)) if self.weights is None else self.weights.ravel()
        used = np.flatnonzero(old >= 0)
        # An element that a new one is made of twice counts once, with both weights.
        pairs, place = np.unique(old[used] * count + new[used], return_inverse=True)
        weights = np.bincount(place, weights[used], len(pairs))
        old, new = np.divmod(pairs, count)
        uses = np.bincount(old, minlength=n)
        seat = np.arange(len(pairs)) - np.repeat(np.cumsum(uses) - uses, uses)
        places, shares = np.full((n, max(1, uses.max(initial=0))), -1), np.zeros((n, max(1, uses.max(initial=0))))
        places[old, seat], shares[old, seat] = new, weights
        return Taps(places, shares)


class Resample(Op, name="UpsampleBackward0"):
    """Resample dimensions, starting with the last: each new element is a weighted sum of old ones. `ways` holds their `Taps`."""

    def forward(self, *, ways, size):
        out = self
        for back, way in enumerate(reversed(ways), start=1):
            axis = self.ndim - back
            if (way.places < 0).any():
                out = np.concatenate([out, np.zeros_like(np.take(out, [0], axis))], axis)  # -1 refers to it
            out = _summed(out, way, axis, back)
        return by_channels(out, self)

    jvp = linear


def _summed(array, way, axis, back):
    total = None
    for t in range(way.places.shape[1]):
        part = np.take(array, way.places[:, t], axis)
        if way.weights is not None:
            part = part * way.weights[:, t].astype(array.dtype).reshape(-1, *(1,) * (back - 1))
        total = part if total is None else total + part
    return total


class Spread(Op, name="UpsampleBackwardBackward0"):
    """The transpose of `Resample`: distribute each new element's gradient to the old elements that it was made from."""

    def forward(self, *, ways, size):
        turned = [way.turned(n) for way, n in zip(ways, size[-len(ways) :], strict=True)]
        if max(way.places.shape[1] for way in turned) <= _FEW_TAPS:
            return Resample.forward(self, ways=turned, size=None)
        out = self
        for back, way in enumerate(reversed(ways), start=1):
            axis = self.ndim - back
            room = np.zeros((*out.shape[:axis], size[axis], *out.shape[axis + 1 :]), self.dtype)
            for t in range(way.places.shape[1]):
                part = out
                if way.weights is not None:
                    part = out * way.weights[:, t].astype(out.dtype).reshape(-1, *(1,) * (back - 1))
                _add_at(room, axis, way.places[:, t], part)
            out = room
        return out

    jvp = linear


def _add_at(room, axis, places, values):
    """Add the slices of `values` to those of `room` at `places`, which are ascending; -1 means no place."""
    if (places < 0).any():
        values, places = np.compress(places >= 0, values, axis), places[places >= 0]
    if not len(places):
        return
    different, first = np.unique(places, return_index=True)
    room[(slice(None),) * axis + (different,)] += np.add.reduceat(values, first, axis)


def told(function, given, settings=()):
    """`function` with a signature of these names: what a rule asks for is saved, and shown by the node, under its name."""
    kinds = ((given, inspect.Parameter.POSITIONAL_OR_KEYWORD), (settings, inspect.Parameter.KEYWORD_ONLY))
    function.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for names, kind in kinds for n in names])
    return function


def _resampler(kind, n):
    """The op of one mode, and its transpose, with the names and attributes of PyTorch's nodes."""
    scales = ("scales",) if n == 1 else ("scales_d", "scales_h", "scales_w")[3 - n :]
    shown = ("output_size", *(() if "Nearest" in kind else ("align_corners",)), *scales)

    class Forward(Resample, name=f"Upsample{kind}Backward0"):
        def forward(self, *, _ways, **about):
            return Resample.forward(self, ways=_ways, size=None)

        def grad_self(grad, size, *about):
            return Backward.apply(grad, _ways=about[-1], _size=size)

        forward = told(forward, ("self",), (*shown, "_ways"))
        grad_self = told(grad_self, ("grad", "self_sym_sizes", *shown, "_ways"))

    class Backward(Spread, name=f"Upsample{kind}BackwardBackward0"):
        def forward(self, *, _ways, _size):
            return Spread.forward(self, ways=_ways, size=_size)

        def grad_self(grad, _ways, _size):
            return Forward.apply(grad, _ways=_ways, **dict.fromkeys(shown))

    return Forward


_RESAMPLERS = {
    (mode, n): _resampler(kind, n)
    for mode, n, kind in (
        ("nearest", 1, "Nearest1D"), ("nearest", 2, "Nearest2D"), ("nearest", 3, "Nearest3D"),
        ("nearest-exact", 1, "NearestExact1D"), ("nearest-exact", 2, "NearestExact2D"), ("nearest-exact", 3, "NearestExact3D"),
        ("linear", 1, "Linear1D"), ("bilinear", 2, "Bilinear2D"), ("trilinear", 3, "Trilinear3D"), ("bicubic", 2, "Bicubic2D"),
        ("bilinear antialias", 2, "Bilinear2DAa"), ("bicubic antialias", 2, "Bicubic2DAa"),
    )
}  # fmt: skip


def _refuse_nothing(old, new):
    """Refuse to resize from or to a size that is not positive."""
    if min(*old, *new) <= 0:
        said = [
            ", ".join(f"{side}: {n}" for side, n in zip("DHW"[3 - len(new) :], sizes, strict=True))
            for sizes in (old, new)
        ]
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({said[0]}) and output ({said[1]})"
        )


@public(where=_NN, method=False)
def interpolate(
    input: Tensor,
    size=None,
    scale_factor=None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor=None,
    antialias: bool = False,
) -> Tensor:
    """Resize sequences (N, C, L), images (N, C, H, W) or volumes.

    Modes: "nearest" and "nearest-exact" repeat pixels; "linear", "bilinear" and "trilinear" interpolate linearly;
    "bicubic" uses cubic curves; "area" averages.

    Raises:
        NotImplementedError: the mode does not support this number of dimensions.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.interpolate(T.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    n = input.ndim - 2
    near = mode in ("nearest", "nearest-exact")
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined, and one of them has to be")
    if (near or mode == "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic"
        )
    if antialias and (mode not in ("bilinear", "bicubic") or n != 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if mode != "area" and (mode, n) not in _RESAMPLERS:
        if mode == "lanczos":
            raise NotImplementedError(
                "interpolate with mode='lanczos' is not built: use 'bicubic' with antialias=True."
            )
        needs = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode)
        if needs and n in (1, 2, 3):
            raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {needs}D input")
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if not near and input._data.dtype.kind not in "fV":
        raise NotImplementedError(
            f"\"upsample_{mode}\" not implemented for '{input.dtype.legacy_name}'. Convert first: t.float(), then round() the result."
        )
    if size is None:
        factors = (scale_factor,) * n if isinstance(scale_factor, int | float) else tuple(scale_factor)
        sizes = [math.floor(m * f) for m, f in zip(input.shape[2:], factors, strict=True)]
    else:
        # A size may be a tensor of one number, as `torch.randint` gives it.
        sizes, factors = tuple(int(s) for s in as_tuple(size, n)), (None,) * n  # type: ignore[assignment]
    if mode == "area":
        pool = nn_functions[f"adaptive_avg_pool{n}d"]
        return pool(input, tuple(sizes) if n > 1 else sizes[0])
    _refuse_nothing(input.shape[2:], sizes)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor:
        factors = (None,) * n
    ways = []
    for old, new, factor in zip(input.shape[2:], sizes, factors, strict=True):
        step = old / new if factor is None else 1 / factor
        if near:
            # In single precision, as in PyTorch: when a position lies halfway between two pixels, the last bit decides.
            shift = np.float32(0.5 if mode == "nearest-exact" else 0)
            at = (np.arange(new, dtype=np.float32) + shift) * np.float32(step)
            ways.append(Taps(np.minimum(np.floor(at).astype(np.int64), old - 1)[:, None]))
        elif antialias:
            ways.append(_wide(old, new, step, align_corners, mode == "bicubic"))
        elif mode == "bicubic":
            ways.append(_curves(old, new, step, align_corners))
        else:
            ways.append(_lines(old, new, step, align_corners))
    op = _RESAMPLERS[mode + " antialias" if antialias else mode, n]
    about: dict[str, Any] = {} if near else {"align_corners": bool(align_corners)}
    names = ("scales",) if n == 1 else ("scales_d", "scales_h", "scales_w")[3 - n :]
    about |= {name: None if f is None else float(f) for name, f in zip(names, factors, strict=True)}
    return op.apply(input, output_size=tuple(sizes), _ways=tuple(ways), **about)


def _places_between(old, new, step, align_corners):
    """The positions of the new pixels' centers among the old pixels."""
    if align_corners:
        return np.arange(new) * ((old - 1) / (new - 1) if new > 1 else 0.0)
    return (np.arange(new) + 0.5) * step - 0.5


def _lines(old, new, step, align_corners):
    """The weights of the `old` pixels for each of the `new` ones, by linear interpolation between the pixels' centers."""
    at = np.maximum(_places_between(old, new, step, align_corners), 0)
    before = np.minimum(at.astype(np.int64), old - 1)
    share = at - before
    return Taps(np.stack([before, np.minimum(before + 1, old - 1)], 1), np.stack([1 - share, share], 1))


def _cubic(x, a):
    """Keys' cubic kernel: 1 at 0, 0 at all other integers, smooth between them, 0 from 2 on."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _curves(old, new, step, align_corners):
    """As `_lines`, with a cubic through four pixels; pixels beyond the edge repeat those at the edge."""
    at = _places_between(old, new, step, align_corners)[:, None]
    places = np.floor(at).astype(np.int64) + np.arange(-1, 3)
    return Taps(np.clip(places, 0, old - 1), _cubic(at - places, -0.75))


def _wide(old, new, step, align_corners, cubic):
    """As `_lines` and `_curves`, with a kernel that widens as the image shrinks, so that every pixel counts."""
    if align_corners:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
    widen = max(step, 1.0)
    reach = (2.0 if cubic else 1.0) * widen
    middle = step * (np.arange(new) + 0.5)
    start = np.maximum((middle - reach + 0.5).astype(np.int64), 0)
    end = np.minimum((middle + reach + 0.5).astype(np.int64), old)
    places = start[:, None] + np.arange((end - start).max(initial=1))
    x = (places - middle[:, None] + 0.5) / widen
    weights = np.where(places < end[:, None], _cubic(x, -0.5) if cubic else np.maximum(1 - np.abs(x), 0), 0.0)
    return Taps(np.where(places < end[:, None], places, -1), weights / weights.sum(1, keepdims=True))


@public(where=_NN, method=False)
def upsample(
    input: Tensor, size=None, scale_factor=None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The older name of `interpolate`.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.upsample(T.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


@public(where=_NN, method=False)
def upsample_nearest(input: Tensor, size=None, scale_factor=None) -> Tensor:
    """The older name of `interpolate` with mode "nearest".

    >>> import tinygrad_edu as T
    >>> T.nn.functional.upsample_nearest(T.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        UserWarning,
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, "nearest")


@public(where=_NN, method=False)
def upsample_bilinear(input: Tensor, size=None, scale_factor=None) -> Tensor:
    """The older name of `interpolate` with mode "bilinear" and aligned corners.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.upsample_bilinear(T.tensor([[[[1.0, 3.0]]]]), size=(1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        UserWarning,
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, "bilinear", True)
