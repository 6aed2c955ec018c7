"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ..array.tensor import Tensor, wrap
from ..ops.creation import random
from . import constraints
from .distribution import Distribution, broadcast_all

__all__ = ["Normal"]


class Normal(Distribution):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    >>> T.distributions.Normal(0.0, 1.0).log_prob(T.tensor(0.0))
    tensor(-0.9189)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        return self.scale**2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + ε·scale, where ε is drawn from the standard normal distribution."""
        shape = self._extended_shape(sample_shape)
        return self.loc + wrap(random.source(None).normal(shape, self.loc.value.dtype)) * self.scale

    def log_prob(self, value: Any) -> Tensor:
        """-(value - loc)²/(2·scale²) - ln scale - ½·ln 2π"""
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def cdf(self, value: Any) -> Tensor:
        """The probability that a draw is at most `value`."""
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())
