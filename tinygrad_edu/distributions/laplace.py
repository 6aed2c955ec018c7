"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..ops.creation import random
from .distribution import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """e^(-|x - loc|/scale) / (2·scale).

    >>> T.distributions.Laplace(0.0, 1.0).log_prob(T.tensor(0.0)).exp()
    tensor(0.5000)
    """

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc - scale·sign(u)·ln(1 - |u|), where u is drawn evenly from (-1, 1)."""
        kind = self.loc.value.dtype
        shape = self._extended_shape(sample_shape)
        u = wrap(random.source(None).uniform(shape, kind, float(np.finfo(kind).eps) - 1, 1))
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Tensor:
        """-ln(2·scale) - |value - loc|/scale"""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
