"""The working copy of the lessons: a student's edits survive everything, and no answer gets into it."""

import copy
import json
import re
import shutil
from pathlib import Path

import pytest

from tinygrad_edu.course import working_copy
from tinygrad_edu.course.working_copy import (
    lesson_files,
    lessons_root,
    students_bytes,
    students_version,
    update_working_copy,
)

ANSWER = """def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION"""


def lesson(text: str = "# Doubling", answer: str = ANSWER) -> dict:
    return {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": text},
            {
                "cell_type": "code",
                "execution_count": 3,
                "metadata": {"nbgrader": {"solution": True, "grade": False, "grade_id": "double"}},
                "outputs": [{"output_type": "stream", "name": "stdout", "text": "4"}],
                "source": answer,
            },
            {
                "cell_type": "code",
                "execution_count": 4,
                "metadata": {"nbgrader": {"grade": True, "locked": True, "points": 1, "grade_id": "check_double"}},
                "outputs": [],
                "source": "check(double)\n### BEGIN HIDDEN TESTS\nassert double(21) == 42\n### END HIDDEN TESTS",
            },
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Our own lessons to change, so that a test can simulate an upgrade."""
    folder = tmp_path / "source"
    put(folder, lesson())
    return folder


def put(folder: Path, notebook: dict) -> None:
    (folder / "01_doubling").mkdir(parents=True, exist_ok=True)
    (folder / "01_doubling" / "01_doubling.ipynb").write_text(json.dumps(notebook))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "mine"


NAME = "01_doubling/01_doubling.ipynb"
BESIDE = "01_doubling/01_doubling.updated.ipynb"


def test_the_students_version_has_a_stub_in_the_place_of_the_answer_and_no_hidden_test() -> None:
    _, answer, check = students_version(lesson())["cells"]
    assert answer["source"] == "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert check["source"] == "check(double)"


def test_answers_of_other_forms_are_cleared_too() -> None:
    assert "2 * x" not in json.dumps(students_version(lesson(answer="def double(x):\n    return 2 * x")))
    answer = "slope = None\n### BEGIN SOLUTION\nslope = 6\n### END SOLUTION"  # the stub does not stop the notebook
    assert students_version(lesson(answer=answer))["cells"][1]["source"] == "slope = None\n# YOUR CODE HERE"
    notebook = lesson()
    notebook["cells"][1].update(cell_type="markdown", source=["Because the slope\n", "is 6."])
    assert students_version(notebook)["cells"][1]["source"] == "YOUR ANSWER HERE"


def test_the_students_version_has_no_outputs_and_the_original_keeps_its_own() -> None:
    original = lesson()
    before = copy.deepcopy(original)
    cells = students_version(original)["cells"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in cells[1:]] == [([], None), ([], None)]
    assert original == before


BROKEN_ONES = [ANSWER.replace("### END SOLUTION", ""), ANSWER.replace("### BEGIN SOLUTION", "")]
BROKEN_ONES += [ANSWER + "\n### END SOLUTION", "### BEGIN SOLUTION\n" + ANSWER]


@pytest.mark.parametrize("broken", BROKEN_ONES, ids=["not closed", "not opened", "closed twice", "opened twice"])
def test_unpaired_marks_are_refused_with_the_name_of_the_file(source: Path, broken: str) -> None:
    put(source, lesson(answer=broken))
    with pytest.raises(ValueError, match=r"01_doubling\.ipynb.*(BEGIN|END) SOLUTION"):
        students_bytes(source / NAME)


def test_a_first_start_copies_a_lesson_a_second_nothing_and_a_third_what_was_deleted(
    source: Path, target: Path
) -> None:
    left = source / "01_doubling" / ".ipynb_checkpoints" / "01_doubling-checkpoint.ipynb"
    left.parent.mkdir()
    left.write_text("{}")  # by Jupyter
    (source / "01_doubling" / "data.csv").write_bytes(b"x,y\r\n1,2\r\n")
    assert update_working_copy(target, source).new == [NAME, "01_doubling/data.csv"]
    assert (target / NAME).read_bytes() == students_bytes(source / NAME)
    assert (target / "01_doubling" / "data.csv").read_bytes() == b"x,y\r\n1,2\r\n"
    second = update_working_copy(target, source)
    assert (second.new, second.renewed, second.kept, second.beside) == ([], [], [], [])
    (target / NAME).unlink()
    assert update_working_copy(target, source).new == [NAME]


def test_a_newer_lesson_replaces_one_that_nobody_edited(source: Path, target: Path) -> None:
    update_working_copy(target, source)
    put(source, lesson("# Doubling, better"))
    assert update_working_copy(target, source).renewed == [NAME]
    assert "better" in (target / NAME).read_text()


def test_edits_are_kept_a_newer_lesson_comes_beside_them_and_a_third_beside_both(source: Path, target: Path) -> None:
    update_working_copy(target, source)
    (target / NAME).write_text("my work")
    update = update_working_copy(target, source)
    assert (update.kept, update.beside) == ([NAME], [])
    put(source, lesson("# second"))
    assert update_working_copy(target, source).beside == [(NAME, BESIDE)]
    assert (target / NAME).read_text() == "my work"
    assert "second" in (target / BESIDE).read_text()
    assert update_working_copy(target, source).beside == []
    (target / BESIDE).write_text("my work on the second")
    put(source, lesson("# third"))
    assert update_working_copy(target, source).beside == [(NAME, "01_doubling/01_doubling.updated-2.ipynb")]
    assert (target / BESIDE).read_text() == "my work on the second"


def test_files_that_were_there_before_the_first_start_are_kept(source: Path, target: Path) -> None:
    (target / NAME).parent.mkdir(parents=True)
    (target / NAME).write_text("a notebook of the same name")
    assert update_working_copy(target, source).beside == [(NAME, BESIDE)]
    assert (target / NAME).read_text() == "a notebook of the same name"


def test_no_answer_of_any_lesson_gets_into_the_students_version() -> None:
    region = re.compile(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", re.DOTALL)
    answers = 0
    for path in lesson_files(lessons_root()):
        if path.suffix != ".ipynb":
            continue
        given = json.loads(students_bytes(path))["cells"]
        for cell, handed_out in zip(json.loads(path.read_bytes())["cells"], given, strict=True):
            source = "".join(cell["source"])
            shown = region.sub("", source)  # what an author shows on purpose may stand in the answer again
            for answer in region.findall(source):
                answers += 1
                lines = filter(None, map(str.strip, answer.splitlines()))
                assert [line for line in lines if line in handed_out["source"] and line not in shown] == [], path
            assert "### BEGIN" not in handed_out["source"]
            assert "### END" not in handed_out["source"]
    assert answers > 0


def test_missing_lessons_are_reported(target: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no lessons at nowhere"):
        update_working_copy(target, Path("nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no lessons at .*empty"):
        update_working_copy(target, tmp_path / "empty")


@pytest.mark.parametrize("text", ["[]", "{}", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{}]}', "not JSON", ""])
def test_a_file_that_is_not_a_notebook_is_refused_with_its_name(source: Path, target: Path, text: str) -> None:
    (source / NAME).write_text(text)
    with pytest.raises(ValueError, match=r"01_doubling\.ipynb: "):
        update_working_copy(target, source)


@pytest.mark.parametrize("record", ["", "half of {", "[]"])
def test_without_a_record_that_can_be_read_every_file_counts_as_edited(source: Path, target: Path, record: str) -> None:
    update_working_copy(target, source)
    (target / ".tinygrad-edu.json").write_text(record)
    (target / NAME).write_text("my work")
    assert update_working_copy(target, source).beside == [(NAME, BESIDE)]
    assert (target / NAME).read_text() == "my work"
    assert update_working_copy(target, source).beside == []


def test_a_folder_that_another_package_left_beside_an_installed_one_is_not_taken_for_the_lessons(tmp_path, monkeypatch):
    for folder in ("tinygrad_edu/notebooks/00_start_here", "tinygrad_edu/course", "notebooks"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(working_copy, "__file__", str(tmp_path / "tinygrad_edu" / "course" / "working_copy.py"))
    assert lessons_root() == tmp_path / "tinygrad_edu" / "notebooks"
    shutil.rmtree(tmp_path / "tinygrad_edu" / "notebooks")
    with pytest.raises(FileNotFoundError, match="install tinygrad-edu again"):
        lessons_root()
