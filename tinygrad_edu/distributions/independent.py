"""Several distributions as one, over vectors."""

from __future__ import annotations

from typing import Any

from ..array.tensor import Size, Tensor
from .distribution import Distribution

__all__ = ["Independent"]


class Independent(Distribution):
    """Treats the last batch dimensions of a distribution as one event, so their log_probs are summed.

    >>> normal = T.distributions.Normal(T.zeros(3), T.ones(3))
    >>> T.distributions.Independent(normal, 1).log_prob(T.zeros(3)).shape
    tinygrad_edu.Size([])
    """

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        count, shape = reinterpreted_batch_ndims, tuple(base_distribution.batch_shape)
        if count > len(shape):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {count} vs "
                f"{len(shape)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        self.has_rsample = base_distribution.has_rsample
        event_shape = Size((*shape[len(shape) - count :], *base_distribution.event_shape))
        super().__init__(shape[: len(shape) - count], event_shape)

    def expand(self, batch_shape: Any) -> Independent:
        """The base expanded to another batch."""
        own = self.event_shape[: self.reinterpreted_batch_ndims]
        return Independent(self.base_dist.expand((*batch_shape, *own)), self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def summed(self, value: Tensor) -> Tensor:
        """`value` of the base, summed over the dimensions of one event."""
        count = self.reinterpreted_batch_ndims
        return value.sum(tuple(range(-count, 0))) if count else value

    def log_prob(self, value: Any) -> Tensor:
        """The sum of the base's log_probs."""
        return self.summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self.summed(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
