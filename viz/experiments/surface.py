"""The loss over one or two parameter values, around the paths of training runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

COLUMNS, ROWS = 40, 28
MAP_SECONDS = 2.0  # a slow loss gets a coarser map
Point = list[float]


@dataclass
class Surface:
    """The loss over one or two parameter values: `heights[row][column]`, rows from high to low."""

    names: list[str]
    window: tuple[float, float, float, float]  # left, right, bottom, top
    heights: list[list[float]]


def surface(
    loss: Callable[[], float], arrays: Sequence[np.ndarray], names: list[str], paths: list[list[Point]]
) -> Surface | None:
    """Compute `loss` for other values in `arrays`, which hold one or two numbers in total and are restored afterwards.

    The window surrounds `paths`. Returns None if the loss raises for some of the values.
    """
    window = _window([point for path in paths for point in path])
    left, right, bottom, top = window
    kept = [array.copy() for array in arrays]
    began = time.perf_counter()

    def at(*point: float) -> float:
        numbers = iter(point)
        for array in arrays:
            for index in np.ndindex(array.shape):
                array[index] = next(numbers)
        return loss()

    try:
        at(*paths[0][0])
        if len(names) == 1:
            return Surface(names, window, [[at(float(x)) for x in np.linspace(left, right, 4 * COLUMNS + 1)]])
        cost = time.perf_counter() - began
        shrink = min(1.0, math.sqrt(MAP_SECONDS / (cost * COLUMNS * ROWS)))
        columns, rows = max(8, int(COLUMNS * shrink)), max(6, int(ROWS * shrink))
        across = [left + (column + 0.5) * (right - left) / columns for column in range(columns)]
        down = [top - (row + 0.5) * (top - bottom) / rows for row in range(rows)]
        return Surface(names, window, [[at(x, y) for x in across] for y in down])
    except Exception:
        return None
    finally:
        for array, before in zip(arrays, kept, strict=True):
            array[...] = before


def _window(points: list[Point]) -> tuple[float, float, float, float]:
    """A window around the points, without outliers (beyond four times the spread of the middle half)."""
    sides: list[float] = []
    for axis in range(2):
        numbers = sorted(point[axis] for point in points if len(point) > axis and math.isfinite(point[axis]))
        if not numbers:
            sides += [-1.0, 1.0]
            continue
        count = len(numbers)
        middle = numbers[count // 2]
        spread = numbers[(3 * count) // 4] - numbers[count // 4] or 1.0
        calm = [number for number in numbers if abs(number - middle) <= 4 * spread or number == points[0][axis]]
        room = 0.25 * (max(calm) - min(calm)) or 1.0
        sides += [min(calm) - room, max(calm) + room]
    return sides[0], sides[1], sides[2], sides[3]
