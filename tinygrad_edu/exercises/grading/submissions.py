"""Reads notebooks in any state: damaged, renamed, with copied or missing cells. None of them stops the grading.

Nothing in a submission is parsed as Python here; the sandbox does that too.
"""

from __future__ import annotations

import datetime
import functools
import io
import json
import lzma
import math
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import plain
from ..exercise import Exercise

PREDICTION = "application/vnd.tinygrad-edu.prediction+json"  # of viz.widgets.predict
MAX_FILE = 32 << 20  # bytes; a notebook with pictures may be large, a zip bomb is larger
MAX_ARCHIVE = 8 * MAX_FILE  # bytes of one student's archive after unpacking
MAX_PARTS = 2_000_000  # lists, objects and their items in a notebook: each takes far more memory than in the file
MAX_CODE = 256 << 10  # characters of an answer, and of all other cells: ten times the longest lesson
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,  # a password; also the base of NotImplementedError, for an unknown compression
    ValueError,  # a name that is not Unicode
)


@dataclass(frozen=True)
class Answer:
    """The cell that answers an exercise, and the notebook's other code cells, whose functions it may use.

    `others` are above the check, `later` below it; `changes` are cells that change what was defined.
    """

    source: str
    others: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """One student's submission: answers by exercise id, and notes on how they were found."""

    student: str
    answers: Mapping[str, Answer]
    notes: tuple[str, ...] = ()
    predicted: tuple[tuple[str, str], ...] = ()  # questions that a lesson asked, and the first choice


def read_submissions(path: Path, exercises: Mapping[str, Exercise]) -> list[Submission]:
    """One submission per student in a folder, a zip file or a single notebook, ordered by name.

    A student is the first folder of a path, or without a folder the file's name; archives count as unpacked. Of several
    notebooks of a lesson, the one counts that has the most answers besides stubs, and of those the most recent. Raises
    FileNotFoundError if `path` does not exist.
    """
    if not path.exists():
        raise FileNotFoundError(f"no submissions at {path}")
    found: dict[str, list[_Found]] = {}
    for name, content, when in _files(path):
        *folders, file = [part for part in name.split("/") if part not in ("", ".", "..")] or [name]
        if any(part.startswith(_OTHERS) for part in (*folders, file)):
            continue
        of_student = found.setdefault(folders[0] if folders else file if content is None else Path(file).stem, [])
        if content is not None:
            # Keep only the answers of a file: an archive may hold a thousand files.
            of_student.append(_Found(name, when, *_answers(name, content, exercises), _predicted(content)))
    return [_submission(student, read, exercises) for student, read in sorted(found.items())]


def lesson_of(submissions: list[Submission], exercises: Mapping[str, Exercise]) -> int | None:
    """The lesson that most of the answers belong to. A few cells from another lesson do not change it."""
    lessons = Counter(exercises[id].lesson for submission in submissions for id in submission.answers)
    return lessons.most_common(1)[0][0] if lessons else None


def quoted(name: str) -> str:
    """A name that a student chose, made safe for a sentence: on one line, short, and quoted."""
    name = plain.one_line(name)
    return f'"{name if len(name) <= 60 else name[:59] + "…"}"'


_OTHERS = (".", "__MACOSX")  # prefixes of files that systems and editors create


_Files = Iterator[tuple[str, bytes | str | None, float]]
"""Name, content and time of each submitted file. Content is a sentence if unreadable, and None for a folder."""


def _files(path: Path) -> _Files:
    if path.is_dir():
        files = sorted(path.rglob("*"))
        if [file.suffix.lower() for file in files] == [".zip"]:
            yield from _files(files[0])
            return
        for file in files:
            name = file.relative_to(path).as_posix()
            if file.is_symlink():
                yield name, f"{quoted(file.name)} is a link and was not followed.", 0.0
            elif file.is_dir():
                yield name, None, 0.0
            elif not file.is_file():
                yield name, f"{quoted(file.name)} is no file.", 0.0
            elif file.suffix.lower() == ".zip":
                yield from _zipped(file, _unpacked(name))
            else:
                yield name, _read(file), file.stat().st_mtime
    elif zipfile.is_zipfile(path):
        yield from _zipped(path, "")
    else:
        yield path.name, _read(path), 0.0


def _read(file: Path) -> bytes | str:
    try:
        return (
            file.read_bytes()
            if file.stat().st_size <= MAX_FILE
            else f"{quoted(file.name)} is larger than any notebook."
        )
    except OSError as error:
        return f"{quoted(file.name)} cannot be read: {error.strerror}."


def _unpacked(name: str) -> str:
    """Where the archive `name` counts as unpacked: beside it; an archive that stands alone belongs to one student."""
    folder, _, file = name.rpartition("/")
    return folder or file.rpartition(".")[0]


def _zipped(file: Path | io.BytesIO, folder: str, nested: bool = False) -> _Files:
    """The files of an archive, as if it had been unpacked into `folder`, including archives inside it. Without a
    `folder` it is the archive of a whole course, otherwise that of one student."""
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGED:
        name = file.name if isinstance(file, Path) else "archive.zip"
        yield f"{folder}/{name}", "The archive is damaged.", 0.0
        return
    with archive:
        wrapper = "" if folder else _wrapper(archive.namelist())
        room = MAX_ARCHIVE if folder else math.inf
        for entry in archive.infolist():
            inside = f"{folder}/{_slashed(entry.filename).removeprefix(wrapper)}".lstrip("/")
            if entry.is_dir():
                yield inside.rstrip("/"), None, 0.0
                continue
            try:
                with archive.open(entry) as opened:  # read up to the limit, whatever size the archive claims
                    content: bytes | str = opened.read(MAX_FILE + 1)
            except _DAMAGED:
                content = f"{quoted(entry.filename)} is damaged or locked."
            room -= len(content)
            if room < 0:
                yield inside, "The archive contains more than any submission and was not read to its end.", 0.0
                return
            if len(content) > MAX_FILE:
                content = f"{quoted(entry.filename)} is larger than any notebook."
            if isinstance(content, bytes) and inside.lower().endswith(".zip") and not nested:
                yield from _zipped(io.BytesIO(content), _unpacked(inside), nested=True)
            else:
                yield inside, content, _time_of(entry)


def _time_of(entry: zipfile.ZipInfo) -> float:
    try:
        return datetime.datetime(*entry.date_time).timestamp()
    except (ValueError, OverflowError):  # an archive may claim the 31st of February
        return 0.0


def _slashed(name: str) -> str:
    return name.replace("\\", "/")  # some systems use their own separator


def _wrapper(names: list[str]) -> str:
    """The single folder, with a slash, that contains all students' folders in an archive; "" if there is none."""
    paths = [_slashed(name).split("/") for name in names]
    paths = [path for path in paths if path[-1] and not any(part.startswith(_OTHERS) for part in path)]
    outer = {path[0] for path in paths}
    handed_in = [path for path in paths if path[-1].lower().endswith((".ipynb", ".zip"))]
    inner = {path[1] for path in handed_in if len(path) > 2 or (len(path) == 2 and path[1].lower().endswith(".zip"))}
    return f"{outer.pop()}/" if len(outer) == 1 and len(inner) > 1 else ""


@dataclass(frozen=True)
class _Found:
    name: str
    when: float
    answers: dict[str, Answer]
    notes: list[str]
    predicted: dict[str, str]

    def rank(self, asked: list[str]) -> tuple[int, int]:
        """What makes this the notebook to grade: answers besides stubs, then the time in seconds."""
        return sum(id in self.answers and not _is_stub(self.answers[id].source) for id in asked), int(self.when)


def _submission(student: str, read: list[_Found], exercises: Mapping[str, Exercise]) -> Submission:
    answers: dict[str, Answer] = {}
    graded: dict[str, _Found] = {}
    notes = []
    for lesson in sorted({exercises[id].lesson for file in read for id in file.answers}):
        asked = [id for id, exercise in exercises.items() if exercise.lesson == lesson]
        begun = [file for file in read if file.answers.keys() & set(asked)]
        best = max(begun, key=lambda file: (*file.rank(asked), len(file.answers.keys() & set(asked))))
        answers |= {id: best.answers[id] for id in asked if id in best.answers}
        graded[best.name] = best
        if len(begun) > 1:
            why = f"it answers {best.rank(asked)[0]} of {len(asked)} exercises"
            why += ", and is the most recent that does" if _equals(best, begun, asked) else ", the most"
            notes.append(f"There are several notebooks of lesson {lesson}; {quoted(best.name)} was graded: {why}.")
    if read and not graded:
        told = next((file for file in read if file.name.lower().endswith(".ipynb")), read[-1])
        graded[told.name] = told
    if not read:
        notes.append("Nothing was handed in: the folder is empty, or cannot be read.")
    predicted = {question: first for file in graded.values() for question, first in file.predicted.items()}
    all_notes = (*(note for file in graded.values() for note in file.notes), *notes)
    return Submission(student, answers, all_notes, tuple(predicted.items()))


def _equals(best: _Found, begun: list[_Found], asked: list[str]) -> bool:
    return sum(file.rank(asked)[0] == best.rank(asked)[0] for file in begun) > 1


def _predicted(content: bytes | str) -> dict[str, str]:
    """The first choices that a saved notebook has of its predictions. Anything else than that is passed over."""
    if isinstance(content, str) or PREDICTION.encode() not in content or content.count(b"[") > MAX_PARTS:
        return {}
    found = {}
    try:
        for cell in json.loads(content)["cells"]:
            for output in cell.get("outputs", ()):
                kept = output.get("data", {}).get(PREDICTION)
                if kept is not None and isinstance(kept["question"], str) and isinstance(kept["first"], str):
                    found[kept["question"]] = kept["first"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return found


def _answers(name: str, content: bytes | str, exercises: Mapping[str, Exercise]) -> tuple[dict[str, Answer], list[str]]:
    if isinstance(content, str):
        return {}, [content]
    if not content.strip():
        return {}, [f"{quoted(name)} is empty."]
    if sum(map(content.count, (b"[", b"{", b","))) > MAX_PARTS:
        return {}, [f"{quoted(name)} has more parts than any notebook and was not read."]
    try:
        notebook = json.loads(content)
        if isinstance(notebook, dict) and "worksheets" in notebook:
            return {}, [
                f"{quoted(name)} is in a format from before 2015: open it in Jupyter, save it, and hand in the new "
                "file."
            ]
        cells = [_cell(cell) for cell in notebook["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}, [f"{quoted(name)} is not a notebook, or it is damaged."]
    code = [(id, source) for kind, id, source in cells if kind == "code" and source.strip()]
    elsewhere = {id for kind, id, _ in cells if kind != "code"}
    lengthy = sum(len(source) for _, source in code) > MAX_CODE
    answers, notes = {}, []
    places = {id: place_of_answer(id, exercise.name, code) for id, exercise in exercises.items()}
    places |= _by_name_alone(places, exercises, code)
    for exercise in exercises.values():
        place, note = places[exercise.id]
        if place is None:
            if exercise.id in elsewhere:
                notes.append(f"{exercise.id}: its cell is no longer a code cell.")
            continue
        if note:
            notes.append(f"{exercise.id}: {note}.")
        source = code[place][1]
        if len(source) > MAX_CODE:
            notes.append(f"{exercise.id}: its cell is longer than any answer and was not run.")
            continue
        if lengthy:
            notes.append(
                f"{exercise.id}: there is more code than in any lesson; it was graded without the other cells."
            )
            answers[exercise.id] = Answer(source)
            continue
        end = place_of_check(exercise.id, code)
        end = end if place < end else len(code)
        changes = {i for i in range(place + 1, end) if _changes(exercise.name).search(code[i][1])}
        answers[exercise.id] = Answer(
            source,
            tuple(source for i, (_, source) in enumerate(code[:end]) if i != place and i not in changes),
            tuple(code[i][1] for i in sorted(changes)),
            tuple(source for _, source in code[end:]),
        )
    if lengthy:
        notes.append("There is more code than in any lesson; each answer was graded without the other cells.")
    if not answers:
        notes.append(f"{quoted(name)} contains no answer to any exercise.")
    return answers, notes


def _by_name_alone(
    places: Mapping[str, tuple[int | None, str]], exercises: Mapping[str, Exercise], code: list[tuple[str, str]]
) -> dict[str, tuple[int | None, str]]:
    """Answers in a notebook without the lesson's ids and checks: cells that define an answer's name. Other lessons use
    some of the names for other things, so only the lesson counts that most of the notebook belongs to. One such name
    alone says nothing: the gallery, too, has a class `Cube`."""
    defining = {}
    for id, exercise in exercises.items():
        written = [i for i, (_, source) in enumerate(code) if defines(exercise.name).search(source)]
        written = [i for i in written if not code[i][0].startswith("check_") and not _is_stub(code[i][1])]
        if places[id][0] is None and written:
            note = f"no cell carries this id or checks it; one that defines `{exercise.name}` was graded"
            defining[id] = (written[-1], note)
    found = [id for id, (place, _) in places.items() if place is not None]
    lesson, count = next(iter(Counter(exercises[id].lesson for id in found or defining).most_common(1)), (None, 0))
    return {id: at for id, at in defining.items() if exercises[id].lesson == lesson} if found or count > 1 else {}


def place_of_answer(id: str, name: str, code: list[tuple[str, str]]) -> tuple[int | None, str]:
    """Which of the code cells, given as id and source, answers an exercise, and a note on the choice.

    It is the one that counts when the notebook is run from top to bottom: the last above the check that defines `name`.
    A stub that was left as it was counts only where nothing else does, and a cell below the check where nothing above
    it does.
    """
    marked = [i for i, (own, _) in enumerate(code) if own == id]
    end = place_of_check(id, code)
    if not marked and end == len(code) and not _is_checked(id, code):
        return None, ""
    defining = [
        i for i, (own, source) in enumerate(code) if not own.startswith("check_") and defines(name).search(source)
    ]
    written = [i for i in defining if not _is_stub(code[i][1])]
    for places in (written, defining):
        above, below = [i for i in places if i < end], [i for i in places if i > end]
        if above or below:
            place = (above or below)[-1]
            break
    else:
        return (marked[-1], "") if marked else (None, "")
    if not marked:
        return place, f"no cell carries this id; one that defines `{name}` was graded"
    if len(marked) > 1:
        return place, f"{len(marked)} cells carry this id; the one that counts at the check was graded"
    return place, "" if place in marked else "the answer is in a separate cell, beside the given one"


def place_of_check(id: str, code: list[tuple[str, str]]) -> int:
    """Where the lesson checks an exercise; past the end where it does not."""
    by_id = [i for i, (own, _) in enumerate(code) if own == f"check_{id}"]
    asked = [i for i, (_, source) in enumerate(code) if _asks(id).search(source) and not _asked_within(code[i][1])]
    return (by_id or asked[-1:] or [len(code)])[0]


def _is_checked(id: str, code: list[tuple[str, str]]) -> bool:
    return any(_asks(id).search(source) for _, source in code)


def _asked_within(source: str) -> bool:
    """Whether a cell also defines something, as one does that holds both the answer and its check."""
    return re.search(r"^(?:def|class)\s", source, re.MULTILINE) is not None


@functools.cache
def _asks(id: str) -> re.Pattern[str]:
    return re.compile(rf"""\bcheck\(\s*["']{id}["']""")


@functools.cache
def defines(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"^(?:>>> |In \[\d+\]: )?(?:async\s+)?(?:def|class)\s+{name}\b|^{name}\s*(?::[^=\n]*)?=(?!=)"
        rf"|^(?:from|import)\s.*\b{name}\b"
        rf"|^[\w*, (]*\b{name}\b[\w*, )]*=(?!=)",
        re.MULTILINE,
    )


@functools.cache
def _changes(name: str) -> re.Pattern[str]:
    """A line that changes what `name` means without giving it a new meaning."""
    part = r"(?:\.\w+|\[[^\n\]]*\])"
    return re.compile(
        rf"^{name}{part}+\s*[-+*/|&]?=(?!=)|^{name}\s*[-+*/|&]=|^{name}\.(?:update|setdefault|pop)\(|^\s+{name}\[",
        re.MULTILINE,
    )


_STUB = re.compile(r"(?m)^[ \t]*# YOUR CODE HERE\n[ \t]*raise NotImplementedError")
_EMPTY = re.compile(
    r"\s*(?:#.*|@.*|(?:def|class)\b.*:|raise NotImplementedError.*|pass|\.\.\."
    r"|[\"'].*[\"']: None\}?,?|\w+ = (?:\{|None)|\})?\s*"
)


def _is_stub(source: str) -> bool:
    """Whether a cell is as it was handed out: nothing was written between the marks."""
    if _STUB.search(source):
        return True
    return all(_EMPTY.fullmatch(line) for line in source.split("\n")[:200]) and len(source) < 4000


def _cell(cell: object) -> tuple[str, str, str]:
    """The type, nbgrader id and source of a cell; empty values if it is not a cell. As in Jupyter, the indentation of
    the first line is taken from all of them."""
    if not isinstance(cell, dict):
        return "", "", ""
    source, metadata = cell.get("source", ""), cell.get("metadata", {})
    text = "".join(line for line in source if isinstance(line, str)) if isinstance(source, list) else str(source)
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    id = str(nbgrader.get("grade_id", "")) if isinstance(nbgrader, dict) else ""
    if indent := re.match(r"(?:[ \t]*\n)*([ \t]+)\S", text):
        text = re.sub(rf"(?m)^{indent[1]}", "", text)
    return str(cell.get("cell_type")), id, text
