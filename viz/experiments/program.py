"""A program as data: its inputs, its lines, the names it assigns and where it calls backward."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from viz import engines
from viz.experiments import pasted
from viz.recording import own
from viz.recording.flow import flow

ENGINE_NAMES = frozenset({"T", "torch", "tinygrad_edu"})
FACTORIES = frozenset(
    {"tensor", "zeros", "ones", "full", "empty", "rand", "randn", "eye", "arange", "linspace", "Tensor"}
)
WRAPPERS = frozenset({"Parameter", "Variable"})
SIZED = frozenset({"zeros", "ones", "rand", "randn", "full", "empty"})  # factories that take a shape


class ProgramError(ValueError):
    """A program that cannot be read, or an edit that it does not allow; `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None):
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: only the sentence, because the fault is in the program and not in our code."""
        return [f"{type(self).__name__}: {self}"]


@dataclass(frozen=True)
class Input:
    """A name that is assigned a newly made tensor.

    `value` and `shape` are None unless they are written as literals, `dtype` unless the program mentions it.
    """

    name: str
    line: int
    value: Any
    requires_grad: bool
    shape: tuple[int, ...] | None = None
    dtype: str | None = None

    @property
    def kind(self) -> str:
        """The kind of its numbers: `"float"`, `"int"` or `"bool"`; one float makes them all floats, as in a tensor."""
        kinds = {type(number).__name__ for number in flat(self.value)}
        return next((kind for kind in ("float", "int") if kind in kinds), "bool" if kinds == {"bool"} else "float")


def flat(value: Any) -> Iterator[Any]:
    """The numbers in a number or nested list, in order."""
    waiting = [value]
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, (list, tuple)):
            waiting.extend(reversed(statement))
        else:
            yield statement


@dataclass(frozen=True)
class Line:
    """A statement: its first and last line, its kind, and the names it assigns."""

    first: int
    last: int
    kind: str  # input | compute | backward | call (of a method, for what it changes) | other
    names: tuple[str, ...]
    passes: tuple[str, ...] = ()  # of a call of backward: what it asks for, such as retain_graph


@dataclass(frozen=True)
class Program:
    """A program as data: the positions of its inputs, values and backward calls.

    >>> p = parse("w = T.tensor(3.0, requires_grad=True)\\nL = w * w\\nL.backward()")
    >>> p.inputs[0].name, p.values, [line.kind for line in p.lines]
    ('w', ('L',), ['input', 'compute', 'backward'])
    """

    source: str
    inputs: tuple[Input, ...]
    values: tuple[str, ...]
    lines: tuple[Line, ...]
    engine_name: str
    namespace: dict[str, Any] = field(default_factory=dict, compare=False)  # what it takes from outside, by name
    # What an edit of it may take, too.
    outer: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    cleaned: str = ""  # what was taken off the text that it was read from

    @property
    def passes(self) -> set[str]:
        """What its calls of backward ask for."""
        return {name for line in self.lines for name in line.passes}

    @cached_property
    def alone(self) -> str:
        """The one engine that can run it: that of what it takes from outside, also by functions; empty if of none."""
        return next(iter(own.nearest(own.reached(self.namespace, {}))), "")


def parse(program: str | Callable[..., Any], outer: Mapping[str, Any] | None = None) -> Program:
    """Read a program: source text, a function that takes the engine module first, or one without arguments.

    `outer` holds what text may use without making it, such as the variables of a notebook.

    Raises:
        ProgramError: the source is not available or not readable; `line` says where.
    """
    if isinstance(program, str):
        text, cleaned = pasted.cleaned(program)
        source = spread(textwrap.dedent(text).strip("\n"))
        if (called := _called_alone(source, outer or {})) is not None:
            return parse(called)
        return replace(_parse(source, None, {}, outer or {}), cleaned=cleaned)
    if callable(program):
        text, engine_name, namespace = _body_of(program)
        return _parse(spread(text), engine_name, _checked(namespace), getattr(program, "__globals__", {}))
    raise TypeError(
        f"a program is a source string or a function that takes the engine module, not {type(program).__name__}"
    )


def _called_alone(source: str, outer: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The function from outside whose call without arguments is all that a text holds."""
    body = tree_of(source).body
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args and not call.keywords:
        function = outer.get(call.func.id)
        return function if inspect.isfunction(function) else None
    return None


def _checked(namespace: dict[str, Any]) -> dict[str, Any]:
    """What a program takes from outside: nothing that runs backward only once, as the program runs at every change."""
    for name, thing in namespace.items():
        engine = engines.of(thing)
        if engine is not None and engine.is_tensor(thing) and not thing.is_leaf:
            raise ProgramError(
                f"{name} is the result of another cell, and its graph serves one backward pass: put the lines "
                f"that make {name} into the program, or give it {name}.detach()"
            )
    return namespace


def reread(text: str, program: Program) -> Program:
    """Read other source in place of `program`, with the same name for the engine and the same outer names.

    Raises:
        ProgramError: `text` is not valid Python; `line` says where.
    """
    text, cleaned = pasted.cleaned(text)
    engine_name = program.engine_name if re.search(rf"\b{program.engine_name}\b", text) else None
    read = _parse(spread(textwrap.dedent(text).strip("\n")), engine_name, program.namespace, program.outer)
    return replace(read, cleaned=cleaned)


def spread(source: str) -> str:
    """`source` with each statement on a separate line, so that each can have its toggles.

    >>> print(spread("a = T.ones(2); b = a * 2  # both"))
    a = T.ones(2)
    b = a * 2  # both
    """
    rows = source.splitlines()
    cuts: list[tuple[int, int, str]] = []  # where a statement follows another on its line, and its indent
    waiting: list[tuple[list[ast.stmt], str]] = [(tree_of(source).body, "")]
    while waiting:
        block, indent = waiting.pop()
        for statement in block:
            row, column = statement.lineno - 1, statement.col_offset
            before = rows[row].encode()[:column].decode()
            if before.strip():
                cuts.append((row, len(before), indent))
            else:
                indent = before
            waiting += [(inner, indent + "    ") for inner in blocks(statement)]
    for row, column, indent in sorted(cuts, reverse=True):
        rows[row : row + 1] = [rows[row][:column].rstrip().removesuffix(";").rstrip(), indent + rows[row][column:]]
    return "\n".join(rows)


def _body_of(function: Callable[..., Any]) -> tuple[str, str, dict[str, Any]]:
    """The source of a function's body, its name for the engine module, and the outer names that it uses."""
    name = getattr(function, "__name__", "the function")
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        raise ProgramError(
            f"the source of {name} cannot be read: pass its lines, or a call of it, as a string"
        ) from None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef) or inspect.isgeneratorfunction(function):
        raise ProgramError(f"{name} is not a plain `def`: pass its lines, or a call of it, as a string")
    owner = getattr(function, "__self__", None)
    parameters = list(inspect.signature(function).parameters.values())
    takes_engine = bool(parameters) and parameters[0].default is parameters[0].empty
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
        raise ProgramError(f"{name} returns before its end; only a `return` at the very end can be left out", line)
    text = textwrap.dedent("\n".join(rows[body[0].lineno - 1 : body[-1].end_lineno]))
    engine_name = parameters[0].name if takes_engine else "torch"
    outer = inspect.getclosurevars(inspect.unwrap(function))
    # `getclosurevars` also reports attribute names as globals: T.tensor does not use a global called tensor.
    used = {n.id for statement in body for n in ast.walk(statement) if isinstance(n, ast.Name)}
    namespace = {name: value for name, value in {**outer.globals, **outer.nonlocals}.items() if name in used}
    if owner is not None and node.args.args:
        namespace[node.args.args[0].arg] = owner
    for parameter in parameters[takes_engine:]:
        if parameter.default is parameter.empty:
            raise ProgramError(f"{name} needs {parameter.name}; give it a default, so that the program runs alone")
        namespace[parameter.name] = parameter.default
    return text, engine_name, namespace


def _walk_here(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and everything below it, except the bodies of functions and classes defined in it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


@lru_cache(maxsize=64)
def tree_of(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        code = f": {error.text.strip()}" if error.text else ""
        raise ProgramError(f"this is not Python, {error.msg}{code}", error.lineno) from None


def _parse(source: str, engine_name: str | None, namespace: dict[str, Any], outer: Mapping[str, Any]) -> Program:
    tree = tree_of(source)
    read = flow(tree)[0] - ENGINE_NAMES - vars(builtins).keys() - {engine_name} - namespace.keys()
    namespace = namespace | _checked({name: outer[name] for name in sorted(read) if name in outer})
    inputs: dict[str, Input] = {}
    values: dict[str, None] = {}
    lines = []
    for statement in statements(tree):
        found = [
            (name, call) for name, call in assigned(statement) if call is not None and factory_of(call) is not None
        ]
        names = tuple(name for name, _ in assigned(statement))
        if found:
            kind = "input"
            for name, call in found:
                inputs[name] = Input(
                    name, statement.lineno, _literal_of(call), _requires_grad_of(call), _shape_of(call), _dtype_of(call)
                )
        elif is_backward(statement):
            kind = "backward"
        elif names and not _is_plain_number(statement):
            kind = "compute"
            values.update(dict.fromkeys(names))
        else:
            kind = "call" if is_call(statement) else "other"
            _note_requires_grad(statement, inputs)
        if not isinstance(statement, BLOCKS):
            last = statement.end_lineno or statement.lineno
            lines.append(Line(statement.lineno, last, kind, names, asked_of(statement)))
    if engine_name is None:
        used = {n.value.id for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
        engine_name = "torch" if "torch" in used and "T" not in used else "T"
    return Program(source, tuple(inputs.values()), tuple(values), tuple(lines), engine_name, namespace, outer)


BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Match)


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Every statement in order, including those in blocks; not the bodies of functions and classes."""
    waiting: list[ast.stmt] = list(reversed(tree.body))
    while waiting:
        statement = waiting.pop()
        yield statement
        inner = [child for block in blocks(statement) for child in block]
        waiting.extend(sorted(inner, key=lambda s: (s.lineno, s.col_offset), reverse=True))


def blocks(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a loop, a condition, a `with` or a `try`."""
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
        yield statement.body
        for name in ("orelse", "finalbody"):
            if getattr(statement, name, None):
                yield getattr(statement, name)
        for handler in getattr(statement, "handlers", []):
            yield handler.body


def assigned(statement: ast.stmt) -> list[tuple[str, ast.Call | None]]:
    """Each name that `statement` assigns, with the call that makes its value, if there is one."""
    if isinstance(statement, ast.Assign):
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(target, statement.value) for target in statement.targets]
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        pairs = [(statement.target, statement.value)]
    else:
        return []
    names: list[tuple[str, ast.Call | None]] = []
    while pairs:
        target, value = pairs.pop(0)
        if isinstance(target, ast.Name):
            names.append((target.id, value if isinstance(value, ast.Call) else None))
        elif isinstance(target, (ast.Tuple, ast.List)):
            both = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            parts = value.elts if both and isinstance(value, (ast.Tuple, ast.List)) else [None] * len(target.elts)
            pairs[:0] = zip(target.elts, parts, strict=True)
    return names


def factory_of(call: ast.Call) -> ast.Call | None:
    """The call in `call` that makes a new tensor: itself, or the argument of a Parameter; else None."""
    function, name = call.func, name_of(call)
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    of_engine = isinstance(root, ast.Name) and (root.id in ENGINE_NAMES or root.id == name or root.id == "nn")
    if not of_engine:
        # T.tensor(1.0).requires_grad_() is still a leaf; the result of any other method is not.
        inner = function.value if isinstance(function, ast.Attribute) else None
        return factory_of(inner) if name == "requires_grad_" and isinstance(inner, ast.Call) else None
    return call if name in FACTORIES | WRAPPERS else None


def name_of(call: ast.Call) -> str:
    """The last name in what a call calls: `tensor` for `T.tensor(1.0)`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def maker_of(call: ast.Call) -> ast.Call | None:
    """The factory's own call inside Parameters, Variables and `requires_grad_()`; None if there is none."""
    while name_of(call) not in FACTORIES:
        inner = call.func.value if name_of(call) == "requires_grad_" and isinstance(call.func, ast.Attribute) else None
        inner = inner or next(iter(call.args), None)
        if not isinstance(inner, ast.Call):
            return None
        call = inner
    return call


def sizes_of(maker: ast.Call) -> list[ast.expr]:
    """The arguments that give a factory its shape: numbers one by one, or one tuple or list."""
    if name_of(maker) not in SIZED or not maker.args:
        return []
    return maker.args[:1] if name_of(maker) == "full" else maker.args


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _literal_of(call: ast.Call) -> Any:
    """The number or nested list that a tensor is made from, or None."""
    maker = maker_of(call)
    if maker is None or name_of(maker) != "tensor" or not maker.args:
        return None
    value = _literal(maker.args[0])
    return value if isinstance(value, (int, float, list, tuple)) else None


def _shape_of(call: ast.Call) -> tuple[int, ...] | None:
    maker = maker_of(call)
    told = [_literal(size) for size in sizes_of(maker)] if maker is not None else []
    if len(told) == 1 and isinstance(told[0], (list, tuple)):
        told = list(told[0])
    return tuple(told) if told and all(type(size) is int for size in told) else None


def _dtype_of(call: ast.Call) -> str | None:
    maker = maker_of(call)
    keyword = None if maker is None else keyword_of(maker, "dtype")
    return keyword.value.attr if keyword is not None and isinstance(keyword.value, ast.Attribute) else None


def keyword_of(call: ast.Call, name: str) -> ast.keyword | None:
    return next((keyword for keyword in call.keywords if keyword.arg == name), None)


def _requires_grad_of(call: ast.Call) -> bool:
    keyword = keyword_of(call, "requires_grad")
    if keyword is not None:
        return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    if name_of(call) == "requires_grad_":
        return not (call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value is False)
    return name_of(call) == "Parameter"


def is_backward(statement: ast.stmt) -> bool:
    return backward_call(statement) is not None


def spelled(path: str) -> str:
    """A path as Python reads it.

    >>> spelled("model.features.0.weight")
    'model.features[0].weight'
    """
    root, *names = path.split(".")
    return root + "".join(f"[{name}]" if name.isdigit() else f".{name}" for name in names)


def is_call(statement: ast.stmt) -> bool:
    """Whether a statement calls a method for what it changes, such as `optimizer.step()`."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)


def asked_of(statement: ast.stmt) -> tuple[str, ...]:
    """What a call of backward asks for with `=True`."""
    call = backward_call(statement)
    keywords = () if call is None else call.keywords
    return tuple(word.arg for word in keywords if word.arg and getattr(word.value, "value", None) is True)


def backward_call(statement: ast.stmt) -> ast.Call | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr == "backward":
            return statement.value
    return None


def _is_plain_number(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Assign) and isinstance(value, ast.Constant)


def requires_grad_statement(statement: ast.stmt) -> tuple[str, ast.expr | None, ast.Call | None] | None:
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
    found = requires_grad_statement(statement)
    if found and found[0] in inputs:
        name, value, _ = found
        wanted = not (isinstance(value, ast.Constant) and value.value is False)
        inputs[name] = replace(inputs[name], requires_grad=wanted)
