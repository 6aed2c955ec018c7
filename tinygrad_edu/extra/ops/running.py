"""Running products, extremes and logarithms of sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.return_types import named
from ...array.tensor import Tensor
from ...ops.arrays import row_major
from ...ops.binding import public
from ...ops.indexing.masking import where
from ...ops.op import Op, linear
from ...ops.pointwise.exponential import exp
from ...ops.reductions.reduce import any_zero, dtype_setting, sum, summed
from ...ops.shapes.permute import flip, transpose
from ...ops.shapes.shape import axis_of, broadcast_to, unsqueeze
from .sorting import Chosen


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

    def jvp(tangent, self, dim):
        if not self.ndim:
            return tangent
        return transpose(sum(_jacobian(self, dim) * unsqueeze(transpose(tangent, dim, -1), -1), -2), dim, -1)


def _jacobian(value, dim):
    """The Jacobian of the running product along `dim`, moved last: entry (k, i) is the derivative of step i by element k."""
    value = transpose(value, dim, -1)
    n = value.shape[-1]
    copies = where(np.eye(n, dtype=bool), 1.0, broadcast_to(unsqueeze(value, -2), (*value.shape[:-1], n, n)))
    return where(np.triu(np.ones((n, n), bool)), cumprod(copies, -1), 0.0)


class Logcumsumexp(Op):
    """ln(e^s₁ + … + e^sᵢ)"""

    refuses = ("logcumsumexp_out_cpu", "biu")

    def forward(self, *, dim):
        return row_major(np.logaddexp.accumulate(self, axis=dim)) if self.ndim else self.copy()

    def grad_self(grad, self, result, dim):
        if not self.ndim:
            return grad
        return transpose(sum(_weights(self, result, dim) * unsqueeze(transpose(grad, dim, -1), -2), -1), dim, -1)

    def jvp(tangent, self, result, dim):
        if not self.ndim:
            return tangent
        return transpose(sum(_weights(self, result, dim) * unsqueeze(transpose(tangent, dim, -1), -1), -2), dim, -1)


def _weights(value, result, dim):
    """e^(sₖ - rᵢ) for k <= i: the share of element k in step i along `dim`, moved last."""
    n = value.shape[dim]
    difference = unsqueeze(transpose(value, dim, -1), -1) - unsqueeze(transpose(result, dim, -1), -2)
    return exp(where(np.triu(np.ones((n, n), bool)), difference, -math.inf))


class _BestSoFar(Chosen):
    """The best element so far, and its position; among equal ones, the last."""

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, dim, indices):
        return Chosen.grad_self(grad, tuple(self.shape), dim, indices)


class Cummax(_BestSoFar):
    def forward(self, *, dim):
        return _best(np.maximum, self, dim)


class Cummin(_BestSoFar):
    def forward(self, *, dim):
        return _best(np.minimum, self, dim)


def _best(keep, array, dim):
    if not array.ndim:
        return array.copy(), np.zeros((), np.int64)
    values = row_major(keep.accumulate(array, axis=dim))
    places = np.arange(array.shape[dim]).reshape(-1, *(1,) * (array.ndim - dim - 1))
    there = np.where((array == values) | np.isnan(array), places, 0)
    return values, row_major(np.maximum.accumulate(there, axis=dim))


def _setting(name, input, dtype, dim, inplace=False):
    """The settings of a running sum or product, which PyTorch does not compute in booleans."""
    if inplace and dtype not in (None, input.dtype):
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {input.dtype.name} and output tensor dtype {dtype.name} should match"
        )
    dtype = input.dtype if inplace else dtype
    if dtype is not None and dtype.numpy.kind == "b" and input.ndim and input.numel():
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'. Compute it as integers: t.long().")
    return {"dim": axis_of(dim, input.ndim), **dtype_setting(dtype, input)}


def _cumprod_(self, dim, *, dtype=None):
    return Cumprod.apply_(self, **_setting("cumprod", self, dtype, dim, True))


_Cummax, _Cummin = (named(op, "values", "indices") for op in ("cummax", "cummin"))


@public(inplace=_cumprod_)
def cumprod(input: Tensor, dim, *, dtype=None) -> Tensor:
    """The cumulative product along `dim`.

    >>> import tinygrad_edu as T
    >>> T.cumprod(T.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 2., 6.])
    """
    return Cumprod.apply(input, **_setting("cumprod", input, dtype, dim))


@public()
def logcumsumexp(input: Tensor, dim) -> Tensor:
    """The logarithm of the cumulative sum of exponentials along `dim`, without overflow.

    >>> import tinygrad_edu as T
    >>> T.logcumsumexp(T.tensor([0.0, 0.0]), dim=0)
    tensor([0.0000, 0.6931])
    """
    return Logcumsumexp.apply(input, dim=axis_of(dim, input.ndim))


@public()
def cummax(input: Tensor, dim) -> Any:
    """The largest element so far at each step along `dim`, and its index.

    >>> import tinygrad_edu as T
    >>> T.cummax(T.tensor([1.0, 3.0, 2.0]), dim=0).values
    tensor([1., 3., 3.])
    """
    return _Cummax(Cummax.apply(input, dim=axis_of(dim, input.ndim)))


@public()
def cummin(input: Tensor, dim) -> Any:
    """The smallest element so far at each step along `dim`, and its index.

    >>> import tinygrad_edu as T
    >>> T.cummin(T.tensor([3.0, 1.0, 2.0]), dim=0).values
    tensor([3., 1., 1.])
    """
    return _Cummin(Cummin.apply(input, dim=axis_of(dim, input.ndim)))


class Cumsum(Op):
    def forward(self, *, dim, dtype=None):
        x = summed(self, dtype)
        return row_major(x.cumsum(axis=dim, dtype=x.dtype) + x.dtype.type(0)) if self.ndim else x.copy()  # -0 + 0 is 0

    def grad_self(grad, dim):
        return flip(cumsum(flip(grad, (dim,)), dim), (dim,)) if grad.ndim else grad

    jvp = linear


def _cumsum_(self, dim, *, dtype=None):
    return Cumsum.apply_(self, **_setting("cumsum", self, dtype, dim, True))


@public(inplace=_cumsum_)
def cumsum(input: Tensor, dim, *, dtype=None) -> Tensor:
    """The cumulative sum along `dim`.

    >>> import tinygrad_edu as T
    >>> T.cumsum(T.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 3., 6.])
    """
    return Cumsum.apply(input, **_setting("cumsum", input, dtype, dim))
