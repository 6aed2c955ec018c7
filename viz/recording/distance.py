"""How far two recordings are apart. Only this file decides what counts as equal, and only it has tolerances."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from viz.recording.graph import Array, array_of
from viz.recording.recording import Recording

TOLERANCE = {"float16": 1e-2, "bfloat16": 2e-2, "float32": 1e-4, "float64": 1e-9, "complex64": 1e-4, "complex128": 1e-9}
SUMMARISED = 1e-3  # for an array stored as a summary, whose heat-map has three digits
AS_FAR = 16.0  # times the distance that PyTorch's own numbers moved, in the one run that shows it
DECIDING = ("shape", "dtype", "requires_grad", "is_leaf")  # besides a tensor's value and its gradient
DETAILS = ("retains_grad", "version", "grad_fn")  # internal state of an engine's tensors


def coarsest(*recordings: Recording) -> float:
    """The tolerance for the least precise floats of a program: a float64 made from float32 is no more precise."""
    kinds = {value.dtype for recording in recordings for value in recording.graph.values.values()}
    return max((TOLERANCE.get(kind, 0.0) for kind in kinds), default=0.0)


def distance(
    ours: Array, theirs: Array, rounded: float, shaken: Array | None = None
) -> tuple[float | None, float | None, bool]:
    """The largest difference (None for different shapes), the tolerance, and whether every number is within it.

    `rounded` is the tolerance for floats; integers and booleans must be equal. `shaken` is theirs where the program's
    data are moved by one unit in the last place: if that moves a number as far, it is rounding, such as a bias before a
    normalisation, whose gradient is a rounded 0, of which Adam makes a whole step.
    """
    if ours.shape != theirs.shape:
        return None, None, False
    tolerance = rounded if theirs.dtype in TOLERANCE else 0.0
    if ours.data is None or theirs.data is None:
        tolerance = max(tolerance, SUMMARISED)
    largest, same = 0.0, True
    for left, right in _pairs(ours, theirs):
        if left is None or right is None:
            same &= left is right
        elif not (left == right or (math.isnan(left) and math.isnan(right))):
            gap = abs(left - right)
            largest = max(largest, math.inf if math.isnan(gap) else gap)
            same &= gap <= tolerance * max(1.0, abs(left), abs(right))
    if not same and shaken is not None and largest <= (far := AS_FAR * (distance(theirs, shaken, rounded)[0] or 0.0)):
        return largest, far, True
    return largest, tolerance, same


def _pairs(one: Array, other: Array) -> Iterator[tuple[float | None, float | None]]:
    """The numbers of two arrays of one shape side by side, or what both summaries have; of a complex one its parts."""
    pairs: list[tuple[Any, Any]] = [(one.data, other.data)]
    if one.data is None or other.data is None:
        pairs = [(getattr(one, name), getattr(other, name)) for name in ("norm", "low", "high", "heat")]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, list) and isinstance(right, list):
            pairs.extend(zip(left, right, strict=True))
        elif isinstance(left, str) or isinstance(right, str):
            left, right = complex(left), complex(right)
            pairs += [(left.real, right.real), (left.imag, right.imag)]
        else:
            yield left, right


NEAR = 1e-6  # relative: between two runs of one engine, more is another number


def different(one: Array | None, other: Array | None) -> bool:
    """Whether two recorded arrays are not the same numbers."""
    if one is None or other is None:
        return one is not other
    if one.shape != other.shape:
        return True
    return one != other and any(
        left is not right
        if left is None or right is None
        else not math.isclose(left, right, rel_tol=NEAR) and not (math.isnan(left) and math.isnan(right))
        for left, right in _pairs(one, other)
    )


def apart(
    ours: dict[str, Any], theirs: dict[str, Any], rounded: float, shaken: dict[str, Any] | None = None
) -> list[str]:
    """The properties of a tensor that make two recordings differ: entries of `DECIDING`, `value`, `grad`."""
    decided_by = [name for name in DECIDING if ours[name] is not None and ours[name] != theirs[name]]
    numbers = ("value", "grad") if has_gradient_of(ours, theirs) else ("value",)
    moved = shaken or {}
    return decided_by + [name for name in numbers if not _close(ours[name], theirs[name], rounded, moved.get(name))]


def has_gradient_of(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether the gradients of a tensor are compared.

    An engine without dtypes is the reader's own: it may hold a gradient where PyTorch keeps none, and a 0 for a None.
    """
    if ours["dtype"] is not None:
        return True
    held = array_of(ours["grad"])
    return bool(theirs["grad_kept"]) and not (theirs["grad"] is None and held is not None and not held.norm)


def _close(
    ours: dict[str, Any] | None, theirs: dict[str, Any] | None, rounded: float, shaken: dict[str, Any] | None
) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return ours == theirs or distance(Array(**ours), Array(**theirs), rounded, array_of(shaken))[2]


def same_text(ours: str, theirs: str, rounded: float) -> bool:
    """Whether two programs printed the same: equal words, and numbers within the tolerance, but for `IGNORED`."""
    one, other = (_NUMBER.split(IGNORED.sub("", text)) for text in (ours, theirs))
    if one[::2] != other[::2] or len(one) != len(other):
        return False
    pairs = zip(map(float, one[1::2]), map(float, other[1::2]), strict=True)
    return all(abs(a - b) <= max(rounded, PRINTED) * max(1.0, abs(a), abs(b)) for a, b in pairs)


PRINTED = 2e-4  # for printed numbers: PyTorch prints four decimals
# An address, and the engine's own name with the path of what it owns: `torch.` of `torch.float32`.
IGNORED = re.compile(r" (?:object )?at 0x[0-9a-f]+|\b(?:tinygrad_edu|torch)\b(?:\.\w+(?=\.\w))*\.?")
_NUMBER = re.compile(r"([-+]?\d+\.?\d*(?:e[-+]?\d+)?)")
