"""Copies an array as plain data: a small one completely, a large one as far as a picture can show it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from viz.recording.graph import MAP_SIDE, SUMMARY_PAST, Array

FEW = 32  # numbers that Python adds up faster than NumPy is called
_most = SUMMARY_PAST  # elements that are copied completely


@contextmanager
def keeping(most: int) -> Iterator[None]:
    """A context in which arrays of up to `most` elements are copied completely."""
    global _most
    before, _most = _most, most
    try:
        yield
    finally:
        _most = before


def summarise(numbers: np.ndarray, dtype: str) -> Array:
    """An array as plain data: whole up to 64 elements (see `keeping`), else shape, norm, extremes, small heat-map."""
    array = Array(list(numbers.shape), dtype)
    if numbers.size <= _most:
        array.data = (_texts(numbers) if numbers.dtype.kind == "c" else numbers).tolist()
    if numbers.dtype.kind == "c":
        numbers = np.abs(numbers)  # what a summary tells of complex numbers
    if numbers.dtype.kind in "fiub" and numbers.size == 1:
        only = float(numbers.item())
        array.norm, array.low, array.high = abs(only), only, only
    elif numbers.dtype.kind in "fiub" and numbers.size <= FEW and array.data is not None:  # calling NumPy takes longer
        few = [float(number) for number in numbers.ravel().tolist()]
        array.norm, array.low, array.high = math.sqrt(sum(number * number for number in few)), *_ends(few)
    elif numbers.dtype.kind in "fiub" and numbers.size:
        with np.errstate(all="ignore"):  # uninitialised memory may hold anything
            wide = numbers.astype(np.float64)
            array.norm = math.sqrt(np.dot(wide.ravel(), wide.ravel()))
            array.low, array.high = float(numbers.min()), float(numbers.max())
            if numbers.size > _most:
                array.heat = _heat_map(wide)
    return array


def measured(numbers: np.ndarray, dtype: str) -> Array:
    """Of an array only its shape and its norm: enough for a colour, and quick for millions of numbers."""
    array = Array(list(numbers.shape), dtype)
    if numbers.dtype.kind in "fc" and numbers.size:
        with np.errstate(all="ignore"):
            array.norm = float(
                np.linalg.norm(numbers.ravel().astype(np.promote_types(numbers.dtype, np.float32), copy=False))
            )
    return array


def _ends(numbers: list[float]) -> tuple[float, float]:
    """The least and the largest; nan if one is, as in NumPy."""
    if any(map(math.isnan, numbers)):
        return math.nan, math.nan
    return min(numbers, default=0.0), max(numbers, default=0.0)


def _texts(numbers: np.ndarray) -> np.ndarray:
    """Complex numbers as plain data: as texts, such as `1+2j`."""
    texts = [repr(complex(value)).strip("()") for value in numbers.reshape(-1)]
    return np.array(texts, dtype=object).reshape(numbers.shape)


def _heat_map(numbers: np.ndarray) -> list[list[float]]:
    if numbers.ndim < 2:
        side = math.isqrt(numbers.size)
        numbers = np.resize(numbers, (side, -(-numbers.size // side)))
    rows = numbers.reshape(-1, numbers.shape[-1])
    for axis in (0, 1):
        starts, counts = _cuts(rows.shape[axis])
        rows = np.add.reduceat(rows, starts, axis=axis) / (counts[:, None] if axis == 0 else counts)
    # Four digits of the largest cell: what a colour can tell.
    most = float(np.abs(rows).max(where=np.isfinite(rows), initial=0.0))
    digits = min(3 - math.floor(math.log10(most)), 300) if most else 0
    return rows.round(digits).tolist()


@functools.cache
def _cuts(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the cells of a heat-map begin along an axis, and how many numbers each holds."""
    cuts = np.linspace(0, length, min(MAP_SIDE, length) + 1).astype(int)
    return cuts[:-1], np.diff(cuts)
