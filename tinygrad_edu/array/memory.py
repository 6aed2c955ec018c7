"""Where the elements of an array lie in memory, and a copy of it that lies as it does."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["cast", "copy_of_storage", "is_dense", "overlaps_itself", "owner", "positions", "steps"]


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory `array` shows."""
    while array.base is not None:
        # as_strided puts a holder between the two, which has a base, too.
        base = array.base if isinstance(array.base, np.ndarray) else getattr(array.base, "base", None)
        if not isinstance(base, np.ndarray):
            break
        array = base
    return array


def steps(array: np.ndarray) -> list[int]:
    """The strides that count, in bytes."""
    return [stride for stride, size in zip(array.strides, array.shape, strict=True) if size != 1]


def is_dense(array: np.ndarray) -> bool:
    """True if the elements are contiguous in memory, in any order of dimensions."""
    expected = array.itemsize
    for stride, size in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return array.size > 0


def positions(array: np.ndarray) -> np.ndarray:
    """The position of each element in memory, in elements from the first."""
    places = np.zeros((), np.int64)
    for size, stride in zip(array.shape, array.strides, strict=True):
        places = places[..., None] + np.arange(size) * (stride // array.itemsize)
    return places


def overlaps_itself(array: np.ndarray) -> bool:
    """True if two elements are at one place in memory: a dimension without a stride, or windows that overlap."""
    reach = 0
    for stride, size in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride <= reach:
            return array.size > 0 and len(np.unique(positions(array))) < array.size
        reach += stride * (size - 1)
    return False


def cast(array: Any, dtype: Any, copy: bool = True) -> Any:
    """`array` in another dtype, in the same order in memory; an expanded one row by row."""
    if not copy and array.dtype == dtype:
        return array
    return array.astype(dtype, order="C" if 0 in array.strides else "K")


def copy_of_storage(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """`array` over a copy of the whole memory that it shows: in one `memo`, what shared memory shares the copy."""
    storage = owner(array)
    if not is_dense(storage):  # empty, or a part of memory that is not NumPy's
        return array.copy("K")
    if id(storage) not in memo:
        memo[id(storage)] = storage.flatten("K")
    memory = memo[id(storage)]
    return np.ndarray(array.shape, array.dtype, memory, array.ctypes.data - storage.ctypes.data, array.strides)
