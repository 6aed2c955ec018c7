"""Change sizes by tables of taps (`interpolate`).

Resampling works dimension by dimension: a table says which old elements make up each new one, and with which weights.
The means of pooling and the mirrored edges of padding are tables too.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...array.tensor import Tensor
from ..arrays import bincount
from ..binding import NN, nn_functions, public
from ..op import LinearOp, Op


class Taps(NamedTuple):
    """For one dimension: the old elements that make up each new one, (new, taps), -1 for none, and their weights.

    In place of weights it has what their sum is divided by, where all count alike.
    """

    places: np.ndarray
    weights: np.ndarray | None = None
    divisors: np.ndarray | None = None

    def turned(self, n: int) -> Taps:
        """The transpose: for each of the `n` old elements the new ones that it is part of."""
        count, taps = self.places.shape
        new, old = np.repeat(np.arange(count), taps), self.places.ravel()
        weights = np.repeat(np.ones(count) if self.divisors is None else 1 / self.divisors, taps)
        weights = weights if self.weights is None else self.weights.ravel()
        used = np.flatnonzero(old >= 0)
        # An element that a new one is made of twice counts once, with both weights.
        pairs, index = np.unique(old[used] * count + new[used], return_inverse=True)
        old, new = np.divmod(pairs, count)
        uses = bincount(old, minlength=n)
        tap = np.arange(len(pairs)) - np.repeat(np.cumsum(uses) - uses, uses)
        places, shares = np.full((n, max(1, uses.max(initial=0))), -1), np.zeros((n, max(1, uses.max(initial=0))))
        places[old, tap], shares[old, tap] = new, bincount(index, weights[used], len(pairs))
        return Taps(places, shares)


def take(array: Any, places: Any, axis: Any) -> Any:
    """np.take, as a view where the places lie evenly apart."""
    step = int(places[1] - places[0]) if len(places) > 1 else 1
    if len(places) and places[0] >= 0 and step > 0 and (np.diff(places) == step).all():
        return array[(slice(None),) * axis + (slice(int(places[0]), int(places[-1]) + 1, step),)]
    return np.take(array, places, axis)


def batch_last(array: Any) -> Any:
    """A view (channels, …, N): of a copy, where images lie a power of two apart, of which the cache holds few."""
    if array.strides[0] % 1024 == 0 and array.shape[0] > 8 and array.flags.c_contiguous:
        n, size = array.shape[0], math.prod(array.shape[1:])
        apart = np.empty((n, size + 16), array.dtype)[:, :size]
        apart[...] = array.reshape(n, size)
        return apart.T.reshape(*array.shape[1:], n)
    return array.transpose(*range(1, array.ndim), 0)


def batch_first(array: Any) -> Any:
    return array.transpose(-1, *range(array.ndim - 1))


def turned(array: Any, dims: Any) -> Any:
    """`array` with its last `dims` dimensions first, where that makes longer rows, and the axis at which they start."""
    leading = array.ndim - dims
    if math.prod(array.shape[:leading]) <= array.shape[-1]:
        return array, leading
    return np.ascontiguousarray(batch_last(array.reshape(-1, *array.shape[leading:]))), 0


def turned_back(array: Any, leading: Any) -> Any:
    """What `turned` changed, in row-major order, with the leading dimensions of these sizes."""
    return np.ascontiguousarray(batch_first(array)).reshape(*leading, *array.shape[:-1])


class Resample(LinearOp, name="ResampleBackward0"):
    """Each new element is a weighted sum of old ones, along the last dimensions. `ways` holds the `Taps` of each."""

    def forward(self, *, ways):
        # Sums of float16 are rounded once, at the end; means of integers are cut off, as in PyTorch.
        divisors = [way.divisors for way in ways if way.divisors is not None]
        is_sum = self.dtype.char not in "fd" and (divisors or any(way.weights is not None for way in ways))
        out = self.astype(np.float32 if self.dtype.kind == "f" else np.float64) if is_sum else self
        start = self.ndim - len(ways)
        if self.size and any(way.places.shape[1] > 1 for way in ways):
            out, start = turned(out, len(ways))
        for axis, (places, weights, _) in enumerate(ways, start):
            if (places < 0).any():  # -1 refers to a zero that is appended
                out = np.concatenate([out, np.zeros((*out.shape[:axis], 1, *out.shape[axis + 1 :]), out.dtype)], axis)
            shape = (-1, *(1,) * (out.ndim - axis - 1))
            total = None
            for tap in range(places.shape[1]):
                part = take(out, places[:, tap], axis)
                if weights is not None:
                    part = part * weights[:, tap].astype(out.dtype).reshape(shape)
                total = part if total is None else np.add(total, part, out=total if tap > 1 else None)
            out = total
        if start == 0 < self.ndim - len(ways):
            out = turned_back(out, self.shape[: -len(ways)])
        if divisors:
            out = out / functools.reduce(np.multiply.outer, divisors).astype(out.dtype)
        return out.astype(self.dtype, order="C", copy=np.may_share_memory(out, self))


class Spread(LinearOp, name="ResampleBackwardBackward0"):
    """The transpose of `Resample`: each new element's gradient goes to the old elements that it was made from."""

    def forward(self, *, size, ways):
        turned = [way.turned(n) for way, n in zip(ways, size[len(size) - len(ways) :], strict=True)]
        return Resample.forward(self, ways=turned)


def resampler(kind: str, keeps_input: bool = False) -> type[Op]:
    """The op of a kind, with PyTorch's node names. It saves its input if PyTorch does, though only for the shape."""

    def grad_self(grad, self_sym_sizes, ways):
        return backward.apply(grad, size=self_sym_sizes, ways=ways)

    def grad_of_kept(grad, self, ways):
        return backward.apply(grad, size=tuple(self.shape), ways=ways)

    def grad_again(grad, ways):
        return op.apply(grad, ways=ways)

    rules = {"forward": Resample.forward, "grad_self": grad_of_kept if keeps_input else grad_self}
    op = type(kind, (Resample,), rules, name=f"{kind}Backward0")
    rules = {"forward": Spread.forward, "grad_self": grad_again}
    backward = type(f"{kind}Backward", (Spread,), rules, name=f"{kind}BackwardBackward0")
    return op


_RESAMPLERS = {
    (mode, n): resampler(f"Upsample{kind}{n}D")
    for mode, kind, dims in (
        ("nearest", "Nearest", (1, 2, 3)),
        ("nearest-exact", "NearestExact", (1, 2, 3)),
        ("linear", "Linear", (1,)),
        ("bilinear", "Bilinear", (2,)),
        ("trilinear", "Trilinear", (3,)),
    )
    for n in dims
}


def _nearest(old, new, step, shift):
    # In single precision, as in PyTorch: when a position lies halfway between two pixels, the last bit decides.
    at = (np.arange(new, dtype=np.float32) + np.float32(shift)) * np.float32(step)
    return Taps(np.minimum(np.floor(at).astype(np.int64), old - 1)[:, None])


def _lines(old, new, step, align_corners):
    """The weights of the `old` pixels for each of the `new` ones, by linear interpolation between their centers."""
    if align_corners:
        at = np.arange(new) * ((old - 1) / (new - 1) if new > 1 else 0.0)
    else:
        at = np.maximum((np.arange(new) + 0.5) * step - 0.5, 0)
    before = np.minimum(at.astype(np.int64), old - 1)
    share = at - before
    return Taps(np.stack([before, np.minimum(before + 1, old - 1)], 1), np.stack([1 - share, share], 1))


@public(where=NN)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Tensor:
    """Resize sequences (N, C, L), images (N, C, H, W) or volumes.

    Modes: "nearest" and "nearest-exact" repeat pixels; "linear", "bilinear" and "trilinear" interpolate linearly;
    "area" averages.

    Raises:
        NotImplementedError: the mode does not support this number of dimensions.

    >>> T.nn.functional.interpolate(T.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    n, near = input.ndim - 2, mode in ("nearest", "nearest-exact")
    _check_mode(input, mode, align_corners, antialias)
    old = input.shape[2:]
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined, and one of them has to be")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    # A size may be a tensor of one number, as `torch.randint` gives it.
    numbers = scale_factor if size is None else size
    numbers = tuple(numbers) if isinstance(numbers, tuple | list) else (numbers,) * n
    if len(numbers) != n:
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got {n} and {len(numbers)}."
        )
    sizes = (
        [math.floor(m * f) for m, f in zip(old, numbers, strict=True)] if size is None else [int(m) for m in numbers]
    )
    if mode == "area":  # by name, as pooling is made of resampling
        return nn_functions[f"adaptive_avg_pool{n}d"](input, tuple(sizes) if n > 1 else sizes[0])
    if min(*old, *sizes) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(old)} and output {sizes}"
        )
    ways = []
    for o, m, factor in zip(old, sizes, numbers, strict=True):
        step = 1 / factor if size is None and not recompute_scale_factor else o / m
        ways.append(_nearest(o, m, step, 0.5 * (mode != "nearest")) if near else _lines(o, m, step, align_corners))
    return _RESAMPLERS[mode, n].apply(input, ways=tuple(ways))


def _check_mode(input, mode, align_corners, antialias):
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | trilinear"
        )
    if antialias or mode in ("bicubic", "lanczos"):
        raise NotImplementedError(
            "interpolate with mode='bicubic' or antialias=True is not here: use mode='bilinear', or run this line on "
            "PyTorch."
        )
    if input.ndim not in (3, 4, 5) or (mode != "area" and (mode, input.ndim - 2) not in _RESAMPLERS):
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs another one: nearest and area take 3D, 4D or 5D input, "
            "linear needs 3D, bilinear 4D and trilinear 5D."
        )
    if input.value.dtype.kind != "f" and (mode, input.dtype.name) not in (
        ("nearest", "uint8"),
        ("nearest-exact", "uint8"),
    ):
        raise NotImplementedError(
            f"\"upsample_{mode}\" not implemented for '{input.dtype.legacy_name}'. Convert first: t.float(), then "
            "round() the result."
        )
