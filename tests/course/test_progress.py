"""Progress is what the judge says about the student's own files, however many notebooks answer an exercise."""

import json
from pathlib import Path

import pytest

from tinygrad_edu.course.progress import Progress, progress
from tinygrad_edu.course.working_copy import lessons_root, update_working_copy
from tinygrad_edu.exercises import all_exercises

pytestmark = pytest.mark.outer

LESSON = Path("01_slopes_and_local_derivatives") / "01_slopes_and_local_derivatives.ipynb"
RIGHT = "def mul_backward(grad_output, a, b):\n    return grad_output * b, grad_output * a"
HALF = "def mul_backward(grad_output, a, b):\n    return b, a"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working copy with nothing solved."""
    update_working_copy(tmp_path)
    return tmp_path


def answer(path: Path, source: str) -> None:
    notebook = json.loads(path.read_bytes())
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "mul_backward":
            cell["source"] = source
    path.write_text(json.dumps(notebook))


def state_of(found: Progress, id: str) -> tuple[int, bool] | None:
    verdict = next(lesson.verdicts[id] for lesson in found.lessons if id in lesson.verdicts)
    return None if verdict is None else (verdict.points, verdict.passed)


def test_nothing_is_begun_in_a_fresh_copy(folder: Path) -> None:
    found = progress(folder)
    assert found.points == 0
    assert {verdict for lesson in found.lessons for verdict in lesson.verdicts.values()} == {None}


def test_right_and_half_right_answers_are_told_apart(folder: Path) -> None:
    answer(folder / LESSON, RIGHT)
    assert state_of(progress(folder), "mul_backward") == (3, True)
    answer(folder / LESSON, HALF)
    assert state_of(progress(folder), "mul_backward") == (1, False)


def test_the_best_answer_of_several_notebooks_counts(folder: Path) -> None:
    answer(folder / LESSON, RIGHT)
    other = folder / LESSON.with_suffix(".updated.ipynb")
    other.write_bytes((folder / LESSON).read_bytes())
    answer(other, HALF)
    assert state_of(progress(folder), "mul_backward") == (3, True)


def test_a_damaged_notebook_does_not_hide_the_others(folder: Path) -> None:
    (folder / "notes.ipynb").write_text("{")
    answer(folder / LESSON, RIGHT)
    assert state_of(progress(folder), "mul_backward") == (3, True)


def test_every_exercise_of_every_lesson_is_listed_with_the_points_of_its_check() -> None:
    cells = [
        cell["metadata"]["nbgrader"]
        for path in sorted(lessons_root().glob("*/*.ipynb"))
        for cell in json.loads(path.read_bytes())["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade")
    ]
    points = {cell["grade_id"].removeprefix("check_"): cell["points"] for cell in cells}
    expected = {id: sum(c.points for c in exercise.criteria) for id, exercise in all_exercises().items()}
    assert points == expected


def test_it_shows_itself_in_a_terminal_and_in_a_notebook(folder: Path) -> None:
    answer(folder / LESSON, RIGHT)
    found = progress(folder)
    assert "1. Slopes and local derivatives: 3 of 9\n   · central_difference\n   ✓ mul_backward" in repr(found)
    assert '<progress max="9" value="3"' in found._repr_html_()


def test_a_missing_folder_is_reported() -> None:
    with pytest.raises(FileNotFoundError, match="no working copy of the lessons at nowhere"):
        progress("nowhere")


def test_work_of_a_version_with_other_lessons_counts_where_its_exercises_are_now(folder: Path) -> None:
    """Lesson 8 once held what lesson 12 holds now: a student's file of then stays, and its answers count."""
    old, new = (next(folder.glob(f"{number}_*/*.ipynb")) for number in ("08", "12"))
    notebook, later = json.loads(old.read_bytes()), json.loads(new.read_bytes())
    notebook["cells"] += [cell for cell in later["cells"] if "nbgrader" in cell["metadata"]]
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "apply_twice":
            cell["source"] = "def apply_twice(F, x):\n    return F.apply(F.apply(x))"
    old.write_text(json.dumps(notebook))
    update_working_copy(folder)
    assert old.read_text() == json.dumps(notebook)
    found = progress(folder)
    assert state_of(found, "apply_twice") == (2, True)
    assert next(lesson.number for lesson in found.lessons if "apply_twice" in lesson.verdicts) == 12
