"""Distributions: PyTorch's numbers, draws, gradients and refusals."""

from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

MADE = """D.Normal(a, b): a + 1; D.Normal(0.0, 2.0): a[0]; D.Uniform(a, a + b): a + b / 2;
D.Bernoulli(b / 4): (a > 0) * 1.0; D.Bernoulli(logits=a): (a > 0) * 1.0; D.Categorical(b): T.tensor(2);
D.Categorical(logits=T.stack([a, b])): T.tensor([0, 2]); D.Independent(D.Normal(a, b), 1): a;
D.OneHotCategorical(logits=a): T.tensor([0.0, 1.0, 0.0])"""
MADE = dict(row.split(": ") for row in MADE.replace("\n", " ").split("; "))
PAIRS = """D.Normal(a, b), D.Normal(b, b * 2); D.Bernoulli(b / 4), D.Bernoulli(logits=a);
D.Categorical(b), D.Categorical(logits=a); D.Uniform(a, a + b), D.Uniform(a - 1, a + 5);
D.Independent(D.Normal(a, b), 1), D.Independent(D.Normal(b, b), 1); D.Uniform(a, a + b), D.Uniform(a, a + b / 2);
D.OneHotCategorical(b), D.OneHotCategorical(logits=a)"""
WRONG = """D.Normal(a, -b); D.Bernoulli(b); D.Uniform(a, a); D.Categorical(a); D.Bernoulli();
D.Bernoulli(probs=b / 4, logits=a); D.Categorical(b).rsample(); D.Independent(D.Normal(a, b), 2);
D.kl_divergence(D.Normal(a, b), D.Categorical(b))"""


def scope(T: Any) -> dict[str, Any]:
    a, b = (T.tensor(values, requires_grad=True) for values in ([0.5, -1.0, 2.0], [1.0, 0.25, 3.0]))
    return {"T": T, "D": T.distributions, "a": a, "b": b}


def agree(program: Any) -> None:
    """The results of `program` on both engines, and the gradients of `a` and `b` where they are finite."""
    outcomes = []
    for T in (tinygrad_edu, torch):
        T.manual_seed(3)
        names = scope(T)
        results, wanted = program(T, names), [names["a"], names["b"]]
        total = sum((t[t.isfinite()] ** 2).sum() for t in (*results, *(w * 0 for w in wanted)))
        outcomes.append([t.detach().numpy() for t in (*results, *T.autograd.grad(total, wanted), T.rand(2))])
    for ours, theirs in zip(*outcomes, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("code", MADE)
def test_probabilities_entropy_moments_and_draws_from_one_seed_are_pytorchs(code: str) -> None:
    def program(T: Any, names: dict[str, Any]) -> list[Any]:
        made, value = eval(code, names), eval(MADE[code], names)
        wide = made.expand((2, *made.batch_shape))
        results = [made.log_prob(value), wide.log_prob(value), made.entropy(), made.sample(), wide.sample((5,))]
        results += [made.rsample((4,))] if made.has_rsample else []
        return results + ([] if "Categorical(" in code else [made.mean, made.variance, made.stddev])

    agree(program)


@pytest.mark.parametrize("code", PAIRS.replace("\n", " ").split("; "))
def test_the_divergence_of_two_is_pytorchs(code: str) -> None:
    agree(lambda T, names: [T.distributions.kl_divergence(*eval(f"({code})", names))])


@pytest.mark.parametrize("code", WRONG.replace("\n", " ").split("; "))
def test_what_pytorch_refuses_is_refused(code: str) -> None:
    for T in (tinygrad_edu, torch):
        with pytest.raises((ValueError, NotImplementedError)):
            eval(code, scope(T))
