"""The lessons and their exercises agree: each exercise is asked in its lesson, whose own answer is right."""

import json

import pytest

from tinygrad_edu.course.working_copy import lessons_root
from tinygrad_edu.exercises import all_exercises
from tinygrad_edu.exercises.grading.grade import grade_one, verdict_of, work_of
from tinygrad_edu.exercises.grading.submissions import read_submissions

pytestmark = pytest.mark.outer
LOADED = {engine for exercise in all_exercises().values() for engine in exercise.available}
NOTEBOOKS = sorted(lessons_root().glob("*/*.ipynb"))


def marked_cells(notebook):
    cells = json.loads(notebook.read_text())["cells"]
    return {marks["grade_id"]: marks for cell in cells if (marks := cell["metadata"].get("nbgrader"))}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_answer_that_a_lesson_gives_earns_every_point(notebook, sandbox):
    (submission,) = read_submissions(notebook, all_exercises())
    verdicts = grade_one(work_of(submission, list(submission.answers), seed=11), sandbox)["verdicts"]
    wrong = {id: verdict_of(verdict) for id, verdict in verdicts.items() if not verdict_of(verdict).passed}
    assert wrong == {}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_asks_its_own_exercises_for_the_points_they_have(notebook):
    marks = marked_cells(notebook)
    points = {id.removeprefix("check_"): mark["points"] for id, mark in marks.items() if mark["grade"]}
    lesson = int(notebook.stem[:2])
    assert points == {e.id: e.points for e in all_exercises().values() if e.lesson == lesson}
    assert set(points) <= set(marks)
