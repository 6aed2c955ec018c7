"""A network as people think of it: modules as boxes in boxes, down to single ops, each box laid out by itself.

The inside of a module has its own layout, so it can open in place: its surroundings make room and keep their order.
`compose` does this here for files; `js/network.js` does it on a stage.
"""

from __future__ import annotations

import functools
import math
import textwrap
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from viz.picture import layout as layouts
from viz.picture import svg
from viz.picture import theme as themes
from viz.picture.layout import Placed
from viz.picture.recurrence import LEAST, Part, bent, unrolled
from viz.picture.shapes import BOLD, inner
from viz.picture.theme import SIZE, shorten, text_width
from viz.recording import notation
from viz.recording.graph import Array, Graph, Op, Value

ROOT = "root"
WIDEST = 210.0  # pixels for one line of text
LONG = 150.0  # pixels of an op's name; a longer one takes two lines
SNUG_WIDEST = (240.0, 84.0)  # the same where it is tight, and where it is tighter
TITLE = 22.0  # pixels of the line with an open module's name
PADDING = 12.0  # padding inside an open module
PORT = 10.0  # pixels: the ports for a module's inputs and outputs
ACROSS = 620.0, 1200.0, 0.0  # widths of a row in pixels; the one that fits a stage best is used
MANY = 60  # boxes in one module; more are grouped
ROOMS = (900.0, 290.0), (540.0, 430.0)  # pixels of a stage below its program, and beside it, in a notebook
FEW = 4  # boxes of one level that are tried one by one
GAP, LANE = 24.0, 12.0  # pixels between the boxes and the rows of a long chain, and beside these rows
READABLE = 0.77  # the smallest scale of what is open at first: ten pixels per letter
PLUS = 9.0  # pixels on each side of a module's text: its mark must not touch a name
NARROWEST = 420.0  # pixels that a caption may widen a picture to
SLIM = 480.0  # pixels of a stage below which nothing stands side by side that does not fit
SHADES = 7  # shades for a gradient's size


@dataclass(frozen=True)
class Level:
    """One of the boxes around an op: the path of a module and, if it is known, which call of it."""

    path: str
    call: int | None = None  # None also for a list of modules, which is not called itself


@functools.lru_cache(maxsize=4096)  # a picture asks for each size hundreds of times
def _closed(kind: str, rows: tuple[tuple[str, str, str], ...], graded: bool, pad: int) -> tuple[float, float]:
    """The width and height of a closed box, in pixels."""
    if kind == "port":
        return PORT, PORT
    width = max(text_width(text, SIZE[style], style in BOLD) for _, style, text in rows)
    height = 2 * pad + sum(LINE[style] for _, style, _ in rows) + (LINE["tiny"] if graded else 0.0)
    wide = max(width, 62.0 if graded else 26.0)  # room for `grad 1.2e−7`
    return round(wide + 10 + 2 * pad + 2 * PLUS * (kind == "module")), round(height)


@dataclass
class Unit:
    """A box: a module, an op, a leaf, a result, or a port of the surrounding module."""

    key: str
    kind: str  # module | op | unrecorded | leaf | input | value | port
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

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the closed box, in pixels."""
        return _closed(self.kind, tuple(self.rows), self.graded, self.pad)

    def make_snug(self, widest: float) -> None:
        """Keep the first two lines of its text, of an op its name, in small letters, each at most `widest` pixels wide."""
        self.pad = 2
        kept = self.rows if self.kind == "leaf" else self.rows[:2]
        if self.kind in ("op", "unrecorded"):
            kept = [row for row in self.rows if row[0] in ("name", "rest")]
        look = {"name": "title", "word": "sign"}
        self.rows = [
            (slot, look.get(style, "tiny"), shorten(text, SIZE[look.get(style, "tiny")], widest, style == "name"))
            for slot, style, text in kept
        ]


# The height of a line of text.
LINE = {"name": 18.0, "word": 18.0, "small": 14.0, "tiny": 13.0, "title": 14.0, "sign": 15.0}


@dataclass
class Network:
    """Nested boxes, by key; `first` are those that are open at first."""

    units: dict[str, Unit]
    layouts: list[Placed]
    first: list[str]
    unit_of: dict[str, list[str]]  # op or leaf -> the boxes around it, outermost first, and its own
    copies: dict[str, list[list[str]]] = field(default_factory=dict)  # the same of a leaf that is drawn several times

    def chains(self, key: str) -> list[list[str]]:
        """The boxes around an op or leaf and its own, for each place where it is drawn."""
        return self.copies.get(key) or [self.unit_of.get(key, [])]


class Arranged(NamedTuple):
    """How the boxes of a network are laid out: how wide its texts are in small letters (0: in large ones), the layouts, which each box has, the open ones."""

    snug: float
    layouts: list[Placed]
    of_units: list[int]
    first: list[str]


def rms(array: Array | None) -> float | None:
    """The root mean square of an array's entries; None if there are none."""
    if array is None or array.norm is None or not array.size:
        return None
    return array.norm / math.sqrt(array.size)


def has_modules(graph: Graph) -> bool:
    """Whether the graph has modules to draw it by."""
    return any(op.module for op in graph.ops.values())


def network(
    graph: Graph,
    graded: Iterable[str] = (),
    room: tuple[float, float] | None = None,
    depth: int | None = None,
    direction: str | None = None,
    tight: bool = False,
    known: dict[Any, Arranged] | None = None,
) -> Network:
    """The boxes of a graph whose ops know their modules; the ops and leaves in `graded` will show a gradient.

    It is laid out for a single `room`, in pixels, if that is given, else for the usual rooms of a stage. `depth` says how
    many levels are open at first, and `direction` (`"LR"`, `"TB"`) how each level is laid out. `tight` makes the boxes small
    where the layers do not fit otherwise. `known` remembers how such boxes were laid out before.

    What a module is given stands in front of it; above it, where a row would be too long for the room.
    """
    return _Builder(graph, graded, room, depth, direction, tight).build({} if known is None else known)


class _Builder:
    def __init__(
        self,
        graph: Graph,
        graded: Iterable[str],
        room: tuple[float, float] | None,
        depth: int | None,
        direction: str | None,
        tight: bool,
    ) -> None:
        self.graph = graph
        self.tight = tight
        self.rooms = ROOMS if room is None else (room,)
        self.exact = room is not None
        self.slim = self.exact and self.rooms[0][0] < SLIM
        self.readable = 1.0 if self.exact else READABLE
        self.depth, self.direction = depth, direction
        self.graded = set(graded)
        buffers = {value.key for value in graph.values.values() if _is_buffer(graph, value)}
        counters = {op.key for op in graph.ops.values() if op.outputs and buffers.issuperset(op.outputs)}
        self.hidden = inner(graph) | buffers | counters
        self.units: dict[str, Unit] = {ROOT: Unit(ROOT, "module", [("name", "name", "program")], None)}
        self.chain: dict[str, list[str]] = {}  # per op or leaf: the boxes around it, and its own
        self.copies: dict[str, list[list[str]]] = {}  # per leaf that is drawn in several boxes: its chains

    def build(self, known: dict[Any, Arranged]) -> Network:
        ops = [op for op in self.graph.ops.values() if op.key not in self.hidden]
        self.levels = {op.key: _levels(self.graph, op) for op in ops}
        waiting = [(ROOT, ops, 0)]
        while waiting:
            key, inside, depth = waiting.pop()
            waiting += self._divide(key, inside, depth)
        self._leaves(ops)
        self._links(ops)
        self._results()
        self._describe()
        for key in self.graded:
            for chain in self.copies.get(key, [self.chain.get(key, [])]):
                for around in chain[1:]:
                    self.units[around].graded = True
        if self.graph.calls:  # a module shows its gradient at each of its calls
            names = {name for key in self.graded for name in self.graph.values[key].names}
            paths = {".".join(parts[:n]) for name in names for parts in [name.split(".")] for n in range(1, len(parts))}
            for unit in self.units.values():
                unit.graded = unit.graded or (unit.kind == "module" and unit.title in paths)
        if self.direction is not None:
            return self._place(math.inf if self.direction == "LR" else 0.0)
        form = self._form()
        if form not in known:
            known[form] = self._arranged()
        snug, found, of_units, first = known[form]
        if snug:
            self._make_snug(snug)
        for unit, number in zip(self.units.values(), of_units, strict=True):
            unit.layout = number
        return Network(self.units, found, first, self.chain, self.copies)

    def _form(self) -> Any:
        """All that decides how the boxes are laid out."""
        units = tuple(
            (unit.key, unit.size, unit.title, unit.call, len(unit.ops), *unit.leaves, *unit.children, *unit.links)
            for unit in self.units.values()
        )
        return units, self.rooms, self.exact, self.depth, self.tight

    def _arranged(self) -> Arranged:
        """Try arrangements, and smaller boxes where none shows the layers."""
        best, snug, large = self._best(), 0.0, self.units
        # The usual rooms are none in particular: what only just fits one of them may not fit a stage.
        for widest in SNUG_WIDEST if self.exact else SNUG_WIDEST[1:]:
            if not self.tight or (self._tells(best)[0] and self._containers() <= {*best.first}):
                break
            self.units = {key: replace(unit) for key, unit in large.items()}
            self._make_snug(widest)
            smaller = self._best()
            if self._tells(smaller) > self._tells(best):
                best, snug = smaller, widest
        self.units = large
        return Arranged(snug, best.layouts, [unit.layout for unit in best.units.values()], best.first)

    def _make_snug(self, widest: float) -> None:
        for unit in self.units.values():
            if unit.kind != "port" and unit.key != ROOT:
                unit.make_snug(widest)

    def _containers(self) -> set[str]:
        """The modules that consist of modules with parameters."""
        trained = {key for key, unit in self.units.items() if unit.kind == "module" and unit.leaves}
        return {unit.parent for key, unit in self.units.items() if key in trained and unit.parent is not None}

    def _best(self) -> Network:
        tried = [self._place(across) for across in ACROSS]
        if self.exact:
            tried.append(self._place(self.rooms[0][0] - 2 * LANE - 2 * PADDING))
            tried.append(self._place(ACROSS[0], 0.0))  # rows of modules, one below the other
            if large := max(self._containers() - {ROOT}, key=lambda key: len(self.units[key].ops), default=""):
                size = _spread(tried[0], [ROOT, large])[1]  # rows as long as what is beside them leaves room for
                beside = size[ROOT][0] - size[large][0]
                tried.append(self._place(self.rooms[0][0] - beside - 2 * LANE - 2 * PADDING))
        if self.slim:
            widest = self.rooms[0][0]
            tried += [
                self._place(widest - 2 * LANE - 2 * PADDING, 0.0, layers)
                for layers in (widest, 0.85 * widest, 0.7 * widest, 0.5 * widest, 0.0)
            ]
        return max(tried, key=self._tells)

    def _divide(self, key: str, ops: list[Op], depth: int) -> list[tuple[str, list[Op], int]]:
        """Make the children of a box: modules one level deeper, single ops, and groups if there are too many."""
        below: list[tuple[str, list[Op], int]] = []
        groups: list[tuple[Level | None, list[Op], int]] = []
        for level, group in groupby(ops, lambda op: self._level(op, depth)):
            members = list(group)
            if level is None:
                groups += [(None, [op], depth) for op in members]
                continue
            deeper = depth + 1
            inside = {self._level(op, deeper) for op in members}
            if level.call is None and self.graph.calls and len(inside) == 1:  # a list of which one module runs here
                level, deeper = inside.pop() or level, deeper + 1
            groups.append((level, members, deeper))
        if len(groups) > MANY:
            size = -(-len(groups) // MANY)
            parts = [groups[at : at + size] for at in range(0, len(groups), size)]
            groups = [(Level("part"), [op for _, members, _ in part for op in members], depth) for part in parts]
        for level, members, deeper in groups:
            if level is None:
                op = members[0]
                self._add(
                    Unit(
                        op.key,
                        "op" if op.recorded else "unrecorded",
                        _op_rows(self.graph, op),
                        key,
                        notation.symbol(op),
                        [op.key],
                    )
                )
                continue
            made = Unit(
                f"u{len(self.units)}", "module", [], key, level.path, [op.key for op in members], call=level.call
            )
            self._add(made)
            below.append((made.key, members, deeper))
        return below

    def _level(self, op: Op, depth: int) -> Level | None:
        levels = self.levels[op.key]
        return levels[depth] if depth < len(levels) else None

    def _add(self, unit: Unit) -> None:
        self.units[unit.key] = unit
        around = self._around(unit.parent)
        if unit.parent is not None:
            self.units[unit.parent].children.append(unit.key)
        for key in unit.ops if unit.kind != "module" else ():
            self.chain[key] = [*around, unit.key]

    def _around(self, key: str | None) -> list[str]:
        found: list[str] = []
        while key is not None:
            found.insert(0, key)
            key = self.units[key].parent
        return found

    def _leaves(self, ops: list[Op]) -> None:
        """A leaf is placed in the innermost box that contains all its users; one that only a step moves is not placed."""
        users: dict[str, list[list[str]]] = {}
        for op in ops:
            for key in op.inputs if not op.whole else ():
                if key is not None and key not in self.hidden:
                    users.setdefault(key, []).append(self.chain[op.key][:-1])
        for key, chains in users.items():
            value = self.graph.values[key]
            if self._maker(key) is not None:
                if (
                    value.kind == "leaf"
                ):  # what was written into a parameter by hand: its gradient is still the module's
                    self.copies[key] = [_shared(chains)]
                continue
            homes = self._homes(value, chains)
            name = value.name.split(".")[-1] if value.name else value.title
            rows = [("name", "name" if value.kind == "leaf" else "word", _cut(name, "name"))]
            if value.shape:
                rows.append(("shape", "tiny", notation.shape(value.shape)))
            kind = value.kind if value.kind in ("leaf", "input") else "value"
            for number, home in enumerate(homes):
                unit = f"{key}n{number}" if number else key
                self._add(Unit(unit, kind, rows, home[-1], value.title, value=key))
                self.copies.setdefault(key, []).append([*home, unit])
            self.chain[key] = self.copies[key][0]
            if value.kind == "leaf":
                for around in dict.fromkeys(around for home in homes for around in home):
                    self.units[around].leaves.append(key)

    def _homes(self, value: Value, chains: list[list[str]]) -> list[list[str]]:
        """The boxes that a leaf is drawn in: the innermost one around all its users or, for a parameter, each call of its module."""
        owners: dict[str, list[str]] = {}
        if self.graph.calls and value.kind == "leaf":
            paths = {name.rpartition(".")[0] for name in value.names}
            for chain in chains:
                at = next((at for at in reversed(range(len(chain))) if self.units[chain[at]].title in paths), None)
                if at is not None:
                    owners.setdefault(chain[at], chain[: at + 1])
                else:
                    owners.setdefault("", chain)
        if owners and "" not in owners:
            return list(owners.values())
        if self.graph.calls and value.name and value.kind != "leaf":
            return [[ROOT]]  # what the model was given
        around = _shared(chains)
        if value.home is not None:  # what a module was given comes from outside of it
            outer = (at for at, key in enumerate(around[1:], 1) if not _within(value.home, self.units[key].title))
            around = around[: next(outer, len(around))]
        return [around]

    def _nearest(self, source: str, head: list[str]) -> list[str]:
        """The chain of a source: of a leaf that is drawn several times, the one in the same box as its user."""
        copies = self.copies.get(source, []) if source not in self.graph.values or self._maker(source) is None else []
        return next((one for one in copies if one[:-1] == head[: len(one) - 1]), self.chain.get(source, []))

    def _maker(self, key: str) -> str | None:
        """The op whose result a value is; for a parameter after a step, the step."""
        value = self.graph.values[key]
        if value.op is not None:
            return value.op if value.op in self.chain else None
        return self._moved.get(key)

    @property
    def _moved(self) -> dict[str, str]:
        return {key: op.key for op in self.graph.ops.values() if op.whole for key in op.outputs}

    def _links(self, ops: list[Op]) -> None:
        found: dict[str, dict[tuple[str, str], None]] = {}
        moved = self._moved
        for op in ops:
            for key in op.inputs:
                if key is None or key in self.hidden:
                    continue
                value = self.graph.values[key]
                source = value.op if value.op in self.chain else moved.get(key, key)
                head = self.chain[op.key]
                tail = self._nearest(source or "", head)
                if not tail or source == op.key:
                    continue
                if op.whole and source == key:  # at most one arrow from a step to a module whose parameters it moves
                    found.setdefault(ROOT, {})[tail[1], head[1]] = None
                else:
                    self._join(found, tail, head)
        for key, links in found.items():
            unit = self.units[key]
            place = {child: number for number, child in enumerate(unit.children)}
            unit.links = [(place[tail], place[head]) for tail, head in links]

    def _join(self, found: dict[str, dict[tuple[str, str], None]], tail: list[str], head: list[str]) -> None:
        """Add the link between two boxes at the level where their paths separate, and the ways to the ports of those around them."""
        depth = 0
        while depth < min(len(tail), len(head)) - 1 and tail[depth] == head[depth]:
            depth += 1
        depth -= 1
        found.setdefault(tail[depth], {})[tail[depth + 1], head[depth + 1]] = None
        for outer, inside in zip(tail[depth + 1 :], tail[depth + 2 :], strict=False):
            found.setdefault(outer, {})[inside, self._port(outer, "out")] = None
        for outer, inside in zip(head[depth + 1 :], head[depth + 2 :], strict=False):
            found.setdefault(outer, {})[self._port(outer, "in"), inside] = None

    def _port(self, key: str, name: str) -> str:
        port = f"{key}{name}"
        if port not in self.units:
            self._add(Unit(port, "port", [], key, "what comes in" if name == "in" else "what goes out"))
        return port

    def _results(self) -> None:
        """A value that the program names and nobody uses, such as the loss, is placed below what made it."""
        used = {key for op in self.graph.ops.values() for key in op.inputs}
        for value in self.graph.values.values():
            chain = self.chain.get(value.op or "")
            if chain is None or value.key in used or not value.names or value.key in self.hidden:
                continue
            rows = [("name", "name", _cut(value.name, "name"))]
            rows.append(
                ("shape", "tiny", notation.brief(value.array) if not value.shape else notation.shape(value.shape))
            )
            self._add(Unit(value.key, "value", rows, chain[-2], value.title))
            self.chain[value.key] = [*chain[:-1], value.key]
            children = self.units[chain[-2]].children
            self.units[chain[-2]].links.append((children.index(chain[-1]), len(children) - 1))

    def _describe(self) -> None:
        """The text of a module's box: name, class, shapes in and out, parameters."""
        for unit in self.units.values():
            if unit.kind != "module" or unit.key == ROOT:
                continue
            if unit.title == "part":
                symbols = dict.fromkeys(notation.symbol(self.graph.ops[key]) for key in unit.ops)
                unit.title = f"{len(unit.ops)} ops: {', '.join(list(symbols)[:3])}{', …' if len(symbols) > 3 else ''}"
                unit.rows = [("name", "word", _cut(unit.title, "word"))]
                continue
            about = self.graph.modules.get(unit.title, {})
            around = self.units[unit.parent].title if unit.parent is not None else ""
            name = unit.title.removeprefix(f"{around}.") if self.graph.calls else unit.title.split(".")[-1]
            kinds = {self.graph.modules.get(f"{unit.title}.{n}", {}).get("class", "") for n in range(64)} - {""}
            count = len(unit.children) - sum(self.units[child].kind == "port" for child in unit.children)
            kind = about.get("class", "")
            if kind == "ModuleList" and len(kinds) == 1:
                kind = f"{count} × {kinds.pop()}"
            unit.rows = [("name", "name", _cut(name, "name"))]
            if kind and kind != name:
                unit.rows.append(("class", "small", _cut(kind, "small")))
            if settings := about.get("settings"):
                unit.rows.append(("settings", "tiny", _cut(settings, "tiny")))
            shapes = self._shapes(unit)
            if shapes:
                unit.rows.append(("shape", "tiny", _cut(shapes, "tiny")))
            if about.get("parameters"):
                number = about["parameters"]
                unit.rows.append(("count", "tiny", f"{number:,} parameter{'' if number == 1 else 's'}"))

    def _shapes(self, unit: Unit) -> str:
        if unit.call is not None:
            call = self.graph.calls[unit.call]
            text = [", ".join(dict.fromkeys(map(notation.shape, call[way][:2]))) for way in ("inputs", "outputs")]
            return " → ".join(text) if all(text) else ""
        inside = set(unit.ops)
        given = self._crossing(key for op in unit.ops for key in self.graph.ops[op].inputs if key is not None)
        given = [
            v
            for v in given
            if v.op not in inside and v.key not in unit.leaves and not v.name.startswith(f"{unit.title}.")
        ]
        used = {key for op in self.graph.ops.values() if op.key not in inside for key in op.inputs}
        results = self._crossing(key for op in unit.ops for key in self.graph.ops[op].outputs)
        last = results[-1:]
        results = [value for value in results if value.key in used] or last
        text = [
            ", ".join(dict.fromkeys(notation.shape(v.shape) for v in part[:2] if v.shape is not None))
            for part in (given, results)
        ]
        return " → ".join(text) if all(text) else ""

    def _crossing(self, keys: Iterable[str]) -> list[Value]:
        return [self.graph.values[key] for key in dict.fromkeys(keys)]

    def _place(self, across: float, whole: float | None = None, layers: float | None = None) -> Network:
        """Lay out each box as a row if that is at most `across` long (`whole` for the program itself).

        Boxes of the same structure are laid out once. If the program is wider than `layers`, or a module than `across`, it is laid
        out downward, in no wider rows.
        """
        units = {key: replace(unit) for key, unit in self.units.items()}
        found: list[Placed] = []
        known: dict[Any, int] = {}
        rows: dict[int | None, bool] = {}  # of the calls: whether their inside is a row
        for unit in reversed(units.values()):  # inner ones first
            if unit.kind != "module":
                continue
            sizes = [units[child].size for child in unit.children]
            titles = [units[child].title for child in unit.children if units[child].kind == "module"]
            listed = ("ModuleList", "ModuleDict")  # their parts run, but they themselves do not
            again = Counter(title for title in titles if self.graph.modules.get(title, {}).get("class") not in listed)
            valley = self.direction is None and _valley(len(sizes), unit.links)
            in_time = max(again.values(), default=0) >= LEAST and self.direction != "TB" and not valley
            most = across if whole is None or unit.key != ROOT else whole
            in_a_row = in_time or sum(width + 34 for width, _ in sizes) <= most
            if unit.key == ROOT and self.direction is None:  # what goes in and out follows the model
                in_a_row = rows.get(0, in_a_row)
            followed = unit.key == ROOT and not in_a_row and 0 in rows  # what goes in stands above a model in a column
            rows[unit.call] = in_a_row
            parts = tuple(self._part(units[child], size) for child, size in zip(unit.children, sizes, strict=True))
            given = tuple(self._given(unit)) if in_a_row and self.direction is None else ()
            form = parts if in_time else tuple(sizes), tuple(unit.links), in_a_row, followed, given
            if form not in known:
                known[form] = len(found)
                steps = unrolled(parts, unit.links) if in_time else None
                snug = any(units[child].pad < 6 for child in unit.children)
                placed = steps or _laid_out(sizes, unit.links, in_a_row, snug, 0.0 if followed else most)
                if not steps and given and placed.width > min(self.rooms)[0]:
                    placed = _laid_out(sizes, unit.links, True, snug, 0.0, given)
                if layers is not None:
                    widest = layers if unit.key == ROOT else across + 2 * LANE
                    if placed.width > widest and (order := _downward(sizes, unit.links, widest)):
                        placed = _laid_out(sizes, unit.links, False, snug, 0.0, layers=order)
                found.append(placed)
            unit.layout = known[form]
        made = Network(units, found, [], self.chain, self.copies)
        return replace(made, first=self._first(made))

    def _given(self, unit: Unit) -> list[tuple[int, int]]:
        """What is the only thing given to a module, and to no other, and this module, by position."""
        kinds = [self.units[child].kind for child in unit.children]
        uses = Counter(tail for tail, _ in unit.links)
        given = [(tail, head) for tail, head in unit.links if kinds[tail] == "input" and kinds[head] == "module"]
        taken = Counter(head for _, head in given)
        return [(tail, head) for tail, head in given if uses[tail] == taken[head] == 1]

    def _part(self, unit: Unit, size: tuple[float, float]) -> Part:
        runs = unit.kind in ("module", "op", "unrecorded")
        weighted = unit.kind == "module" and bool(self.graph.modules.get(unit.title, {}).get("parameters"))
        return Part(size, unit.title if runs else "", runs, weighted)

    def _first(self, whole: Network) -> list[str]:
        """The boxes that are open at first, level by level, as far as a stage can show them; for a single model, its inside."""
        opened = level = [ROOT]
        if self.depth is not None:
            for _ in range(self.depth):
                inside = [key for one in level for key in self.units[one].children]
                level = [key for key in inside if self.units[key].kind == "module"]
                opened = [*opened, *level]
            return opened
        while True:
            inside = [key for one in level for key in self.units[one].children if self.units[key].kind == "module"]
            inside = [key for key in inside if len(self.units[key].ops) > 1]
            alone = level == [ROOT] and sum(self.units[key].kind == "module" for key in self.units[ROOT].children) == 1
            if alone or (inside and self._scale(whole, [*opened, *inside]) >= self.readable):
                opened, level = [*opened, *inside], inside
                continue
            # Open only those for which there is room; what is trained first.
            for key in sorted(inside, key=lambda key: (not self.units[key].leaves, -len(self.units[key].ops)))[:FEW]:
                if self._scale(whole, [*opened, key]) >= self.readable:
                    opened = [*opened, key]
            return opened

    def _scale(self, whole: Network, opened: Iterable[str]) -> float:
        """The scale of the picture in the room that suits it best."""
        width, height = _spread(whole, opened)[1][ROOT]
        return max(min(1.0, wide / width, high / height) for wide, high in self.rooms)

    def _tells(self, whole: Network) -> tuple[bool, int, int, float]:
        """How well a network can be seen at first: complete and readable, then its layers, then how much is open, how large.

        On a slim stage what is not complete is better if it is only too high.
        """
        scale = self._scale(whole, whole.first)
        if scale < self.readable:
            across = self.slim and _spread(whole, whole.first)[1][ROOT][0] <= self.rooms[0][0]
            return False, int(across), 0, scale
        return True, len(self._containers() & {*whole.first}), len(whole.first), scale


def _levels(graph: Graph, op: Op) -> list[Level]:
    """The boxes around an op, outermost first: the calls that it ran in if they are known, else its module's path."""
    if not op.calls:
        parts = op.module.split(".") if op.module else []
        return [Level(".".join(parts[: length + 1])) for length in range(len(parts))]
    found: list[Level] = []
    before = None
    for number in op.calls:
        path = graph.calls[number]["path"]
        if before is not None and path.startswith(f"{before}."):
            parts = path[len(before) + 1 :].split(".")
            found += [Level(".".join([before, *parts[:length]])) for length in range(1, len(parts))]
        found.append(Level(path, number))
        before = path
    return found


def _within(path: str, module: str) -> bool:
    return path == module or path.startswith(f"{module}.")


def _is_buffer(graph: Graph, value: Value) -> bool:
    """Whether a value is a buffer of a module, such as the mask of an attention: its box would tell nothing."""
    path, _, name = value.name.rpartition(".")
    return name in graph.modules.get(path, {}).get("buffers", ())


def _shared(chains: list[list[str]]) -> list[str]:
    """The boxes that all these chains begin with."""
    shared = chains[0]
    for chain in chains[1:]:
        shared = [one for one, other in zip(shared, chain, strict=False) if one == other]
    return shared


def _cut(text: str, style: str) -> str:
    return shorten(text, SIZE[style], WIDEST, style == "name")


def _in_two(name: str) -> tuple[str, str]:
    """A long name, broken after the underscore nearest to its middle; an ordinary one, and nothing."""
    places = [place for place, letter in enumerate(name, start=1) if letter == "_"]
    if text_width(name, SIZE["word"]) <= LONG or not places:
        return name, ""
    middle = min(places, key=lambda place: abs(2 * place - len(name)))
    return name[:middle], name[middle:]


def _op_rows(graph: Graph, op: Op) -> list[tuple[str, str, str]]:
    name, rest = _in_two(notation.symbol(op))
    rows = [("name", "word", _cut(name, "word"))]
    rows += [("rest", "word", _cut(rest, "word"))] if rest else []
    if op.whole:
        count = len(op.inputs)
        return [*rows, ("shape", "tiny", f"{count} parameter{'' if count == 1 else 's'}")]
    shapes = [graph.values[key].shape for key in op.outputs]
    if shapes and shapes[0] is not None:
        rows.append(("shape", "tiny", _cut(notation.shape(shapes[0]), "tiny")))
    return rows


def _laid_out(
    sizes: list[tuple[float, float]],
    links: list[tuple[int, int]],
    in_a_row: bool,
    snug: bool,
    across: float,
    level: Iterable[tuple[int, int]] = (),
    layers: Sequence[Sequence[int]] = (),
) -> Placed:
    """The boxes in a row from left to right, or in a column; each pair in `level` one above the other, or side by side.

    `layers` are the rows of a column, if they are given.
    """
    if len(sizes) == 1:
        ((width, height),) = sizes
        return Placed(width, height, [(width / 2, height / 2)], [])
    if not in_a_row and across and (order := _chain(len(sizes), links)):
        return _in_rows(sizes, links, order, across)
    if not in_a_row and across and (order := _valley(len(sizes), links)):
        return _down_and_up(sizes, links, order, snug)
    boxes = [(f"c{place}", *size) for place, size in enumerate(sizes)]
    ends = [(f"l{place}", f"c{tail}", f"c{head}", 0.0, 0.0) for place, (tail, head) in enumerate(links)]
    level = [*level, *((row[0], other) for row in layers for other in row[1:])]
    apart = [
        (f"s{number}", f"c{row[0]}", f"c{below[0]}", 0.0, 0.0)  # what nothing leads between stays apart
        for number, (row, below) in enumerate(pairwise(layers))
        if not any(tail in row and head in below for tail, head in links)
    ]
    made = layouts.place(
        boxes, [*ends, *apart], "LR" if in_a_row else "TB", snug=snug, level=[(f"c{a}", f"c{b}") for a, b in level]
    )
    spots = [(made.spots[key].x, made.spots[key].y) for key, _, _ in boxes]
    return Placed(made.width, made.height, spots, [made.curves.get(key, []) for key, *_ in ends])


def _downward(sizes: list[tuple[float, float]], links: list[tuple[int, int]], across: float) -> list[list[int]]:
    """The boxes in rows that are at most `across` wide, each box above all that it leads to; nothing if they lead in a circle."""
    after = {box: {head for tail, head in links if tail == box} for box in range(len(sizes))}
    rows: list[list[int]] = []
    below: set[int] = set()
    while len(below) < len(sizes):
        row: list[int] = []
        ready = [box for box in after if box not in below and after[box] <= below]
        if not ready:
            return []
        passing = {(tail, head) for tail, head in links if head in below and tail not in below}
        # What waits longest for its users to come is the last that the program has made: it stands next to them.
        for box in sorted(ready, key=lambda box: (min(after[box], default=box), box), reverse=True):
            past = sum(tail not in (*row, box) for tail, _ in passing)
            if not row or sum(sizes[one][0] + GAP for one in (*row, box)) + LANE * past <= across:
                row.append(box)
        rows.insert(0, row)
        below.update(row)
    return rows


def _chain(count: int, links: list[tuple[int, int]]) -> list[int]:
    """The boxes in their order if each leads to one other; else nothing."""
    after = dict(links)
    start = set(range(count)) - set(after.values())
    if len(links) != count - 1 or len(after) != count - 1 or len(start) != 1:
        return []
    order = [start.pop()]
    while order[-1] in after and len(order) < count:
        order.append(after[order[-1]])
    return order if len(order) == count else []


def _valley(count: int, links: list[tuple[int, int]]) -> list[int]:
    """The boxes in their order, if each leads to the next and what else there is goes past the middle, one inside the other.

    So a U-Net is built, whose skips lead from each level of the way down to the same level of the way up.
    """
    before = {box: {tail for tail, head in links if head == box} for box in range(count)}
    order: list[int] = []
    while ready := [box for box in before if box not in order and before[box] <= {*order}]:
        if len(ready) > 1 or (order and order[-1] not in before[ready[0]]):
            return []
        order += ready
    if len(order) < count:
        return []
    place = {box: number for number, box in enumerate(order)}
    skips = sorted((place[tail], place[head]) for tail, head in links if place[head] > place[tail] + 1)
    nested = all(a < b and c > d for (a, c), (b, d) in pairwise(skips))
    return order if len(skips) > 1 and nested else []


def _down_and_up(
    sizes: list[tuple[float, float]], links: list[tuple[int, int]], order: list[int], snug: bool
) -> Placed:
    """A valley: down on the left and up on the right, the skips across."""
    place = {box: number for number, box in enumerate(order)}
    skips = [(tail, head) for tail, head in links if place[head] > place[tail] + 1]
    inner = min(skips, key=lambda skip: place[skip[1]] - place[skip[0]])
    turn = (place[inner[0]] + place[inner[1]]) // 2
    up = {(tail, head) for tail, head in links if (tail, head) not in skips and place[head] > turn}
    turned = [(head, tail) if (tail, head) in up else (tail, head) for tail, head in links]
    made = _laid_out(sizes, turned, False, snug, 0.0, skips)
    curves = [curve[::-1] if link in up else curve for link, curve in zip(links, made.curves, strict=True)]
    return Placed(made.width, made.height, made.spots, curves)


def _in_rows(sizes: list[tuple[float, float]], links: list[tuple[int, int]], order: list[int], across: float) -> Placed:
    """A long chain in rows, as text is written."""
    rows: list[list[int]] = [[]]
    for box in order:
        if rows[-1] and sum(sizes[one][0] + GAP for one in (*rows[-1], box)) - GAP > across:
            rows.append([])
        rows[-1].append(box)
    spots = [(0.0, 0.0)] * len(sizes)
    top = 0.0
    row_of = {}
    bottoms = []
    for number, row in enumerate(rows):
        height = max(sizes[box][1] for box in row)
        left = LANE
        for box in row:
            spots[box] = left + sizes[box][0] / 2, top + height / 2
            left += sizes[box][0] + GAP
            row_of[box] = number
        top += height
        bottoms.append(top)
        top += GAP
    curves = []
    for tail, head in links:
        (x, y), (a, b) = spots[tail], spots[head]
        start, end = (x + sizes[tail][0] / 2, y), (a - sizes[head][0] / 2, b)
        if row_of[tail] == row_of[head]:
            curves.append(bent([start, end]))
        else:
            lane, out = bottoms[row_of[tail]] + GAP / 2, start[0] + LANE
            curves.append(bent([start, (out, y), (out, lane), (0.0, lane), (0.0, b), end]))
    width = max(sum(sizes[box][0] + GAP for box in row) - GAP for row in rows) + 2 * LANE
    return Placed(width, top - GAP, spots, curves)


@dataclass
class Shown:
    """What is visible: each box with its center and its size, whether it is open, and the curves."""

    width: float
    height: float
    boxes: list[tuple[Unit, float, float, float, float, bool]]
    curves: list[list[tuple[float, float]]]


Map = tuple[
    Callable[[float], float], Callable[[float], float]
]  # where what is inside an open box moves, across and down


def _spread(whole: Network, opened: Iterable[str]) -> tuple[list[str], dict[str, tuple[float, float]], dict[str, Map]]:
    """The open boxes in sight, outer ones first, the size of each box, and how the inside of the open ones makes room."""
    order = [key for key in whole.units if key in {ROOT, *opened} and _in_sight(whole, key, {ROOT, *opened})]
    size = {key: unit.size for key, unit in whole.units.items()}
    maps: dict[str, Map] = {}
    for key in reversed(order):  # inner ones first
        unit, placed = whole.units[key], whole.layouts[whole.units[key].layout]
        spans: tuple[list[tuple[float, float, float]], ...] = [], []
        for child, spot in zip(unit.children, placed.spots, strict=True):
            closed = whole.units[child].size
            for axis in (0, 1):
                half = closed[axis] / 2
                spans[axis].append((spot[axis] - half, spot[axis] + half, size[child][axis] - closed[axis]))
        across, down = maps[key] = _stretch(spans[0]), _stretch(spans[1])
        margin = 2 * PADDING if key != ROOT else 0.0
        title = _title_width(unit) if key != ROOT else 0.0
        width, height = max(across(placed.width) + margin, title), down(placed.height) + margin
        size[key] = width, height + (TITLE if key != ROOT else 0.0)
    return order, size, maps


def compose(whole: Network, opened: Iterable[str]) -> Shown:
    """Insert the contents of the open boxes; their surroundings make room and keep their order."""
    order, size, maps = _spread(whole, opened)
    origin = {ROOT: (0.0, 0.0)}
    shown = Shown(*size[ROOT], [], [])
    for key in order:
        unit, placed, (across, down) = whole.units[key], whole.layouts[whole.units[key].layout], maps[key]
        left, top = origin[key]
        for child, (x, y) in zip(unit.children, placed.spots, strict=True):
            width, height = whole.units[child].size
            middle = (
                left + (across(x - width / 2) + across(x + width / 2)) / 2,
                top + (down(y - height / 2) + down(y + height / 2)) / 2,
            )
            wide, high = size[child]
            shown.boxes.append((whole.units[child], *middle, wide, high, child in maps))
            if child in maps:
                inside = maps[child][0](whole.layouts[whole.units[child].layout].width)
                origin[child] = middle[0] - inside / 2, middle[1] - high / 2 + TITLE + PADDING
        there = {box[0].key: box for box in shown.boxes[-len(unit.children) :]}
        for (tail, head), curve in zip(unit.links, placed.curves, strict=True):
            moved = [(left + across(x), top + down(y)) for x, y in curve]
            if moved:
                ends = [
                    (
                        there[unit.children[place]],
                        _beside(curve[at], placed.spots[place], whole.units[unit.children[place]]),
                    )
                    for place, at in ((tail, 0), (head, -1))
                ]
                shown.curves.append(_docked(moved, *ends))
    return shown


def _beside(point: tuple[float, float], spot: tuple[float, float], unit: Unit) -> tuple[float, float]:
    """Where on the edge of a closed box a curve ends: -1 to 1 across and down."""
    return tuple(  # type: ignore[return-value]
        max(-1.0, min(1.0, (point[axis] - spot[axis]) / (unit.size[axis] / 2))) for axis in (0, 1)
    )


End = tuple[tuple[Unit, float, float, float, float, bool], tuple[float, float]]


def _docked(curve: list[tuple[float, float]], tail: End, head: End) -> list[tuple[float, float]]:
    """A curve between the edges of two boxes, at the same place of each edge as when they were closed."""
    made = list(curve)
    for at, near, ((_, x, y, width, height, _), (right, low)) in ((0, 1, tail), (-1, -2, head)):
        at_edge = x + right * width / 2, y + low * height / 2
        made[near] = made[near][0] + at_edge[0] - made[at][0], made[near][1] + at_edge[1] - made[at][1]
        made[at] = at_edge
    return made


def _in_sight(whole: Network, key: str, opened: set[str]) -> bool:
    parent = whole.units[key].parent
    while parent is not None:
        if parent not in opened:
            return False
        parent = whole.units[parent].parent
    return True


def _title_width(unit: Unit) -> float:
    return (
        text_width(" ".join(text for slot, _, text in unit.rows if slot in ("name", "class")), SIZE["small"], True) + 40
    )


def _stretch(spans: list[tuple[float, float, float]]) -> Callable[[float], float]:
    """Map a coordinate when each span (start, end, extra) grows by its extra; parallel spans share the growth.

    Everywhere the space grows as fast as its most demanding span, so distances and the order are preserved.
    """
    growing = [(start, end, extra / (end - start)) for start, end, extra in spans if extra > 0]
    if not growing:
        return lambda place: place
    cuts = sorted({cut for start, end, _ in growing for cut in (start, end)})
    rates = [max((rate for s, e, rate in growing if s <= a and b <= e), default=0.0) for a, b in pairwise(cuts)]
    sums = [0.0]
    for (a, b), rate in zip(pairwise(cuts), rates, strict=True):
        sums.append(sums[-1] + (b - a) * rate)

    def moved(place: float) -> float:
        at = bisect_right(cuts, place) - 1
        if at < 0:
            return place
        if at >= len(rates):
            return place + sums[-1]
        return place + sums[at] + (place - cuts[at]) * rates[at]

    return moved


def svg_of(
    whole: Network,
    opened: Iterable[str],
    identity: str,
    marks: dict[str, tuple[str, str]],
    title: str,
    description: str = "",
    theme: str = "auto",
    plain: bool = False,
    legend: list[list[str]] | None = None,
    heading: str = "",
    caption: str = "",
) -> str:
    """The network as one SVG. `marks` holds the classes of each box, and the text about its gradient.

    `heading` is drawn above it, `caption` below it.
    """
    shown = compose(whole, opened)
    top = svg.MARGIN + (svg.HEADING if heading else 0.0)
    parts = [svg.above(heading)] if heading else []
    parts.append(f'<g class="network" transform="translate({svg.MARGIN:.0f} {top:.0f})">')
    frames = [box for box in shown.boxes if box[5]]
    parts += [_box(box, marks.get(box[0].key, ("", ""))) for box in frames]
    parts += [
        f'<g class="forward"><path d={svg.path(svg.shorten(curve))}/>{svg.head(curve)}</g>' for curve in shown.curves
    ]
    parts += [_box(box, marks.get(box[0].key, ("", ""))) for box in shown.boxes if not box[5]]
    height = shown.height + top + svg.MARGIN
    width = max(shown.width + 2 * svg.MARGIN, text_width(heading, SIZE["name"], True) + 2 * svg.MARGIN)
    if legend:
        for number, scale in enumerate(legend):
            parts.append(_legend(scale, shown.height + 12 + 20 * number))
        height, width = height + 14 + 20 * len(legend), max(width, _edge(legend[-1][0]) + 26 * SHADES + 60)
    parts.append("</g>")
    if caption:
        width = max(width, min(NARROWEST, text_width(caption, SIZE["small"]) + 2 * svg.MARGIN))
        for line in textwrap.wrap(caption, int((width - 2 * svg.MARGIN) / 6.6)):
            height += 15
            parts.append(
                f'<text class="small" x="{svg.MARGIN:.0f}" y="{height - svg.MARGIN:.0f}">{svg.escape(line)}</text>'
            )
    return svg.sheet(identity, (width, height), "".join(parts), title, description, themes.css(identity, theme, plain))


def _edge(words: str) -> float:
    """Where the colours of a legend begin, in pixels."""
    return text_width(words, SIZE["small"]) + 44


def _legend(scale: list[str], top: float) -> str:
    words, low, high = scale
    edge = _edge(words)
    bars = "".join(
        f'<g class="node module lv{place}"><rect class="frame" x="{edge + 26 * place:.0f}" y="{top}" width="26" height="12"/></g>'
        for place in range(SHADES)
    )
    right = edge + 6 + 26 * SHADES
    return (
        f'<text class="small" x="0" y="{top + 10}">{svg.escape(words)}</text>{bars}'
        f'<text class="small" x="{edge - 4:.0f}" y="{top + 10}" text-anchor="end">{svg.escape(low)}</text>'
        f'<text class="small" x="{right:.0f}" y="{top + 10}">{svg.escape(high)}</text>'
    )


def _box(box: tuple[Unit, float, float, float, float, bool], mark: tuple[str, str]) -> str:
    unit, x, y, width, height, is_open = box
    left, top = x - width / 2, y - height / 2
    classes, told = mark
    name = "opened" if is_open else unit.kind
    if is_open:
        classes = classes.replace("lv", "around-lv")
    head = f'<g class="node {name} {classes}"><title>{svg.escape(unit.title)}</title>'
    if unit.kind == "port":
        return f'{head}<circle class="pill" cx="{x:.1f}" cy="{y:.1f}" r="{PORT / 2 - 1}"/></g>'
    pill = unit.kind in ("op", "unrecorded")
    style, radius = ("pill", min(height / 2, 15)) if pill else ("frame", 7)
    parts = [
        head,
        f'<rect class="{style}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:.0f}"/>',
    ]
    if is_open:
        words = " ".join(text for slot, _, text in unit.rows if slot in ("name", "class"))
        parts.append(f'<text class="opened-title" x="{left + 10:.1f}" y="{top + 15:.1f}">{svg.escape(words)}</text>')
        return "".join([*parts, "</g>"])
    line = top + unit.pad
    for _, look, text in [*unit.rows, *([("grad", "tiny grad", told)] if told else [])]:
        step = LINE[look.split()[0]]
        parts.append(f'<text class="mid {look}" x="{x:.1f}" y="{line + step * 0.76:.1f}">{svg.escape(text)}</text>')
        line += step
    return "".join([*parts, "</g>"])
