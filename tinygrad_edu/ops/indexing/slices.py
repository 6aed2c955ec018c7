"""Slices of a tensor by number: `index_select`, `index_add`, `index_copy`, `index_fill`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..arrays import add_slices, copied
from ..binding import both_forms, method, public
from ..creation.factories import fitted
from ..operands import need_tensor
from ..shapes.shape import axis_of, reshape
from .gather import Indexed, checked_index


def _filled(self, dim, index, value):
    out = copied(self, "K")
    if out.size:
        np.atleast_1d(out)[(slice(None),) * dim + (index,)] = value
    return out


class IndexSelect(Indexed):
    """The slices of `self` at `index` along `dim`."""

    def forward(self, *, dim, index):
        return np.take(self, index, axis=dim) if self.ndim else self.reshape(1)[index].reshape(())

    def grad_self(grad, self_sym_sizes, dim, index):
        return AddSlices.apply(grad, size=self_sym_sizes, dim=dim, index=index)


class AddSlices(Indexed, name="IndexAddBackward1"):
    """Zeros of shape `size` with the slices of `self` added at `index`: the transpose of IndexSelect."""

    def forward(self, *, size, dim, index):
        out = np.zeros(size, self.dtype)
        add_slices(np.atleast_1d(out), dim, index, self)
        return out

    def grad_self(grad, dim, index):
        return IndexSelect.apply(grad, dim=dim, index=index)


class IndexAdd(Indexed):
    """`self` with alpha·source added to its slices `index` along `dim`."""

    apart = True

    def forward(self, source, *, dim, index, alpha=1):
        out = copied(self)
        if out.size:
            added = source if alpha == 1 else np.asarray(alpha).astype(source.dtype) * source
            add_slices(np.atleast_1d(out), dim, index, added)
        return out

    def grad_self(grad):
        return grad

    # Of `source` only the shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_source(grad, source, dim, index, alpha):
        chosen = reshape(IndexSelect.apply(grad, dim=dim, index=index), tuple(source.shape))
        return chosen if alpha == 1 else chosen * alpha


class IndexCopy(Indexed):
    """`self` with its slices `index` along `dim` replaced by `source`."""

    apart = True

    def forward(self, source, *, dim, index):
        return _filled(np.asarray(self, order="C"), dim, index, source)

    def grad_self(grad, dim, index):
        return IndexFill.apply(grad, dim=dim, index=index, value=0.0)

    def grad_source(grad, source, dim, index):
        return reshape(IndexSelect.apply(grad, dim=dim, index=index), tuple(source.shape))


class IndexFill(Indexed):
    """`self` with its slices `index` along `dim` filled with a number."""

    def forward(self, *, dim, index, value):
        return _filled(self, dim, index, fitted(value, self.dtype))

    def grad_self(grad, dim, index):
        return IndexFill.apply(grad, dim=dim, index=index, value=0.0)

    def jvp(tangent, dim, index):
        return IndexFill.apply(tangent, dim=dim, index=index, value=0.0)


class IndexFillTensor(Indexed, name="IndexFillBackward1"):
    """The same with a 0-d tensor as the value, which may need a gradient."""

    mixes = True

    def forward(self, value, *, dim, index):
        return IndexFill.forward(self, dim=dim, index=index, value=value)

    def grad_self(grad, dim, index):
        return IndexFill.apply(grad, dim=dim, index=index, value=0.0)

    def grad_value(grad, dim, index):
        once = np.unique(getattr(index, "_data", index))  # an index that occurs twice is filled only once
        return IndexSelect.apply(grad, dim=dim, index=once).sum()

    def jvp(tangent, value_tangent, dim, index):
        return IndexFillTensor.apply(tangent, value_tangent, dim=dim, index=index)


def _settings(name, input, dim, index, source=None):
    """The settings of an op of slices. Checks that `index` is a vector within the tensor, with a slice for each."""
    axis = axis_of(dim, input.ndim)
    array = checked_index(name, index)
    if array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    n = input.shape[axis] if input.ndim else 1
    if source is not None:
        _check_source(name, input, axis, array.size, need_tensor(name, source, "source", 4))
    outside = array[(array < (-n if name == "index_fill" else 0)) | (array >= n)]
    if outside.size:
        where = f"{name}(): index {outside.flat[0]} is out of bounds for dimension {axis} with size {n}"
        raise (
            RuntimeError(where)
            if name == "index_add" and input.ndim > 1
            else IndexError(f"index out of range in self. {where}")
        )
    return {"dim": axis, "index": index if index.ndim else reshape(index, (-1,))}


def _check_source(name, input, axis, count, source):
    """Raise, in PyTorch's words, unless `source` has the type of `input` and a slice for each of `count` indices."""
    shape, given = tuple(input.shape), tuple(source.shape)
    kind, other = input.dtype.legacy_name, source.dtype.legacy_name
    size = given[axis] if axis < len(given) else 1
    if name == "index_add":
        if kind != other:
            raise RuntimeError(f"index_add_(): self ({kind}) and source ({other}) must have the same scalar type")
        if axis >= max(len(given), 1):
            raise RuntimeError(
                f"index_add_(): Indexing dim {axis} is out of bounds of the source tensor with dim {len(given)}"
            )
        if count != size:
            sizes = f"source.size(dim): ({size}), for dim: {axis}"
            text = f"index_add_(): Number of indices ({count}) should be equal to {sizes}"
            raise RuntimeError(text)
        if given != (*shape[:axis], count, *shape[axis + 1 :])[: len(shape)] and (given or shape):
            text = (
                "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            )
            raise RuntimeError(f"{text}{list(shape)} source.shape = {list(given)}")
        return
    if not given and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if given and shape and len(given) != len(shape):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(given)}), destination dimensionality ({len(shape)})"
        )
    if kind != other:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {kind} and (source) "
            f"{other}"
        )
    mine, theirs = ([n for d, n in enumerate(sizes) if d != axis] for sizes in (shape, given))
    if mine != theirs:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, mine))} at dimension {axis} and source slice shape: {' '.join(map(str, theirs))}."
        )
    if count != size:
        raise IndexError(f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({size})")


@public()
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """A copy of the slices of `input` along `dim` whose numbers are in the vector `index`.

    >>> T.index_select(T.arange(4) * 10, 0, T.tensor([3, 0]))
    tensor([30,  0])
    """
    if not input.ndim and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    return IndexSelect.apply(input, **_settings("index_select", input, dim, index))


def _index_add_(self, dim, index, source, *, alpha=1):
    return IndexAdd.apply_(self, source, alpha=alpha, **_settings("index_add", self, dim, index, source))


@public()
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """A copy of `input` with alpha * source added to its slices `index` along `dim`."""
    return IndexAdd.apply(input, source, alpha=alpha, **_settings("index_add", input, dim, index, source))


def _index_copy_(self, dim, index, source):
    return IndexCopy.apply_(self, source, **_settings("index_copy", self, dim, index, source))


@public()
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with its slices `index` along `dim` replaced by `source`."""
    return IndexCopy.apply(input, source, **_settings("index_copy", input, dim, index, source))


def _index_fill(form, input, dim, index, value):
    settings = _settings("index_fill", input, dim, index)
    if not isinstance(value, Tensor):
        return getattr(IndexFill, form)(input, value=value, **settings)
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return getattr(IndexFillTensor, form)(input, value, **settings)


def _index_fill_(self, dim, index, value):
    return _index_fill("apply_", self, dim, index, value)


@public()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of `input` with its slices `index` along `dim` filled with a number or a 0-d tensor."""
    return _index_fill("apply", input, dim, index, value)


class SlicesMethods:
    """The methods of Tensor that are defined here."""

    index_select = method(index_select)
    index_add, index_add_ = both_forms(index_add, _index_add_)
    index_copy, index_copy_ = both_forms(index_copy, _index_copy_)
    index_fill, index_fill_ = both_forms(index_fill, _index_fill_)
