"""Dropout of elements, and of whole channels."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor, wrap
from ..binding import BOTH, NN, public
from ..creation.random import chance
from ..operands import refuse_cast
from ..shapes.shape import squeeze, unsqueeze


def _dropped(input, p, training, inplace, shape):
    """`input` times random numbers of this shape: 0 with probability p, otherwise 1/(1 - p)."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not input.numel():
        return input
    refuse_cast(np.float32(p), input.dtype)
    like = np.zeros_like(input._data) if shape == input.shape else np.zeros(shape, input.value.dtype)
    scale = wrap((chance(like, 1 - p) / (1 - p)).astype(like.dtype, copy=False) if p < 1 else like)
    return input.mul_(scale) if inplace else input * scale


@public(where=BOTH)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each element with probability `p` and divide the others by 1 - p."""
    return _dropped(input, p, training, inplace, input.shape)


def _dropped_channels(dims, input, p, training, inplace):
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"dropout{dims}d: Expected {dims + 1}D or {dims + 2}D input, but received a {input.ndim}D input. Give (N, "
            "C, …), or one example, (C, …)."
        )
    batch = input if input.ndim == dims + 2 else unsqueeze(input, 0)
    out = _dropped(batch, p, training, inplace, (*batch.shape[:2], *(1,) * dims))
    return out if batch is input else squeeze(out, 0)


@public(where=NN)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels, for sequences (N, C, L)."""
    return _dropped_channels(1, input, p, training, inplace)


@public(where=NN)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels, for images (N, C, H, W)."""
    return _dropped(input, p, training, inplace, (*input.shape[:2], *(1,) * (input.ndim - 2)))


@public(where=NN)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels, for volumes (N, C, D, H, W)."""
    return _dropped_channels(3, input, p, training, inplace)
