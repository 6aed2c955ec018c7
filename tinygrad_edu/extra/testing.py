"""x"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..array import dtypes
from ..array.tensor import Tensor, wrap
from ..ops.creation.factories import check_device as _check_device
from ..ops.creation.factories import shape_of
from ..ops.creation.random import source

__all__ = ["assert_close", "make_tensor"]


# The tolerances by dtype: relative to the expected number, and absolute. All other dtypes must be equal.
_TOLERANCES = {
    "bfloat16": (1.6e-2, 1e-5),
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless two tensors, arrays, numbers, or containers of them, have the same structure and close values.

    Close means `|actual - expected| <= atol + rtol * |expected|`. The default tolerances depend on the dtype; for integers
    and booleans they are 0. There is only one device and one layout, so these two always match.

    Args:
        msg: replaces the error's text; or a function from the usual text to a new one.

    Raises:
        AssertionError: the values are not close, or differ in shape, dtype, length or keys.
        TypeError: the two objects cannot be compared.
        ValueError: one tolerance is given without the other.

    Example:
        >>> import tinygrad_edu as T
        >>> T.testing.assert_close(T.tensor([1.0, 2.0]) / 3, T.tensor([1 / 3, 2 / 3]))
    """
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    # Pairs still to compare (the next one is last), each with its path in the structure.
    pairs: list[tuple[Any, Any, str]] = [(actual, expected, "")]
    while pairs:
        a, b, where = pairs.pop()
        found: str | None = None
        if _is_list(a) and _is_list(b):
            if len(a) != len(b):
                found = f"The length of the sequences mismatch: {len(a)} != {len(b)}"
            else:
                pairs += [(a[i], b[i], f"{where}[{i}]") for i in reversed(range(len(a)))]
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            if set(a) != set(b):
                found = (
                    f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(set(b) - set(a))}\n"
                    f"Additional keys in the actual mapping: {sorted(set(a) - set(b))}"
                )
            else:
                pairs += [(a[k], b[k], f"{where}[{k!r}]") for k in reversed(list(b))]
        elif a is None or b is None:
            found = None if a is b else f"None mismatch: {a} is not {b}"
        elif isinstance(a, int | float) and isinstance(b, int | float):
            if check_dtype and type(a) is not type(b):
                found = f"The (d)types do not match: {type(a)} != {type(b)}."
            else:
                found = _mismatch(np.asarray(a), np.asarray(b), rtol, atol, equal_nan)
        elif _is_array(a) and _is_array(b) and (allow_subclasses or type(a) is type(b)):
            found = _other_form(a, b, check_dtype, check_stride)
            if found is None:
                x, y = (t._data if isinstance(t, Tensor) else np.asarray(t) for t in (a, b))
                found = _mismatch(x, y, rtol, atol, equal_nan)
        else:
            raise TypeError(
                f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}. You can compare two tensors, "
                "two arrays, two numbers, or lists, tuples and dicts of these."
            )
        if found is not None:
            text = f"{found}\n\nThe failure occurred for item {where}" if where else found
            raise AssertionError(msg(text) if callable(msg) else msg or text)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_array(value: Any) -> bool:
    return isinstance(value, Tensor | np.ndarray | np.generic)


def _other_form(a: Any, b: Any, check_dtype: bool, check_stride: bool) -> str | None:
    if isinstance(a, Tensor) is not isinstance(b, Tensor):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}.")
    for name, checked in (("shape", True), ("dtype", check_dtype)):
        if checked and getattr(a, name) != getattr(b, name):
            return f"The values for attribute '{name}' do not match: {getattr(a, name)} != {getattr(b, name)}."
    if check_stride and isinstance(a, Tensor) and a.stride() != b.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}."
    return None


def _mismatch(a: np.ndarray, b: np.ndarray, rtol: float | None, atol: float | None, equal_nan: bool) -> str | None:
    """The error text for two arrays of one shape; None if they are close."""
    if rtol is None or atol is None:
        each = [_TOLERANCES.get(array.dtype.name, (0.0, 0.0)) for array in (a, b)]
        rtol, atol = (max(pair) for pair in zip(*each, strict=True))
    x, y = (array.astype(np.float64) if array.dtype.kind in "fbV" else array for array in (a, b))
    with np.errstate(all="ignore"):
        close = np.isclose(x, y, rtol, atol, equal_nan)
        if close.all():
            return None
        apart = np.where(close, 0, np.abs(x - y))
        relative = np.where(close, 0, apart / np.abs(y))
    what = "equal" if rtol == atol == 0 else "close"
    if not a.ndim:
        return (
            f"Scalars are not {what}!\n\nExpected {b} but got {a}.\nAbsolute difference: {apart} (up to {atol} allowed)\n"
            f"Relative difference: {relative} (up to {rtol} allowed)"
        )
    n = int((~close).sum())
    text = f"Tensor-likes are not {what}!\n\nMismatched elements: {n} / {a.size} ({n / a.size:.1%})"
    for name, values, allowed in (("absolute", apart, atol), ("relative", relative, rtol)):
        # NaN counts as the greatest difference: if there is one, report its position.
        at = np.unravel_index(int(np.argmax(np.where(np.isnan(values), np.inf, values))), values.shape)
        place = tuple(int(i) for i in at)
        text += f"\nGreatest {name} difference: {values[at]} at index {place} (up to {allowed} allowed)"
    return text


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of uniform random numbers from `low` (-9) up to `high` (9). For booleans and uint8 `low` is 0.

    Args:
        noncontiguous: leave gaps between the elements in memory.
        exclude_zero: replace 0 by the smallest positive number.

    Example:
        >>> import tinygrad_edu as T
        >>> T.testing.make_tensor((2, 3), dtype=T.float64, requires_grad=True).shape
        tinygrad_edu.Size([2, 3])
    """
    _check_device(device)
    kind = dtypes.to_numpy_dtype(dtype)
    lowest, highest = (
        (0, 2) if kind.kind == "b" else (0, 10) if kind.kind == "u" else (-9, 10 if kind.kind == "i" else 9)
    )
    low, high = lowest if low is None else low, highest if high is None else high
    size = shape_of(shape)
    if kind.kind == "f":
        array = source(None).uniform(size, kind, low, high)
    else:
        array = source(None).integers(int(low), int(high), size).astype(kind)
    if exclude_zero:
        array[array == 0] = np.finfo(kind).tiny if kind.kind == "f" else 1
    if noncontiguous and array.size > 1:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    return wrap(array).requires_grad_(requires_grad)
