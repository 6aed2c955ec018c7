"""The four distributions that lessons use: normal, uniform, Bernoulli, categorical. Docstrings of `log_prob` are formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array.tensor import Size, Tensor, wrap
from ...autograd.grad_mode import enable_grad
from ...ops import functions as F
from ...ops import nn_functions
from ...ops.creation import random
from ...ops.creation.factories import as_tensor
from . import constraints
from .distribution import Distribution, together
from .utils import logits_to_probs, probs_to_logits

__all__ = ["Bernoulli", "Categorical", "Normal", "Uniform"]


class LocationScale(Distribution):
    """The base of distributions of real numbers around `loc`, as wide as `scale`."""

    has_rsample = True
    _parameters: tuple[str, ...] = ("loc", "scale")
    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support: Any = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mode(self) -> Any:
        """loc"""
        return self.loc


class Normal(LocationScale):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Example:
        >>> import tinygrad_edu as T
        >>> T.distributions.Normal(0.0, 1.0).log_prob(T.tensor(0.0))
        tensor(-0.9189)
    """

    @property
    def mean(self) -> Any:
        """loc"""
        return self.loc

    @property
    def variance(self) -> Any:
        """scale²"""
        return self.scale**2

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.loc + wrap(random.source(None).normal(shape, self.loc._data.dtype)) * self.scale

    def log_prob(self, value: Any) -> Any:
        """-(value - loc)²/(2·scale²) - ln scale - ½·ln 2π"""
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def entropy(self) -> Any:
        """½ + ½·ln 2π + ln scale"""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def cdf(self, value: Any) -> Any:
        """The probability that a draw is at most `value`."""
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)


class Uniform(Distribution):
    """The uniform distribution over [low, high).

    >>> import tinygrad_edu as T
    >>> T.distributions.Uniform(0.0, 4.0).log_prob(T.tensor(1.0)).exp()
    tensor(0.2500)
    """

    has_rsample = True
    _parameters = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = together(low, high)
        if not (self.low._data < self.high._data).all():
            raise ValueError("Uniform is not defined when low>= high")
        super().__init__(self.low.shape)

    @property
    def support(self) -> Any:
        """The interval from `low` to `high`."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """(low + high)/2"""
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Any:
        """(high - low)²/12"""
        return (self.high - self.low) ** 2 / 12

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.low + wrap(random.source(None).uniform(shape, self.low._data.dtype)) * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """-ln(high - low) inside the interval, -inf outside."""
        within = ((value >= self.low) & (value < self.high)).to(self.low.dtype)
        return within.log() - (self.high - self.low).log()

    def entropy(self) -> Any:
        """ln(high - low)"""
        return (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        """(value - low)/(high - low), clamped to [0, 1]."""
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return value * (self.high - self.low) + self.low

    @property
    def mode(self) -> Any:
        """nan: all values are equally likely."""
        return math.nan * self.high


class ByChance(Distribution):
    """The base of distributions given by probabilities or logits. The other form is computed on first use."""

    _parameters: tuple[str, ...] = ("_probs", "_logits")
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        probs, logits = (p if p is None or isinstance(p, Tensor) else as_tensor(float(p)) for p in (probs, logits))
        self._probs, self._logits = probs, logits
        super().__init__((logits if probs is None else probs).shape, validate_args=validate_args)

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return (self._logits if self._probs is None else self._probs).shape

    def _kept(self, name: str, compute: Callable[[], Any]) -> Any:
        if self.__dict__[name] is None:
            # Record this in the graph, even if it is computed for a draw.
            with enable_grad():
                self.__dict__[name] = compute()
        return self.__dict__[name]

    @property
    def probs(self) -> Any:
        """The probability of 1."""
        return self._kept("_probs", lambda: logits_to_probs(self._logits, is_binary=True))

    @property
    def logits(self) -> Any:
        """ln p - ln(1 - p)"""
        return self._kept("_logits", lambda: probs_to_logits(self._probs, is_binary=True))


class Bernoulli(ByChance):
    """1 with probability `probs`, else 0.

    >>> import tinygrad_edu as T
    >>> T.distributions.Bernoulli(T.tensor(0.25)).log_prob(T.tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support: Any = constraints.boolean

    @property
    def mean(self) -> Any:
        """probs"""
        return self.probs

    @property
    def variance(self) -> Any:
        """probs·(1 - probs)"""
        return self.probs * (1 - self.probs)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return F["bernoulli"](self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """ln p for 1, ln(1 - p) for 0."""
        logits, value = F["broadcast_tensors"](self.logits, value)
        return -nn_functions["binary_cross_entropy_with_logits"](logits, value, reduction="none")

    def entropy(self) -> Any:
        """-p·ln p - (1 - p)·ln(1 - p)"""
        return nn_functions["binary_cross_entropy_with_logits"](self.logits, self.probs, reduction="none")

    @property
    def mode(self) -> Any:
        """The more likely of 1 and 0; nan if both are equally likely."""
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The values 0 and 1."""
        return self._values(2, (self._logits if self._probs is None else self._probs).dtype, expand)


class Categorical(ByChance):
    """The classes 0, 1, …, with probabilities (or logits) along the last dimension.

    Example:
        >>> import tinygrad_edu as T
        >>> T.distributions.Categorical(T.tensor([1.0, 3.0])).log_prob(T.tensor(1)).exp()
        tensor(0.7500)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if probs is not None:
            probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        super().__init__(probs, logits, validate_args)
        self._batch_shape = self.batch_shape[:-1]

    @property
    def support(self) -> Any:
        """The classes."""
        return constraints.integer_interval(0, self.param_shape[-1] - 1)

    @property
    def mean(self) -> Any:
        """nan: the mean of classes is not defined."""
        return F["full"](self.batch_shape, math.nan, dtype=self.probs.dtype)

    variance = mean

    @property
    def probs(self) -> Any:
        """The probabilities, normalized to sum to 1."""
        return self._kept("_probs", lambda: self._logits.softmax(-1))

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._kept("_logits", lambda: probs_to_logits(self._probs))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        classes = self.probs.shape[-1]
        count = math.prod(shape[: len(shape) - len(self.batch_shape)])
        drawn = F["multinomial"](self.probs.reshape(-1, classes), count, True)
        return drawn.T.reshape(shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of each class in `value`."""
        logits, chosen = self.logits, value.long().unsqueeze(-1)
        sizes = np.broadcast_shapes(tuple(logits.shape[:-1]), tuple(value.shape))
        # As in PyTorch, only what is smaller is expanded.
        wide = logits if tuple(logits.shape[:-1]) == sizes else logits.expand((*sizes, logits.shape[-1]))
        return wide.gather(-1, chosen.expand((*sizes, 1))).squeeze(-1)

    def entropy(self) -> Any:
        """-Σ p·ln p"""
        least = float(np.finfo(self.logits._data.dtype).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    @property
    def mode(self) -> Any:
        """The most likely class."""
        return self.probs.argmax(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All classes."""
        return self._values(self.probs.shape[-1], None, expand)
