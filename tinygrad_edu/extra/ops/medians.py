"""Medians and other places in the order; several extremes at once."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ...ops.binding import public
from ...ops.reductions.extremes import (
    _chosen,
    _Extreme,
    _Kthvalue,
    _Median,
    _Nanmedian,
    _need_elements,
    _SelectAlong,
)
from ...ops.shapes.shape import axis_of


class MedianDim(_SelectAlong, name="MedianBackward1"):
    """The lower of the two middle elements; nan if there is a nan."""

    def forward(self, *, dim, keepdim):
        if not self.ndim:
            return _chosen(self, np.int64(0), dim, keepdim)
        # Sorting puts nan last.
        n, nans = self.shape[dim], np.isnan(self).sum(axis=dim, keepdims=True)
        place = np.where(nans, n - nans, (n - 1) // 2)
        return _chosen(self, np.take_along_axis(np.argsort(self, axis=dim, kind="stable"), place, dim), dim, keepdim)


class NanMedianDim(_SelectAlong, name="NanmedianBackward1"):
    """The lower of the two middle elements that are numbers; nan if there are none."""

    def forward(self, *, dim, keepdim):
        if not self.ndim:
            return _chosen(self, np.int64(0), dim, keepdim)
        count = self.shape[dim] - np.isnan(self).sum(axis=dim, keepdims=True)
        place = np.maximum(count - 1, 0) // 2
        return _chosen(self, np.take_along_axis(np.argsort(self, axis=dim, kind="stable"), place, dim), dim, keepdim)


class Kthvalue(_SelectAlong):
    """The k-th smallest."""

    def forward(self, *, k, dim, keepdim):
        if not self.ndim:
            return _chosen(self, np.int64(0), dim, keepdim)
        order = np.argsort(self, axis=dim, kind="stable")
        return _chosen(self, np.take(order, [k - 1], axis=dim), dim, keepdim)


class Median(_Extreme):
    def forward(self):
        if not self.size:
            return np.array(np.nan).astype(self.dtype)
        flat = np.sort(self, axis=None)
        return flat[(self.size - 1) // 2] if not np.isnan(flat[-1:]).any() else flat[-1]


class NanMedian(_Extreme, name="NanmedianBackward0"):
    def forward(self):
        if not self.size:
            return Median.forward(self)
        flat = np.sort(self, axis=None)
        return flat[builtins.max(self.size - np.isnan(flat).sum() - 1, 0) // 2]


@public()
def median(input, dim=None, keepdim: bool = False) -> Any:
    """The median (the lower of the two middle elements). With `dim`, also its index.

    >>> import tinygrad_edu as T
    >>> T.median(T.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    _refuse_bool(input, "median_cpu" if dim is None else "median_out")
    if dim is None:
        return Median.apply(input)
    _need_elements("median", input, dim)
    return _Median(MedianDim.apply(input, dim=axis_of(dim, input.ndim), keepdim=keepdim))


@public()
def nanmedian(input, dim=None, keepdim: bool = False) -> Any:
    """The median of the elements that are not nan (the lower of the two middle ones). With `dim`, also its index.

    >>> import tinygrad_edu as T
    >>> T.nanmedian(T.tensor([1.0, T.nan, 3.0, 2.0]))
    tensor(2.)
    """
    _refuse_bool(input, "median_cpu" if dim is None else "median_out")
    if dim is None:
        return NanMedian.apply(input)
    _need_elements("median", input, dim)
    return _Nanmedian(NanMedianDim.apply(input, dim=axis_of(dim, input.ndim), keepdim=keepdim))


def _refuse_bool(input, kernel="median_cpu"):
    if input._data.dtype == bool:
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'. Convert first: t.long().")


@public()
def kthvalue(input, k, dim=-1, keepdim: bool = False) -> Any:
    """The k-th smallest element along `dim`, and its index.

    >>> import tinygrad_edu as T
    >>> T.kthvalue(T.tensor([3.0, 1.0, 2.0]), 2)
    tinygrad_edu.return_types.kthvalue(
    values=tensor(2.),
    indices=tensor(2))
    """
    axis = axis_of(dim, input.ndim)
    _need_elements("kthvalue", input, axis)
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    return _Kthvalue(Kthvalue.apply(input, k=k, dim=axis, keepdim=keepdim))
