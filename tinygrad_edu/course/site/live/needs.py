"""Which statements of a lesson need what a browser lacks: PyTorch itself, threads, other processes.

Such a statement is left out when the page runs its cell, and so is every statement that uses its results. The cell's
output stays the recorded one, and the page says so; if the statement is only an import, nothing is missing.
"""

from __future__ import annotations

import ast
import dis
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

_TORCH = "It needs PyTorch itself, which does not run in a browser."
_MAGIC_COMMAND = "It needs a magic command of Jupyter's, which this page does not have."
NEEDED = {  # the sentence that a page says under such a cell
    "torch": _TORCH,
    "threading": "It needs threads, which Python does not have in a browser.",
    "multiprocessing": "It needs other processes, which a browser does not have.",
    "subprocess": "It needs other processes, which a browser does not have.",
    "tinygrad_edu.course.glossary": "It needs the notebooks of all lessons, which this page does not have.",
    "tinygrad_edu.course.progress": (
        "It needs your notebooks, which this page cannot read. "
        "Here, the first page shows your progress beside each lesson."
    ),
    "tinygrad_edu.course": (
        "It needs the answers in your notebooks, which this page cannot read. Open the lesson in JupyterLab to run it."
    ),
}
_MAGIC = re.compile(r"\s*%%(\w+)([^\n]*)\n")
_LIVE = ("autograd", "diagnose")  # our own magics, which a page has too


@dataclass(frozen=True)
class Part:
    """What of a cell can run in a page: `runs` is that source; a `needs` says why the output is the recorded one."""

    runs: str
    needs: str = ""


def parts(cells: Sequence[str]) -> list[Part]:
    """What can run of each cell, for the cells of a page in order.

    >>> shown = parts(["x = 1\\nimport torch", "y = torch.ones(x)", "print(x)"])
    >>> [part.runs for part in shown], shown[1].needs
    (['x = 1', '', 'print(x)'], 'It needs PyTorch itself, which does not run in a browser.')
    """
    missing: dict[str, str] = {}  # by name: what it needs
    whole: set[str] = set()  # modules, functions and classes: calling one does not change it
    return [_part(source, missing, whole) for source in cells]


def _part(source: str, missing: dict[str, str], whole: set[str], stands_in: bool = False) -> Part:
    """What can run of one cell; with `stands_in`, importing PyTorch gives it our engine, so nothing is missing."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        below = _MAGIC.match(source)
        if below is not None:
            need = _below_a_magic(below, source[below.end() :], missing, whole)
            return Part("", need) if need else Part(source)
        if source.strip() == "%load_ext viz":
            return Part("")  # nothing to show
        if source.lstrip().startswith("%autograd "):
            return Part(source)
        if source.lstrip().startswith("%"):
            return Part("", _MAGIC_COMMAND)
        return Part(source)  # an exercise for the reader to fill in
    kept, lost, left_out = [], "", 0
    for statement in statements:
        imported = (need for need in _imports(statement) if not (stands_in and need == _TORCH))
        need = next(filter(None, (*imported, *(missing.get(name) for name in _reads(statement)))), "")
        for name in _binds(statement):
            missing.pop(name, None)
        if need:
            left_out += 1
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                lost = lost or need
            missing.update(dict.fromkeys((*_binds(statement), *(set(_changes(statement)) - whole)), need))
        else:
            kept.append(statement)
            if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
                whole.update(_binds(statement))
    if not left_out:
        return Part(source)
    return Part("\n".join(_text(source, statement) for statement in kept), lost)


def _below_a_magic(magic: re.Match[str], source: str, missing: dict[str, str], whole: set[str]) -> str:
    """What a cell under a magic command needs, if anything. If so, the names it makes are missing afterwards."""
    part = _part(source, missing, whole, stands_in=magic[1] == "diagnose")
    need = part.needs
    if not need and ("torch" in magic[2] or part.runs != source):
        need = _TORCH
    if not need and magic[1] not in _LIVE:
        need = _MAGIC_COMMAND
    if need:
        missing.update(dict.fromkeys((name for one in ast.parse(source).body for name in _binds(one)), need))
    return need


def _text(source: str, statement: ast.stmt) -> str:
    first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])
    return "\n".join(source.splitlines()[first - 1 : statement.end_lineno])


def _trains(statement: ast.stmt) -> bool:
    """Whether it trains on PyTorch, named by a text: recorded programs are on the tape, but such a run is not."""
    nodes = list(ast.walk(statement))
    calls = any(isinstance(node, ast.Call) and ast.unparse(node.func) == "viz.train" for node in nodes)
    return calls and any(isinstance(node, ast.Constant) and node.value == "torch" for node in nodes)


def _imports(statement: ast.stmt) -> Iterator[str]:
    if _trains(statement):
        yield _TORCH
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            names: Iterable[str] = (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        yield from (need for name in names for module, need in NEEDED.items() if f"{name}.".startswith(f"{module}."))


def _reads(statement: ast.stmt) -> list[str]:
    """The page's names that a statement uses, in the order of use, including those in functions that it defines."""
    used = (each.argval for each in _instructions(statement) if each.opname in ("LOAD_NAME", "LOAD_GLOBAL"))
    return list(dict.fromkeys(used))


def _binds(statement: ast.stmt) -> set[str]:
    """The names that a statement provides to later cells."""
    return {each.argval for each in _instructions(statement) if each.opname in ("STORE_NAME", "STORE_GLOBAL")}


def _instructions(statement: ast.stmt) -> Iterator[dis.Instruction]:
    """The code of a statement and its functions, in which Python has separated the page's names from local ones."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    waiting = [compile(ast.Module([statement], []), "<statement>", "exec", flags, dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        class_names = "__module__" in code.co_names and "__qualname__" in code.co_names
        for each in dis.get_instructions(code):
            if not (class_names and each.opname == "STORE_NAME"):
                yield each
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _changes(statement: ast.stmt) -> Iterator[str]:
    """The names of things that a statement may write into: `x[0] = …`, `x.grad = …`, `x.append(…)`."""
    for node in ast.walk(statement):
        target = node.func if isinstance(node, ast.Call) else node
        if isinstance(target, ast.Attribute | ast.Subscript) and (
            isinstance(node, ast.Call) or not isinstance(target.ctx, ast.Load)
        ):
            while isinstance(target, ast.Attribute | ast.Subscript):
                target = target.value
            if isinstance(target, ast.Name):
                yield target.id
