"""Elements in order: `sort`, `argsort`, `topk`, and the median."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.return_types import named
from ...array.tensor import Tensor
from ..arrays import as_index, in_order
from ..binding import method, public
from ..indexing.gather import put_along, take_along
from ..op import Op
from ..shapes.shape import axis_of
from .extremes import ExtremeOfAll, SelectAlong, chosen, need_elements


class Chosen(Op):
    """Elements chosen along a dimension, and their indices."""

    results = ("values", "indices")
    non_differentiable = (1,)

    def grad_self(grad, self_sym_sizes, dim, indices):
        return put_along(grad[0], self_sym_sizes, dim, indices) if self_sym_sizes else grad[0]

    def jvp(tangent, dim, indices):
        return (take_along(tangent, dim, indices) if tangent.ndim else tangent), None


class Sort(Chosen):
    def forward(self, *, dim, descending=False):
        if not self.ndim:
            return self.copy(), np.zeros((), np.int64)
        # To sort in descending order, reverse, sort and reverse again, so that equal elements keep their order.
        if descending:
            order = self.shape[dim] - 1 - np.flip(np.argsort(np.flip(self, dim), axis=dim, kind="stable"), dim)
        else:
            order = np.argsort(self, axis=dim, kind="stable")
        return in_order(np.take_along_axis(self, order, dim), (self,)), in_order(as_index(order), (self,))


class SortStable(Sort, name="SortBackward1"):
    """As Sort, for calls with `stable`: the sort is always stable."""

    forward = Sort.forward


class Topk(Chosen):
    def forward(self, *, k, dim, largest=True, sorted=True):
        if not self.ndim:
            return self.copy(), np.zeros((), np.int64)
        n = self.shape[dim]
        if not k:
            return np.take(self, [], dim), np.take(np.zeros(self.shape, np.int64), [], dim)
        # First partition, then sort only the chosen part.
        apart = np.argpartition(self, n - k if largest else k - 1, axis=dim)
        best = as_index(np.sort(np.take(apart, range(n - k, n) if largest else range(k), dim), axis=dim))
        values, order = Sort.forward(np.take_along_axis(self, best, dim), dim=dim, descending=largest)
        return values, np.take_along_axis(best, order, dim)


class Median(ExtremeOfAll):
    """The lower of the two middle elements; nan if there is a nan."""

    def forward(self):
        if not self.size:
            return np.array(np.nan).astype(self.dtype)
        flat = np.sort(self, axis=None)
        return flat[-1 if np.isnan(flat[-1]) else (self.size - 1) // 2]


class MedianDim(SelectAlong, name="MedianBackward1"):
    def forward(self, *, dim, keepdim):
        if not self.ndim:
            return chosen(self, np.int64(0), dim, keepdim)
        # Sorting puts nan last.
        n, nans = self.shape[dim], np.isnan(self).sum(axis=dim, keepdims=True)
        place = np.where(nans, n - nans, (n - 1) // 2)
        return chosen(self, np.take_along_axis(np.argsort(self, axis=dim, kind="stable"), place, dim), dim, keepdim)


_Sort, _Topk, _Median = (named(op, "values", "indices") for op in ("sort", "topk", "median"))


@public()
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """Sort the elements along `dim`, and return their old indices too. Equal elements keep their order.

    >>> T.sort(T.tensor([3.0, 1.0, 2.0])).values
    tensor([1., 2., 3.])
    """
    op = Sort if stable is None else SortStable
    return _Sort(op.apply(input, dim=axis_of(dim, input.ndim), descending=descending))


@public()
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort the elements along `dim`."""
    return sort(input, dim, descending)[1]


@public()
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim`, sorted, and their indices.

    >>> T.topk(T.tensor([1.0, 5.0, 3.0]), 2).indices
    tensor([1, 2])
    """
    axis = axis_of(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"selected index k out of range: {k} of {input.shape[axis] if input.ndim else 1} elements")
    return _Topk(Topk.apply(input, k=k, dim=axis, largest=largest))


@public()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median (the lower of the two middle elements). With `dim`, also its index.

    >>> T.median(T.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    if input.value.dtype == bool:
        raise NotImplementedError("\"median\" not implemented for 'Bool'. Convert first: t.long().")
    if dim is None:
        return Median.apply(input)
    need_elements("median", input, dim)
    return _Median(MedianDim.apply(input, dim=axis_of(dim, input.ndim), keepdim=keepdim))


class OrderingMethods:
    """The methods of Tensor that are defined here."""

    sort = method(sort)
    argsort = method(argsort)
    topk = method(topk)
    median = method(median)
