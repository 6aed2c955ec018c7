"""Cumulative sums, products and extremes along a dimension."""

from __future__ import annotations

from ...array.tensor import Tensor
from ..arrays import row_major
from ..binding import public
from ..op import Op, linear
from ..shapes.permute import flip
from ..shapes.shape import axis_of
from .reduce import dtype_setting, summed


class Cumsum(Op):
    def forward(self, *, dim, dtype=None):
        x = summed(self, dtype)
        return row_major(x.cumsum(axis=dim, dtype=x.dtype)) if self.ndim else x.copy()

    def grad_self(grad, dim):
        return flip(cumsum(flip(grad, (dim,)), dim), (dim,)) if grad.ndim else grad

    jvp = linear


# --- functions -------------------------------------------------------------------------------------------------------


def _cumsum_(self, dim, *, dtype=None):
    return Cumsum.apply_(self, dim=axis_of(dim, self.ndim), **dtype_setting(dtype))


@public(inplace=_cumsum_)
def cumsum(input: Tensor, dim, *, dtype=None) -> Tensor:
    """The cumulative sum along `dim`.

    >>> import tinygrad_edu as T
    >>> T.cumsum(T.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 3., 6.])
    """
    return Cumsum.apply(input, dim=axis_of(dim, input.ndim), **dtype_setting(dtype))
