"""The lessons as files: where they are, the students' version, and working copies that preserve a student's edits.

A lesson is a notebook in its instructor version, with the answers between nbgrader's marks. Nothing here needs nbgrader
or Jupyter; a notebook is JSON.
"""

import copy
import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]

RECORD = ".tinygrad-edu.json"
"""The file in a working copy that says which version of each lesson was put there."""

_CODE_STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
_TEXT_STUB = "YOUR ANSWER HERE"
_SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")
_HIDDEN_TESTS = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")


def lessons_root() -> Path:
    """The folder with the lessons: inside the package when installed from a wheel, beside it in a clone.

    What another package put beside an installed one is not asked: `notebooks` is a common name. Raises
    `FileNotFoundError` if the installation contains no lessons.

    >>> (lessons_root() / "01_slopes_and_local_derivatives").is_dir()
    True
    """
    package = Path(__file__).resolve().parents[1]
    for root in (package / "notebooks", package.parent / "notebooks"):
        if (root / "00_start_here").is_dir():
            return root
    raise FileNotFoundError(f"no lessons beside {package}: install tinygrad-edu again, from its clone or its wheel")


def lesson_files(root: Path) -> list[Path]:
    """The files of the lessons under `root`, in reading order, without files that Jupyter or Python left there."""
    return sorted(
        path
        for path in root.rglob("*")
        if path.is_file()
        and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(root).parts)
        and path.suffix != ".pyc"
    )


def students_version(notebook: Notebook) -> Notebook:
    """The notebook without answers, hidden tests and outputs, as `nbgrader generate_assignment` would release it.

    `notebook` is the parsed JSON and is not changed. Raises `ValueError` if it is not a notebook, or if marks do not
    match: better no lesson than one that shows an answer.

    >>> cell = {"cell_type": "code", "metadata": {"nbgrader": {"solution": True}}, "outputs": [], "source":
    ...         "def double(x):\\n    ### BEGIN SOLUTION\\n    return 2 * x\\n    ### END SOLUTION"}
    >>> print(students_version({"cells": [cell]})["cells"][0]["source"])
    def double(x):
        # YOUR CODE HERE
        raise NotImplementedError()
    """
    if not _is_notebook(notebook):
        raise ValueError("it is not a notebook: cells with a type and a source are missing")
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        source = _as_text(cell["source"])
        grading = cell.get("metadata", {}).get("nbgrader", {})
        is_code = cell["cell_type"] == "code"
        stub = _CODE_STUB if is_code else (_TEXT_STUB,)
        cleared = _replace_regions(source, _SOLUTION, stub)
        if grading.get("solution") and cleared == source:
            cleared = "\n".join(stub)
        cell["source"] = _replace_regions(cleared, _HIDDEN_TESTS, ())
        if is_code:
            cell["outputs"] = []
            cell["execution_count"] = None
        if grading.get("grade") or grading.get("solution") or grading.get("locked"):
            cell["metadata"]["deletable"] = False
        if grading.get("locked") or (grading.get("grade") and not grading.get("solution")):
            cell["metadata"]["editable"] = False
    return notebook


def _is_notebook(data: Any) -> bool:
    cells = data.get("cells") if isinstance(data, dict) else None
    return isinstance(cells, list) and all(isinstance(c, dict) and {"cell_type", "source"} <= c.keys() for c in cells)


def _as_text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _replace_regions(source: str, marks: tuple[str, str], stub: tuple[str, ...]) -> str:
    """Replace every region between the marks by `stub`, indented like the opening mark."""
    begin, end = marks
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        if begin in line:
            if inside:
                raise ValueError(f"{begin!r} twice without {end!r} between")
            inside = True
            indent = line.removesuffix(line.lstrip())
            # Outside functions nothing may raise: an unanswered exercise must not stop the notebook.
            kept += [indent + text for text in stub if indent or text.startswith("#")]
        elif end in line:
            if not inside:
                raise ValueError(f"{end!r} without {begin!r} before it")
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise ValueError(f"{begin!r} is never closed by {end!r}")
    return "\n".join(kept)


def students_bytes(path: Path) -> bytes:
    """The students' version of the file `path`; a file that is not a notebook stays unchanged."""
    if path.suffix != ".ipynb":
        return path.read_bytes()
    try:
        notebook = students_version(json.loads(path.read_bytes()))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


@dataclass
class Update:
    """What `update_working_copy` did, as paths inside the working copy."""

    new: list[str] = field(default_factory=list)
    """Lessons that were not there."""
    renewed: list[str] = field(default_factory=list)
    """Lessons that nobody had edited, replaced by a newer version."""
    kept: list[str] = field(default_factory=list)
    """Lessons with the student's edits, left alone."""
    beside: list[tuple[str, str]] = field(default_factory=list)
    """(edited lesson, new file beside it that holds the newer version)."""


def update_working_copy(target: Path, source: Path | None = None) -> Update:
    """Put the lessons into the folder `target`, and never overwrite what a student wrote there.

    A missing lesson is written, and an unchanged one is updated. An edited one stays; if there is a newer version, that
    is put beside it once, as `NAME.updated.ipynb`. `source` is the folder of the instructor versions, by default the
    installed lessons. Raises `FileNotFoundError` if it does not exist.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> update_working_copy(folder).new == update_working_copy(folder).new
    False
    """
    source = source or lessons_root()
    lessons = lesson_files(source)
    if not any(path.suffix == ".ipynb" for path in lessons):
        raise FileNotFoundError(f"no lessons at {source}")
    record_file = target / RECORD
    record = _read_record(record_file)
    update = Update()
    for path in lessons:
        name = path.relative_to(source).as_posix()
        content = students_bytes(path)
        latest, offered = _digest(content), record.get(name)
        copy_of = target / name
        present = _digest(copy_of.read_bytes()) if copy_of.exists() else None
        if present is None:
            update.new.append(name)
            _write(copy_of, content)
        elif present == latest:
            pass
        elif present == offered:
            update.renewed.append(name)
            _write(copy_of, content)
        else:
            update.kept.append(name)
            if offered != latest:
                beside = _free_name(copy_of)
                update.beside.append((name, beside.relative_to(target).as_posix()))
                _write(beside, content)
        record[name] = latest
    _write(record_file, (json.dumps(record, indent=1) + "\n").encode())
    return update


def _read_record(path: Path) -> dict[str, str]:
    """The record of what was written last; empty if unreadable, because any file may then contain a student's edits."""
    try:
        record = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _free_name(path: Path) -> Path:
    candidate, count = path.with_name(f"{path.stem}.updated{path.suffix}"), 1
    while candidate.exists():
        count += 1
        candidate = path.with_name(f"{path.stem}.updated-{count}{path.suffix}")
    return candidate


def _write(path: Path, content: bytes) -> None:
    """Write completely or not at all, so that an interruption leaves no half lesson."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)
