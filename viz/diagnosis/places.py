"""Where things stand in a program's text: which line runs, which `with` is around it, where a name's numbers go."""

from __future__ import annotations

import ast
import contextlib
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


def _once(method: Callable[..., Any]) -> Callable[..., Any]:
    """A question about the text, answered once for the same lines: rules ask it for each op."""

    @wraps(method)
    def answered(self: Places, *given: Any) -> Any:
        key = (method, *given)
        if key not in self._answers:
            self._answers[key] = method(self, *given)
        return self._answers[key]

    return answered


class Places:
    """The lines of a program: found from a running frame, and read from its text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._foreign: dict[str, bool] = {}
        self._answers: dict[tuple[Any, ...], Any] = {}

    @property
    def text(self) -> str:
        """The program as it was written."""
        return self.source.text

    @_once
    def code(self, line: int | None) -> str:
        """One line of the program, without its indentation."""
        lines = self.text.splitlines()
        return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""

    def stack(self, frame: FrameType | None) -> tuple[tuple[int, ...], tuple[str, int] | None]:
        """The program's lines that run now, innermost first; and file and line of user code further in, where there is some."""
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

    def foreign(self, filename: str) -> bool:
        """Whether a file is the user's own: neither a library's nor ours."""
        known = self._foreign.get(filename)
        if known is None:
            known = not filename.startswith((*_LIBRARIES, *_OURS, "<")) and "site-packages" not in filename
            self._foreign[filename] = known
        return known

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
        found = re.search(r"^\s*import (torch|tinygrad_edu)(?: as (\w+))?\s*(?:[,;#]|$)", self.text, re.MULTILINE)
        if found is not None:
            return found[2] or found[1]
        return "torch" if re.search(r"(?<![\w.])torch\.", self.text) else "T"

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: it is searched often, and walking it takes long."""
        return list(ast.walk(self.tree))

    @_once
    def switched_off(self, stack: tuple[int, ...]) -> int | None:
        """The line that switched gradients off around the running lines: a `with`, a decorator, or a call before them."""
        for line in stack:
            found: tuple[int, int] | None = None  # how many lines it spans, and where it stands
            for node in self.nodes:
                if isinstance(node, ast.With):
                    inside = node.body[0].lineno <= line <= (node.end_lineno or 0)
                    heads = [item.context_expr for item in node.items]
                elif isinstance(node, ast.FunctionDef):
                    inside = node.lineno <= line <= (node.end_lineno or 0)
                    heads = node.decorator_list
                else:
                    continue
                for head in heads:
                    if inside and any(word in ast.unparse(head) for word in _SWITCHES):
                        span = (node.end_lineno or 0) - node.lineno
                        if found is None or span < found[0]:
                            found = span, head.lineno
            if found is not None:
                return found[1]
        calls = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("set_grad_enabled")
            and not ast.unparse(node).endswith("(True)")
            and (not stack or node.lineno <= stack[-1])
        ]
        return max(calls, default=None)

    @cached_property
    def _helpers(self) -> list[ast.FunctionDef]:
        return [node for node in self.nodes if isinstance(node, ast.FunctionDef)]

    @_once
    def chosen(self, stack: tuple[int, ...]) -> int | None:
        """The line that chose to switch requires_grad: past helpers that do nothing else, it is the one that calls them."""
        for line in stack:
            around = [node for node in self._helpers if node.body[0].lineno <= line <= (node.end_lineno or 0)]
            if not around or not all(_only_switches(part) for part in max(around, key=lambda node: node.lineno).body):
                return line
        return next(iter(stack), None)

    @cached_property
    def _statements(self) -> list[tuple[int, int, set[str], set[str]]]:
        """Each simple statement and head: first line, last line, names it gives, names it reads."""
        found = []
        functions: dict[ast.AST, str] = {}
        for outer in self.nodes:
            if isinstance(outer, ast.FunctionDef):
                for node in ast.walk(outer):
                    functions.setdefault(node, outer.name)
        for node in self.nodes:
            if isinstance(node, (ast.For, ast.While, ast.If, ast.With)):
                head = node.iter if isinstance(node, ast.For) else getattr(node, "test", None)
                if head is None:
                    continue
                given = _given(node.target) if isinstance(node, ast.For) else set()
                found.append((head.lineno, head.end_lineno or head.lineno, given, _read(head)))
            elif isinstance(node, ast.stmt) and not isinstance(
                node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Try)
            ):
                given = set()
                for part in ast.walk(node):
                    if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
                        given |= _given(part)
                    elif (
                        isinstance(part, ast.Call)
                        and isinstance(part.func, ast.Attribute)
                        and part.func.attr in ("append", "extend", "add", "insert", "copy_")
                    ):
                        given |= _given(part.func.value)
                    if isinstance(part, ast.Call) and ast.unparse(part.func).endswith("shuffle"):
                        given = given.union(*(_given(one) for one in part.args[:1]))
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and _parallel(node.targets[0], node.value):
                    for target, value in zip(node.targets[0].elts, node.value.elts, strict=True):  # type: ignore[attr-defined]
                        found.append((node.lineno, node.end_lineno or node.lineno, _given(target), _read(value)))
                    continue
                if isinstance(node, ast.Return):
                    given.add(functions.get(node, "return"))
                found.append((node.lineno, node.end_lineno or node.lineno, given, _read(node)))
        return found

    @_once
    def flows(self, start: int | None, end: int | None) -> bool:
        """Whether what line `start` computes can come to line `end` by the names that lines give and read."""
        if start is None or end is None:
            return False
        if start == end:
            return True
        tainted = self.carried(start)
        return any(first <= end <= last and (read & tainted) for first, last, _, read in self._statements)

    @_once
    def carried(self, start: int) -> set[str]:
        """The names that what line `start` computes can come to."""
        tainted: set[str] = set()
        for first, last, given, _ in self._statements:
            if first <= start <= last:
                tainted |= given
        grown, loops = True, self.loops(start)
        begin = min((first for first, _ in loops), default=start)
        inside = self._in_function(start)
        while grown:
            grown = False
            for line, _, given, read in self._statements:
                if line < begin and not inside and not self._in_function(line):
                    continue  # it ran before, and never again
                if read & tainted and not given <= tainted:
                    tainted |= given
                    grown = True
        return tainted

    @_once
    def _in_function(self, line: int) -> bool:
        return any(first <= line <= last for first, last in self._functions)

    @cached_property
    def _functions(self) -> list[tuple[int, int]]:
        nodes = (node for node in self.nodes if isinstance(node, (ast.FunctionDef, ast.Lambda)))
        return [(node.lineno, node.end_lineno or node.lineno) for node in nodes]

    @_once
    def function_around(self, line: int) -> tuple[int, int] | None:
        """First and last line of the innermost function around a line."""
        return max((span for span in self._functions if span[0] <= line <= span[1]), default=None)

    def where_kept(self, line: int | None, names: list[str]) -> int | None:
        """The line of the same method that puts one of these names into an attribute of `self`, for the next call."""
        methods = [
            node
            for node in self.nodes
            if isinstance(node, ast.FunctionDef) and node.lineno <= (line or 0) <= (node.end_lineno or 0)
        ]
        wanted = {name.partition("[")[0] for name in names}
        wanted = wanted.union(*(given for first, last, given, _ in self._statements if first <= (line or 0) <= last))
        for node in ast.walk(methods[-1]) if methods else ():
            if isinstance(node, ast.Assign) and wanted & _read(node.value):
                targets = [part for target in node.targets for part in ast.walk(target)]
                if any(isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self" for one in targets):
                    return node.lineno
        return None

    @_once
    def hands_on(self, line: int) -> bool:
        """Whether a line gives again what it reads, as `loss, state = step(batch, state)` does."""
        for node in self.nodes:
            if isinstance(node, ast.Assign) and node.lineno <= line <= (node.end_lineno or node.lineno):
                given = {name for target in node.targets for name in _given(target)}
                if given & _read(node.value):
                    return True
        return False

    def where_made(self, kind: str) -> list[int]:
        """The lines that call a class by its name."""
        calls = (node for node in self.nodes if isinstance(node, ast.Call))
        return sorted({node.lineno for node in calls if ast.unparse(node.func).rpartition(".")[2] == kind})

    def where_given(self, name: str) -> int | None:
        """The first line that gives a name, such as `w` or `self.layers`."""
        lines = [
            node.lineno
            for node in self.nodes
            if isinstance(node, (ast.Name, ast.Attribute))
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node) == name
        ]
        return min(lines, default=None)

    def where_registered(self, name: str) -> int | None:
        """The first line that gives a name by `register_buffer(name, …)` or its kin."""
        lines = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2].startswith("register_")
            and any(isinstance(one, ast.Constant) and one.value == name for one in node.args[:1])
        ]
        return min(lines, default=None) if name else None

    def defines(self, name: str) -> bool:
        """Whether a class of this name stands in the text."""
        return any(isinstance(node, ast.ClassDef) and node.name == name for node in self.nodes)

    def where_put(self, line: int | None) -> int | None:
        """Of a line that makes something under a plain name: the line after it that puts it into an attribute or a place."""
        made = next((node for node in self.nodes if isinstance(node, ast.Assign) and node.lineno == line), None)
        if made is None or not all(isinstance(target, ast.Name) for target in made.targets):
            return None
        names = {target.id for target in made.targets if isinstance(target, ast.Name)}
        last = min((end for first, end in self._functions if first <= made.lineno <= end), default=None)
        lines = []
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                put = isinstance(node.value, ast.Name) and node.value.id in names
                put = put and any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets)
            elif isinstance(node, ast.Call):
                put = ast.unparse(node.func).rpartition(".")[2] in ("setattr", "add_module", "register_module")
                put = put and any(isinstance(given, ast.Name) and given.id in names for given in node.args)
            else:
                continue
            if put and made.lineno < node.lineno <= (last or node.lineno):
                lines.append(node.lineno)
        return min(lines, default=None)

    def where_same(self, name: str, other: str) -> int | None:
        """The first line that gives `name` the very thing that `other` stands for."""
        lines = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.Assign)
            and isinstance(node.value, (ast.Name, ast.Attribute))
            and ast.unparse(node.value).rpartition(".")[2] == other
            and any(ast.unparse(target).rpartition(".")[2] == name for target in node.targets)
        ]
        return min(lines, default=None)

    def attribute(self, line: int | None) -> str:
        """The attribute of `self` that a line gives; empty where it gives none."""
        for node in self.nodes:
            if isinstance(node, ast.Assign) and node.lineno <= (line or 0) <= (node.end_lineno or 0):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                        return target.attr
        return ""

    def where_called(self, name: str, method: str) -> int | None:
        """The first line that calls `name.method(…)`."""
        lines = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.{method}"
        ]
        return min(lines, default=None)

    def where_fed(self, name: str) -> int | None:
        """The first line that calls append(), or the like, on something of an attribute, as `self.logs.setdefault(key, []).append(x)`."""
        attribute = name.partition("[")[0].rpartition(".")[2]
        lines = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "add", "extend", "insert")
            and attribute in _read(node.func.value)
        ]
        return min(lines, default=None)

    def where_handed_in(self, line: int | None) -> int | None:
        """Of a line that keeps an argument of its own method, as a meter does: the one line in a loop that calls the method."""
        for node in self.nodes:
            if not (isinstance(node, ast.FunctionDef) and node.lineno < (line or 0) <= (node.end_lineno or 0)):
                continue
            several = [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
            given = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs, *several)} - {"self"}
            for loop in ast.walk(node):
                if isinstance(loop, ast.For) and _read(loop.iter) & given:
                    given |= _given(loop.target)
            kept = [
                argument
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and call.lineno == line
                for argument in call.args
            ]
            if not any(isinstance(one, ast.Name) and one.id in given for one in kept):
                continue
            calls = {
                call.lineno
                for call in self.nodes
                if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == node.name
            }
            looped = [one for one in calls if self.loops(one)]
            if len(looped) == 1:
                return looped[0]
        return None

    def adds(self, line: int) -> bool:
        """Whether a line puts what it computes into a collection, as `outputs.append(model(x))` does."""
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ADDING
            and node.lineno <= line <= (node.end_lineno or 0)
            and any(not isinstance(one, ast.Name) for one in node.args)
            for node in self.nodes
        )

    def assigned(self, line: int) -> str:
        """The one name, such as `self.center`, that a line gives; empty where it gives none, or several."""
        for node in self.nodes:
            if (
                isinstance(node, ast.Assign)
                and node.lineno <= line <= (node.end_lineno or 0)
                and len(node.targets) == 1
            ):
                return ast.unparse(node.targets[0]) if isinstance(node.targets[0], (ast.Name, ast.Attribute)) else ""
        return ""

    def where_grown(self, name: str) -> int | None:
        """The first line that adds to what a name stands for: `name += …`, `name[…] = …`, `name = name + …`."""
        name = name.partition("[")[0]
        for node in self.nodes:
            if not isinstance(node, (ast.AugAssign, ast.Assign)):
                continue
            for target in [node.target] if isinstance(node, ast.AugAssign) else node.targets:
                whole = target.value if isinstance(target, ast.Subscript) else target
                adds = isinstance(node, ast.AugAssign) or target is not whole or name in _read(node.value)
                if ast.unparse(whole) == name and adds:
                    return node.lineno
        return None

    def where_not_called(self, method: str) -> int | None:
        """The first line that names a method and leaves out its parentheses: a statement that does nothing."""
        lines = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute) and node.value.attr == method
        ]
        return min(lines, default=None)

    def where_written(self, number: float, lines: Iterable[int]) -> int | None:
        """The first of some lines in which a number stands."""
        standing = {
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == number
        }
        return next((line for line in lines if line in standing), None)

    def multiplies_a_list(self, line: int | None) -> bool:
        """Whether a line holds `[…] * n`: one object, n times."""
        return any(
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and node.lineno <= (line or 0) <= (node.end_lineno or 0)
            and any(isinstance(side, ast.List) for side in (node.left, node.right))
            for node in self.nodes
        )

    def repeats(self, line: int | None) -> bool:
        """Whether a line fills places in a loop, by a comprehension or from a list, in place of naming each."""
        kinds = (ast.ListComp, ast.GeneratorExp, ast.Starred)
        return self.multiplies_a_list(line) or any(
            isinstance(node, kinds) and node.lineno <= (line or 0) <= (node.end_lineno or 0) for node in self.nodes
        )

    def where_read(self, name: str) -> list[int]:
        """The lines that read an attribute or a name."""
        return sorted(
            {
                node.lineno
                for node in self.nodes
                if isinstance(node, (ast.Name, ast.Attribute))
                and isinstance(node.ctx, ast.Load)
                and (ast.unparse(node) == name or (isinstance(node, ast.Attribute) and node.attr == name))
            }
        )

    @_once
    def condition(self, line: int) -> int | None:
        """The line of the innermost `if` that decides over a line: it holds it, or leaves the block before it."""
        around = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.If) and node.body[0].lineno <= line <= (node.end_lineno or 0)
        ]
        if around:
            return max(around)
        leaving = (ast.Return, ast.Continue, ast.Break, ast.Raise)
        functions = [(first, last) for first, last in self._functions if first <= line <= last]
        inner = max(functions, default=(0, 0))
        before = [
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.If) and isinstance(node.body[-1], leaving) and inner[0] < node.lineno < line
        ]
        return max(before, default=None) if functions else None

    @_once
    def loops(self, line: int | None) -> list[tuple[int, int]]:
        """The loops around a line: first and last line of each, innermost first."""
        if line is None:
            return []
        around = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in self.nodes
            if isinstance(node, (ast.For, ast.While)) and node.body[0].lineno <= line <= (node.end_lineno or 0)
        ]
        return sorted(around, key=lambda span: span[1] - span[0])

    def defined(self, kind: str, method: str) -> tuple[int, int] | None:
        """First and last line of a method of a class."""
        for node in self.nodes:
            if isinstance(node, ast.ClassDef) and node.name == kind:
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name == method:
                        return part.lineno, part.end_lineno or part.lineno
        return None

    def where_saved(self, kind: str) -> int | None:
        """The line of a class that calls save_for_backward()."""
        for node in self.nodes:
            if isinstance(node, ast.ClassDef) and node.name == kind:
                for call in ast.walk(node):
                    if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".save_for_backward"):
                        return call.lineno
        return None

    def where_returns(self, kind: str, method: str) -> int | None:
        """The last `return` of a method of a class."""
        first, last = self.defined(kind, method) or (0, 0)
        lines = [node.lineno for node in self.nodes if isinstance(node, ast.Return) and first <= node.lineno <= last]
        return max(lines, default=None)

    def where_returned(self, kind: str, method: str, place: int, varies: bool = False) -> int | None:
        """The line that makes what a method of a class returns in one place: the `return`, or the last that writes its name.

        Where several lines write parts of it, no one of them makes it: that is the `return`.

        With `varies`, what is returned is right in part: where it is the gradient times one name that the method computes, the
        line that computes it.
        """
        for node in self.nodes:
            if not (isinstance(node, ast.ClassDef) and node.name == kind):
                continue
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == method:
                    return _maker(part, place, varies)
        return None


def _maker(function: ast.FunctionDef, place: int, varies: bool = False) -> int:
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    if not returns:
        return function.lineno
    last = max(returns, key=lambda node: node.lineno)
    value: ast.AST = last.value or last
    if isinstance(value, ast.Tuple) and place < len(value.elts):
        value = value.elts[place]
    wanted = {value.id} if isinstance(value, ast.Name) else _factors(function, value) if varies else set()
    if len(wanted) != 1:
        return last.lineno
    writes, parts = [], []
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            targets = [node.func.value]  # in place, as fill_()
        else:
            continue
        if any(isinstance(name, ast.Name) and name.id in wanted for one in targets for name in ast.walk(one)):
            writes.append(node.lineno)
            parts += [node.lineno] * any(isinstance(one, ast.Subscript) for one in targets)
    if len(parts) > 1:
        return last.lineno
    unpacked = {  # names of what was saved, which are no gradients made here
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and "saved_" in ast.unparse(node.value)
    }
    return max((line for line in writes if line < last.lineno and line not in unpacked), default=last.lineno)


def _only_switches(statement: ast.stmt) -> bool:
    """Whether a statement of a helper serves to freeze: it sets flags or modes, goes through parameters, or returns."""
    if isinstance(statement, (ast.For, ast.If)):
        return all(_only_switches(part) for part in [*statement.body, *statement.orelse])
    if isinstance(statement, ast.Assign):
        return all(ast.unparse(target).endswith(".requires_grad") for target in statement.targets)
    if isinstance(statement, ast.Expr):
        call = statement.value
        return isinstance(call, ast.Constant) or (
            isinstance(call, ast.Call) and ast.unparse(call.func).endswith((".requires_grad_", ".eval", ".train"))
        )
    return isinstance(statement, (ast.Return, ast.Pass)) and not isinstance(getattr(statement, "value", None), ast.Call)


def _factors(function: ast.FunctionDef, value: ast.AST) -> set[str]:
    """The names that a product holds and that the function computes itself; none where it is more than a product of names."""
    plain = (ast.BinOp, ast.UnaryOp, ast.Mult, ast.Div, ast.USub, ast.Name, ast.Constant, ast.Load)
    if not all(isinstance(part, plain) for part in ast.walk(value)):
        return set()
    computed = {
        name.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and "saved_" not in ast.unparse(node.value)
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    return {part.id for part in ast.walk(value) if isinstance(part, ast.Name)} & computed


def _given(target: ast.AST) -> set[str]:
    """The names that an assignment to `target` gives: of `a.b[0]`, both `a` and `b`."""
    return {part.id for part in ast.walk(target) if isinstance(part, ast.Name)} - {"self"} | {
        part.attr for part in ast.walk(target) if isinstance(part, ast.Attribute)
    }


def _parallel(target: ast.AST, value: ast.AST) -> bool:
    """Whether `a, b = x, y` gives each name a thing of its own."""
    kinds = (ast.Tuple, ast.List)
    return isinstance(target, kinds) and isinstance(value, kinds) and len(target.elts) == len(value.elts)


def _read(node: ast.AST) -> set[str]:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names - {"self"} | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
