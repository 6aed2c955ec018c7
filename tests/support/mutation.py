"""Mutants of the reference answers: one small change each, as a slip of a student's would be.

An exercise is only as good as its probes: every mutant that is not equivalent must lose points.
"""

import ast
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tinygrad_edu
from tinygrad_edu.course.working_copy import lessons_root
from tinygrad_edu.exercises import get
from tinygrad_edu.exercises.judging.judge import Verdict, judge
from tinygrad_edu.exercises.running.probe import probe

NEARLY = 1e-3  # a threshold that is not quite zero
SECONDS = 0.5  # a mutant may loop for ever
ENOUGH = 20


@dataclass(frozen=True)
class Mutant:
    """A reference with one change; `change` names it by the text before and after."""

    change: str
    source: str


# The comparisons, operators and attributes that others stand in for.
REPLACED = """
Gt: GtE Lt, Lt: LtE Gt, GtE: Gt Lt, LtE: Lt Gt, Eq: NotEq, NotEq: Eq, Is: IsNot, IsNot: Is, In: NotIn, NotIn: In,
Add: Sub Mult, Sub: Add Mult, Mult: Div Add, Div: Mult, MatMult: Mult, Pow: Mult, FloorDiv: Mult, Mod: Mult,
shape: size, size: shape, ndim: size, zeros: ones, ones: zeros, zeros_like: ones_like, ones_like: zeros_like, sum: mean,
mean: sum, detach: clone, copy: view, clone: detach, append: extend, no_grad: enable_grad, pop: copy, item: detach"""
OTHERS = {name: others.split() for name, others in re.findall(r"(\w+): ([\w ]+)", REPLACED)}


def sources(id: str) -> list[str]:
    """The reference answers as whole cells: the lesson's own."""
    found = []
    for path in sorted(lessons_root().glob("*/*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            marks = cell["metadata"].get("nbgrader") or {}
            if marks.get("grade_id") == id:
                lines = "".join(cell["source"]).split("\n")
                found.append(
                    "\n".join(line for line in lines if line.strip() not in ("### BEGIN SOLUTION", "### END SOLUTION"))
                )
    return found


def _copied(part: Any) -> Any:
    """A copy of what the grammar says of a tree, and of nothing else. All trees share one `ast.Load()`, where other
    packages leave a link to their tree: `deepcopy` would copy that, too."""
    if isinstance(part, list):
        return [_copied(one) for one in part]
    if not isinstance(part, ast.AST):
        return part
    return ast.copy_location(type(part)(**{name: _copied(value) for name, value in ast.iter_fields(part)}), part)


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a cell, each once, in the order of its text."""
    tree = ast.parse(source)
    for statement in tree.body[:-1]:  # a prediction's blank, above the answer
        if isinstance(statement, ast.Assign):
            tree.body.remove(statement)
    original = ast.unparse(tree)
    found: dict[str, Mutant] = {}
    nodes = list(ast.walk(tree))
    for place, node in enumerate(nodes):
        for make in _changes(node):
            changed = _copied(tree)
            twin = next(n for i, n in enumerate(ast.walk(changed)) if i == place)
            before = ast.unparse(node)
            make_result = make(twin)
            new_tree = _Replace(twin, make_result).visit(changed) if make_result is not twin else changed
            try:
                text = ast.unparse(ast.fix_missing_locations(new_tree))
                compile(text, "<mutant>", "exec")
            except (SyntaxError, ValueError, AttributeError, TypeError):
                continue
            if text == original or text in found:
                continue
            after = (
                ""
                if make_result is None
                else ast.unparse(make_result)
                if isinstance(make_result, ast.AST)
                else ast.unparse(twin)
            )
            found[text] = Mutant(
                f"{node.lineno if hasattr(node, 'lineno') else 0}: {_first(before)} -> {_first(after)}", text
            )
    return list(found.values())


def _first(text: str) -> str:
    return " ".join(text.split())[:90]


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, by: ast.AST | None) -> None:
        self.node, self.by = node, by

    def visit(self, node: ast.AST) -> ast.AST | None:
        if node is self.node:
            return self.by if self.by is not None else ast.Pass() if isinstance(node, ast.stmt) else None
        return self.generic_visit(node)


def _changes(node: ast.AST) -> Iterator:
    """Functions that change a copy of `node`, and return what stands in its place."""

    def set_field(name, value):
        def change(twin):
            setattr(twin, name, value)
            return twin

        return change

    def instead(pick):
        return lambda twin: pick(twin)

    match node:
        case ast.Compare(ops=[op], comparators=[against]):
            for other in OTHERS[type(op).__name__]:
                yield set_field("ops", [getattr(ast, other)()])
            if isinstance(op, ast.Gt | ast.Lt | ast.GtE | ast.LtE) and getattr(against, "value", None) == 0:
                yield set_field("comparators", [ast.Constant(NEARLY)])
            yield instead(lambda twin: ast.Constant(True))
            yield instead(lambda twin: ast.Constant(False))
        case ast.BinOp(op=op):
            for other in OTHERS.get(type(op).__name__, ()):
                yield set_field("op", getattr(ast, other)())
            yield instead(lambda twin: twin.left)
            yield instead(lambda twin: twin.right)
            if isinstance(op, ast.Mult):
                yield instead(lambda twin: _by_division(twin))
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
                yield instead(lambda twin: ast.BinOp(twin.right, twin.op, twin.left))
        case ast.BoolOp(op=op):
            yield set_field("op", ast.Or() if isinstance(op, ast.And) else ast.And())
            for i in range(len(node.values)):
                yield instead(lambda twin, i=i: twin.values[i])
        case ast.UnaryOp():
            yield instead(lambda twin: twin.operand)
        case ast.Constant(value=bool() as value):
            yield set_field("value", not value)
        case ast.Constant(value=int() | float() as value):
            for other in {value + 1, -value, 0}:
                if other != value:
                    yield set_field("value", type(value)(other))
        case ast.Constant(value=None):
            yield set_field("value", 0)
        case ast.Constant(value=str() as value):
            for other in "abLx":
                if len(value) == 1 and other != value:
                    yield set_field("value", other)
        case ast.Dict(keys=keys):
            for i in range(len(keys)):
                yield instead(
                    lambda twin, i=i: ast.Dict(
                        twin.keys[:i] + twin.keys[i + 1 :], twin.values[:i] + twin.values[i + 1 :]
                    )
                )
        case ast.AugAssign(op=op):
            for other in OTHERS.get(type(op).__name__, ())[:1]:
                yield set_field("op", getattr(ast, other)())
            yield instead(lambda twin: ast.Assign([twin.target], twin.value))
            yield instead(lambda twin: None)
        case ast.Assign() | ast.Expr(value=ast.Call()) | ast.Raise() | ast.AnnAssign():
            yield instead(lambda twin: None)
        case ast.Return(value=ast.expr()):
            yield set_field("value", None)
            if isinstance(node.value, ast.Call):
                for operator, number in ((ast.Mult(), -1), (ast.Mult(), 2), (ast.Add(), 1), (ast.Mult(), 0)):
                    yield instead(
                        lambda twin, o=operator, n=number: ast.Return(ast.BinOp(twin.value, o, ast.Constant(n)))
                    )
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if len(elements) > 1 and isinstance(node.ctx, ast.Load):
            yield instead(lambda twin: type(twin)(twin.elts[::-1], ast.Load()))
            for i in range(len(elements)):
                yield instead(lambda twin, i=i: type(twin)([e for j, e in enumerate(twin.elts) if j != i], ast.Load()))
                if not isinstance(elements[i], ast.Constant):
                    yield instead(
                        lambda twin, i=i: type(twin)(
                            [ast.Constant(None) if j == i else e for j, e in enumerate(twin.elts)], ast.Load()
                        )
                    )
        case ast.Call(func=function, args=arguments, keywords=keywords):
            if len(arguments) > 1:
                yield instead(lambda twin: ast.Call(twin.func, twin.args[::-1], twin.keywords))
            for i in range(len(keywords)):
                yield instead(
                    lambda twin, i=i: ast.Call(twin.func, twin.args, [k for j, k in enumerate(twin.keywords) if j != i])
                )
            if len(arguments) == 1 and not isinstance(arguments[0], ast.Starred):
                yield instead(lambda twin: twin.args[0])
            if isinstance(function, ast.Attribute):
                yield instead(lambda twin: twin.func.value)
        case ast.Attribute(attr=name) if name in OTHERS:
            for other in OTHERS[name]:
                yield set_field("attr", other)
        case ast.Subscript(ctx=ast.Load()):
            yield instead(lambda twin: twin.value)
        case ast.Slice(lower=lower, upper=upper):
            if lower:
                yield set_field("lower", None)
            if upper:
                yield set_field("upper", None)
        case ast.If():
            if any(isinstance(statement, ast.Raise) for statement in node.body):
                yield lambda twin: _only_once(twin)
            yield set_field("test", ast.Constant(True))
            yield set_field("test", ast.Constant(False))
        case ast.IfExp():
            yield instead(lambda twin: twin.body)
            yield instead(lambda twin: twin.orelse)
            yield instead(lambda twin: ast.IfExp(twin.test, twin.orelse, twin.body))
        case ast.For():
            yield instead(lambda twin: ast.For(twin.target, twin.iter, [*twin.body, ast.Break()], [], lineno=0))
            yield instead(
                lambda twin: ast.For(
                    twin.target,
                    ast.Call(
                        ast.Name("reversed", ast.Load()), [ast.Call(ast.Name("list", ast.Load()), [twin.iter], [])], []
                    ),
                    twin.body,
                    [],
                    lineno=0,
                )
            )
        case ast.With():
            yield instead(lambda twin: ast.If(ast.Constant(True), twin.body, []))
        case ast.FunctionDef(args=ast.arguments(args=[_, *_] as parameters)):
            names = [p.arg for p in parameters if p.arg not in ("self", "ctx", "T")]
            for name in names:
                yield lambda twin, name=name: _written_into(twin, name)
                for other in names:
                    if other != name:
                        yield lambda twin, name=name, other=other: _renamed(twin, name, other)


def _by_division(product: ast.BinOp) -> ast.BinOp:
    """`a * b` as `a * b * b / b`, which a zero makes a nan."""
    longer = ast.BinOp(product, ast.Mult(), _copied(product.right))
    return ast.BinOp(longer, ast.Div(), _copied(product.right))


def _only_once(refusal: ast.If) -> ast.If:
    """A branch that raises the first time and not again."""
    refusal.test = ast.BoolOp(ast.And(), [refusal.test, ast.Call(ast.Name("first_time", ast.Load()), [], [])])
    return refusal


def _written_into(function: ast.FunctionDef, name: str) -> ast.FunctionDef:
    """A function that changes what it was given, after it has computed."""
    kept = f"given_{name}"  # the name itself may be bound anew
    write = ast.Expr(ast.Call(ast.Name("write_into", ast.Load()), [ast.Name(kept, ast.Load())], []))
    keep = ast.Assign([ast.Name(kept, ast.Store())], ast.Name(name, ast.Load()))
    function.body = [keep, ast.Try(function.body, [], [], [write])]
    return function


class _Helpers:
    """What some mutants call; whether a mutant has changed anything at all."""

    def __init__(self) -> None:
        self.calls, self.written = 0, False

    def first_time(self) -> bool:
        self.calls += 1
        return self.calls == 1

    def write_into(self, thing: Any) -> None:
        """Change `thing` in place, if it is something that can be."""
        if isinstance(thing, list) and thing:
            thing[0] = thing[-1]
            thing.append(thing[0])
        elif isinstance(thing, dict):
            thing["more"] = 0
        elif isinstance(thing, np.ndarray):
            thing += 1
        elif hasattr(thing, "add_"):
            thing.detach().add_(1)
        else:
            return
        self.written = True


def _renamed(function: ast.FunctionDef, name: str, other: str) -> ast.FunctionDef:
    """The function with the first use of one argument replaced by another: a typical slip."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            node.id = other
            break
    return function


def graded(id: str, source: str, seconds: float = SECONDS, helpers: _Helpers | None = None) -> Verdict:
    """The verdict on a cell, found as `check` finds it."""
    exercise = get(id)
    helpers = helpers or _Helpers()
    names: dict = {"np": np, "T": tinygrad_edu, "tg": tinygrad_edu, "math": math}
    names |= {"first_time": helpers.first_time, "write_into": helpers.write_into}
    try:
        exec(compile(source, "<answer>", "exec", dont_inherit=True), names)
    except Exception:
        names = {}
    probed = probe(
        [c.probe for c in exercise.criteria],
        [c.inputs(seed=0) for c in exercise.criteria],
        names.get(exercise.name),
        exercise.available,
        seconds,
        parameters=exercise.parameters,
    )
    return judge(exercise, probed, seed=0)


def mutants_of(id: str) -> list[Mutant]:
    """The mutants of an exercise: of the lesson's answer, and where those are few, two changes at once."""
    made: dict[str, Mutant] = {}
    for source in sources(id):
        made |= {mutant.source: mutant for mutant in mutants(source)}
    first = list(made.values())
    for mutant in first if len(first) < ENOUGH else ():
        if "write_into(" in mutant.source or "first_time()" in mutant.source:
            continue  # a change to what changes is none of the answer
        for second in mutants(mutant.source):
            if len(made) < 2 * ENOUGH and second.source not in sources(id):
                made.setdefault(second.source, Mutant(f"{mutant.change}, and {second.change}", second.source))
    return list(made.values())


def survivors(id: str, step: int = 1) -> tuple[list[Mutant], int]:
    """Those of every `step`-th mutant of an exercise that earn every point, and how many mutants it has."""
    made = mutants_of(id)
    return [mutant for mutant in made[::step] if _survives(id, mutant)], len(made)


def _survives(id: str, mutant: Mutant) -> bool:
    helpers = _Helpers()
    if not graded(id, mutant.source, helpers=helpers).passed:
        return False
    into = re.search(r"write_into\(given_(\w+)\)", mutant.source)
    # A number cannot be written into, and some arguments are there to be changed.
    return into is None or (helpers.written and into[1] not in get(id).may_change)
