"""The lines of a program: the text or function that is recorded, and which frame runs which of its lines."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import re
import textwrap
import traceback
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any

KEPT_PROGRAMS = 32
_programs = itertools.count(1)
_FRAME = re.compile(r' {2}File "([^"\n]*)"(, line \d+, in [^\n]*\n(?: {4}[^\n]*\n)*)')


class Source:
    """Source text or a function: where its lines are, and how to call it."""

    def __init__(self, program: str | Callable[..., Any]) -> None:
        self.function = None if isinstance(program, str) else program
        self.first = 1
        self.codes: set[CodeType] = set()  # of a function, and of everything defined in it
        if isinstance(program, str):
            text = textwrap.dedent(program).strip("\n")
            self.filename = f"<program {next(_programs)}>"
            linecache.cache[self.filename] = (len(text), None, text.splitlines(keepends=True), self.filename)
            # Tracebacks read the lines from here. Only the latest programs keep theirs, or a slider would fill memory.
            linecache.cache.pop(f"<program {int(self.filename.split()[1][:-1]) - KEPT_PROGRAMS}>", None)
            self.text = text
        else:
            target = behind(program)
            code = getattr(target, "__code__", None)
            self.filename = code.co_filename if code is not None else ""
            self.codes.update(codes_in(code) if code is not None else ())
            try:
                lines, self.first = inspect.getsourcelines(target)
            except (OSError, TypeError):
                lines = []
            if not lines and code is not None:
                self.first = code.co_firstlineno
            self.first = max(self.first, 1)
            self.text = textwrap.dedent("".join(lines)).rstrip("\n")
        self.main = self.text  # what runs
        self.loops = _loops(self.text)

    def owns(self, frame: FrameType) -> bool:
        """Whether `frame` runs a line of this program."""
        # Compare code objects, not lines: a cell's own frame starts at line 1, as does a function that opens the cell.
        code = frame.f_code
        return code.co_filename == self.filename if self.function is None else code in self.codes

    def holds(self, code: CodeType) -> bool:
        """Whether a function was defined in a file of this program."""
        return code.co_filename == self.filename

    def number(self, frame: FrameType, line: int) -> int:
        """The program's line, counted from 1, of a line of the file that a frame of it runs."""
        return line - self.first + 1

    def frames(self, error: BaseException) -> list[tuple[FrameType, int]]:
        """The frames of the program that an error went through, and their lines, the innermost last."""
        own = ((frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if self.owns(frame))
        return [(frame, self.number(frame, line)) for frame, line in own]

    def place(self, line: int) -> tuple[str, int]:
        """The file of a line, empty for that of the program itself, and its number there."""
        return "", line

    def told(self, line: int | None) -> str:
        """A line in a sentence, by its number and its file."""
        return f"line {line}"

    def named(self, line: int) -> str:
        """A line by its number."""
        return f"line {line}"

    def line(self, frame: FrameType | None) -> int | None:
        """The program's line that `frame` or one of its callers is at; counted from 1."""
        while frame is not None:
            if self.owns(frame) and frame.f_lineno is not None:
                return self.number(frame, frame.f_lineno)
            frame = frame.f_back
        return None


def without_other_frames(text: str) -> str:
    """A warning in whose traceback the lines of programs alone are left, as an engine's anomaly mode tells them.

    The others are those of this package and of the notebook's server, and name the folders of a machine.
    """
    return _FRAME.sub(lambda frame: f'  File "<program>"{frame[2]}' if frame[1].startswith("<program ") else "", text)


def behind(program: Any) -> Any:
    """The function whose lines a program runs: the one that a partial, a method, a decorator or an object calls."""
    for _ in range(20):  # a wrapper may be wrapped in itself
        inner = program.func if isinstance(program, functools.partial) else getattr(program, "__func__", None)
        inner = inner or getattr(program, "__wrapped__", None) or decorated(program)
        if inner is None and not hasattr(program, "__code__") and not isinstance(program, type):
            inner = getattr(type(program).__call__, "__code__", None) and type(program).__call__
        if inner is None:
            break
        program = inner
    return program


def decorated(function: Any) -> Any:
    """What a decorator has wrapped without `functools.wraps`: the one function that `(*args, **kwargs)` closes over."""
    code, passes_on = getattr(function, "__code__", None), inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if not isinstance(code, CodeType) or code.co_argcount or code.co_flags & passes_on != passes_on:
        return None
    held = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    functions = [value for value in held if isinstance(value, (FunctionType, MethodType))]
    return functions[0] if len(functions) == 1 else None


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object, and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def variables_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a running frame, to read.

    Python 3.12 runs a comprehension in the frame that holds it. Outside a function its own variables are hidden, and a
    tracer that has read `f_locals` leaves None in them. A module's variables are its namespace, and need no `f_locals`.
    """
    code = frame.f_code
    if code.co_flags & inspect.CO_OPTIMIZED or not code.co_varnames:
        return frame.f_locals
    return frame.f_globals if code.co_name == "<module>" else {}


@functools.lru_cache(maxsize=64)
def _loops(text: str) -> dict[int, int]:
    """The first line of each loop in a program, and its last."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    return {
        node.lineno: node.end_lineno or node.lineno
        for node in ast.walk(tree)
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor))
    }


class Loops:
    """In which step of which loops a frame of the program is."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers  # for the runs of the program's loops
        self.inside: list[list[int]] = []  # number of the loop's run, step; outermost first
        self._at: list[tuple[int, int]] = []  # the lines of these loops

    def find(self, line: int, loops: dict[int, int]) -> None:
        """The frame is at a line, and its way there was not seen: a loop not known yet is in its first step."""
        for first in sorted(first for first, last in loops.items() if first <= line <= last):
            if all(first != known for known, _ in self._at):
                self.reach(first, loops)

    def reach(self, line: int, loops: dict[int, int]) -> None:
        """The frame begins a line."""
        while self._at and not (self._at[-1][0] <= line <= self._at[-1][1]):
            self._leave()
        if line not in loops:
            return
        if all(first != line for first, _ in self._at):
            self._at.append((line, loops[line]))
            self.inside.append([next(self._numbers), 0])
        while self._at[-1][0] != line:
            self._leave()
        self.inside[-1][1] += 1

    def _leave(self) -> None:
        self._at.pop()
        self.inside.pop()
