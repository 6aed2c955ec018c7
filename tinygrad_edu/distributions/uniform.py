"""The uniform distribution."""

from __future__ import annotations

from typing import Any

from ..array.tensor import Tensor, wrap
from ..ops.creation import random
from .distribution import Distribution, broadcast_all

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution over [low, high).

    >>> T.distributions.Uniform(0.0, 4.0).log_prob(T.tensor(1.0)).exp()
    tensor(0.2500)
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        if not (self.low < self.high).all():
            raise ValueError("Uniform is not defined when low>= high")
        super().__init__(self.low.shape)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """low + u·(high - low), where u is drawn evenly from [0, 1)."""
        shape = self._extended_shape(sample_shape)
        return self.low + wrap(random.source(None).uniform(shape, self.low.value.dtype)) * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        """-ln(high - low) inside the interval, -inf outside."""
        within = ((value >= self.low) & (value < self.high)).to(self.low.dtype)
        return within.log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
