"""One program on both engines, aligned node by node."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from viz import engines
from viz.engines import CORE, TORCH
from viz.graph import Array, Graph
from viz.notation import brief
from viz.record import record
from viz.recording import Recording

TOLERANCE = {"float16": 1e-2, "bfloat16": 2e-2, "float32": 1e-4, "float64": 1e-9}


@dataclass
class Difference:
    """One thing in which the engines differ: what it is about, and what each of them has."""

    what: str  # node | edge | value | grad | order | saved | error | tensor
    where: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.what} of {self.where}: {CORE} has {self.ours}, PyTorch has {self.theirs}"


@dataclass
class Comparison:
    """What both engines made of one program."""

    ours: Recording
    theirs: Recording
    differences: list[Difference] = field(default_factory=list)
    nodes: list[tuple[str | None, str | None]] = field(default_factory=list)  # keys of ops that stand for each other

    @property
    def agree(self) -> bool:
        """Whether graph, order, values, gradients and errors are the same."""
        return not self.differences

    def _ipython_display_(self) -> None:
        from viz.widgets.comparison import ComparisonView

        ComparisonView(self)._ipython_display_()

    def __repr__(self) -> str:
        if self.agree:
            counts = [(len(self.nodes), "node"), (len(self.theirs.tensors), "tensor")]
            told = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
            return f"{CORE} and PyTorch agree: {told}"
        listed = "\n".join(f"- {difference}" for difference in self.differences)
        return f"{CORE} and PyTorch differ:\n{listed}"


def compare(program: str | Callable[..., Any], device: str = "cpu", inputs: dict[str, Any] | None = None) -> Comparison:
    """Run a program on both engines and hold them against each other, node by node.

    Args:
        program: as for `record`.
        device: where PyTorch computes; ours computes on the CPU.
        inputs: as for `record`.

    Raises:
        ModuleNotFoundError: PyTorch is not installed; the message says how to install it.

    >>> import viz
    >>> viz.compare("x = T.tensor(3.0, requires_grad=True); (x * x).backward()").agree
    True
    """
    engines.load(TORCH)
    made = Comparison(record(program, CORE, inputs=inputs), record(program, TORCH, device, inputs))
    _errors(made)
    _nodes(made)
    _order(made)
    _tensors(made)
    return made


def _errors(made: Comparison) -> None:
    ours, theirs = made.ours.error, made.theirs.error
    if (ours is None) != (theirs is None) or (
        ours is not None and theirs is not None and (ours["type"], ours["line"]) != (theirs["type"], theirs["line"])
    ):
        made.differences.append(Difference("error", "the program", _said(ours), _said(theirs)))


def _said(error: dict[str, Any] | None) -> str:
    return "none" if error is None else f"{error['type']} in line {error['line']}: {error['message'][:120]}"


def _recorded(graph: Graph) -> list[str]:
    ops = [op for op in graph.ops.values() if op.recorded]
    return [op.key for op in sorted(ops, key=lambda op: op.sequence_nr or 0)]


def _nodes(made: Comparison) -> None:
    """Nodes correspond by the order in which they were made; where names differ, the longest common run is kept."""
    from difflib import SequenceMatcher

    left, right = made.ours.graph, made.theirs.graph
    ours, theirs = _recorded(left), _recorded(right)
    names = [left.ops[key].name for key in ours], [right.ops[key].name for key in theirs]
    partner: dict[str, str] = {}
    for how, start, end, other_start, other_end in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        here: list[str | None] = list(ours[start:end])
        there: list[str | None] = list(theirs[other_start:other_end])
        longest = max(len(here), len(there))
        here += [None] * (longest - len(here))
        there += [None] * (longest - len(there))
        for mine, other in zip(here, there, strict=True):
            made.nodes.append((mine, other))
            if how == "equal" and mine is not None and other is not None:
                partner[mine] = other
                continue
            where = _place(left, mine) if mine is not None else _place(right, other)
            name = "no node" if mine is None else left.ops[mine].name
            made.differences.append(
                Difference("node", where, name, "no node" if other is None else right.ops[other].name)
            )
    for mine, other in partner.items():
        ends = _ends(left, mine, partner), _ends(right, other, {})
        if ends[0] != ends[1]:
            made.differences.append(Difference("edge", _place(left, mine), str(ends[0]), str(ends[1])))
        for a, b in zip(left.ops[mine].outputs, right.ops[other].outputs, strict=False):
            _arrays(made, "value", left.values[a].title, left.values[a].array, right.values[b].array)


def _place(graph: Graph, key: str | None) -> str:
    op = graph.ops[key or ""]
    return f"{op.name} in line {op.line}" if op.line is not None else op.name


def _ends(graph: Graph, key: str, partner: dict[str, str]) -> list[str]:
    leaves = graph.accumulators()
    ends = []
    for node, number in graph.ops[key].next:
        if node is None:
            ends.append("none")
        elif node in leaves:
            ends.append(f"leaf {leaves[node].title}")
        else:
            ends.append(f"{partner.get(node, node)}[{number}]")
    return ends


def _order(made: Comparison) -> None:
    ours, theirs = (
        [_name(recording.graph, event.node or "") for event in recording.events if event.kind == "run"]
        for recording in (made.ours, made.theirs)
    )
    if ours != theirs and not any(difference.what in ("node", "error") for difference in made.differences):
        made.differences.append(Difference("order", "the backward pass", ", ".join(ours), ", ".join(theirs)))


def _name(graph: Graph, key: str) -> str:
    return graph.ops[key].name if key in graph.ops else f"AccumulateGrad({graph.accumulators()[key].title})"


def _tensors(made: Comparison) -> None:
    for name in dict.fromkeys([*made.ours.tensors, *made.theirs.tensors]):
        ours, theirs = made.ours.tensors.get(name), made.theirs.tensors.get(name)
        if ours is None or theirs is None:
            if made.ours.error is None and made.theirs.error is None:
                made.differences.append(
                    Difference("tensor", name, "none" if ours is None else "one", "none" if theirs is None else "one")
                )
            continue
        for entry in ("shape", "dtype", "requires_grad", "is_leaf", "retains_grad", "version", "grad_fn"):
            if entry == "version" and made.ours.graph.values[ours["key"]].kind == "input":
                continue  # what a backward pass returned: how often the engine added into it is its own business
            if ours[entry] != theirs[entry]:
                made.differences.append(Difference("tensor", f"{name}.{entry}", str(ours[entry]), str(theirs[entry])))
        for entry in ("value", "grad"):
            label = name if entry == "value" else f"{name}.grad"
            _arrays(made, entry, label, _array(ours[entry]), _array(theirs[entry]))


def _array(data: dict[str, Any] | None) -> Array | None:
    return None if data is None else Array(**data)


def _arrays(made: Comparison, what: str, where: str, ours: Array | None, theirs: Array | None) -> None:
    if ours is None or theirs is None:
        if what == "grad" and (ours is None) != (theirs is None):
            made.differences.append(Difference(what, where, brief(ours) or "none", brief(theirs) or "none"))
        return
    if not _close(ours, theirs):
        made.differences.append(Difference(what, where, brief(ours), brief(theirs)))


def _close(ours: Array, theirs: Array) -> bool:
    if ours.shape != theirs.shape:
        return False
    tolerance = TOLERANCE.get(theirs.dtype, 0.0)
    pairs: list[tuple[Any, Any]] = [(ours.data, theirs.data)]
    if ours.data is None or theirs.data is None:
        pairs = [(getattr(ours, name), getattr(theirs, name)) for name in ("norm", "low", "high", "heat")]
        tolerance = max(tolerance, 1e-3)  # the heat-map keeps three digits
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, list) and isinstance(right, list):
            pairs.extend(zip(left, right, strict=True))
        elif left is None or right is None:
            if left is not right:
                return False
        elif not _same(float(left), float(right), tolerance):
            return False
    return True


def _same(left: float, right: float, tolerance: float) -> bool:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right or abs(left - right) <= tolerance * max(1.0, abs(left), abs(right))
