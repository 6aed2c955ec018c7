"""Distributions draw the same samples as PyTorch's, and give them the same probability."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu as T

D = Callable[[Any], Any]
DISTRIBUTIONS: dict[str, D] = {
    "Normal": lambda E: E.distributions.Normal(_leaf(E, [0.5, -1.0]), _leaf(E, [1.5, 0.3])),
    "Normal of numbers": lambda E: E.distributions.Normal(0.0, 2.0),
    "Normal of both": lambda E: E.distributions.Normal(_leaf(E, [[0.5], [-1.0]]), 2.0),
    "Uniform": lambda E: E.distributions.Uniform(_leaf(E, [0.0, -1.0]), _leaf(E, [1.0, 3.0])),
    "Bernoulli": lambda E: E.distributions.Bernoulli(_leaf(E, [0.2, 0.9])),
    "Bernoulli of logits": lambda E: E.distributions.Bernoulli(logits=_leaf(E, [0.2, -1.0])),
    "Categorical": lambda E: E.distributions.Categorical(_leaf(E, [[0.2, 0.5, 0.3], [1.0, 2.0, 1.0]])),
    "Categorical of logits": lambda E: E.distributions.Categorical(logits=_leaf(E, [[0.2, -0.5, 0.3]])),
}  # fmt: skip


def _leaf(E: Any, data: Any) -> Any:
    return E.tensor(data, requires_grad=True)


def outcome(E: Any, make: D) -> dict[str, Any]:
    E.manual_seed(7)
    d = make(E)
    shown = [repr(d)]
    # Twenty of each: one alone is drawn by a library of PyTorch's on some processors.
    drawn = d.sample((20,))
    seen = {"drawn": drawn, "log_prob": d.log_prob(drawn), "entropy": d.entropy()}
    if not isinstance(d, E.distributions.Categorical):
        seen |= {"mean": d.mean, "variance": d.variance, "stddev": d.stddev}
    if d.has_rsample:
        seen["rsample"] = d.rsample((3,))
    if isinstance(d, E.distributions.Normal):
        seen["cdf"] = d.cdf(drawn)
    shown += [repr(d), str(tuple(d.batch_shape))]
    return {name: t.detach().numpy() for name, t in seen.items()} | {
        "shown": [s.replace(E.__name__, "E") for s in shown]
    }


@pytest.mark.parametrize("make", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_the_draws_and_what_is_known_of_them_are_those_of_pytorch(make: D) -> None:
    ours, theirs = outcome(T, make), outcome(torch, make)
    assert ours.pop("shown") == theirs.pop("shown")
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.shape == theirs[name].shape and array.dtype == theirs[name].dtype, name
        np.testing.assert_allclose(array, theirs[name], rtol=1e-5, atol=1e-6, err_msg=name)


PAIRS = {
    "Normal": lambda E, x: (E.distributions.Normal(x[0], x[1].exp()), E.distributions.Normal(0.5, 2.0)),
    "Categorical": lambda E, x: (E.distributions.Categorical(logits=x[0]), E.distributions.Categorical(x[1].exp())),
    "Bernoulli": lambda E, x: (E.distributions.Bernoulli(x[0].sigmoid()), E.distributions.Bernoulli(logits=x[1])),
    "Uniform": lambda E, x: (E.distributions.Uniform(x[0] - 3, x[0] + 3), E.distributions.Uniform(x[1] - 9, x[1] + 9)),
    "HalfNormal": lambda E, x: (E.distributions.HalfNormal(x[0].exp()), E.distributions.HalfNormal(x[1].exp())),
    "Cauchy": lambda E, x: (E.distributions.Cauchy(x[0], x[1].exp()), E.distributions.Cauchy(0.5, 2.0)),
    "Gumbel": lambda E, x: (E.distributions.Gumbel(x[0], x[1].exp()), E.distributions.Gumbel(0.5, 2.0)),
    "Geometric": lambda E, x: (E.distributions.Geometric(x[0].sigmoid()), E.distributions.Geometric(logits=x[1])),
    "Binomial": lambda E, x: (E.distributions.Binomial(5, x[0].sigmoid()), E.distributions.Binomial(5, logits=x[1])),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_divergences_and_their_gradients_are_those_of_pytorch(pair: Any) -> None:
    def program(E: Any) -> Any:
        x = _leaf(E, [[0.5, -1.0, 0.25], [0.1, 0.2, -0.7]])
        loss = E.distributions.kl_divergence(*pair(E, x)).sum()
        loss.backward()
        return loss.item(), x.grad.numpy()

    (a, da), (b, db) = program(T), program(torch)
    assert a == pytest.approx(b, rel=1e-5)
    np.testing.assert_allclose(da, db, rtol=1e-4, atol=1e-6)


def test_a_divergence_is_infinite_where_the_other_never_comes() -> None:
    def program(E: Any) -> Any:
        d, kl = E.distributions, E.distributions.kl_divergence
        coins = E.tensor([0.0, 0.5, 1.0])
        each = coins.repeat_interleave(3), coins.repeat(3)
        return [
            kl(*map(d.Bernoulli, each)).tolist(),
            kl(d.Categorical(E.tensor([[0.0, 1.0]] * 2)), d.Categorical(E.tensor([[0.5, 0.5], [1.0, 0.0]]))).tolist(),
            kl(d.Uniform(E.tensor([0.0, 2.0]), 3.0), d.Uniform(1.0, E.tensor([4.0, 4.0]))).tolist(),
        ]

    for ours, theirs in zip(program(T), program(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_a_rule_for_a_derived_class_comes_before_the_rule_of_its_base() -> None:
    def program(E: Any) -> str:
        Normal = E.distributions.Normal
        derived = type("Derived", (Normal,), {})
        E.distributions.register_kl(derived, Normal)(lambda p, q: "derived")
        return str(E.distributions.kl_divergence(derived(0.0, 1.0), Normal(0.0, 1.0)))

    assert program(T) == program(torch) == "derived"


def test_what_has_no_answer_is_refused() -> None:
    for E in (T, torch):
        d = E.distributions
        with pytest.raises(NotImplementedError):
            d.Categorical(E.ones(2)).rsample()
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Normal(0.0, 1.0), d.Bernoulli(0.5))
        with pytest.raises(ValueError, match="scale"):
            d.Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="probs"):
            d.Categorical()


def test_a_draw_does_not_cut_the_graph_of_what_comes_after_it() -> None:
    def program(E: Any) -> Any:
        out = []
        for kind in ("Categorical", "Bernoulli"):
            x = _leaf(E, [0.5, -1.0, 0.25])
            d = getattr(E.distributions, kind)(logits=x)
            d.sample()
            d.entropy().sum().backward()
            out.append(x.grad.tolist())
        return out

    np.testing.assert_allclose(program(T), program(torch), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "draw",
    [
        lambda D, a, b: D.Gamma(a, b).rsample((3,)),
        lambda D, a, b: D.Chi2(a + b * 0).rsample(),
        lambda D, a, b: D.StudentT(a, b, b).rsample((2,)),
    ],
)
def test_a_sample_moves_with_its_parameters(draw: Any) -> None:
    """PyTorch approximates the derivative of a gamma quantile to about a thousandth."""
    seen = []
    for E in (torch, T):
        E.manual_seed(3)
        a, b = (
            E.tensor(x, dtype=E.float64, requires_grad=True)
            for x in ([0.02, 0.3, 1.0, 5.0, 40.0, 3e4], [2.0, 1.0, 0.5, 3.0, 1.0, 2.0])
        )
        drawn = draw(E.distributions, a, b)
        seen.append([drawn.detach(), *E.autograd.grad(drawn.sum(), (a, b))])
    for theirs, ours in zip(*seen, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-3, atol=1e-12)


def test_the_derivative_of_a_gamma_quantile_is_right_to_the_last_digits() -> None:
    # Of concentration 1 the quantile is -ln(1 - u): dx/da = -(dP/da)/e⁻ˣ, with dP/da by central differences of a fine sum.
    from tinygrad_edu.extra.distributions.draws import _gamma_slope

    for a, x in ((1.0, 0.4), (2.5, 1.7), (2.5, 6.0), (0.3, 2.0)):
        grid, weights = np.polynomial.legendre.leggauss(200)
        t = (x ** (1 / 8) * (grid + 1) / 2) ** 8  # fine near 0, where the density may be infinite

        def below(a: float, t: Any = t, x: float = x, grid: Any = grid, weights: Any = weights) -> float:
            steps = weights * x ** (1 / 8) / 2 * 8 * (x ** (1 / 8) * (grid + 1) / 2) ** 7
            return float((t ** (a - 1) * np.exp(-t) * steps).sum()) / math.gamma(a)

        h = 1e-3
        slope = (below(a - 2 * h) - 8 * below(a - h) + 8 * below(a + h) - below(a + 2 * h)) / (12 * h)
        density = x ** (a - 1) * math.exp(-x) / math.gamma(a)
        assert _gamma_slope(np.array(a), np.array(x)) == pytest.approx(-slope / density, rel=1e-8)
