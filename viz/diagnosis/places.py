"""Where things stand in a program's text: which line runs, which `with` is around it, where a name's numbers go."""

from __future__ import annotations

import ast
import builtins
import contextlib
import keyword
import re
import sysconfig
from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from pathlib import Path
from types import FrameType
from typing import Any

from viz.recording.source import Source

_LIBRARIES = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
_OURS = tuple(f"{Path(__file__).resolve().parents[2] / name}/" for name in ("viz", "tinygrad_edu"))
ADDING = ("append", "appendleft", "add", "extend", "insert", "put", "push")  # methods that put things into a collection
_SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled(")
_LOOPS = (ast.For, ast.While)


def once(method: Callable[..., Any]) -> Callable[..., Any]:
    """A question that is answered once for the same lines, or the same pass: rules ask it for each op."""

    @wraps(method)
    def answered(self: Any, *given: Any) -> Any:
        answers = vars(self).setdefault("_answers", {})
        key = (method.__name__, *given)
        if key not in answers:
            answers[key] = method(self, *given)
        return answers[key]

    return answered


def indexed(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Things by their keys, those of each key in order."""
    index: dict[Any, list[Any]] = {}
    for key, entry in pairs:
        index.setdefault(key, []).append(entry)
    return index


class Places:
    """The lines of a program: found from a running frame, and read from its text."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def text(self) -> str:
        """The program as it was written."""
        return self.source.text

    @once
    def code(self, line: int | None) -> str:
        """One line of the program, without its indentation."""
        lines = self.text.splitlines()
        return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""

    def stack(self, frame: FrameType | None) -> tuple[tuple[int, ...], tuple[str, int] | None]:
        """The program's lines that run now, innermost first; and file and line of any user code further in."""
        lines: list[int] = []
        where: tuple[str, int] | None = None
        owns, number = self.source.owns, self.source.number
        while frame is not None:
            if owns(frame):
                lines.append(number(frame, frame.f_lineno or self.source.first))
            elif where is None and not lines and self.foreign(frame.f_code.co_filename):
                where = frame.f_code.co_filename, frame.f_lineno or 0
            frame = frame.f_back
        return tuple(lines), where

    @once
    def foreign(self, filename: str) -> bool:
        """Whether a file is the user's own: neither a library's nor ours."""
        return not filename.startswith((*_LIBRARIES, *_OURS, "<")) and "site-packages" not in filename

    def named(self, line: int | None) -> str:
        """A line in a picture, by its number, or by its file and the number there."""
        return self.source.named(line) if line is not None else "no line"

    @cached_property
    def tree(self) -> ast.Module:
        """The program's syntax tree; empty for what is no Python."""
        with contextlib.suppress(SyntaxError, ValueError):
            return ast.parse(self.text)
        return ast.Module([], [])

    @cached_property
    def engine_name(self) -> str:
        """How the program calls the engine: by what it imports, or `T`, the name that a program is given it under."""
        match = re.search(r"^\s*import (torch|tinygrad_edu)(?: as (\w+))?\s*(?:[,;#]|$)", self.text, re.MULTILINE)
        if match is not None:
            return match[2] or match[1]
        return "torch" if re.search(r"(?<![\w.])torch\.", self.text) else "T"

    # the query that all questions below are made of

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: it is searched often, and walking it takes long."""
        return list(ast.walk(self.tree))

    @cached_property
    def names(self) -> set[str]:
        """The names in the program, and those that every program has."""
        used = {getattr(node, kind, "") for node in self.nodes for kind in ("id", "arg", "attr", "name", "asname")}
        return {*used, "T", *dir(builtins), *keyword.kwlist}

    @cached_property
    def _of_type(self) -> dict[type, list[Any]]:
        return indexed((type(node), node) for node in self.nodes)

    def find(self, *kinds: type, at: int | None = None, fits: Callable[[Any], bool] = lambda node: True) -> list[Any]:
        """The nodes of some kinds, in the order of their lines: those that `at` is a line of, and that fit."""
        every = (node for kind in kinds for node in self._of_type.get(kind, ()))
        nodes = [node for node in every if (at is None or node.lineno <= at <= node.end_lineno) and fits(node)]
        return sorted(nodes, key=lambda node: node.lineno)

    def first(self, *kinds: type, fits: Callable[[Any], bool]) -> int | None:
        """The line of the first node of some kinds that fits."""
        return next((node.lineno for node in self.find(*kinds, fits=fits)), None)

    # what is around a line

    @once
    def loops(self, line: int | None) -> list[tuple[int, int]]:
        """The loops around a line: first and last line of each, innermost first."""
        around = self.find(*_LOOPS, at=line or 0, fits=lambda node: node.body[0].lineno <= (line or 0))
        return [(node.lineno, node.end_lineno) for node in reversed(around)]

    @once
    def function_around(self, line: int) -> tuple[int, int] | None:
        """First and last line of the innermost function around a line."""
        around = self.find(ast.FunctionDef, ast.Lambda, at=line)
        return (around[-1].lineno, around[-1].end_lineno) if around else None

    @once
    def switched_off(self, stack: tuple[int, ...]) -> int | None:
        """The line that switched gradients off for the running lines: a `with`, a decorator, or a call before them."""
        for line in stack:
            for node in reversed(self.find(ast.With, ast.FunctionDef, at=line)):
                heads = (
                    [item.context_expr for item in node.items] if isinstance(node, ast.With) else node.decorator_list
                )
                for head in heads:
                    if any(word in ast.unparse(head) for word in _SWITCHES):
                        return int(head.lineno)
        calls = self.find(ast.Call, fits=lambda node: bool(re.search(r"set_grad_enabled\((?!True)", ast.unparse(node))))
        return max((node.lineno for node in calls if not stack or node.lineno <= stack[-1]), default=None)

    # where a name's numbers go

    @cached_property
    def _statements(self) -> list[tuple[int, int, set[str], set[str]]]:
        """Each simple statement and head: first line, last line, names it gives, names it reads."""
        functions = {node: outer.name for outer in self.find(ast.FunctionDef) for node in ast.walk(outer)}
        puts = re.compile(rf"\.(\w+_|{'|'.join(ADDING)})$")
        heads: list[tuple[Any, set[str]]] = [(node.test, set()) for node in self.find(ast.While, ast.If)]
        heads += [(node.iter, _read(node.target)) for node in self.find(ast.For)]
        simple = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Assert, ast.Delete)
        for node in self.find(*simple):
            given: set[str] = set()
            for part in ast.walk(node):
                if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
                    given |= _read(part)
                elif (
                    isinstance(part, ast.Call)
                    and isinstance(part.func, ast.Attribute)
                    and puts.search(ast.unparse(part.func))
                ):
                    given |= _read(part.func.value)
            if isinstance(node, ast.Return):
                given.add(functions.get(node, "return"))
            heads.append((node, given))
        return [(node.lineno, node.end_lineno, names, _read(node)) for node, names in heads]

    def _given_at(self, line: int | None) -> set[str]:
        return set().union(*(names for first, last, names, _ in self._statements if first <= (line or 0) <= last))

    def given_again(self, line: int, loop: tuple[int, int]) -> int:
        """The last line of a loop that rebinds a name that a line gives, from its old value; else the line itself."""
        given = self._given_at(line)
        inside = (statement for statement in self._statements if line < statement[0] <= loop[1])
        return max((first for first, _, new, read in inside if new & read & given), default=line)

    # lines by what stands in them

    @once
    def where_given(self, name: str) -> int | None:
        """The first line that gives a name, such as `w` or `self.layers`, or registers a buffer under it."""

        def gives(node: Any) -> bool:
            if isinstance(node, ast.Call):
                named = [ast.unparse(arg) for arg in node.args[:1]]
                return _last(node.func).startswith("register_") and named == [repr(name.removeprefix("self."))]
            return _stored(node) and ast.unparse(node) == name

        return self.first(ast.Name, ast.Attribute, ast.Call, fits=gives)

    def where_aliased(self, lines: Iterable[int]) -> int | None:
        """The line that gives a thing a second name (`self.target = self.online`), which lines or their loops read."""
        plain = self.find(ast.Assign, fits=lambda node: isinstance(_element(node.value), (ast.Name, ast.Attribute)))
        places = [at for line in lines for at in (*(first for first, _ in self.loops(line)), line)]
        read = (names for at in places for first, _, _, names in self._statements if first == at)
        return next((node.lineno for names in read for node in plain if _last(node.targets[0]) in names), None)

    def where_put(self, line: int | None) -> int | None:
        """The line that puts what an earlier line made under a plain name into an attribute or a place."""
        targets = (target for node in self.find(ast.Assign, at=line or 0) for target in _each(node.targets[0]))
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        _, last = self.function_around(line or 0) or (0, len(self.text))

        def puts(node: Any) -> bool:
            if isinstance(node, ast.Call):
                parts = node.args if _last(node.func) in ("setattr", "add_module", "register_module") else []
            else:
                pairs = zip(_each(node.targets[0]), _each(node.value), strict=False)
                parts = [value for to, value in pairs if isinstance(to, (ast.Attribute, ast.Subscript))]
            after = (line or 0) < node.lineno <= last
            return after and any(isinstance(part, ast.Name) and part.id in names for part in parts)

        return self.first(ast.Assign, ast.Call, fits=puts)

    def where_grown(self, name: str, made: int | None) -> int | None:
        """The line that adds to a name: `made` if it does both, else the first `name.append(…)`, `name += …` or so."""
        last = name.partition("[")[0].rpartition(".")[2]
        adding = lambda node: isinstance(node.func, ast.Attribute) and node.func.attr in ADDING  # noqa: E731
        calls = self.find(ast.Call, fits=adding)
        if any(node.lineno == made and not isinstance(node.args[0], ast.Name) for node in calls):
            return made

        def again(node: Any) -> bool:
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            own = isinstance(node, ast.AugAssign) or isinstance(target, ast.Subscript) or last in _read(node.value)
            return own and last in _read(target)

        exact = (node.lineno for node in calls if ast.unparse(node.func.value) == name)
        loose = (node.lineno for node in calls if last in _read(node.func.value))
        return next(exact, None) or next(loose, None) or self.first(ast.AugAssign, ast.Assign, fits=again)

    def assigned(self, line: int) -> str:
        """The one name, such as `self.center`, that a line gives; empty where it gives none, or several."""
        targets = [node.targets[0] for node in self.find(ast.Assign, at=line)]
        return next((ast.unparse(target) for target in targets if isinstance(target, (ast.Name, ast.Attribute))), "")

    def where_not_called(self, method: str) -> int | None:
        """The first line that names a method and leaves out its parentheses: a statement that does nothing."""
        return self.first(ast.Expr, fits=lambda node: type(node.value) is ast.Attribute and node.value.attr == method)

    def where_read(self, name: str) -> list[int]:
        """The lines that read an attribute or a name."""
        readers = self.find(ast.Name, ast.Attribute, fits=lambda node: name in (ast.unparse(node), _last(node)))
        return list(dict.fromkeys(node.lineno for node in readers if not _stored(node)))

    # the user's own classes

    def defines(self, name: str) -> bool:
        """Whether a class of this name stands in the text."""
        return any(node.name == name for node in self.find(ast.ClassDef))

    def defined(self, kind: str, method: str) -> tuple[int, int] | None:
        """First and last line of a method of a class."""
        parts = (part for node in self.find(ast.ClassDef) if node.name == kind for part in node.body)
        own = (part for part in parts if isinstance(part, ast.FunctionDef) and part.name == method)
        return next(((part.lineno, part.end_lineno or 0) for part in own), None)

    def where_returns(self, kind: str, method: str) -> int | None:
        """The last `return` of a method of a class."""
        first, last = self.defined(kind, method) or (0, -1)
        return max((node.lineno for node in self.find(ast.Return) if first <= node.lineno <= last), default=None)

    def where_returned(self, kind: str, number: int, in_part: bool) -> int | None:
        """The line that makes what a class's backward returns in one place: the one that names it, or the `return`.

        What is right `in_part` may be a product of names: then the line that computes the factor that backward makes.
        """
        line, method = self.where_returns(kind, "backward"), self.defined(kind, "backward")
        for node in self.find(ast.Return, at=line or 0):
            value = node.value
            if isinstance(value, ast.Tuple) and number < len(value.elts):
                value = value.elts[number]
            names = _read(value) if isinstance(value, ast.Name) or in_part else set()
            before = (each for each in self._statements if method and method[0] < each[0] < node.lineno)
            own = [first for first, _, given, read in before if names & given and "saved_tensors" not in read]
            if len(own) == 1:  # one line makes it all
                return own[0]
        return line


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _element(node: Any) -> Any:
    """What a comprehension puts into each place; of all else the thing itself."""
    return node.value if isinstance(node, ast.DictComp) else getattr(node, "elt", node)


def _each(node: ast.expr) -> list[ast.expr]:
    """The parts of a tuple; of anything else itself."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _stored(node: Any) -> bool:
    return isinstance(node.ctx, ast.Store)


def _read(node: ast.AST) -> set[str]:
    """The names in a part of the tree: of `a.b[0]`, both `a` and `b`."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names - {"self"} | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
