"""Each row of the table of samples with one argument replaced by nonsense: no error of NumPy or of Python reaches the user."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from support.axes import on_axis
from support.op_table import seed
from support.samples import SAMPLES

import tinygrad_edu

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]

NONSENSE = (
    "None",
    "'abc'",
    "1.5",
    "[1, 2]",
    "-7",
    "99",
    "T.ones(5, 7, 6)",
    "T.ones(0)",
    "object",
    "{}",
    "float('nan')",
)
RAW = re.compile(
    r"operands could not|object of type|ufunc|for axis|setting an array|'\w+' object (has|is)|not supported between|"
    r"unsupported operand type|has no attribute|could not convert|numpy|ndarray|zip\(\)|division by zero|"
    r"cannot reshape|zero-size array|inhomogeneous|empty sequence|already entered|invalid literal"
)
CRASHES = re.compile(r"embedding_bag|ctc_loss|lstm|gru|rnn")  # in PyTorch itself


def variants(code: str) -> Iterator[str]:
    tree = ast.parse(code, mode="eval").body
    if isinstance(tree, ast.Call):
        for holder in (tree.args, tree.keywords):
            for i, slot in enumerate(holder):
                for each in NONSENSE:
                    new = ast.parse(each, mode="eval").body
                    holder[i] = ast.keyword(slot.arg, new) if isinstance(slot, ast.keyword) else new
                    yield ast.unparse(tree)
                holder[i] = slot


CASES = [(row, code) for row, s in enumerate(SAMPLES) if not CRASHES.search(s.code) for code in variants(s.code)]


@on_axis(CASES, one_in=40, named=lambda case: case[1])
def test_nonsense_is_refused_in_words_of_ours(cases: list[Any]) -> None:
    raw = []
    for row, code in cases:
        scope = {name: tinygrad_edu.tensor(a.copy()) for name, a in SAMPLES[row].arrays().items()}
        seed(tinygrad_edu)
        try:
            eval(code, {"T": tinygrad_edu, "F": tinygrad_edu.nn.functional, **scope})
        except Exception as error:
            if isinstance(error, AttributeError | ZeroDivisionError) or RAW.search(str(error).partition("\n")[0]):
                raw.append(f"{code}: {type(error).__name__}: {error}"[:200])
    assert raw == []


@pytest.mark.parametrize(
    "code",
    [
        "T.rsub(a, a, alpha=n)", "T.addmm(a, a, a, beta=n)", "F.leaky_relu(a, n)", "a.sum(k)", "a.norm(n)", "a.roll(k)",
        "a.chunk(k)[0]", "a.topk(k)[0]", "F.layer_norm(a, (2,), eps=n)", "a.renorm(n, 0, n)", "F.threshold(a, n, n)",
    ],
)  # fmt: skip
def test_a_tensor_of_one_number_is_taken_for_a_number(code: str) -> None:
    results = []
    for T in (torch, tinygrad_edu):
        scope = {"a": T.tensor([[1.0, -2.0], [3.0, 4.0]]), "n": T.tensor(2.0), "k": T.tensor(1)}
        results.append(eval(code, {"T": T, "F": T.nn.functional, **scope}))
    np.testing.assert_allclose(results[1].numpy(), results[0].numpy(), rtol=1e-6)


def test_an_error_of_the_users_own_code_is_left_alone() -> None:
    class Halved(tinygrad_edu.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return [].missing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="missing"):
        tinygrad_edu.exp(tinygrad_edu.ones(2).as_subclass(Halved))
