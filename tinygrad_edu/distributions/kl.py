"""`kl_divergence`: how far one distribution is from another. Each rule is a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..nn.functional import softplus
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .normal import Normal
from .uniform import Uniform

__all__ = ["kl_divergence", "register_kl"]

Rule = Callable[[Any, Any], Any]

_rules: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """A decorator: register a function as the rule of `kl_divergence` for these two classes and their subclasses.

    >>> class Point(T.distributions.Distribution): ...
    >>> rule = T.distributions.register_kl(Point, Point)(lambda p, q: T.tensor(7.0))
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
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}. Write a rule "
            "with register_kl, or take the mean of p.log_prob(x) - q.log_prob(x) over samples of p."
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
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    ones = ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0)
    return ones + zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0.0)


@register_kl(Independent, Independent)
def _of_independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence of two Independent with different numbers of dimensions is not built.")
    return p.summed(kl_divergence(p.base_dist, q.base_dist))


@register_kl(Uniform, Uniform)
def _of_ranges(p: Uniform, q: Uniform) -> Any:
    outside = (q.low > p.low) | (q.high < p.high)
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill(outside, math.inf)
