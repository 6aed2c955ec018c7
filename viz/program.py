"""A program as data: its inputs, lines and names, and the source edits that a toggle stands for.

The edits work on the user's own text, at the positions that `ast` gives, so formatting and comments stay as they are.
The edited source is what runs and what is shown.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

ENGINE_NAMES = frozenset({"T", "torch", "tinygrad_edu"})
FACTORIES = frozenset({"tensor", "zeros", "ones", "full", "rand", "randn", "eye", "arange", "linspace", "Tensor"})
WRAPPERS = frozenset({"Parameter", "Variable"})
GRAD_MODES = ("no_grad", "inference_mode")
HOOKS = {"double": "lambda grad: 2 * grad", "print": "print"}


class ProgramError(ValueError):
    """A program that cannot be read, or an edit that it does not allow; `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None):
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True)
class Input:
    """A name that is given a tensor made from scratch. `value` is None where it is not written out as a literal."""

    name: str
    line: int
    value: Any
    requires_grad: bool


@dataclass(frozen=True)
class Line:
    """A statement: its first and last line, what it is for, and the names it assigns."""

    first: int
    last: int
    kind: str  # input | compute | backward | other
    names: tuple[str, ...]


@dataclass(frozen=True)
class Edits:
    """What the toggles say. Lines and names are those of the original program; what is not named stays as written.

    >>> Edits(no_grad=frozenset({3})).is_empty
    False
    """

    requires_grad: dict[str, bool] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    no_grad: frozenset[int] = frozenset()
    inference_mode: frozenset[int] = frozenset()
    retain_grad: frozenset[str] = frozenset()
    detach: frozenset[str] = frozenset()
    hooks: dict[str, str] = field(default_factory=dict)
    backwards: int | None = None
    retain_graph: bool | None = None
    create_graph: bool | None = None
    zero_grad: bool = False
    anomaly: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the program runs as it was written."""
        return self == Edits()


@dataclass(frozen=True)
class Edited:
    """Source after edits. `origin[i]` is the original line behind line i + 1, None for a line that an edit added."""

    source: str
    origin: tuple[int | None, ...]

    def line_of(self, line: int | None) -> int | None:
        """The original line behind line `line` of the edited source; for an added line, the one it was added to."""
        if line is None:
            return None
        behind = [origin for origin in self.origin[:line] if origin is not None]
        return behind[-1] if behind else 1


@dataclass(frozen=True)
class Program:
    """A program as data: where its inputs, values and backward calls are.

    >>> p = parse("w = T.tensor(3.0, requires_grad=True)\\nL = w * w\\nL.backward()")
    >>> p.inputs[0].name, p.values, [line.kind for line in p.lines]
    ('w', ('L',), ['input', 'compute', 'backward'])
    >>> print(p.edit(Edits(retain_grad=frozenset({"L"}))).source)
    w = T.tensor(3.0, requires_grad=True)
    L = w * w
    L.retain_grad()
    L.backward()
    """

    source: str
    inputs: tuple[Input, ...]
    values: tuple[str, ...]
    lines: tuple[Line, ...]
    backwards: int
    engine_name: str
    namespace: dict[str, Any] = field(default_factory=dict, compare=False)  # what a function sees from outside

    def edit(self, edits: Edits) -> Edited:
        """The source with `edits` in it.

        Raises:
            ProgramError: an edit names a line or a value that is not there, or that cannot be edited where it stands.
        """
        return _Editor(self, edits).run()


def parse(program: str | Callable[..., Any]) -> Program:
    """Read a program: a source string, or a function whose first argument is the engine module.

    Raises:
        ProgramError: the source cannot be had or read; `line` says where.
    """
    if isinstance(program, str):
        return _parse(textwrap.dedent(program).strip("\n"), None, {})
    if callable(program):
        return _parse(*_body_of(program))
    raise TypeError(
        f"a program is a source string or a function taking the engine module, not {type(program).__name__}"
    )


def _body_of(function: Callable[..., Any]) -> tuple[str, str, dict[str, Any]]:
    """The source of a function's body, what it calls the engine module, and the outer names that it uses."""
    name = getattr(function, "__name__", "the function")
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError) as error:
        raise ProgramError(f"the source of {name} cannot be read ({error}); give it as a string") from None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise ProgramError(f"{name} is no plain `def`; give its source as a string")
    parameters = [*node.args.posonlyargs, *node.args.args]
    if not parameters:
        raise ProgramError(f"{name} takes no argument; its first is the engine module: def {name}(T):")
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not body:
        raise ProgramError(f"the body of {name} is empty")
    rows = text.splitlines()
    if body[0].lineno == node.lineno:
        raise ProgramError(f"the body of {name} is on the line of its `def`; put it below")
    end = body[-1]
    if isinstance(end, ast.Return):
        if end.value is None or isinstance(end.value, ast.Name):
            body.pop()
        else:
            # The value returned is a line of the program too, under a name.
            rows[end.lineno - 1] = rows[end.lineno - 1].replace("return", "result =", 1)
    inner = [n for s in body if s is not end for n in _walk_here(s) if isinstance(n, ast.Return)]
    if inner or not body:
        line = inner[0].lineno if inner else None
        raise ProgramError(f"{name} returns before its end; only a `return` that closes it can be left out", line)
    text = textwrap.dedent("\n".join(rows[body[0].lineno - 1 : body[-1].end_lineno]))
    engine_name = parameters[0].arg
    outer = inspect.getclosurevars(function)
    namespace = {**outer.globals, **outer.nonlocals}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.default is parameter.empty:
            raise ProgramError(f"{name} needs {parameter.name}; give it a default, so that the program runs alone")
        namespace[parameter.name] = parameter.default
    return text, engine_name, namespace


def _walk_here(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what is below it, without the bodies of functions and classes defined in it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


@lru_cache(maxsize=64)
def _tree_of(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise ProgramError(f"this is not Python: {error.msg}", error.lineno) from None


def _parse(source: str, engine_name: str | None, namespace: dict[str, Any]) -> Program:
    tree = _tree_of(source)
    inputs: dict[str, Input] = {}
    values: dict[str, None] = {}
    lines = []
    backwards = 0
    for statement in _statements(tree):
        found = [
            (name, call) for name, call in _assigned(statement) if call is not None and _factory_of(call) is not None
        ]
        names = tuple(name for name, _ in _assigned(statement))
        if found:
            kind = "input"
            for name, call in found:
                inputs[name] = Input(name, statement.lineno, _literal_of(call), _requires_grad_of(call))
        elif _is_backward(statement):
            kind = "backward"
            backwards += 1
        elif names and not _is_plain_number(statement):
            kind = "compute"
            values.update(dict.fromkeys(names))
        else:
            kind = "other"
            _note_requires_grad(statement, inputs)
        if not isinstance(statement, _BLOCKS):
            lines.append(Line(statement.lineno, statement.end_lineno or statement.lineno, kind, names))
    if engine_name is None:
        used = {n.value.id for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
        engine_name = "torch" if "torch" in used and "T" not in used else "T"
    return Program(source, tuple(inputs.values()), tuple(values), tuple(lines), backwards, engine_name, namespace)


_BLOCKS = (
    ast.For,
    ast.While,
    ast.If,
    ast.With,
    ast.Try,
    ast.FunctionDef,
    ast.ClassDef,
    ast.AsyncFunctionDef,
    ast.Match,
)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Every statement in order, blocks and what is in them; the bodies of functions and classes are their own."""
    waiting: list[ast.stmt] = list(reversed(tree.body))
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
            inner = [s for s in ast.iter_child_nodes(statement) if isinstance(s, ast.stmt)]
            for handler in getattr(statement, "handlers", []):
                inner.extend(handler.body)
            waiting.extend(sorted(inner, key=lambda s: (s.lineno, s.col_offset), reverse=True))


def _assigned(statement: ast.stmt) -> list[tuple[str, ast.Call | None]]:
    """Each name that `statement` assigns, with the call that makes its value where there is one to see."""
    if isinstance(statement, ast.Assign):
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(target, statement.value) for target in statement.targets]
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        pairs = [(statement.target, statement.value)]
    else:
        return []
    found: list[tuple[str, ast.Call | None]] = []
    while pairs:
        target, value = pairs.pop(0)
        if isinstance(target, ast.Name):
            found.append((target.id, value if isinstance(value, ast.Call) else None))
        elif isinstance(target, (ast.Tuple, ast.List)):
            both = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            parts = value.elts if both and isinstance(value, (ast.Tuple, ast.List)) else [None] * len(target.elts)
            pairs[:0] = zip(target.elts, parts, strict=True)
    return found


def _factory_of(call: ast.Call) -> ast.Call | None:
    """The call that makes a tensor from scratch in `call`: itself, or the argument of a Parameter; else None."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    of_engine = isinstance(root, ast.Name) and (root.id in ENGINE_NAMES or root.id == name or root.id == "nn")
    if not of_engine:
        # T.tensor(1.0).requires_grad_() is still the leaf; the result of any other method is not.
        inner = function.value if isinstance(function, ast.Attribute) else None
        return _factory_of(inner) if name == "requires_grad_" and isinstance(inner, ast.Call) else None
    if name in FACTORIES:
        return call
    return call if name in WRAPPERS else None


def _literal_of(call: ast.Call) -> Any:
    """The number or nested list that `call` is given, or None."""
    inner = call
    if isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
        inner = call.func.value  # type: ignore[assignment]
    if not inner.args:
        return None
    first = inner.args[0]
    if isinstance(first, ast.Call):
        return _literal_of(first)
    name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
    if name != "tensor":
        return None
    try:
        value = ast.literal_eval(first)
    except ValueError:
        return None
    return value if isinstance(value, (int, float, list, tuple)) else None


def _keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((keyword for keyword in call.keywords if keyword.arg == name), None)


def _requires_grad_of(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    keyword = _keyword(call, "requires_grad")
    if keyword is not None:
        return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    if name == "requires_grad_":
        return not (call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value is False)
    return name == "Parameter"


def _is_backward(statement: ast.stmt) -> bool:
    return _backward_call(statement) is not None


def _backward_call(statement: ast.stmt) -> ast.Call | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr == "backward":
            return statement.value
    return None


def _is_plain_number(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Assign) and isinstance(value, ast.Constant)


def _requires_grad_statement(statement: ast.stmt) -> tuple[str, ast.expr | None, ast.Call | None] | None:
    """(name, the value given, the call) of `x.requires_grad = …` or `x.requires_grad_(…)`, else None."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and isinstance(target.value, ast.Name):
            return target.value.id, statement.value, None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "requires_grad_"
            and isinstance(call.func.value, ast.Name)
        ):
            return call.func.value.id, call.args[0] if call.args else None, call
    return None


def _note_requires_grad(statement: ast.stmt, inputs: dict[str, Input]) -> None:
    found = _requires_grad_statement(statement)
    if found and found[0] in inputs:
        name, value, _ = found
        wanted = not (isinstance(value, ast.Constant) and value.value is False)
        old = inputs[name]
        inputs[name] = Input(old.name, old.line, old.value, wanted)


class _Editor:
    """Collects replacements inside lines and whole lines before and after, then writes them all at once."""

    def __init__(self, program: Program, edits: Edits):
        self.program = program
        self.edits = edits
        self.rows = program.source.splitlines()
        self.statements = [s for s in _statements(_tree_of(program.source)) if not isinstance(s, _BLOCKS)]
        self.replacements: list[tuple[int, int, int, int, str]] = []  # first line, column, last line, column, text
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.indented: dict[int, int] = {}

    def run(self) -> Edited:
        edits = self.edits
        for name, wanted in edits.requires_grad.items():
            self._set_requires_grad(name, wanted)
        for name, value in edits.values.items():
            self._set_value(name, value)
        for mode in GRAD_MODES:
            for line in sorted(getattr(edits, mode)):
                self._wrap(line, f"with {self.program.engine_name}.{mode}():")
        for name in self.program.values:
            if name in edits.detach:
                self._add_after(name, f"{name} = {name}.detach()")
            if name in edits.hooks:
                self._add_after(name, f"{name}.register_hook({HOOKS[edits.hooks[name]]})")
            if name in edits.retain_grad:
                self._add_after(name, f"{name}.retain_grad()")
        unknown = (edits.detach | edits.retain_grad | set(edits.hooks)) - set(self.program.values)
        if unknown:
            raise ProgramError(f"no line computes {', '.join(sorted(unknown))}")
        self._edit_backward()
        return self._write()

    # --- the edits ---

    def _set_requires_grad(self, name: str, wanted: bool) -> None:
        known = self._input(name)
        if known.requires_grad == wanted:
            return
        for statement in self.statements:
            found = _requires_grad_statement(statement)
            if found and found[0] == name:
                _, value, call = found
                if value is not None:
                    self._replace(value, str(wanted))
                elif call is not None:
                    self._insert_argument(call, str(wanted))
                return
        call = self._call_of(name)
        keyword = _keyword(call, "requires_grad")
        if keyword is not None:
            self._replace(keyword.value, str(wanted))
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
            if call.args:
                self._replace(call.args[0], str(wanted))
            else:
                self._insert_argument(call, str(wanted))
        else:
            self._insert_argument(call, f"requires_grad={wanted}")

    def _set_value(self, name: str, value: Any) -> None:
        known = self._input(name)
        if known.value is None:
            raise ProgramError(f"the value of {name} is not written out as numbers, so it cannot be set", known.line)
        call = self._call_of(name)
        while not (isinstance(call.func, (ast.Attribute, ast.Name)) and _is_literal(call.args[:1])):
            below = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else call.args[0]
            if not isinstance(below, ast.Call):
                raise ProgramError(f"the value of {name} cannot be found", known.line)
            call = below
        self._replace(call.args[0], repr(_like(value, known.value)))

    def _wrap(self, line: int, header: str) -> None:
        statement = self._statement_at(line)
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        depth = self.indented.get(first, 0)
        self.before.setdefault(first, []).append("    " * depth + self._indent(first) + header)
        for row in range(first, last + 1):
            self.indented[row] = self.indented.get(row, 0) + 1

    def _add_after(self, name: str, text: str) -> None:
        makers = [s for s in self.statements if any(n == name for n, _ in _assigned(s))]
        statement = self._alone(makers[-1])
        last = statement.end_lineno or statement.lineno
        self.after.setdefault(last, []).append(self._indent(statement.lineno) + text)

    def _edit_backward(self) -> None:
        edits, calls = self.edits, [s for s in self.statements if _is_backward(s)]
        if not calls:
            if edits.backwards or edits.retain_graph or edits.create_graph:
                raise ProgramError("the program calls no backward(), so there is no pass to change")
            return
        statement = self._alone(calls[-1])
        call = _backward_call(statement)
        assert call is not None
        extra = []
        for name, wanted in (("retain_graph", edits.retain_graph), ("create_graph", edits.create_graph)):
            keyword = _keyword(call, name)
            if wanted is None or (keyword is None and not wanted):
                continue
            if keyword is not None:
                self._replace(keyword.value, str(wanted))
            else:
                extra.append(f"{name}={wanted}")
        if extra:
            self._insert_argument(call, ", ".join(extra))
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        again: list[str] = []
        count = edits.backwards or 1
        for number in range(2, count + 1):
            if edits.zero_grad:
                leaves = [i.name for i in self.program.inputs if edits.requires_grad.get(i.name, i.requires_grad)]
                again += [f"{self._indent(first)}{name}.grad = None" for name in leaves]
            # Every pass keeps the graph for the one after it; after the last there is none.
            again += self._replaced(first, last) if number < count else self.rows[first - 1 : last]
        if again:
            self.after.setdefault(last, []).extend(again)

    # --- finding places ---

    def _input(self, name: str) -> Input:
        found = next((i for i in self.program.inputs if i.name == name), None)
        if found is None:
            raise ProgramError(f"no input is called {name}")
        return found

    def _call_of(self, name: str) -> ast.Call:
        for statement in reversed(self.statements):
            for target, call in _assigned(statement):
                if target == name and call is not None and _factory_of(call) is not None:
                    return call
        raise ProgramError(f"no line makes {name} from scratch")

    def _statement_at(self, line: int) -> ast.stmt:
        for statement in self.statements:
            if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
                return self._alone(statement)
        raise ProgramError("no statement of its own stands here", line)

    def _alone(self, statement: ast.stmt) -> ast.stmt:
        """`statement`, if nothing else shares its lines."""
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        sharing = [s for s in self.statements if s.lineno <= last and (s.end_lineno or s.lineno) >= first]
        if len(sharing) > 1:
            raise ProgramError("two statements share this line; put each on its own line to edit one", first)
        if self.rows[first - 1].encode()[: statement.col_offset].strip():
            raise ProgramError("this statement shares its line with what it is part of; give it its own line", first)
        return statement

    def _indent(self, line: int) -> str:
        row = self.rows[line - 1]
        return row[: len(row) - len(row.lstrip())]

    # --- writing ---

    def _column(self, line: int, offset: int) -> int:
        """`ast` counts bytes of UTF-8; a row is text."""
        return len(self.rows[line - 1].encode()[:offset].decode())

    def _replace(self, node: ast.expr, text: str) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        self.replacements.append(
            (
                node.lineno,
                self._column(node.lineno, node.col_offset),
                node.end_lineno,
                self._column(node.end_lineno, node.end_col_offset),
                text,
            )
        )

    def _insert_argument(self, call: ast.Call, text: str) -> None:
        """Put `text` behind the last argument of `call`, before a trailing comma if there is one."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if given:
            end = max(given, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
            line, column = end.end_lineno or end.lineno, end.end_col_offset or 0
            text = f", {text}"
        else:
            line, column = call.end_lineno or call.lineno, (call.end_col_offset or 0) - 1
        column = self._column(line, column)
        self.replacements.append((line, column, line, column, text))

    def _replaced(self, first: int, last: int) -> list[str]:
        """Lines `first` to `last` with the replacements inside them."""
        rows = dict(zip(range(first, last + 1), self.rows[first - 1 : last], strict=True))
        for start_row, start, end_row, end, text in sorted(self.replacements, reverse=True):
            if not first <= start_row <= last:
                continue
            rows[start_row] = rows[start_row][:start] + text + rows[end_row][end:]
            for row in range(start_row + 1, end_row + 1):
                rows.pop(row)
        return list(rows.values())

    def _write(self) -> Edited:
        lines: list[str] = []
        origin: list[int | None] = []

        def add(texts: list[str], number: int | None) -> None:
            lines.extend(texts)
            origin.extend([number] * len(texts))

        if self.edits.anomaly:
            add([f"with {self.program.engine_name}.autograd.detect_anomaly():"], None)
        spans = {s.lineno: s.end_lineno or s.lineno for s in self.statements}
        number = 1
        while number <= len(self.rows):
            last = spans.get(number, number)
            add([text for row in range(number, last + 1) for text in self.before.get(row, [])], None)
            indent = "    " * self.indented.get(number, 0)
            add([indent + row for row in self._replaced(number, last)], number)
            add([text for row in range(number, last + 1) for text in self.after.get(row, [])], None)
            number = last + 1
        if self.edits.anomaly:
            lines[1:] = [f"    {line}" if line else line for line in lines[1:]]
        return Edited("\n".join(lines), tuple(origin))


def _like(value: Any, original: Any) -> Any:
    """`value` with floats where the original has them: a slider's 1 is 1.0, or the tensor would be of integers."""
    if "." not in repr(original):
        return value
    if isinstance(value, (list, tuple)):
        return [_like(item, original) for item in value]
    return float(value)


def _is_literal(arguments: list[ast.expr]) -> bool:
    if not arguments:
        return False
    try:
        ast.literal_eval(arguments[0])
    except ValueError:
        return False
    return True
