"""Diagonals and triangles of matrices."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import row_major
from ...ops.binding import public
from ...ops.op import Op, linear
from ...ops.shapes.shape import axis_of


class Diagonal(Op):
    """The elements (i, i + offset) of two dimensions, as a new last dimension."""

    view = True

    def forward(self, *, offset, dim1, dim2):
        out = self.diagonal(offset, dim1, dim2)
        out.flags.writeable = self.flags.writeable
        return out

    def grad_self(grad, self_sym_sizes, offset, dim1, dim2):
        return DiagonalScatter.apply(grad, size=self_sym_sizes, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class DiagonalCopy(Op, name="DiagonalBackward0_copy"):
    """As Diagonal, but a copy instead of a view."""

    def forward(self, *, offset, dim1, dim2):
        return self.diagonal(offset, dim1, dim2).copy()

    def grad_self(grad, self_sym_sizes, offset, dim1, dim2):
        return DiagonalScatter.apply(grad, size=self_sym_sizes, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class DiagonalScatter(Op, name="DiagonalBackwardBackward0"):
    """Zeros of shape `size` with `self` on the diagonal: the transpose of Diagonal."""

    def forward(self, *, size, offset, dim1, dim2):
        out = np.zeros(size, self.dtype)
        window = out.diagonal(offset, dim1, dim2)
        window.flags.writeable = True
        window[...] = self
        return out

    def grad_self(grad, offset, dim1, dim2):
        return DiagonalCopy.apply(grad, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class Tril(Op):
    def forward(self, *, diagonal=0):
        _need_matrix("tril", self)
        return row_major(np.tril(self, diagonal))

    def grad_self(grad, diagonal):
        return tril(grad, diagonal)

    jvp = linear


class Triu(Op):
    def forward(self, *, diagonal=0):
        _need_matrix("triu", self)
        return row_major(np.triu(self, diagonal))

    def grad_self(grad, diagonal):
        return triu(grad, diagonal)

    jvp = linear


@public()
def diagonal(input: Tensor, offset=0, dim1=0, dim2=1) -> Tensor:
    """A view of the elements (i, i + offset) of two dimensions.

    >>> import tinygrad_edu as T
    >>> T.diagonal(T.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    n = input.ndim
    axes = axis_of(dim1, n), axis_of(dim2, n)
    if axes[0] == axes[1]:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return Diagonal.apply(input, offset=offset, dim1=dim1, dim2=dim2)


def _need_matrix(name, input):
    if len(input.shape) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@public(inplace=Tril)
def tril(input: Tensor, diagonal=0) -> Tensor:
    """The lower triangle of a matrix; zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> T.tril(T.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return Tril.apply(input, diagonal=diagonal)


@public(inplace=Triu)
def triu(input: Tensor, diagonal=0) -> Tensor:
    """The upper triangle of a matrix; zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> T.triu(T.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return Triu.apply(input, diagonal=diagonal)
