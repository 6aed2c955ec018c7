"""The answers in a working copy that somebody has begun, and the cells as they were handed out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ..exercises import all_exercises
from ..exercises.exercise import Exercise
from ..exercises.grading.submissions import Answer, read_submissions
from .working_copy import lessons_root, students_version


def lesson_notebooks() -> dict[Path, dict[str, Any]]:
    """The numbered lessons as parsed JSON, in order, with their answers."""
    return {path: json.loads(path.read_bytes()) for path in sorted(lessons_root().glob("[0-9][0-9]_*/*.ipynb"))}


@cache
def handed_out() -> dict[str, str]:
    """The answer cell of each exercise as a student gets it."""
    return answer_cells([students_version(notebook) for notebook in lesson_notebooks().values()])


def answer_cells(notebooks: list[dict[str, Any]]) -> dict[str, str]:
    """The answer cell of each exercise in some notebooks, by the exercise's id."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
        for notebook in notebooks
        for cell in notebook["cells"]
        if cell.get("metadata", {}).get("nbgrader", {}).get("solution")
    }


def begun(folder: Path) -> Iterator[tuple[Exercise, Answer]]:
    """The answers in a working copy that differ from what was handed out, the last saved notebook's at the end."""
    exercises, stubs = all_exercises(), handed_out()
    found = [
        path
        for path in folder.rglob("*.ipynb")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    for path in sorted(found, key=lambda path: (path.stat().st_mtime, path)):
        for submission in read_submissions(path, exercises):
            for id, answer in submission.answers.items():
                if answer.source.strip() != stubs.get(id, "").strip():
                    yield exercises[id], answer
