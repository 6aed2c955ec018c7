"""NaN and infinity flow without a word, as in PyTorch: NumPy's warnings of them do not reach a learner."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

SILENT = [
    "1 / x", "x / x", "x * (1 / x)", "x - x / 0", "x.log()", "x.log2()", "(-x - 1).sqrt()", "x.sqrt()", "x.rsqrt()",
    "x.pow(-1.5)", "x ** x", "(x + 1000).exp()", "(1 / x - 1 / x)", "(1 / x).sin()", "(1 / x).sum()",
    "(1 / x - 1e30).cumsum(0)", "T.stack([1 / x, -1 / x]).sum()", "(1 / x).mean()", "(1 / x).var()", "(1 / x).std()",
    "(1 / x).norm()", "(1 / x).softmax(0)", "(1 / x).log_softmax(0)", "(1 / x).logsumexp(0)", "T.atan2(x, x)",
    "(1 / x).reshape(1, 2) @ x.reshape(2, 1)", "(x + 1e200).pow(2)", "(x + 2).acos()", "(x + 1).atanh()",
    "(x - 1).acosh()", "(1 / x).sigmoid()", "(-1 / x).sigmoid()", "T.nn.functional.softplus(1 / x)",
    "T.nn.functional.gelu(1 / x)", "T.nn.functional.silu(-1 / x)", "T.nn.functional.layer_norm(1 / x, (2,))",
    "T.nn.functional.binary_cross_entropy(x, 1 - x)", "T.nn.functional.mse_loss(1 / x, -1 / x)",
    "T.nn.functional.normalize(1 / x, dim=0)", "x.clone().div_(0).log_()", "(x * 1e300).float()", "x.prod()", "x.logit()",
    "x.expand(3, 2) / 0 - x / 0",
]  # fmt: skip


@pytest.mark.parametrize("code", SILENT)
def test_neither_the_value_nor_the_gradients_warn_and_they_are_those_of_pytorch(code: str) -> None:
    seen = []
    for T in (tinygrad_edu, torch):
        x = T.tensor([0.0, 1.0], dtype=T.float64, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = eval(code, {"T": T, "x": x})
            (first,) = T.autograd.grad(y.sum(), x, create_graph=True)
            (plain,) = T.autograd.grad(y.sum(), x, retain_graph=True)
        seen.append([t.detach().numpy() for t in (y, first, plain)])
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_learners_own_numpy_still_warns_in_each_thread() -> None:
    heard: list[Any] = []

    def work() -> None:
        x = tinygrad_edu.tensor(0.0, requires_grad=True)
        (1 / x).backward()
        heard.append(np.geterr())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work()
    assert heard == [np.geterr()] * 5
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.ones(1) / np.zeros(1)
