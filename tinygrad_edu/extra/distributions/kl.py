"""`kl_divergence`: how far one distribution is from another. Each rule is a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...ops import linalg_functions, nn_functions
from .basic import Bernoulli, Categorical, Normal, Uniform
from .combined import Independent
from .continuous import Beta, Cauchy, Dirichlet, Exponential, Gamma, Gumbel, HalfNormal, Laplace, MultivariateNormal
from .discrete import Binomial, Geometric, Poisson
from .distribution import Distribution
from .utils import euler_constant

__all__ = ["kl_divergence", "register_kl"]

Rule = Callable[[Any, Any], Any]

_rules: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """A decorator: register a function as the rule of `kl_divergence` for these two classes and their subclasses.

    >>> import tinygrad_edu as T
    >>> class Point(T.distributions.Distribution):
    ...     pass
    >>> @T.distributions.register_kl(Point, Point)
    ... def apart(p, q):
    ...     return T.tensor(7.0)
    >>> T.distributions.kl_divergence(Point(), Point())
    tensor(7.)
    """

    def add(rule: Rule) -> Rule:
        _rules[type_p, type_q] = rule
        return rule

    return add


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The Kullback-Leibler divergence: the mean of ln p - ln q over draws of `p`.

    If several rules fit, it uses that of the closest classes, considering `p` first.

    Raises:
        NotImplementedError: no rule fits the two.

    >>> import tinygrad_edu as T
    >>> D = T.distributions
    >>> D.kl_divergence(D.Normal(1.0, 1.0), D.Normal(0.0, 1.0))
    tensor(0.5000)
    """
    above_p, above_q = type(p).__mro__, type(q).__mro__
    fitting = [
        (above_p.index(a), above_q.index(b), rule) for (a, b), rule in _rules.items() if a in above_p and b in above_q
    ]
    if not fitting:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}. Write a rule with "
            "register_kl, or take the mean of p.log_prob(x) - q.log_prob(x) over samples of p."
        )
    return min(fitting, key=lambda match: match[:2])[2](p, q)


@register_kl(Normal, Normal)
def _of_normals(p: Normal, q: Normal) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Categorical, Categorical)
def _of_classes(p: Categorical, q: Categorical) -> Any:
    lost = p.probs * (p.logits - q.logits)
    return lost.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _of_coins(p: Bernoulli, q: Bernoulli) -> Any:
    softplus = nn_functions["softplus"]
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    ones = ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0)
    return ones + zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0.0)


@register_kl(Independent, Independent)
def _of_independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence of two Independent with different numbers of dimensions is not built.")
    return p._added(kl_divergence(p.base_dist, q.base_dist))


@register_kl(MultivariateNormal, MultivariateNormal)
def _of_vectors(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    half = [d.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) for d in (q, p)]
    spread = linalg_functions["solve"](q.scale_tril, p.scale_tril).pow(2).sum((-2, -1))
    apart = linalg_functions["solve"](q.scale_tril, (q.loc - p.loc).unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)
    return half[0] - half[1] + 0.5 * (spread + apart - p.event_shape[0])


@register_kl(Gamma, Gamma)
def _of_gammas(p: Gamma, q: Gamma) -> Any:
    return (
        q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma() + (q.rate - p.rate) * (p.concentration / p.rate)
    )  # fmt: skip


@register_kl(Dirichlet, Dirichlet)
def _of_shares(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    return (
        total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
        + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)
    )  # fmt: skip


@register_kl(Beta, Beta)
def _of_two_shares(p: Beta, q: Beta) -> Any:
    return _of_shares(p._both(), q._both())


@register_kl(Uniform, Uniform)
def _of_ranges(p: Uniform, q: Uniform) -> Any:
    outside = (q.low > p.low) | (q.high < p.high)
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill(outside, math.inf)


@register_kl(HalfNormal, HalfNormal)
def _of_half_normals(p: HalfNormal, q: HalfNormal) -> Any:
    return _of_normals(Normal(0.0, p.scale), Normal(0.0, q.scale))


@register_kl(Cauchy, Cauchy)
def _of_cauchys(p: Cauchy, q: Cauchy) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _of_gumbels(p: Gumbel, q: Gumbel) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + apart + (ratio - 1) * euler_constant - 1 + (-apart + (1 + ratio).lgamma()).exp()


@register_kl(Geometric, Geometric)
def _of_first_successes(p: Geometric, q: Geometric) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Binomial, Binomial)
def _of_successes(p: Binomial, q: Binomial) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    lost = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return lost.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Exponential, Exponential)
def _of_waits(p: Exponential, q: Exponential) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Poisson, Poisson)
def _of_counts(p: Poisson, q: Poisson) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Laplace, Laplace)
def _of_laplaces(p: Laplace, q: Laplace) -> Any:
    apart, ratio = (p.loc - q.loc).abs(), p.scale / q.scale
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1
