"""The spread of numbers, variance and standard deviation; and the count of what is not 0."""

from __future__ import annotations

import builtins
import math
import warnings

import numpy as np

from ...array.tensor import Tensor
from ..arrays import row_major
from ..binding import Dims, method, public
from ..indexing.masking import where
from ..op import Op
from .reduce import Counted, as_dims, mean, normalized_dims, numel_along, restore_dims, sum


class Var(Op):
    """Σ(s - mean)²/(n - correction)"""

    def forward(self, *, dim, correction, keepdim):
        return _variance(self, dim, correction, keepdim)

    def grad_self(grad, self, dim, correction, keepdim):
        return _grad_of_var(grad, self, dim, correction, keepdim)

    def jvp(tangent, self, dim, correction, keepdim):
        return sum(_grad_of_var(1.0, self, dim, correction, True) * tangent, dim, keepdim)


class Std(Op):
    def forward(self, *, dim, correction, keepdim):
        return np.sqrt(_variance(self, dim, correction, keepdim))

    def grad_self(grad, self, result, dim, correction, keepdim):
        return _grad_of_var(_through_root(grad, result), self, dim, correction, keepdim)

    def jvp(tangent, self, result, dim, correction, keepdim):
        return _through_root(Var.jvp(tangent, self, dim, correction, keepdim), result)


def _variance(array, dim, correction, keepdim):
    axes = normalized_dims(dim, array.ndim)
    if array.size:
        # From the first element on, so that equal elements have no variance.
        first = array[tuple(slice(0, 1) if d in axes else slice(None) for d in range(array.ndim))]
        mean = first + (array - first).mean(axis=axes, keepdims=True)
    else:
        mean = array.sum(axis=axes, keepdims=True) * np.nan
    count = builtins.max(numel_along(array.shape, dim) - correction, 0)
    variance = np.square(array - mean).sum(axis=axes, keepdims=True) / array.dtype.type(count)
    return row_major(variance if keepdim else variance.squeeze(axes))


def _grad_of_var(grad, self, dim, correction, keepdim):
    """d var/ds = 2·(s - mean)/(n - correction)"""
    sizes = tuple(self.shape)
    n = numel_along(sizes, dim)
    if dim is None and n <= correction:
        return grad * where(self == mean(self, dim, True), math.nan, math.inf)
    scale = 2 / (n - correction) if n != correction else math.inf
    return restore_dims(grad, dim, keepdim, sizes) * ((self - mean(self, dim, True)) * scale)


def _through_root(grad, std):
    """The gradient of a variance, from that of its root; 0 where both are 0."""
    return where(std == 0, 0.0, grad / (std * 2))


def _spread(op, name, input, dim, unbiased, keepdim, correction):
    """PyTorch has three forms: `var(True)`, `var(dim, unbiased)` and `var(dim, correction=…)`."""
    if input.value.dtype.kind != "f":
        raise RuntimeError("std and var only support floating point and complex dtypes. Convert first: t.float().")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = int(unbiased) if correction is None else correction
    dim = None if dim is None else as_dims(dim)
    n = numel_along(tuple(input.shape), dim)
    if n <= correction and (input.numel() or n == 0):
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel): so few elements have no spread.",
            UserWarning,
            stacklevel=4,
        )
    return op.apply(input, dim=dim, correction=correction, keepdim=keepdim)


@public()
def var(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """The variance: the sum of squared distances from the mean, divided by n - `correction` (1 by default)."""
    return _spread(Var, "var", input, dim, unbiased, keepdim, correction)


@public()
def std(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """The standard deviation: the square root of the variance."""
    return _spread(Std, "std", input, dim, unbiased, keepdim, correction)


@public()
def var_mean(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple:
    """The variance and the mean.

    >>> T.var_mean(T.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    spread = _spread(Var, "var_mean", input, dim, unbiased, keepdim, correction)
    return spread, mean(input, None if isinstance(dim, bool) else dim, keepdim)


@public()
def std_mean(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple:
    """The standard deviation and the mean.

    >>> T.std_mean(T.tensor([1.0, 3.0]))
    (tensor(1.4142), tensor(2.))
    """
    spread = _spread(Std, "std_mean", input, dim, unbiased, keepdim, correction)
    return spread, mean(input, None if isinstance(dim, bool) else dim, keepdim)


@public()
def count_nonzero(input: Tensor, dim: int | None = None) -> Tensor:
    """The number of elements that are not 0."""
    return Counted.apply(input, count=np.count_nonzero, dim=dim, keepdim=False)


class StatisticsMethods:
    """The methods of Tensor that are defined here."""

    var = method(var)
    std = method(std)
    count_nonzero = method(count_nonzero)
