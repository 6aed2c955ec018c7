"""In which order code reads names and gives them values, and which code a cell holds in the lines of its magics."""

from __future__ import annotations

import ast
import re
from typing import Any

_OPTIONS = re.compile(r"\s*(?:-\w+(?:\s+\d+)?\s+)*")  # such as `-n 10` of `%timeit`


def tree_of(code: str) -> ast.Module:
    """The tree of a program, with the code of IPython's magics in place of the calls that they became.

    Raises:
        SyntaxError: it is not Python.

    >>> ast.unparse(tree_of("get_ipython().run_line_magic('time', 'loss = f(x)')"))
    'loss = f(x)'
    """
    tree: ast.Module = _Magics().visit(ast.parse(code))
    return tree


class _Magics(ast.NodeTransformer):
    """Puts the code that `%time`, `%%time` and their like run in the place of the calls that run them."""

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
            return node
        text = getattr(call.args[-1], "value", None)
        if call.func.attr not in ("run_line_magic", "run_cell_magic") or not isinstance(text, str):
            return node
        try:
            return ast.parse(_OPTIONS.sub("", text, count=1)).body
        except SyntaxError:  # of a magic that runs no Python, such as `%cd`
            return node


def names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def flow(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names that code reads before it has given them a value, and those that it gives a value, by any target."""
    order = _Order()
    order.visit(tree)
    return order.read, order.bound


class _Order(ast.NodeVisitor):
    """Reads code in the order in which it runs. Loops and `try` are taken to run, and one branch of an `if`."""

    _FIRST = ("value", "iter", "generators")  # these run before what is written to the left of them

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.bound: set[str] = set()
        self._given: set[str] = set()  # has a value at this place

    def _bind(self, name: str | None) -> None:
        if name:
            self.bound.add(name)
            self._given.add(name)

    def _read(self, names: set[str]) -> None:
        self.read |= names - self._given

    def generic_visit(self, node: ast.AST) -> None:
        for name in sorted(node._fields, key=self._FIRST.__contains__, reverse=True):
            child = getattr(node, name, None)
            for part in child if isinstance(child, list) else [child]:
                if isinstance(part, ast.AST):
                    self.visit(part)
                elif name in ("name", "rest"):  # `except … as`, and the patterns of `match`
                    self._bind(part)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id)
        else:
            self._read({node.id})

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._read({node.target.id} if isinstance(node.target, ast.Name) else set())
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node) if node.value is not None else self.visit(node.annotation)

    def visit_alias(self, node: ast.alias) -> None:
        self._bind((node.asname or node.name).partition(".")[0])

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        before, ends = self._given, []
        for branch in (node.body, node.orelse):
            self._given = set(before)
            for statement in branch:
                self.visit(statement)
            ends.append(self._given)
        self._given = ends[0] & ends[1]

    def _visit_scope(self, node: Any) -> None:
        """What has names of its own: they stay in it, and what else it reads is read here."""
        body = node.body if isinstance(node.body, list) else [node.body]
        for part in ast.iter_child_nodes(node):
            if part not in body:
                self.visit(part)
        inner = _Order()
        inner._given = {
            argument.arg for argument in ast.walk(getattr(node, "args", ast.Pass())) if isinstance(argument, ast.arg)
        }
        for part in body:
            inner.visit(part)
        self._read(inner.read if isinstance(node, ast.ClassDef) else inner.read - inner.bound)
        self._bind(getattr(node, "name", None))

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _visit_scope

    def _visit_comprehension(self, node: Any) -> None:
        inner = _Order()
        inner.generic_visit(node)
        own = {name for generator in node.generators for name in names_in(generator.target)}
        self._read(inner.read - own)
        for name in inner.bound - own:  # by a walrus
            self._bind(name)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension
