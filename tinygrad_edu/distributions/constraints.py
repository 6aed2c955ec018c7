"""Constraints on the parameters of distributions (PyTorch: `torch.distributions.constraints`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Constraint", "boolean", "positive", "real", "real_vector", "simplex", "unit_interval"]


class Constraint:
    """A region of values. `check(value)` is True for each value inside it."""

    def __init__(self, name: str, check: Callable[[Any], Any]) -> None:
        self.name, self.check = name, check

    def __repr__(self) -> str:
        return self.name


real = Constraint("Real()", lambda value: value == value)  # not nan
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda value: (value == value).all(-1))
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda value: value > 0)
unit_interval = Constraint("Interval(lower_bound=0.0, upper_bound=1.0)", lambda value: (value >= 0) & (value <= 1))
boolean = Constraint("Boolean()", lambda value: (value == 0) | (value == 1))
simplex = Constraint("Simplex()", lambda value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6))
