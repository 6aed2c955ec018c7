"""Each row of the table of samples with one operand a step away from what fits: it raises on both engines, or gives the same.

A step is one size more or less, a dimension more or less, size 1, or another dtype.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.axes import not_alike, on_axis
from support.both import attempt
from support.op_table import _flat, seed
from support.parity import Raised
from support.samples import RANDOM, SAMPLES

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]

STEPS = ("more", "less", "one", "in front", "behind", "flat", "single", "whole", "truth")


def stepped(a: np.ndarray, step: str, dim: int) -> np.ndarray | None:
    """`a` a step away; None where there is no such step."""
    n = a.shape[dim] if a.ndim else 0
    if step in ("more", "less", "one", "flat") and not a.ndim:
        return None
    if step == "more":
        return np.concatenate([a, a.take([0], dim)], dim) if n else None
    if step == "less":
        return a.take(range(n - 1), dim) if n else None
    if step == "one":
        return a.take([0], dim) if n > 1 else None
    if step == "flat":
        return a.take(0, dim) if n else None
    if step in ("in front", "behind"):
        return a[None] if step == "in front" else a[..., None]
    kind = {"single": np.float32, "whole": np.int64, "truth": np.bool_}[step]
    return a.astype(kind) if a.dtype != kind else None


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
    if len(sample.inputs) > 1
    and not any(sample is s for s in RANDOM)
    and "embedding_bag" not in sample.code  # PyTorch itself crashes
    for name, given in sample.inputs.items()
    for step in STEPS
    for dim in (range(len(given.shape)) if step in ("more", "less", "one", "flat") else (0,))
]
# By the page of differences these are refused where PyTorch computes.
DECLARED = re.compile(r"solve_triangular|scaled_dot_product_attention|conv_transpose|lstsq")
IGNORED = (".version: ", ".is_view: ", ".base", ".is_leaf", ".output_nr")


@on_axis(CASES, one_in=100, named=lambda case: f"{SAMPLES[case[0]].code} {case}")
def test_what_is_a_step_away_raises_or_gives_what_it_does_in_pytorch(cases: list[Any]) -> None:
    assert not_alike(cases, program, IGNORED, excused) == []


def excused(case: Any, lines: list[str]) -> bool:
    return bool(DECLARED.search(SAMPLES[case[0]].code)) and all("tinygrad_edu ('an error'" in line for line in lines)
