"""Faster versions of what NumPy does slowly on large arrays: masks, sums at repeated positions, long formulas."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array.promotion import ones

# This many elements of a few arrays fit into the processor's cache.
_BLOCK = 32_768


def row_major(array: Any) -> Any:
    """`array` in row-major order, as PyTorch's kernels give their results: `stride()` and `view` depend on it."""
    return np.asarray(array, order="C")


def as_index(found: Any) -> Any:
    """Positions or counts as int64, PyTorch's type for them: NumPy's own has 32 bits in a browser."""
    return np.asarray(found, np.int64)


def bincount(numbers: Any, weights: Any = None, minlength: int = 0) -> Any:
    """np.bincount, which takes no int64 where NumPy's own index has 32 bits."""
    return np.bincount(numbers.astype(np.intp, copy=False), weights, minlength)


def in_order(result: Any, operands: Any) -> Any:
    """`result` of an elementwise op, laid out in memory as PyTorch does: what comes from `x.T` is transposed, too.

    Of two dimensions that one becomes the inner one whose stride is smaller in the first operand that moves along both.
    """
    n, sizes = result.ndim, result.shape
    if n < 2 or all(not isinstance(a, np.ndarray) or a.flags.c_contiguous for a in operands):
        return np.asarray(result, order="C")
    moves = []
    for a in operands:
        if isinstance(a, np.ndarray):
            seen = zip(sizes[n - a.ndim :], a.shape, a.strides, strict=True)
            moves.append([0] * (n - a.ndim) + [stride if size == whole else 0 for whole, size, stride in seen])
    axes = [*range(n)]
    for held in range(n - 2, -1, -1):  # sorted by insertion, from the last dimension on
        for at in range(held + 1, n):
            outer, inner = axes[held], axes[at]
            longer = max(sizes[inner] - sizes[outer], 0)  # decides between equal strides
            way = next(filter(None, [m[inner] - m[outer] or longer for m in moves if m[inner] and m[outer]]), 0)
            if way < 0:
                break
            if way > 0:
                axes[held], axes[at], held = inner, outer, at
    if result.transpose(axes).flags.c_contiguous:
        return result
    return np.asarray(result.transpose(axes), order="C").transpose(np.argsort(axes))


def choose(condition: Any, a: Any, b: Any) -> Any:
    """np.where(condition, a, b), computed on bits: a third of the time if the mask has no predictable pattern."""
    kind = np.result_type(a, b)
    if kind.kind != "f" or np.size(condition) < 4096:
        return np.where(condition, a, b)
    bits = f"i{kind.itemsize}"
    a, b = (np.asarray(x, kind).view(bits) for x in (a, b))
    out = (a ^ b) & np.subtract(0, condition, dtype=bits)
    out ^= b
    return out.view(kind)


def in_blocks(formula: Callable) -> Callable:
    """Compute an elementwise formula in blocks, which stay in the cache; the arrays are passed by position."""

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


def are_small(scores: Any) -> Any:
    """True if the exponentials of the scores can be summed directly, without overflow or underflow.

    Otherwise the largest score has to be subtracted first.
    """
    return scores.size > 0 and scores.dtype.char in "fd" and scores.min() > -60 and scores.max() < 60


def largest(array: Any, axis: Any) -> Any:
    """The largest element along `axis`, which is kept with size 1; nan if there is a nan."""
    n = array.shape[axis]
    if array.size < 1024 or axis % array.ndim < array.ndim - 1 or n > 64:
        return array.max(axis=axis, keepdims=True)
    # NumPy restarts at each short row: for 512 rows of 16 that takes 50 us; by columns it takes 5, including the copy.
    return np.maximum.reduce(array.reshape(-1, n).T.copy(), axis=0).reshape(*array.shape[:-1], 1)


def sum_kept(array: Any, axis: Any) -> Any:
    """The sum along `axis`, which is kept with size 1. See `sum_over` for how short rows are summed."""
    n = array.shape[axis]
    if array.size < 1024 or axis % array.ndim < array.ndim - 1 or array.dtype.char not in "fd" or not 0 < n < 512:
        return np.add.reduce(array, axis=axis, keepdims=True)
    return (array.reshape(-1, n) @ ones(n, array.dtype)).reshape(*array.shape[:-1], 1)


def copied(array: Any, order: Any = "C") -> Any:
    """A copy to write into, in row-major order or ("K") as `array` lies in memory. A 0-d gradient may be a number."""
    return np.array(array, order="C" if 0 in getattr(array, "strides", ()) else order)


def flat_places(index: Any, dim: Any, size: Any) -> Any:
    """The row-major position of each element that `index` selects along `dim`; other dimensions go in step."""
    where = np.array(index, np.int64)
    inner = math.prod(size[dim + 1 :])
    where *= inner
    for d, n in enumerate(index.shape):
        if d != dim:
            step = np.arange(n) * math.prod(size[d + 1 :])
            where += step.reshape(-1, *(1,) * (index.ndim - d - 1))
    return where


def add_slices(out: Any, dim: Any, index: Any, values: Any) -> None:
    """Add `values` to the slices `index` of `out` along `dim`; values at repeated indices are summed.

    With a single flat index NumPy adds many times faster than with one index per dimension.
    """
    outer, n, inner = math.prod(out.shape[:dim]), out.shape[dim], math.prod(out.shape[dim + 1 :])
    places = index.reshape(-1)
    if (outer, inner) != (1, 1):
        places = np.arange(outer)[:, None, None] * n + (places % max(n, 1))[:, None]
        places = places * inner + np.arange(inner)
    np.add.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))


def add_rows(size: Any, index: Any, values: Any) -> Any:
    """Zeros (n, features) with the rows of `values` added at the rows given by `index`; repeated rows are summed.

    For few rows it is a product with a matrix of ones and zeros: 128 rows of 32 take 6 us instead of 16. Infinite
    values do not allow that: they would spread to every row, because 0·∞ is nan.
    """
    n, features = size
    where = index.reshape(-1)
    rows = values.reshape(-1, features)
    if rows.dtype.char in "fd" and n * len(where) <= 2**16 and math.isfinite(np.vdot(rows, rows)):
        return (np.arange(n)[:, None] == where).astype(rows.dtype) @ rows
    out = np.zeros(size, values.dtype)
    add_slices(out, 0, index, values)
    return out


def sum_at(size: Any, indices: Any, values: Any) -> Any:
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
