"""Distributions built from others: joined into one event, transformed, or mixed."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Size, Tensor
from ...autograd.grad_mode import no_grad
from ...ops import functions as F
from ...ops import nn_functions
from . import constraints
from .basic import Categorical
from .continuous import Exponential
from .distribution import Distribution, together
from .transforms import AffineTransform, ComposeTransform, ExpTransform, PowerTransform, Transform, summed

__all__ = ["Independent", "MixtureSameFamily", "Pareto", "TransformedDistribution", "Weibull"]


class Independent(Distribution):
    """Treats the last batch dimensions of a distribution as one event, so their log_probs are summed.

    >>> import tinygrad_edu as T
    >>> normal = T.distributions.Normal(T.zeros(3), T.ones(3))
    >>> T.distributions.Independent(normal, 1).log_prob(T.zeros(3)).shape
    tinygrad_edu.Size([])
    """

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        count = reinterpreted_batch_ndims
        shape = tuple(base_distribution.batch_shape)
        if count > len(shape):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {count} vs {len(shape)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        super().__init__(shape[: len(shape) - count])
        self._event_shape = Size((*shape[len(shape) - count :], *base_distribution.event_shape))
        self.has_rsample = base_distribution.has_rsample

    @property
    def support(self) -> Any:
        """The support of the base, for every element of an event."""
        inner = self.base_dist.support
        return (
            constraints.independent(inner, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else inner
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Independent:
        """The base expanded to another batch."""
        own = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *own))
        new = Independent(base, self.reinterpreted_batch_ndims)
        if _instance is None:
            return new
        _instance.__dict__.update(vars(new))  # what a subclass's own `expand` fills
        return _instance

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.base_dist._drawn((*shape, *self.base_dist.batch_shape[len(self.batch_shape) :]))

    @property
    def mode(self) -> Any:
        """The modes of the base."""
        return self.base_dist.mode

    @property
    def mean(self) -> Any:
        """The mean of the base."""
        return self.base_dist.mean

    @property
    def variance(self) -> Any:
        """The variance of the base."""
        return self.base_dist.variance

    def _added(self, value: Any) -> Any:
        n = self.reinterpreted_batch_ndims
        return value.sum(tuple(range(-n, 0))) if n else value

    def log_prob(self, value: Any) -> Any:
        """The sum of the base's log_probs."""
        return self._added(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        """The sum of the base's entropies."""
        return self._added(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of another distribution's draws after a chain of transforms.

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
        self._event_shape = Size(out[len(out) - event :])
        self.has_rsample = base.has_rsample

    @property
    def support(self) -> Any:
        """The codomain of the last transform."""
        return self.transforms[-1].codomain if self.transforms else self.base_dist.support

    def _through(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Transformed draws of the base, without gradients."""
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Transformed draws of the base, with gradients."""
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The base's log_prob at the inverse, minus the log of the change of volume."""
        event, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform._back(y)
            into, out = transform.event_dims
            event += into - out
            total = total - summed(transform.log_abs_det_jacobian(x, y), event - into)
            y = x
        return total + summed(self.base_dist.log_prob(y), event - len(self.base_dist.event_shape))

    def _turned(self, probability: Any) -> Any:
        """The probability, or that of the other side where the transforms together fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        """The probability that a draw is at most `value`."""
        for transform in reversed(self.transforms):
            value = transform._back(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return self._through(self.base_dist.icdf(self._turned(value)))


class Weibull(TransformedDistribution):
    """scale·x^(1/concentration), where x is exponentially distributed.

    >>> import tinygrad_edu as T
    >>> T.distributions.Weibull(T.tensor(2.0), T.tensor(1.0)).mean
    tensor(2.)
    """

    support: Any = constraints.positive

    _parameters = ("scale", "concentration")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = together(scale, concentration)
        super().__init__(
            Exponential(F["ones_like"](self.scale)),
            [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)],
        )

    def _moment(self, n: int) -> Any:
        return (1 + n / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Any:
        """scale·Γ(1 + 1/c)"""
        return self.scale * self._moment(1)

    @property
    def variance(self) -> Any:
        """scale²·(Γ(1 + 2/c) - Γ(1 + 1/c)²)"""
        return self.scale.pow(2) * (self._moment(2) - self._moment(1) ** 2)

    @property
    def mode(self) -> Any:
        """scale·((c - 1)/c)^(1/c)"""
        c = self.concentration
        return self.scale * ((c - 1) / c) ** c.reciprocal()

    def entropy(self) -> Any:
        """γ·(1 - 1/c) + ln(scale/c) + 1, with Euler's constant γ"""
        c = self.concentration
        return 0.57721566490153286060 * (1 - c.reciprocal()) + (self.scale / c).log() + 1


class Pareto(TransformedDistribution):
    """scale·e^x, where x is exponentially distributed with rate alpha.

    >>> import tinygrad_edu as T
    >>> T.distributions.Pareto(T.tensor(1.0), T.tensor(3.0)).mean
    tensor(1.5000)
    """

    _parameters = ("alpha", "scale")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = together(scale, alpha)
        super().__init__(Exponential(self.alpha), [ExpTransform(), AffineTransform(0, self.scale)])

    @property
    def mode(self) -> Any:
        """scale"""
        return self.scale

    @property
    def mean(self) -> Any:
        """α·scale/(α - 1); inf for α up to 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Any:
        """α·scale²/((α - 1)²·(α - 2)); inf for α up to 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Any:
        """ln(scale/α) + 1 + 1/α"""
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()

    @property
    def support(self) -> Any:
        """All numbers from `scale` on."""
        return constraints.greater_than_eq(self.scale)


class MixtureSameFamily(Distribution):
    """A mixture: a Categorical chooses one of several distributions of the same kind, along their last batch dimension.

    >>> import tinygrad_edu as T
    >>> D = T.distributions
    >>> choice = D.Categorical(T.tensor([1.0, 3.0]))
    >>> D.MixtureSameFamily(choice, D.Normal(T.tensor([0.0, 4.0]), 1.0)).mean
    tensor(3.)
    """

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        super().__init__(component_distribution.batch_shape[:-1])
        self._event_shape = component_distribution.event_shape

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"

    def _weighted(self, of_each: Any) -> Any:
        probs = self.mixture_distribution.probs
        return (probs.reshape((*probs.shape, *(1,) * len(self.event_shape))) * of_each).sum(-1 - len(self.event_shape))

    @property
    def mean(self) -> Any:
        """The mean of the components' means."""
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The mean of the components' variances, plus the variance of their means."""
        apart = self.component_distribution.mean - self.mean.unsqueeze(-1 - len(self.event_shape))
        return self._weighted(self.component_distribution.variance) + self._weighted(apart.pow(2.0))

    def log_prob(self, value: Any) -> Any:
        """ln Σ p·e^(log_prob of each component)"""
        each = self.component_distribution.log_prob(value.unsqueeze(-1 - len(self.event_shape)))
        return (each + nn_functions["log_softmax"](self.mixture_distribution.logits, -1)).logsumexp(-1)

    def cdf(self, value: Any) -> Any:
        """The weighted mean of the components' own."""
        return self._weighted(self.component_distribution.cdf(value.unsqueeze(-1 - len(self.event_shape))))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw from all components, then choose one."""
        with no_grad():
            chosen: Any = self.mixture_distribution.sample(sample_shape)
            each: Any = self.component_distribution.sample(sample_shape)
            dim = len(tuple(sample_shape)) + len(self.batch_shape)
            at = chosen.reshape((*chosen.shape, *(1,) * (len(self.event_shape) + 1)))
            return each.gather(dim, at.expand((*chosen.shape, 1, *self.event_shape))).squeeze(dim)
