"""Repeat elements: `repeat`, `tile`, `repeat_interleave`, `meshgrid`."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor, wrap
from ..binding import public
from ..creation.copies import contiguous_clone
from ..indexing.gather import index_select
from ..op import Op, linear
from .shape import SumToSize, as_sizes, axis_of, expand, reshape, unsqueeze


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


# --- functions -------------------------------------------------------------------------------------------------------


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


@public()
def tile(input, *dims) -> Tensor:
    """As `repeat`, but `dims` may be shorter: the dimensions in front are then not repeated.

    >>> import tinygrad_edu as T
    >>> T.tile(T.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    dims = as_sizes(dims)
    return Repeat.apply(input, repeats=(1,) * (input.ndim - len(dims)) + dims)


@public()
def repeat_interleave(input, repeats, dim=None, *, output_size=None) -> Tensor:
    """Repeat each element, or each slice along `dim`, `repeats` times in place.

    >>> import tinygrad_edu as T
    >>> T.repeat_interleave(T.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    axis = axis_of(dim, input.ndim)
    if isinstance(repeats, Tensor):
        counts = np.broadcast_to(repeats._data, (input.shape[axis],))
        return index_select(input, axis, wrap(np.repeat(np.arange(input.shape[axis]), counts)))
    sizes = tuple(input.shape)
    wide = expand(unsqueeze(input, axis + 1), (*sizes[: axis + 1], repeats, *sizes[axis + 1 :]))
    return reshape(contiguous_clone(wide), (*sizes[:axis], sizes[axis] * repeats, *sizes[axis + 1 :]))


@public(method=False)
def meshgrid(*tensors, indexing=None):
    """The coordinates of each point of the grid that several vectors span.

    >>> import tinygrad_edu as T
    >>> rows, columns = T.meshgrid(T.tensor([1, 2]), T.tensor([3, 4, 5]), indexing="ij")
    >>> rows
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t.detach()}")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    sizes = tuple(t.numel() for t in tensors)
    grids = [
        expand(reshape(t, tuple(sizes[i] if j == i else 1 for j in range(len(sizes)))), sizes)
        for i, t in enumerate(tensors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)
