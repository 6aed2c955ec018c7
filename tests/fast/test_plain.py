"""The engine with and without `fast/`: the same values, names and errors; and what leaves the straight road comes back to it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tinygrad_edu as T

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import json, sys
import tinygrad_edu as T
from tinygrad_edu.core.op import Op
seen = []
def run(f):
    try:
        seen.append(f())
    except Exception as error:
        seen.append([type(error).__name__, str(error)])
def chain():
    w, x = T.tensor(3.0, requires_grad=True), T.tensor(2.0, dtype=T.float64)
    y = (w * x + w / x - w) * w.exp() ** 2
    node, names = y.grad_fn, []
    while node is not None:
        names.append(node.name())
        node = next((n for n, _ in node.next_functions if n is not None), None)
    y.backward()
    return y.item(), str(y.dtype), w.grad.item(), names
def twice():
    w = T.tensor(3.0, requires_grad=True)
    y = w * w
    y.backward()
    y.backward()
def written():
    w, c = T.tensor(3.0, requires_grad=True), T.tensor(2.0)
    y = w * c
    c.add_(1)
    y.backward()
def misfit():
    return T.ones(2, requires_grad=True) * T.ones(3)
def arrays():
    w, b = T.ones(2, 3, requires_grad=True), T.ones(3, requires_grad=True)
    s, i = ((w * b).relu() @ T.ones(3, 2)).max(1)
    s.sum().backward()
    return w.grad.tolist(), b.grad.tolist(), i.tolist(), s.grad_fn.name()
def second():
    w = T.tensor(2.0, requires_grad=True)
    (g,) = T.autograd.grad(w * w * w, w, create_graph=True)
    return T.autograd.grad(g, w)[0].item()
for f in (chain, twice, written, misfit, arrays, second):
    run(f)
print(json.dumps([seen, "tinygrad_edu.fast" in sys.modules]))
"""


def _run(plain: str, program: str = PROGRAM) -> Any:
    env = {**os.environ, "TINYGRAD_EDU_PLAIN": plain}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_values_names_and_errors_are_the_same_without_fast() -> None:
    (fast, has), (plain, has_not) = _run("0"), _run("1")
    assert has and not has_not
    assert fast == plain


def test_the_road_of_a_product_is_short() -> None:
    count = "import sys, json; sys.modules['torch'] = None  # the peer takes seconds to import\n"
    count += "sys.path.insert(0, 'benchmarks'); import core; print(json.dumps(core.passed()))"
    files, functions, lines = _run("1", count)
    assert files <= 4 and functions <= 14 and lines <= 90


def _is_on_the_road() -> bool:
    """True if the result of a scalar product is kept as a number, which only the straight road does."""
    y = T.tensor(2.0, requires_grad=True) * T.tensor(3.0)
    return "_data" not in vars(y)


@pytest.mark.skipif(os.environ.get("TINYGRAD_EDU_PLAIN", "0") not in ("", "0"), reason="there is no other road")
def test_nothing_unusual_leaves_a_trace_behind() -> None:
    """A complex tensor, bfloat16, a function mode, autocast, a subclass, a dual level and a volatile tensor slow nothing after them."""
    assert _is_on_the_road()
    z = T.tensor(1j, requires_grad=True)
    (z * z).abs().backward()
    assert _is_on_the_road()
    T.tensor(1.0, dtype=T.bfloat16, requires_grad=True).exp().backward()
    assert _is_on_the_road()
    with T.overrides.FunctionMode():
        T.tensor(2.0) * T.tensor(3.0)
    assert _is_on_the_road()
    with T.autocast("cpu"):
        T.ones(2, 2) @ T.ones(2, 2)
    assert _is_on_the_road()
    kept = type("Kept", (T.Tensor,), {})
    assert type(T.tensor(2.0) * T.tensor(3.0).as_subclass(kept)) is kept
    assert _is_on_the_road()
    with T.autograd.forward_ad.dual_level():
        assert not _is_on_the_road()
    assert _is_on_the_road()
    x = T.tensor(1.0)
    with pytest.warns(UserWarning, match="volatile"):
        x.volatile = True
    assert not _is_on_the_road()
    del x
    assert _is_on_the_road()
