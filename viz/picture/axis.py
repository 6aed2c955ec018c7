"""The numbers along an axis, and how they are written."""

from __future__ import annotations

import math


def short(number: float) -> str:
    """At most four decimals, without `-0`; very small and very large numbers as powers of ten, rounding noise as 0."""
    size = abs(number)
    if size < 1e-11:
        return "0"
    text = f"{number:.4f}".rstrip("0").rstrip(".") if 1e-4 <= size < 1e7 else f"{number:.2g}"
    return text.replace("-", "−")


def power(exponent: float) -> str:
    """A power of ten as a label."""
    return "1" if exponent == 0 else "10" + f"{exponent:.0f}".translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def ticks(low: float, high: float) -> list[float]:
    """Between four and nine round numbers from `low` to `high`."""
    rough = (high - low) / 6 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / width - 1e-9)
    return [round(i * width, 10) + 0.0 for i in range(first, math.floor(high / width + 1e-9) + 1)]
