"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array.tensor import Tensor
from ..ops import functions as F
from . import constraints
from .bernoulli import ByChance, clamp_probs

__all__ = ["Categorical"]


class Categorical(ByChance):
    """The classes 0, 1, …, with probabilities (or logits) along the last dimension.

    >>> T.distributions.Categorical(T.tensor([1.0, 3.0])).log_prob(T.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if probs is not None:
            probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        super().__init__(probs, logits, validate_args)
        self._batch_shape = self.batch_shape[:-1]

    @property
    def probs(self) -> Tensor:
        """The probabilities, normalized to sum to 1."""
        return self._kept("_probs", lambda: self._logits.softmax(-1))

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._kept("_logits", lambda: clamp_probs(self._probs).log())

    def _classes(self, sample_shape: Any) -> Tensor:
        flat = self.probs.detach().reshape(-1, self.probs.shape[-1])
        drawn = F["multinomial"](flat, math.prod(sample_shape), True)
        return drawn.T.reshape((*sample_shape, *self.batch_shape))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._classes(tuple(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability of each class in `value`."""
        logits, chosen = self.logits, value.long().unsqueeze(-1)
        sizes = np.broadcast_shapes(tuple(logits.shape[:-1]), tuple(value.shape))
        # As in PyTorch, only what is smaller is expanded.
        wide = logits if tuple(logits.shape[:-1]) == sizes else logits.expand((*sizes, logits.shape[-1]))
        return wide.gather(-1, chosen.expand((*sizes, 1))).squeeze(-1)

    def entropy(self) -> Tensor:
        """-Σ p·ln p"""
        least = float(np.finfo(self.logits.value.dtype).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)
