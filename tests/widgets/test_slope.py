"""The slider on a tangent: at each position its numbers are those of calculus."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import tinygrad_edu as T
from viz.widgets.slope import slope

CURVES: list[tuple[Callable[[Any], Any], Callable[[float], float], Callable[[float], float]]] = [
    (lambda x: x**2, lambda x: x**2, lambda x: 2 * x),
    (lambda x: x**3 - 3 * x, lambda x: x**3 - 3 * x, lambda x: 3 * x**2 - 3),
    (lambda x: T.sin(x) if isinstance(x, T.Tensor) else math.sin(x), math.sin, math.cos),
]


@pytest.mark.parametrize(("f", "value", "derivative"), CURVES, ids=["square", "cubic", "sine"])
def test_each_position_has_the_value_and_the_derivative(f, value, derivative) -> None:
    for at in slope(f, "f").table["at"]:
        assert at["y"] == pytest.approx(value(at["x"]), abs=1e-6)
        assert at["slope"] == pytest.approx(derivative(at["x"]), abs=1e-6)


def test_the_chord_is_the_central_difference() -> None:
    table = slope(lambda x: x**3, "x³", x=1.0, chords=True).table
    chord = table["at"][40]["chords"][table["steps"].index("0.5")]
    assert table["at"][40]["x"] == 1.0
    assert chord["before"] == (0.5, 0.125)
    assert chord["after"] == (1.5, 3.375)
    assert chord["slope"] == 3.25
    assert chord["sentence"] == "Slope of the chord: (3.375 − 0.125) / 1 = 3.25, off by 0.25."


def test_the_curve_fits_its_window_the_ticks_are_round_and_it_starts_at_the_position_nearest_to_x() -> None:
    curve = slope(lambda x: x**2, "x²", x=1.02, low=-3, high=3)
    assert curve.table["at"][curve.index]["x"] == 1.0
    left, right, bottom, top = curve.table["window"]
    assert all(left <= x <= right and bottom <= y <= top for x, y in curve.table["curve"])
    assert curve.table["ticks"] == {"x": [-3, -2, -1, 0, 1, 2, 3], "y": [0, 2, 4, 6, 8]}
    _, _, bottom, top = slope(lambda x: 0 * x + 2.0, "2").table["window"]
    assert bottom < 2 < top, "a flat line has a window too"


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (float("nan"), 1)])
def test_an_empty_interval_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="low must be below high"):
        slope(lambda x: x**2, "x²", low=low, high=high)
