"""Tensors beside and above one another, and in blocks."""

from __future__ import annotations

import numpy as np

from ...array import dtypes
from ...array.tensor import Size, Tensor
from ...ops.binding import functions, linalg_functions, nn_functions, public
from ...ops.creation.copies import contiguous_clone
from ...ops.creation.factories import ends, finish, linspace
from ...ops.shapes.joining import BlockDiag, cat, stack
from ...ops.shapes.permute import Rot90
from ...ops.shapes.repetition import meshgrid
from ...ops.shapes.shape import axis_of, expand, reshape, unsqueeze

_NN, _LINALG = (nn_functions,), (linalg_functions,)


@public()
def ravel(input) -> Tensor:
    """All elements in one dimension: a view if possible, else a copy.

    >>> import tinygrad_edu as T
    >>> T.ravel(T.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return reshape(input if input.is_contiguous() else contiguous_clone(input), (-1,))


def _at_least(name, number, grow):
    def function(*tensors):
        every = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
        out = tuple(grow(t) if t.ndim < number else t for t in every)
        return out[0] if len(out) == 1 and every is tensors else out

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Tensors with at least {number} dimensions: missing dimensions get size 1.

    >>> import tinygrad_edu as T
    >>> T.{name}(T.tensor(7.0)).ndim
    {number}
    """
    return public(method=False)(function)


atleast_1d = _at_least("atleast_1d", 1, lambda t: reshape(t, (1,)))
atleast_2d = _at_least("atleast_2d", 2, lambda t: reshape(t, (1, -1)) if t.ndim == 0 else unsqueeze(t, 0))
atleast_3d = _at_least(
    "atleast_3d", 3, lambda t: unsqueeze(unsqueeze(t, 0) if t.ndim == 1 else t, -1) if t.ndim else reshape(t, (1, 1, 1))
)  # fmt: skip


@public(method=False)
def broadcast_tensors(*tensors):
    """Views of the tensors, expanded to their common shape.

    >>> import tinygrad_edu as T
    >>> [t.shape for t in T.broadcast_tensors(T.ones(3, 1), T.ones(2))]
    [tinygrad_edu.Size([3, 2]), tinygrad_edu.Size([3, 2])]
    """
    sizes = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return tuple(t if tuple(t.shape) == sizes else expand(t, sizes) for t in tensors)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    >>> import tinygrad_edu as T
    >>> T.broadcast_shapes((3, 1), (2,))
    tinygrad_edu.Size([3, 2])
    """
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise RuntimeError(
            f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(str(tuple(s)) for s in shapes)}"
        ) from None


functions["broadcast_shapes"] = broadcast_shapes


@public(method=False)
def column_stack(tensors) -> Tensor:
    """Stack tensors side by side; vectors become columns.

    >>> import tinygrad_edu as T
    >>> T.column_stack((T.tensor([1, 2]), T.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    return cat([t if t.ndim > 1 else reshape(t, (-1, 1)) for t in tensors], 1)


@public(method=False)
def dstack(tensors) -> Tensor:
    """Stack tensors along the third dimension.

    >>> import tinygrad_edu as T
    >>> T.dstack((T.tensor([1, 2]), T.tensor([3, 4]))).shape
    tinygrad_edu.Size([1, 2, 2])
    """
    return cat(list(atleast_3d(list(tensors))), 2)


@public()
def rot90(input, k=1, dims=(0, 1)) -> Tensor:
    """Rotate by 90 degrees, `k` times, in the plane of two dimensions.

    >>> import tinygrad_edu as T
    >>> T.rot90(T.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if axis_of(dims[0], input.ndim) == axis_of(dims[1], input.ndim):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return Rot90.apply(input, k=k, dims=tuple(dims))


@public(method=False)
def block_diag(*tensors):
    """A matrix with the given matrices along its diagonal, and zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> T.block_diag(T.ones(1, 1), T.tensor([[2.0, 3.0]]))
    tensor([[1., 0., 0.],
            [0., 2., 3.]])
    """
    return BlockDiag.apply(*tensors)


@public(method=False)
def cartesian_prod(*tensors):
    """All combinations of one element from each vector, one per row.

    >>> import tinygrad_edu as T
    >>> T.cartesian_prod(T.tensor([1, 2]), T.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*tensors, indexing="ij")], 1)


def _indices(name, found):
    def function(row, col, offset=0, *, dtype=dtypes.int64, device=None, layout=None):
        return finish(np.stack(found(row, offset, col)).astype(dtypes.to_numpy_dtype(dtype)))

    function.__name__ = function.__qualname__ = name
    rows = "[0, 1, 1], [0, 0, 1]" if found is np.tril_indices else "[0, 0, 1], [0, 1, 1]"
    function.__doc__ = f"""The indices of a matrix's {"lower" if found is np.tril_indices else "upper"} triangle: rows, then columns.

    >>> import tinygrad_edu as T
    >>> T.{name}(2, 2).tolist()
    [{rows}]
    """
    functions[name] = function


_indices("tril_indices", np.tril_indices)
_indices("triu_indices", np.triu_indices)


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers from base^start to base^end, evenly spaced in the exponent.

    >>> import tinygrad_edu as T
    >>> T.logspace(0, 2, steps=3)
    tensor([  1.,  10., 100.])
    """
    kind = linspace(0, 1, 1, dtype=dtype, device=device)._data.dtype
    out = finish((base ** np.linspace(*ends(start, end, steps), steps)).astype(kind))
    return out.requires_grad_() if requires_grad else out


functions["logspace"] = logspace
