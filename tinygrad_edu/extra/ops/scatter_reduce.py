"""`scatter_reduce` and `index_reduce`: combine elements that an index sends to the same position."""

from __future__ import annotations

import warnings

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import copied, flat_places
from ...ops.binding import public
from ...ops.indexing.gather import Gather, PutAlong
from ...ops.indexing.masking import where
from ...ops.op import Op
from ...ops.operands import need_tensor
from ...ops.shapes.shape import axis_of
from .scatter import ScatterValue, scatter_axis, source_for

# How two elements are combined, and the neutral element of each reduction.
_WAYS = {
    "sum": (np.add, 0), "mean": (np.add, 0), "prod": (np.multiply, 1), "amax": (np.maximum, -np.inf), "amin": (np.minimum, np.inf),
}  # fmt: skip


def _neutral(reduce, kind):
    number = _WAYS[reduce][1]
    if kind.kind == "b":
        return reduce in ("prod", "amin")
    if kind.kind != "f" and np.isinf(number):
        limits = np.iinfo(kind)
        return limits.min if number < 0 else limits.max
    return number


def _combined(self, src, dim, index, reduce, include_self):
    out = copied(self)
    flat = out.reshape(-1)
    places = flat_places(index, dim, self.shape).reshape(-1)
    values = src[tuple(slice(n) for n in index.shape)].reshape(-1)
    if not include_self:
        flat[places] = _neutral(reduce, self.dtype)
    _WAYS[reduce][0].at(flat, places, values)
    if reduce == "mean":
        count = np.full(flat.shape, int(include_self), self.dtype)
        np.add.at(count, places, 1)
        count = np.maximum(count, 1)
        flat[...] = flat / count if self.dtype.kind == "f" else flat // count
    return out


def _gradients(grad, needs_input_grad, self, src, result, dim, index, reduce, include_self):
    """The same formulas as PyTorch. Among equal extremes the gradient is shared."""
    kind = getattr(self, "_data", self).dtype
    size = tuple(self.shape)

    def gather(value):
        return Gather.apply(value, dim=dim, index=index)

    def added(mask):
        return PutAlong.apply(mask.astype(kind), size=size, dim=dim, index=index)

    needs_all_of_src = needs_input_grad[1] or reduce not in ("sum", "mean")
    if needs_all_of_src and tuple(src.shape) != tuple(index.shape):
        raise RuntimeError(
            f"The size of src {list(src.shape)} must match the size of index {list(index.shape)}: otherwise scatter_reduce has no "
            "gradient. Slice src to the shape of the index."
        )
    if reduce == "sum":
        to_self, to_src = grad, gather(grad)
    elif reduce == "mean":
        count = np.maximum(int(include_self) + added(np.ones(index.shape, bool)), 1)
        to_self, to_src = grad / count, gather(grad) / gather(count)
    elif reduce == "prod":
        no_self, no_src = (np.asarray(getattr(x, "_data", x)) == 0 for x in (self, src))
        settings = {"dim": dim, "index": index, "reduce": reduce, "include_self": include_self}
        full = where(no_self, 1.0, self)
        to_self = grad * ScatterReduce.apply(full, src, **settings) / full
        zeros = added(no_src)
        alone = no_src & (Gather.forward(zeros, dim=dim, index=index) == 1)
        others = ScatterReduce.apply(self, where(alone, 1.0, src), **settings)
        to_src = where(alone, gather(grad * others), gather(grad * result) / where(no_src, 1.0, src))
    else:
        plain_self, plain_src, plain = (getattr(x, "_data", x) for x in (self, src, result))
        mine, theirs = plain_self == plain, plain_src == Gather.forward(plain, dim=dim, index=index)
        share = grad / (mine.astype(kind) + added(theirs))
        to_self, to_src = where(mine, share, 0.0), where(theirs, gather(share), 0.0)
    if not include_self:
        to_self = ScatterValue.apply(to_self, dim=dim, index=index, value=0.0)
    return to_self, to_src


class ScatterReduce(Op):
    """`self` with the elements of `src` combined with the elements at `index` along `dim`."""

    apart = True
    without_gradient = ("index",)

    def forward(self, src, *, dim, index, reduce, include_self):
        return _combined(self, src, dim, index, reduce, include_self)

    def gradients(grad, needs_input_grad, self, src, result, dim, index, reduce, include_self):
        index = getattr(index, "_data", index)
        return list(_gradients(grad, needs_input_grad, self, src, result, dim, index, reduce, include_self))


class IndexReduce(Op):
    """As ScatterReduce, for whole slices."""

    apart = True
    without_gradient = ("index",)

    def forward(self, source, *, dim, index, reduce, include_self):
        return _combined(self, source, dim, _along(index, dim, source.shape), reduce, include_self)

    def gradients(grad, needs_input_grad, self, source, result, dim, index, reduce, include_self):
        index = _along(getattr(index, "_data", index), dim, source.shape)
        return list(_gradients(grad, needs_input_grad, self, source, result, dim, index, reduce, include_self))


def _along(index, dim, shape):
    """An index with one entry per slice, expanded to one entry per element."""
    if not shape:
        return index.reshape(())
    return np.broadcast_to(index.reshape(-1, *(1,) * (len(shape) - dim - 1)), shape)


# --- functions -------------------------------------------------------------------------------------------------------


def _scattered(self, dim, index, src, reduce, include_self):
    if reduce not in _WAYS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = scatter_axis(self, dim, index, need_tensor("scatter_reduce", src))
    if reduce == "mean" and self._data.dtype.kind == "b":
        raise NotImplementedError(
            "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'. Use t.float()."
        )
    return {"dim": axis, "index": index, "reduce": reduce, "include_self": include_self}


def _scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    settings = _scattered(self, dim, index, src, reduce, include_self)
    return ScatterReduce.apply_(self, source_for(index, src), **settings)


@public(inplace=_scatter_reduce_)
def scatter_reduce(input: Tensor, dim, index, src, reduce, *, include_self: bool = True) -> Tensor:
    """`input` with src[i][j] combined with the element at [i][index[i][j]], by "sum", "prod", "mean", "amax" or "amin".

    >>> import tinygrad_edu as T
    >>> T.scatter_reduce(T.zeros(2), 0, T.tensor([0, 1, 0]), T.tensor([1.0, 2.0, 3.0]), reduce="amax")
    tensor([3., 2.])
    """
    settings = _scattered(input, dim, index, src, reduce, include_self)
    return ScatterReduce.apply(input, source_for(index, src), **settings)


def _indexed(self, dim, index, source, reduce, include_self):
    warnings.warn("index_reduce() is in beta and the API may change at any time.", UserWarning, stacklevel=4)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    axis = axis_of(dim, self.ndim)
    kinds = [t.dtype.legacy_name for t in (self, source, index)]
    if index.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {kinds[2]} and size: "
            f"{list(index.shape)}"
        )
    if kinds[0] != kinds[1]:
        raise RuntimeError(f"index_reduce_(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type")
    shapes = [[n for d, n in enumerate(t.shape) if d != axis] for t in (self, source)]
    if shapes[0] != shapes[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
    if source.ndim and index.numel() != source.shape[axis]:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
            f"({source.shape[axis]}), for dim: {axis}"
        )
    if index.numel() and not 0 <= index._data.min() <= index._data.max() < (self.shape[axis] if self.ndim else 1):
        raise IndexError("index out of range in self")
    return {"dim": axis, "index": index, "reduce": reduce, "include_self": include_self}


def _index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    return IndexReduce.apply_(self, source, **_indexed(self, dim, index, source, reduce, include_self))


@public(inplace=_index_reduce_)
def index_reduce(input: Tensor, dim, index, source, reduce, *, include_self: bool = True) -> Tensor:
    """`input` with the slices of `source` combined with its slices `index` along `dim`, by "prod", "mean", "amax" or "amin".

    >>> import tinygrad_edu as T
    >>> T.index_reduce(T.tensor([1.0, 5.0]), 0, T.tensor([0, 0]), T.tensor([3.0, 2.0]), "amax")
    tensor([3., 5.])
    """
    return IndexReduce.apply(input, source, **_indexed(input, dim, index, source, reduce, include_self))
