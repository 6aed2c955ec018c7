"""More continuous distributions. Docstrings of `log_prob` are formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Size, Tensor, wrap
from ...ops import functions as F
from ...ops import linalg_functions, nn_functions
from ...ops.creation import random
from ...ops.creation.factories import as_tensor
from . import constraints, draws
from .basic import LocationScale, Normal
from .distribution import Distribution, even, positive, together

__all__ = [
    "Beta",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Laplace",
    "LogNormal",
    "MultivariateNormal",
    "StudentT",
]


class MultivariateNormal(Distribution):
    """The multivariate normal distribution, given by its covariance, its precision or the lower Cholesky factor.

    >>> import tinygrad_edu as T
    >>> d = T.distributions.MultivariateNormal(T.zeros(2), covariance_matrix=T.eye(2))
    >>> d.log_prob(T.zeros(2))  # -ln 2π
    tensor(-1.8379)
    """

    support: Any = constraints.real_vector

    has_rsample = True
    # The forms that were given or computed so far.
    _parameters = ("loc", "_covariance_matrix", "_precision_matrix", "_scale_tril")

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = (covariance_matrix, precision_matrix, scale_tril)
        if sum(m is not None for m in given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if scale_tril is None:
            covariance = covariance_matrix if precision_matrix is None else linalg_functions["inv"](precision_matrix)
            scale_tril = linalg_functions["cholesky"](covariance)
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(scale_tril.shape[:-2]))
        self.loc = loc.expand((*batch, loc.shape[-1]))
        self.scale_tril = scale_tril.expand((*batch, *scale_tril.shape[-2:]))
        self._covariance_matrix, self._precision_matrix, self._scale_tril = (
            m if m is None else m.expand(self.scale_tril.shape) for m in given
        )
        super().__init__(batch)
        self._event_shape = Size(loc.shape[-1:])

    @property
    def mean(self) -> Any:
        """loc"""
        return self.loc

    @property
    def covariance_matrix(self) -> Any:
        """L·Lᵀ"""
        if self._covariance_matrix is None:
            self._covariance_matrix = self.scale_tril @ self.scale_tril.mT
        return self._covariance_matrix

    @property
    def precision_matrix(self) -> Any:
        """(L·Lᵀ)⁻¹"""
        if self._precision_matrix is None:
            self._precision_matrix = linalg_functions["inv"](self.scale_tril @ self.scale_tril.mT)
        return self._precision_matrix

    @property
    def mode(self) -> Any:
        """loc"""
        return self.loc

    @property
    def variance(self) -> Any:
        """The diagonal of the covariance."""
        return self.scale_tril.pow(2).sum(-1)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        noise = wrap(random.source(None).normal((*shape, *self.event_shape), self.loc._data.dtype))
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        """-½·(d·ln 2π + |L⁻¹(x - loc)|²) - Σ ln Lᵢᵢ"""
        apart = (value - self.loc).unsqueeze(-1)
        L = self.scale_tril.expand((*apart.shape[:-2], *self.scale_tril.shape[-2:]))
        z = linalg_functions["solve"](L, apart).squeeze(-1)
        half = self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + (z * z).sum(-1)) - half

    def entropy(self) -> Any:
        """½·d·(1 + ln 2π) + Σ ln Lᵢᵢ"""
        half = self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 0.5 * self.event_shape[0] * (1 + math.log(2 * math.pi)) + half


class LogNormal(Normal):
    """The distribution of e^x, where x is normally distributed.

    >>> import tinygrad_edu as T
    >>> T.distributions.LogNormal(0.0, 1.0).mean  # e^½
    tensor(1.6487)
    """

    support: Any = constraints.positive

    _parameters: tuple[str, ...] = ()

    @property
    def mode(self) -> Any:
        """e^(loc - scale²)"""
        return (self.loc - self.scale.square()).exp()

    @property
    def mean(self) -> Any:
        """e^(loc + scale²/2)"""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def variance(self) -> Any:
        """(e^scale² - 1)·e^(2·loc + scale²)"""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return super()._drawn(shape).exp()

    def log_prob(self, value: Any) -> Any:
        """The normal log_prob of ln x, minus ln x."""
        log, square = value.log(), 2 * self.scale**2
        return -((log - self.loc) ** 2) / square - self.scale.log() - math.log(math.sqrt(2 * math.pi)) - log

    def entropy(self) -> Any:
        """The entropy of the logarithm, plus loc."""
        return super().entropy() + self.loc

    def cdf(self, value: Any) -> Any:
        """The normal cdf of ln value."""
        return super().cdf(value.log())

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return super().icdf(value).exp()


class Half(Distribution):
    """The absolute value of a draw from `_whole`, a distribution that is symmetric around 0."""

    has_rsample = True
    _parameters: tuple[str, ...] = ()
    arg_constraints: Any = {"scale": constraints.positive}  # noqa: RUF012
    support: Any = constraints.nonnegative
    _whole: type[LocationScale]

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._base: Any = self._whole(0, scale, validate_args=False)
        self.scale = self._base.scale
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._base._drawn(shape).abs()

    def log_prob(self, value: Any) -> Any:
        """ln 2 more than the base's log_prob; -inf below 0."""
        return F["where"](value >= 0, self._base.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        """Twice the base's cdf, minus 1."""
        return 2 * self._base.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return self._base.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """The base's entropy minus ln 2."""
        return self._base.entropy() - math.log(2)


class HalfNormal(Half):
    """The absolute value of a draw from a normal distribution with mean 0.

    >>> import tinygrad_edu as T
    >>> T.distributions.HalfNormal(1.0).mean  # √(2/π)
    tensor(0.7979)
    """

    _whole = Normal

    @property
    def mode(self) -> Any:
        """0"""
        return self.scale * 0

    @property
    def mean(self) -> Any:
        """scale·√(2/π)"""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """scale²·(1 - 2/π)"""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class Cauchy(LocationScale):
    """The distribution of the ratio of two normal numbers. It has no mean.

    >>> import tinygrad_edu as T
    >>> T.distributions.Cauchy(0.0, 1.0).cdf(T.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2500, 0.5000, 0.7500])
    """

    @property
    def mean(self) -> Any:
        """nan: the mean does not exist."""
        return math.nan * self.loc

    @property
    def variance(self) -> Any:
        """inf"""
        return F["full_like"](self.loc, math.inf)

    def icdf(self, value: Any) -> Any:
        """loc + scale·tan(π·(value - ½))"""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

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
    """The absolute value of a draw from a Cauchy distribution around 0.

    >>> import tinygrad_edu as T
    >>> T.distributions.HalfCauchy(1.0).cdf(T.tensor(1.0))
    tensor(0.5000)
    """

    _whole = Cauchy

    @property
    def mode(self) -> Any:
        """0"""
        return F["zeros_like"](self.scale)

    @property
    def mean(self) -> Any:
        """inf"""
        return F["full_like"](self.scale, math.inf)

    variance = mean


class Exponential(Distribution):
    """The waiting time for an event that happens `rate` times per unit of time.

    >>> import tinygrad_edu as T
    >>> T.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    support: Any = constraints.nonnegative

    has_rsample = True
    _parameters = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        positive("Exponential", rate=self.rate)
        super().__init__(self.rate.shape)

    @property
    def mode(self) -> Any:
        """0"""
        return self.rate * 0

    @property
    def mean(self) -> Any:
        """1/rate"""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """1/rate²"""
        return self.rate.pow(-2)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return wrap(np.zeros(shape, self.rate._data.dtype)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """ln rate - rate·x"""
        return self.rate.log() - self.rate * value

    def entropy(self) -> Any:
        """1 - ln rate"""
        return 1.0 - self.rate.log()

    def cdf(self, value: Any) -> Any:
        """1 - e^(-rate·x)"""
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        """-ln(1 - value)/rate"""
        return -(-value).log1p() / self.rate


class Laplace(LocationScale):
    """Two exponential distributions back to back.

    >>> import tinygrad_edu as T
    >>> T.distributions.Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    @property
    def mean(self) -> Any:
        """loc"""
        return self.loc

    @property
    def variance(self) -> Any:
        """2·scale²"""
        return 2 * self.scale.pow(2)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        kind = self.loc._data.dtype
        u = wrap(random.source(None).uniform(shape, kind, float(np.finfo(kind).eps) - 1, 1))
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        """-ln(2·scale) - |x - loc|/scale"""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Any:
        """1 + ln(2·scale)"""
        return 1 + (2 * self.scale).log()

    def cdf(self, value: Any) -> Any:
        """The probability that a draw is at most `value`."""
        apart = value - self.loc
        return 0.5 - 0.5 * apart.sign() * (-apart.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()


class Gumbel(LocationScale):
    """The limit distribution of the maximum of many samples.

    >>> import tinygrad_edu as T
    >>> T.distributions.Gumbel(0.0, 1.0).mean  # Euler's constant
    tensor(0.5772)
    """

    @property
    def mean(self) -> Any:
        """loc + γ·scale, with Euler's constant γ"""
        return self.loc + self.scale * 0.57721566490153286060

    @property
    def variance(self) -> Any:
        """(π·scale)²/6"""
        return (math.pi**2 / 6) * self.scale.pow(2)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self.loc - self.scale * (-even(shape, self.loc._data.dtype).log()).log()

    def log_prob(self, value: Any) -> Any:
        """y - e^y - ln scale, with y = (loc - x)/scale"""
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value: Any) -> Any:
        """e^(-e^y), with y = (loc - x)/scale"""
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Any:
        """ln scale + 1 + γ"""
        return self.scale.log() + (1 + 0.57721566490153286060)


class _WithoutPath(Distribution):
    """A distribution whose draws have no gradient."""

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Refused: the gradient of these draws is not built."""
        raise NotImplementedError(
            f"{type(self).__name__}.rsample is not built: its samples have no gradient here. Use sample() and "
            "log_prob()."
        )


class Gamma(Distribution):
    """The sum of `concentration` waiting times of the given rate, generalized to any positive `concentration`.

    >>> import tinygrad_edu as T
    >>> T.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    has_rsample = True
    support: Any = constraints.nonnegative

    _parameters: tuple[str, ...] = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = together(concentration, rate)
        positive(type(self).__name__, concentration=self.concentration, rate=self.rate)
        super().__init__(self.concentration.shape)

    @property
    def mean(self) -> Any:
        """concentration/rate"""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """(concentration - 1)/rate, at least 0"""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """concentration/rate²"""
        return self.concentration / self.rate.pow(2)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        drawn = draws.StandardGamma.apply(self.concentration.expand(shape)) / self.rate.expand(shape)
        drawn._data[...] = np.maximum(drawn._data, np.finfo(drawn._data.dtype).tiny)
        return drawn

    def log_prob(self, value: Any) -> Any:
        """a·ln b + (a - 1)·ln x - b·x - ln Γ(a)"""
        value = as_tensor(value, dtype=self.rate.dtype)
        a, b = self.concentration, self.rate
        return F["xlogy"](a, b) + F["xlogy"](a - 1, value) - b * value - a.lgamma()

    def entropy(self) -> Any:
        """a - ln b + ln Γ(a) + (1 - a)·ψ(a)"""
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers.

    >>> import tinygrad_edu as T
    >>> T.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    _parameters = ()

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (df,) = together(df)
        super().__init__(0.5 * df, 0.5)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2


class Dirichlet(_WithoutPath):
    """Fractions that sum to 1.

    >>> import tinygrad_edu as T
    >>> T.distributions.Dirichlet(T.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    support: Any = constraints.simplex

    _parameters = ("concentration",)

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        positive("Dirichlet", concentration=concentration)
        self.concentration = concentration
        super().__init__(concentration.shape[:-1])
        self._event_shape = Size(concentration.shape[-1:])

    @property
    def mean(self) -> Any:
        """a/Σa"""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        """(a - 1)/Σ(a - 1), where no a is below 1; a corner where all are."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = nn_functions["one_hot"](mode.argmax(-1), mode.shape[-1]).to(mode.dtype)
        return F["where"]((self.concentration < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Any:
        """a·(Σa - a)/((Σa)²·(Σa + 1))"""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        drawn = draws.gamma_draws(self.concentration._data, (*shape, *self.event_shape))
        return drawn / drawn.sum(-1, True)

    def log_prob(self, value: Any) -> Any:
        """Σ (a - 1)·ln x + ln Γ(Σa) - Σ ln Γ(a)"""
        a = self.concentration
        return F["xlogy"](a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        """Σ ln Γ(a) - ln Γ(Σa) - (k - Σa)·ψ(Σa) - Σ (a - 1)·ψ(a)"""
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)


class Beta(_WithoutPath):
    """A fraction between 0 and 1; `concentration1` favours 1 and `concentration0` favours 0.

    >>> import tinygrad_edu as T
    >>> T.distributions.Beta(3.0, 1.0).mean
    tensor(0.7500)
    """

    support: Any = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = together(concentration1, concentration0)
        positive("Beta", concentration1=self.concentration1, concentration0=self.concentration0)
        super().__init__(self.concentration1.shape)

    def _both(self) -> Dirichlet:
        return Dirichlet(F["stack"]([self.concentration1, self.concentration0], -1))

    @property
    def mean(self) -> Any:
        """a/(a + b)"""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """(a - 1)/(a + b - 2)"""
        return self._both().mode.select(-1, 0)

    @property
    def variance(self) -> Any:
        """a·b/((a + b)²·(a + b + 1))"""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return self._both()._drawn(shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        """(a - 1)·ln x + (b - 1)·ln(1 - x) - ln B(a, b)"""
        return self._both().log_prob(F["stack"]([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        """The entropy of the two fractions."""
        return self._both().entropy()


class StudentT(Distribution):
    """Student's t: a normal distribution with heavier tails, with `df` degrees of freedom.

    >>> import tinygrad_edu as T
    >>> T.distributions.StudentT(3.0).variance
    tensor(3.)
    """

    has_rsample = True
    support: Any = constraints.real

    _parameters = ("df", "loc", "scale")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = together(df, loc, scale)
        positive("StudentT", df=self.df, scale=self.scale)
        super().__init__(self.df.shape)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        normal = wrap(random.source(None).normal(shape, self.loc._data.dtype))
        return self.loc + self.scale * (normal * (Chi2(self.df)._drawn(shape) / self.df).rsqrt())

    @property
    def mean(self) -> Any:
        """loc. It exists for more than one degree of freedom; otherwise nan."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    mode = property(lambda self: self.loc)

    def entropy(self) -> Any:
        """ln scale + ½(ν + 1)·(ψ(½(ν + 1)) - ψ(½ν)) + ½·ln ν + ln B(½ν, ½)"""
        low, high = self.df / 2, (self.df + 1) / 2
        ways = low.lgamma() + math.lgamma(0.5) - high.lgamma()
        return self.scale.log() + high * (high.digamma() - low.digamma()) + self.df.log() / 2 + ways

    @property
    def variance(self) -> Any:
        """scale²·ν/(ν - 2). It is infinite up to two degrees of freedom, and nan up to one."""
        spread = self.scale**2 * self.df / (self.df - 2)
        return spread.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def log_prob(self, value: Any) -> Any:
        """-½(ν + 1)·ln(1 + y²/ν) - ln scale - ½ ln(πν) - ln Γ(ν/2) + ln Γ((ν + 1)/2)"""
        y, df = (value - self.loc) / self.scale, self.df
        constant = (
            self.scale.log()
            + 0.5 * df.log()
            + 0.5 * math.log(math.pi)
            + (0.5 * df).lgamma()
            - (0.5 * (df + 1)).lgamma()
        )
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - constant
