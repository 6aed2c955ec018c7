"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array.tensor import Size, Tensor, wrap
from .categorical import Categorical

__all__ = ["OneHotCategorical"]


class OneHotCategorical(Categorical):
    """As Categorical, but draws are one-hot vectors.

    >>> T.distributions.OneHotCategorical(T.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        self._event_shape = Size(self.param_shape[-1:])

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        """The most likely vector."""
        return wrap(np.eye(self.event_shape[0], dtype=self.probs.value.dtype)[super().mode._data])

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """One-hot vectors, drawn without a gradient."""
        rows = np.eye(self.event_shape[0], dtype=self.probs.value.dtype)
        return wrap(rows[self._classes(tuple(sample_shape))._data])

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability of each vector."""
        return super().log_prob(value.max(-1)[1])
