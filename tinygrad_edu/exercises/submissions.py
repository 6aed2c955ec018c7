"""Submitted notebooks as they come: damaged, renamed, with cells copied or gone. None of them stops the grading.

Nothing of a submission is parsed as Python here: that, too, is left to the sandbox.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .exercise import Exercise

MAX_FILE = 32 << 20  # bytes; a notebook with pictures may be large, a zip bomb is larger
MAX_CODE = 256 << 10  # characters of an answer, and of all other cells: ten times the longest lesson
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,  # a password; it is also the parent of NotImplementedError, an unknown compression
    ValueError,  # a name that is no Unicode
)


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

    A student is the first folder of a path, or where there is none the file's name; archives count as unpacked. Of several
    notebooks the one that answers most counts. Raises FileNotFoundError when `path` does not exist.
    """
    if not path.exists():
        raise FileNotFoundError(f"no submissions at {path}")
    found: dict[str, list[_Found]] = {}
    for name, content in _files(path):
        *folders, file = [part for part in name.split("/") if part not in ("", ".", "..")] or [name]
        if any(part.startswith((".", "__MACOSX")) for part in (*folders, file)):
            continue
        student = folders[0] if folders else Path(file).stem
        # Nothing but its answers is kept of a file: a thousand of them may be in an archive.
        found.setdefault(student, []).append(_Found(name, *_answers(name, content, exercises)))
    return [_submission(student, read) for student, read in sorted(found.items())]


def lesson_of(submissions: list[Submission], exercises: Mapping[str, Exercise]) -> int | None:
    """The lesson that most of the answers belong to; one student's stray cells do not change it."""
    lessons = Counter(exercises[id].lesson for submission in submissions for id in submission.answers)
    return lessons.most_common(1)[0][0] if lessons else None


def _files(path: Path) -> Iterator[tuple[str, bytes | str]]:
    """Name and content of each submitted file; in place of the content a sentence, where it cannot be read."""
    if path.is_dir():
        files = sorted(path.rglob("*"))
        if [file.suffix.lower() for file in files] == [".zip"]:
            yield from _files(files[0])
            return
        for file in files:
            name = file.relative_to(path).as_posix()
            if file.is_symlink():
                yield name, f"{file.name} is a link, and was not followed."
            elif file.is_file():
                if file.suffix.lower() == ".zip":
                    yield from _zipped(file, _unpacked(name))
                else:
                    yield name, _read(file)
    elif zipfile.is_zipfile(path):
        yield from _zipped(path, "")
    else:
        yield path.name, _read(path)


def _read(file: Path) -> bytes | str:
    try:
        return file.read_bytes() if file.stat().st_size <= MAX_FILE else f"{file.name} is larger than any notebook."
    except OSError as error:
        return f"{file.name} cannot be read: {error.strerror}."


def _unpacked(name: str) -> str:
    """Where the archive `name` counts as unpacked: beside it, and one that stands alone is a student's of its own."""
    folder, _, file = name.rpartition("/")
    return folder or file.rpartition(".")[0]


def _zipped(file: Path | io.BytesIO, folder: str, nested: bool = False) -> Iterator[tuple[str, bytes | str]]:
    """The files of an archive, as if it had been unpacked into `folder`; also of the archives inside of it."""
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGED as error:
        name = file.name if isinstance(file, Path) else "archive.zip"
        yield f"{folder}/{name}", f"The archive is damaged: {error}."
        return
    with archive:
        for entry in archive.infolist():
            # Some systems pack with their own sign.
            inside = f"{folder}/{entry.filename}".replace("\\", "/").lstrip("/")
            if entry.is_dir():
                continue
            try:
                with archive.open(entry) as opened:  # read to the limit, whatever size the archive claims
                    content: bytes | str = opened.read(MAX_FILE + 1)
            except _DAMAGED as error:
                content = f"{entry.filename} is damaged or locked: {error}."
            if len(content) > MAX_FILE:
                content = f"{entry.filename} is larger than any notebook."
            if isinstance(content, bytes) and inside.lower().endswith(".zip") and not nested:
                yield from _zipped(io.BytesIO(content), _unpacked(inside), nested=True)
            else:
                yield inside, content


@dataclass(frozen=True)
class _Found:
    """What was found in one file."""

    name: str
    answers: dict[str, Answer]
    notes: list[str]


def _submission(student: str, read: list[_Found]) -> Submission:
    best = max(read, key=lambda file: len(file.answers))
    several = [f"There are several notebooks; {best.name} was graded."]
    return Submission(
        student, best.answers, (*best.notes, *(several if sum(bool(file.answers) for file in read) > 1 else ()))
    )


def _answers(name: str, content: bytes | str, exercises: Mapping[str, Exercise]) -> tuple[dict[str, Answer], list[str]]:
    if isinstance(content, str):
        return {}, [content]
    if not content.strip():
        return {}, [f"{name} is empty."]
    try:
        notebook = json.loads(content)
        if isinstance(notebook, dict) and "worksheets" in notebook:
            return {}, [f"{name} is in a format of before 2015: open it in Jupyter, save it, and hand that in."]
        cells = [_cell(cell) for cell in notebook["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}, [f"{name} is no notebook, or a damaged one."]
    code = [(id, source) for kind, id, source in cells if kind == "code" and source.strip()]
    elsewhere = {id for kind, id, _ in cells if kind != "code"}
    lengthy = sum(len(source) for _, source in code) > MAX_CODE
    answers, notes = {}, []
    for exercise in exercises.values():
        marked = [source for id, source in code if id == exercise.id]
        defines = re.compile(rf"^(?:def|class)\s+{exercise.name}\b|^{exercise.name}\s*[:=]", re.MULTILINE)
        if len(marked) > 1:
            notes.append(f"{exercise.id}: {len(marked)} cells carry this id; the last that defines it was graded.")
        if not marked and any(id == f"check_{exercise.id}" for id, _ in code):
            marked = [source for id, source in code if not id.startswith("check_")]
            marked = [source for source in marked if defines.search(source)]
            if marked:
                notes.append(f"{exercise.id}: no cell carries this id; one that defines `{exercise.name}` was graded.")
        if not marked:
            if exercise.id in elsewhere:
                notes.append(f"{exercise.id}: its cell is no code cell any more.")
            continue
        source = next((source for source in reversed(marked) if defines.search(source)), marked[-1])
        if len(source) > MAX_CODE:
            notes.append(f"{exercise.id}: its cell is longer than any answer, and was not run.")
            continue
        if lengthy:
            notes.append(
                f"{exercise.id}: there is more code than in any lesson; it was graded without the other cells."
            )
        answers[exercise.id] = Answer(source, () if lengthy else tuple(s for _, s in code if s is not source))
    if lengthy:
        notes.append("There is more code than in any lesson; each answer was graded without the other cells.")
    if not answers:
        notes.append(f"{name} holds no answer to any exercise.")
    return answers, notes


def _cell(cell: object) -> tuple[str, str, str]:
    """The type, nbgrader id and source of a cell; of what is no cell, nothing."""
    if not isinstance(cell, dict):
        return "", "", ""
    source, metadata = cell.get("source", ""), cell.get("metadata", {})
    text = "".join(line for line in source if isinstance(line, str)) if isinstance(source, list) else str(source)
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    id = str(nbgrader.get("grade_id", "")) if isinstance(nbgrader, dict) else ""
    return str(cell.get("cell_type")), id, text
