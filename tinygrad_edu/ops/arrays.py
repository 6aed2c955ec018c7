"""Faster versions of what NumPy does slowly on large arrays: masks, sums at repeated positions, long formulas."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from ..array.promotion import ones

__all__ = [
    "add_rows",
    "add_slices",
    "are_small",
    "by_channels",
    "choose",
    "copied",
    "flat_places",
    "in_blocks",
    "in_order",
    "largest",
    "row_major",
    "sum_at",
    "sum_kept",
]

# This many elements of a few arrays fit into the processor's cache.
_BLOCK = 32_768


def by_channels(array, *likes):
    """`array` in channels_last order if one of `likes` is in it, as the results of PyTorch's layers for images are.

    The order shows in `stride()`, and in which element gets which number of a later dropout.
    """
    if array.ndim != 4 or not any(map(_channels_last, likes)) or _channels_last(array):
        return array
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def _channels_last(array):
    if array.ndim != 4 or (array.flags.c_contiguous and array.shape[1] != 1):
        return False
    # PyTorch's rule: the strides of the channels, columns, rows and images must not fall; a sole pixel is row-major.
    least = 0
    for axis in (1, 3, 2, 0):
        size, stride = array.shape[axis], array.strides[axis]
        if not size or stride < least or not array.strides[1] or (axis == 0 and least == array.strides[1]):
            return False
        least = stride * size
    return True


def row_major(array, *inputs):
    """`array` in row-major order, which PyTorch's kernels give their results, or in channels_last order if it has that.

    The order shows in `stride()`, in whether `view` works, and in which element gets which number of a later dropout.
    """
    kept = inputs and array.ndim == 4 and all(a.transpose(0, 2, 3, 1).flags.c_contiguous for a in inputs)
    if array.flags.c_contiguous or kept:
        return array
    return np.ascontiguousarray(array)


def in_order(result, operands):
    """`result` of an elementwise op, in memory in the order PyTorch gives it: two dimensions as in the first operand that has an order of them.

    Where operands disagree NumPy chooses rows, and its copies move an expanded dimension inside.
    """
    if result.ndim < 2:
        return result
    operands = [a for a in operands if 0 < getattr(a, "ndim", 0) <= result.ndim]
    if result.flags.c_contiguous and all(a.flags.c_contiguous for a in operands):
        return result
    steps = []  # the strides of each operand in the shape of the result: 0 where it is broadcast
    for a in operands:
        shape = (1,) * (result.ndim - a.ndim) + a.shape
        own = zip((0,) * (result.ndim - a.ndim) + a.strides, shape, result.shape, strict=True)
        steps.append([step if n == size else 0 for step, n, size in own])

    def is_outer(one, other):
        """Whether the dimension `one` lies outside of `other`; None if no operand says so."""
        for step in steps:
            if step[one] and step[other] and (step[one] != step[other] or result.shape[one] > result.shape[other]):
                return step[one] >= step[other]
        return None

    order = []  # from the innermost; sorted by insertion, because some pairs have no order
    for axis in reversed(range(result.ndim)):
        order.append(axis)
        place = len(order) - 1
        for inner in reversed(range(place)):
            if found := is_outer(order[inner], axis):
                order[inner], order[place], place = axis, order[inner], inner
            elif found is False:
                break
    order.reverse()
    laid_out = result.transpose(order)
    return result if laid_out.flags.c_contiguous else np.array(laid_out, order="C").transpose(np.argsort(order))


def choose(condition, a, b):
    """np.where(condition, a, b), computed on bits. Where the mask has no predictable pattern it takes a third of the time."""
    kind = np.result_type(a, b)
    if kind.kind != "f" or np.size(condition) < 4096:
        return np.where(condition, a, b)
    bits = f"i{kind.itemsize}"
    a, b = (np.asarray(x, kind).view(bits) for x in (a, b))
    out = (a ^ b) & np.subtract(0, condition, dtype=bits)
    out ^= b
    return out.view(kind)


def in_blocks(formula: Callable) -> Callable:
    """Compute an elementwise formula block by block, for large arrays.

    Intermediate results then stay in the processor's cache. The arrays are passed by position.
    """

    @functools.wraps(formula)
    def compute(*values, **settings):
        first = values[0]
        if not isinstance(first, np.ndarray) or first.size <= _BLOCK:
            return formula(*values, **settings)
        flat = [v.reshape(-1) if isinstance(v, np.ndarray) else v for v in values]
        out = np.empty(first.size, first.dtype)
        for start in range(0, first.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = formula(*(v[part] if isinstance(v, np.ndarray) else v for v in flat), **settings)
        return out.reshape(first.shape)

    return compute


def are_small(scores):
    """True if the exponentials of the scores can be summed directly, without overflow or underflow.

    Otherwise the largest score has to be subtracted first.
    """
    return scores.size > 0 and scores.dtype.char in "fd" and scores.min() > -60 and scores.max() < 60


def largest(array, axis):
    """The largest element along `axis`, which is kept with size 1; nan if there is a nan."""
    n = array.shape[axis]
    if array.size < 1024 or axis % array.ndim < array.ndim - 1 or n > 64:
        return array.max(axis=axis, keepdims=True)
    # NumPy restarts at each short row: for 512 rows of 16 that takes 50 us; by columns it takes 5, including the copy.
    return np.maximum.reduce(array.reshape(-1, n).T.copy(), axis=0).reshape(*array.shape[:-1], 1)


def sum_kept(array, axis):
    """The sum along `axis`, which is kept with size 1. See `sum_over` for how short rows are summed."""
    n = array.shape[axis]
    if array.size < 1024 or axis % array.ndim < array.ndim - 1 or array.dtype.char not in "fd" or not 0 < n < 512:
        return np.add.reduce(array, axis=axis, keepdims=True)
    return (array.reshape(-1, n) @ ones(n, array.dtype)).reshape(*array.shape[:-1], 1)


def copied(array, order="C"):
    """A copy to write into, in row-major order or ("K") as `array` lies in memory. A 0-d gradient may be a number."""
    return np.array(array, order="C" if 0 in getattr(array, "strides", ()) else order)


def flat_places(index, dim, size):
    """The position, in row-major order, of each element that `index` selects along `dim`; the other dimensions go in step."""
    where = np.array(index, np.int64)
    inner = math.prod(size[dim + 1 :])
    where *= inner
    for d, n in enumerate(index.shape):
        if d != dim:
            step = np.arange(n) * math.prod(size[d + 1 :])
            where += step.reshape(-1, *(1,) * (index.ndim - d - 1))
    return where


def add_slices(out, dim, index, values):
    """Add `values` to the slices `index` of `out` along `dim`; values at repeated indices are summed.

    With a single flat index NumPy adds many times faster than with one index per dimension.
    """
    outer, n, inner = math.prod(out.shape[:dim]), out.shape[dim], math.prod(out.shape[dim + 1 :])
    places = index.reshape(-1)
    if (outer, inner) != (1, 1):
        places = np.arange(outer)[:, None, None] * n + (places % max(n, 1))[:, None]
        places = places * inner + np.arange(inner)
    np.add.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))


def add_rows(size, index, values):
    """Zeros (n, features) with the rows of `values` added at the rows given by `index`; repeated rows are summed.

    For few rows it is a product with a matrix of ones and zeros: 128 rows of 32 take 6 us instead of 16. Infinite values do
    not allow that: they would spread to every row, because 0·∞ is nan.
    """
    n, features = size
    where = index.reshape(-1)
    rows = values.reshape(-1, features)
    if rows.dtype.char in "fd" and n * len(where) <= 2**16 and math.isfinite(np.vdot(rows, rows)):
        return (np.arange(n)[:, None] == where).astype(rows.dtype) @ rows
    out = np.zeros(size, values.dtype)
    add_slices(out, 0, index, values)
    return out


def sum_at(size, indices, values):
    """Zeros of shape `size` with `values` added at `indices`: arrays, masks and full slices."""
    out = np.zeros(size, values.dtype)
    # Replace a mask by the indices where it is True.
    entries = [i for e in indices for i in (np.nonzero(e) if getattr(e, "dtype", None) == np.bool_ else (e,))]
    arrays = [d for d, e in enumerate(entries) if isinstance(e, np.ndarray)]
    dim = arrays[0]
    if arrays[-1] - dim == len(arrays) - 1 and out.size:
        # Merge neighbouring dimensions into one.
        together = size[dim : dim + len(arrays)]
        index = entries[dim]
        if len(arrays) > 1:
            index = np.ravel_multi_index(np.broadcast_arrays(*(entries[d] for d in arrays)), together, mode="wrap")
        add_slices(out.reshape(*size[:dim], -1, *size[dim + len(arrays) :]), dim, index, values)
    else:
        np.add.at(out, tuple(entries), values)
    return out
