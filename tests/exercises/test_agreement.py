"""`check` in the notebook, nbgrader and `grade` give the same points for every kind of hand-in."""

import asyncio
import contextlib
import io
import json
import textwrap

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.grading import CENTRAL, MUL, RELU, STUB, cell

from tinygrad_edu.exercises import all_exercises, check
from tinygrad_edu.exercises.grading.grade import grade_one, verdict_of, work_of
from tinygrad_edu.exercises.grading.submissions import read_submissions

pytestmark = pytest.mark.outer(start=1)
FIRST = "import torch\nimport tinygrad_edu as tg\nfrom tinygrad_edu.exercises import check"
WRONG = MUL.replace("grad_output * b, grad_output * a", "b, a")
EMPTY = "def mul_backward(grad_output, a, b):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
ASKED = cell('check("mul_backward", mul_backward)', "check_mul_backward")
ASKED_RELU = cell('check("relu_backward", relu_backward)', "check_relu_backward")
LEAF = cell('check("predict_leaf", predict_leaf)', "check_predict_leaf")
RAISE = cell('check("predict_raise", predict_raise)', "check_predict_raise")
SHOWN = "from tinygrad_edu.exercises.programs import LEAF_PROGRAMS\nfor name in LEAF_PROGRAMS: print(name)"
BLANK = 'predict_leaf = {\n    "made": None,\n    "product": None,\n}'
COMPUTED = """def is_leaf(program):
    names = {"T": tg}
    exec(program, names)
    return names["result"].is_leaf
predict_leaf = {name: is_leaf(program) for name, program in LEAF_PROGRAMS.items()}
"""

RAISED = """
predict_raise = defaultdict(bool)
for name, program in RAISE_PROGRAMS.items():
    try:
        exec(program, {'T': tg})
        predict_raise[name] = False
    except RuntimeError:
        predict_raise[name] = True
"""
TENSORS = "def mul_backward(g, a, b):\n    t = torch.tensor(g)\n    return (t * b).item(), (t * a).item()"
TYPED = "def mul_backward(grad_output: Scalar, a: npt.ArrayLike, b: Number) -> tuple[Missing, ...]:\n"
TYPED += "    return grad_output * b, grad_output * a"
SHOWS = MUL.replace("    return", "    display(a)\n    return") + "display(mul_backward(1, 2, 3))"
FILLED = 'predict_leaf["made"] = True\npredict_leaf.update(constant=True, product=False)'


def mul(source):
    return cell(source, "mul_backward")


def using(name):
    return mul(MUL.replace("* b,", f"* b * {name},"))


def prompted(source, first, others):
    lines = source.strip().split("\n")
    return "\n".join((others if place else first) + line for place, line in enumerate(lines))


HAND_INS = {  # the cells below the first, and the points
    "as asked for": ([mul(MUL), ASKED], 3),
    "in a new cell under the stub": ([mul(EMPTY), cell(MUL), ASKED], 3),
    "in a new cell above the stub": ([cell(MUL), mul(EMPTY), ASKED], 3),
    "in a new cell under the check": ([mul(EMPTY), ASKED, cell(MUL)], 3),
    "the stub alone": ([mul(EMPTY), ASKED], 0),
    "a second try under a wrong one": ([mul(WRONG), cell(MUL), ASKED], 3),
    "a wrong one under the right one": ([mul(MUL), cell(WRONG), ASKED], 1),
    "a try after the check": ([mul(WRONG), ASKED, cell(MUL)], 1),
    "a copy with the same id": ([mul(WRONG), mul(MUL), ASKED], 3),
    "PyTorch in the answer": ([mul(TENSORS), ASKED], 3),
    "a leftover display": ([cell("import viz"), mul(SHOWS), ASKED], 3),
    "magics and a helper above": (
        [cell("!ls\nfiles = !ls\n%time x = 1\ndef one():\n    return 1"), using("one()"), ASKED],
        3,
    ),
    "pasted from a Python prompt": ([mul(EMPTY), cell(prompted(MUL, ">>> ", "... ")), ASKED], 3),
    "pasted from IPython": ([mul(prompted(MUL, "In [3]: ", "   ...: ")), ASKED], 3),
    "wholly indented": ([mul(textwrap.indent(MUL, "    ")), ASKED], 3),
    "a timed cell": ([mul("%%time\n" + MUL), ASKED], 3),
    "an await": ([cell("async def two():\n    return 1\none = await two()"), using("one"), ASKED], 3),
    "a name that a later cell uses for something else": (
        [cell("SCALE = 1.0"), using("SCALE"), ASKED, cell("SCALE = 7.0")],
        3,
    ),
    "a table that is filled in a loop": (
        [
            cell("TABLE = {}\nfor i in range(3):\n    TABLE[i] = float(i)"),
            cell("TABLE[1] *= 1.0"),
            using("TABLE[1]"),
            ASKED,
        ],
        3,
    ),
    "annotations that mean nothing": (
        [cell("from __future__ import annotations\nimport numpy.typing as npt"), mul(TYPED), ASKED],
        3,
    ),
    "predictions computed from what the lesson shows": ([cell(SHOWN), cell(COMPUTED, "predict_leaf"), LEAF], 3),
    "predictions filled in below": ([cell(SHOWN), cell(BLANK, "predict_leaf"), cell(FILLED), LEAF], 1),
    "a custom kind of dict": (
        [
            cell(SHOWN),
            cell("class Answers(dict): pass\n" + COMPUTED + "predict_leaf = Answers(predict_leaf)", "predict_leaf"),
            LEAF,
        ],
        3,
    ),
    "RAISE_PROGRAMS": (
        [
            cell("from tinygrad_edu.exercises.programs import RAISE_PROGRAMS\nfrom collections import defaultdict"),
            cell(RAISED, "predict_raise"),
            RAISE,
        ],
        4,
    ),
    "lesson 1 as a whole": (
        [cell(CENTRAL, "central_difference"), mul(MUL), ASKED, cell(STUB, "relu_backward"), cell(RELU), ASKED_RELU],
        6,
    ),
}


def graded(cells, tmp_path, sandbox):
    (tmp_path / "x.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (submission,) = read_submissions(tmp_path / "x.ipynb", all_exercises())
    asked = [c["source"].split('"')[1] for c in cells if c["source"].startswith("check(")]
    verdicts = grade_one(work_of(submission, asked, seed=5), sandbox)["verdicts"]
    return {id: verdict_of(verdict).points for id, verdict in verdicts.items()}


def run_from_top_to_bottom(cells):
    """The points that the checks of a notebook give in the student's own process, one cell after the other."""
    points = {}

    def checked(id, answer):
        points[id] = check(id, answer).points

    shell = InteractiveShell()
    # That of a browser which an earlier test has opened: a notebook's cell runs in none.
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    for one in cells:
        if one["source"].startswith("check("):
            shell.user_ns["check"] = checked
        with contextlib.redirect_stdout(io.StringIO()):
            shell.run_cell(one["source"])
    asyncio._set_running_loop(loop)
    return points


@pytest.mark.parametrize("what", HAND_INS)
def test_check_nbgrader_and_grade_agree(what, tmp_path, sandbox):
    pytest.importorskip("nbgrader")
    from tinygrad_edu.exercises.nbgrader import DropCopies, PlaceAnswers

    cells, points = [cell(FIRST), *HAND_INS[what][0]], HAND_INS[what][1]
    by_grade = graded(cells, tmp_path, sandbox)
    assert sum(by_grade.values()) == points
    if "above the stub" not in what and "under the check" not in what:  # where a check runs before the answer does
        assert run_from_top_to_bottom(cells) == by_grade
    notebook = nbformat.from_dict(json.loads((tmp_path / "x.ipynb").read_text()))
    for step in (DropCopies(), PlaceAnswers()):
        notebook, _ = step.preprocess(notebook, {})
    assert run_from_top_to_bottom(notebook.cells) == by_grade
