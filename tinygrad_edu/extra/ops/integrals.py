"""Sums along a curve, slopes, medians, histograms."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.return_types import named
from ...array.tensor import Tensor, wrap
from ...ops.binding import functions, public
from ...ops.creation.factories import finish
from ...ops.indexing.index import narrow, select
from ...ops.indexing.masking import where
from ...ops.op import Op
from ...ops.pointwise.arithmetic import DivNumber, MulNumber
from ...ops.reductions.norms import VectorNorm, norm_slope, vector_norm
from ...ops.reductions.reduce import sum
from ...ops.shapes.joining import cat
from ...ops.shapes.shape import axis_of, reshape


@public("trapz", method=False)
def trapezoid(y, x=None, *, dx: float = 1.0, dim=-1) -> Tensor:
    """The integral of `y` by the trapezoidal rule, at points `x` or with steps of `dx`.

    >>> import tinygrad_edu as T
    >>> T.trapezoid(T.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    _need_samples("trapezoid", y)
    axis_of(dim, y.ndim)
    if x is not None and y.shape[dim]:
        return DivNumber.apply(_float(sum(_trapezes("trapezoid", y, x, dim), axis_of(dim, y.ndim))), other=2.0)
    if not y.shape[dim]:
        return wrap(np.zeros([n for d, n in enumerate(y.shape) if d != axis_of(dim, y.ndim)], y._data.dtype))
    ends = MulNumber.apply(_float(select(y, dim, 0) + select(y, dim, -1)), other=0.5)
    return MulNumber.apply(sum(y, dim) - ends, other=dx)


@public(method=False)
def cumulative_trapezoid(y, x=None, *, dx: float = 1.0, dim=-1) -> Tensor:
    """The running integral of `y` by the trapezoidal rule.

    >>> import tinygrad_edu as T
    >>> T.cumulative_trapezoid(T.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    _need_samples("cumulative_trapezoid", y)
    cumsum = functions["cumsum"]
    axis_of(dim, y.ndim)
    if x is not None and y.shape[dim]:
        areas = _trapezes("cumulative_trapezoid", y, x, dim)
        return DivNumber.apply(_float(cumsum(areas, axis_of(dim, y.ndim))), other=2.0)
    n = y.shape[dim]
    if not n:
        return y.clone()
    return cumsum(MulNumber.apply(_float(narrow(y, dim, 0, n - 1) + narrow(y, dim, 1, n - 1)), other=dx / 2.0), dim)


def _float(t):
    return t if t.is_floating_point() else t.to(dtypes.get_default_dtype())


def _need_samples(name, y):
    if y._data.dtype == bool:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")


def _trapezes(name, y, x, dim):
    """Twice the area of each trapeze."""
    axis = axis_of(dim, y.ndim)
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        places = reshape(x, [x.shape[0] if d == axis else 1 for d in range(y.ndim)])
    else:
        places = reshape(x, (*(1,) * (y.ndim - x.ndim), *x.shape)) if x.ndim < y.ndim else x
    n, m = y.shape[axis], places.shape[axis]
    steps = narrow(places, axis, 1, m - 1) - narrow(places, axis, 0, m - 1)
    return (narrow(y, axis, 0, n - 1) + narrow(y, axis, 1, n - 1)) * steps


def _weighed(input: Tensor, axis: int, start: int, count: int, weights: list[np.ndarray]) -> Any:
    """The sum of `count` elements from `start`, from the one after it and so on, each by its weights."""
    kind = input._data.dtype if input._data.dtype.kind == "f" else np.float32
    shape = [-1 if d == axis else 1 for d in range(input.ndim)]
    parts = [narrow(input, axis, start + i, count) * wrap(w.astype(kind).reshape(shape)) for i, w in enumerate(weights)]
    return functools.reduce(operator.add, parts)


@public(method=False)
def gradient(input, *, spacing=1, dim=None, edge_order=1) -> Any:
    """The gradient of sampled values along each dimension: central differences inside, one-sided ones at the edges.

    >>> import tinygrad_edu as T
    >>> T.gradient(T.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int | np.integer) else dim
    spacing = 1 if spacing is None else spacing
    axes = [axis_of(d, input.ndim) for d in dims]
    for axis in axes:
        if axes.count(axis) > 1:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    steps = list(spacing) if isinstance(spacing, tuple | list) else [spacing] * len(axes)
    if len(steps) != len(axes):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"{f'{input.ndim=}' if dim is None else 'that of dim'}, but got a list of length {len(steps)}"
        )
    if any(input.shape[axis] <= edge_order for axis in axes):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    out = []
    for axis, step in zip(axes, steps, strict=True):
        n = input.shape[axis]
        at = step._data if isinstance(step, Tensor) and step.ndim else np.arange(n) * float(step)
        if len(at) != n:
            raise RuntimeError(
                f"torch.gradient expected the coordinates of dim {axis} to have {n} elements, got {len(at)}"
            )
        gaps = np.diff(at.astype(np.float64))
        a, b = gaps[:-1], gaps[1:]
        rows = [-b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))]
        inner = _weighed(input, axis, 0, n - 2, rows)
        if edge_order == 1:
            first = _weighed(input, axis, 0, 1, [-1 / gaps[:1], 1 / gaps[:1]])
            last = _weighed(input, axis, n - 2, 1, [-1 / gaps[-1:], 1 / gaps[-1:]])
        else:
            a, b = gaps[:1], gaps[1:2]
            first = _weighed(input, axis, 0, 1, [-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))])
            a, b = gaps[-2:-1], gaps[-1:]
            last = _weighed(input, axis, n - 3, 1, [b / (a * (a + b)), -(a + b) / (a * b), (a + 2 * b) / (b * (a + b))])
        out.append(cat([first, inner, last], axis))
    return tuple(out)


class Renorm(Op):
    """Each slice along `dim` scaled by maxnorm/(norm + 1e-7) where its norm is larger."""

    def forward(self, *, p, dim, maxnorm):
        return np.ascontiguousarray(self * _shrink(self, p, dim, maxnorm))

    def grad_self(grad, self, p, dim, maxnorm):
        others = tuple(d for d in range(self.ndim) if d != dim)
        norms = vector_norm(self, p, others, True)
        factor = maxnorm / (norms + 1e-7)
        along = sum(grad * self, others, True) * norm_slope(self, norms, p, others) / (norms + 1e-7)
        return where(norms > maxnorm, factor * (grad - along), grad)

    def jvp(tangent, self, p, dim, maxnorm):
        others = tuple(d for d in range(self.ndim) if d != dim)
        norms = vector_norm(self, p, others, True)
        slope = sum(tangent * norm_slope(self, norms, p, others), others, True) / (norms + 1e-7)
        return where(norms > maxnorm, maxnorm / (norms + 1e-7) * (tangent - self * slope), tangent)


def _shrink(array, p, dim, maxnorm):
    others = tuple(d for d in range(array.ndim) if d != dim)
    norms = VectorNorm.forward(array, ord=p, dim=others, keepdim=True)
    return np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1).astype(array.dtype)


def _renorm(form, input, p, dim, maxnorm):
    if p <= 0:
        raise RuntimeError("renorm: non-positive norm not supported")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input._data.dtype.kind not in "fcV":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{input.dtype.legacy_name}. Convert first: t.float()."
        )
    return getattr(Renorm, form)(input, p=p, dim=axis_of(dim, input.ndim), maxnorm=float(maxnorm))


@public(inplace=lambda self, p, dim, maxnorm: _renorm("apply_", self, p, dim, maxnorm))
def renorm(input, p, dim, maxnorm) -> Tensor:
    """Scale each slice along `dim` down so that its p-norm is at most `maxnorm`.

    >>> import tinygrad_edu as T
    >>> T.renorm(T.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    return _renorm("apply", input, p, dim, maxnorm)


@public(method=False)
def histogram(input, bins=100, *, range=None, weight=None, density: bool = False) -> Any:
    """The number of elements in each bin, and the edges of the bins.

    >>> import tinygrad_edu as T
    >>> T.histogram(T.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 4.0)).hist
    tensor([2., 1.])
    """
    edges = bins._data if isinstance(bins, Tensor) else bins
    weights = None if weight is None else weight._data.reshape(-1)
    counts, limits = np.histogram(input._data.reshape(-1), edges, range, density=density, weights=weights)
    kind = input._data.dtype
    return named("histogram", "hist", "bin_edges")((finish(counts.astype(kind)), finish(limits.astype(kind))))
