"""Differentiable approximations of discrete choices. A lower temperature makes them more discrete."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Size
from ...ops import functions as F
from . import constraints
from .basic import Bernoulli, Categorical
from .combined import TransformedDistribution
from .distribution import Distribution, even
from .transforms import ExpTransform, SigmoidTransform
from .utils import clamp_probs

__all__ = ["RelaxedBernoulli", "RelaxedOneHotCategorical"]


def _even(like: Any, shape: Any) -> Any:
    return clamp_probs(even(shape, like._data.dtype))


class _RelaxedLogit(Distribution):
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any, logits: Any) -> None:
        self.temperature, self.each = temperature, Bernoulli(probs, logits)
        super().__init__(self.each.batch_shape)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        probs = clamp_probs(self.each.probs.expand(shape))
        u = _even(probs, shape)
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        logits, value = F["broadcast_tensors"](self.each.logits, value)
        apart = logits - value * self.temperature
        return self.temperature.log() + apart - 2 * apart.exp().log1p()


class _Relaxed(TransformedDistribution):
    """A relaxed choice: noise added to `_logits` at a temperature, then mapped by `_moves`."""

    _logits: type[Distribution]
    _moves: type[Any]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._logits(temperature, probs, logits), self._moves())
        self.temperature = temperature

    @property
    def probs(self) -> Any:
        """The probability of 1, or of each class."""
        return self.base_dist.each.probs

    @property
    def logits(self) -> Any:
        """ln p - ln(1 - p), or ln p of each class."""
        return self.base_dist.each.logits


class RelaxedBernoulli(_Relaxed):
    """Numbers in (0, 1) that approach 0 or 1 as the temperature falls. Draws have gradients.

    >>> import tinygrad_edu as T
    >>> p = T.tensor(0.5, requires_grad=True)
    >>> T.distributions.RelaxedBernoulli(T.tensor(0.1), p).rsample().requires_grad
    True
    """

    support: Any = constraints.unit_interval

    _logits, _moves = _RelaxedLogit, SigmoidTransform


class _RelaxedClasses(Distribution):
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any, logits: Any) -> None:
        self.temperature, self.each = temperature, Categorical(probs, logits)
        super().__init__(self.each.batch_shape)
        self._event_shape = Size(self.each.logits.shape[-1:])

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        logits = self.each.logits
        gumbels = -(-_even(logits, (*shape, *self.event_shape)).log()).log()
        scores = (logits + gumbels) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        K = self.event_shape[0]
        logits, value = F["broadcast_tensors"](self.each.logits, value)
        scale = F["full_like"](self.temperature, float(K)).lgamma() + self.temperature.log() * (K - 1)
        score = logits - value * self.temperature
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """Fractions that approach a one-hot class as the temperature falls (Gumbel-softmax). Draws have gradients.

    >>> import tinygrad_edu as T
    >>> d = T.distributions.RelaxedOneHotCategorical(T.tensor(0.5), T.tensor([0.2, 0.8]))
    >>> T.allclose(d.sample().sum(), T.tensor(1.0))
    True
    """

    support: Any = constraints.simplex

    _logits, _moves = _RelaxedClasses, ExpTransform
