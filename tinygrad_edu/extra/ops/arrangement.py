"""Tensors beside and above one another, and in blocks."""

from __future__ import annotations

import math

import numpy as np

from ...array import dtypes
from ...array.tensor import Size, Tensor, wrap
from ...ops.arrays import copied, row_major
from ...ops.binding import functions, linalg_functions, nn_functions, public
from ...ops.creation.copies import contiguous_clone
from ...ops.creation.factories import ends, finish, linspace
from ...ops.op import Op, linear
from ...ops.shapes.joining import cat, stack
from ...ops.shapes.permute import Permute, flip, transpose
from ...ops.shapes.shape import as_sizes, axis_of, expand, reshape, unsqueeze, view
from ...overrides import overridable
from .repetition import Repeat
from .scatter import index_select

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
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions"
            )
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
    functions[name] = overridable(function)


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


functions["logspace"] = overridable(logspace)


class Rot90(Op):
    """Turned `k` times in the plane of two dimensions."""

    def forward(self, *, k, dims):
        if k % 2 == 0:
            return copied(np.rot90(self, k, dims), "K" if k % 4 else "C")
        return copied(np.flip(self, dims[k % 4 == 1]), "K").swapaxes(*dims)

    def grad_self(grad, k, dims):
        return Rot90.apply(grad, k=-k, dims=dims)

    jvp = linear


class Roll(Op):
    def forward(self, *, shifts, dims):
        return row_major(np.roll(self, shifts, dims or None))

    def grad_self(grad, shifts, dims):
        return Roll.apply(grad, shifts=tuple(-s for s in shifts), dims=dims)

    jvp = linear


@public()
def swapaxes(input: Tensor, axis0, axis1) -> Tensor:
    """A view with two dimensions exchanged: `transpose` under the name that it has in NumPy.

    >>> import tinygrad_edu as T
    >>> T.swapaxes(T.ones(2, 3), axis0=0, axis1=1).shape
    tinygrad_edu.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


@public("moveaxis")
def movedim(input: Tensor, source, destination) -> Tensor:
    """A view with the dimensions `source` moved to the positions `destination`; the others keep their order.

    >>> import tinygrad_edu as T
    >>> T.movedim(T.zeros(2, 3, 4), 0, 2).shape
    tinygrad_edu.Size([3, 4, 2])
    """
    n = input.ndim
    source, destination = (
        tuple(axis_of(d, n) for d in ((x,) if isinstance(x, int | np.integer) else x)) for x in (source, destination)
    )
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of "
            f"dims as destination ({list(destination)} dims)"
        )
    for what, axes in (("source", source), ("destination", destination)):
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(axes)})")
    if not n:
        return Permute.apply(input, dims=())
    order = [d for d in range(n) if d not in source]
    for place, d in sorted(zip(destination, source, strict=True)):
        order.insert(place, d)
    return Permute.apply(input, dims=tuple(order))


@public()
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the columns.

    >>> import tinygrad_edu as T
    >>> T.fliplr(T.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@public()
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the rows.

    >>> import tinygrad_edu as T
    >>> T.flipud(T.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@public()
def roll(input: Tensor, shifts, dims=()) -> Tensor:
    """Shift the elements along `dims`. Those that leave at one end reenter at the other.

    >>> import tinygrad_edu as T
    >>> T.roll(T.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts, dims = ((x,) if isinstance(x, int | np.integer) else tuple(x or ()) for x in (shifts, dims))
    if not shifts:
        raise RuntimeError("`shifts` required")
    if (dims or len(shifts) > 1) and len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.numel():
        dims = ()
    if dims and not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return Roll.apply(input, shifts=shifts, dims=tuple(axis_of(d, input.ndim) for d in dims))


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
        _check_repeats(repeats, input.shape[axis])
        counts = np.broadcast_to(repeats._data, (input.shape[axis],))
        return index_select(input, axis, wrap(np.repeat(np.arange(input.shape[axis]), counts)))
    if not isinstance(repeats, int):
        raise TypeError(f"repeat_interleave(): argument 'repeats' must be Tensor or int, not {type(repeats).__name__}")
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    sizes = tuple(input.shape)
    wide = expand(unsqueeze(input, axis + 1), (*sizes[: axis + 1], repeats, *sizes[axis + 1 :]))
    return reshape(contiguous_clone(wide), (*sizes[:axis], sizes[axis] * repeats, *sizes[axis + 1 :]))


def _check_repeats(repeats, n):
    if repeats._data.dtype not in (np.int32, np.int64):
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.legacy_name}'. Convert first: repeats.long()."
        )
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.numel() not in (1, n):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.numel()} and input.size(0) = {n}"
        )
    if (repeats._data < 0).any():
        raise RuntimeError("repeats can not be negative")


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
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t.detach()}")
    sizes = tuple(t.numel() for t in tensors)
    grids = [
        expand(reshape(t, tuple(sizes[i] if j == i else 1 for j in range(len(sizes)))), sizes)
        for i, t in enumerate(tensors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


class BlockDiag(Op):
    """Matrices along the diagonal, zeros elsewhere; a vector is a row."""

    promotes = True

    def forward(*tensors):
        blocks = [np.atleast_2d(t) for t in tensors]
        out = np.zeros(np.sum([b.shape for b in blocks], axis=0), blocks[0].dtype)
        for block, place in zip(blocks, _blocks([b.shape for b in blocks]), strict=True):
            out[place] = block
        return out

    def gradients(grad, needs_input_grad, tensors_sym_sizes):
        places = _blocks([(1,) * (2 - len(sizes)) + sizes for sizes in tensors_sym_sizes])
        return [
            reshape(grad[place], sizes) if needed else None
            for needed, sizes, place in zip(needs_input_grad, tensors_sym_sizes, places, strict=True)
        ]

    jvp = linear


def _blocks(sizes):
    """Where blocks of these sizes lie."""
    row = column = 0
    for height, width in sizes:
        yield slice(row, row + height), slice(column, column + width)
        row, column = row + height, column + width


@public(where=())
def reshape_as(input, other) -> Tensor:
    """`input` in the shape of `other`: a view if possible, else a copy."""
    return reshape(input, tuple(other.shape))


@public()
def unflatten(input, dim, sizes) -> Tensor:
    """Split one dimension into several of the given sizes (one may be -1).

    >>> import tinygrad_edu as T
    >>> T.unflatten(T.arange(6), 0, (2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    axis = axis_of(dim, input.ndim)
    n, sizes = input.shape[axis], tuple(sizes)
    known = math.prod(s for s in sizes if s != -1)
    if (known != n) if -1 not in sizes else (not known or n % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input tensor"
        )
    sizes = tuple(n // known if s == -1 else s for s in sizes)
    return view(input, (*input.shape[:axis], *sizes, *input.shape[axis + 1 :]))
