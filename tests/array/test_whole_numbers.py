"""Whole numbers past the range of an integer tensor: they wrap around, or are refused, where PyTorch does."""

from __future__ import annotations

import pytest
import torch

import tinygrad_edu

PROGRAMS = [
    "a * 300", "a + 300", "300 - a", "a - 300", "a // 300", "a < 300", "a == 300", "a > -200", "a + True", "a / 300",
    "T.where(a > 0, a, 300)", "T.where(a > 0, 300, a)", "T.where(a > 0, 3, a)", "T.where(a > 0, 300, 400)", "a ** 300",
    "a.clamp(max=300)", "a.masked_fill(a > 0, 300)", "T.tensor(2**70)", "T.tensor([2**63])", "T.tensor(True) * 300",
    "2.5 - a", "3 - a", "True - a", "a - True", "a - (a > 0)", "(a > 0) - (a > 0)", "3 - (a > 0)", "a.sub_(True)",
    "a.sub_(2)", "T.rsub(a, 2, alpha=2)", "T.rsub(a, 2, alpha=2.5)", "T.rsub(a, 2.5, alpha=2.5)", "T.add(a, a, alpha=2.5)",
    "T.sub(a, a, alpha=2.5)", "a.add(2.5, alpha=2.5)",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_number_that_does_not_fit_does_what_it_does_in_pytorch(program: str, kind: str) -> None:
    said = []
    for T in (tinygrad_edu, torch):
        try:
            result = eval(
                program, {"T": T, "a": T.tensor([100, -3] if kind == "int8" else [100, 3], dtype=getattr(T, kind))}
            )
            said.append((str(result.dtype).rpartition(".")[2], result.tolist()))
        except Exception as error:
            said.append((type(error).__name__, None))
    ours, theirs = said
    if theirs[1] is None:
        assert ours[1] is None
    else:
        assert ours[0] == theirs[0]
        assert ours[1] == pytest.approx(theirs[1], rel=1e-6)
