"""Running sums, products and extremes along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.return_types import named
from ...array.tensor import Tensor
from ..arrays import as_index, row_major
from ..binding import both_forms, method, public
from ..indexing.masking import where
from ..op import LinearOp, Op
from ..shapes.permute import flip, transpose
from ..shapes.shape import axis_of, broadcast_to, unsqueeze
from .ordering import Chosen
from .reduce import any_zero, dtype_setting, sum, summed


class Cumsum(LinearOp):
    def forward(self, *, dim, dtype=None):
        x = summed(self, dtype)
        return row_major(x.cumsum(axis=dim, dtype=x.dtype) + x.dtype.type(0)) if self.ndim else x.copy()  # -0 + 0 is 0

    def grad_self(grad, dim):
        return flip(cumsum(flip(grad, (dim,)), dim), (dim,)) if grad.ndim else grad


class Cumprod(Op):
    def forward(self, *, dim, dtype=None):
        x = summed(self, dtype)
        return row_major(x.cumprod(axis=dim, dtype=x.dtype)) if self.ndim else x.copy()

    # ∂(s₁…sᵢ)/∂sₖ is, for k <= i, the product of the others: resultᵢ/sₖ where no factor is 0
    def grad_self(grad, self, result, dim):
        if not self.ndim or self.shape[dim] <= 1:
            return grad
        if not any_zero(self):
            return flip(cumsum(flip(grad * result, (dim,)), dim), (dim,)) / self
        return transpose(sum(_jacobian(self, dim) * unsqueeze(transpose(grad, dim, -1), -2), -1), dim, -1)


def _jacobian(value, dim):
    """The Jacobian of the running product along `dim`, moved last: entry (k, i) is step i's derivative by element k."""
    value = transpose(value, dim, -1)
    n = value.shape[-1]
    copies = where(np.eye(n, dtype=bool), 1.0, broadcast_to(unsqueeze(value, -2), (*value.shape[:-1], n, n)))
    return where(np.triu(np.ones((n, n), bool)), cumprod(copies, -1), 0.0)


class Cummax(Chosen):
    """The largest element so far, and its position; among equal ones, the last."""

    def forward(self, *, dim):
        return _best(np.maximum, self, dim)

    # Of `self` only the shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, dim, indices):
        return Chosen.grad_self(grad, tuple(self.shape), dim, indices)


class Cummin(Cummax):
    def forward(self, *, dim):
        return _best(np.minimum, self, dim)


def _best(keep, array, dim):
    if not array.ndim:
        return array.copy(), np.zeros((), np.int64)
    values = row_major(keep.accumulate(array, axis=dim))
    places = as_index(np.arange(array.shape[dim])).reshape(-1, *(1,) * (array.ndim - dim - 1))
    there = np.where((array == values) | np.isnan(array), places, 0)
    return values, row_major(np.maximum.accumulate(there, axis=dim))


_Cummax, _Cummin = (named(op, "values", "indices") for op in ("cummax", "cummin"))


def _settings(name, input, dim, dtype, inplace=False):
    if inplace and dtype not in (None, input.dtype):
        raise RuntimeError(f"Bad in-place call: tensor dtype {input.dtype.name} and dtype {dtype.name} should match")
    dtype = input.dtype if inplace else dtype
    if dtype is not None and dtype.numpy.kind == "b" and input.ndim and input.numel():
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'. Compute it as integers: t.long().")
    return {"dim": axis_of(dim, input.ndim), **dtype_setting(dtype, input)}


def _cumsum_(self, dim, *, dtype=None):
    return Cumsum.apply_(self, **_settings("cumsum", self, dim, dtype, True))


@public()
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The cumulative sum along `dim`."""
    return Cumsum.apply(input, **_settings("cumsum", input, dim, dtype))


def _cumprod_(self, dim, *, dtype=None):
    return Cumprod.apply_(self, **_settings("cumprod", self, dim, dtype, True))


@public()
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The cumulative product along `dim`."""
    return Cumprod.apply(input, **_settings("cumprod", input, dim, dtype))


@public()
def cummax(input: Tensor, dim: int) -> Any:
    """The largest element so far at each step along `dim`, and its index."""
    return _Cummax(Cummax.apply(input, dim=axis_of(dim, input.ndim)))


@public()
def cummin(input: Tensor, dim: int) -> Any:
    """The smallest element so far at each step along `dim`, and its index."""
    return _Cummin(Cummin.apply(input, dim=axis_of(dim, input.ndim)))


class RunningMethods:
    """The methods of Tensor that are defined here."""

    cumsum, cumsum_ = both_forms(cumsum, _cumsum_)
    cumprod, cumprod_ = both_forms(cumprod, _cumprod_)
    cummax = method(cummax)
    cummin = method(cummin)
