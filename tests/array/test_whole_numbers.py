"""Whole numbers past the range of an integer tensor: they wrap around, or are refused, where PyTorch does."""

import pytest
import torch

import tinygrad_edu

PROGRAMS = """a * 300; a + 300; 300 - a; a - 300; a // 300; a < 300; a == 300; a > -200; a + True; a / 300; a ** 300;
T.where(a > 0, a, 300); T.where(a > 0, 300, a); T.where(a > 0, 3, a); T.where(a > 0, 300, 400); a.clamp(max=300);
a.masked_fill(a > 0, 300); T.tensor(2**70); T.tensor([2**63]); T.tensor(True) * 300; 2.5 - a; 3 - a; True - a; a - True;
a - (a > 0); (a > 0) - (a > 0); 3 - (a > 0); a.sub_(True); a.sub_(2); T.add(a, a, alpha=2.5); T.sub(a, a, alpha=2.5);
a.add(2.5, alpha=2.5); T.add(a, a > 0, alpha=2); a.add_(a > 0, alpha=-3); T.sub(a.float(), a, alpha=1.5);
T.add(a.half(), a, alpha=2)"""
PROGRAMS = PROGRAMS.replace("\n", " ").split("; ")


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_number_that_does_not_fit_does_what_it_does_in_pytorch(program: str, kind: str) -> None:
    said = []
    for T in (tinygrad_edu, torch):
        a = T.tensor([100, -3] if kind == "int8" else [100, 3], dtype=getattr(T, kind))
        try:
            result = eval(program, {"T": T, "a": a})
            said.append((str(result.dtype).rpartition(".")[2], result.tolist()))
        except Exception:
            said.append(("an error", None))
    (ours, values), (theirs, expected) = said
    assert ours == theirs
    assert values == (expected if expected is None else pytest.approx(expected, rel=1e-6))
