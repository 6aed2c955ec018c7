"""Functions composed of a few other ops. They have no class of their own, so the graph shows the ops they consist of."""

from __future__ import annotations

import builtins
import itertools
from typing import Any, Literal

import numpy as np

from .. import dtypes
from ..tensor import Size, Tensor, wrap
from .binding import functions, linalg_functions, nn_functions, public
from .creation.copies import contiguous_clone
from .creation.factories import ends, finish, linspace
from .indexing.gather import gather
from .indexing.index import narrow
from .indexing.masking import masked_fill, where
from .linalg.decomposition import slogdet
from .linalg.matmul import LinalgCross, matmul
from .network.layers import EmbeddingBag, shorten
from .network.softmax import softmax
from .op import Op, linear
from .pointwise.arithmetic import LerpTensor, MulNumber
from .pointwise.clamp import clamp_min
from .pointwise.powers import pow, sqrt
from .pointwise.rounding import ceil, floor, round
from .reductions.reduce import nansum, sum
from .reductions.sorting import sort
from .shapes.joining import BlockDiag, cat, stack
from .shapes.permute import Rot90, t, transpose
from .shapes.repetition import meshgrid
from .shapes.shape import View, axis_of, expand, reshape, unsqueeze

_NN, _LINALG = (nn_functions,), (linalg_functions,)


# --- statistics ------------------------------------------------------------------------------------------------------


def _quantile(input, q, dim, keepdim, interpolation, without_nan):
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    shares = q if isinstance(q, Tensor) else wrap(np.asarray(q, input._data.dtype))
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
    of_booleans = input._data.dtype == np.bool_
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
    rows = input if input.ndim == 2 else reshape(input, (1, -1))
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
    low, high = (input._data.min(), input._data.max()) if min == max and input._data.size else (min, max)
    return finish(np.histogram(input._data, bins, (low, high))[0].astype(input._data.dtype))


# --- order -----------------------------------------------------------------------------------------------------------


@public(method=False)
def searchsorted(
    sorted_sequence, values, *, out_int32: bool = False, right: bool = False, side=None, sorter=None
) -> Tensor:
    """The indices at which to insert `values` so that the sequence stays sorted (`sorter` sorts an unsorted one).

    >>> import tinygrad_edu as T
    >>> T.searchsorted(T.tensor([1.0, 2.0, 3.0]), T.tensor([0.5, 2.5]))
    tensor([0, 2])
    """
    where_: Literal["left", "right"] = "right" if right or side == "right" else "left"
    rows, wanted = sorted_sequence._data, np.asarray(getattr(values, "_data", values))
    if sorter is not None:
        rows = np.take_along_axis(rows, sorter._data, -1)
    if rows.ndim == 1:
        found = np.searchsorted(rows, wanted, where_)
    else:
        pairs = zip(rows.reshape(-1, rows.shape[-1]), wanted.reshape(-1, wanted.shape[-1]), strict=True)
        found = np.stack([np.searchsorted(row, sought, where_) for row, sought in pairs]).reshape(wanted.shape)
    return finish(np.asarray(found, np.int32 if out_int32 else np.int64))


@public(method=False, number_first=True)
def bucketize(input, boundaries, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The index of the interval between `boundaries` that each element falls into.

    >>> import tinygrad_edu as T
    >>> T.bucketize(T.tensor([0.5, 2.5]), T.tensor([1.0, 2.0, 3.0]))
    tensor([0, 2])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public(method=False, number_first=True)
def isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """True where an element is one of `test_elements`.

    >>> import tinygrad_edu as T
    >>> T.isin(T.tensor([1, 2, 3]), T.tensor([2, 5]))
    tensor([False,  True, False])
    """
    among = np.asarray(getattr(test_elements, "_data", test_elements))
    return finish(np.asarray(np.isin(getattr(elements, "_data", elements), among, invert=invert)))


@public()
def argwhere(input) -> Tensor:
    """The indices of the nonzero elements, one per row.

    >>> import tinygrad_edu as T
    >>> T.argwhere(T.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return input.nonzero()


# --- shapes ----------------------------------------------------------------------------------------------------------


@public()
def ravel(input) -> Tensor:
    """All elements in one dimension: a view if possible, else a copy.

    >>> import tinygrad_edu as T
    >>> T.ravel(T.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return reshape(input if input.is_contiguous() else contiguous_clone(input), (-1,))


def _at_least(name, number, grow):
    def function(*tensors):
        every = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
        out = tuple(grow(t) if t.ndim < number else t for t in every)
        return out[0] if len(out) == 1 and every is tensors else out

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Tensors with at least {number} dimensions: missing dimensions get size 1.

    >>> import tinygrad_edu as T
    >>> T.{name}(T.tensor(7.0)).ndim
    {number}
    """
    return public(method=False)(function)


atleast_1d = _at_least("atleast_1d", 1, lambda t: reshape(t, (1,)))
atleast_2d = _at_least("atleast_2d", 2, lambda t: reshape(t, (1, -1)) if t.ndim == 0 else unsqueeze(t, 0))
atleast_3d = _at_least(
    "atleast_3d", 3, lambda t: unsqueeze(unsqueeze(t, 0) if t.ndim == 1 else t, -1) if t.ndim else reshape(t, (1, 1, 1))
)  # fmt: skip


@public(method=False)
def broadcast_tensors(*tensors):
    """Views of the tensors, expanded to their common shape.

    >>> import tinygrad_edu as T
    >>> [t.shape for t in T.broadcast_tensors(T.ones(3, 1), T.ones(2))]
    [tinygrad_edu.Size([3, 2]), tinygrad_edu.Size([3, 2])]
    """
    sizes = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return tuple(t if tuple(t.shape) == sizes else expand(t, sizes) for t in tensors)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    >>> import tinygrad_edu as T
    >>> T.broadcast_shapes((3, 1), (2,))
    tinygrad_edu.Size([3, 2])
    """
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise RuntimeError(
            f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(str(tuple(s)) for s in shapes)}"
        ) from None


functions["broadcast_shapes"] = broadcast_shapes


@public(method=False)
def column_stack(tensors) -> Tensor:
    """Stack tensors side by side; vectors become columns.

    >>> import tinygrad_edu as T
    >>> T.column_stack((T.tensor([1, 2]), T.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    return cat([t if t.ndim > 1 else reshape(t, (-1, 1)) for t in tensors], 1)


@public(method=False)
def dstack(tensors) -> Tensor:
    """Stack tensors along the third dimension.

    >>> import tinygrad_edu as T
    >>> T.dstack((T.tensor([1, 2]), T.tensor([3, 4]))).shape
    tinygrad_edu.Size([1, 2, 2])
    """
    return cat(list(atleast_3d(list(tensors))), 2)


@public()
def rot90(input, k=1, dims=(0, 1)) -> Tensor:
    """Rotate by 90 degrees, `k` times, in the plane of two dimensions.

    >>> import tinygrad_edu as T
    >>> T.rot90(T.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if axis_of(dims[0], input.ndim) == axis_of(dims[1], input.ndim):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return Rot90.apply(input, k=k, dims=tuple(dims))


@public(method=False)
def block_diag(*tensors):
    """A matrix with the given matrices along its diagonal, and zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> T.block_diag(T.ones(1, 1), T.tensor([[2.0, 3.0]]))
    tensor([[1., 0., 0.],
            [0., 2., 3.]])
    """
    return BlockDiag.apply(*tensors)


@public(method=False)
def cartesian_prod(*tensors):
    """All combinations of one element from each vector, one per row.

    >>> import tinygrad_edu as T
    >>> T.cartesian_prod(T.tensor([1, 2]), T.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*tensors, indexing="ij")], 1)


def _indices(name, found):
    def function(row, col, offset=0, *, dtype=dtypes.int64, device=None, layout=None):
        return finish(np.stack(found(row, offset, col)).astype(dtypes.to_numpy_dtype(dtype)))

    function.__name__ = function.__qualname__ = name
    rows = "[0, 1, 1], [0, 0, 1]" if found is np.tril_indices else "[0, 0, 1], [0, 1, 1]"
    function.__doc__ = f"""The indices of a matrix's {"lower" if found is np.tril_indices else "upper"} triangle: rows, then columns.

    >>> import tinygrad_edu as T
    >>> T.{name}(2, 2).tolist()
    [{rows}]
    """
    functions[name] = function


_indices("tril_indices", np.tril_indices)
_indices("triu_indices", np.triu_indices)


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers from base^start to base^end, evenly spaced in the exponent.

    >>> import tinygrad_edu as T
    >>> T.logspace(0, 2, steps=3)
    tensor([  1.,  10., 100.])
    """
    kind = linspace(0, 1, 1, dtype=dtype, device=device)._data.dtype
    out = finish((base ** np.linspace(*ends(start, end, steps), steps)).astype(kind))
    return out.requires_grad_() if requires_grad else out


functions["logspace"] = logspace


# --- products and distances -------------------------------------------------------------------------------------------


@public(where=_LINALG, method=False)
def vecdot(x, y, *, dim=-1) -> Any:
    """The dot products of vectors along `dim`.

    >>> import tinygrad_edu as T
    >>> T.linalg.vecdot(T.tensor([[1.0, 2.0], [3.0, 4.0]]), T.ones(2, 2))
    tensor([3., 7.])
    """
    return sum(x * y, dim)


@public(where=_LINALG, method=False)
def multi_dot(tensors) -> Any:
    """The matrix product of several matrices.

    >>> import tinygrad_edu as T
    >>> T.linalg.multi_dot([T.ones(2, 3), T.ones(3, 4), T.ones(4, 1)])
    tensor([[12.],
            [12.]])
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, *inner, last = tensors
    kept = (*first.shape[:-1], *last.shape[1:])
    matrices = [
        unsqueeze(first, 0) if first.ndim == 1 else first,
        *inner,
        unsqueeze(last, -1) if last.ndim == 1 else last,
    ]
    for i, (left, right) in enumerate(itertools.pairwise(matrices)):
        if left.ndim != 2 or right.ndim != 2:
            raise RuntimeError(
                "multi_dot(): the first and last tensors must be 1D or 2D, and the others 2D, but got tensors of "
                f"{', '.join(f'{m.ndim}D' for m in tensors)}"
            )
        if left.shape[1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(left.shape)} and {list(right.shape)} cannot be multiplied"
            )
    return View.apply(_product(matrices), size=kept)


def _product(matrices):
    """Their product, in the order that takes the fewest multiplications: the best split of each stretch, the short ones first."""
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i + 1): (0, 0) for i in range(len(matrices))}
    for length in range(2, len(matrices) + 1):
        for i in range(len(matrices) - length + 1):
            j = i + length
            cost[i, j] = builtins.min(
                (cost[i, k][0] + cost[k, j][0] + sizes[i] * sizes[k] * sizes[j], k) for k in range(i + 1, j)
            )

    def of(i, j):
        return matrices[i] if j == i + 1 else matmul(of(i, cost[i, j][1]), of(cost[i, j][1], j))

    return of(0, len(matrices))


@public(where=_LINALG, method=False)
def cross(input, other, *, dim=-1) -> Tensor:
    """The cross product of 3-d vectors along `dim`.

    >>> import tinygrad_edu as T
    >>> T.linalg.cross(T.tensor([1.0, 0.0, 0.0]), T.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    return LinalgCross.apply(input, other, dim=dim)


@public()
def _cross(input, other, dim=None) -> Tensor:
    """The cross product of 3-d vectors along `dim`, by default the first dimension of size 3.

    >>> import tinygrad_edu as T
    >>> T.cross(T.tensor([1.0, 0.0, 0.0]), T.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return cross(input, other, dim=dim)


@public(number_first=True)
def float_power(input, exponent) -> Tensor:
    """input ** exponent, computed in float64.

    >>> import tinygrad_edu as T
    >>> T.float_power(T.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=tinygrad_edu.float64)
    """
    return pow(*(x.to(dtypes.float64) if isinstance(x, Tensor) else x for x in (input, exponent)))


@public()
def positive(input) -> Tensor:
    """The tensor itself.

    >>> import tinygrad_edu as T
    >>> T.positive(T.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """
    return input


class Deg2Rad(Op):
    makes_float = True

    def forward(self):
        return self * self.dtype.type(np.pi / 180)

    def grad_self(grad):
        return grad * (np.pi / 180)

    jvp = linear


class Rad2Deg(Op):
    makes_float = True

    def forward(self):
        return self * self.dtype.type(180 / np.pi)

    def grad_self(grad):
        return grad * (180 / np.pi)

    jvp = linear


@public(inplace=Deg2Rad)
def deg2rad(input) -> Tensor:
    """Convert degrees to radians.

    >>> import tinygrad_edu as T
    >>> T.deg2rad(T.tensor([0.0, 180.0]))
    tensor([0.0000, 3.1416])
    """
    return Deg2Rad.apply(input)


@public(inplace=Rad2Deg)
def rad2deg(input) -> Tensor:
    """Convert radians to degrees.

    >>> import tinygrad_edu as T
    >>> T.rad2deg(T.tensor([0.0, 3.141592653589793]))
    tensor([  0., 180.])
    """
    return Rad2Deg.apply(input)


@public()
def logdet(input) -> Tensor:
    """The logarithm of the determinant; nan if the determinant is negative.

    >>> import tinygrad_edu as T
    >>> T.logdet(T.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(0.6931)
    """
    sign, size = slogdet(input)
    return where(sign == -1, float("nan"), size)


# --- networks --------------------------------------------------------------------------------------------------------


@public(where=_NN, method=False)
def gumbel_softmax(logits, tau=1, hard: bool = False, eps: float = 1e-10, dim=-1) -> Tensor:
    """A differentiable random choice of a class: the softmax of `logits` with Gumbel noise. `hard` returns zeros and a 1.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.functional.gumbel_softmax(T.zeros(1, 3), hard=True).sum()
    tensor(1.)
    """
    noise = -wrap(np.zeros(logits.shape, logits._data.dtype)).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = np.zeros_like(soft._data)
    np.put_along_axis(chosen, soft._data.argmax(axis=dim, keepdims=True), 1.0, dim)
    return wrap(chosen) - soft.detach() + soft


@public(where=_NN, method=False)
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights=None,
    include_last_offset: bool = False,
    padding_idx=None,
) -> Any:
    """The sum, mean or maximum of the embeddings in each bag. Bags are the rows of `input`, or start at `offsets`.

    With `include_last_offset` the last offset is the end of the last bag. Entries equal to `padding_idx` are ignored.

    >>> import tinygrad_edu as T
    >>> table = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> T.nn.functional.embedding_bag(T.tensor([[0, 1]]), table)
    tensor([[2., 3.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub: multiply the rows of an embedding by hand."
        )
    places = input._data.reshape(-1)
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences."
            )
        starts = np.arange(input.shape[0]) * input.shape[1]
    elif input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    else:
        starts = offsets._data[:-1] if include_last_offset else offsets._data
    if sparse:
        raise NotImplementedError(
            "embedding_bag with sparse=True is not built: leave it out, the gradient is a dense tensor."
        )
    if scale_grad_by_freq:
        raise NotImplementedError("embedding_bag with scale_grad_by_freq=True is not built: use nn.Embedding with it.")
    if places.size and not (places.min() >= 0 and places.max() < weight._data.shape[0]):
        raise IndexError("index out of range in self")
    if max_norm is not None:
        shorten(weight, np.unique(places), max_norm, norm_type)
    return EmbeddingBag.apply(
        weight,
        per_sample_weights if input.ndim == 1 or per_sample_weights is None else reshape(per_sample_weights, (-1,)),
        indices=reshape(input, (-1,)),
        offsets=wrap(starts),
        mode=("sum", "mean", "max").index(mode),
        padding_idx=-1 if padding_idx is None else padding_idx % weight.shape[0],
    )[0]
