"""The shell that instructors know: nbgrader's own commands on our first lesson, with our checks inside its cells."""

import copy
import csv
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tinygrad_edu.course.working_copy import lessons_root, students_version
from tinygrad_edu.exercises import all_exercises
from tinygrad_edu.exercises.grading import grade
from tinygrad_edu.exercises.grading.submissions import read_submissions

# Importing it takes seconds, in every process of a run.
pytestmark = [pytest.mark.outer(start=3), pytest.mark.skipif(find_spec("nbgrader") is None, reason="needs nbgrader")]
LESSON = "01_slopes_and_local_derivatives"
IDS = ["central_difference", "mul_backward", "relu_backward"]


def id_of(cell):
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def nbgrader(course, *arguments):
    """Run a real command, with a PATH on which nbgrader's database tool is not found."""
    environment = os.environ | {"PATH": os.defpath}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with our lesson, released by nbgrader and handed in by three students."""
    course = tmp_path_factory.mktemp("course")
    source = json.loads((lessons_root() / LESSON / f"{LESSON}.ipynb").read_text())
    (course / "source" / "slopes").mkdir(parents=True)
    (course / "source" / "slopes" / "slopes.ipynb").write_text(json.dumps(source))
    (course / "nbgrader_config.py").write_text(
        "from tinygrad_edu.exercises.nbgrader import configure\nconfigure(get_config())\n"
        "get_config().NotebookClient.shutdown_kernel = 'immediate'\n"  # it has nothing to save, and takes two seconds
    )
    done = nbgrader(course, "generate_assignment", "slopes", "--create")
    assert done.returncode == 0, done.stderr
    released = json.loads((course / "release" / "slopes" / "slopes.ipynb").read_text())

    right = {id_of(cell): cell["source"] for cell in source["cells"] if id_of(cell) in IDS}
    partly = right | {
        "mul_backward": "def mul_backward(grad_output, a, b):\n    return b, a",
        "relu_backward": "def relu_backward(grad_output, x):\n    return grad_output if grad_output > 0 else 0.0",
    }
    for student, answers in {"ada": right, "bob": partly, "cyd": {}}.items():
        notebook = copy.deepcopy(released)
        for cell in notebook["cells"]:
            cell["source"] = answers.get(id_of(cell), cell["source"])
        if student == "ada":  # copied a cell, and wrote into a locked one
            place = next(i for i, cell in enumerate(notebook["cells"]) if id_of(cell) == "mul_backward")
            notebook["cells"].insert(place, copy.deepcopy(notebook["cells"][place]) | {"id": "copied"})
            next(cell for cell in notebook["cells"] if id_of(cell) == "check_mul_backward")["source"] = "100"
        file = course / "submitted" / student / "slopes" / "slopes.ipynb"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(notebook))
    return course


def test_the_released_lesson_holds_no_answer(course):
    released = (course / "release" / "slopes" / "slopes.ipynb").read_text()
    assert "BEGIN SOLUTION" not in released
    assert "raise NotImplementedError()" in released
    assert "grad_output * b, grad_output * a" not in released


def test_what_nbgrader_releases_is_what_we_release_and_an_answer_that_is_a_value_does_not_stop_it(course):
    name = "02_building_the_graph"
    given = lessons_root() / name / f"{name}.ipynb"
    (course / "source" / "graph").mkdir()
    (course / "source" / "graph" / "graph.ipynb").write_bytes(given.read_bytes())
    done = nbgrader(course, "generate_assignment", "graph", "--create")
    assert done.returncode == 0, done.stderr
    theirs = json.loads((course / "release" / "graph" / "graph.ipynb").read_text())["cells"]
    ours = students_version(json.loads(given.read_text()))["cells"]
    sources = [["".join(cell["source"]) for cell in cells] for cells in (theirs, ours)]
    assert sources[0] == sources[1]
    (values,) = [source for source in sources[0] if source.startswith("# Replace each None with True or False")]
    assert "None" in values
    assert "raise" not in values


def test_validate_tells_a_student_which_checks_are_missed(course):
    done = nbgrader(course, "validate", str(Path("submitted") / "bob" / "slopes" / "slopes.ipynb"))
    assert "VALIDATION FAILED ON 2 CELL(S)" in done.stdout, done.stdout + done.stderr
    assert 'check("mul_backward", mul_backward)' in done.stdout


def test_autograde_feedback_and_export_agree_with_our_own_grade(course, tmp_path):
    done = nbgrader(course, "autograde", "slopes", "--create")
    assert done.returncode == 0, done.stderr
    assert "exists several times: the last one is graded" in done.stderr
    assert nbgrader(course, "generate_feedback", "slopes").returncode == 0
    assert nbgrader(course, "export").returncode == 0

    with (course / "grades.csv").open(newline="") as file:
        theirs = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    submissions = read_submissions(course / "submitted", all_exercises())
    ours = {
        result["student"]: sum(mark["points"] for verdict in result["verdicts"].values() for mark in verdict["marks"])
        for result in grade.grade(submissions, tmp_path, IDS)
    }
    assert theirs == ours == {"ada": 9, "bob": 4, "cyd": 0}

    page = (course / "feedback" / "bob" / "slopes" / "slopes.html").read_text()
    assert "You tested the sign of grad_output." in page
