"""Convert operands to a common dtype, and refuse shapes that do not broadcast, as PyTorch does."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes
from .memory import cast

__all__ = ["ones", "promoted", "refuse_mismatch", "sum_over", "sum_to_shape"]


def promoted(arrays: list[Any], makes_float: bool) -> list[Any]:
    """The operands, converted to the dtype in which PyTorch computes them."""
    if not makes_float:
        if len(arrays) == 2:
            a, b = arrays
            if type(a) is np.ndarray:
                if type(b) is np.ndarray:
                    if a.dtype is b.dtype:
                        return arrays
                # NumPy, like PyTorch, gives a Python number the type of the float array beside it.
                elif (type(b) is float or type(b) is int) and a.dtype.kind == "f":
                    return arrays
            elif (type(a) is float or type(a) is int) and b.dtype.kind == "f":
                return arrays
    elif len(arrays) == 1 and arrays[0].dtype.kind == "f":
        return arrays
    # Beside a tensor, a NumPy scalar counts as a number.
    arrays = [dtypes.number(a) for a in arrays]
    for a in arrays:
        if a is not None and not isinstance(a, np.ndarray | int | float):
            raise TypeError(f"argument must be Tensor or Number, not {type(a).__name__}. Make a tensor with tensor(…).")
    common = dtypes.promote(arrays)
    if makes_float and common.kind != "f":
        common = dtypes.get_default_dtype().numpy
    return [
        a
        if a is None
        else cast(a, common, copy=False)
        if isinstance(a, np.ndarray)
        # As in PyTorch, a number that does not fit into an integer type wraps around and does not change the type.
        else np.asarray(a).astype(common)
        for a in arrays
    ]


def refuse_mismatch(shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise if two of the shapes do not broadcast."""
    for a, b in itertools.combinations(shapes, 2):
        for back, (n, m) in enumerate(zip(reversed(a), reversed(b), strict=False), start=1):
            if n != m and n != 1 and m != 1:
                raise RuntimeError(
                    f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton dimension "
                    f"{max(len(a), len(b)) - back}. Two shapes broadcast if, from the last dimension on, sizes are "
                    f"equal or one of them is 1; these are {list(a)} and {list(b)}."
                )


def sum_to_shape(array: Any, shape: tuple[int, ...]) -> Any:
    """Sum `array` over the dimensions that broadcasting added or stretched: the reverse of broadcasting."""
    leading = array.ndim - len(shape)
    axes = list(range(leading))
    for axis, size in enumerate(shape, leading):
        if size == 1 and array.shape[axis] != 1:
            axes.append(axis)
    summed = sum_over(array, tuple(axes))
    return summed if summed.shape == shape else summed.reshape(shape)


# The most numbers to add up one after the other. NumPy's own pairwise sums have smaller rounding errors.
_IN_A_ROW = 4096


@functools.lru_cache(maxsize=64)
def ones(n: int, dtype: np.dtype) -> np.ndarray:
    """A shared, read-only vector of ones."""
    vector = np.ones(n, dtype)
    vector.flags.writeable = False
    return vector


def sum_over(array: Any, axes: tuple[int, ...]) -> Any:
    """Sum over `axes` (counted from 0, in order) and remove them.

    The first and the last axes are summed by a product with a vector of ones, because NumPy restarts at each short row.
    For the columns of a 128 x 96 array NumPy takes 3.9 us and BLAS 1.3; for the channels of 64 images of 8 x 8 x 8, 15
    and 5.
    """
    if array.size < 1024 or array.dtype.char not in "fd" or not array.flags.c_contiguous:
        return np.add.reduce(array, axis=axes)
    shape, n = array.shape, array.ndim
    if n == 2 and axes == (0,) and shape[0] <= _IN_A_ROW:
        return ones(shape[0], array.dtype) @ array
    leading = 0
    while leading < len(axes) and axes[leading] == leading:
        leading += 1
    end = n - (len(axes) - leading)
    rows, columns = math.prod(shape[:leading]), math.prod(shape[end:])
    if axes[leading:] != tuple(range(end, n)) or max(rows, columns) > _IN_A_ROW:
        return np.add.reduce(array, axis=axes)
    if columns > 1:
        array = array.reshape(-1, columns) @ ones(columns, array.dtype)
    if rows > 1:
        array = ones(rows, array.dtype) @ array.reshape(rows, -1)
    return array.reshape(shape[leading:end])
