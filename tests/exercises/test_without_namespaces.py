"""No answer reaches a reference, a file or a neighbour: with all walls, without namespaces, without Landlock."""

import sys

import pytest
from support.grading import MUL as RIGHT
from support.grading import verdict

from tinygrad_edu.exercises import get
from tinygrad_edu.exercises.exercise import PROGRAM
from tinygrad_edu.sandbox import outside
from tinygrad_edu.sandbox.outside import PROTECTIONS, Sandbox

pytestmark = pytest.mark.outer(start=1)
WALLS = {
    "all walls": "",
    "no namespaces": "limits.enter_namespaces = lambda: False",
    "no namespaces, no Landlock": "limits.enter_namespaces = lambda: False; landlock.forbid_files = lambda: False",
    "nothing but Python": (
        "limits.enter_namespaces = lambda: False; landlock.forbid_files = lambda: False;"
        " limits.deny_system_calls = lambda: False"
    ),
}
START = """
import runpy
from tinygrad_edu.sandbox import landlock, limits
{walls}
runpy.run_module("tinygrad_edu.exercises.running.cells", run_name="__main__", alter_sys=True)
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="what is switched off here is Linux's")


@pytest.fixture(params=WALLS, scope="module")
def walled(request):
    command = [sys.executable, "-P", "-c", START.format(walls=WALLS[request.param])]
    patch = pytest.MonkeyPatch()
    patch.setattr(outside, "_command", lambda program: command)
    with Sandbox(PROGRAM) as sandbox:
        yield request.param, sandbox
    patch.undo()


ANSWERS = str(get.__code__.co_filename).replace("__init__.py", "answers/lesson1.py")
FOLDER = ANSWERS.rsplit("/", 1)[0]
OTHER = "\nmul_backward = other_factor"
REACHES = {
    "an import of the references": "from tinygrad_edu.exercises.answers.lesson1 import other_factor as mul_backward",
    "an import of the references by another way": "import importlib\n"
    "mul_backward = importlib.import_module('tinygrad_edu.exercises.answers.lesson1').other_factor",
    "their source on disk": f"exec(open({ANSWERS!r}).read())" + OTHER,
    "their source by the file's own reader": f"import io\nexec(io.FileIO({ANSWERS!r}).read())" + OTHER,
    "their source by the system's call": f"import os\nexec(os.read(os.open({ANSWERS!r}, 0), 10**6))" + OTHER,
    "a custom loader": "import importlib.machinery as m\n"
    f"mul_backward = m.SourceFileLoader('x', {ANSWERS!r}).load_module().other_factor",
    "a path put back": f"import sys, importlib.machinery as m\nsys.path.append({FOLDER!r})\n"
    "sys.meta_path.append(m.PathFinder)\n"
    "sys.path_hooks.append(m.FileFinder.path_hook((m.SourceFileLoader, ['.py'])))\n"
    "import lesson1\nmul_backward = lesson1.other_factor",
    "NumPy's reader": f"import numpy as np\nexec(bytes(np.fromfile({ANSWERS!r}, dtype='u1')))" + OTHER,
    "a list of the folder": f"import os\nnames = os.listdir({FOLDER!r})\n" + RIGHT,
    "a file that is deleted": "import os\nos.remove({victim!r})\n" + RIGHT,
    "a file that is written": "open({victim!r}, 'w').write('gone')\n" + RIGHT,
    "another program": "import subprocess\nsubprocess.run(['rm', {victim!r}])\n" + RIGHT,
    "the parent's memory": "import os\nopen(f'/proc/{{os.getppid()}}/maps')\n" + RIGHT,
}


@linux
@pytest.mark.parametrize("what", REACHES)
def test_no_reference_no_file_and_no_neighbour_is_reached(walled, what, tmp_path):
    _, sandbox = walled
    victim = tmp_path / "a neighbour's"
    victim.write_text("work")
    source = REACHES[what]
    found = verdict(sandbox, source.format(victim=str(victim)) if "{victim!r}" in source or "{{" in source else source)
    assert found.points == 0, found
    assert victim.read_text() == "work"
    assert verdict(sandbox, RIGHT).points == 3


@linux
def test_what_does_not_hold_is_known_before_the_first_answer(walled):
    walls, sandbox = walled
    missing = [name for name in PROTECTIONS if not sandbox.protections[name]]
    expected = {
        "all walls": [],
        "no namespaces": [],  # Landlock and the filter of system calls stand in
        "no namespaces, no Landlock": ["no files"],
        "nothing but Python": ["no network", "no other processes", "no files"],
    }
    assert missing == expected[walls]
