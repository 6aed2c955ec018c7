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
                found.append("\n".join(line for line in lines if not line.strip().endswith(" SOLUTION")))
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
    for place, node in enumerate(list(ast.walk(tree))):
        for make in _changes(node):
            changed = _copied(tree)
            twin = next(n for i, n in enumerate(ast.walk(changed)) if i == place)
            made = make(twin)
            new_tree = _Replace(twin, made).visit(changed) if made is not twin else changed
            try:
                text = ast.unparse(ast.fix_missing_locations(new_tree))
                compile(text, "<mutant>", "exec")
            except (SyntaxError, ValueError, AttributeError, TypeError):
                continue
            if text != original and text not in found:
                before, after = (" ".join(ast.unparse(one).split())[:90] if one else "" for one in (node, made))
                found[text] = Mutant(f"{getattr(node, 'lineno', 0)}: {before} -> {after}", text)
    return list(found.values())


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

    def replaced(i, *fields, by=()):
        def change(twin):
            for field in fields:
                getattr(twin, field)[i : i + 1] = by
            return twin

        return change

    match node:
        case ast.Compare(ops=[op], comparators=[against]):
            for other in OTHERS[type(op).__name__]:
                yield set_field("ops", [getattr(ast, other)()])
            if isinstance(op, ast.Gt | ast.Lt | ast.GtE | ast.LtE) and getattr(against, "value", None) == 0:
                yield set_field("comparators", [ast.Constant(NEARLY)])
            yield lambda twin: ast.Constant(True)
            yield lambda twin: ast.Constant(False)
        case ast.BinOp(op=op):
            for other in OTHERS.get(type(op).__name__, ()):
                yield set_field("op", getattr(ast, other)())
            yield lambda twin: twin.left
            yield lambda twin: twin.right
            if isinstance(op, ast.Mult):
                yield _by_division
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
                yield lambda twin: ast.BinOp(twin.right, twin.op, twin.left)
        case ast.BoolOp(op=op):
            yield set_field("op", ast.Or() if isinstance(op, ast.And) else ast.And())
            for i in range(len(node.values)):
                yield lambda twin, i=i: twin.values[i]
        case ast.UnaryOp():
            yield lambda twin: twin.operand
        case ast.Constant(value=bool() as value):
            yield set_field("value", not value)
        case ast.Constant(value=int() | float() as value):
            for other in {value + 1, -value, 0} - {value}:
                yield set_field("value", type(value)(other))
        case ast.Constant(value=None):
            yield set_field("value", 0)
        case ast.Constant(value=str() as value):
            for other in "abLx".replace(value, "") if len(value) == 1 else "":
                yield set_field("value", other)
        case ast.Dict(keys=keys):
            for i in range(len(keys)):
                yield replaced(i, "keys", "values")
        case ast.AugAssign(op=op):
            for other in OTHERS.get(type(op).__name__, ())[:1]:
                yield set_field("op", getattr(ast, other)())
            yield lambda twin: ast.Assign([twin.target], twin.value)
            yield lambda twin: None
        case ast.Assign() | ast.Expr(value=ast.Call()) | ast.Raise() | ast.AnnAssign():
            yield lambda twin: None
        case ast.Return(value=ast.expr()):
            yield set_field("value", None)
            if isinstance(node.value, ast.Call):
                for operator, number in ((ast.Mult(), -1), (ast.Mult(), 2), (ast.Add(), 1), (ast.Mult(), 0)):
                    yield lambda twin, o=operator, n=number: ast.Return(ast.BinOp(twin.value, o, ast.Constant(n)))
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if len(elements) > 1 and isinstance(node.ctx, ast.Load):
            yield lambda twin: type(twin)(twin.elts[::-1], ast.Load())
            for i in range(len(elements)):
                yield replaced(i, "elts")
                if not isinstance(elements[i], ast.Constant):
                    yield replaced(i, "elts", by=[ast.Constant(None)])
        case ast.Call(func=function, args=arguments, keywords=keywords):
            if len(arguments) > 1:
                yield lambda twin: ast.Call(twin.func, twin.args[::-1], twin.keywords)
            for i in range(len(keywords)):
                yield replaced(i, "keywords")
            if len(arguments) == 1 and not isinstance(arguments[0], ast.Starred):
                yield lambda twin: twin.args[0]
            if isinstance(function, ast.Attribute):
                yield lambda twin: twin.func.value
        case ast.Attribute(attr=name) if name in OTHERS:
            for other in OTHERS[name]:
                yield set_field("attr", other)
        case ast.Subscript(ctx=ast.Load()):
            yield lambda twin: twin.value
        case ast.Slice(lower=lower, upper=upper):
            for name in (["lower"] if lower else []) + (["upper"] if upper else []):
                yield set_field(name, None)
        case ast.If():
            if any(isinstance(statement, ast.Raise) for statement in node.body):
                yield _only_once
            yield set_field("test", ast.Constant(True))
            yield set_field("test", ast.Constant(False))
        case ast.IfExp():
            yield lambda twin: twin.body
            yield lambda twin: twin.orelse
            yield lambda twin: ast.IfExp(twin.test, twin.orelse, twin.body)
        case ast.For():
            yield lambda twin: ast.For(twin.target, twin.iter, [*twin.body, ast.Break()], [], lineno=0)
            yield lambda twin: ast.For(
                twin.target, _call("reversed", _call("list", twin.iter)), twin.body, [], lineno=0
            )
        case ast.With():
            yield lambda twin: ast.If(ast.Constant(True), twin.body, [])
        case ast.FunctionDef(args=ast.arguments(args=[_, *_] as parameters)):
            names = [p.arg for p in parameters if p.arg not in ("self", "ctx", "T")]
            for name in names:
                yield lambda twin, name=name: _written_into(twin, name)
                for other in (other for other in names if other != name):
                    yield lambda twin, name=name, other=other: _renamed(twin, name, other)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _by_division(product: ast.BinOp) -> ast.BinOp:
    """`a * b` as `a * b * b / b`, which a zero makes a nan."""
    longer = ast.BinOp(product, ast.Mult(), _copied(product.right))
    return ast.BinOp(longer, ast.Div(), _copied(product.right))


def _only_once(refusal: ast.If) -> ast.If:
    """A branch that raises the first time and not again."""
    refusal.test = ast.BoolOp(ast.And(), [refusal.test, _call("first_time")])
    return refusal


def _written_into(function: ast.FunctionDef, name: str) -> ast.FunctionDef:
    """A function that changes what it was given, after it has computed."""
    kept = f"given_{name}"  # the name itself may be bound anew
    write = ast.Expr(_call("write_into", ast.Name(kept, ast.Load())))
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
    probes, inputs = [c.probe for c in exercise.criteria], [c.inputs(seed=0) for c in exercise.criteria]
    answer, parameters = names.get(exercise.name), exercise.parameters
    return judge(exercise, probe(probes, inputs, answer, exercise.available, seconds, parameters=parameters), seed=0)


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
