"""Distinct numbers, how often each occurs, and the most frequent one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.creation.factories import finish
from ...ops.indexing.gather import put_along, take_along
from ...ops.op import Op
from ...ops.shapes.shape import axis_of, squeeze, unsqueeze
from .sorting import Chosen, _Mode, sort


@public()
def msort(input: Tensor) -> Tensor:
    """Sort the elements along the first dimension.

    >>> import tinygrad_edu as T
    >>> T.msort(T.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    return sort(input, 0)[0]


class Mode(Chosen):
    """The most frequent element (the smallest of several), and the last position where it occurs."""

    def forward(self, *, dim, keepdim):
        if not self.ndim:
            return self.copy(), np.zeros((), np.int64)
        rows = np.moveaxis(self, dim, -1)
        place = np.empty(rows.shape[:-1], np.int64)
        for at in np.ndindex(place.shape):
            _, inverse, counts = np.unique(rows[at], return_inverse=True, return_counts=True)
            place[at] = np.flatnonzero(inverse == counts.argmax())[-1]
        place = np.expand_dims(place, dim)
        chosen = np.take_along_axis(self, place, dim)
        return (chosen, place) if keepdim else (chosen.squeeze(dim), place.squeeze(dim))

    def grad_self(grad, self_sym_sizes, dim, keepdim, indices):
        if not self_sym_sizes:
            return grad[0]
        there, at = (grad[0], indices) if keepdim else (unsqueeze(grad[0], dim), unsqueeze(indices, dim))
        return put_along(there, self_sym_sizes, dim, at)

    def jvp(tangent, dim, keepdim, indices):
        if not tangent.ndim:
            return tangent, None
        there = take_along(tangent, dim, indices if keepdim else unsqueeze(indices, dim))
        return (there if keepdim else squeeze(there, dim)), None


@public()
def mode(input: Tensor, dim=-1, keepdim: bool = False) -> Any:
    """The most frequent element along `dim` (the smallest of several), and its index.

    >>> import tinygrad_edu as T
    >>> T.mode(T.tensor([1, 2, 2, 3])).values
    tensor(2)
    """
    axis = axis_of(dim, input.ndim)
    if input.ndim and not input.shape[axis]:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    return _Mode(Mode.apply(input, dim=axis, keepdim=keepdim))


class Unique2(Op):
    """The distinct elements, the position of each element among them, and how often each occurs."""

    non_differentiable = (1, 2)

    def forward(self):
        return np.unique(self, return_inverse=True, return_counts=True)

    def grad_self(grad):
        raise NotImplementedError(
            "the derivative for '_unique2' is not implemented. Equality has no gradient; select the elements by an index "
            "instead."
        )


class UniqueDim(Op):
    non_differentiable = (1, 2)

    def forward(self, *, dim):
        return np.unique(self, return_inverse=True, return_counts=True, axis=dim)

    def grad_self(grad):
        raise NotImplementedError(
            "the derivative for 'unique_dim' is not implemented. Equality has no gradient; select the slices by an index "
            "instead."
        )


@public()
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim=None
) -> Any:
    """The distinct elements, sorted. Optionally also the position of each element among them, and how often each occurs.

    >>> import tinygrad_edu as T
    >>> T.unique(T.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    found = Unique2.apply(input) if dim is None else UniqueDim.apply(input, dim=dim)
    kept = tuple(x for x, wanted in zip(found, (True, return_inverse, return_counts), strict=True) if wanted)
    return kept[0] if len(kept) == 1 else kept


class Bincount(Op, name="torch::autograd::NotImplemented"):
    without_gradient = ("index",)

    def forward(self, *, index, minlength):
        found = np.bincount(index, self, minlength)
        return found.astype(self.dtype) if self.dtype == np.float32 else found

    def grad_self(grad):
        raise RuntimeError(
            "derivative for aten::bincount is not implemented. zeros(n).index_add(0, input, weights) sums the same numbers, "
            "and has one."
        )


@public()
def bincount(input: Tensor, weights=None, minlength=0) -> Tensor:
    """Count how often each of 0, 1, 2, … occurs in a vector of integers, or sum the `weights` there.

    >>> import tinygrad_edu as T
    >>> T.bincount(T.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    """
    array = input._data
    if array.dtype.kind not in "iu":
        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{kind}'. Convert first: t.long().")
    if array.ndim != 1 or (array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None:
        return finish(np.bincount(array, None, minlength))
    return Bincount.apply(weights, index=input, minlength=minlength)
