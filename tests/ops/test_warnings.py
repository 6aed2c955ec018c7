"""NaN and infinity flow silently, as in PyTorch: NumPy's warnings about them do not reach a learner."""

import ast
import math
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from support import printed

import tinygrad_edu

SILENT = """1 / x; x / x; x * (1 / x); x - x / 0; x.log(); x.log2(); (-x - 1).sqrt(); x.sqrt(); x.rsqrt(); x.pow(-1.5);
x ** x; (x + 1000).exp(); (1 / x - 1 / x); (1 / x).sin(); (1 / x).sum(); (1 / x - 1e30).cumsum(0);
T.stack([1 / x, -1 / x]).sum(); (1 / x).mean(); (1 / x).var(); (1 / x).std(); (1 / x).norm(); (1 / x).softmax(0);
(1 / x).log_softmax(0); (1 / x).logsumexp(0); T.atan2(x, x); (1 / x).reshape(1, 2) @ x.reshape(2, 1);
(x + 1e200).pow(2); (x + 2).acos(); (1 / x).sigmoid(); (-1 / x).sigmoid(); F.softplus(1 / x); F.gelu(1 / x);
F.silu(-1 / x); F.layer_norm(1 / x, (2,)); F.binary_cross_entropy(x, 1 - x); F.mse_loss(1 / x, -1 / x);
F.normalize(1 / x, dim=0); x.clone().div_(0).log_(); (x * 1e300).float(); x.prod(); x.logit();
x.expand(3, 2) / 0 - x / 0; F.mse_loss(x[:0], x[:0]); x[:0].half().mean().double(); x ** 0.5; x ** 0; x.sqrt() * 0;
x.exp() * math.inf * 0; T.where(x > 0, x.sqrt(), x * 0); (x * x).sqrt(); (x * x).sum().sqrt(); (x / x).relu();
(x / x).max(); (x / x).clamp(0, 1); (x * 1e5).sigmoid().log(); (x * 1e4).tanh()"""


@pytest.mark.parametrize("code", SILENT.replace("\n", " ").split("; "))
def test_neither_the_value_nor_the_gradients_warn_and_they_are_those_of_pytorch(code: str) -> None:
    seen, twice = [], "softplus" not in code  # at infinity the second gradient is NaN in PyTorch
    for T in (tinygrad_edu, torch):
        short = any(word in code for word in ("reshape", "(2,)", "expand", "cross_entropy"))
        x = T.tensor([0.0, 1.0, -1.0, 4.0][: 2 if short else 4], dtype=T.float64, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = eval(code, {"T": T, "F": T.nn.functional, "math": math, "x": x})
            (first,) = T.autograd.grad(y.sum(), x, create_graph=True)
            (plain,) = T.autograd.grad(y.sum(), x, retain_graph=True)
            second = T.autograd.grad(first.sum(), x, materialize_grads=True)[0] if first.requires_grad and twice else x
        seen.append([t.detach().numpy() for t in (y, first, plain, second)])
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_learners_own_numpy_still_warns_in_each_thread() -> None:
    heard: list[Any] = []

    def work() -> None:
        (1 / tinygrad_edu.tensor(0.0, requires_grad=True)).backward()
        heard.append(np.geterr())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numpys_own: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    with np.errstate(**numpys_own):  # whatever was interrupted before in this thread
        work()
        assert heard == [numpys_own] * 5
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            np.ones(1) / np.zeros(1)


CYCLE = "Using backward() with create_graph=True will create a reference cycle"
TOLD = {"(x * x).sum().backward(create_graph=True)": CYCLE}
TOLD |= {"T.autograd.backward((x * x).sum(), create_graph=True, inputs=[x])": CYCLE}
TOLD |= {"T.autograd.grad((x * x).sum(), x, create_graph=True)": None}
TOLD |= {"x.T": "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated"}
TOLD |= {"x.reshape(1, 2).T": None, "x.reshape(1, 2, 1).mT": None}
PROGRAM = """
import sys, warnings
import {engine} as T
for line in {lines!r}:
    for time in range(2):
        x = T.tensor([0.5, 1.0], requires_grad=True)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            eval(line)
        print([str(w.message).split(" (Triggered")[0][:90] for w in heard])
"""


def heard(engine: str, lines: list[str]) -> list[list[str]]:
    """What each line warns of, the first time and the second, in a new process."""
    return [ast.literal_eval(line) for line in printed(PROGRAM.format(engine=engine, lines=lines)).splitlines()]


@pytest.mark.outer
def test_what_pytorch_warns_of_is_warned_of_once_in_a_process() -> None:
    for engine in ("torch", "tinygrad_edu"):
        told: set[str] = set()
        texts = iter(heard(engine, list(TOLD)))
        for line, phrase in TOLD.items():
            first, second = next(texts), next(texts)
            expected = [] if phrase is None or phrase[:30] in told else [phrase]
            told |= {text[:30] for text in first}
            assert [text[: len(e)] for text, e in zip(first, expected, strict=True)] == expected, (engine, line)
            assert second == []
