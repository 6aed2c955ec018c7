"""Repeats tensors, to a common shape too: `repeat`, `tile`, `repeat_interleave`, `meshgrid`, `broadcast_tensors`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Size, Tensor, wrap
from ..binding import functions, method, public
from ..creation.copies import contiguous_clone
from ..indexing.slices import index_select
from ..op import LinearOp
from ..operands import refuse_kinds, refuse_mismatch
from .shape import SumToSize, as_sizes, axis_of, expand, reshape, unsqueeze


class Repeat(LinearOp):
    """Copies side by side: `repeats` of them along each dimension."""

    def forward(self, *, repeats):
        if 0 in repeats:
            sizes = (1,) * (len(repeats) - self.ndim) + self.shape
            return np.zeros([n * times for n, times in zip(sizes, repeats, strict=True)], self.dtype)
        return np.tile(self, repeats)

    # Make each repetition a separate dimension, and sum the gradient over it.
    def grad_self(grad, self_sym_sizes, repeats):
        sizes = (1,) * (len(repeats) - len(self_sym_sizes)) + tuple(self_sym_sizes)
        split = reshape(grad, tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair))
        return reshape(SumToSize.apply(split, size=tuple(n for size in sizes for n in (1, size))), self_sym_sizes)


@public(where=())
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Repeat the tensor `repeats` times along each dimension (extra numbers add dimensions in front).

    >>> T.tensor([1, 2]).repeat(2)
    tensor([1, 2, 1, 2])
    """
    repeats = as_sizes(repeats)
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(times < 0 for times in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeats {list(repeats)}")
    return Repeat.apply(input, repeats=repeats)


@public()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """As `repeat`, but `dims` may be shorter: the dimensions in front are then not repeated.

    >>> T.tile(T.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    dims = as_sizes(dims)
    return repeat(input, (1,) * (input.ndim - len(dims)) + dims)


@public()
def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Repeat each element, or each slice along `dim`, `repeats` times in place.

    >>> T.repeat_interleave(T.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    axis = axis_of(dim, input.ndim)
    sizes = tuple(input.shape)
    if isinstance(repeats, Tensor):
        refuse_kinds((repeats._data,), "repeat_interleave_cpu", "fb")
        if repeats.ndim > 1 or repeats.numel() not in (1, sizes[axis]) or (repeats._data < 0).any():
            raise RuntimeError(
                f"repeats must have the same size as input along dim, {sizes[axis]}, and not be negative"
            )
        counts = np.broadcast_to(repeats._data, (sizes[axis],)).astype(np.intp)
        return index_select(input, axis, wrap(np.repeat(np.arange(sizes[axis]), counts)))
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    wide = expand(unsqueeze(input, axis + 1), (*sizes[: axis + 1], repeats, *sizes[axis + 1 :]))
    return reshape(contiguous_clone(wide), (*sizes[:axis], sizes[axis] * repeats, *sizes[axis + 1 :]))


@public()
def meshgrid(*tensors: Any, indexing: Any = None) -> tuple[Tensor, ...]:
    """The coordinates of each point of the grid that several vectors span.

    >>> rows, columns = T.meshgrid(T.tensor([1, 2]), T.tensor([3, 4, 5]), indexing="ij")
    >>> rows
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(t.ndim > 1 for t in tensors):
        raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    swapped = indexing == "xy" and len(tensors) > 1
    if swapped:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    sizes = tuple(t.numel() for t in tensors)
    own = [tuple(n if i == j else 1 for j, n in enumerate(sizes)) for i in range(len(sizes))]
    grids = [expand(reshape(t, size), sizes) for t, size in zip(tensors, own, strict=True)]
    return (grids[1], grids[0], *grids[2:]) if swapped else tuple(grids)


@public()
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of the tensors, expanded to their common shape.

    >>> [t.shape for t in T.broadcast_tensors(T.ones(3, 1), T.ones(2))]
    [tinygrad_edu.Size([3, 2]), tinygrad_edu.Size([3, 2])]
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    refuse_mismatch([tuple(t.shape) for t in tensors])
    size = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return tuple(t if tuple(t.shape) == size else expand(t, size) for t in tensors)


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to.

    >>> T.broadcast_shapes((3, 1), (2,))
    tinygrad_edu.Size([3, 2])
    """
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        shown = ", ".join(str(tuple(shape)) for shape in shapes)
        raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {shown}") from None


functions["broadcast_shapes"] = broadcast_shapes


class RepeatingMethods:
    """The methods of Tensor that are defined here."""

    repeat = method(repeat)
    tile = method(tile)
    repeat_interleave = method(repeat_interleave)
