"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...overrides import overridable
from ..arrays import as_index, row_major
from ..binding import both_forms, functions, method, public
from ..creation.factories import finish
from ..op import LinearOp, ViewOp
from .shape import axis_of


class Diagonal(ViewOp):
    """The elements (i, i + offset) of two dimensions, as a new last dimension."""

    def forward(self, *, offset, dim1, dim2):
        out = self.diagonal(offset, dim1, dim2)
        out.flags.writeable = self.flags.writeable
        return out

    def grad_self(grad, self_sym_sizes, offset, dim1, dim2):
        return DiagonalScatter.apply(grad, size=self_sym_sizes, offset=offset, dim1=dim1, dim2=dim2)


class DiagonalCopy(Diagonal, name="DiagonalBackward0_copy"):
    """As Diagonal, but a copy instead of a view."""

    view = False

    def forward(self, *, offset, dim1, dim2):
        return self.diagonal(offset, dim1, dim2).copy()


class DiagonalScatter(LinearOp, name="DiagonalBackwardBackward0"):
    """Zeros of shape `size` with `self` on the diagonal: the transpose of Diagonal."""

    def forward(self, *, size, offset, dim1, dim2):
        out = np.zeros(size, self.dtype)
        window = out.diagonal(offset, dim1, dim2)
        window.flags.writeable = True
        window[...] = self
        return out

    def grad_self(grad, offset, dim1, dim2):
        return DiagonalCopy.apply(grad, offset=offset, dim1=dim1, dim2=dim2)


class DiagEmbed(LinearOp):
    """The last dimension, placed on the diagonal of two new dimensions."""

    def forward(self, *, offset, dim1, dim2):
        n = self.shape[-1] + abs(offset)
        out = DiagonalScatter.forward(self, size=(*self.shape[:-1], n, n), offset=offset, dim1=-2, dim2=-1)
        return np.moveaxis(out, (-2, -1), (dim1, dim2))

    def grad_self(grad, offset, dim1, dim2):
        return DiagonalCopy.apply(grad, offset=offset, dim1=dim1, dim2=dim2)


class Trace(LinearOp):
    refuses = ("trace", "b")

    def forward(self):
        return np.trace(self, dtype=None if self.dtype.kind == "f" else np.int64)

    def grad_self(grad, self_sym_sizes):
        return grad * np.eye(*self_sym_sizes, dtype=getattr(grad, "_data", grad).dtype)


class Tril(LinearOp):
    def forward(self, *, diagonal=0):
        return _triangle(np.tril, self, diagonal)

    def grad_self(grad, diagonal):
        return tril(grad, diagonal)


class Triu(LinearOp):
    def forward(self, *, diagonal=0):
        return _triangle(np.triu, self, diagonal)

    def grad_self(grad, diagonal):
        return triu(grad, diagonal)


def _triangle(take, array, diagonal):
    if array.ndim < 2:
        raise RuntimeError(f"{take.__name__}: input tensor must have at least 2 dimensions")
    return row_major(take(array, diagonal))


def _need_two(dim1, dim2, ndim):
    if axis_of(dim1, ndim) == axis_of(dim2, ndim):
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")


@public()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the elements (i, i + offset) of two dimensions.

    >>> T.diagonal(T.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    _need_two(dim1, dim2, input.ndim)
    return Diagonal.apply(input, offset=offset, dim1=dim1, dim2=dim2)


@public()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension of `input` on their diagonals.

    >>> T.diag_embed(T.tensor([[1, 2], [3, 4]])).shape
    tinygrad_edu.Size([2, 2, 2])
    """
    _need_two(dim1, dim2, input.ndim + 1)
    return DiagEmbed.apply(input, offset=offset, dim1=dim1, dim2=dim2)


@public()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix; for a vector, the matrix with that diagonal.

    >>> T.diag(T.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return (DiagEmbed if input.ndim == 1 else DiagonalCopy).apply(input, offset=diagonal, dim1=0, dim2=1)


@public()
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    >>> T.trace(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return Trace.apply(input)


@public()
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of a matrix; zeros elsewhere."""
    return Tril.apply(input, diagonal=diagonal)


@public()
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of a matrix; zeros elsewhere."""
    return Triu.apply(input, diagonal=diagonal)


def tril_indices(row: int, col: int, offset: int = 0, *, device: Any = None) -> Any:
    """The indices of a matrix's lower triangle: rows, then columns."""
    return finish(as_index(np.tril_indices(row, offset, col)), where=device)


def triu_indices(row: int, col: int, offset: int = 0, *, device: Any = None) -> Any:
    """The indices of a matrix's upper triangle: rows, then columns."""
    return finish(as_index(np.triu_indices(row, offset, col)), where=device)


functions["tril_indices"], functions["triu_indices"] = overridable(tril_indices), overridable(triu_indices)


class DiagonalMethods:
    """The methods of Tensor that are defined here."""

    diagonal = method(diagonal)
    diag_embed = method(diag_embed)
    diag = method(diag)
    trace = method(trace)
    tril, tril_ = both_forms(tril, Tril)
    triu, triu_ = both_forms(triu, Triu)
