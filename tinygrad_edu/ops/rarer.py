"""Less common functions, composed of other ops: parts, integrals, comparisons that handle nan."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np

from .. import dtypes
from ..return_types import named
from ..tensor import Tensor, wrap
from .arrays import copied
from .binding import functions, nn_functions, public
from .creation.factories import finish, plain
from .indexing.gather import TakeFlat
from .indexing.index import narrow, select
from .indexing.masking import where
from .linalg.matmul import bmm
from .op import Op
from .operands import need_tensor, promoted, refuse_mismatch
from .pointwise.arithmetic import DivNumber, MulNumber, abs, mul
from .pointwise.powers import pow
from .reductions.norms import VectorNorm, norm_slope, vector_norm
from .reductions.reduce import sum
from .shapes.diagonal import diagonal
from .shapes.joining import cat
from .shapes.shape import axis_of, reshape, unsqueeze


class Nextafter(Op):
    promotes = True

    def forward(self, other):
        return np.nextafter(self, other)

    # A step function does not change with self; where both are equal, PyTorch returns 0
    def grad_self(grad, self, other):
        return where(self != other, grad, 0.0)

    def jvp(self_tangent, other_tangent, self, other):
        return where(self != other, self_tangent, 0.0)


# --- element by element ----------------------------------------------------------------------------------------------


def _operand(value, like):
    return value if isinstance(value, Tensor) else wrap(np.asarray(value, like._data.dtype))


@public(inplace=lambda self, other: self.copy_(copysign(self, other)))
def copysign(input, other) -> Tensor:
    """The magnitude of `input` with the sign of `other`.

    >>> import tinygrad_edu as T
    >>> T.copysign(T.tensor([1.0, 2.0]), T.tensor([-1.0, 1.0]))
    tensor([-1.,  2.])
    """
    _, sign = promoted([input._data, getattr(other, "_data", other)], True)
    refuse_mismatch([input._data.shape, np.shape(sign)])
    return abs(input) * wrap(np.asarray(np.copysign(1, sign), sign.dtype))


@public()
def fmax(input, other) -> Tensor:
    """The elementwise maximum. Where one element is nan, the result is the other.

    >>> import tinygrad_edu as T
    >>> T.fmax(T.tensor([1.0, T.nan]), T.tensor([0.0, 2.0]))
    tensor([1., 2.])
    """
    return where((input >= other) | (other != other), input, other)


@public()
def fmin(input, other) -> Tensor:
    """The elementwise minimum. Where one element is nan, the result is the other.

    >>> import tinygrad_edu as T
    >>> T.fmin(T.tensor([1.0, T.nan]), T.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """
    return where((input <= other) | (other != other), input, other)


@public()
def logaddexp2(input, other) -> Tensor:
    """log₂(2^input + 2^other).

    >>> import tinygrad_edu as T
    >>> T.logaddexp2(T.tensor([1.0]), T.tensor([1.0]))
    tensor([2.])
    """
    factor = math.log(2)
    return functions["logaddexp"](input * factor, other * factor) / factor


@public(inplace=lambda self, other: self.copy_(ldexp(self, other)))
def ldexp(input, other) -> Tensor:
    """input·2^other.

    >>> import tinygrad_edu as T
    >>> T.ldexp(T.tensor([1.0, 3.0]), T.tensor([2, 1]))
    tensor([4., 6.])
    """
    return mul(input, pow(2.0, _operand(other, input)))


@public()
def heaviside(input, values) -> Tensor:
    """The Heaviside step function: 0 for negative elements, 1 for positive ones, `values` at 0.

    >>> import tinygrad_edu as T
    >>> T.heaviside(T.tensor([-1.0, 0.0, 2.0]), T.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    need_tensor("heaviside", values)
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    refuse_mismatch([input._data.shape, values._data.shape])
    given, kind = input._data, input._data.dtype
    return finish(np.where(given == 0, values._data, (given > 0).astype(kind)).astype(kind))


@public(inplace=lambda self, other: self.copy_(gcd(self, other)))
def gcd(input, other) -> Tensor:
    """The greatest common divisor, element by element.

    >>> import tinygrad_edu as T
    >>> T.gcd(T.tensor([12, 18]), T.tensor(8))
    tensor([4, 2])
    """
    return finish(np.gcd(input._data, other._data))


@public(inplace=lambda self, other: self.copy_(lcm(self, other)))
def lcm(input, other) -> Tensor:
    """The least common multiple, element by element.

    >>> import tinygrad_edu as T
    >>> T.lcm(T.tensor([4, 6]), T.tensor(10))
    tensor([20, 30])
    """
    return finish(np.lcm(input._data, other._data))


@public(inplace=lambda self, other: self.copy_(nextafter(self, other)))
def nextafter(input, other) -> Tensor:
    """The next representable number after `input`, in the direction of `other`.

    >>> import tinygrad_edu as T
    >>> T.nextafter(T.tensor(1.0), T.tensor(2.0)) - 1
    tensor(1.1921e-07)
    """
    return Nextafter.apply(input, other)


@public()
def frexp(input) -> Any:
    """Split numbers into mantissa and exponent: input = mantissa·2^exponent.

    >>> import tinygrad_edu as T
    >>> T.frexp(T.tensor([8.0, 3.0]))
    tinygrad_edu.return_types.frexp(
    mantissa=tensor([0.5000, 0.7500]),
    exponent=tensor([4, 2], dtype=tinygrad_edu.int32))
    """
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    exponent = np.frexp(input._data)[1].astype(np.int32)
    # In two steps, because 2 to the full exponent may overflow.
    one, half = np.ones((), input._data.dtype), exponent // 2
    mantissa = input * wrap(np.ldexp(one, -half)) * wrap(np.ldexp(one, half - exponent))
    return named("frexp", "mantissa", "exponent")((mantissa, finish(exponent)))


@public()
def isneginf(input) -> Tensor:
    """True where an element is -inf.

    >>> import tinygrad_edu as T
    >>> T.isneginf(T.tensor([1.0, T.inf, -T.inf]))
    tensor([False, False,  True])
    """
    return input == -math.inf


@public()
def isposinf(input) -> Tensor:
    """True where an element is inf.

    >>> import tinygrad_edu as T
    >>> T.isposinf(T.tensor([1.0, T.inf, -T.inf]))
    tensor([False,  True, False])
    """
    return input == math.inf


# --- parts ------------------------------------------------------------------------------------------------------------


@public()
def tensor_split(input, indices_or_sections, dim=0) -> Any:
    """Split along `dim`: into a number of nearly equal parts, or before the given indices.

    >>> import tinygrad_edu as T
    >>> T.tensor_split(T.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    axis = axis_of(dim, input.ndim)
    n = input.shape[axis]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int | np.integer):
        if indices_or_sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
        size, more = divmod(n, indices_or_sections)
        cuts = list(itertools.accumulate([size + 1] * more + [size] * (indices_or_sections - more)))[:-1]
    else:
        cuts = [min(max(c + n if c < 0 else c, 0), n) for c in indices_or_sections]
    edges = [0, *cuts, n]
    return tuple(narrow(input, axis, a, max(b - a, 0)) for a, b in itertools.pairwise(edges))


def _split_along(name, least, dim):
    def parts(input, indices_or_sections):
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim}"
            )
        axis = dim if name != "hsplit" or input.ndim > 1 else 0
        if isinstance(indices_or_sections, int) and input.shape[axis] % indices_or_sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension {input.shape[axis]} is "
                f"not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, axis)

    parts.__name__ = name
    parts.__doc__ = f"""As `tensor_split`, along dimension {dim}.

    >>> import tinygrad_edu as T
    >>> T.{name}(T.zeros(2, 2, 2), 2)[0].shape
    tinygrad_edu.Size({[1 if axis == dim else 2 for axis in range(3)]})
    """
    return public()(parts)


hsplit, vsplit, dsplit = (_split_along(*row) for row in (("hsplit", 1, 1), ("vsplit", 2, 0), ("dsplit", 3, 2)))

for _name in ("split", "chunk", "split_with_sizes"):
    if _name in functions:
        functions[f"unsafe_{_name}"] = functions[_name]


@public()
def narrow_copy(input, dim, start, length) -> Tensor:
    """As `narrow`, but returns a copy.

    >>> import tinygrad_edu as T
    >>> T.narrow_copy(T.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    return narrow(input, dim, start, length).clone()


@public()
def slice_scatter(input, src, dim=0, start=None, end=None, step=1) -> Tensor:
    """A copy of `input` in which `src` replaces a slice.

    >>> import tinygrad_edu as T
    >>> T.slice_scatter(T.zeros(4), T.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    out = input.clone()
    axis = axis_of(dim, input.ndim)
    sizes = input._data[(slice(None),) * axis + (slice(start, end, step),)].shape
    if tuple(src.shape) != sizes:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(sizes)}"
        )
    out[(slice(None),) * axis + (slice(start, end, step),)] = src
    return out


@public()
def select_scatter(input, src, dim, index) -> Tensor:
    """A copy of `input` in which `src` replaces the slice at `index` along `dim`.

    >>> import tinygrad_edu as T
    >>> T.select_scatter(T.zeros(2, 2), T.ones(2), dim=0, index=1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    out = input.clone()
    select(out, dim, index).copy_(src)
    return out


@public()
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1) -> Tensor:
    """A copy of `input` in which `src` replaces a diagonal.

    >>> import tinygrad_edu as T
    >>> T.diagonal_scatter(T.zeros(2, 2), T.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    out = input.clone()
    diagonal(out, offset, dim1, dim2).copy_(src)
    return out


@public()
def diagflat(input, offset=0) -> Tensor:
    """A matrix with the elements of `input` on its diagonal.

    >>> import tinygrad_edu as T
    >>> T.diagflat(T.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return functions["diag"](reshape(input, (-1,)), offset)


class Put(Op):
    """A copy with `source` at the numbers `index`, in row-major order."""

    without_gradient = ("index",)

    def forward(self, source, *, index, accumulate):
        out = copied(self)
        flat = out.reshape(-1)
        places = index.reshape(-1)
        if accumulate:
            np.add.at(flat, places, source.reshape(-1))
        else:
            flat[places] = source.reshape(-1)
        return out

    def grad_self(grad, index, accumulate):
        if accumulate:
            return grad
        kept = np.ones(grad.shape, grad.dtype if isinstance(grad, np.ndarray) else grad._data.dtype)
        kept.reshape(-1)[getattr(index, "_data", index).reshape(-1)] = 0
        return grad * kept

    # Asked for its shape alone, and kept as PyTorch does.
    def grad_source(grad, source, index):
        return reshape(TakeFlat.apply(grad, index=index), tuple(source.shape))

    def jvp(tangent, source_tangent, index, accumulate):
        return Put.apply(tangent, source_tangent, index=index, accumulate=accumulate)


@public(inplace=Put)
def put(input, index, source, accumulate: bool = False) -> Tensor:
    """A copy of `input` with `source` written at the positions `index`, counted in row-major order.

    >>> import tinygrad_edu as T
    >>> T.put(T.zeros(2, 2), T.tensor([0, 3]), T.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    return Put.apply(input, source, index=index, accumulate=accumulate)


class UniqueConsecutive(Op):
    """The elements (or slices along `dim`) that differ from their predecessor; the group of each element; the group sizes."""

    non_differentiable = (1, 2)

    def forward(self, *, dim):
        rows = self.reshape(-1, 1) if dim is None else np.moveaxis(self, dim, 0).reshape(self.shape[dim], -1)
        first = np.ones(len(rows), bool)
        first[1:] = (rows[1:] != rows[:-1]).any(1)
        chosen = self.reshape(-1)[first] if dim is None else np.compress(first, self, dim)
        place = np.cumsum(first) - 1
        return (
            chosen,
            place.reshape(self.shape) if dim is None else place,
            np.diff(np.append(np.flatnonzero(first), len(rows))),
        )

    def grad_self(grad):
        raise NotImplementedError(
            "the derivative for 'unique_consecutive' is not implemented. Equality has no gradient; select the elements by "
            "an index instead."
        )


@public()
def unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False, dim=None) -> Any:
    """Drop each element (or slice along `dim`) that equals its predecessor.

    >>> import tinygrad_edu as T
    >>> T.unique_consecutive(T.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = UniqueConsecutive.apply(input, dim=None if dim is None else axis_of(dim, input.ndim))
    kept = tuple(x for x, wanted in zip(found, (True, return_inverse, return_counts), strict=True) if wanted)
    return kept[0] if len(kept) == 1 else kept


@public()
def nonzero_static(input, *, size, fill_value=-1) -> Tensor:
    """As `nonzero`, but with exactly `size` rows: cut, or padded with `fill_value`.

    >>> import tinygrad_edu as T
    >>> T.nonzero_static(T.tensor([0, 3, 0]), size=2)
    tensor([[ 1],
            [-1]])
    """
    found = np.argwhere(input._data)
    out = np.full((size, input.ndim), fill_value, np.int64)
    out[: min(size, len(found))] = found[:size]
    return finish(out)


@public(method=False)
def unravel_index(indices, shape) -> Any:
    """Convert positions in row-major order to an index along each dimension.

    >>> import tinygrad_edu as T
    >>> T.unravel_index(T.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    return tuple(
        finish(i) for i in np.unravel_index(indices._data, tuple(shape) if not isinstance(shape, int) else (shape,))
    )


# --- sums, orders ----------------------------------------------------------------------------------------------------


@public("trapz", method=False)
def trapezoid(y, x=None, *, dx: float = 1.0, dim=-1) -> Tensor:
    """The integral of `y` by the trapezoidal rule, at points `x` or with steps of `dx`.

    >>> import tinygrad_edu as T
    >>> T.trapezoid(T.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    _need_samples("trapezoid", y)
    if x is not None:
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
    if x is not None:
        areas = _trapezes("cumulative_trapezoid", y, x, dim)
        return DivNumber.apply(_float(cumsum(areas, axis_of(dim, y.ndim))), other=2.0)
    n = y.shape[dim]
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
        return self * _shrink(self, p, dim, maxnorm)

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


@public(inplace=Renorm)
def renorm(input, p, dim, maxnorm) -> Tensor:
    """Scale each slice along `dim` down so that its p-norm is at most `maxnorm`.

    >>> import tinygrad_edu as T
    >>> T.renorm(T.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive norm not supported")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    return Renorm.apply(input, p=p, dim=axis_of(dim, input.ndim), maxnorm=float(maxnorm))


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


# --- products --------------------------------------------------------------------------------------------------------


@public(inplace=lambda self, vec1, vec2, *, beta=1, alpha=1: self.copy_(addr(self, vec1, vec2, beta=beta, alpha=alpha)))
def addr(input, vec1, vec2, *, beta=1, alpha=1) -> Tensor:
    """beta·input + alpha·(vec1 ⊗ vec2).

    >>> import tinygrad_edu as T
    >>> T.addr(T.zeros(2, 2), T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    return input * beta + functions["outer"](vec1, vec2) * alpha


@public(inplace=lambda self, b1, b2, *, beta=1, alpha=1: self.copy_(addbmm(self, b1, b2, beta=beta, alpha=alpha)))
def addbmm(input, batch1, batch2, *, beta=1, alpha=1) -> Tensor:
    """beta·input + alpha·Σ batch1ᵢ·batch2ᵢ.

    >>> import tinygrad_edu as T
    >>> T.addbmm(T.zeros(1, 1), T.ones(2, 1, 3), T.ones(2, 3, 1))
    tensor([[6.]])
    """
    return input * beta + sum(bmm(batch1, batch2), 0) * alpha


@public(method=False)
def vander(x, N=None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: each row holds the powers of an element, from the highest down (up with `increasing`).

    >>> import tinygrad_edu as T
    >>> T.vander(T.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    count = x.shape[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1].copy()
    return pow(unsqueeze(x, -1), wrap(powers))


@public(method=False)
def combinations(input, r=2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, one per row, in order.

    >>> import tinygrad_edu as T
    >>> T.combinations(T.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(len(input)), r)), np.int64).reshape(-1, r)
    return input[wrap(rows)]


@public(method=False)
def pdist(input, p: float = 2.0) -> Tensor:
    """The distances between all pairs of rows, in the p-norm.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.pdist(T.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    i, j = np.triu_indices(input.shape[0], 1)
    return vector_norm(input[wrap(i)] - input[wrap(j)], p, (-1,))


nn_functions["pdist"] = functions["pdist"]


# --- windows ---------------------------------------------------------------------------------------------------------


def _window(name, numbers):
    def window(window_length, periodic=True, *args, dtype=None, device=None, requires_grad=False, **settings):
        n = window_length + 1 if periodic and window_length > 1 else window_length
        values = numbers(np.arange(n), max(n - 1, 1), *args, **settings)[:window_length] if window_length > 1 else [1.0]
        out = functions["tensor"](np.asarray(values, np.float64), dtype=dtype or dtypes.get_default_dtype())
        return out.requires_grad_() if requires_grad else out

    window.__name__ = name
    window.__doc__ = f"""The {name.partition("_")[0].title()} window: a periodic one for spectra, or a symmetric one for filters.

    >>> import tinygrad_edu as T
    >>> T.{name}(5, periodic=False).argmax()
    tensor(2)
    """
    functions[name] = plain(window)


def _hamming(k, n, alpha=0.54, beta=0.46):
    return alpha - beta * np.cos(2 * np.pi * k / n)


def _blackman(k, n):
    return 0.42 - 0.5 * np.cos(2 * np.pi * k / n) + 0.08 * np.cos(4 * np.pi * k / n)


_window("hann_window", lambda k, n: _hamming(k, n, 0.5, 0.5))
_window("hamming_window", _hamming)
_window("blackman_window", _blackman)
_window("bartlett_window", lambda k, n: 1 - np.abs(2 * k / n - 1))
_window("kaiser_window", lambda k, n, beta=12.0: np.i0(beta * np.sqrt(1 - (2 * k / n - 1) ** 2)) / np.i0(beta))
