"""Windows that slide over a tensor (`unfold`), and the node of a view whose storage was written to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...autograd.inplace import view_index
from ...core.graph import Node
from ..binding import method, public
from ..indexing.index import accumulate_at
from ..op import LinearOp, Op, ViewOp
from .shape import axis_of, reshape


class Unfold(ViewOp):
    """Windows of `size` elements along a dimension, `step` apart, as a new last dimension."""

    def forward(self, *, dimension, size, step):
        if not self.ndim:
            return self.reshape(1)[:size]  # the single window of its only element
        windows = np.lib.stride_tricks.sliding_window_view(self, size, dimension, writeable=self.flags.writeable)
        return windows[(slice(None),) * dimension + (slice(None, None, step),)]

    def grad_self(grad, self_sym_sizes, dimension, size, step):
        return Fold.apply(grad, size=self_sym_sizes, dimension=dimension, window=size, step=step)


class Fold(LinearOp, name="UnfoldBackwardBackward0"):
    """Sum windows back to where they came from: the transpose of Unfold."""

    def forward(self, *, size, dimension, window, step):
        out = np.zeros(size or (1,), self.dtype)
        count = self.shape[dimension]
        for k in range(window):
            part = (slice(None),) * dimension + (slice(k, k + (count - 1) * step + 1, step),)
            out[part] += self[..., k]
        return out.reshape(size)

    def grad_self(grad, dimension, window, step):
        return Unfold.apply(grad, dimension=dimension, size=window, step=step)


@public(where=())
def unfold(input: Tensor, dimension: int, size: Any, step: int) -> Tensor:
    """A view of the windows of `size` elements along a dimension, `step` apart, as a new last dimension.

    >>> T.arange(5).unfold(0, size=3, step=1)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """
    axis = axis_of(dimension, input.ndim)
    n = input.shape[axis] if input.ndim else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return Unfold.apply(input, dimension=axis, size=size, step=step)


class AsStrided(Op):
    """The elements `_index` of a tensor. Size, stride and offset are those of the view that shows them."""

    def forward(self, *, size, stride, storage_offset, _index):
        return self.reshape(-1)[_index]

    def grad_self(grad, self_sym_sizes, size, stride, storage_offset, _index):
        whole = accumulate_at(reshape(grad, (-1,)), (math.prod(self_sym_sizes),), (_index.reshape(-1),))
        return reshape(whole, self_sym_sizes)


def _as_strided_node(base: Tensor, view: Tensor) -> Node:
    """The history of a view whose storage was written to: the current base, seen through the view's window."""
    settings = {
        "size": tuple(view.shape),
        "stride": view.stride(),
        "storage_offset": view.storage_offset(),
        "_index": view_index(base._data, view._data),
    }
    return AsStrided.record((base,), settings, (view,))


class WindowsMethods:
    """The methods of Tensor that are defined here."""

    unfold = method(unfold)
    _as_strided_node = _as_strided_node
