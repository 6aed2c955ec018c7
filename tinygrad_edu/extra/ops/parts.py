"""Parts of a tensor, read and written: splits, slices, diagonals, places."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import copied, in_order
from ...ops.binding import functions, public
from ...ops.creation.factories import finish
from ...ops.indexing.index import narrow, select
from ...ops.indexing.masking import where
from ...ops.op import Op, linear
from ...ops.operands import need_tensor
from ...ops.reductions.reduce import summed
from ...ops.shapes.joining import Split, _check_list, cat
from ...ops.shapes.shape import axis_of, reshape, unsqueeze
from .diagonal import DiagonalCopy, diagonal
from .scatter import TakeFlat


@public()
def tensor_split(input, indices_or_sections, dim=0) -> Any:
    """Split along `dim`: into a number of nearly equal parts, or before the given indices.

    >>> import tinygrad_edu as T
    >>> T.tensor_split(T.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    axis = axis_of(dim, input.ndim)
    n = input.shape[axis]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int | np.integer):
        if indices_or_sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
        size, more = divmod(n, indices_or_sections)
        cuts = list(itertools.accumulate([size + 1] * more + [size] * (indices_or_sections - more)))[:-1]
    else:
        cuts = [min(max(c + n if c < 0 else c, 0), n) for c in indices_or_sections]
    edges = [0, *cuts, n]
    return tuple(narrow(input, axis, a, max(b - a, 0)) for a, b in itertools.pairwise(edges))


def _split_along(name, least, dim):
    def parts(input, indices_or_sections):
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim}"
            )
        axis = dim if name != "hsplit" or input.ndim > 1 else 0
        if isinstance(indices_or_sections, int) and input.shape[axis] % indices_or_sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension {input.shape[axis]} is "
                f"not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, axis)

    parts.__name__ = name
    parts.__doc__ = f"""As `tensor_split`, along dimension {dim}.

    >>> import tinygrad_edu as T
    >>> T.{name}(T.zeros(2, 2, 2), 2)[0].shape
    tinygrad_edu.Size({[1 if axis == dim else 2 for axis in range(3)]})
    """
    return public()(parts)


hsplit, vsplit, dsplit = (_split_along(*row) for row in (("hsplit", 1, 1), ("vsplit", 2, 0), ("dsplit", 3, 2)))

for _name in ("split", "chunk", "split_with_sizes"):
    if _name in functions:
        functions[f"unsafe_{_name}"] = functions[_name]


@public()
def narrow_copy(input, dim, start, length) -> Tensor:
    """As `narrow`, but returns a copy.

    >>> import tinygrad_edu as T
    >>> T.narrow_copy(T.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    return narrow(input, dim, start, length).clone()


@public()
def slice_scatter(input, src, dim=0, start=None, end=None, step=1) -> Tensor:
    """A copy of `input` in which `src` replaces a slice.

    >>> import tinygrad_edu as T
    >>> T.slice_scatter(T.zeros(4), T.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    need_tensor("slice_scatter", src, "src")
    out = input.clone()
    axis = axis_of(dim, input.ndim)
    return _with_part(out, out[(slice(None),) * axis + (slice(start, end, step),)], src)


def _with_part(out, part, src):
    """`out`, in which `src` replaces `part`, a view of it."""
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part.shape)}"
        )
    part.copy_(src)
    return out


@public()
def select_scatter(input, src, dim, index) -> Tensor:
    """A copy of `input` in which `src` replaces the slice at `index` along `dim`.

    >>> import tinygrad_edu as T
    >>> T.select_scatter(T.zeros(2, 2), T.ones(2), dim=0, index=1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    need_tensor("select_scatter", src, "src")
    out = input.clone()
    return _with_part(out, select(out, dim, index), src)


@public()
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1) -> Tensor:
    """A copy of `input` in which `src` replaces a diagonal.

    >>> import tinygrad_edu as T
    >>> T.diagonal_scatter(T.zeros(2, 2), T.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    need_tensor("diagonal_scatter", src, "src")
    out = input.clone()
    return _with_part(out, diagonal(out, offset, dim1, dim2), src)


@public()
def diagflat(input, offset=0) -> Tensor:
    """A matrix with the elements of `input` on its diagonal.

    >>> import tinygrad_edu as T
    >>> T.diagflat(T.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return functions["diag"](reshape(input, (-1,)), offset)


class Put(Op):
    """A copy with `source` at the numbers `index`, in row-major order."""

    apart = True
    without_gradient = ("index",)

    def forward(self, source, *, index, accumulate):
        out = copied(self)
        flat = out.reshape(-1)
        places = index.reshape(-1)
        if accumulate:
            np.add.at(flat, places, source.reshape(-1))
        else:
            flat[places] = source.reshape(-1)
        return in_order(out, (self,))

    def grad_self(grad, index, accumulate):
        if accumulate:
            return grad
        replaced = np.zeros(grad.shape, bool)
        replaced.reshape(-1)[getattr(index, "_data", index).reshape(-1)] = True
        return where(replaced, 0.0, grad)

    # Asked for its shape alone, and kept as PyTorch does.
    def grad_source(grad, source, index):
        return reshape(TakeFlat.apply(grad, index=index), tuple(source.shape))

    def jvp(tangent, source_tangent, index, accumulate):
        return Put.apply(tangent, source_tangent, index=index, accumulate=accumulate)


def _check_put(input, index, source):
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.legacy_name} and "
            f"source.dtype = {source.dtype.legacy_name}"
        )
    if source.numel() != index.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    n, outside = input.numel(), index._data[(index._data >= input.numel()) | (index._data < -input.numel())]
    if outside.size:
        raise IndexError(f"out of range: tried to access index {outside.flat[0]} on a tensor of {n} elements.")


def _put_(self, index, source, accumulate=False):
    _check_put(self, index, source)
    return Put.apply_(self, source, index=index, accumulate=accumulate)


@public(inplace=_put_)
def put(input, index, source, accumulate: bool = False) -> Tensor:
    """A copy of `input` with `source` written at the positions `index`, counted in row-major order.

    >>> import tinygrad_edu as T
    >>> T.put(T.zeros(2, 2), T.tensor([0, 3]), T.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    _check_put(input, index, source)
    return Put.apply(input, source, index=index, accumulate=accumulate)


class UniqueConsecutive(Op):
    """The elements (or slices along `dim`) that differ from their predecessor; the group of each element; the group sizes."""

    non_differentiable = (1, 2)

    def forward(self, *, dim):
        rows = self.reshape(-1, 1) if dim is None else np.moveaxis(self, dim, 0).reshape(self.shape[dim], -1)
        first = np.ones(len(rows), bool)
        first[1:] = (rows[1:] != rows[:-1]).any(1)
        chosen = self.reshape(-1)[first] if dim is None else np.compress(first, self, dim)
        place = np.cumsum(first) - 1
        return (
            chosen,
            place.reshape(self.shape) if dim is None else place,
            np.diff(np.append(np.flatnonzero(first), len(rows))),
        )

    def grad_self(grad):
        raise NotImplementedError(
            "the derivative for 'unique_consecutive' is not implemented. Equality has no gradient; select the elements by "
            "an index instead."
        )


@public()
def unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False, dim=None) -> Any:
    """Drop each element (or slice along `dim`) that equals its predecessor.

    >>> import tinygrad_edu as T
    >>> T.unique_consecutive(T.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = UniqueConsecutive.apply(input, dim=None if dim is None else axis_of(dim, input.ndim))
    kept = tuple(x for x, wanted in zip(found, (True, return_inverse, return_counts), strict=True) if wanted)
    return kept[0] if len(kept) == 1 else kept


@public()
def nonzero_static(input, *, size, fill_value=-1) -> Tensor:
    """As `nonzero`, but with exactly `size` rows: cut, or padded with `fill_value`.

    >>> import tinygrad_edu as T
    >>> T.nonzero_static(T.tensor([0, 3, 0]), size=2)
    tensor([[ 1],
            [-1]])
    """
    found = np.argwhere(input._data)
    out = np.full((size, input.ndim), fill_value, np.int64)
    out[: min(size, len(found))] = found[:size]
    return finish(out)


@public(method=False)
def unravel_index(indices, shape) -> Any:
    """Convert positions in row-major order to an index along each dimension.

    >>> import tinygrad_edu as T
    >>> T.unravel_index(T.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    return tuple(
        finish(i) for i in np.unravel_index(indices._data, tuple(shape) if not isinstance(shape, int) else (shape,))
    )


class DiagEmbed(Op):
    """The last dimension, placed on the diagonal of two new dimensions."""

    def forward(self, *, offset, dim1, dim2):
        n = self.shape[-1] + abs(offset)
        out = np.zeros((*self.shape[:-1], n, n), self.dtype)
        window = out.diagonal(offset, -2, -1)
        window.flags.writeable = True
        window[...] = self
        return np.moveaxis(out, (-2, -1), (dim1, dim2))

    def grad_self(grad, offset, dim1, dim2):
        return DiagonalCopy.apply(grad, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class Trace(Op):
    refuses = ("trace", "b")

    def forward(self):
        return np.trace(summed(self, None))

    def grad_self(grad, self_sym_sizes):
        return grad * np.eye(*self_sym_sizes, dtype=getattr(grad, "_data", grad).dtype)

    jvp = linear


@public()
def diag_embed(input: Tensor, offset=0, dim1=-2, dim2=-1) -> Tensor:
    """Matrices with the last dimension of `input` on their diagonals.

    >>> import tinygrad_edu as T
    >>> T.diag_embed(T.tensor([[1, 2], [3, 4]])).shape
    tinygrad_edu.Size([2, 2, 2])
    """
    n = input.ndim + 1
    if axis_of(dim1, n) == axis_of(dim2, n):
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return DiagEmbed.apply(input, offset=offset, dim1=dim1, dim2=dim2)


@public()
def diag(input: Tensor, diagonal=0) -> Tensor:
    """The diagonal of a matrix; for a vector, the matrix with that diagonal.

    >>> import tinygrad_edu as T
    >>> T.diag(T.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.ndim == 1:
        return DiagEmbed.apply(input, offset=diagonal, dim1=0, dim2=1)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return DiagonalCopy.apply(input, offset=diagonal, dim1=0, dim2=1)


@public()
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    >>> import tinygrad_edu as T
    >>> T.trace(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return Trace.apply(input)


class UnsafeSplit(Op):
    """The same for pieces that nobody writes to: not known as views."""

    forward = Split.forward
    grad_self = Split.grad_self
    jvp = linear


def _at_least(n, t):
    while t.ndim < n:
        t = unsqueeze(t, 0)
    return t


@public(method=False)
def hstack(tensors) -> Tensor:
    """Join tensors side by side: along dimension 1, or 0 for vectors.

    >>> import tinygrad_edu as T
    >>> T.hstack((T.tensor([1, 2]), T.tensor([3])))
    tensor([1, 2, 3])
    """
    _check_list("hstack", tensors)
    tensors = [_at_least(1, t) for t in tensors]
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@public("row_stack", method=False)
def vstack(tensors) -> Tensor:
    """Stack tensors vertically; vectors become rows.

    >>> import tinygrad_edu as T
    >>> T.vstack((T.tensor([1, 2]), T.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    _check_list("vstack", tensors)
    return cat([_at_least(2, t) for t in tensors], 0)
