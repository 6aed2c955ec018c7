"""Answers that reach for what measures them earn nothing and are told so; honest ones that use the same modules are not."""

import pytest

from tinygrad_edu.exercises import get
from tinygrad_edu.exercises.judging.judge import judge
from tinygrad_edu.exercises.running.sandbox import Sandbox, unit_of

pytestmark = pytest.mark.outer(start=2)

pytest.importorskip("torch")

KEEP = """
def log_loss(T, losses):
    total, n = 0.0, 0
    for loss in losses:
        total = total + loss
        n += 1
    return (total / n).detach()
"""

ATTACKS = {
    "weakset": ("log_loss", "import weakref\nweakref.WeakSet.__len__ = lambda s: 1\n" + KEEP),
    "weakset in call": (
        "log_loss",
        """
import builtins
def log_loss(T, losses):
    old = builtins.sum
    builtins.sum = lambda *a: 1
    total, n = 0.0, 0
    for loss in losses:
        total = total + loss
        n += 1
    builtins.sum = old
    return (total / n).detach()
""",
    ),
    "frames": (
        "log_loss",
        """
import sys
def log_loss(T, losses):
    f = sys._getframe()
    while f:
        if 'alive' in f.f_locals: alive = f.f_locals['alive']
        f = f.f_back
    total = sum(losses)
    alive[:] = [1]*6
    return total.detach() / 6
""",
    ),
    "traceback": (
        "log_loss",
        """
def log_loss(T, losses):
    try: 1/0
    except Exception as e: f = e.__traceback__.tb_frame
    return 1
""",
    ),
    "gi_frame": (
        "log_loss",
        """
def log_loss(T, losses):
    it = iter(losses)
    f = it.gi_frame
    return 1
""",
    ),
    "gc": (
        "log_loss",
        """
import gc
def log_loss(T, losses):
    for o in gc.get_objects(): pass
    return 1
""",
    ),
    "walk": (
        "log_loss",
        """
import traceback
def log_loss(T, losses):
    for f, _ in traceback.walk_stack(None): pass
    return 1
""",
    ),
    "closure": (
        "without_volatile",
        """
def without_volatile(T, model, x):
    y = model(x).item()
    for c in model.__closure__:
        if isinstance(c.cell_contents, list): c.cell_contents[:] = [False]
    return y
""",
    ),
    "patch grad": (
        "without_volatile",
        """
def without_volatile(T, model, x):
    K = T.Tensor
    K.requires_grad = property(lambda s: False)
    y = model(x).item()
    del K.requires_grad
    return y
""",
    ),
    "forged": (
        "log_loss",
        """
import os, json
def obs(): return [[2.0, 1.0, 5.0, 0.0, 1.0, 2.0, -2.0], [[1]*7]]
os.write(3, json.dumps({"answer":"a function","observed":{"tinygrad_edu":obs(),"torch":obs()}}).encode())
os._exit(0)
""",
    ),
    "code": (
        "log_loss",
        """
import tinygrad_edu.exercises.running.helpers as h
h.opaque.__code__ = (lambda f: f).__code__
"""
        + KEEP,
    ),
    "encode": (
        "log_loss",
        """
import tinygrad_edu.exercises.running.probe as p
p.encode = lambda v: {'list':[1]*7}
"""
        + KEEP,
    ),
}

HONEST = """
import traceback, inspect, logging
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple
from enum import Enum
class K(Enum):
    a = 1
@dataclass
class D:
    a: float
class N(NamedTuple):
    a: float
    b: float
G = namedtuple("G","a b")
def mul_backward(grad_output, a, b):
    try: 1/0
    except Exception: traceback.format_exc()
    inspect.signature(D)
    logging.info("x")
    return G(grad_output*b, grad_output*a)
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(["torch"]) as sandbox:
        yield sandbox


@pytest.mark.parametrize("what", ATTACKS)
def test_tampering_with_an_instrument_earns_nothing_and_is_named(what, sandbox):
    id, source = ATTACKS[what]
    found = judge(get(id), sandbox.run(unit_of(get(id), source, seed=3)), 3)
    if what == "closure":  # there is nothing to reach: the answer fails by itself, like any other
        assert "__closure__" in found.marks[1].failure.message
        return
    assert found.points == 0
    assert "result of its own" in found.trouble if what == "forged" else "what measures it" in found.trouble
    assert found.reason == found.trouble


def test_an_honest_answer_may_print_a_traceback_and_make_its_own_types(sandbox):
    assert judge(get("mul_backward"), sandbox.run(unit_of(get("mul_backward"), HONEST, seed=3)), 3).passed
