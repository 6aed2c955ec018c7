"""Windows that slide over a tensor, and their way back."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.op import Op, linear
from ...ops.shapes.shape import axis_of


class Unfold(Op):
    """Windows of `size` elements along a dimension, `step` apart, as a new last dimension."""

    view = True

    def forward(self, *, dimension, size, step):
        if not self.ndim:
            # A 0-d tensor has a single window: its only element.
            return self.reshape(1)[:size]
        windows = np.lib.stride_tricks.sliding_window_view(self, size, dimension, writeable=self.flags.writeable)
        return windows[(slice(None),) * dimension + (slice(None, None, step),)]

    def grad_self(grad, self_sym_sizes, dimension, size, step):
        return Fold.apply(grad, size=self_sym_sizes, dimension=dimension, window=size, step=step)

    jvp = linear


class Fold(Op, name="UnfoldBackwardBackward0"):
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

    jvp = linear


@public(where=())
def unfold(input, dimension, size, step) -> Tensor:
    """A view of the windows of `size` elements along a dimension, `step` apart, as a new last dimension.

    >>> import tinygrad_edu as T
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
