"""Submitted notebooks as they come: damaged, renamed, with cells copied or gone. None of them stops the grading.

Nothing of a submission is parsed as Python here: that, too, is left to the sandbox.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .exercise import Exercise

MAX_FILE = 32 << 20  # bytes; a notebook with pictures may be large, a zip bomb is larger


@dataclass(frozen=True)
class Answer:
    """The cell that answers an exercise, and the notebook's other code cells, whose functions it may use."""

    source: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """What one student handed in: answers by exercise id, and what a grader should know of how they were found."""

    student: str
    answers: Mapping[str, Answer]
    notes: tuple[str, ...] = ()


def read_submissions(path: Path, exercises: Mapping[str, Exercise]) -> list[Submission]:
    """One submission for every student in a folder, a zip file or a single notebook, in order of their names.

    A student is the first folder of a path, or where there is none the file's name; of several notebooks the one that
    answers most counts. Raises FileNotFoundError when `path` does not exist.
    """
    if not path.exists():
        raise FileNotFoundError(f"no submissions at {path}")
    found: dict[str, list[tuple[str, bytes | str]]] = {}
    for name, content in _files(path):
        inside = PurePosixPath(name)
        student = inside.parts[0] if len(inside.parts) > 1 else inside.stem
        found.setdefault(student, []).append((name, content))
    return [_submission(student, files, exercises) for student, files in sorted(found.items())]


def lesson_of(submissions: list[Submission], exercises: Mapping[str, Exercise]) -> int | None:
    """The lesson that most of the answers belong to; one student's stray cells do not change it."""
    lessons = Counter(exercises[id].lesson for submission in submissions for id in submission.answers)
    return lessons.most_common(1)[0][0] if lessons else None


def _files(path: Path) -> Iterator[tuple[str, bytes | str]]:
    """Name and content of each submitted file; in place of the content a sentence, where it cannot be read."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path).as_posix()
            if file.is_symlink() or not file.is_file() or any(part.startswith(".") for part in Path(name).parts):
                continue
            if file.suffix == ".zip":
                yield from _zipped(file, prefix="" if file.parent == path else f"{file.parent.name}/")
            else:
                yield name, _read(file)
    elif zipfile.is_zipfile(path):
        yield from _zipped(path)
    else:
        yield path.name, _read(path)


def _read(file: Path) -> bytes | str:
    try:
        return file.read_bytes() if file.stat().st_size <= MAX_FILE else f"{file.name} is larger than any notebook."
    except OSError as error:
        return f"{file.name} cannot be read: {error.strerror}."


def _zipped(path: Path, prefix: str = "") -> Iterator[tuple[str, bytes | str]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.is_dir() or "__MACOSX" in entry.filename:
                    continue
                name = prefix + entry.filename.lstrip("/")
                if entry.file_size > MAX_FILE:
                    yield name, f"{entry.filename} is larger than any notebook."
                else:
                    with archive.open(entry) as file:  # read to the limit, whatever size the archive claims
                        yield name, file.read(MAX_FILE)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as error:
        yield prefix + path.name, f"{path.name} is a damaged or locked archive: {error}."


def _submission(student: str, files: list[tuple[str, bytes | str]], exercises: Mapping[str, Exercise]) -> Submission:
    read = []
    for name, content in files:
        answers, notes = _answers(name, content, exercises)
        read.append((len(answers), name, answers, notes))
    best = max(read, key=lambda entry: entry[0])
    notes = list(best[3])
    if len([entry for entry in read if entry[0]]) > 1:
        notes.append(f"There are several notebooks; {best[1]} was graded.")
    return Submission(student, best[2], tuple(notes))


def _answers(name: str, content: bytes | str, exercises: Mapping[str, Exercise]) -> tuple[dict[str, Answer], list[str]]:
    if isinstance(content, str):
        return {}, [content]
    if not content.strip():
        return {}, [f"{name} is empty."]
    try:
        cells = [_cell(cell) for cell in json.loads(content)["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}, [f"{name} is no notebook, or a damaged one."]
    code = [(id, source) for id, source in cells if source.strip()]
    answers, notes = {}, []
    for exercise in exercises.values():
        marked = [source for id, source in code if id == exercise.id]
        defines = re.compile(rf"^(?:def|class)\s+{exercise.name}\b|^{exercise.name}\s*[:=]", re.MULTILINE)
        if len(marked) > 1:
            notes.append(f"{exercise.id}: {len(marked)} cells carry this id; the last that defines it was graded.")
        if not marked and any(id == f"check_{exercise.id}" for id, _ in code):
            notes.append(f"{exercise.id}: no cell carries this id; one that defines `{exercise.name}` was looked for.")
            marked = [source for id, source in code if not id.startswith("check_")]
            marked = [source for source in marked if defines.search(source)]
        if not marked:
            continue
        source = next((source for source in reversed(marked) if defines.search(source)), marked[-1])
        answers[exercise.id] = Answer(source, tuple(other for _, other in code if other is not source))
    if not answers:
        notes.append(f"{name} holds no answer to any exercise.")
    return answers, notes


def _cell(cell: object) -> tuple[str, str]:
    """The nbgrader id and the source of a code cell; of any other cell, or of what is no cell, nothing."""
    if not isinstance(cell, dict):
        return "", ""
    source, metadata = cell.get("source", ""), cell.get("metadata", {})
    if cell.get("cell_type") != "code":
        return "", ""
    text = "".join(line for line in source if isinstance(line, str)) if isinstance(source, list) else str(source)
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return str(nbgrader.get("grade_id", "")) if isinstance(nbgrader, dict) else "", text
