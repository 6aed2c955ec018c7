"""Progress is what the judge says about the student's own files, however many notebooks answer an exercise."""

import json
import re
from pathlib import Path

import pytest

from tinygrad_edu.course.progress import Progress, progress
from tinygrad_edu.course.working_copy import update_working_copy

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


def test_the_best_answer_of_several_notebooks_counts_and_is_shown(folder: Path) -> None:
    (folder / "notes.ipynb").write_text("{")  # a damaged one hides no other
    answer(folder / LESSON, HALF)
    assert state_of(progress(folder), "mul_backward") == (1, False)
    answer(folder / LESSON, RIGHT)
    other = folder / LESSON.with_suffix(".updated.ipynb")
    other.write_bytes((folder / LESSON).read_bytes())
    answer(other, HALF)
    found = progress(folder)
    assert state_of(found, "mul_backward") == (3, True)
    assert "1. Slopes and local derivatives: 3 of 9\n   · central_difference\n   ✓ mul_backward" in repr(found)
    shown = found._repr_html_()
    assert '<progress max="9" value="3"' in shown and f'href="../{LESSON}#Exercise-2:-mul_backward"' in shown
    assert [int(number) for number in re.findall(r">(\d+)\. ", shown)] == list(range(1, 16))


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
