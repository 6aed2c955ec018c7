"""Untrusted code: each attack scores exactly what was honestly earned, and it does not affect the next answer.

The exercise is `mul_backward`, 3 points: 1 for grad_output = 1, 2 for any other.
"""

import os
import signal
import sys

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import printed
from support.grading import MUL as RIGHT
from support.grading import verdict

from tinygrad_edu.exercises import get
from tinygrad_edu.exercises.exercise import PROGRAM, unit_of
from tinygrad_edu.exercises.judging.judge import judge
from tinygrad_edu.sandbox import outside
from tinygrad_edu.sandbox.outside import Sandbox
from tinygrad_edu.sandbox.trouble import TOLD_INSIDE, TOLD_OUTSIDE

pytestmark = pytest.mark.outer(start=2)
WRONG = "def mul_backward(grad_output, a, b):\n    return grad_output * a, grad_output * b\n"
ENDED, LOST, TOO_LONG, TOO_MUCH = (f"{TOLD_OUTSIDE[kind]}." for kind in ("ended", "lost", "too long", "too much"))
linux = pytest.mark.skipif(sys.platform != "linux", reason="namespaces and seccomp are Linux's")


WORTHLESS = {
    "an object equal to everything": """
class Equal(float):
    __hash__ = float.__hash__
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return 0.0
    def __rsub__(self, other): return 0.0
    def __abs__(self): return 0.0
def mul_backward(grad_output, a, b): return Equal(1), Equal(1)""",
    "a class that lies about itself": """
class Array:
    __class__ = float
    dtype, shape, size, ndim = "float64", (), 1, 0
    def __array__(self, *args, **kwargs): raise SystemExit
def mul_backward(grad_output, a, b): return Array(), Array()""",
    "numbers that are only found out when they are asked for": """
class Late:
    @property
    def __class__(self): return float
    def __getattr__(self, name): return lambda *args: 1.0
    def __reduce__(self): return (float, ("1.0",))
    def __repr__(self): raise KeyboardInterrupt
def mul_backward(grad_output, a, b): return Late(), Late()""",
    "a tensor of its own make": """
class Tensor:
    def detach(self): return self
    def numpy(self): return b"1"
Tensor.__module__ = "torch"
def mul_backward(grad_output, a, b): return Tensor(), Tensor()""",
    "a type whose type lies": """
class Kind(type):
    __name__ = property(lambda cls: "float")
    __instancecheck__ = __subclasscheck__ = lambda cls, other: True
    __eq__ = lambda cls, other: True
    __hash__ = lambda cls: hash(float)
class Number(metaclass=Kind): pass
def mul_backward(grad_output, a, b): return Number(), Number()""",
    "an error that says it is another": """
class Kind(type):
    __name__ = property(lambda cls: 1 / 0)
class Wrong(Exception, metaclass=Kind):
    __traceback__ = property(lambda self: 1 / 0)
def mul_backward(grad_output, a, b): raise Wrong""",
    "an import of the judge": "from tinygrad_edu.exercises.judging.judge import judge\n" + WRONG,
    "NaN for every number": "def mul_backward(grad_output, a, b): return float('nan'), float('nan')",
    "a number that NumPy is told is another": """
import numpy as np
class Number(np.float64):
    def __array__(self, *args, **kwargs): return np.array(1.0)
    item = tolist = lambda self: 1.0
def mul_backward(grad_output, a, b): return Number(7), Number(7)""",
    "a tuple that shows other items": """
class Pair(tuple):
    def __iter__(self): return iter((3.0, 2.0))
    def __len__(self): return 2
    def __reduce__(self): return (exec, ("1 / 0",))
def mul_backward(grad_output, a, b): return Pair()""",
    "a name in letters that look alike": RIGHT.replace("mul_ba", "mul_b\u0430"),
}
BEFORE_A_WRONG_ANSWER = {
    "NumPy patched to agree": """
import numpy as np
np.allclose = np.array_equal = np.isclose = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
np.ndarray = object
""",
    "json patched": """
import json
json.dumps = lambda *a, **k: '{"points": 3, "passed": true}'
""",
    "a syntax-tree transformer": """
import ast
class NoAssert(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Compare(self, node): return ast.Constant(True)
try: get_ipython().ast_transformers.append(NoAssert())
except NameError: pass
""",
    "a verdict at the end of the process": """
import atexit, os
verdict = b'{"answer": "a function", "observed": {"tinygrad_edu": [[true, true], [true, true, true]]}}'
atexit.register(os.write, 3, verdict)
""",
    "hooks on imports, and no modules": """
import sys
class Hook:
    def find_spec(self, name, path=None, target=None): raise SystemExit(name)
sys.meta_path.insert(0, Hook())
sys.modules = {}
""",
    "the process's own exit in the answer's hands": """
import os
os._exit = lambda code: None
""",
    "noise on every descriptor": """
import os
for descriptor in range(64):
    try: os.write(descriptor, b'{"score": 3}')
    except OSError: pass
""",
}
WORTHLESS |= {name: source + WRONG for name, source in BEFORE_A_WRONG_ANSWER.items()}
FORGED = {  # what an answer may write in the place of the probe
    "a verdict on the result channel": b'{"answer": "a function", '
    b'"observed": {"tinygrad_edu": [[true, true], [true, true, true]]}}',
    "an error without a message": b'{"answer": "a function", '
    b'"observed": {"tinygrad_edu": [[{"raised": "X"}], [{"float": 3}, {"object": 0}]]}}',
    "a result that is no object": b"3",
    "a result nested too deep to read": b"[" * 100000,
}
WORTHLESS |= {name: f"import os\nos.write(3, {text!r})\nos._exit(0)" for name, text in FORGED.items()}


@pytest.mark.parametrize("attack", WORTHLESS)
def test_an_attack_earns_nothing(sandbox, attack):
    assert verdict(sandbox, WORTHLESS[attack]).points == 0
    assert verdict(sandbox, RIGHT).points == 3


ENDINGS = {
    "os._exit": ("import os\nos._exit(0)", ENDED),
    "sys.exit": ("import sys\nsys.exit(0)", "The cell raised SystemExit in line 2: 0"),
    "a segmentation fault": ("import ctypes\nctypes.string_at(0)", ENDED),
    "eight gigabytes": ("x = bytearray(8 << 30)", "The cell raised MemoryError in line 1: "),
    "an endless loop": ("while True: pass", "Endless loop?"),
    "an error whose message ends it": (
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
        "The cell raised E in line 3: ",
    ),
    "gigabytes for the judge": ("import os\nwhile True: os.write(3, b'x' * 65536)", TOO_MUCH),
    "no Python": ("def mul_backward(:", "The cell is not valid Python, in line 1: "),
    "the stack": ("import inspect\ninspect.stack()", f"{TOLD_INSIDE['frames']}, in line 2."),
    "a trace": ("import sys\n\nsys.settrace(None)", f"{TOLD_INSIDE['tracing']}, in line 3."),
    "code of a file": ("compile('1', '/a.py', 'exec')", f"{TOLD_INSIDE['code']}, in line 1."),
    "a null byte": ("x = '\0'", "The cell is not valid Python"),
}


@pytest.mark.parametrize("what", ENDINGS)
def test_an_answer_that_ends_badly_gets_the_reason(sandbox, what):
    source, message = ENDINGS[what]
    found = verdict(sandbox, source, seconds=0.5)
    assert found.points == 0
    assert found.trouble.startswith(message)
    assert verdict(sandbox, RIGHT).points == 3


def test_a_loop_that_swallows_every_exception_and_signal_is_ended(sandbox):
    source = """
import signal
signal.setitimer = lambda *a: None
signal.signal(signal.SIGALRM, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass
"""
    assert verdict(sandbox, source, seconds=0.2).trouble == TOO_LONG


HARMLESS = {
    "printing": "for _ in range(1000): print('x' * 10_000)\n",
    "a gigabyte of output": "import os\nfor _ in range(1000): os.write(1, bytes(1 << 20))\n",
    "atexit": "import atexit\natexit.register(lambda: print('bye'))\n",
    "ignoring signals": "import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\n",
    "a thread left behind": "import threading\n"
    "threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()\n",
    "seeds and the time of day": "import random, time, numpy\n"
    "random.seed(0); numpy.random.seed(0); time.time = lambda: 0\n",
    "switching the collector off": "import gc\ngc.disable()\n",
    "an import that cannot be": "import viz, matplotlib.pyplot as plt\n",
    "a line that begins with a remainder": "text = ('%s'\n        % 7)\n",
    "a question and a hundred thousand empty lines": "mul_backward?\n!ls\n" + "\n" * 100_000,
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_an_answer_does_beside_costs_it_nothing(sandbox, what):
    assert verdict(sandbox, HARMLESS[what] + RIGHT).points == 3


USING = RIGHT.replace("* b", "* pd.array(b)")


@pytest.mark.parametrize(
    "source", [USING, "import pandas as pd\n" + USING, USING.replace("return", "import pandas; return")]
)
def test_a_module_that_cannot_be_imported_is_named_wherever_it_is_missed(sandbox, source):
    found = verdict(sandbox, source, ["import pandas as pd"])
    assert found.points == 0
    assert found.marks[0].failure.message.endswith("ModuleNotFoundError: While grading, pandas cannot be imported.")
    found = verdict(sandbox, "import pandas\nmul_backward = pandas.mul")
    assert found.trouble == "The cell raised ModuleNotFoundError in line 2: While grading, pandas cannot be imported."


def test_what_follows_the_answer_in_its_cell_costs_it_nothing(sandbox):
    assert verdict(sandbox, RIGHT + 'check("mul_backward", mul_backward).passed\n1 / 0').points == 3
    assert verdict(sandbox, "from tinygrad_edu.exercises import check\n" + RIGHT + "check('x', 1)").points == 3


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["tuple", "list", "dict", "array", "tensor", "shape", "dtype", "raised", "object", "float"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
@settings(max_examples=300, deadline=None)
def test_no_result_whatever_stands_in_it_makes_the_judge_fail(forged):
    for exercise in (get("mul_backward"), get("topological_order"), get("backward_pass")):
        observed = {"tinygrad_edu": [[forged] * 9 for _ in exercise.criteria]}
        assert judge(exercise, {"answer": "a function", "observed": observed}, seed=7).points == 0
        for whole in (forged, {"trouble": forged}, {"trouble": forged, "answer": "a function", "observed": forged}):
            assert judge(exercise, whole, seed=7).points == 0


def test_an_answer_cannot_change_the_inputs_of_the_next_case(sandbox):
    source = """
def unbroadcast(grad, shape):
    grad *= 0
    return grad.sum(axis=tuple(range(grad.ndim - len(shape))), keepdims=False)
"""
    assert verdict(sandbox, source, id="unbroadcast").points == 0


FORBIDDEN = {
    "fork": "import os\nos.fork()",
    "a fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: raise",
    "exec": "import os\nos.execv('/bin/sh', ['sh'])",
    "a socket": "import _socket\n_socket.socket()",
    "killing the parent": "import os\nos.kill(os.getppid(), 9)",
    "killing the parent in another way": """
import ctypes, os
number = {'x86_64': 129, 'aarch64': 138}[os.uname().machine]
if ctypes.CDLL(None).syscall(number, os.getppid(), 9, bytes(128)): raise PermissionError""",
    "killing everyone": "import os\nos.kill(-1, 9)",
    "making a folder": "import os\nos.mkdir('/x')",
    "a new mount": "import ctypes, os\n"
    "if ctypes.CDLL(None, use_errno=True).mount(b't', b'/', b'tmpfs', 0, 0): raise PermissionError",
    "a new namespace": "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000): raise PermissionError",
    "a signal that a pipe sends": "import ctypes, os\n"
    "if ctypes.CDLL(None).fcntl(3, 8, os.getppid()): raise PermissionError",
    "the parent behind all others": "import os\nos.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
    "a system call of next year": "import ctypes, os\n"
    "if ctypes.CDLL(None).syscall(434, os.getppid(), 0): raise PermissionError",
    "a fork by machine code": """
import ctypes, mmap, os
if os.uname().machine != "x86_64": raise PermissionError
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes([0x53, 0xB8, 2, 0, 0, 0, 0xCD, 0x80, 0x5B, 0xC3]))  # by the door that 32-bit programs use
if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))() < 0: raise PermissionError""",
    "more memory": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
}


@linux
@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_system_says_no(sandbox, what):
    trouble = verdict(sandbox, FORBIDDEN[what]).trouble
    known = ("PermissionError", "FileNotFoundError", "cannot be imported", "OSError", "ValueError")
    assert any(error in trouble for error in known), trouble
    assert verdict(sandbox, RIGHT).points == 3


@linux
def test_the_file_system_is_empty_and_the_process_has_no_open_files_but_its_result(sandbox):
    source = """
import os
def mul_backward(grad_output, a, b):
    def is_open(n):
        try: return bool(os.fstat(n))
        except OSError: return False
    try: found = os.listdir("/")
    except PermissionError: found = []
    return found, [n for n in range(256) if is_open(n)]
"""
    observed = sandbox.run(unit_of(get("mul_backward"), source, seed=7))["observed"]["tinygrad_edu"][0][0]
    assert observed == {"tuple": [{"list": []}, {"list": [0, 1, 2, 3]}]}


@linux
def test_no_process_is_left_and_every_protection_holds_here(sandbox):
    assert sandbox.protections and all(sandbox.protections.values())


def test_the_environment_of_the_grader_stays_outside(monkeypatch):
    monkeypatch.setenv("GRADER_TOKEN", "secret")
    source = "import os\ndef mul_backward(grad_output, a, b): return os.environ.get('GRADER_TOKEN')"
    with Sandbox(PROGRAM) as sandbox:
        assert sandbox.run(unit_of(get("mul_backward"), source))["observed"]["tinygrad_edu"][0][0] is None


def test_functions_imports_and_constants_of_other_cells_may_be_used(sandbox):
    others = ["import numpy as my_numpy\nprint(undefined)", "HALF: float = 0.5\nTWO, THREE = [n for n in (2, 3)]"]
    others += ["SCALE = HALF * TWO\nSCALE.unit = 'none'"]
    others += ["def times(x, y):\n    return my_numpy.multiply(x, y).item() * SCALE", "while True: pass"]
    others += ["%broken magic\nthis is no python"]
    source = "def mul_backward(grad_output, a, b):\n    return times(grad_output, b), times(grad_output, a)"
    assert verdict(sandbox, source, others).points == 3


def test_a_cell_that_only_shares_a_name_with_the_answer_is_not_run_and_one_without_end_costs_only_its_own(sandbox):
    endless = "= [0 for _ in iter(int, 1)]"
    assert verdict(sandbox, RIGHT, [f"a {endless}", f"b {endless}"]).points == 3
    kept = "def mul_backward(grad_output, a, b):\n    return grad_output * b, HELPER if a == -1.5 else grad_output * a"
    found = verdict(sandbox, kept, [f"HELPER {endless}"])
    assert found.points == 2
    assert "NameError: name 'HELPER' is not defined" in found.marks[0].failure.message


def test_what_ends_the_sandbox_once_costs_no_answer_anything():
    with Sandbox(PROGRAM) as sandbox:
        assert verdict(sandbox, RIGHT).points == 3
        sandbox._loaded.process.kill()
        assert verdict(sandbox, RIGHT).points == 3


@linux
def test_a_sandbox_beside_another_loads_nothing_again_and_none_outlives_the_process_that_loaded():
    with Sandbox(PROGRAM) as sandbox:
        beside = sandbox.another()
        assert verdict(sandbox, RIGHT).points == verdict(beside, RIGHT).points == 3
        loaded = psutil.Process(sandbox._loaded.process.pid)
        processes = loaded.children(recursive=True)
        assert len(loaded.children()) == 2
        assert verdict(sandbox, "import os\nos.kill(-1, 9)").points == 0
        assert verdict(beside, RIGHT).points == 3
        loaded.kill()
        _, alive = psutil.wait_procs(processes, timeout=60)
        assert alive == []
        assert verdict(beside, RIGHT).points == verdict(sandbox, RIGHT).points == 3


def test_an_answer_during_which_the_sandbox_is_lost_twice_is_reported(monkeypatch):
    def lost(*arguments):
        raise ConnectionError

    with Sandbox(PROGRAM) as sandbox:
        with monkeypatch.context() as patch:
            patch.setattr(Sandbox, "_collect", lost)
            assert verdict(sandbox, RIGHT).trouble == LOST
        assert verdict(sandbox, RIGHT).points == 3


@pytest.mark.parametrize("fork", [True, False])
def test_a_sandbox_that_cannot_be_started_is_no_students_doing(monkeypatch, fork):
    monkeypatch.setattr(outside, "_command", lambda program: [sys.executable, "-c", ""])
    with Sandbox(PROGRAM, fork=fork) as sandbox, pytest.raises(ConnectionError, match="did not start"):
        verdict(sandbox, RIGHT)


@linux
def test_an_interrupt_from_the_keyboard_is_the_graders_and_ends_no_answer():
    with Sandbox(PROGRAM) as sandbox:
        assert verdict(sandbox, RIGHT).points == 3
        before = sandbox._loaded.process.pid
        os.kill(before, signal.SIGINT)
        assert verdict(sandbox, RIGHT).points == 3
        assert sandbox._loaded.process.pid == before


def test_without_fork_every_answer_has_a_separate_process():
    with Sandbox(PROGRAM, fork=False) as sandbox:
        assert verdict(sandbox, RIGHT).points == 3
        assert verdict(sandbox, "import os\nos._exit(0)").trouble == ENDED


def test_the_sandbox_loads_no_reference_and_no_judge():
    code = "import sys, tinygrad_edu.exercises.running.cells as i; i.preload([]); print(*sys.modules)"
    loaded = printed(code).split()
    assert not [name for name in loaded if name.startswith("tinygrad_edu.exercises.answers") or name.endswith(".judge")]
