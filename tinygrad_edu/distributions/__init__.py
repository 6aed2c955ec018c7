"""Distributions: what is drawn from them, and how likely it was (PyTorch: `torch.distributions`).

Here are those that lessons use: normal, uniform, Bernoulli, categorical. `families` has more.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import random
from ..autograd.grad_mode import enable_grad, no_grad
from ..compat.later import later
from ..ops import functions as F
from ..ops import nn_functions
from ..ops.creation.factories import as_tensor
from ..tensor import Size, Tensor, wrap
from . import constraints

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence", "register_kl"]


class Distribution:
    """The base: `_drawn(shape)` and `log_prob` are what subclasses write."""

    has_rsample = has_enumerate_support = False
    arg_constraints: Any = {}  # noqa: RUF012 - replaced, never changed
    _parameters: tuple[str, ...] = ()
    _each: Any = None
    _validate_args = __debug__

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self.batch_shape, self.event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                self._check_parameter(name, constraint)

    def _check_parameter(self, name: str, constraint: Any) -> None:
        """Raise if a parameter that was given is not what it must be."""
        value = self.__dict__.get(name, self.__dict__.get(f"_{name}"))
        if value is None or constraints.is_dependent(constraint) or constraint.check(value).all():
            return
        raise ValueError(
            f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
            f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
        )

    def _validate_sample(self, value: Any) -> None:
        """Raise if `value` can be no draw: what `log_prob` of a subclass may begin with.

        Raises:
            ValueError: it is no tensor, its shape does not fit, or it is not in `support`.
        """
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = len(value.shape) - len(self.event_shape)
        if tuple(value.shape[start:]) != tuple(self.event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self.event_shape}."
            )
        for i, j in zip(reversed(value.shape), reversed(self.batch_shape + self.event_shape), strict=False):
            if i != j and 1 not in (i, j):
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                    f"{self.batch_shape + self.event_shape}."
                )
        if not self.support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    @property
    def _batch_shape(self) -> Size:
        return self.batch_shape

    @property
    def _event_shape(self) -> Size:
        return self.event_shape

    @property
    def support(self) -> Any:
        """Where draws lie."""
        raise self._missing("support")

    def sample_n(self, n: int) -> Tensor:
        """`n` draws."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", FutureWarning, stacklevel=2)
        return self.sample((n,))

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of draws: `sample_shape`, the batch, the event."""
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Look at the parameters of distributions to come, or not. Values are not looked at."""
        Distribution._validate_args = value

    def __repr__(self) -> str:
        # With those of the one try that a distribution of many holds.
        own = {**vars(self), **(vars(self._each) if isinstance(self._each, Distribution) else {})}
        given = {name.lstrip("_"): value for name in self._parameters if (value := own[name]) is not None}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, in the shape `sample_shape` + `batch_shape`, outside the graph."""
        with no_grad():
            if type(self)._drawn is Distribution._drawn:
                return self.rsample(sample_shape)
            return self._drawn((*sample_shape, *self.batch_shape)).detach()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws that gradients pass to the parameters.

        Raises:
            NotImplementedError: the draws jump with the parameters, as those of classes do.
        """
        if not self.has_rsample:
            raise NotImplementedError(f"{type(self).__name__} has no rsample: use log_prob, or F.gumbel_softmax.")
        return self._drawn((*sample_shape, *self.batch_shape))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} has no {what} here: write it from the distribution's parameters, or use log_prob and sample."
        )

    @property
    def mean(self) -> Any:
        """The mean of draws."""
        raise self._missing("mean")

    @property
    def variance(self) -> Any:
        """The mean of the squared distance to the mean."""
        raise self._missing("variance")

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise self._missing("mode")

    def cdf(self, value: Any) -> Any:
        """How likely a draw is below `value`."""
        raise self._missing("cdf")

    def icdf(self, value: Any) -> Any:
        """Below which a draw lies with the probability `value`: the inverse of `cdf`."""
        raise self._missing("icdf")

    def entropy(self) -> Any:
        """The mean of -ln p over draws."""
        raise self._missing("entropy")

    def perplexity(self) -> Any:
        """e to the power of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that a draw can have."""
        raise self._missing("enumerate_support")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its parameters expanded to another batch."""
        if any(isinstance(part, Distribution) for part in vars(self).values()):
            raise self._missing("expand")
        new, before = copy.copy(self), len(self.batch_shape)
        new.batch_shape = Size(batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                new.__dict__[name] = value.expand((*new.batch_shape, *value.shape[before:]))
        return new

    def _values(self, count: int, dtype: Any, expand: bool) -> Any:
        values = F["arange"](count, dtype=dtype).view(-1, *(1 for _ in self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return self.variance.sqrt()


def _together(*parameters: Any) -> Any:
    """Tensors in one shape; numbers take the dtype of the others."""
    tensors = [p for p in parameters if isinstance(p, Tensor)]
    dtype = tensors[0].dtype if tensors else None
    return F["broadcast_tensors"](*(p if isinstance(p, Tensor) else as_tensor(float(p), dtype) for p in parameters))


class Normal(Distribution):
    """The normal distribution of mean `loc` and deviation `scale`.

    Example:
        >>> import tinygrad_edu as T
        >>> T.distributions.Normal(0.0, 1.0).log_prob(T.tensor(0.0))
        tensor(-0.9189)
    """

    has_rsample = True
    _parameters: tuple[str, ...] = ("loc", "scale")
    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support: Any = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _together(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

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
        """How likely a draw is below `value`."""
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    @property
    def mode(self) -> Any:
        """loc"""
        return self.loc


class Uniform(Distribution):
    """Spread evenly over [low, high)."""

    has_rsample = True
    _parameters = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = _together(low, high)
        if not (self.low._data < self.high._data).all():
            raise ValueError("Uniform is not defined when low>= high")
        super().__init__(self.low.shape)

    @property
    def support(self) -> Any:
        """From `low` to `high`."""
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
        """-ln(high - low) within, -inf outside."""
        within = ((value >= self.low) & (value < self.high)).to(self.low.dtype)
        return within.log() - (self.high - self.low).log()

    def entropy(self) -> Any:
        """ln(high - low)"""
        return (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        """(value - low)/(high - low), within 0 and 1."""
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return value * (self.high - self.low) + self.low

    @property
    def mode(self) -> Any:
        """nan: no value is likelier than others."""
        return math.nan * self.high


class _ByChance(Distribution):
    """Given by probabilities, or by their logits: the other is computed when it is first asked for."""

    _parameters: tuple[str, ...] = ("_probs", "_logits")
    has_enumerate_support = True

    def __init__(self, probs: Any, logits: Any, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._probs, self._logits = probs, logits
        super().__init__((logits if probs is None else probs).shape, validate_args=validate_args)

    @property
    def param_shape(self) -> Size:
        """The shape of what was given."""
        return (self._logits if self._probs is None else self._probs).shape

    def _kept(self, name: str, compute: Callable[[], Any]) -> Any:
        if self.__dict__[name] is None:
            # In the graph, even if it is a draw that asks for it.
            with enable_grad():
                self.__dict__[name] = compute()
        return self.__dict__[name]

    def _bounded(self) -> Any:
        """The probabilities, neither 0 nor 1."""
        eps = float(np.finfo(self._probs._data.dtype).eps)
        return self._probs.clamp(eps, 1 - eps)


class Bernoulli(_ByChance):
    """1 with probability `probs`, else 0."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support: Any = constraints.boolean

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        probs, logits = (p if p is None or isinstance(p, Tensor) else as_tensor(float(p)) for p in (probs, logits))
        super().__init__(probs, logits, validate_args)

    @property
    def probs(self) -> Any:
        """The probability of 1."""
        return self._kept("_probs", lambda: self._logits.sigmoid())

    @property
    def logits(self) -> Any:
        """ln p - ln(1 - p)"""
        return self._kept("_logits", lambda: self._bounded().log() - (-self._bounded()).log1p())

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
        """1 or 0, whichever is likelier; nan for a half."""
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1."""
        return self._values(2, (self._logits if self._probs is None else self._probs).dtype, expand)


class Categorical(_ByChance):
    """The classes 0, 1, … with the probabilities along the last dimension, or e to the power of the logits there.

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
        self.batch_shape = self.batch_shape[:-1]

    @property
    def support(self) -> Any:
        """The classes."""
        return constraints.integer_interval(0, self.param_shape[-1] - 1)

    @property
    def mean(self) -> Any:
        """nan: classes have no order."""
        return F["full"](self.batch_shape, math.nan, dtype=self.probs.dtype)

    variance = mean

    @property
    def probs(self) -> Any:
        """The probabilities, which add up to 1."""
        return self._kept("_probs", lambda: self._logits.softmax(-1))

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._kept("_logits", lambda: self._bounded().log())

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        classes = self.probs.shape[-1]
        count = math.prod(shape[: len(shape) - len(self.batch_shape)])
        drawn = F["multinomial"](self.probs.reshape(-1, classes), count, True)
        return drawn.T.reshape(shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of each class in `value`."""
        logits, chosen = self.logits, value.long().unsqueeze(-1)
        sizes = np.broadcast_shapes(tuple(logits.shape[:-1]), tuple(value.shape))
        return logits.expand((*sizes, logits.shape[-1])).gather(-1, chosen.expand((*sizes, 1))).squeeze(-1)

    def entropy(self) -> Any:
        """-Σ p·ln p"""
        least = float(np.finfo(self.logits._data.dtype).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    @property
    def mode(self) -> Any:
        """The likeliest class."""
        return self.probs.argmax(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All classes."""
        return self._values(self.probs.shape[-1], None, expand)


# How much is lost, for two of other kinds: `families` fills it, and `register_kl`.
kl_rules: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """A decorator: the function below it is what `kl_divergence` gives for these two kinds."""

    def add(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        kl_rules[type_p, type_q] = function
        return function

    return add


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """How much is lost when `q` stands for `p`: the mean of ln p - ln q over draws of `p`.

    Raises:
        NotImplementedError: the two are not of one kind, or of one that is not here.
    """
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return (p.probs * (p.logits - q.logits)).sum(-1)
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        return p.probs * (p.logits - q.logits) + nn_functions["softplus"](q.logits) - nn_functions["softplus"](p.logits)
    for (one, other), rule in kl_rules.items():
        if isinstance(p, one) and isinstance(q, other):
            return rule(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}. There is one for two "
        "Normal, Categorical or Bernoulli."
    )


_LATER = dict.fromkeys(
    [
        "Beta",
        "Binomial",
        "Chi2",
        "Dirichlet",
        "Exponential",
        "Gamma",
        "Geometric",
        "Gumbel",
        "HalfNormal",
        "Independent",
        "Laplace",
        "LogNormal",
        "Multinomial",
        "MultivariateNormal",
        "OneHotCategorical",
        "Poisson",
        "StudentT",
    ],
    "families",
)
_LATER |= dict.fromkeys(
    [
        "Cauchy",
        "HalfCauchy",
        "MixtureSameFamily",
        "NegativeBinomial",
        "OneHotCategoricalStraightThrough",
        "Pareto",
        "RelaxedBernoulli",
        "RelaxedOneHotCategorical",
        "TransformedDistribution",
        "Weibull",
    ],
    "derived",
)
_LATER |= dict.fromkeys(
    [
        "AbsTransform",
        "AffineTransform",
        "ComposeTransform",
        "ExpTransform",
        "IndependentTransform",
        "PowerTransform",
        "ReshapeTransform",
        "SigmoidTransform",
        "SoftmaxTransform",
        "SoftplusTransform",
        "StickBreakingTransform",
        "TanhTransform",
        "Transform",
        "identity_transform",
    ],
    "transforms",
)
__all__ += sorted(_LATER)
# Modules of PyTorch: two that are here, and others that are found in this one.
_LATER |= {name: name for name in ("transforms", "kl", "normal", "categorical", "distribution")}

__getattr__ = later(__name__, _LATER, "Write your own Distribution, or transform one that exists.")
