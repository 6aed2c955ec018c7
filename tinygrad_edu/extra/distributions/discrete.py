"""More discrete distributions. Docstrings of `log_prob` are formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Size, Tensor, wrap
from ...ops import functions as F
from ...ops import nn_functions
from ...ops.creation.factories import as_tensor
from . import constraints, draws
from .basic import Bernoulli, ByChance, Categorical
from .distribution import Distribution, even, positive, together

__all__ = [
    "Binomial",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
]


class Poisson(Distribution):
    """The number of events, where `rate` happen on average.

    >>> import tinygrad_edu as T
    >>> T.distributions.Poisson(T.tensor(2.0)).log_prob(T.tensor(0.0)).exp()  # e^-2
    tensor(0.1353)
    """

    support: Any = constraints.nonnegative_integer

    _parameters = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Any:
        """rate"""
        return self.rate

    variance = mean

    @property
    def mode(self) -> Any:
        """⌊rate⌋"""
        return self.rate.floor()

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return draws.poisson_draws(self.rate._data, shape)

    def log_prob(self, value: Any) -> Any:
        """x·ln rate - rate - ln x!"""
        rate, value = F["broadcast_tensors"](self.rate, value)
        return F["xlogy"](value, rate) - rate - (value + 1).lgamma()


class Geometric(ByChance):
    """The number of failures before the first success; each trial succeeds with probability `probs`.

    >>> import tinygrad_edu as T
    >>> T.distributions.Geometric(T.tensor(0.5)).log_prob(T.tensor(2.0)).exp()
    tensor(0.1250)
    """

    has_enumerate_support = False
    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support: Any = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and logits is None:
            positive("Geometric", probs=self.probs)

    @property
    def mode(self) -> Any:
        """0"""
        return F["zeros_like"](self.probs)

    @property
    def mean(self) -> Any:
        """1/p - 1"""
        return 1.0 / self.probs - 1.0

    @property
    def variance(self) -> Any:
        """(1/p - 1)/p"""
        return (1.0 / self.probs - 1.0) / self.probs

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return (even(shape, self.probs._data.dtype).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """x·ln(1 - p) + ln p"""
        value, probs = F["broadcast_tensors"](value, self.probs)
        return value * (-probs).log1p() + probs.log()

    def entropy(self) -> Any:
        """The entropy of one trial, divided by p."""
        return Bernoulli(probs=self.probs).entropy() / self.probs


class _Repeated(Distribution):
    """`total_count` trials of `_each`, a Bernoulli or a Categorical."""

    total_count: Any

    @property
    def probs(self) -> Any:
        """The probability of a success, or of each class."""
        return self._each.probs

    @property
    def logits(self) -> Any:
        """ln p - ln(1 - p), or ln p of each class."""
        return self._each.logits

    @property
    def mean(self) -> Any:
        """n·p"""
        return self.total_count * self.probs

    @property
    def variance(self) -> Any:
        """n·p·(1 - p)"""
        return self.total_count * self.probs * (1 - self.probs)


class Binomial(_Repeated):
    """The number of successes in `total_count` trials.

    >>> import tinygrad_edu as T
    >>> T.distributions.Binomial(2, T.tensor(0.5)).log_prob(T.tensor(1.0)).exp()
    tensor(0.5000)
    """

    _parameters = ("total_count", "_probs", "_logits")

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._each = Bernoulli(probs, logits)
        self.total_count = as_tensor(total_count).to(self._each.probs.dtype).expand_as(self._each.probs)
        super().__init__(self._each.probs.shape)

    @property
    def support(self) -> Any:
        """The integers from 0 to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mode(self) -> Any:
        """⌊(n + 1)·p⌋, at most n"""
        return F["minimum"](((self.total_count + 1) * self.probs).floor(), self.total_count)

    def _same_count(self, what: str) -> int:
        count = int(self.total_count.max())
        if int(self.total_count.min()) != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return count

    def entropy(self) -> Any:
        """-Σ p·ln p over the support"""
        self._same_count("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 to `total_count`."""
        return self._values(1 + self._same_count("enumerate_support"), self.probs.dtype, expand)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return draws.binomial_draws(self.total_count._data, self.probs._data, shape)

    def log_prob(self, value: Any) -> Any:
        """ln (n over x) + x·logit - n·ln(1 + e^logit)"""
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * logits - n * F["relu"](logits) - n * (-logits.abs()).exp().log1p()


class NegativeBinomial(_Repeated):
    """The number of successes before `total_count` failures.

    >>> import tinygrad_edu as T
    >>> T.distributions.NegativeBinomial(2.0, T.tensor(0.5)).mean
    tensor(2.)
    """

    support: Any = constraints.nonnegative_integer

    _parameters = ("total_count", "_probs", "_logits")

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._each = Bernoulli(probs, logits)
        self.total_count, _ = together(total_count, self._each.probs)
        super().__init__(self._each.batch_shape)

    @property
    def mode(self) -> Any:
        """⌊(n - 1)·e^logit⌋, at least 0"""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def mean(self) -> Any:
        """n·e^logit"""
        return self.total_count * self.logits.exp()

    @property
    def variance(self) -> Any:
        """The mean divided by 1 - p."""
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


class Multinomial(_Repeated):
    """How often each class occurs in `total_count` draws.

    >>> import tinygrad_edu as T
    >>> T.distributions.Multinomial(4, T.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._each = total_count, Categorical(probs, logits)
        super().__init__(self._each.batch_shape)
        self._event_shape = Size(self._each.probs.shape[-1:])

    @property
    def support(self) -> Any:
        """Counts that sum to `total_count`."""
        return constraints.multinomial(self.total_count)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        drawn = self._each._drawn((self.total_count, *shape))
        classes = np.arange(self.event_shape[0])
        return wrap((drawn._data[..., None] == classes).sum(0).astype(self.probs._data.dtype))

    def entropy(self) -> Any:
        """n·H - ln n! + Σ of the mean of ln xᵢ!, where each xᵢ is a Binomial"""
        n = self.total_count
        counts = Binomial(n, self.probs)
        support = counts.enumerate_support(False)[1:]
        rest = (counts.log_prob(support).exp() * (support + 1).lgamma()).sum((0, -1))
        return n * self._each.entropy() - math.lgamma(n + 1) + rest

    def log_prob(self, value: Any) -> Any:
        """ln n! - Σ ln xᵢ! + Σ xᵢ·ln pᵢ"""
        logits, value = F["broadcast_tensors"](self.logits, value)
        logits = F["where"]((value == 0) & (logits == -math.inf), 0.0, logits)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)


class OneHotCategorical(Categorical):
    """As Categorical, but draws are one-hot vectors.

    >>> import tinygrad_edu as T
    >>> T.distributions.OneHotCategorical(T.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    support: Any = constraints.one_hot

    _parameters: tuple[str, ...] = ()

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits)
        self._event_shape = Size(self.probs.shape[-1:])

    @property
    def mean(self) -> Any:
        """probs"""
        return self.probs

    @property
    def variance(self) -> Any:
        """p·(1 - p)"""
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Any:
        """The one-hot vector of the most likely class."""
        return nn_functions["one_hot"](self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs.dtype)

    def enumerate_support(self, expand: bool = True) -> Any:
        """Each one-hot vector."""
        count = self.event_shape[0]
        values = F["eye"](count, dtype=self.probs.dtype).view(count, *(1 for _ in self.batch_shape), count)
        return values.expand(count, *self.batch_shape, count) if expand else values

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        classes = self.probs.shape[-1]
        return wrap(np.eye(classes, dtype=self.probs._data.dtype)[super()._drawn(shape)._data])

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of each class."""
        return super().log_prob(value.max(-1)[1])


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """As OneHotCategorical, but draws pass the gradient on to the probabilities.

    >>> import tinygrad_edu as T
    >>> p = T.tensor([0.0, 1.0], requires_grad=True)
    >>> T.distributions.OneHotCategoricalStraightThrough(p).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A draw through which the probabilities get a gradient."""
        drawn: Any = self.sample(sample_shape)
        return drawn + (self.probs - self.probs.detach())
