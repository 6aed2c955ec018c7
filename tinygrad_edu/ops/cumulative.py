"""Sums and products so far, at each step along a dimension."""

from __future__ import annotations

import numpy as np

from .binding import public
from .masking import where
from .op import Op, linear
from .permute import flip, transpose
from .reduce import any_zero, dtype_setting, sum, summed
from .shape import axis_of, broadcast_to, unsqueeze


class Cumsum(Op):
    def forward(self, *, dim, dtype=None):
        x = summed(self, dtype)
        return x.cumsum(axis=dim, dtype=x.dtype) if self.ndim else x.copy()

    def grad_self(grad, dim):
        return flip(cumsum(flip(grad, (dim,)), dim), (dim,)) if grad.ndim else grad

    jvp = linear


class Cumprod(Op):
    def forward(self, *, dim, dtype=None):
        x = summed(self, dtype)
        return x.cumprod(axis=dim, dtype=x.dtype) if self.ndim else x.copy()

    # ∂(s₁…sᵢ)/∂sₖ is, for k <= i, the product of the others: resultᵢ/sₖ where no factor is 0
    def grad_self(grad, self, result, dim):
        if not self.ndim:
            return grad
        if not any_zero(self):
            return flip(cumsum(flip(grad * result, (dim,)), dim), (dim,)) / self
        return transpose(sum(_jacobian(self, dim) * unsqueeze(transpose(grad, dim, -1), -2), -1), dim, -1)

    def jvp(tangent, self, dim):
        if not self.ndim:
            return tangent
        return transpose(sum(_jacobian(self, dim) * unsqueeze(transpose(tangent, dim, -1), -1), -2), dim, -1)


def _jacobian(value, dim):
    """Of the running product along `dim`, moved last: entry (k, i) is the derivative of step i by element k."""
    value = transpose(value, dim, -1)
    n = value.shape[-1]
    copies = where(np.eye(n, dtype=bool), 1.0, broadcast_to(unsqueeze(value, -2), (*value.shape[:-1], n, n)))
    return where(np.triu(np.ones((n, n), bool)), cumprod(copies, -1), 0.0)


# --- functions -------------------------------------------------------------------------------------------------------


def _cumsum_(self, dim, *, dtype=None):
    return Cumsum.apply_(self, dim=axis_of(dim, self.ndim), **dtype_setting(dtype))


@public(inplace=_cumsum_)
def cumsum(input, dim, *, dtype=None):
    """The sum so far, at each step along `dim`."""
    return Cumsum.apply(input, dim=axis_of(dim, input.ndim), **dtype_setting(dtype))


def _cumprod_(self, dim, *, dtype=None):
    return Cumprod.apply_(self, dim=axis_of(dim, self.ndim), **dtype_setting(dtype))


@public(inplace=_cumprod_)
def cumprod(input, dim, *, dtype=None):
    """The product so far, at each step along `dim`."""
    return Cumprod.apply(input, dim=axis_of(dim, input.ndim), **dtype_setting(dtype))
