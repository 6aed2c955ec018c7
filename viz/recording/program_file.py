"""Programs in files: a Python script, the code cells of a notebook, or standard input."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STDIN = Path("-")
_PYTHON_BELOW = ("%%autograd", "%%capture", "%%time", "%%timeit")  # cell magics whose body is Python
_TIMED = re.compile(r"^(\s*)%time(it)?\s+")


@dataclass
class Program:
    """Source text; for a notebook also the line number before each cell."""

    text: str
    cells: list[int] = field(default_factory=list)

    def place(self, line: int | None) -> str:
        """A line number, as the program's author counts it: `line 7`, or `cell 2, line 3`."""
        number = sum(above < (line or 0) for above in self.cells)
        return f"cell {number}, line {(line or 0) - self.cells[number - 1]}" if number else f"line {line}"


def read(path: Path) -> Program:
    """The program in a file: a Python script, a notebook (`.ipynb`), or, for `-`, either of them from standard input.

    What only a notebook understands (`%magic`, `!command`, `help?`) becomes a comment.

    Raises:
        OSError: there is no such file.
        ValueError: the file is neither text nor a notebook.
    """
    if path != STDIN and (path.is_dir() or not path.exists()):
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"{path} {what}: name a Python script or a notebook, or - for standard input")
    data = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not text that Python can read: {error}") from None
    if path.suffix == ".ipynb" or (path == STDIN and text.lstrip().startswith("{")):
        return _notebook(text, path)
    return Program(text)


@contextlib.contextmanager
def at_home(path: Path, program: Program, given: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """A context in which a program can import modules beside it, as when it is run with the arguments `given`.

    Yields the names that it starts with.
    """
    from IPython.display import display

    home = "" if path == STDIN else str(path.resolve().parent)
    arguments = sys.argv
    sys.path.insert(0, home)
    sys.argv = [str(path), *(given or [])]
    try:
        yield {"__file__": str(path)} | ({"display": display} if program.cells else {})
    finally:
        sys.argv = arguments
        sys.path.remove(home)


def _notebook(text: str, path: Path) -> Program:
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not a notebook: it is not JSON with a list of cells") from None
    lines: list[str] = []
    program = Program("")
    for number, source in enumerate(sources, 1):
        lines.append(f"# cell {number}")
        program.cells.append(len(lines))
        lines += _python(source).splitlines()
    program.text = "\n".join(lines)
    return program


def _python(cell: str) -> str:
    """A cell with everything that is not Python turned into comments, line by line."""
    lines = cell.splitlines()
    if lines and lines[0].startswith("%%"):
        if lines[0].split()[0] not in _PYTHON_BELOW:  # another language, or a file to write
            return "\n".join(f"# {line}" for line in lines)
        lines[0] = f"# {lines[0]}"
    try:
        ast.parse("\n".join(lines))  # if so, a line that starts with % continues the one before
    except SyntaxError:
        lines = [_without_magic(line) for line in lines]
    return "\n".join(lines)


def _without_magic(line: str) -> str:
    line = _TIMED.sub(r"\1", line)
    bare = line.strip()
    if bare.startswith(("%", "!", "?")) or (bare.endswith("?") and "#" not in bare):
        return f"{line[: len(line) - len(line.lstrip())]}pass  # {bare}"
    return line
