"""Padding: with a number, mirrored, repeated, around."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import by_channels
from ...ops.binding import nn_functions, public
from ...ops.op import Op, linear


class ConstantPadNd(Op):
    """Pad with one value; negative widths crop."""

    def forward(self, *, pad, value=0.0):
        out = np.full([n + a + b for n, (a, b) in zip(self.shape, pad, strict=True)], value, self.dtype)
        out[_inner(pad, out.shape)] = self[_inner([(-a, -b) for a, b in pad], self.shape)]
        return by_channels(out, self)

    def grad_self(grad, pad):
        return ConstantPadNd.apply(grad, pad=tuple((-a, -b) for a, b in pad))

    def jvp(tangent, pad):
        return ConstantPadNd.apply(tangent, pad=pad)


def _inner(pad, sizes):
    """The part inside the padding widths, where they are positive."""
    return tuple(slice(max(a, 0), n - max(b, 0)) for (a, b), n in zip(pad, sizes, strict=True))


class _TakePad(Op):
    """Pad with elements of the input: each dimension is indexed by the positions that its values come from."""

    def forward(self, *, padding, _sources):
        return self[np.ix_(*_sources)]

    # Only the input's shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, padding, _sources):
        return _TakePadBack.apply(grad, size=tuple(self.shape), sources=_sources)

    jvp = linear


class _TakePadBack(Op, name="IndexPutBackward1"):
    """Sum repeated elements back to where they came from."""

    def forward(self, *, size, sources):
        out = np.zeros(size, self.dtype)
        np.add.at(out, np.ix_(*sources), self)
        return out

    def grad_self(grad, sources):
        return _TakePad.apply(grad, padding=None, _sources=sources)

    jvp = linear


def _mirrored(self, *, padding, _sources):
    return by_channels(self[np.ix_(*_sources)], self)


def _pad_op(node: str) -> type[Op]:
    # PyTorch builds circular padding by copies, whose results are row-major.
    forward = _TakePad.forward if node.startswith("Circular") else _mirrored
    return type(node, (_TakePad,), {"forward": forward}, name=f"{node}Backward0")


# One node name per mode and number of dimensions.
_PADS = {
    (mode, n): _pad_op(f"{name}{n}D")
    for mode, name in {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}.items()
    for n in (1, 2, 3)
}


@public(where=(nn_functions,), method=False)
def pad(input, pad, mode: str = "constant", value=None) -> Tensor:
    """Pad the last dimensions. `pad` is (before, after) for the last dimension, then for the one before it, and so on.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.pad(T.ones(1, 2), (1, 2))
    tensor([[0., 1., 1., 0., 0.]])
    """
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    count = len(pad) // 2
    if count > input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    pairs = [(0, 0)] * (input.ndim - count) + [(pad[2 * i], pad[2 * i + 1]) for i in reversed(range(count))]
    if mode == "constant":
        return ConstantPadNd.apply(input, pad=tuple(pairs), value=0.0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if input.ndim not in (count + 1, count + 2) or count not in (1, 2, 3):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: pad the last dimensions of a "
            "batch of channels."
        )
    if 0 in (input.shape[1:] if input.ndim == count + 2 else input.shape):
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    if any(n + a + b < 0 for n, (a, b) in zip(input.shape[1:], pairs[1:], strict=True)):
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    sources = []
    for n, (a, b) in zip(input.shape, pairs, strict=True):
        if mode == "reflect" and (a >= n or b >= n) and (a or b):
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({a}, {b}) at dimension of size {n}"
            )
        if mode == "circular" and (a > n or b > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        places = np.arange(-a, n + b)
        if mode == "replicate":
            places = places.clip(0, n - 1)
        elif mode == "circular":
            # Negative widths crop first; circular padding repeats what remains.
            first, last = max(-a, 0), n + min(b, 0)
            places = first + (places - first) % (last - first)
        else:
            places = np.abs(places)
            places = np.where(places >= n, 2 * (n - 1) - places, places)
        sources.append(places)
    return _PADS[mode, count].apply(input, padding=tuple(pad), _sources=tuple(sources))
