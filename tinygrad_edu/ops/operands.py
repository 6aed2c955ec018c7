"""The arrays an op computes on: tensors opened, brought to one dtype, and what does not fit refused in PyTorch's words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor

__all__ = ["as_arrays", "check_fits", "check_writable", "need_tensor", "promoted", "refuse_mismatch"]


def as_arrays(settings: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The settings as `forward` gets them: arrays for the tensors among those called `names`."""
    given = dict(settings)
    for name in names:
        value = given.get(name)
        if isinstance(value, Tensor):
            given[name] = value._data
        elif type(value) is tuple:
            given[name] = tuple([v._data if isinstance(v, Tensor) else v for v in value])
    return given


def need_tensor(name: str, value: Any) -> Any:
    """`value`, the second argument of a function that takes no number in its place.

    Raises:
        TypeError: it is neither a tensor nor, within a rule, an array.
    """
    if not isinstance(value, Tensor | np.ndarray | np.generic):
        raise TypeError(
            f"{name}(): argument 'other' (position 2) must be Tensor, not {type(value).__name__}. Make one with tensor(…)."
        )
    return value


def promoted(arrays: list[Any], makes_float: bool) -> list[Any]:
    """The operands in the dtype in which PyTorch computes them."""
    if not makes_float:
        if len(arrays) == 2:
            a, b = arrays
            if type(a) is np.ndarray:
                if type(b) is np.ndarray:
                    if a.dtype is b.dtype:
                        return arrays
                # NumPy gives a Python number the type of a float array, as PyTorch does.
                elif (type(b) is float or type(b) is int) and a.dtype.kind == "f":
                    return arrays
            elif (type(a) is float or type(a) is int) and b.dtype.kind == "f":
                return arrays
    elif len(arrays) == 1 and arrays[0].dtype.kind == "f":
        return arrays
    for a in arrays:
        if a is not None and not isinstance(a, np.ndarray | np.generic | int | float):
            raise TypeError(f"argument must be Tensor or Number, not {type(a).__name__}. Make a tensor with tensor(…).")
    common = dtypes.promote(arrays)
    if makes_float and common.kind != "f":
        common = dtypes.get_default_dtype().numpy
    return [
        a
        if a is None
        else a.astype(common, copy=False)
        if isinstance(a, np.ndarray | np.generic)
        # As in PyTorch a number that an integer type cannot hold wraps around, and does not change the type.
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
                    f"{max(len(a), len(b)) - back}. Two shapes broadcast if, from the last dimension on, sizes are equal "
                    f"or one of them is 1; these are {list(a)} and {list(b)}."
                )


def check_writable(target: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Refuse to write what has `shape` into a tensor of shape `target`, where it does not broadcast to it."""
    if shape != target:
        refuse_mismatch([target, shape])
        result = np.broadcast_shapes(target, shape)
        if result != target:
            raise RuntimeError(
                f"output with shape {list(target)} doesn't match the broadcast shape {list(result)}. An in-place op cannot "
                "change the shape of its tensor; use the op without the underscore."
            )


def check_fits(target: Tensor, result: np.ndarray) -> None:
    check_writable(target._data.shape, result.shape)
    if dtypes.category(result.dtype) > dtypes.category(target._data.dtype):
        names = [dtypes.from_numpy_dtype(d).legacy_name for d in (result.dtype, target._data.dtype)]
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")
