"""The boxes of a network: modules in modules, down to single ops, and their links. Nothing here has a place yet.

`folding` says how much is folded, so that a large network can be seen as a whole:

- `WHOLE`: nothing is.
- `REPEATS`: of blocks that are alike and follow each other, the first is shown, and one box stands for the rest.
- `CALLS`: likewise single layers and steps of a loop; the ops of one call, such as a cross entropy, are one box.
- `RUNS`: neighbouring ops are one box. What cuts the graph (`detach`, `no_grad`) and parameters stay in sight.
- `STEPS`: the steps of a loop after the first are one box, also where they are unlike; `LOOPS`: all are.
- `LINES`: what a line in a loop calls and computes is one box as well.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from viz.picture.fold import VISIBLE, repetitions
from viz.picture.scopes import shared
from viz.picture.serving import is_cut, served
from viz.picture.shapes import BOLD, inner
from viz.picture.theme import SIZE, shorten, text_width
from viz.recording import notation
from viz.recording.graph import Graph, Op, Value

WHOLE, REPEATS, CALLS, RUNS, STEPS, LINES, BRIEF, LOOPS = range(8)
ROOT = "root"
WIDEST = 210.0  # pixels for one line of text
LONG = 150.0  # pixels of an op's name; a longer one takes two lines
TITLE = 22.0  # pixels of the line with an open module's name
PADDING = 12.0  # padding inside an open module
PORT = 10.0  # pixels: the ports for a module's inputs and outputs
PLUS = 9.0  # pixels on each side of a module's text: its mark must not touch a name
MANY = 60  # boxes in one module; past that, ops between modules and repeats are folded
TWINS = 3  # names of a shared parameter's other places that are told
# The height of a line of text.
LINE = {"name": 18.0, "word": 18.0, "small": 14.0, "tiny": 13.0, "title": 14.0, "sign": 15.0}
LISTS = ("ModuleList", "ModuleDict")
RUNNING = ("op", "unrecorded", "cut")  # the kinds of a box for a single op


@dataclass(frozen=True)
class Level:
    """One of the boxes around an op: the path of a module and, if it is known, which call of it."""

    path: str
    call: int | None = None  # None also for a list of modules, which is not called itself
    turn: int | None = None  # likewise in a recording, which knows only that another call is another one


@dataclass
class Group:
    """What becomes one box: a single op, a call of a module, or several of these, folded under a title."""

    ops: list[Op]  # of a single op, also those that serve it, after it
    level: Level | None = None  # of a module
    depth: int = 0  # of a module: how many boxes are around what is in it
    title: str = ""  # of a fold
    below: str = ""  # of a fold: a second line
    parts: list[Group] = field(default_factory=list)  # of a fold
    rest: bool = False  # whether it stands for the rest of what is repeated

    @property
    def single(self) -> bool:
        """Whether it is one op."""
        return self.level is None and not self.parts


@functools.lru_cache(maxsize=4096)  # a picture asks for each size hundreds of times
def _closed(kind: str, rows: tuple[tuple[str, str, str], ...], graded: bool, pad: int) -> tuple[float, float]:
    """The width and height of a closed box, in pixels."""
    if kind == "port":
        return PORT, PORT
    width = max(text_width(text, SIZE[style], style in BOLD) for _, style, text in rows)
    height = 2 * pad + sum(LINE[style] for _, style, _ in rows) + (LINE["tiny"] if graded else 0.0)
    told = 74.0 - 2 * pad if kind in RUNNING else 62.0  # room for `grad 0.00012`, which round ends must not cut
    wide = max(width, told if graded else 26.0)
    return round(wide + 10 + 2 * pad + 2 * PLUS * (kind == "module")), round(height)


@dataclass
class Unit:
    """A box: a module or a fold, an op, a leaf, a result, or a port of the surrounding module."""

    key: str
    kind: str  # module (also a fold) | op | unrecorded | cut | leaf | input | value | port
    rows: list[tuple[str, str, str]]  # slot, style, text
    parent: str | None
    title: str = ""
    ops: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)  # parameters
    children: list[str] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)  # between children, by position
    layout: int = -1  # the index of the layout that places the children
    graded: bool = False  # a gradient will be shown here, so a line is reserved for it
    call: int | None = None  # the number of the module call that it shows
    value: str = ""  # the key of the value that it shows
    pad: int = 6  # pixels above and below the text
    fold: bool = False  # several modules or ops, and no module of its own
    rest: bool = False  # a fold that stands for the rest of what is repeated
    frozen: bool = False  # a parameter without requires_grad, or a module that has no others
    shared: str = ""  # the key of a parameter that it shares with other boxes

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the closed box, in pixels."""
        return _closed(self.kind, tuple(self.rows), self.graded, self.pad)

    def make_snug(self, widest: float) -> None:
        """Keep the lines that tell what it is (the name of an op), in small letters, at most `widest` pixels wide."""
        self.pad = 2
        kept = self.rows if self.kind in ("leaf", "input") else self.rows[:2]
        kept = [*kept, *(row for row in self.rows[2:] if row[0] in ("frozen", "tied") and row not in kept)]
        if self.kind in RUNNING:
            kept = [row for row in self.rows if row[0] in ("name", "rest")]
        look = {"name": "title", "word": "sign"}
        self.rows = [
            (slot, look.get(style, "tiny"), shorten(text, SIZE[look.get(style, "tiny")], widest, style == "name"))
            for slot, style, text in kept
        ]


def has_modules(graph: Graph) -> bool:
    """Whether the graph has modules to draw it by; or steps by hand, where not all of its values can be shown.

    Modules that only count their calls leave nothing to draw.
    """
    stepped = any(value.kind == "leaf" and value.how_shared == "in-place" for value in graph.values.values())
    large = len(graph.ops) + len(graph.values) > VISIBLE
    inside = any(op.module for op in graph.ops.values()) and any(op.module for op in Drawn(graph).ops)
    return (stepped and large) or inside


class Drawn:
    """Which ops of a graph are drawn, and the modules that each ran in: the same however much is folded."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        buffers = {value.key for value in graph.values.values() if _is_buffer(graph, value)}
        counters = {op.key for op in graph.ops.values() if op.outputs and buffers.issuperset(op.outputs)}
        self.users = graph.users()
        self.hidden = inner(graph) | buffers | counters | _asides(graph, self.users)
        self.outer = {path.rpartition(".")[0] for path in graph.modules}  # modules that have modules
        self.ops = [op for op in graph.ops.values() if op.key not in self.hidden]
        self.levels = {op.key: _levels(graph, op) for op in self.ops}
        self.served = served(graph, self.ops, self.levels)


def _asides(graph: Graph, users: dict[str, list[str]]) -> set[str]:
    """Ops beside the network, and their results: these have no name, and nothing else uses them.

    They only ask something, such as whether all numbers are positive; or they compute from random numbers alone what a
    parameter begins with, clear a gradient, or make from gradients what is added to `.data`, which no graph sees.
    """
    values, aside, bare = graph.values, set[str](), set[str]()
    for op in graph.ops.values():
        given = [values[key] for key in op.inputs if key is not None]
        alone = all(t.op in bare if t.op else not t.name or t.name.endswith(".grad") for t in given)
        if not op.recorded and (alone or op.name == "data"):
            bare.add(op.key)
    for op in reversed(graph.ops.values()):
        results = [values[key] for key in op.outputs]
        idle = {t.key for t in results if not t.names and aside.issuperset(users.get(t.key, ()))} - set(graph.roots)
        asks = op.key in bare or all(t.dtype == "bool" or users.get(t.key) for t in results)
        begun = [t for t in results if t.name.endswith(".grad") or (t.kind == "leaf" and t.how_shared != "in-place")]
        if results and asks and not op.recorded and idle | {t.key for t in begun if op.key in bare} == {*op.outputs}:
            aside |= {op.key, *idle}
    return aside


class Boxes:
    """The boxes of a graph: all in `units`, those around each op and leaf in `chain`. `graded` will show a gradient."""

    def __init__(self, drawn: Drawn, graded: Iterable[str], folding: int) -> None:
        self.graph, self.folding = drawn.graph, folding
        self.hidden, self._outer, self._levels, self._users = drawn.hidden, drawn.outer, drawn.levels, drawn.users
        self.units: dict[str, Unit] = {ROOT: Unit(ROOT, "module", [("name", "name", "program")], None)}
        self.chain: dict[str, list[str]] = {}  # per op or leaf: the boxes around it, and its own
        self.copies: dict[str, list[list[str]]] = {}  # per leaf that is drawn in several boxes: its chains
        self._learning: set[str] = set()  # the boxes that use a parameter after a step has moved it
        ops, self._served = drawn.ops, drawn.served
        self._serving = {served.key for ones in self._served.values() for served in ones}
        grouped = [group for op in ops if op.key not in self._serving for group in self._with_served(op)]
        waiting = [(ROOT, self._folded(self._groups(grouped, 0)))]
        while waiting:
            key, groups = waiting.pop()
            waiting += [(box, self._inside(group)) for group in groups if (box := self._box(key, group))]
        self._leaves(ops)
        self._links(ops)
        self._results()
        self._describe()
        self._grade(set(graded))

    @property
    def form(self) -> object:
        """All that decides how the boxes are laid out."""
        return tuple(
            (unit.key, unit.size, unit.title, unit.call, len(unit.ops), *unit.leaves, *unit.children, *unit.links)
            for unit in self.units.values()
        )

    def is_leaf(self, unit: Unit) -> bool:
        """Whether a box is a library layer without layers inside, such as a `Linear`, or several of these."""
        if unit.rest:
            return all(self.is_leaf(self.units[child]) for child in unit.children)
        return unit.kind != "module" or (bool(self.about(unit).get("library")) and unit.title not in self._outer)

    def about(self, unit: Unit) -> dict[str, Any]:
        """What the recording knows about the module of a box."""
        return {} if unit.fold else self.graph.modules.get(unit.title, {})

    def weight(self, unit: Unit) -> int:
        """The number of parameters in a box; those of a module that is called several times count once."""
        if unit.fold:
            inside = [self.units[child] for child in unit.children]
            once = {unit.key if unit.fold else unit.title: unit for unit in inside}
            return sum(self.weight(unit) for unit in once.values())
        if unit.kind == "module":
            return int(self.about(unit).get("parameters", 0))
        return self.numbers({unit.value}) if unit.leaves else 0

    def numbers(self, values: set[str]) -> int:
        """How many numbers there are in these values."""
        return sum(math.prod(self.graph.values[key].shape or ()) for key in values)

    def alike(self, unit: Unit) -> object:
        """The same for boxes that look the same inside; the rest of what is repeated looks like the first."""
        if unit.rest:
            return self.alike(self.units[unit.children[0]])
        return unit.title if unit.fold else (self.about(unit).get("class"), self.weight(unit))

    def depth(self, unit: Unit) -> int:
        """How many boxes are around a box."""
        return len(self._around(unit.key)) - 1

    def _grade(self, graded: set[str]) -> None:
        for key in graded:
            for chain in self.copies.get(key, [self.chain.get(key, [])]):
                for around in chain[1:]:
                    self.units[around].graded = True
        if self.graph.calls:  # a module shows its gradient at each of its calls
            names = {name for key in graded for name in self.graph.values[key].names}
            paths = {".".join(parts[:n]) for name in names for parts in [name.split(".")] for n in range(1, len(parts))}
            for unit in self.units.values():
                unit.graded = unit.graded or (
                    unit.kind == "module" and not paths.isdisjoint(paths_of(self.units, unit))
                )

    # Which boxes there are

    def _with_served(self, op: Op) -> list[Op]:
        return [op, *self._served.get(op.key, ())]

    def _groups(self, ops: list[Op], depth: int) -> list[Group]:
        """The calls of modules one level deeper, and the single ops between them."""
        groups: list[Group] = []
        for level, members in groupby(ops, lambda op: self._level(op, depth)):
            inside = list(members)
            if level is None:
                groups += [Group(self._with_served(op)) for op in inside if op.key not in self._serving]
                continue
            deeper = depth + 1
            below = {self._level(op, deeper) for op in inside}
            called = level.call is not None or (not self.graph.calls and not self._is_list(level.path))
            if not called and len(below) == 1:  # a list of which one module runs here
                level, deeper = below.pop() or level, deeper + 1
            groups.append(Group(inside, level, deeper))
        return groups

    def _is_list(self, path: str) -> bool:
        """Whether a module is a list: its parts run, but it is not called itself."""
        return self.graph.modules.get(path, {}).get("class") in LISTS

    def _inside(self, group: Group) -> list[Group]:
        return group.parts or self._folded(self._groups(group.ops, group.depth))

    def _level(self, op: Op, depth: int) -> Level | None:
        levels = self._levels[op.key]
        return levels[depth] if depth < len(levels) else None

    def _folded(self, groups: list[Group]) -> list[Group]:
        """The same, folded as far as `folding` says, and further where there are too many."""
        groups = self._with_loops(groups) if self.folding >= STEPS else groups
        for needed, fold in ((REPEATS, self._with_repeats), (CALLS, self._with_calls), (RUNS, self._with_runs)):
            groups = self._with_lines(groups) if needed == RUNS and self.folding == LINES else groups
            groups = fold(groups) if self.folding >= needed or len(groups) > MANY else groups
        return self._with_lines(groups) if self.folding >= BRIEF else groups

    def _with_lines(self, groups: list[Group]) -> list[Group]:
        """What a line in a loop calls and computes as one box; what cuts the graph stays in sight."""
        folded: list[Group] = []
        for (_, stays), same in groupby(groups, lambda group: (group.ops[0].line, group.rest or self._cut(group))):
            inside = list(same)
            if len(inside) > 1 and inside[0].ops[0].loops and not stays:
                kinds = list(dict.fromkeys(map(self._kind, inside)))
                title = ", ".join(kinds[:3]) + ", …" * (len(kinds) > 3)
                inside = [Group(_ops(inside), title=title, below=f"line {inside[0].ops[0].line}", parts=inside)]
            folded += inside
        return folded

    def _with_loops(self, groups: list[Group]) -> list[Group]:
        """The steps of a loop after the first as one box, or all, also where they differ, or are but two."""
        folded: list[Group] = []
        for _, same in groupby(groups, lambda group: [loop[0] for loop in group.ops[0].loops[:1]]):
            inside = list(same)
            steps = [loop[1] for group in inside for loop in group.ops[0].loops[:1]]
            count = len({*steps})
            if 1 < count < len(inside):
                first = steps.count(steps[0]) if self.folding < LOOPS else 0
                more = "more " if first else ""
                rest = self._rest(inside[first:], len(inside) // count, more, count - bool(first))
                inside = [*inside[:first], rest]
            folded += inside
        return folded

    def _with_repeats(self, groups: list[Group]) -> list[Group]:
        """The first of what repeats; the rest as one box. The last step of a loop that leads to more is shown, too."""
        known: dict[object, int] = {}
        codes = np.array([known.setdefault(self._code(group), len(known)) for group in groups], dtype=np.int64)
        folded: list[Group] = []
        at = 0
        for start, end, block in repetitions(codes, 3):
            pattern = groups[start : start + block]
            blocks = any(group.level is not None and group.level.path in self._outer for group in pattern)
            if any(group.rest for group in pattern) or not (blocks or self.folding >= CALLS or len(groups) > MANY):
                continue
            steps = any(map(self._is_again, pattern, groups[start + block :]))
            whole = steps and self.folding >= LOOPS
            last = steps and not whole and self._leads_on(groups[start:end], block)
            first, stop = start if whole else start + block, end - block if last else end
            if stop - first < 2 * block or not self._goes_on(groups[start:end], block):
                continue
            count = steps and (stop - first) // block
            folded += [*groups[at:first], self._rest(groups[first:stop], block, "" if whole else "more ", count)]
            at = stop
        return folded + groups[at:]

    def _is_again(self, one: Group, other: Group) -> bool:
        """Whether a module runs again, or without modules a line of a loop, in its next step."""
        if one.level is None or other.level is None:
            here, there = (group.ops[0].loops for group in (one, other))
            return not self.graph.modules and bool(here and there) and here[0][0] == there[0][0] and here != there
        return one.level.path == other.level.path

    def _goes_on(self, groups: list[Group], block: int) -> bool:
        """Whether blocks lead only to later ones and one place that collects from all, and have the same inputs."""
        inside = {op.key for op in _ops(groups)}
        results = {key for op in _ops(groups[:-block]) for key in op.outputs}
        users = {user for key in results for user in self._users.get(key, ()) if user not in inside}
        inputs = [self._given(_ops(groups[at : at + block]), inside) for at in range(block, len(groups), block)]
        return len(users) <= 1 and all(key == inputs[0] for key in inputs)

    def _leads_on(self, groups: list[Group], block: int) -> bool:
        """Whether what a step gives to the next is used or kept after the last one. Training only moves parameters."""
        before, last = _ops(groups[-2 * block : -block]), _ops(groups[-block:])
        steps = [{op.key for op in ops} for ops in (before, last)]
        for one, other in zip(before, last, strict=False):
            for key, end in zip(one.outputs, other.outputs, strict=False):
                to_next, on = (
                    {*self._users.get(each, ())} - step for each, step in zip((key, end), steps, strict=True)
                )
                moved = one.whole or self.graph.values[key].kind == "leaf"
                if to_next and not moved and (on or end in self._lasting):
                    return True
        return False

    def _given(self, ops: list[Op], inside: set[str]) -> set[tuple[str, ...]]:
        """What some ops are given from outside: by which op, and of what; the parts of one tensor are the same."""
        values = (self.graph.values[key] for op in ops for key in op.inputs if key is not None)
        makers = (self.graph.ops[value.op] for value in values if value.op is not None and value.op not in inside)
        return {(op.name, *map(str, op.inputs)) for op in makers}

    @functools.cached_property
    def _lasting(self) -> set[str]:
        """What the program returns, and what has a name at its end."""
        names = {name: value.key for value in self.graph.values.values() for name in value.names}
        return {*names.values(), *self.graph.roots}

    def _code(self, group: Group) -> object:
        """The same for groups that repeat each other."""
        if group.level is None:
            return group.title or notation.symbol(group.ops[0])
        about, path = self.graph.modules.get(group.level.path, {}), group.level.path
        listed = about.get("library") and path in self._outer  # of a Sequential the class tells nothing
        return about.get("class", path), tuple(dict.fromkeys(map(notation.symbol, group.ops))) if listed else ()

    def _rest(self, rest: list[Group], block: int, more: str, steps: int) -> Group:
        """The fold of the rest: `11 × Block` and `1 … 11`, or of some steps `4 more steps` and `cat, Linear, tanh`."""
        kinds = [self._kind(group) for group in rest[:block]]
        what = ", ".join(kinds[:3]) + ", …" * (block > 3)
        paths = [group.level.path.split(".")[-1] for group in rest if group.level is not None]
        title = f"{len(rest) // block} × {what if block == 1 else f'({what})'}"
        below = f"{paths[0]} … {paths[-1]}" if paths and paths[0] != paths[-1] else ""
        if steps:
            title, below = f"{steps} {more}step{'s' if steps > 1 else ''}", what
        return Group(_ops(rest), title=title, below=below, parts=rest, rest=True)

    def _kind(self, group: Group) -> str:
        if group.level is None:
            return group.title or notation.symbol(group.ops[0])
        return str(self.graph.modules.get(group.level.path, {}).get("class", group.level.path.split(".")[-1]))

    def _with_calls(self, groups: list[Group]) -> list[Group]:
        """The ops of one call as one box, by the name of its function."""

        def fold(inside: list[Group]) -> Iterator[Group]:
            for _, same in groupby(inside, lambda group: (group.ops[0].call, group.ops[0].during)):
                members = list(same)
                op = members[0].ops[0]
                if op.function and op.call and len(members) > 1:
                    yield Group(_ops(members), title=op.function.replace("_", " "), parts=self._few(members))
                else:
                    yield from members

        return self._stretches(groups, fold)

    def _with_runs(self, groups: list[Group]) -> list[Group]:

        def fold(inside: list[Group]) -> Iterator[Group]:
            if len(inside) < 2:
                yield from inside
                return
            ops = _ops(inside)
            words = list(dict.fromkeys(group.title or notation.symbol(group.ops[0]) for group in inside))
            more = ", …" if len(words) > 3 else ""
            yield Group(ops, title=", ".join(words[:3]) + more, below=f"{len(inside)} ops", parts=self._few(inside))

        return self._stretches(groups, fold)

    def _few(self, groups: list[Group]) -> list[Group]:
        """The same, in at most `MANY` boxes: where there are more, neighbours are one."""
        size = -(-len(groups) // MANY)
        chunks = [groups[at : at + size] for at in range(0, len(groups), size)]
        return groups if size == 1 else [Group(_ops(chunk), title=f"{len(chunk)} ops", parts=chunk) for chunk in chunks]

    def _stretches(self, groups: list[Group], fold: Callable[[list[Group]], Iterable[Group]]) -> list[Group]:
        """Fold each stretch of neighbours that are ops, or folds of ops, and no cuts."""
        folded: list[Group] = []

        def folds(group: Group) -> bool:
            by_line = self.folding == LINES and bool(group.ops[0].loops)
            return group.level is None and not group.rest and not by_line and not self._cut(group)

        for ops, stretch in groupby(groups, folds):
            members = list(stretch)
            folded += fold(members) if ops else members
        return folded

    def _cut(self, group: Group) -> bool:
        return group.single and is_cut(self.graph, group.ops[0])

    def _box(self, parent: str, group: Group) -> str:
        """Add the box of a group; return its key if there are boxes inside."""
        if group.single:
            op = group.ops[0]
            kind = "cut" if is_cut(self.graph, op) else "op" if op.recorded else "unrecorded"
            rows = _op_rows(self.graph, op, self._result(group.ops))
            self._add(Unit(op.key, kind, rows, parent, notation.symbol(op), [op.key for op in group.ops]))
            return ""
        box = Unit(f"u{len(self.units)}", "module", [], parent, ops=[op.key for op in group.ops])
        if group.level is not None:
            box.title, box.call = group.level.path, group.level.call
        else:
            box.fold, box.rest, box.title = True, group.rest, group.title
            box.rows = [("name", "name" if group.rest else "word", _short(group.title, "name"))]
            box.rows += [("class", "small", _short(group.below, "small"))] if group.below else []
        self._add(box)
        return box.key

    def _result(self, ops: list[Op]) -> Op:
        """Of the ops of one box, the first whose result none of them uses."""
        inside = {op.key for op in ops}
        gone = (op for op in ops if not any(inside.intersection(self._users.get(key, ())) for key in op.outputs))
        return next(gone, ops[0])

    def _add(self, unit: Unit) -> None:
        self.units[unit.key] = unit
        around = self._around(unit.parent)
        if unit.parent is not None:
            self.units[unit.parent].children.append(unit.key)
        for key in unit.ops if unit.kind != "module" else ():
            self.chain[key] = [*around, unit.key]

    def _around(self, key: str | None) -> list[str]:
        chain: list[str] = []
        while key is not None:
            chain.insert(0, key)
            key = self.units[key].parent
        return chain

    # Leaves and results

    def _leaves(self, ops: list[Op]) -> None:
        """Place each leaf in the innermost box that contains all its users; not one that only a step moves."""
        users: dict[str, list[list[str]]] = {}
        for op in ops:
            for key in op.inputs if not op.whole else ():
                if key is not None and key not in self.hidden:
                    users.setdefault(key, []).append(self.chain[op.key][:-1])
        for key, chains in users.items():
            value = self.graph.values[key]
            if self._maker(key) is not None:
                # What a step has written into a parameter: its gradient is still the module's, at each of its calls.
                if value.kind == "leaf":
                    self.copies[key] = self._homes(value, chains, parameter=True)
                    self._learning.update(around for chain in chains for around in chain)
                continue
            parameter = value.kind == "leaf" or (value.op is None and self._owned(value))
            homes = self._homes(value, chains, parameter)
            about = [("shape", "tiny", notation.shape(value.shape))] if value.shape else []
            frozen = parameter and not value.requires_grad
            about += [("frozen", "tiny", "frozen")] if frozen else []
            kind = value.kind if value.kind in ("leaf", "input") else "value"
            for number, home in enumerate(homes):
                unit = f"{key}n{number}" if number else key
                name = ("name", "name" if value.kind == "leaf" else "word", _short(self._called(value, home), "name"))
                same = key if len(homes) > 1 else ""
                self._add(
                    Unit(unit, kind, [name, *about], home[-1], value.title, value=key, frozen=frozen, shared=same)
                )
                self.copies.setdefault(key, []).append([*home, unit])
            self.chain[key] = self.copies[key][0]
            if parameter:
                for around in dict.fromkeys(around for home in homes for around in home):
                    self.units[around].leaves.append(key)
        self._tie()

    def _called(self, value: Value, home: list[str]) -> str:
        """The name of a leaf: the last part of a parameter's in the box of its module, the whole name elsewhere."""
        around = {self.units[key].title for key in home}
        names = (name.rpartition(".") for name in value.names)
        return next((last for owner, _, last in names if owner and owner in around), value.title)

    def _owned(self, value: Value) -> bool:
        """Whether a value is a parameter of a module, which a frozen one is, too, or what was written into one."""
        return any(name.rpartition(".")[0] in self.graph.modules for name in value.names)

    def _tie(self) -> None:
        """Say of a parameter that several modules have, where else it is."""
        for key, chains in self.copies.items():
            names = self.graph.values[key].names
            owners = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
            if len(owners) < 2 or any(owner not in self.graph.modules for owner in owners):
                continue
            for chain in chains:
                for around in chain[1:]:
                    unit = self.units[around]
                    if unit.value == key or (unit.title in owners and not unit.fold):
                        own = next((owner for owner in owners if _within(self._title_of(unit), owner)), "")
                        others = [name for name in names if name.rpartition(".")[0] != own][:TWINS]
                        words = ", ".join(name.partition(".")[2] or name for name in others)
                        unit.rows.append(("tied", "tiny", _short(f"= {words}", "tiny")))
                        unit.shared = key

    def _title_of(self, unit: Unit) -> str:
        """The module of a box, or the one around it."""
        while unit.kind != "module" or unit.fold:
            assert unit.parent is not None
            unit = self.units[unit.parent]
        return unit.title

    def _homes(self, value: Value, chains: list[list[str]], parameter: bool) -> list[list[str]]:
        """Where a leaf is drawn: the innermost box around its users; for a parameter, also each call of its module.

        A parameter's users in a fold, such as a step by hand, do not take it out of its module.
        """
        owners: dict[str, list[str]] = {}
        if parameter:
            paths = {name.rpartition(".")[0] for name in value.names if "." in name}
            within = [
                next((key for key in reversed(chain) if self.units[key].title in paths), None) for chain in chains
            ]
            owners = {key: chain[: chain.index(key) + 1] for key, chain in zip(within, chains, strict=True) if key}
            others = [chain for key, chain in zip(within, chains, strict=True) if key is None]
            chains = [chain for chain in others if not self.units[chain[-1]].fold] if owners else others
            if not chains:
                return list(owners.values())
        elif self.graph.calls and value.name:
            return [[ROOT]]  # what the model was given
        around = shared(chains)
        home = value.home if value.op is None else self.graph.ops[value.op].module
        if home is not None:  # what a module was given comes from outside of it
            outer = (
                at
                for at, key in enumerate(around[1:], 1)
                if not self.units[key].fold and not _within(home, self.units[key].title)
            )
            around = around[: next(outer, len(around))]
        # a fold hides no parameter, but for what a step by hand has made of one
        while parameter and value.how_shared != "in-place" and self.units[around[-1]].fold:
            around = around[:-1]
        return [*owners.values(), around]

    def _nearest(self, source: str, head: list[str]) -> list[str]:
        """The chain of a source: of a leaf that is drawn several times, the one in the same box as its user."""
        copies = self.copies.get(source, []) if source not in self.graph.values or self._maker(source) is None else []
        return next((copy for copy in copies if copy[:-1] == head[: len(copy) - 1]), self.chain.get(source, []))

    def _maker(self, key: str) -> str | None:
        """The op whose result a value is; for a parameter after a step, the step."""
        value = self.graph.values[key]
        if value.op is not None:
            return value.op if value.op in self.chain else None
        return self._moved.get(key)

    @functools.cached_property
    def _moved(self) -> dict[str, str]:
        return {key: op.key for op in self.graph.ops.values() if op.whole for key in op.outputs}

    def _results(self) -> None:
        """What the program names or returns, and nobody uses, such as the loss, is placed below what made it."""
        used = {key for op in self.graph.ops.values() for key in op.inputs}
        for value in self.graph.values.values():
            chain = self.chain.get(value.op or "")
            if chain is None or value.key in used or not value.names or value.key in self.hidden:
                continue
            # Such as the loss of an earlier step; what a loop writes into parameters is a step's result.
            moved = value.kind == "leaf" or value.name.endswith(".grad") or self._owned(value)
            if self.units[chain[-2]].fold and (moved or value.key not in self._lasting):
                continue
            while self.units[chain[-2]].fold:
                chain = chain[:-1]
            if len(chain) == 3 and self.is_leaf(self.units[chain[1]]):  # nor does a criterion that the program calls
                chain, inside, layer = chain[:-1], chain[-1], self.units[chain[1]]
                port = self._port(layer.key, "out")
                layer.links.append((layer.children.index(inside), layer.children.index(port)))
            rows = [("name", "name", _short(value.name, "name"))]
            rows.append(
                ("shape", "tiny", notation.brief(value.array) if not value.shape else notation.shape(value.shape))
            )
            self._add(Unit(value.key, "value", rows, chain[-2], value.title))
            self.chain[value.key] = [*chain[:-1], value.key]
            children = self.units[chain[-2]].children
            self.units[chain[-2]].links.append((children.index(chain[-1]), len(children) - 1))

    # Links

    def _links(self, ops: list[Op]) -> None:
        links_of: dict[str, dict[tuple[str, str], None]] = {}
        for op in ops:
            for key in op.inputs:
                if key is None or key in self.hidden:
                    continue
                value = self.graph.values[key]
                source = value.op if value.op in self.chain else self._moved.get(key, key)
                head = self.chain[op.key]
                tail = self._nearest(source or "", head)
                if not tail or tail == head:
                    continue
                at = next(at for at, (one, other) in enumerate(zip(tail, head, strict=False)) if one != other)
                # At most one arrow to a step, or to a loop by hand, from a module whose parameters it moves.
                if source == key and (op.whole or (self.units[head[-2]].fold and at < len(tail) - 1)):
                    links_of.setdefault(tail[at - 1], {})[tail[at], head[at]] = None
                else:
                    self._join(links_of, tail, head)
        for key, links in links_of.items():
            unit = self.units[key]
            number_of = {child: number for number, child in enumerate(unit.children)}
            unit.links = [(number_of[tail], number_of[head]) for tail, head in links]

    def _join(self, links: dict[str, dict[tuple[str, str], None]], tail: list[str], head: list[str]) -> None:
        """Add the link between two boxes where their paths separate, and ways to the ports of boxes around them."""
        depth = 0
        while depth < min(len(tail), len(head)) - 1 and tail[depth] == head[depth]:
            depth += 1
        depth -= 1
        links.setdefault(tail[depth], {})[tail[depth + 1], head[depth + 1]] = None
        for outer, inside in zip(tail[depth + 1 :], tail[depth + 2 :], strict=False):
            links.setdefault(outer, {})[inside, self._port(outer, "out")] = None
        for outer, inside in zip(head[depth + 1 :], head[depth + 2 :], strict=False):
            links.setdefault(outer, {})[self._port(outer, "in"), inside] = None

    def _port(self, key: str, name: str) -> str:
        port = f"{key}{name}"
        if port not in self.units:
            self._add(Unit(port, "port", [], key, "what comes in" if name == "in" else "what goes out"))
        return port

    # What they say

    def _describe(self) -> None:
        """Write a module's box: name, class, shapes in and out, parameters; whether it is frozen, what it shares."""
        for unit in reversed(self.units.values()):  # inner ones first
            if unit.kind != "module" or unit.key == ROOT:
                continue
            tied = [row for row in unit.rows if row[0] == "tied"]
            parameters = [self.graph.values[key] for key in unit.leaves]
            learns = unit.key in self._learning or any(parameter.requires_grad for parameter in parameters)
            unit.frozen = bool(parameters) and not learns
            if not unit.fold:
                unit.rows = self._about(unit)
            number = self.weight(unit)
            if number and (unit.rest or not unit.fold):
                unit.rows.append(("count", "tiny", f"{number:,} parameter{'' if number == 1 else 's'}"))
            unit.rows += [("frozen", "tiny", "frozen")] if unit.frozen else []
            unit.rows += tied

    def _about(self, unit: Unit) -> list[tuple[str, str, str]]:
        about = self.graph.modules.get(unit.title, {})
        parent = unit.parent
        while parent is not None and self.units[parent].fold:
            parent = self.units[parent].parent
        around = self.units[parent].title if parent is not None else ""
        name = unit.title.removeprefix(f"{around}.")
        kind = about.get("class", "")
        if kind == "ModuleList":
            kinds = {self.graph.modules.get(f"{unit.title}.{n}", {}).get("class", "") for n in range(512)} - {""}
            count = sum(f"{unit.title}.{n}" in self.graph.modules for n in range(512))
            kind = f"{count} × {kinds.pop()}" if len(kinds) == 1 else kind
        rows = [("name", "name", _short(name, "name"))]
        if kind and kind != name:
            rows.append(("class", "small", _short(kind, "small")))
        if settings := about.get("settings"):
            rows.append(("settings", "tiny", _short(settings, "tiny")))
        if shapes := self._shapes(unit):
            rows.append(("shape", "tiny", _short(shapes, "tiny")))
        return rows

    def _shapes(self, unit: Unit) -> str:
        if unit.call is not None:
            call = self.graph.calls[unit.call]
            text = [", ".join(dict.fromkeys(map(notation.shape, call[way][:2]))) for way in ("inputs", "outputs")]
            return " → ".join(text) if all(text) else ""
        inside = set(unit.ops)
        inputs = self._crossing(key for op in unit.ops for key in self.graph.ops[op].inputs if key is not None)
        inputs = [
            v
            for v in inputs
            if v.op not in inside and v.key not in unit.leaves and not v.name.startswith(f"{unit.title}.")
        ]
        used = {key for op in self.graph.ops.values() if op.key not in inside for key in op.inputs}
        results = self._crossing(key for op in unit.ops for key in self.graph.ops[op].outputs)
        last = results[-1:]
        results = [value for value in results if value.key in used] or last
        text = [
            ", ".join(dict.fromkeys(notation.shape(v.shape) for v in part[:2] if v.shape is not None))
            for part in (inputs, results)
        ]
        return " → ".join(text) if all(text) else ""

    def _crossing(self, keys: Iterable[str]) -> list[Value]:
        return [self.graph.values[key] for key in dict.fromkeys(keys)]


def paths_of(units: dict[str, Unit], unit: Unit) -> list[str]:
    """The modules that a box shows: its own, or those that are folded in it."""
    if not unit.fold:
        return [unit.title]
    inside = (units[child] for child in unit.children)
    return [path for unit in inside if unit.kind == "module" for path in paths_of(units, unit)]


def _ops(groups: Iterable[Group]) -> list[Op]:
    return [op for group in groups for op in group.ops]


def _levels(graph: Graph, op: Op) -> list[Level]:
    """The boxes around an op, outermost first: the calls that it ran in if they are known, else its module's path."""
    if not op.calls:
        parts = op.module.split(".") if op.module else []
        paths = (".".join(parts[: length + 1]) for length in range(len(parts)))
        return [Level(path, turn=op.turns.get(path)) for path in paths]
    levels: list[Level] = []
    before = None
    for number in op.calls:
        path = graph.calls[number]["path"]
        if before is not None and path.startswith(f"{before}."):
            parts = path[len(before) + 1 :].split(".")
            levels += [Level(".".join([before, *parts[:length]])) for length in range(1, len(parts))]
        levels.append(Level(path, number))
        before = path
    return levels


def _within(path: str, module: str) -> bool:
    return path == module or path.startswith(f"{module}.")


def _is_buffer(graph: Graph, value: Value) -> bool:
    """Whether a value is a buffer of a module, such as the mask of an attention: its box would tell nothing."""
    path, _, name = value.name.rpartition(".")
    return name in graph.modules.get(path, {}).get("buffers", ())


def _short(text: str, style: str) -> str:
    return shorten(text, SIZE[style], WIDEST, style == "name")


def _in_two(name: str) -> tuple[str, str]:
    """A long name, broken after the underscore nearest to its middle; an ordinary one, and nothing."""
    places = [index for index, letter in enumerate(name, start=1) if letter == "_"]
    if text_width(name, SIZE["word"]) <= LONG or not places:
        return name, ""
    middle = min(places, key=lambda index: abs(2 * index - len(name)))
    return name[:middle], name[middle:]


def _op_rows(graph: Graph, op: Op, first: Op) -> list[tuple[str, str, str]]:
    """The name of an op, and the shape of what its box gives away, which `made` made."""
    name, rest = _in_two(notation.symbol(op))
    rows = [("name", "word", _short(name, "word"))]
    rows += [("rest", "word", _short(rest, "word"))] if rest else []
    if op.whole:
        count = len(op.inputs)
        return [*rows, ("shape", "tiny", f"{count} parameter{'' if count == 1 else 's'}")]
    shapes = [graph.values[key].shape for key in first.outputs]
    if shapes and shapes[0] is not None:
        rows.append(("shape", "tiny", _short(notation.shape(shapes[0]), "tiny")))
    return rows
