"""A tensor, repeated."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.op import Op, linear
from ...ops.shapes.shape import SumToSize, as_sizes, reshape


class Repeat(Op):
    """Copies side by side: `repeats` of them along each dimension."""

    def forward(self, *, repeats):
        return np.tile(self, repeats) if 0 not in repeats else np.zeros(_repeated(self.shape, repeats), self.dtype)

    # Make each repetition a separate dimension, and sum the gradient over it.
    def grad_self(grad, self_sym_sizes, repeats):
        leading = len(repeats) - len(self_sym_sizes)
        sizes = (1,) * leading + tuple(self_sym_sizes)
        split = reshape(grad, tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair))
        summed = SumToSize.apply(split, size=tuple(n for size in sizes for n in (1, size)))
        return reshape(summed, self_sym_sizes)

    jvp = linear


def _repeated(sizes, repeats):
    leading = len(repeats) - len(sizes)
    return tuple(n * r for n, r in zip((1,) * leading + tuple(sizes), repeats, strict=True))


@public(where=())
def repeat(input, *repeats) -> Tensor:
    """Repeat the tensor `repeats` times along each dimension (extra numbers add dimensions in front).

    >>> import tinygrad_edu as T
    >>> T.tensor([1, 2]).repeat(2)
    tensor([1, 2, 1, 2])
    """
    repeats = as_sizes(repeats)
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return Repeat.apply(input, repeats=repeats)
