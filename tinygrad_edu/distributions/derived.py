"""Distributions made of others: transformed, mixed, relaxed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import random
from ..autograd.grad_mode import no_grad
from ..ops import functions as F
from ..ops import nn_functions
from ..tensor import Size, Tensor, wrap
from . import Bernoulli, Categorical, Distribution, _together, constraints, draws
from .families import Exponential, Half, Independent, OneHotCategorical
from .transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    Transform,
    summed,
)

__all__ = [
    "Cauchy", "HalfCauchy", "MixtureSameFamily", "NegativeBinomial", "OneHotCategoricalStraightThrough", "Pareto",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "TransformedDistribution", "Weibull",
]  # fmt: skip


class TransformedDistribution(Distribution):
    """What comes of the draws of a distribution by transforms, one after the other.

    Example:
        >>> import tinygrad_edu as T
        >>> D = T.distributions
        >>> squashed = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.transforms.TanhTransform()])
        >>> squashed.log_prob(T.tensor(0.0))
        tensor(-0.9189)
    """

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        chain, base = ComposeTransform(self.transforms), base_distribution
        shape = (*base.batch_shape, *base.event_shape)
        before, after = chain.event_dims
        if len(shape) < before:
            raise ValueError(f"base_distribution needs to have shape with size at least {before}, but got {shape}.")
        if len(base.event_shape) < before:
            base = Independent(base, before - len(base.event_shape))
        self.base_dist = base
        out = tuple(chain.forward_shape(shape))
        event = after + max(len(base.event_shape) - before, 0)
        super().__init__(out[: len(out) - event])
        self.event_shape = Size(out[len(out) - event :])
        self.has_rsample = base.has_rsample

    @property
    def support(self) -> Any:
        """What the last transform leads to."""
        return self.transforms[-1].codomain if self.transforms else self.base_dist.support

    def _through(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of the base, transformed, outside the graph."""
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of the base, transformed, in the graph."""
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """That of the base where it came from, less the change of volume."""
        event, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform._back(y)
            into, out = transform.event_dims
            event += into - out
            total = total - summed(transform.log_abs_det_jacobian(x, y), event - into)
            y = x
        return total + summed(self.base_dist.log_prob(y), event - len(self.base_dist.event_shape))

    def cdf(self, value: Any) -> Any:
        """How likely a draw is below `value`: transforms that rise are taken for granted."""
        for transform in reversed(self.transforms):
            value = transform._back(value)
        return self.base_dist.cdf(value)


class Cauchy(Distribution):
    """The ratio of two normal numbers: it has no mean."""

    support: Any = constraints.real

    has_rsample = True
    _parameters = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _together(loc, scale)
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Any:
        """nan: there is none."""
        return math.nan * self.loc

    variance = mean
    mode = property(lambda self: self.loc)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.loc + wrap(np.zeros(shape, self.loc._data.dtype)).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        """-ln π - ln scale - ln(1 + y²)"""
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        """atan(y)/π + ½"""
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def entropy(self) -> Any:
        """ln 4π + ln scale"""
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(Half):
    """How far a Cauchy number is from 0."""

    support: Any = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._base = Cauchy(0, scale)
        self.scale = self._base.scale
        super().__init__(self.scale.shape)


class Weibull(TransformedDistribution):
    """scale·x^(1/concentration), of an exponential wait x."""

    support: Any = constraints.positive

    _parameters = ("scale", "concentration")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = _together(scale, concentration)
        super().__init__(
            Exponential(F["ones_like"](self.scale)),
            [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)],
        )


class Pareto(TransformedDistribution):
    """scale·e^x, of an exponential wait x of rate alpha."""

    _parameters = ("alpha", "scale")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = _together(scale, alpha)
        super().__init__(Exponential(self.alpha), [ExpTransform(), AffineTransform(0, self.scale)])

    @property
    def support(self) -> Any:
        """From `scale` on."""
        return constraints.greater_than_eq(self.scale)


def _bounded(probs: Any) -> Any:
    eps = float(np.finfo(probs._data.dtype).eps)
    return probs.clamp(eps, 1 - eps)


def _even(like: Any, shape: Any) -> Any:
    return _bounded(wrap(random.source(None).uniform(tuple(shape), like._data.dtype)))


class _RelaxedLogit(Distribution):
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any, logits: Any) -> None:
        self.temperature, self.each = temperature, Bernoulli(probs, logits)
        super().__init__(self.each.batch_shape)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        probs = _bounded(self.each.probs.expand(shape))
        u = _even(probs, shape)
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        logits, value = F["broadcast_tensors"](self.each.logits, value)
        apart = logits - value * self.temperature
        return self.temperature.log() + apart - 2 * apart.exp().log1p()


class _Relaxed(TransformedDistribution):
    """What comes near to a choice as the temperature falls: numbers that gradients pass, of `_logits`, moved by `_moves`."""

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
    """Numbers in (0, 1) that come near to 0 or 1 as the temperature falls; gradients pass them."""

    support: Any = constraints.unit_interval

    _logits, _moves = _RelaxedLogit, SigmoidTransform


class _RelaxedClasses(Distribution):
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any, logits: Any) -> None:
        self.temperature, self.each = temperature, Categorical(probs, logits)
        super().__init__(self.each.batch_shape)
        self.event_shape = Size(self.each.logits.shape[-1:])

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
    """Shares that come near to one class as the temperature falls (Gumbel-softmax); gradients pass them."""

    support: Any = constraints.simplex

    _logits, _moves = _RelaxedClasses, ExpTransform


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """As OneHotCategorical, with the gradient of the probabilities in the place of the draw's."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A draw that the probabilities' gradient passes."""
        drawn: Any = self.sample(sample_shape)
        return drawn + (self.probs - self.probs.detach())


class NegativeBinomial(Distribution):
    """How many successes come before `total_count` failures."""

    support: Any = constraints.nonnegative_integer

    _parameters = ("total_count", "_probs", "_logits")

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._each = Bernoulli(probs, logits)
        self.total_count, _ = _together(total_count, self._each.probs)
        super().__init__(self._each.batch_shape)

    @property
    def probs(self) -> Any:
        """The probability of a success."""
        return self._each.probs

    @property
    def logits(self) -> Any:
        """ln p - ln(1 - p)"""
        return self._each.logits

    @property
    def mean(self) -> Any:
        """n·e^logit"""
        return self.total_count * self.logits.exp()

    @property
    def variance(self) -> Any:
        """The mean over 1 - p"""
        return self.mean / (-self.logits).sigmoid()

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        rate = draws.gamma_draws(self.total_count._data, shape) / (-self.logits).exp()
        return draws.poisson_draws(rate._data, shape)

    def log_prob(self, value: Any) -> Any:
        """n·ln(1 - p) + x·ln p + ln Γ(n + x) - ln x! - ln Γ(n)"""
        n, logsigmoid = self.total_count, nn_functions["logsigmoid"]
        plain = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return plain - ways.masked_fill(n + value == 0.0, 0.0)


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind, chosen by a Categorical along the last dimension of their batch."""

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        super().__init__(component_distribution.batch_shape[:-1])
        self.event_shape = component_distribution.event_shape

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"

    def _weighted(self, of_each: Any) -> Any:
        probs = self.mixture_distribution.probs
        return (probs.reshape((*probs.shape, *(1,) * len(self.event_shape))) * of_each).sum(-1 - len(self.event_shape))

    @property
    def mean(self) -> Any:
        """The mean of the means."""
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The mean of the variances, and the variance of the means."""
        apart = self.component_distribution.mean - self.mean.unsqueeze(-1 - len(self.event_shape))
        return self._weighted(self.component_distribution.variance) + self._weighted(apart.pow(2.0))

    def log_prob(self, value: Any) -> Any:
        """ln Σ p·e^(log_prob of each)"""
        each = self.component_distribution.log_prob(value.unsqueeze(-1 - len(self.event_shape)))
        return (each + nn_functions["log_softmax"](self.mixture_distribution.logits, -1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of all components, and of each the chosen one."""
        with no_grad():
            chosen: Any = self.mixture_distribution.sample(sample_shape)
            each: Any = self.component_distribution.sample(sample_shape)
            dim = len(tuple(sample_shape)) + len(self.batch_shape)
            at = chosen.reshape((*chosen.shape, *(1,) * (len(self.event_shape) + 1)))
            return each.gather(dim, at.expand((*chosen.shape, 1, *self.event_shape))).squeeze(dim)
