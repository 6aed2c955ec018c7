"""Many elements to one: sums, products, extremes, spreads, norms; and the same kept at each step, as in `cumsum`."""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

import numpy as np

from .. import dtypes
from ..tensor import Tensor
from .binding import public
from .creation import zeros_like
from .exponential import pow
from .gather import put_along, take_along
from .op import Op, linear
from .pointwise import abs, maximum, minimum, sign, where
from .shape import axis_of, broadcast_to, flip, reshape, transpose, unsqueeze

# --- dimensions ------------------------------------------------------------------------------------------------------


def normalized_dims(dim, ndim):
    """`dim` (None, an int or a tuple) as a tuple of axes from 0, all of them for None or an empty tuple."""
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return tuple(range(ndim))
    axes = []
    for d in (dim,) if isinstance(dim, int) else dim:
        axis = axis_of(d, ndim)
        if axis in axes:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
        axes.append(axis)
    return tuple(axes) if ndim else ()


def restore_dims(value, dim, keepdim, sizes):
    """Give a reduced array or Tensor its reduced dimensions back, with size 1."""
    if keepdim or not sizes:
        return value
    axes = normalized_dims(dim, len(sizes))
    return reshape(value, tuple(1 if i in axes else n for i, n in enumerate(sizes)))


def _spread(value, dim, keepdim, sizes):
    """A reduced value at each place that it came from."""
    return broadcast_to(restore_dims(value, dim, keepdim, sizes), sizes)


def _numel(sizes, dim):
    return math.prod(sizes[axis] for axis in normalized_dims(dim, len(sizes)))


def _dims(dim):
    return () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


def _summed(array, dtype):
    """Sums of booleans and integers are int64, unless another dtype is asked for."""
    if dtype is not None:
        return array.astype(dtype, copy=False)
    return array if array.dtype.kind == "f" else array.astype(np.int64, copy=False)


# --- sums and products -----------------------------------------------------------------------------------------------


class Sum(Op):
    def forward(self, *, dtype=None):
        return _summed(self, dtype).sum()

    def grad_self(grad, self_sym_sizes):
        return broadcast_to(grad, self_sym_sizes)

    jvp = linear


class SumDim(Op, name="SumBackward1"):
    def forward(self, *, dim, keepdim, dtype=None):
        return _summed(self, dtype).sum(axis=normalized_dims(dim, self.ndim), keepdims=keepdim)

    def grad_self(grad, self_sym_sizes, dim, keepdim):
        return _spread(grad, dim, keepdim, self_sym_sizes)

    jvp = linear


class Nansum(Op):
    def forward(self, *, dim=None, keepdim=False):
        return np.nansum(self, axis=None if dim is None else normalized_dims(dim, self.ndim), keepdims=keepdim)

    def grad_self(grad, self, dim, keepdim):
        return where(self == self, _spread(grad, dim, keepdim, tuple(self.shape)), 0.0)

    def jvp(tangent, self, dim, keepdim):
        return sum(where(self == self, tangent, 0.0), dim, keepdim)


class Mean(Op):
    def forward(self, *, dtype=None):
        return _mean(_summed(self, dtype), None, False)

    def grad_self(grad, self_sym_numel, self_sym_sizes):
        return broadcast_to(grad / self_sym_numel, self_sym_sizes) if self_sym_numel else zeros_of(grad, self_sym_sizes)

    jvp = linear


class MeanDim(Op, name="MeanBackward1"):
    def forward(self, *, dim, keepdim, dtype=None):
        return _mean(_summed(self, dtype), normalized_dims(dim, self.ndim), keepdim)

    def grad_self(grad, self_sym_sizes, self_sym_numel, dim, keepdim):
        return _spread(grad / builtins.max(_numel(self_sym_sizes, dim), 1), dim, keepdim, self_sym_sizes)

    jvp = linear


def _mean(array, axes, keepdim):
    if array.dtype == np.float16:
        return array.mean(axis=axes, keepdims=keepdim)
    total = array.sum(axis=axes, keepdims=keepdim)
    return total / array.dtype.type(array.size if axes is None else math.prod(array.shape[a] for a in axes))


def zeros_of(grad, sizes):
    """Zeros of shape `sizes` in the dtype of `grad`."""
    return zeros_like(broadcast_to(reshape(grad, (1,) * len(sizes)), sizes))


class Prod(Op):
    def forward(self, *, dtype=None):
        return _summed(self, dtype).prod()

    # ∂(s₁·s₂·…)/∂sᵢ is the product of the others: result/sᵢ where no factor is 0
    def grad_self(grad, self, result):
        if not _any_zero(self):
            return grad * (result / self)
        flat = reshape(self, (-1,))
        return reshape(grad * _products_of_others(flat), tuple(self.shape))

    def jvp(tangent, self):
        return sum(tangent * reshape(_products_of_others(reshape(self, (-1,))), tuple(self.shape)))


class ProdDim(Op, name="ProdBackward1"):
    def forward(self, *, dim, keepdim, dtype=None):
        return _summed(self, dtype).prod(axis=dim if self.ndim else None, keepdims=keepdim)

    def grad_self(grad, self, result, dim, keepdim):
        sizes = tuple(self.shape)
        grad = restore_dims(grad, dim, keepdim, sizes)
        if not _any_zero(self):
            return grad * (restore_dims(result, dim, keepdim, sizes) / self)
        return grad * _moved_products_of_others(self, dim)

    def jvp(tangent, self, dim, keepdim):
        return sum(tangent * _moved_products_of_others(self, dim), dim, keepdim)


def _any_zero(value):
    return not np.all(getattr(value, "_data", value))


def _products_of_others(value):
    """For each element along the last dimension, the product of all others: from the square of copies without it."""
    n = value.shape[-1]
    copies = where(np.eye(n, dtype=bool), 1.0, broadcast_to(unsqueeze(value, -2), (*value.shape[:-1], n, n)))
    return prod(copies, -1)


def _moved_products_of_others(value, dim):
    if not value.ndim:
        return where(np.True_, 1.0, value)
    return transpose(_products_of_others(transpose(value, dim, -1)), dim, -1)


# --- extremes --------------------------------------------------------------------------------------------------------


class _Extreme(Op):
    """The largest or smallest of all; elements that tie share the gradient."""

    def grad_self(grad, self, result):
        return grad * _shares(self, result, ())

    def jvp(tangent, self, result):
        return sum(tangent * _shares(self, result, ()))


class Max(_Extreme, name="MaxBackward1"):
    def forward(self):
        return self.max()


class Min(_Extreme, name="MinBackward1"):
    def forward(self):
        return self.min()


class _ExtremeAlong(Op):
    """As _Extreme, along dimensions."""

    def grad_self(grad, self, result, dim, keepdim):
        sizes = tuple(self.shape)
        share = _shares(self, restore_dims(result, dim, keepdim, sizes), dim)
        return restore_dims(grad, dim, keepdim, sizes) * share

    def jvp(tangent, self, result, dim, keepdim):
        return sum(tangent * _shares(self, restore_dims(result, dim, keepdim, tuple(self.shape)), dim), dim, keepdim)


class Amax(_ExtremeAlong):
    def forward(self, *, dim, keepdim):
        return self.max(axis=normalized_dims(dim, self.ndim), keepdims=keepdim)


class Amin(_ExtremeAlong):
    def forward(self, *, dim, keepdim):
        return self.min(axis=normalized_dims(dim, self.ndim), keepdims=keepdim)


def _shares(value, extreme, dim):
    """1/n at each of the n elements that equal the extreme, as a constant array."""
    value, extreme = (getattr(x, "_data", x) for x in (value, extreme))
    mask = (value == extreme) | (np.isnan(value) & np.isnan(extreme))
    axes = normalized_dims(dim, mask.ndim)
    return mask.astype(value.dtype) / mask.sum(axis=axes, keepdims=True).astype(value.dtype)


class _SelectAlong(Op):
    """An element chosen along one dimension, and its index: the gradient goes to that element alone."""

    results = ("values", "indices")
    non_differentiable = (1,)

    def grad_self(grad, self_sym_sizes, dim, keepdim, indices):
        if not self_sym_sizes:
            return grad[0]
        grad, indices = (x if keepdim else unsqueeze(x, dim) for x in (grad[0], indices))
        return put_along(grad, self_sym_sizes, dim, indices)

    def jvp(tangent, dim, keepdim, indices):
        if not tangent.ndim:
            return tangent, None
        chosen = take_along(tangent, dim, indices if keepdim else unsqueeze(indices, dim))
        return (chosen if keepdim else chosen.squeeze(dim)), None


class MaxDim(_SelectAlong, name="MaxBackward0"):
    def forward(self, *, dim, keepdim):
        return _chosen(self, _first_nan_or(np.argmax, self, dim), dim, keepdim)


class MinDim(_SelectAlong, name="MinBackward0"):
    def forward(self, *, dim, keepdim):
        return _chosen(self, _first_nan_or(np.argmin, self, dim), dim, keepdim)


class MedianDim(_SelectAlong, name="MedianBackward1"):
    """The lower of the two in the middle."""

    def forward(self, *, dim, keepdim):
        if not self.ndim:
            return _chosen(self, np.int64(0), dim, keepdim)
        order = np.argsort(self, axis=dim, kind="stable")
        middle = (self.shape[dim] - 1) // 2
        return _chosen(self, np.take(order, [middle], axis=dim), dim, keepdim)


class Median(_Extreme):
    def forward(self):
        flat = np.sort(self, axis=None)
        return flat[(self.size - 1) // 2] if not np.isnan(flat[-1:]).any() else flat[-1]


def _first_nan_or(find, array, dim):
    return find(array, axis=dim, keepdims=True) if array.ndim else np.int64(0)


def _chosen(array, indices, dim, keepdim):
    if not array.ndim:
        return array.copy(), np.asarray(indices)
    values = np.take_along_axis(array, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


# --- spreads ---------------------------------------------------------------------------------------------------------


def _variance(array, dim, correction, keepdim):
    axes = normalized_dims(dim, array.ndim)
    mean = array.mean(axis=axes, keepdims=True) if array.size else array.sum(axis=axes, keepdims=True) * np.nan
    count = builtins.max(_numel(array.shape, dim) - correction, 0)
    variance = np.square(array - mean).sum(axis=axes, keepdims=True) / array.dtype.type(count)
    if not keepdim:
        variance, mean = variance.squeeze(axes), mean.squeeze(axes)
    return variance, mean


def _variance_grad(grad, self, dim, correction, keepdim):
    """d var/ds = 2·(s - mean)/(n - correction)"""
    sizes = tuple(self.shape)
    scale = 2 / (_numel(sizes, dim) - correction) if _numel(sizes, dim) != correction else math.inf
    return restore_dims(grad, dim, keepdim, sizes) * ((self - mean(self, dim, True)) * scale)


def _std_to_var(grad, std):
    """The gradient of a variance from that of its root; 0 where both are 0."""
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


class VarMean(Op):
    def forward(self, *, dim, correction, keepdim):
        return _variance(self, dim, correction, keepdim)

    def grad_self(grad, self, dim, correction, keepdim):
        sizes = tuple(self.shape)
        parts = []
        if grad[0] is not None:
            parts.append(_variance_grad(grad[0], self, dim, correction, keepdim))
        if grad[1] is not None:
            parts.append(_spread(grad[1] / _numel(sizes, dim), dim, keepdim, sizes))
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


# --- norms -----------------------------------------------------------------------------------------------------------


class VectorNorm(Op, name="LinalgVectorNormBackward0"):
    """(Σ|s|^ord)^(1/ord)"""

    def forward(self, *, ord=2, dim=None, keepdim=False):
        axes = normalized_dims(dim, self.ndim)
        size = np.abs(self)
        if ord == math.inf:
            return size.max(axis=axes, keepdims=keepdim)
        if ord == -math.inf:
            return size.min(axis=axes, keepdims=keepdim)
        if ord == 0:
            return (self != 0).sum(axis=axes, keepdims=keepdim).astype(self.dtype)
        if ord == 1:
            return size.sum(axis=axes, keepdims=keepdim)
        if ord == 2:
            return np.sqrt((self * self).sum(axis=axes, keepdims=keepdim))
        return np.power(np.power(size, ord).sum(axis=axes, keepdims=keepdim), 1 / ord).astype(self.dtype)

    # d‖s‖ = sign(s)·(|s|/‖s‖)^(ord-1); at 0 the subgradient is 0
    def grad_self(grad, self, result, ord, dim, keepdim):
        sizes = tuple(self.shape)
        return restore_dims(grad, dim, keepdim, sizes) * _norm_slope(
            self, restore_dims(result, dim, keepdim, sizes), ord, dim
        )

    def jvp(tangent, self, result, ord, dim, keepdim):
        return sum(
            tangent * _norm_slope(self, restore_dims(result, dim, keepdim, tuple(self.shape)), ord, dim), dim, keepdim
        )


def _norm_slope(self, norm, ord, dim):
    if ord == 0:
        return self * 0
    if ord == 1:
        return sign(self)
    if math.isinf(ord):
        return sign(self) * _shares(abs(self), norm, dim)
    if ord == 2:
        zero = norm == 0
        return where(zero, 0.0, self / where(zero, 1.0, norm))
    if ord < 1:
        zero = self == 0
        return where(zero, 0.0, sign(self) * pow(where(zero, 1.0, abs(self)), ord - 1)) * pow(norm, 1 - ord)
    zero = norm == 0
    slope = sign(self) * pow(abs(self), ord - 1) if ord < 2 else self * pow(abs(self), ord - 2)
    return where(zero, 0.0, slope / where(zero, 1.0, pow(norm, ord - 1)))


# --- running totals --------------------------------------------------------------------------------------------------


class Cumsum(Op):
    def forward(self, *, dim, dtype=None):
        return _summed(self, dtype).cumsum(axis=dim) if self.ndim else _summed(self, dtype).copy()

    def grad_self(grad, dim):
        return flip(cumsum(flip(grad, (dim,)), dim), (dim,)) if grad.ndim else grad

    jvp = linear


class Cumprod(Op):
    def forward(self, *, dim, dtype=None):
        return _summed(self, dtype).cumprod(axis=dim) if self.ndim else _summed(self, dtype).copy()

    # ∂(s₁…sᵢ)/∂sₖ is, for k <= i, the product of the others: resultᵢ/sₖ where no factor is 0
    def grad_self(grad, self, result, dim):
        if not self.ndim:
            return grad
        if not _any_zero(self):
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


# --- without gradient ------------------------------------------------------------------------------------------------


class _Counted(Op):
    """Truth and positions: results that no gradient goes through."""

    def forward(self, *, count, dim, keepdim):
        return count(self, axis=normalized_dims(dim, self.ndim) if dim is not None else None, keepdims=keepdim)


class _Position(Op):
    def forward(self, *, find, dim, keepdim):
        return np.asarray(find(self, axis=dim if self.ndim else None, keepdims=keepdim))


# --- functions -------------------------------------------------------------------------------------------------------


def _need_float(name, input, dtype=None):
    array = getattr(input, "_data", input)
    if dtype is None and array.dtype.kind != "f":
        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{kind}. Convert first: t.float()."
        )


def _kind(dtype):
    return {} if dtype is None else {"dtype": dtypes.to_numpy_dtype(dtype)}


@public()
def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements, or along `dim`. Integers and booleans are summed as int64."""
    if dim is None and not keepdim:
        return Sum.apply(input, **_kind(dtype))
    return SumDim.apply(input, dim=_dims(dim), keepdim=keepdim, **_kind(dtype))


@public()
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum, with nan counted as 0."""
    if dtype is not None:
        input = input.to(dtype)
    return Nansum.apply(input, dim=None if dim is None else _dims(dim), keepdim=keepdim)


@public()
def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of all elements, or along `dim`."""
    _need_float("mean", input, dtype)
    if dim is None and not keepdim:
        return Mean.apply(input, **_kind(dtype))
    return MeanDim.apply(input, dim=_dims(dim), keepdim=keepdim, **_kind(dtype))


@public()
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dimension."""
    if dim is None:
        return Prod.apply(input, **_kind(dtype))
    axis = axis_of(dim, input.ndim)
    return ProdDim.apply(input, dim=axis, keepdim=keepdim, **_kind(dtype))


def _result(op, names):
    return namedtuple(op, names)


_Max, _Min = _result("max", "values indices"), _result("min", "values indices")
_Median = _result("median", "values indices")
_Aminmax = _result("aminmax", "min max")


def _need_elements(name, input, dim=None):
    array = getattr(input, "_data", input)
    if array.size:
        return
    if dim is None or dim == ():
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    for d in normalized_dims(dim, array.ndim):
        if array.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _extreme(name, of_all, along, of_two, kind, input, dim, keepdim):
    if isinstance(dim, Tensor):
        return of_two(input, dim)
    _need_elements(name, input, dim)
    if dim is None:
        return of_all.apply(input)
    return kind(*along.apply(input, dim=axis_of(dim, input.ndim), keepdim=keepdim))


@public()
def max(input, dim=None, keepdim=False, *, other=None):
    """The largest element; along `dim`, the largest ones and their indices; of two tensors, the larger elements."""
    return _extreme("max", Max, MaxDim, maximum, _Max, input, dim if other is None else other, keepdim)


@public()
def min(input, dim=None, keepdim=False, *, other=None):
    """The smallest element; along `dim`, the smallest ones and their indices; of two tensors, the smaller elements."""
    return _extreme("min", Min, MinDim, minimum, _Min, input, dim if other is None else other, keepdim)


@public()
def median(input, dim=None, keepdim=False):
    """The element in the middle (the lower of two); along `dim` with its index."""
    if dim is None:
        return Median.apply(input)
    return _Median(*MedianDim.apply(input, dim=axis_of(dim, input.ndim), keepdim=keepdim))


@public()
def amax(input, dim=(), keepdim=False):
    """The largest element along `dim`; elements that tie share the gradient."""
    _need_elements("amax", input, dim)
    return Amax.apply(input, dim=_dims(dim), keepdim=keepdim)


@public()
def amin(input, dim=(), keepdim=False):
    """The smallest element along `dim`; elements that tie share the gradient."""
    _need_elements("amin", input, dim)
    return Amin.apply(input, dim=_dims(dim), keepdim=keepdim)


@public()
def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the largest element."""
    dims = () if dim is None else (dim,)
    return _Aminmax(amin(input, dims, keepdim), amax(input, dims, keepdim))


def _spread_arguments(dim, unbiased, correction):
    """`var(True)`, `var(dim, unbiased)` and `var(dim, correction=…)` are three ways to say it."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = int(unbiased)
    return {"dim": None if dim is None else _dims(dim), "correction": correction}


@public()
def var(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """The variance: the sum of squared distances from the mean, divided by n - `correction` (1)."""
    _need_float("var", input)
    return Var.apply(input, keepdim=keepdim, **_spread_arguments(dim, unbiased, correction))


@public()
def std(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """The root of the variance."""
    _need_float("std", input)
    return Std.apply(input, keepdim=keepdim, **_spread_arguments(dim, unbiased, correction))


@public(method=False)
def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """The variance and the mean."""
    _need_float("var_mean", input)
    return VarMean.apply(input, keepdim=keepdim, **_spread_arguments(dim, unbiased, correction))


@public(method=False)
def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """The root of the variance, and the mean."""
    _need_float("std_mean", input)
    return StdMean.apply(input, keepdim=keepdim, **_spread_arguments(dim, unbiased, correction))


@public()
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """(Σ|x|^p)^(1/p) of all elements, or along `dim`."""
    if dtype is not None:
        input = input.to(dtype)
    if p == "nuc":
        raise NotImplementedError("the nuclear norm is not built: it needs the singular values.")
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim)


def vector_norm(input, ord=2, dim=None, keepdim=False):
    """(Σ|x|^ord)^(1/ord), with its limits for ord = 0 and ±inf."""
    array = getattr(input, "_data", input)
    if array.dtype.kind != "f":
        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {kind}. Convert first: "
            "t.float()."
        )
    return VectorNorm.apply(input, ord=ord, dim=None if dim is None else _dims(dim), keepdim=keepdim)


@public(inplace=Cumsum)
def cumsum(input, dim, *, dtype=None):
    """The sum so far, at each step along `dim`."""
    return Cumsum.apply(input, dim=axis_of(dim, input.ndim), **_kind(dtype))


@public(inplace=Cumprod)
def cumprod(input, dim, *, dtype=None):
    """The product so far, at each step along `dim`."""
    return Cumprod.apply(input, dim=axis_of(dim, input.ndim), **_kind(dtype))


@public()
def all(input, dim=None, keepdim=False):
    """True if every element is."""
    return _Counted.apply(input, count=np.all, dim=dim, keepdim=keepdim)


@public()
def any(input, dim=None, keepdim=False):
    """True if some element is."""
    return _Counted.apply(input, count=np.any, dim=dim, keepdim=keepdim)


@public()
def count_nonzero(input, dim=None):
    """How many elements are not 0."""
    return _Counted.apply(input, count=_count_nonzero, dim=dim, keepdim=False)


def _count_nonzero(array, axis, keepdims):
    return np.count_nonzero(array, axis=axis, keepdims=keepdims)


@public()
def argmax(input, dim=None, keepdim=False):
    """The index of the largest element, in the flattened tensor or along `dim`."""
    _need_elements("argmax", input, dim)
    return _Position.apply(
        input, find=np.argmax, dim=None if dim is None else axis_of(dim, input.ndim), keepdim=keepdim
    )


@public()
def argmin(input, dim=None, keepdim=False):
    """The index of the smallest element, in the flattened tensor or along `dim`."""
    _need_elements("argmin", input, dim)
    return _Position.apply(
        input, find=np.argmin, dim=None if dim is None else axis_of(dim, input.ndim), keepdim=keepdim
    )
