"""Reads a listing that was edited by hand back into a program and the switches that are on in it.

A switch writes lines into a program (`edits`). If the edited text has the same lines, the switch is on, and can go off.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Any

from viz.experiments.edits import edit
from viz.experiments.program import (
    BLOCKS,
    Program,
    ProgramError,
    asked_of,
    assigned,
    backward_call,
    blocks,
    is_backward,
    reread,
    spelled,
    tree_of,
)
from viz.experiments.switches import AROUND, BEHIND, MOST_PASSES, SWITCHES, Switch


@dataclass
class _Found:
    """The switches seen so far, by line of the listing, and the lines that they have written."""

    around: list[tuple[Switch, int]] = field(default_factory=list)
    behind: list[tuple[Switch, Any, str, int]] = field(default_factory=list)  # with its value, for a name of a line
    whole: dict[str, Any] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)  # lines that belong to a switch
    dedent: dict[int, int] = field(default_factory=dict)  # columns by which a line was indented


def read_back(text: str, program: Program) -> tuple[Program, dict[str, Any]]:
    """The program behind a listing, and the switches that make this listing from it, with the names that `state` uses.

    `program` is the previous one: the new one has the same name for the engine, and sees the same names from outside.

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
            if edit(plain, switches).source == listed.source:
                return replace(plain, cleaned=listed.cleaned), switches
        except ProgramError:  # without those lines it is not a program
            continue
    return listed, {}


def _without(listed: Program, passes: bool) -> tuple[Program, dict[str, Any]]:
    """`listed` without the lines that switches write, and those switches; not yet known to make `listed` again."""
    tree = tree_of(listed.source)
    found = _Found()
    body = tree.body
    for switch in SWITCHES:
        block = body[0] if len(body) == 1 else None
        if switch.at == "program" and isinstance(block, ast.With) and _stands_around(block, switch, listed):
            _unwrap(block, found)
            body = block.body
            found.whole[switch.name] = True
    outside = list(itertools.takewhile(lambda statement: _read_behind(statement, listed.namespace, 0, found), body))
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
    switches: dict[str, Any] = dict(found.whole)
    for switch, line in found.around:
        switches.setdefault(switch.name, []).append(line_of[line])
    for switch, value, name, line in found.behind:
        key = f"{name}@{line_of[line]}" if switch.at == "value" and makers.count(name) > 1 else name
        if switch.keyed:
            switches.setdefault(switch.name, {})[key] = value
        else:
            switches.setdefault(switch.name, []).append(key)
    return plain, {name: sorted(held) if isinstance(held, list) else held for name, held in switches.items()}


def _stands_around(statement: ast.stmt, switch: Switch, listed: Program) -> bool:
    header = switch.code.format(T=listed.engine_name)
    return isinstance(statement, ast.With) and f"with {', '.join(map(ast.unparse, statement.items))}:" == header


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
            names = {name for name, _ in assigned(maker)} if maker is not None else ()
            if maker is not None and _read_behind(statement, names, maker.lineno, found):
                continue
            inner = _read_modes(statement, listed, found)
            maker = inner if not isinstance(inner, BLOCKS) else None
            waiting += blocks(inner)


def _read_modes(statement: ast.stmt, listed: Program, found: _Found) -> ast.stmt:
    """The statement that grad modes stand around, one by one; `statement` itself where there are none."""
    headers: list[tuple[Switch, ast.With]] = []
    inner = statement
    while isinstance(inner, ast.With) and len(inner.body) == 1:
        switch = next((switch for switch in AROUND if _stands_around(inner, switch, listed)), None)
        if switch is None:
            break
        headers.append((switch, inner))
        inner = inner.body[0]
    if not headers or isinstance(inner, BLOCKS) or not assigned(inner):
        return statement
    for switch, header in headers:
        found.around.append((switch, inner.lineno))
        _unwrap(header, found)
    return inner


def _read_behind(statement: ast.stmt, roots: Container[str], line: int, found: _Found) -> bool:
    """Whether a switch writes `statement` behind a line, for a value or a part of a network in one of the variables.

    `line` is 0 for what is in front of the program: there are the switches of networks from outside.
    """
    call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    path = re.sub(r"\[(\d+)\]", r".\1", ast.unparse(call.func.value))
    written = ast.unparse(statement)
    if path.partition(".")[0] not in roots:
        return False
    for switch in BEHIND:
        if switch.at == "value" and (not line or "." in path):
            continue
        for value in (True, False) if switch.at == "part" else (switch.on,):
            if written == switch.written(spelled(path), value):
                found.behind.append((switch, value, path, line))
                found.written.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
                return True
    return False


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
        found.whole.update({"backwards": len(group), "zero_grad": True} if cleared else {"backwards": len(group)})
        kept = ["retain_graph" in asked_of(body[index]) for index in group]
        if all(kept[1:]) and not kept[0]:
            found.whole["retain_graph"] = True


def _called_on(statement: ast.stmt) -> str:
    call = backward_call(statement)
    return ast.unparse(call.func) if call is not None else ""


def _clears(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement).endswith(".grad = None")
