"""The Bernoulli distribution, and what it shares with the categorical one: probabilities or logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array.tensor import Tensor
from ..autograd.grad_mode import enable_grad
from ..nn import functional
from ..ops import functions as F
from ..ops.creation.factories import as_tensor
from . import constraints
from .distribution import Distribution

__all__ = ["Bernoulli", "ByChance", "clamp_probs"]


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities away from 0 and 1, so that their logarithms are finite."""
    eps = float(np.finfo(probs.value.dtype).eps)
    return probs.clamp(min=eps, max=1 - eps)


class ByChance(Distribution):
    """The base of distributions given by `probs` or `logits`. The other form is computed on first use, in the graph."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._probs: Any
        self._logits: Any
        self._probs, self._logits = (
            p if p is None or isinstance(p, Tensor) else as_tensor(float(p)) for p in (probs, logits)
        )
        super().__init__(self.param_shape, validate_args=validate_args)

    @property
    def param_shape(self) -> Any:
        return (self._logits if self._probs is None else self._probs).shape

    def _kept(self, name: str, compute: Callable[[], Tensor]) -> Tensor:
        if self.__dict__[name] is None:
            with enable_grad():  # also where it is first needed for a draw
                self.__dict__[name] = compute()
        return self.__dict__[name]

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self._kept("_probs", lambda: self._logits.sigmoid())

    @property
    def logits(self) -> Tensor:
        """ln p - ln(1 - p)"""
        return self._kept("_logits", lambda: (p := clamp_probs(self._probs)).log() - (-p).log1p())


class Bernoulli(ByChance):
    """1 with probability `probs`, else 0.

    >>> T.distributions.Bernoulli(T.tensor(0.25)).log_prob(T.tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return F["bernoulli"](self.probs.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        """ln p for 1, ln(1 - p) for 0."""
        logits, value = F["broadcast_tensors"](self.logits, value)
        return -functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
