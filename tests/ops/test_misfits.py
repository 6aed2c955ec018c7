"""Each row of the table of samples with nonsense for an argument, or with an operand a step away from what fits.

A step is a size or a dimension more or less, size 1, or another dtype. It raises on both engines, or gives the same.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.axes import not_alike, on_axis
from support.both import attempt
from support.op_table import _flat, seed
from support.parity import Raised
from support.samples import RANDOM, SAMPLES

import tinygrad_edu

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]
NONSENSE = "None | 'abc' | 1.5 | [1, 2] | -7 | 99 | T.ones(5, 7, 6) | T.ones(0) | object | {} | float('nan')"
# NotImplementedError is a RuntimeError; `embedding` raises an AssertionError. An AttributeError or a ZeroDivisionError
# would be one of our own code.
KINDS = (TypeError, RuntimeError, IndexError, ValueError, AssertionError)
CRASHES = re.compile(r"lstm|gru|rnn")  # in PyTorch itself


def variants(code: str) -> Iterator[str]:
    tree = ast.parse(code, mode="eval").body
    if isinstance(tree, ast.Call):
        for holder in (tree.args, tree.keywords):
            for i, slot in enumerate(holder):
                for each in NONSENSE.split(" | "):
                    new = ast.parse(each, mode="eval").body
                    holder[i] = ast.keyword(slot.arg, new) if isinstance(slot, ast.keyword) else new
                    yield ast.unparse(tree)
                holder[i] = slot


NONSENSICAL = [(row, code) for row, s in enumerate(SAMPLES) if not CRASHES.search(s.code) for code in variants(s.code)]


@on_axis(NONSENSICAL, one_in=40, named=lambda case: case[1])
def test_nonsense_is_refused_by_an_error_of_pytorchs_kinds(cases: list[Any]) -> None:
    raw = []
    for row, code in cases:
        scope = {name: tinygrad_edu.tensor(a.copy()) for name, a in SAMPLES[row].arrays().items()}
        seed(tinygrad_edu)
        try:
            eval(code, {"T": tinygrad_edu, "F": tinygrad_edu.nn.functional, **scope})
        except Exception as error:
            if not isinstance(error, KINDS):
                raw.append(f"{code}: {type(error).__name__}: {error}"[:200])
    assert raw == []


NUMBERS = "T.addmm(a, a, a, beta=n); F.leaky_relu(a, n); a.norm(n); a.topk(k)[0]"


def test_a_tensor_of_one_number_is_taken_for_a_number() -> None:
    def program(T: Any, code: str) -> Any:
        scope = {"a": T.tensor([[1.0, -2.0], [3.0, 4.0]]), "n": T.tensor(2.0), "k": T.tensor(1)}
        return eval(code, {"T": T, "F": T.nn.functional, **scope})

    assert not_alike([(code,) for code in NUMBERS.split("; ")], program, IGNORED) == []


STEPS = ("more", "less", "one", "in front", "behind", "flat", "single", "whole", "truth")


def stepped(a: np.ndarray, step: str, dim: int) -> np.ndarray | None:
    """`a` a step away; None where there is no such step."""
    n = a.shape[dim] if a.ndim else 0
    kinds = {"single": np.float32, "whole": np.int64, "truth": np.bool_}
    if step in kinds:
        return a.astype(kinds[step]) if a.dtype != kinds[step] else None
    if step in ("in front", "behind"):
        return a[None] if step == "in front" else a[..., None]
    if n == 0 or (step == "one" and n == 1):
        return None
    taken = {"more": [*range(n), 0], "less": [*range(n - 1)], "one": [0], "flat": 0}[step]
    return a.take(taken, dim).astype(a.dtype)


def program(T: Any, row: int, name: str, step: str, dim: int) -> Any:
    scope = {}
    for each, a in SAMPLES[row].arrays().items():
        changed = stepped(a, step, dim) if each == name else a
        if changed is None:
            return None
        scope[each] = T.tensor(changed)
    seed(T)
    result = attempt(lambda: eval(SAMPLES[row].code, {"T": T, "F": T.nn.functional, **scope}))
    if isinstance(result, Raised):
        return Raised(("an error", ""))
    return [t.detach() if hasattr(t, "grad_fn") else t for t in _flat(result)]


CASES = [
    (row, name, step, dim)
    for row, sample in enumerate(SAMPLES)
    if len(sample.inputs) > 1 and not any(sample is s for s in RANDOM)
    for name, given in sample.inputs.items()
    for step in STEPS
    for dim in (range(len(given.shape)) if step in ("more", "less", "one", "flat") else (0,))
]
# By the page of differences these are refused where PyTorch computes.
DECLARED = re.compile(r"scaled_dot_product_attention|conv_transpose")
IGNORED = (".version: ", ".is_view: ", ".base", ".is_leaf", ".output_nr")


@on_axis(CASES, one_in=100, named=lambda case: f"{SAMPLES[case[0]].code} {case}")
def test_what_is_a_step_away_raises_or_gives_what_it_does_in_pytorch(cases: list[Any]) -> None:
    assert not_alike(cases, program, IGNORED, is_declared) == []


def is_declared(case: Any, lines: list[str]) -> bool:
    if case[1:3] == ("v", "less") and all("PyTorch has (1, 2, 4, 4)" in line for line in lines):
        return True  # an attention over no values, which PyTorch answers with zeros
    return bool(DECLARED.search(SAMPLES[case[0]].code)) and all("tinygrad_edu ('an error'" in line for line in lines)
