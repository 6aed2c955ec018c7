"""A student's own engine: what the lessons asked for, put together in one file that trains a network.

Each piece is an answer cell of a lesson. What is not written yet is borrowed from the course, and marked as borrowed.
The pieces meet in a frame that the course gives. The file is plain Python, and the student's own to change: `read`
takes it apart again.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

from ...exercises import all_exercises
from ..answers import answer_cells, begun, lesson_notebooks

FILE = "my_engine.py"
FRAME = "frame"
CHANGED = "changed"  # the last word above a piece that was changed by hand
GIVEN = (FRAME, "further_ops")
PIECES = (  # exercises, in the order of the lessons
    "mul_backward",
    "relu_backward",
    "record_parents",
    "topological_order",
    "backward_pass",
    "unbroadcast",
    "mean_backward",
    "matmul_backward",
    "first_gradient",
    "train",
    "version_check",
    "freeing",
)
_HEAD = '''"""My engine: what I wrote in the lessons, and a frame of the course that holds it together.

`tinygrad-edu engine` collects it again and keeps what is changed here.
"""

import numpy as np
'''
_MARK = re.compile(r"^# --- (\w+)(?:, lesson \d+)?: (mine|borrowed|of the course)\b.*\[(\w+)\]$", re.MULTILINE)
_MARKS = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION\n?", re.MULTILINE)


@dataclass(frozen=True)
class Piece:
    """One piece of an engine: its source, and whether the student wrote it."""

    name: str
    source: str
    mine: bool
    changed: bool = False  # by hand, in the engine's file

    @property
    def lesson(self) -> int | None:
        """The lesson that asks for it; None for what the course gives."""
        return all_exercises()[self.name].lesson if self.name in PIECES else None


@dataclass(frozen=True, repr=False)
class OwnEngine:
    """An engine in pieces.

    >>> from tinygrad_edu.course.working_copy import lessons_root
    >>> engine = collect(lessons_root())
    >>> engine.module().tensor(3.0).item(), engine.with_piece(borrowed("unbroadcast")).pieces["unbroadcast"].mine
    (3.0, False)
    """

    pieces: dict[str, Piece]

    @property
    def mine(self) -> list[str]:
        """The pieces that the student wrote."""
        return [name for name, piece in self.pieces.items() if piece.mine]

    def __repr__(self) -> str:
        lines = [f"{len(self.mine)} of {len(PIECES)} pieces are mine"]
        for whose, wanted in (("mine", True), ("borrowed", False)):
            names = [name for name in PIECES if self.pieces[name].mine is wanted]
            told = ", ".join(f"{name} ({self.pieces[name].lesson})" for name in names)
            lines += (
                textwrap.wrap(f"{whose}: {told}", 90, subsequent_indent="  ", break_on_hyphens=False) if names else []
            )
        return "\n".join(lines)

    @property
    def text(self) -> str:
        """The engine as one file."""
        return (
            "\n\n".join([_HEAD.rstrip(), *(f"{_heading(one)}\n{one.source.strip()}" for one in self.pieces.values())])
            + "\n"
        )

    def with_piece(self, piece: Piece) -> OwnEngine:
        """The same engine with another piece in its place."""
        return replace(self, pieces=self.pieces | {piece.name: piece})

    def module(self, name: str = "my_engine") -> ModuleType:
        """The engine as a module. What its code raises is raised here, such as a SyntaxError."""
        module = ModuleType(name)
        exec(compile(self.text, FILE, "exec", dont_inherit=True), vars(module))
        return module


def _heading(piece: Piece) -> str:
    """The line above a piece in the file. Its last word shows later whether the piece was changed in the file."""
    last = CHANGED if piece.changed else _digest(piece.source)
    if piece.lesson is None:
        return f"# --- {piece.name}: of the course [{last}]"
    whose = "mine" if piece.mine else "borrowed; write it there, and it becomes mine"
    return f"# --- {piece.name}, lesson {piece.lesson}: {whose} [{last}]"


def _digest(source: str) -> str:
    return hashlib.sha256(source.strip().encode()).hexdigest()[:8]


@cache
def borrowed(name: str) -> Piece:
    """A piece as the course has it."""
    if name in GIVEN:
        return Piece(name, (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8"), False)
    return Piece(name, _MARKS.sub("", answer_cells([*lesson_notebooks().values()])[name]), False)


def collect(folder: Path | str | None = None) -> OwnEngine:
    """The engine made of the answers in the working copy `folder`; what is missing there is borrowed.

    Args:
        folder: the working copy; by default the one around the current notebook's folder.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    folder = Path(folder) if folder else Path.cwd().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"no working copy of the lessons at {folder}")
    pieces = {name: borrowed(name) for name in (*PIECES, *GIVEN)}
    for exercise, answer in begun(folder):
        if exercise.id in PIECES:
            pieces[exercise.id] = Piece(exercise.id, _MARKS.sub("", answer.source), True)
    return OwnEngine(pieces)


def renewed(folder: Path | str | None = None, path: Path | None = None) -> OwnEngine:
    """The engine of a working copy, as `collect` finds it, with all changes made in its file, which is written anew.

    A piece that was changed by hand stays as it is there, also where its lesson has another answer by now: to take that
    one, move the file away.

    Args:
        folder: as for `collect`.
        path: the file; by default `my_engine.py` in the folder.

    Raises:
        FileNotFoundError: the folder does not exist.
        ValueError: there is such a file, and it cannot be read.
    """
    folder = Path(folder) if folder else Path.cwd().parent
    path = path or folder / FILE
    engine = current(folder, path)
    write(engine, path)
    return engine


def current(folder: Path, path: Path | None = None) -> OwnEngine:
    """The same, and no file is written."""
    engine, path = collect(folder), path or folder / FILE
    if path.exists():
        for piece in read(path).pieces.values():
            if piece.changed:
                engine = engine.with_piece(piece)
    return engine


def write(engine: OwnEngine, path: Path) -> None:
    """Write the engine as one file."""
    path.write_text(engine.text, encoding="utf-8")


def read(path: Path) -> OwnEngine:
    """Take the file of an engine apart again. A piece changed there is the student's own, and marked `changed`.

    Raises:
        ValueError: the file has no headings, or lacks a piece.
    """
    text = path.read_text(encoding="utf-8")
    marks = list(_MARK.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    pieces = {}
    for mark, end in zip(marks, ends, strict=True):
        source = text[mark.end() : end].strip() + "\n"
        changed = _digest(source) != mark[3]
        pieces[mark[1]] = Piece(mark[1], source, mark[2] == "mine" or (changed and mark[1] in PIECES), changed)
    lacking = [name for name in (*PIECES, *GIVEN) if name not in pieces]
    if lacking:
        raise ValueError(
            f"{path} lacks {', '.join(lacking)}: each piece stands below a heading such as "
            f"`{_heading(borrowed(lacking[0]))}`. move the file away, and `tinygrad-edu engine` writes it anew"
        )
    return OwnEngine(pieces)
