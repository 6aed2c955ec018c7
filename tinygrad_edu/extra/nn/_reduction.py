"""x"""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """0 for "none", 1 for "mean", 2 for "sum"."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction. Use 'none', 'mean' or 'sum'.")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The `reduction` that the old settings ask for."""
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.", stacklevel=2
        )
    return name


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the `reduction` that the old settings ask for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
