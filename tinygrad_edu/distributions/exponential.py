"""The exponential distribution."""

from __future__ import annotations

from typing import Any

from ..array.tensor import Tensor
from . import constraints
from .distribution import Distribution, broadcast_all

__all__ = ["Exponential"]


class Exponential(Distribution):
    """The waiting time for an event that happens `rate` times per unit of time.

    >>> T.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}  # noqa: RUF012

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Tensor:
        """ln rate - rate·value"""
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()
