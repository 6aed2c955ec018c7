"""Quantiles, means without nan, differences, covariance, histograms."""

from __future__ import annotations

import builtins
import math
import warnings
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, wrap
from ...ops.arrays import row_major
from ...ops.binding import linalg_functions, nn_functions, public
from ...ops.creation.factories import finish
from ...ops.indexing.gather import gather
from ...ops.indexing.index import narrow
from ...ops.indexing.masking import where
from ...ops.linalg.matmul import matmul
from ...ops.op import Op
from ...ops.operands import refuse_kinds
from ...ops.pointwise.arithmetic import MulNumber
from ...ops.pointwise.clamp import clamp_min
from ...ops.pointwise.powers import sqrt
from ...ops.pointwise.rounding import ceil, floor, round
from ...ops.reductions.reduce import (
    _Counted,
    as_dims,
    dtype_setting,
    mean,
    normalized_dims,
    numel_along,
    restore_dims,
    spread,
    sum,
    summed,
)
from ...ops.shapes.joining import cat
from ...ops.shapes.permute import t, transpose
from ...ops.shapes.shape import View, axis_of, expand, reshape, unsqueeze
from .masks import masked_fill
from .sorting import sort
from .weighted_sums import LerpTensor

_NN, _LINALG = (nn_functions,), (linalg_functions,)


def _quantile(input, q, dim, keepdim, interpolation, without_nan):
    if not input._data.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if input._data.dtype.name not in ("float32", "float64"):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    shares = q if isinstance(q, Tensor) else wrap(np.asarray(q, input._data.dtype))
    if shares.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if ((shares._data < 0) | (shares._data > 1)).any():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    axis = axis_of(0 if dim is None else dim, input.ndim)
    if dim is None:
        ordered, sizes = sort(reshape(input, (-1,)))[0], (1,) * input.ndim if keepdim else ()
    else:
        sizes = tuple(n if d != axis else 1 for d, n in enumerate(input.shape) if d != axis or keepdim)
        last = axis == input.ndim - 1
        ordered = sort(input if last else transpose(unsqueeze(input, -1), axis, -1))[0]
    n = ordered.shape[-1]
    ordered = View.apply(ordered, size=(*sizes, n))
    # The place of each share among the elements that count: in a row with a nan it is the nan, at the end.
    is_nan = np.isnan(ordered._data)
    if without_nan:
        known = (n - is_nan.sum(-1, keepdims=True)).astype(shares._data.dtype)
        places = clamp_min(shares * wrap(known - 1), 0)
    else:
        places = expand(MulNumber.apply(shares, other=n - 1), (*sizes, shares._data.size))
        places = masked_fill(places, wrap(np.broadcast_to(is_nan[..., -1:], places.shape)), n - 1)
    if interpolation in _ROUNDED:
        places = _ROUNDED[interpolation](places)
    below = places._data.astype(np.int64)
    out = gather(ordered, -1, wrap(below))
    if interpolation in ("linear", "midpoint"):
        weight = places - wrap(below.astype(places._data.dtype))
        if interpolation == "midpoint":
            weight = wrap(np.full_like(weight._data, 0.5))
        above = gather(ordered, -1, wrap(np.ceil(places._data).astype(np.int64)))
        out = LerpTensor.apply(out, above, weight)
    if shares.ndim:
        out = out.unsqueeze_(0).transpose_(0, -1)
    return out.squeeze_(-1)


_ROUNDED = {"lower": floor, "higher": ceil, "nearest": round}


@public()
def quantile(input, q, dim=None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The quantiles of the elements along `dim`: a share `q` of them lies below. A vector `q` returns one result for each.

    >>> import tinygrad_edu as T
    >>> T.quantile(T.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@public()
def nanquantile(input, q, dim=None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The quantile, ignoring nan.

    >>> import tinygrad_edu as T
    >>> T.nanquantile(T.tensor([1.0, T.nan, 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, True)


@public()
def nanmean(input, dim=None, keepdim: bool = False, *, dtype=None) -> Tensor:
    """The mean of the elements that are not nan.

    >>> import tinygrad_edu as T
    >>> T.nanmean(T.tensor([1.0, T.nan, 3.0]))
    tensor(2.)
    """
    if not input.is_floating_point():
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.legacy_name}"
        )
    count = sum(wrap((~np.isnan(input._data)).astype(input._data.dtype)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


@public()
def diff(input, n=1, dim=-1, prepend=None, append=None) -> Tensor:
    """The differences between neighbours along `dim`, taken `n` times.

    >>> import tinygrad_edu as T
    >>> T.diff(T.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return input.clone()
    parts = [x for x in (prepend, input, append) if x is not None]
    out = input if len(parts) == 1 else cat(parts, axis)
    of_booleans = out._data.dtype == np.bool_
    for _ in range(min(n, out.shape[axis])):
        size = out.shape[axis] - 1
        after, before = narrow(out, axis, 1, size), narrow(out, axis, 0, size)
        out = after ^ before if of_booleans else after - before
    return out


@public()
def cov(input, *, correction=1, fweights=None, aweights=None) -> Tensor:
    """The covariance matrix of the variables; each row of `input` is a variable.

    >>> import tinygrad_edu as T
    >>> T.cov(T.tensor([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input._data.dtype == np.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input. Convert first: t.float().")
    rows = input if input.ndim == 2 else reshape(input, (1, input.numel()))
    for name, w, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "fV")):
        if w is not None:
            _check_weights(name, w, kinds, rows.shape[1])
    if rows._data.dtype.kind != "f":
        rows = rows.to(dtypes.get_default_dtype())
    given = [w for w in (fweights, aweights) if w is not None]
    weight = None if not given else given[0] if len(given) == 1 else given[0] * given[1]

    def weighed(columns):
        return columns if weight is None else columns * weight

    total = rows.shape[1] if weight is None else sum(weight)
    lost = correction if aweights is None else correction * sum(weight * aweights) / total
    centred = rows - unsqueeze(sum(weighed(rows), 1) / total, 1)
    return (matmul(centred, t(weighed(centred))) / builtins.max(total - lost, 0)).squeeze()


def _check_weights(name, weights, kinds, n):
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    if weights._data.dtype.kind not in kinds:
        kind = "integral" if kinds == "iu" else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype.legacy_name} dtype"
        )
    if weights.numel() != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {n}"
        )
    if (weights._data < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


@public()
def corrcoef(input) -> Tensor:
    """The matrix of correlation coefficients of the variables; each row of `input` is a variable.

    >>> import tinygrad_edu as T
    >>> T.corrcoef(T.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    covariance = cov(input)
    if not covariance.ndim:
        return covariance / covariance
    deviation = sqrt(covariance.diagonal())
    return (covariance / unsqueeze(deviation, 1) / unsqueeze(deviation, 0)).clamp(-1, 1)


@public()
def histc(input, bins=100, min=0, max=0) -> Tensor:
    """A histogram: how many elements fall into each of `bins` equal parts of [min, max] (by default the elements' range).

    >>> import tinygrad_edu as T
    >>> T.histc(T.tensor([1.0, 2.0, 1.0]), bins=3, min=0, max=3)
    tensor([0., 2., 1.])
    """
    refuse_kinds((input._data,), "histogram_cpu", "biu")
    low, high = (input._data.min(), input._data.max()) if min == max and input._data.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    return finish(np.histogram(input._data, bins, (low, high))[0].astype(input._data.dtype))


class VarMean(Op):
    def forward(self, *, dim, correction, keepdim):
        return _variance(self, dim, correction, keepdim)

    def grad_self(grad, self, dim, correction, keepdim):
        sizes = tuple(self.shape)
        parts = []
        if grad[0] is not None:
            parts.append(_variance_grad(grad[0], self, dim, correction, keepdim))
        if grad[1] is not None:
            parts.append(spread(grad[1] / numel_along(sizes, dim), dim, keepdim, sizes))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def jvp(tangent, self, dim, correction, keepdim):
        moved = sum(_variance_grad(1.0, self, dim, correction, True) * tangent, dim, keepdim)
        return moved, mean(tangent, dim, keepdim)


class StdMean(Op):
    results = ("std", "mean")

    def forward(self, *, dim, correction, keepdim):
        variance, mean = _variance(self, dim, correction, keepdim)
        return np.sqrt(variance), mean

    def grad_self(grad, self, result0, dim, correction, keepdim):
        first = None if grad[0] is None else _std_to_var(grad[0], result0)
        return VarMean.grad_self((first, grad[1]), self, dim, correction, keepdim)

    def jvp(tangent, self, result0, dim, correction, keepdim):
        moved, centre = VarMean.jvp(tangent, self, dim, correction, keepdim)
        return _std_to_var(moved, result0), centre


@public(method=False)
def var_mean(input: Tensor, dim=None, unbiased: bool = True, keepdim: bool = False, *, correction=None) -> Any:
    """The variance and the mean.

    >>> import tinygrad_edu as T
    >>> T.var_mean(T.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    _need_float("var_mean", input)
    return VarMean.apply(input, keepdim=keepdim, **_spread_arguments("var_mean", input, dim, unbiased, correction))


@public(method=False)
def std_mean(input: Tensor, dim=None, unbiased: bool = True, keepdim: bool = False, *, correction=None) -> Any:
    """The standard deviation and the mean.

    >>> import tinygrad_edu as T
    >>> T.std_mean(T.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    _need_float("std_mean", input)
    return StdMean.apply(input, keepdim=keepdim, **_spread_arguments("std_mean", input, dim, unbiased, correction))


class Nansum(Op):
    def forward(self, *, dim=None, keepdim=False):
        axes = None if dim is None else normalized_dims(dim, self.ndim)
        return row_major(np.nansum(summed(self, None), axis=axes, keepdims=keepdim))

    def grad_self(grad, self, dim, keepdim):
        return where(self == self, spread(grad, dim, keepdim, tuple(self.shape)), 0.0)

    def jvp(tangent, self, dim, keepdim):
        return sum(where(self == self, tangent, 0.0), dim, keepdim)


@public()
def nansum(input: Tensor, dim=None, keepdim: bool = False, *, dtype=None) -> Tensor:
    """The sum, counting nan as 0.

    >>> import tinygrad_edu as T
    >>> T.nansum(T.tensor([1.0, T.nan, 3.0]))
    tensor(4.)
    """
    dtype_setting(dtype, input)
    if dtype is not None:
        input = input.to(dtype)
    return Nansum.apply(input, dim=None if dim is None else as_dims(dim), keepdim=keepdim)


@public()
def count_nonzero(input: Tensor, dim=None) -> Tensor:
    """The number of nonzero elements.

    >>> import tinygrad_edu as T
    >>> T.count_nonzero(T.tensor([0, 1, 2]))
    tensor(2)
    """
    return _Counted.apply(input, count=_count_nonzero, dim=dim, keepdim=False)


def _count_nonzero(array, axis, keepdims):
    return np.count_nonzero(array, axis=axis, keepdims=keepdims)


def _need_float(names, input):
    if input._data.dtype.kind not in "fcV":
        raise RuntimeError(f"{names} only support floating point and complex dtypes. Convert first: t.float().")


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
    if not keepdim:
        variance, mean = variance.squeeze(axes), mean.squeeze(axes)
    return row_major(variance), row_major(mean)


def _variance_grad(grad, self, dim, correction, keepdim):
    """d var/ds = 2·(s - mean)/(n - correction)"""
    sizes = tuple(self.shape)
    if dim is None and numel_along(sizes, dim) <= correction:
        return grad * where(self == mean(self, dim, True), math.nan, math.inf)
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
    _need_float("std and var", input)
    return Var.apply(input, keepdim=keepdim, **_spread_arguments("var", input, dim, unbiased, correction))


@public()
def std(input: Tensor, dim=None, unbiased: bool = True, keepdim: bool = False, *, correction=None) -> Tensor:
    """The standard deviation: the square root of the variance.

    >>> import tinygrad_edu as T
    >>> T.std(T.tensor([1.0, 3.0]))
    tensor(1.4142)
    """
    _need_float("std and var", input)
    return Std.apply(input, keepdim=keepdim, **_spread_arguments("std", input, dim, unbiased, correction))
