"""What the values of a parameter, or the draws of a distribution, must be like (PyTorch: `torch.distributions.constraints`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "Constraint", "boolean", "greater_than", "greater_than_eq", "half_open_interval", "integer_interval", "interval", "less_than",
    "nonnegative", "nonnegative_integer", "positive", "positive_integer", "real", "real_vector", "simplex", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region of values; `check(value)` is True at each event that lies in it."""

    is_discrete = False
    event_dim = 0

    def __init__(
        self, name: str = "", within: Callable[[Any], Any] | None = None, discrete: bool = False, dim: int = 0
    ) -> None:
        self.name, self.within, self.is_discrete, self.event_dim = name, within, discrete, dim

    def check(self, value: Any) -> Any:
        """True where `value` is in the region."""
        if self.within is None:
            raise NotImplementedError("write check in a subclass of Constraint")
        return self.within(value)

    def __repr__(self) -> str:
        return f"{self.name or type(self).__name__}()" if "(" not in self.name else self.name


real = Constraint("Real", lambda v: v == v)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda v: (v == v).all(-1), dim=1)
boolean = Constraint("Boolean", lambda v: (v == 0) | (v == 1), discrete=True)


def greater_than(lower_bound: Any) -> Constraint:
    """Above a bound."""
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda v: lower_bound < v)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """A bound, or above."""
    return Constraint(f"GreaterThanEq(lower_bound={lower_bound})", lambda v: lower_bound <= v)


def less_than(upper_bound: Any) -> Constraint:
    """Below a bound."""
    return Constraint(f"LessThan(upper_bound={upper_bound})", lambda v: v < upper_bound)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From one bound to the other, both included."""
    return Constraint(
        f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})",
        lambda v: (lower_bound <= v) & (v <= upper_bound),
    )


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From one bound to below the other."""
    return Constraint(
        f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
        lambda v: (lower_bound <= v) & (v < upper_bound),
    )


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers from one bound to the other, both included."""
    return Constraint(
        f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
        lambda v: (v % 1 == 0) & (lower_bound <= v) & (v <= upper_bound),
        discrete=True,
    )


positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda v: (v % 1 == 0) & (v >= 0), discrete=True)
positive_integer = Constraint("IntegerGreaterThan(lower_bound=1)", lambda v: (v % 1 == 0) & (v >= 1), discrete=True)
simplex = Constraint("Simplex", lambda v: (v >= 0).all(-1) & ((v.sum(-1) - 1).abs() < 1e-6), dim=1)
