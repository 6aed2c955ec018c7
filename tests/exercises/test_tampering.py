"""Answers that reach for what measures them earn nothing, and are told so. Honest ones may use the same modules."""

import pytest
from support.grading import verdict

pytestmark = pytest.mark.outer(start=2)
LOADED = ["torch"]
MEAN = "def log_loss(T, losses):\n    return (sum(losses) / len(losses)).detach()\n"
BODY = "def log_loss(T, losses):\n    {}\n    return 1\n"
OTHER = {  # the exercises that are not log_loss
    "closure": (
        "without_volatile",
        """
def without_volatile(T, model, x):
    y = model(x).item()
    for c in model.__closure__:
        if isinstance(c.cell_contents, list): c.cell_contents[:] = [False]
    return y""",
    ),
    "patch grad": (
        "without_volatile",
        """
def without_volatile(T, model, x):
    K = T.Tensor
    K.requires_grad = property(lambda s: False)
    y = model(x).item()
    del K.requires_grad
    return y""",
    ),
    "patch PyTorch": (
        "sgd_step",
        """
torch.allclose = torch.equal = lambda *a, **k: True
torch.Tensor.__eq__ = lambda a, b: True
def sgd_step(T, w, lr):
    if T is torch: return w
    w.data -= lr * w.grad
    return w""",
    ),
}
ATTACKS = {
    "weakset": "import weakref\nweakref.WeakSet.__len__ = lambda s: 1\n" + MEAN,
    "sum in call": """
import builtins
def log_loss(T, losses):
    old, builtins.sum = builtins.sum, lambda *a: 1
    total = old(losses)
    builtins.sum = old
    return (total / len(losses)).detach()""",
    "frames": """
import sys
def log_loss(T, losses):
    f = sys._getframe()
    while f:
        if 'alive' in f.f_locals: alive = f.f_locals['alive']
        f = f.f_back
    alive[:] = [1]*6
    return sum(losses).detach() / 6""",
    "traceback": BODY.format("try: 1/0\n    except Exception as e: f = e.__traceback__.tb_frame"),
    "gi_frame": BODY.format("f = iter(losses).gi_frame"),
    "gc": "import gc\n" + BODY.format("gc.get_objects()"),
    "walk": "import traceback\n" + BODY.format("for f, _ in traceback.walk_stack(None): pass"),
    "code": "import tinygrad_edu.exercises.running.helpers as h\nh.opaque.__code__ = (lambda f: f).__code__\n" + MEAN,
    "encode": "import tinygrad_edu.exercises.running.probe as p\np.encode = lambda v: {'list':[1]*7}\n" + MEAN,
    "a file of Python's": BODY.format("exec(compile('import sys; sys._getframe()', '<frozen>', 'exec'))"),
    "a custom file name": BODY.format(
        "exec(compile('import sys; sys._getframe()', type('N', (str,), {'startswith': print})('<y>'), 'exec'))"
    ),
    "marshal": "import marshal\n" + BODY.format("marshal.loads(marshal.dumps(log_loss.__code__))"),
    "patch dtype": "import torch\ntorch.set_default_dtype = print\n" + MEAN,
    "time": "import tinygrad_edu.sandbox.time_limit as t\nt.Budget.left = 1\nt.time_limit = t.Budget\n" + MEAN,
}
ATTACKS = {what: ("log_loss", source) for what, source in ATTACKS.items()} | OTHER

HONEST = """
import traceback, inspect, logging, pdb, cProfile, torch, tinygrad_edu as tg
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
    exec(compile("1", "a", "exec"))
    for T in (torch, tg): T.set_default_dtype(T.float64)
    breakpoint(), pdb.set_trace(), help(inspect), cProfile.run("1")
    logging.info("x")
    return G(grad_output*b, grad_output*a)
"""


@pytest.mark.parametrize("what", ATTACKS)
def test_tampering_with_an_instrument_earns_nothing_and_is_named(what, sandbox):
    id, source = ATTACKS[what]
    found = verdict(sandbox, source, id=id)
    if what == "closure":  # there is nothing to reach: the answer fails by itself, like any other
        assert "__closure__" in found.marks[1].failure.message
        return
    assert found.points == 0
    assert "what measures it" in found.trouble
    assert found.reason == found.trouble


def test_an_honest_answer_may_print_a_traceback_and_make_its_own_types(sandbox):
    assert verdict(sandbox, HONEST).passed
