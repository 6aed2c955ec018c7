"""Constraints on parameters and on the support of distributions (PyTorch: `torch.distributions.constraints`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import linalg_functions
from ...seam.later import later

__all__ = [
    "Constraint", "boolean", "dependent", "dependent_property", "greater_than", "greater_than_eq", "half_open_interval",
    "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial",
    "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer",
    "positive_semidefinite", "real", "real_vector", "simplex", "square", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region of values. `check(value)` is True for each event inside it.

    >>> import tinygrad_edu as T
    >>> even = T.distributions.constraints.Constraint("Even", lambda value: value % 2 == 0)
    >>> even.check(T.tensor([1, 2]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0

    def __init__(
        self, name: str = "", within: Callable[[Any], Any] | None = None, discrete: bool = False, dim: int = 0
    ) -> None:
        self.name, self.within, self.is_discrete, self.event_dim = name, within, discrete, dim

    def check(self, value: Any) -> Any:
        """True where `value` lies in the region."""
        if self.within is None:
            raise NotImplementedError("write check in a subclass of Constraint")
        return self.within(value)

    def __repr__(self) -> str:
        return f"{self.name or type(self).__name__}()" if "(" not in self.name else self.name


def _one(name: str, *about: Any, **more: Any) -> Any:
    """A region of a class of its own, by which a transform to it is found."""
    return type(f"_{name}", (Constraint,), {})(name, *about, **more)


real = _one("Real", lambda v: v == v)
boolean = _one("Boolean", lambda v: (v == 0) | (v == 1), discrete=True)


class _GreaterThan(Constraint):
    """Above a bound.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.greater_than(1).check(T.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__(f"GreaterThan(lower_bound={lower_bound})", lambda v: lower_bound < v)


greater_than = _GreaterThan


class _GreaterThanEq(Constraint):
    """At least a bound.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.greater_than_eq(1).check(T.tensor([1.0, 2.0]))
    tensor([True, True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__(f"GreaterThanEq(lower_bound={lower_bound})", lambda v: lower_bound <= v)


greater_than_eq = _GreaterThanEq


class _LessThan(Constraint):
    """Below a bound.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.less_than(1).check(T.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__(f"LessThan(upper_bound={upper_bound})", lambda v: v < upper_bound)


less_than = _LessThan


class _Interval(Constraint):
    """Between two bounds, both included.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.interval(0, 1).check(T.tensor([0.0, 2.0]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__(
            f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})",
            lambda v: (lower_bound <= v) & (v <= upper_bound),
        )


interval = _Interval


class _HalfOpenInterval(Constraint):
    """Between two bounds, with the lower one included.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.half_open_interval(0, 1).check(T.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__(
            f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
            lambda v: (lower_bound <= v) & (v < upper_bound),
        )


half_open_interval = _HalfOpenInterval


class _IntegerInterval(Constraint):
    """Integers between two bounds, both included.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.integer_interval(0, 2).check(T.tensor([1.0, 1.5]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__(
            f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
            lambda v: (v % 1 == 0) & (lower_bound <= v) & (v <= upper_bound),
            discrete=True,
        )


integer_interval = _IntegerInterval


class _IndependentConstraint(Constraint):
    """The same constraint for every element of the last dimensions.

    >>> import tinygrad_edu as T
    >>> c = T.distributions.constraints
    >>> c.independent(c.positive, 1).check(T.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        dims = tuple(range(-reinterpreted_batch_ndims, 0))
        super().__init__(
            f"IndependentConstraint({base_constraint!r}, {reinterpreted_batch_ndims})",
            lambda v: base_constraint.check(v).all(dims) if dims else base_constraint.check(v),
            base_constraint.is_discrete,
            base_constraint.event_dim + reinterpreted_batch_ndims,
        )


independent = _IndependentConstraint


def multinomial(upper_bound: Any) -> Constraint:
    """Counts along the last dimension whose sum is at most a bound.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.multinomial(3).check(T.tensor([1.0, 2.0]))
    tensor(True)
    """
    return Constraint("Multinomial", lambda v: (v >= 0).all(-1) & (v.sum(-1) <= upper_bound), discrete=True, dim=1)


real_vector = independent(real, 1)


class _Dependent(Constraint):
    """A region that depends on other parameters, so it cannot be checked without them.

    >>> import tinygrad_edu as T
    >>> T.distributions.constraints.dependent(is_discrete=True, event_dim=1).event_dim
    1
    """

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> _Dependent:
        return _Dependent("Dependent", None, is_discrete, event_dim)

    def check(self, value: Any) -> Any:
        """Refused."""
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):
    """A decorator like `property`, for a property whose value is a constraint.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.distributions import constraints
    >>> class Below(T.distributions.Distribution):
    ...     @constraints.dependent_property
    ...     def support(self):
    ...         return constraints.less_than(self.top)
    >>> constraints.is_dependent(Below.support)
    True
    """

    def __init__(self, fn: Any = None, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        property.__init__(self, fn)
        Constraint.__init__(self, "Dependent", None, is_discrete, event_dim)

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """True for a region that depends on other parameters.

    >>> import tinygrad_edu as T
    >>> c = T.distributions.constraints
    >>> c.is_dependent(c.dependent), c.is_dependent(c.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


def _is_square(v: Any) -> Any:
    rows = v.shape[-2:]
    return (v == v).all(-1).all(-1) if rows[0] == rows[1] else (v != v).all(-1).all(-1)


def _is_symmetric(v: Any) -> Any:
    return ((v - v.mT).abs() <= 1e-6 + 1e-5 * v.abs()).all(-1).all(-1) if v.shape[-1] == v.shape[-2] else _is_square(v)


def _by_eigenvalues(v: Any, within: Callable[[Any], Any]) -> Any:
    # A positive definite matrix has a Cholesky factor and positive eigenvalues.
    return _is_symmetric(v) & within(linalg_functions["eigvalsh"](v)).all(-1)


dependent = _Dependent("Dependent")
one_hot = _one("OneHot", lambda v: ((v == 0) | (v == 1)).all(-1) & (v.sum(-1) == 1), discrete=True, dim=1)
square = _one("Square", _is_square, dim=2)
symmetric = _one("Symmetric", _is_symmetric, dim=2)
lower_triangular = _one("LowerTriangular", lambda v: (v.tril() == v).all(-1).all(-1), dim=2)
lower_cholesky = _one(
    "LowerCholesky", lambda v: (v.tril() == v).all(-1).all(-1) & (v.diagonal(dim1=-2, dim2=-1) > 0).all(-1), dim=2
)
positive_definite = _one("PositiveDefinite", lambda v: _by_eigenvalues(v, lambda e: e > 0), dim=2)
positive_semidefinite = _one("PositiveSemidefinite", lambda v: _by_eigenvalues(v, lambda e: e >= 0), dim=2)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda v: (v % 1 == 0) & (v >= 0), discrete=True)
positive_integer = Constraint("IntegerGreaterThan(lower_bound=1)", lambda v: (v % 1 == 0) & (v >= 1), discrete=True)
simplex = _one("Simplex", lambda v: (v >= 0).all(-1) & ((v.sum(-1) - 1).abs() < 1e-6), dim=1)

__getattr__ = later(__name__, "Write it as a Constraint: its check says which values are in the region.")
