"""NaN and infinity arise in gradients without NumPy's warnings, wherever the engine itself computes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.both import leaf, same_on_both, values_of

import tinygrad_edu

INF = float("inf")


def broadcast(T):
    x = leaf(T, 1.0, 2.0)
    (x * T.tensor([[INF, 1.0], [-INF, 1.0]], dtype=T.float64)).sum().backward()
    return x.grad


def added_to_the_leaf_and_met_on_the_way(T):
    x = leaf(T, 1.0, 2.0)
    (x * INF).sum().backward()
    (x * -INF).sum().backward()
    y = x * 2
    return x.grad, T.autograd.grad((y * INF).sum() + (y * -INF).sum(), x)


def retained(T):
    x = leaf(T, 1e308)
    y = x * 1
    y.retain_grad()
    for _ in range(2):
        (y * 1e308).backward(retain_graph=True)
    return x.grad, y.grad


def in_a_smaller_dtype(T):
    x = T.tensor([1.0], dtype=T.float32, requires_grad=True)
    (x.double() * 1e300).backward()
    return x.grad


def through_a_write(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    y[0] = T.tensor([INF, 1.0], dtype=T.float64)
    y.view(-1)[1:].mul_(INF)
    (y - y).sum().backward()
    return x.grad


def by_a_custom_function(T):
    gradient = staticmethod(lambda ctx, grad: T.tensor([[INF, 1.0], [-INF, 1.0]], dtype=T.float64))
    x = leaf(T, 1.0, 2.0)
    rules = {"forward": staticmethod(lambda ctx, x: x * 1), "backward": gradient}
    type("Wide", (T.autograd.Function,), rules).apply(x).sum().backward()
    return x.grad


def made_too_large(T):
    return T.tensor([1e300]), T.tensor([1e300], dtype=T.float64).float(), T.tensor(1e300, dtype=T.float32)


PROGRAMS = [
    *(broadcast, added_to_the_leaf_and_met_on_the_way, retained, in_a_smaller_dtype),
    *(through_a_write, by_a_custom_function, made_too_large),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_result_is_that_of_pytorch_and_nothing_is_said(program) -> None:
    same_on_both(program)()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program(tinygrad_edu)


def test_gradcheck_compares_infinite_slopes_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf(tinygrad_edu, 1.0)
        tinygrad_edu.autograd.gradcheck(lambda a: a * INF, x, raise_exception=False)
    assert np.isnan(values_of(x * INF - x * INF)).all()
