"""Padding: with a number, mirrored, repeated, around."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..binding import NN, public
from ..op import Op
from .resampling import Taps, resampler


class ConstantPadNd(Op):
    """Pad with one value; negative widths crop."""

    def forward(self, *, pad, value=0.0):
        out = np.full([n + a + b for n, (a, b) in zip(self.shape, pad, strict=True)], value, self.dtype)
        out[_inner(pad, out.shape)] = self[_inner([(-a, -b) for a, b in pad], self.shape)]
        return out

    def grad_self(grad, pad):
        return ConstantPadNd.apply(grad, pad=tuple((-a, -b) for a, b in pad))

    def jvp(tangent, pad):
        return ConstantPadNd.apply(tangent, pad=pad)


def _inner(pad, sizes):
    """The part inside the padding widths, where they are positive."""
    return tuple(slice(max(a, 0), n - max(b, 0)) for (a, b), n in zip(pad, sizes, strict=True))


_NAMES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}
_PADS = {(mode, n): resampler(f"{name}{n}D", keeps_input=True) for mode, name in _NAMES.items() for n in (1, 2, 3)}


def _sources(mode, n, before, after):
    """The positions that the elements of a padded dimension come from."""
    places = np.arange(-before, n + after)
    if mode == "replicate":
        return places.clip(0, n - 1)
    if mode == "circular":
        if before > n or after > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        # Negative widths crop first; circular padding repeats what remains.
        first, last = max(-before, 0), n + min(after, 0)
        return first + (places - first) % (last - first)
    if (before >= n or after >= n) and (before or after):
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension of size {n}"
        )
    places = np.abs(places)
    return np.where(places >= n, 2 * (n - 1) - places, places)


@public(where=NN)
def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Pad the last dimensions. `pad` is (before, after) for the last dimension, then for the one before it, and so on.

    >>> T.nn.functional.pad(T.ones(1, 2), (1, 2))
    tensor([[0., 1., 1., 0., 0.]])
    """
    count = len(pad) // 2
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if count > input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    pairs = [(0, 0)] * (input.ndim - count) + [(pad[2 * i], pad[2 * i + 1]) for i in reversed(range(count))]
    if any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(input.shape, pairs, strict=True)):
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if mode == "constant":
        return ConstantPadNd.apply(input, pad=tuple(pairs), value=0.0 if value is None else value)
    if mode not in _NAMES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if input.ndim not in (count + 1, count + 2) or count not in (1, 2, 3):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: pad the last dimensions of a "
            "batch of channels."
        )
    if 0 in input.shape[input.ndim - count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    along = zip(input.shape[-count:], pairs[-count:], strict=True)
    return _PADS[mode, count].apply(input, ways=tuple(Taps(_sources(mode, n, a, b)[:, None]) for n, (a, b) in along))
