"""Variance and standard deviation, with or without the mean."""

from __future__ import annotations

import builtins
import math
import warnings

import numpy as np

from ...array.tensor import Tensor
from ..binding import public
from ..indexing.masking import where
from ..op import Op
from .reduce import as_dims, mean, need_float, normalized_dims, numel_along, restore_dims, sum


def _variance(array, dim, correction, keepdim):
    axes = normalized_dims(dim, array.ndim)
    mean = array.mean(axis=axes, keepdims=True) if array.size else array.sum(axis=axes, keepdims=True) * np.nan
    count = builtins.max(numel_along(array.shape, dim) - correction, 0)
    variance = np.square(array - mean).sum(axis=axes, keepdims=True) / array.dtype.type(count)
    if not keepdim:
        variance, mean = variance.squeeze(axes), mean.squeeze(axes)
    return variance, mean


def _variance_grad(grad, self, dim, correction, keepdim):
    """d var/ds = 2·(s - mean)/(n - correction)"""
    sizes = tuple(self.shape)
    scale = 2 / (numel_along(sizes, dim) - correction) if numel_along(sizes, dim) != correction else math.inf
    return restore_dims(grad, dim, keepdim, sizes) * ((self - mean(self, dim, True)) * scale)


def _std_to_var(grad, std):
    """The gradient of a variance, from that of its root; 0 where both are 0."""
    return where(std == 0, 0.0, grad / (std * 2))


class Var(Op):
    def forward(self, *, dim, correction, keepdim):
        return _variance(self, dim, correction, keepdim)[0]

    def grad_self(grad, self, dim, correction, keepdim):
        return _variance_grad(grad, self, dim, correction, keepdim)

    def jvp(tangent, self, dim, correction, keepdim):
        return sum(_variance_grad(1.0, self, dim, correction, True) * tangent, dim, keepdim)


class Std(Op):
    def forward(self, *, dim, correction, keepdim):
        return np.sqrt(_variance(self, dim, correction, keepdim)[0])

    def grad_self(grad, self, result, dim, correction, keepdim):
        return _variance_grad(_std_to_var(grad, result), self, dim, correction, keepdim)

    def jvp(tangent, self, result, dim, correction, keepdim):
        moved = sum(_variance_grad(1.0, self, dim, correction, True) * tangent, dim, keepdim)
        return _std_to_var(moved, result)


# --- functions -------------------------------------------------------------------------------------------------------


def _spread_arguments(name, input, dim, unbiased, correction):
    """PyTorch has three forms: `var(True)`, `var(dim, unbiased)` and `var(dim, correction=…)`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = int(unbiased)
    dim = None if dim is None else as_dims(dim)
    sizes = tuple(input.shape)
    if numel_along(sizes, dim) <= correction and (input.numel() or not sizes or numel_along(sizes, dim) == 0):
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel): so few elements have no spread.",
            UserWarning,
            stacklevel=4,
        )
    return {"dim": dim, "correction": correction}


@public()
def var(input: Tensor, dim=None, unbiased: bool = True, keepdim: bool = False, *, correction=None) -> Tensor:
    """The variance: the sum of squared distances from the mean, divided by n - `correction` (1 by default).

    >>> import tinygrad_edu as T
    >>> T.var(T.tensor([1.0, 3.0])), T.var(T.tensor([1.0, 3.0]), correction=0)
    (tensor(2.), tensor(1.))
    """
    need_float("var", input)
    return Var.apply(input, keepdim=keepdim, **_spread_arguments("var", input, dim, unbiased, correction))


@public()
def std(input: Tensor, dim=None, unbiased: bool = True, keepdim: bool = False, *, correction=None) -> Tensor:
    """The standard deviation: the square root of the variance.

    >>> import tinygrad_edu as T
    >>> T.std(T.tensor([1.0, 3.0]))
    tensor(1.4142)
    """
    need_float("std", input)
    return Std.apply(input, keepdim=keepdim, **_spread_arguments("std", input, dim, unbiased, correction))
