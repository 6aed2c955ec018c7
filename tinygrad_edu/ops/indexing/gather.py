"""Reads and writes elements along a dimension by indices: `gather`, `scatter`, `scatter_add`, `take_along_dim`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ..arrays import copied, flat_places, row_major
from ..binding import both_forms, method, public
from ..creation.factories import fitted
from ..op import LinearOp
from ..operands import need_tensor
from ..shapes.shape import axis_of, expand, reshape


class Indexed(LinearOp):
    """An op that takes an index."""

    without_gradient = ("index",)


class Gather(Indexed):
    """result[…, i, …] = self[…, index[…, i, …], …]"""

    def forward(self, *, dim, index):
        return self.reshape(-1)[row_major(flat_places(index, dim, self.shape))]

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, dim, index):
        return put_along(grad, self.shape, dim, index)


class PutAlong(Indexed, name="ScatterAddBackward0"):
    """Zeros of shape `size` with `self` added at `index` along `dim`: the transpose of Gather."""

    def forward(self, *, size, dim, index):
        out = np.zeros(math.prod(size), self.dtype)
        np.add.at(out, flat_places(index, dim, size).reshape(-1), self.reshape(-1))
        return out.reshape(size)

    def grad_self(grad, dim, index):
        return take_along(grad, dim, index)


class Scatter(Indexed):
    """`self` with `src` written at `index` along `dim`."""

    apart = True

    def forward(self, src, *, dim, index):
        out = copied(self)
        out.reshape(-1)[flat_places(index, dim, out.shape)] = src[tuple(slice(n) for n in index.shape)]
        return out

    def grad_self(grad, dim, index):
        return ScatterValue.apply(grad, dim=dim, index=index, value=0.0)

    def grad_src(grad, dim, index):
        return take_along(grad, dim, index)


class ScatterValue(Indexed, name="ScatterBackward1"):
    """The same with a number as the source."""

    apart = True

    def forward(self, *, dim, index, value):
        out = copied(self)
        out.reshape(-1)[flat_places(index, dim, out.shape)] = fitted(value, self.dtype)
        return out

    def grad_self(grad, dim, index):
        return ScatterValue.apply(grad, dim=dim, index=index, value=0.0)

    def jvp(tangent, dim, index):
        return ScatterValue.apply(tangent, dim=dim, index=index, value=0.0)


class ScatterAdd(Indexed):
    """`self` with `src` added at `index` along `dim`."""

    apart = True

    def forward(self, src, *, dim, index):
        out = copied(self)
        added = src[tuple(slice(n) for n in index.shape)]
        np.add.at(out.reshape(-1), flat_places(index, dim, out.shape).reshape(-1), added.reshape(-1))
        return out

    def grad_self(grad):
        return grad

    def grad_src(grad, dim, index):
        return take_along(grad, dim, index)


def take_along(value: Any, dim: Any, index: Any) -> Any:
    """value[…, index[…, i, …], …] along `dim`."""
    return Gather.apply(value, dim=dim, index=index)


def put_along(value: Any, size: Any, dim: Any, index: Any) -> Any:
    """Zeros of shape `size` with `value` added at `index` along `dim`."""
    return PutAlong.apply(value, size=tuple(size), dim=dim, index=index)


def checked_index(name: str, index: Any, ndim: int | None = None, size: Any = None, dim: Any = None) -> Any:
    """The array of an index tensor, after checking that each index is within `size` and not negative."""
    if not isinstance(index, Tensor) or (index.value.dtype not in (np.int64, np.int32) and index.value.size):
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index. Convert first: index.long().")
    array = index._data
    if ndim is not None and max(array.ndim, 1) != max(ndim, 1):
        whose = "self" if name.startswith("scatter") else "input"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whose} tensor")
    if size is not None and array.size and not (array.min() >= 0 and array.max() < size):
        bad = array[(array < 0) | (array >= size)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size}")
    return array


def _axis(name, input, dim, index, src=None):
    """`dim` counted from 0, after checking that the index fits into the tensor, and into the source."""
    axis = axis_of(dim, input.ndim)
    if isinstance(index, Tensor) and not index.numel() and src is None:
        return axis
    array = checked_index(name, index, input.ndim, input.shape[axis] if input.ndim else 1, axis)
    fits, also = all(d == axis or n <= m for d, (n, m) in enumerate(zip(array.shape, input.shape, strict=False))), ""
    if src is not None:
        if src.value.dtype != input.value.dtype:
            raise RuntimeError(
                f"{name}(): Expected self.dtype to be equal to src.dtype. Convert src first, with .to(…)."
            )
        if max(src.ndim, 1) != max(array.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        fits = fits and all(n <= m for n, m in zip(array.shape or (1,), src.shape or (1,), strict=False))
        also = f" and to be no larger size than src {list(src.shape)}"
    if array.size and not fits:
        opening = "Expected index" if name != "gather" else "Size does not match at some dimension: expected index"
        raise RuntimeError(
            f"{opening} {list(array.shape)} to be no larger than self {list(input.shape)} apart from dimension "
            f"{axis}{also}"
        )
    return axis


@public()
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Pick elements along `dim` by index: for dim = 1, result[i][j] = input[i][index[i][j]].

    >>> T.gather(T.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, T.tensor([[1], [0]]))
    tensor([[2.],
            [3.]])
    """
    return Gather.apply(input, dim=_axis("gather", input, dim, index), index=index)


@public()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As gather, but `indices` and `input` are first broadcast against each other along the other dimensions.

    >>> T.take_along_dim(T.tensor([[3, 1], [2, 4]]), T.tensor([[1, 0], [0, 1]]), dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        told = "torch.take_along_dim(): input and indices should have the same number of dimensions"
        raise RuntimeError(f"{told}, but got {input.ndim} dimensions for input, and {indices.ndim} for indices")
    if indices.value.dtype.kind != "i":
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy_name}"
        )
    axis, n = axis_of(dim, input.ndim), input.shape[dim]
    indices = wrap(np.mod(indices._data, n or 1))  # as in PyTorch, an index past one end wraps around to the other
    shape = np.broadcast_shapes(*((*t.shape[:axis], 1, *t.shape[axis + 1 :]) for t in (input, indices)))
    own, wanted = ((*shape[:axis], t.shape[axis], *shape[axis + 1 :]) for t in (input, indices))
    return gather(expand(input, own), axis, expand(indices, wanted))


def _source(src, index):
    """A source with as many dimensions as its index: one of both may be a single number."""
    return src if src.ndim == index.ndim else reshape(src, (1,) * index.ndim)


def _scatter(form, input, dim, index, src, value, reduce):
    if reduce is not None:
        raise NotImplementedError("scatter with reduce=… is not built: use scatter_add for sums.")
    src = value if src is None else src
    if not isinstance(src, Tensor):
        return getattr(ScatterValue, form)(input, dim=_axis("scatter", input, dim, index), index=index, value=src)
    axis = _axis("scatter", input, dim, index, src)
    return getattr(Scatter, form)(input, _source(src, index), dim=axis, index=index)


def _scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    return _scatter("apply_", self, dim, index, src, value, reduce)


@public()
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Tensor | None = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """A copy of `input` with elements of `src` written at `index`: for dim = 1, result[i][index[i][j]] = src[i][j]."""
    return _scatter("apply", input, dim, index, src, value, reduce)


def _scatter_add(form, input, dim, index, src):
    axis = _axis("scatter_add", input, dim, index, need_tensor("scatter_add", src, "src", 4))
    return getattr(ScatterAdd, form)(input, _source(src, index), dim=axis, index=index)


def _scatter_add_(self, dim, index, src):
    return _scatter_add("apply_", self, dim, index, src)


@public()
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of `input` with elements of `src` added at `index`: for dim = 1, result[i][index[i][j]] += src[i][j]."""
    return _scatter_add("apply", input, dim, index, src)


class GatherMethods:
    """The methods of Tensor that are defined here."""

    gather = method(gather)
    take_along_dim = method(take_along_dim)
    scatter, scatter_ = both_forms(scatter, _scatter_)
    scatter_add, scatter_add_ = both_forms(scatter_add, _scatter_add_)
