"""Elements in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.return_types import named
from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.indexing.gather import put_along, take_along
from ...ops.op import Op
from ...ops.shapes.shape import axis_of


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
        if self.flags.c_contiguous or 0 in self.strides:
            return np.take_along_axis(self, order, dim), order
        values, places = np.empty_like(self), np.empty_like(self, np.int64)
        values[...], places[...] = np.take_along_axis(self, order, dim), order
        return values, places


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
        chosen = np.sort(np.take(apart, range(n - k, n) if largest else range(k), dim), axis=dim)
        values, order = Sort.forward(np.take_along_axis(self, chosen, dim), dim=dim, descending=largest)
        return values, np.take_along_axis(chosen, order, dim)


_Sort, _Topk, _Mode = (named(op, "values", "indices") for op in ("sort", "topk", "mode"))


@public()
def sort(input: Tensor, *args, dim=-1, descending: bool = False, stable: bool | None = None) -> Any:
    """Sort the elements along `dim`, and return their old indices too. Equal elements keep their order.

    >>> import tinygrad_edu as T
    >>> T.sort(T.tensor([3.0, 1.0, 2.0])).values
    tensor([1., 2., 3.])
    """
    if args and stable is not None:
        raise TypeError(
            "sort() received an invalid combination of arguments: beside `stable`, give dim and descending by name."
        )
    dim, descending = [*args, *[dim, descending][len(args) :]]
    op = Sort if stable is None else SortStable
    return _Sort(op.apply(input, dim=axis_of(dim, input.ndim), descending=descending))


@public()
def argsort(input: Tensor, dim=-1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort the elements along `dim`.

    >>> import tinygrad_edu as T
    >>> T.argsort(T.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    return sort(input, dim, descending)[1]


@public()
def topk(input: Tensor, k, dim=-1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim`, sorted, and their indices.

    >>> import tinygrad_edu as T
    >>> T.topk(T.tensor([1.0, 5.0, 3.0]), 2).indices
    tensor([1, 2])
    """
    axis = axis_of(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    return _Topk(Topk.apply(input, k=k, dim=axis, largest=largest))
