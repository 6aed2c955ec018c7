"""Reads a listing that was edited by hand back into a program and the switches that are on in it.

A switch writes lines into a program (`edits`). If the edited text has the same lines, the switch is on, and can be
turned off again.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Any

from viz.experiments.edits import GRAD_MODES, HOOKS, Edits, edit
from viz.experiments.program import (
    BLOCKS,
    Program,
    ProgramError,
    assigned,
    backward_call,
    blocks,
    is_backward,
    reread,
    tree_of,
)

MOST_PASSES = 5
WRITTEN = {".requires_grad_(False)": True, ".requires_grad_(True)": False}


@dataclass
class _Found:
    """The switches seen so far, by line of the listing, and the lines that they have written."""

    modes: dict[str, set[int]] = field(default_factory=lambda: {mode: set() for mode in GRAD_MODES})
    retain_grad: set[tuple[str, int]] = field(default_factory=set)
    detach: set[tuple[str, int]] = field(default_factory=set)
    hooks: dict[tuple[str, int], str] = field(default_factory=dict)
    passes: dict[str, Any] = field(default_factory=dict)
    frozen: dict[str, bool] = field(default_factory=dict)
    evaluated: set[str] = field(default_factory=set)
    written: set[int] = field(default_factory=set)  # lines that belong to a switch
    dedent: dict[int, int] = field(default_factory=dict)  # columns by which a line was indented


def read_back(text: str, program: Program) -> tuple[Program, dict[str, Any]]:
    """The program behind a listing, and the switches that make this listing from it, with the names that `state` uses.

    `program` is the previous one: its name for the engine, and the names that it sees from outside, hold for the new one too.

    Raises:
        ProgramError: `text` is not valid Python; `line` says where.

    >>> from viz.experiments.program import parse
    >>> program, switches = read_back("w = T.ones(2)\\nwith T.no_grad():\\n    v = w * 2", parse("w = T.ones(2)"))
    >>> program.source.splitlines(), switches
    (['w = T.ones(2)', 'v = w * 2'], {'no_grad': [2]})
    """
    listed = reread(text, program)
    for passes in (True, False):
        try:
            plain, switches = _without(listed, passes)
            if edit(plain, Edits.of(switches)).source == listed.source:
                return replace(plain, cleaned=listed.cleaned), switches
        except ProgramError:  # without those lines it is not a program
            continue
    return listed, {}


def _without(listed: Program, passes: bool) -> tuple[Program, dict[str, Any]]:
    """`listed` without the lines that switches write, and those switches; not yet known to make `listed` again."""
    tree = tree_of(listed.source)
    found = _Found()
    body = tree.body
    anomaly = len(body) == 1 and _mode_of(body[0], listed.engine_name) == "autograd.detect_anomaly"
    if anomaly and isinstance(body[0], ast.With):
        _unwrap(body[0], found)
        body = body[0].body
    outside = list(itertools.takewhile(lambda statement: _read_part(statement, listed.namespace, found), body))
    _read_block(body[len(outside) :], listed, found)
    if passes:
        _read_passes(body, found)
    rows, line_of = [], {}
    for number, row in enumerate(listed.source.splitlines(), 1):
        if number in found.written:
            continue
        rows.append(row[found.dedent.get(number, 0) :])
        line_of[number] = len(rows)
    plain = reread("\n".join(rows), listed)
    makers = [name for line in plain.lines if line.kind == "compute" for name in line.names]

    def item(name: str, line: int) -> str:
        return f"{name}@{line_of[line]}" if makers.count(name) > 1 else name

    switches: dict[str, Any] = {mode: sorted(line_of[line] for line in lines) for mode, lines in found.modes.items()}
    switches["retain_grad"] = sorted(item(*one) for one in found.retain_grad)
    switches["detach"] = sorted(item(*one) for one in found.detach)
    switches["hooks"] = {item(*one): hook for one, hook in found.hooks.items()}
    switches.update(found.passes, anomaly=anomaly, frozen=found.frozen, evaluated=sorted(found.evaluated))
    return plain, {name: value for name, value in switches.items() if value}


def _mode_of(statement: ast.stmt, engine_name: str) -> str:
    """`no_grad` for `with T.no_grad():`, of the engine alone; empty for anything else."""
    if not isinstance(statement, ast.With) or len(statement.items) != 1 or statement.items[0].optional_vars is not None:
        return ""
    call = statement.items[0].context_expr
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return ""
    written = ast.unparse(call.func)
    return written.removeprefix(f"{engine_name}.") if written.startswith(f"{engine_name}.") else ""


def _unwrap(block: ast.With, found: _Found) -> None:
    """Take the header of `block` away, and move what is in it to the left."""
    first = block.body[0].lineno
    found.written.update(range(block.lineno, first))
    for row in range(first, (block.end_lineno or block.lineno) + 1):
        found.dedent[row] = found.dedent.get(row, 0) + 4


def _read_block(body: list[ast.stmt], listed: Program, found: _Found) -> None:
    """Find the switches in a block and in those below it; what stands behind a statement may belong to it."""
    waiting = [body]
    while waiting:
        block = waiting.pop()
        maker: ast.stmt | None = None
        for statement in block:
            if maker is not None and _read_behind(statement, maker, found):
                found.written.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
                continue
            inner = _read_modes(statement, listed, found)
            maker = inner if not isinstance(inner, BLOCKS) else None
            waiting += blocks(inner)


def _read_modes(statement: ast.stmt, listed: Program, found: _Found) -> ast.stmt:
    """The statement that grad modes stand around, one by one; `statement` itself where there are none."""
    headers: list[tuple[str, ast.With]] = []
    inner = statement
    while isinstance(inner, ast.With) and len(inner.body) == 1:
        mode = _mode_of(inner, listed.engine_name)
        if mode not in GRAD_MODES:
            break
        headers.append((mode, inner))
        inner = inner.body[0]
    if not headers or isinstance(inner, BLOCKS) or not assigned(inner):
        return statement
    for mode, header in headers:
        found.modes[mode].add(inner.lineno)
        _unwrap(header, found)
    return inner


def _read_behind(statement: ast.stmt, maker: ast.stmt, found: _Found) -> bool:
    """Whether `statement` is what a switch on a value of `maker` writes behind it."""
    if is_backward(maker):
        return False
    if _read_part(statement, {name for name, _ in assigned(maker)}, found):
        return True
    for name in {name for name, _ in assigned(maker)}:
        place, written = (name, maker.lineno), ast.unparse(statement)
        if written == f"{name}.retain_grad()":
            found.retain_grad.add(place)
            return True
        if written == f"{name} = {name}.detach()":
            found.detach.add(place)
            return True
        for kind, hook in HOOKS.items():
            if written == f"{name}.register_hook({hook})":
                found.hooks[place] = kind
                return True
    return False


def _read_part(statement: ast.stmt, roots: Container[str], found: _Found) -> bool:
    """Whether `statement` freezes a part of a network that is in one of these variables, or puts it in eval mode."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    path = re.sub(r"\[(\d+)\]", r".\1", ast.unparse(call.func.value))
    written = ast.unparse(call).removeprefix(ast.unparse(call.func.value))
    if path.partition(".")[0] not in roots:
        return False
    if written in WRITTEN:
        found.frozen[path] = WRITTEN[written]
    elif written == ".eval()":
        found.evaluated.add(path)
    else:
        return False
    found.written.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return True


def _read_passes(body: list[ast.stmt], found: _Found) -> None:
    """Find the passes that follow one another at the end of the calls of backward(), clearing between them or not."""
    calls = [index for index, statement in enumerate(body) if is_backward(statement)]
    if not calls:
        return
    last = calls[-1]
    group, cleared = [last], False
    for index in range(last - 1, -1, -1):
        if is_backward(body[index]) and _called_on(body[index]) == _called_on(body[last]):
            group.append(index)
        elif _clears(body[index]) and index - 1 >= 0 and (is_backward(body[index - 1]) or _clears(body[index - 1])):
            cleared = True
        else:
            break
    first = group[-1]
    if 1 < len(group) <= MOST_PASSES and not any(index < first for index in calls):
        # All but the last call are a switch's, and so is what is cleared between them.
        for statement in body[first:last]:
            found.written.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
        found.passes = {"backwards": len(group), "zero_grad": cleared}
        kept = [_keeps(body[index]) for index in group]
        if all(kept[1:]) and not kept[0]:
            found.passes["retain_graph"] = True


def _called_on(statement: ast.stmt) -> str:
    call = backward_call(statement)
    return ast.unparse(call.func) if call is not None else ""


def _keeps(statement: ast.stmt) -> bool:
    call = backward_call(statement)
    return call is not None and any(
        keyword.arg == "retain_graph" and getattr(keyword.value, "value", None) is True for keyword in call.keywords
    )


def _clears(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement).endswith(".grad = None")
