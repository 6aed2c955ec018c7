"""Transforms from all numbers to where a constraint is met (PyTorch: `torch.distributions.constraint_registry`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints
from . import transforms as t

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Finds the transform for a constraint; `register` adds one for a class of constraints.

    >>> from tinygrad_edu.distributions import Normal, transform_to
    >>> transform_to(Normal.arg_constraints["scale"])
    ComposeTransform(
        ExpTransform(),
        AffineTransform()
    )
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Use `factory(constraint)` for constraints of this class, or of the class of this one; also a decorator.

        Raises:
            TypeError: what is given is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints. Use register to say how, or a constraint such as positive."
            )
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return t.SigmoidTransform()
    return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(low, high - low)])


def _of_each(to: ConstraintRegistry) -> Callable[[Any], Any]:
    return lambda c: t.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda c: t.identity_transform)
    _registry.register(constraints.independent, _of_each(_registry))
    for _above in (constraints.greater_than, constraints.greater_than_eq):
        _registry.register(
            _above, lambda c: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(c.lower_bound, 1)])
        )
    _registry.register(
        constraints.less_than, lambda c: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(c.upper_bound, -1)])
    )
    for _within in (constraints.interval, constraints.half_open_interval):
        _registry.register(_within, _between)
biject_to.register(constraints.simplex, lambda c: t.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: t.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: t.LowerCholeskyTransform())
for _definite in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_definite, lambda c: t.PositiveDefiniteTransform())
