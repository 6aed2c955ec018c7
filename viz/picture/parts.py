"""The parts of a program as people name them: a call, a step of a loop, a module. A graph folds by these to fit.

A fold never makes a cycle, and hides a leaf that requires grad, a loss or a final name only in its module or loop step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from viz.picture.fold import Folding, places_of
from viz.picture.layout import in_order
from viz.recording.graph import Graph, Op

Stretch = tuple[list[Op], str, bool]  # neighbours, their name, whether they are the home of what they use


def foldings(graph: Graph) -> Iterator[Folding]:
    """The foldings of a graph, each coarser than the one before."""
    ops = list(graph.ops.values())
    calls = _calls(ops)
    depths = _depths(graph, ops)
    middles, loops = _steps(ops, whole=False), _steps(ops, whole=True)
    steps = _steps(ops, whole=None)
    modules = depths[-1] if depths else []
    known = [Folding().folds.keys()]
    for stretches in (
        calls,
        _over(steps, calls),
        *(_over(depth, calls) for depth in reversed(depths)),
        _over(modules, steps, calls),
        _over(middles, modules, calls),
        _over(loops, depths[0] if depths else [], calls),
        _over(loops, depths[0] if depths else [], _lines(ops)),
    ):
        folding = _folding(graph, stretches)
        if folding.folds.keys() not in known:
            known.append(folding.folds.keys())
            yield folding


def _calls(ops: list[Op]) -> list[Stretch]:
    """The calls that made several ops, such as a cross entropy."""
    groups = [list(group) for _, group in groupby(ops, lambda op: (op.call, op.during))]
    return [(group, group[0].function.replace("_", " "), False) for group in groups if group[0].call and len(group) > 1]


def _lines(ops: list[Op]) -> list[Stretch]:
    """The statements that made several ops."""
    groups = [list(group) for _, group in groupby(ops, lambda op: (op.line, op.loops, op.module, op.during))]
    return [(group, f"line {group[0].line}", False) for group in groups if group[0].line and len(group) > 1]


def _steps(ops: list[Op], whole: bool | None) -> list[Stretch]:
    """Each step of the outermost loops; or as one all but the first and last (`whole=False`) or all (`whole=True`)."""
    stretches: list[Stretch] = []
    for run, group in groupby(ops, lambda op: op.loops[0][0] if op.loops else None):
        inside = list(group)
        if run is None:
            continue
        count = max(op.loops[0][1] for op in inside)
        if count < 2:
            continue
        if whole:
            stretches.append((inside, f"{count} steps", True))
            continue
        steps = [(number, list(turn)) for number, turn in groupby(inside, lambda op: op.loops[0][1])]
        if whole is None:
            stretches += [(turn, f"step {number} of {count}", True) for number, turn in steps]
        elif len(steps) > 3:
            between = [op for _, turn in steps[1:-1] for op in turn]
            stretches.append((steps[0][1], f"step {steps[0][0]} of {count}", True))
            stretches.append((between, f"steps {steps[1][0]}–{steps[-2][0]}", True))
            stretches.append((steps[-1][1], f"step {steps[-1][0]} of {count}", True))
    return [stretch for stretch in stretches if len(stretch[0]) > 1]


def _depths(graph: Graph, ops: list[Op]) -> list[list[Stretch]]:
    """The modules, at each depth at which there are some; the outermost first."""
    places = places_of(graph, ops)
    if places is None:
        return []
    place = {op.key: where for op, where in zip(ops, places, strict=True)}
    levels = []
    for depth in range(1, 1 + max(map(len, places), default=0)):
        groups = groupby(ops, lambda op: (place[op.key][:depth], op.loops))  # noqa: B023
        parts = [(path, list(group)) for (path, _), group in groups]
        levels.append([(group, ".".join(path), True) for path, group in parts if path and len(group) > 1])
    return levels


def _over(*levels: list[Stretch]) -> list[Stretch]:
    """All stretches of the first level, then those of each next level that lie in none before."""
    chosen: list[Stretch] = []
    taken: set[str] = set()
    for level in levels:
        free = [stretch for stretch in level if not any(op.key in taken for op in stretch[0])]
        chosen += free
        taken |= {op.key for stretch in free for op in stretch[0]}
    return chosen


def _folding(graph: Graph, stretches: list[Stretch]) -> Folding:
    """A fold for each stretch, but for those that would make a cycle."""
    while True:
        folding = Folding()
        for ops, name, _ in stretches:
            folding.add(ops, module=name)
        homes = {key for key, (*_, home) in zip(folding.folds, stretches, strict=True) if home}
        _hide(graph, folding, homes)
        bad = _in_cycles(graph, folding)
        if not bad:
            return folding
        stretches = [fold for key, fold in zip(folding.folds, stretches, strict=True) if key not in bad]


def _hide(graph: Graph, folding: Folding, homes: set[str]) -> None:
    """Decide which values stay in sight."""
    users = folding.users(graph)
    last = {name: value.key for value in graph.values.values() for name in value.names}
    lasting = set(last.values()) | set(graph.roots)
    for value in graph.values.values():
        using = users.get(value.key, set())
        maker = folding.unit.get(value.op or "")
        if value.op is None:
            home = next(iter(using)) if len(using) == 1 else None
            if home in folding.folds and (home in homes or not (value.requires_grad or value.names)):
                folding.hide(value, home)
        elif maker is not None and using:  # what nobody uses is a loss, or a result
            within = using <= {maker}
            if (within and maker in homes) or value.key not in lasting:
                folding.hide(value, maker)


def _in_cycles(graph: Graph, folding: Folding) -> set[str]:
    """The folds that cannot be put in an order."""
    stands = {**folding.unit, **folding.hidden}
    below: dict[str, set[str]] = {}
    for op in graph.ops.values():
        links = [(key, op.key) for key in op.inputs if key is not None] + [(op.key, key) for key in op.outputs]
        for tail, head in links:
            tail, head = stands.get(tail, tail), stands.get(head, head)
            below.setdefault(head, set())
            below.setdefault(tail, set()).update({head} - {tail})
    return (below.keys() & folding.folds.keys()) - {*in_order(below)}
