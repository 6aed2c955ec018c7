"""One program on both engines, aligned node by node."""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

import numpy as np

from viz import engines
from viz.engines import CORE, TORCH
from viz.experiments.timing import Timing, time_both
from viz.interrupts import put_back_first
from viz.recording import own
from viz.recording.distance import DECIDING, DETAILS, IGNORED, coarsest, distance, has_gradient_of, same_text
from viz.recording.graph import Array, Graph, Saved, Value, array_of
from viz.recording.notation import brief
from viz.recording.record import record, recorder
from viz.recording.recording import Recording

LISTED_DETAILS = 5  # details of the graph listed in the text
_PLURAL = {"saved": "saved tensors", "tensor": "properties of tensors", "order": "order of nodes"}
SEED = 0  # the seed on both engines, so that both draw the same random numbers


@dataclass
class Difference:
    """One compared item: what it is about, what each engine has, and whether both are the same.

    For numbers, `difference` is the largest difference between corresponding numbers, and `tolerance` is what is
    allowed: absolute up to 1, and relative to the larger of the two above that.
    """

    what: str  # value | grad | tensor | output | error | engine; of the graph: node | edge | saved | order | tensor
    where: str
    ours: str
    theirs: str
    agree: bool = False
    difference: float | None = None
    tolerance: float | None = None
    detail: bool = False  # a detail of an engine's bookkeeping that changes no number: it does not decide
    engine: str = CORE  # the one compared with PyTorch

    def __str__(self) -> str:
        by = "" if self.difference is None else f" (by {self.difference:.3g}, allowed is {self.tolerance:.0e})"
        return f"{self.what} of {self.where}: {self.engine} has {self.ours}, PyTorch has {self.theirs}{by}"


@dataclass
class Comparison:
    """The result of running one program on both engines.

    `table` has everything that was compared. `differences` has the differences that decide, and `details` those in how
    the graph is kept (names of nodes, edges, saved values, versions). `nodes` are the keys of corresponding ops.
    `timing` is set when PyTorch did not compute on the CPU. If PyTorch is not installed, or has no memory left before
    the program starts, `missing` says so, and `theirs` is empty.

    >>> import viz
    >>> same = viz.compare("x = T.tensor(3.0, requires_grad=True); (x * x).backward()")
    >>> same.agree, same.differences, same.missing
    (True, [], '')
    """

    ours: Recording
    theirs: Recording
    table: list[Difference] = field(default_factory=list)
    nodes: list[tuple[str | None, str | None]] = field(default_factory=list)
    timing: Timing | None = None
    missing: str = ""
    rounded: float = 0.0  # the tolerance for floats
    shaken: Recording | None = None  # PyTorch again, its data moved by one unit in the last place; if numbers differ
    own: Any = None  # the engine compared with PyTorch, if it is one of your own
    caught: tuple[list[str], list[str]] = ([], [])  # the errors that a program handled while it printed, of each engine

    # Bound by `viz/show.py`.
    save: ClassVar[Callable[..., Path]]
    _ipython_display_: ClassVar[Callable[..., None]]

    @property
    def agree(self) -> bool:
        """Whether values, gradients, errors and output are the same; `details` of the graph do not decide."""
        return not self.differences

    @property
    def differences(self) -> list[Difference]:
        """The differences that decide."""
        return [compared for compared in self.table if not compared.agree and not compared.detail]

    @property
    def details(self) -> list[Difference]:
        """Differences in how the engines keep the graph: they change no value, no gradient and no error."""
        return [compared for compared in self.table if not compared.agree and compared.detail]

    @property
    def counted(self) -> str:
        """How many details of the graph differ, by kind, such as `saved tensors (2), edges (1)`; empty for none."""
        counts = Counter(_PLURAL.get(detail.what, f"{detail.what}s") for detail in self.details)
        return ", ".join(f"{name} ({count})" for name, count in counts.items())

    @property
    def verdict(self) -> str:
        """The result in a sentence; if only one engine runs the program, what the other cannot do, and why."""
        name = self.ours.engine
        if self.missing:
            return f"Only {name} has run. PyTorch: {self.missing}"
        if self.agree:
            counts = [(len(self.nodes), "node"), (len(self.theirs.tensors), "tensor")]
            if self.own is not None:
                counts[1:] = [(sum(state["grad"] is not None for state in self.theirs.tensors.values()), "gradient")]
            told = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
            error = self.theirs.error
            stopped = f"; both stop in line {error['line']} with {error['type']}" if error is not None else ""
            apart = f". Details of the graph that differ: {self.counted}" if self.details else ""
            return f"{name} and PyTorch agree: {told}{stopped}{apart}"
        sides = ((self.ours, self.theirs, name, "PyTorch"), (self.theirs, self.ours, "PyTorch", name))
        for stopped_one, other, stops, runs in sides:
            if stopped_one.error is not None and other.error is None:
                return f"Only {runs} runs this program to its end. {stops} stops {_stop(stopped_one)}"
        return f"{name} and PyTorch differ:{f' first at {self.first}' if self.own is not None and self.first else ''}"

    @property
    def first(self) -> str:
        """Where the numbers first differ, in the order of the program, then of the backward pass; empty if nowhere."""
        pairs = [(mine, other) for mine, other in self.nodes if mine is not None and other is not None]
        left, right = self.ours.graph, self.theirs.graph
        for mine, other in pairs:
            for a, b in zip(left.ops[mine].outputs, right.ops[other].outputs, strict=False):
                had = left.values[a].array, right.values[b].array
                if had[0] is not None and had[1] is not None and not distance(had[0], had[1], self.rounded)[2]:
                    return f"{_place(left, mine)}: its value is {brief(had[0])}, PyTorch's is {brief(had[1])}"
        arrived = [
            {
                event.node: event.gradients[0].array
                for event in recording.events
                if event.kind == "run" and event.gradients
            }
            for recording in (self.ours, self.theirs)
        ]
        partner: dict[str | None, str | None] = {other: mine for mine, other in pairs}
        for key, theirs in arrived[1].items():
            leaf = right.accumulators().get(key or "")
            if theirs is None or (leaf is None and key not in partner):
                continue
            if leaf is None:
                node, where = partner.get(key), f"the gradient that arrives at {_place(right, key)}"
            else:
                named = [value for value in left.values.values() if value.accumulate and value.title == leaf.title]
                if not named:
                    continue
                node, where = named[0].accumulate, f"the gradient of {leaf.title}"
            ours = arrived[0].get(node)
            if ours is None or not distance(ours, theirs, self.rounded)[2]:
                return f"{where}: {brief(ours) or 'none'}, in PyTorch {brief(theirs)}"
        return ""

    def __repr__(self) -> str:
        lines = [self.verdict, *(f"- {difference}" for difference in self.differences if not self.missing)]
        lines += [f"  (detail) {detail}" for detail in self.details[:LISTED_DETAILS] if not self.missing]
        if len(self.details) > LISTED_DETAILS and not self.missing:
            lines.append(f"  (and {len(self.details) - LISTED_DETAILS} more details: .details)")
        return "\n".join([*lines, str(self.timing)] if self.timing is not None else lines)


def compare(
    program: str | Callable[..., Any], device: str = "cpu", inputs: dict[str, Any] | None = None, engine: Any = None
) -> Comparison:
    """Run a program on both engines and compare them, node by node.

    Random numbers start from the same seed on both, but PyTorch's numbers on a GPU still differ.

    Args:
        program: as for `record`.
        device: where PyTorch computes; ours computes on the CPU. For any other device, both are timed as well.
        inputs: as for `record`; each engine gets copies, and a tensor of either engine becomes a new leaf.
        engine: an engine of your own that takes the place of ours (docs/engines.md).

    Raises:
        TypeError: `program` is no program, or a function that does not take the engine: it can run on one engine only.
        ValueError: PyTorch cannot use the device; the message says why.

    >>> import viz
    >>> viz.compare("x = T.tensor(3.0, requires_grad=True); (x * x).backward()").agree
    True
    """
    own.check(program, "viz.compare")
    if callable(program) and not inputs and not own.wanted(program, {}, "viz.compare"):
        raise TypeError(
            "viz.compare runs a program on both engines, so it must take the engine, as in `def program(T): …`, "
            "and make its model and data with it; viz.play(step) plays a step of one engine"
        )
    caught = _Caught(), _Caught()
    if engine is None:
        ours, missing = _recorded_on(CORE, program, "cpu", inputs, caught[0]), ""
    else:
        with put_back_first(), engines.load(CORE).seeded(SEED):
            ours, missing = record(program, engine, inputs=deepcopy(inputs)), ""
    try:
        theirs = _recorded_on(TORCH, program, device, inputs, caught[1])
    # Check this before the program starts, because what the program itself raises is recorded.
    except (ModuleNotFoundError, RuntimeError, MemoryError) as error:
        missing = str(error) or type(error).__name__
        theirs = Recording(TORCH, device, ours.source, Graph(), [], {}, "", None)
    comparison = Comparison(ours, theirs, missing=missing, rounded=coarsest(ours, theirs), own=engine, caught=caught)
    if missing:
        comparison.table.append(Difference("engine", "the program", "run it", missing))
        return comparison
    _judge(comparison)
    if any(difference.difference is not None for difference in comparison.differences):
        comparison.shaken = _recorded_on(TORCH, program, device, inputs, _Caught(), shaken=True)
        comparison.table, comparison.nodes = [], []
        _judge(comparison)
    if device != "cpu" and engine is None and ours.error is None and theirs.error is None:
        with contextlib.suppress(RuntimeError, MemoryError):  # no times if memory runs out
            inputs_of = {name: _copies(inputs or {}, name, on) for name, on in ((CORE, "cpu"), (TORCH, device))}
            comparison.timing = time_both(program, device, inputs_of)
    return comparison


def _judge(comparison: Comparison) -> None:
    _errors(comparison)
    _output(comparison)
    _nodes(comparison)
    _order(comparison)
    _tensors(comparison)
    for row in comparison.table:
        row.engine = comparison.ours.engine


class _Caught(list[str]):
    """The errors that a program handled while it printed."""

    def write(self, text: str) -> None:
        self += [IGNORED.sub("", said) for said in getattr(sys.exc_info()[1], "args", ())[:1] if isinstance(said, str)]

    def flush(self) -> None: ...


def _recorded_on(name: str, program: Any, device: str, inputs: Any, caught: _Caught, shaken: bool = False) -> Recording:
    with put_back_first(), engines.load(name).seeded(SEED, device):
        watching = recorder(program, engines.load(name), device, shaken=shaken)
        watching.shown_in = caught
        return watching.run(_copies(inputs or {}, name, device))


def _copies(inputs: dict[str, Any], name: str, device: str) -> dict[str, Any]:
    """Copy `inputs` for one engine: what a program changes on one side shows neither on the other nor outside."""
    engine = engines.load(name)

    def copied(thing: Any) -> Any:
        # As `record` gives it to a program, and what is timed gets it too.
        if isinstance(thing, (np.ndarray, np.generic)):
            return engine.module.tensor(thing, device=device)
        owner = engines.of(thing)
        if owner is not None and owner.is_tensor(thing):
            return engine.module.tensor(owner.array(thing), device=device).requires_grad_(thing.requires_grad)
        try:
            return deepcopy(thing)
        except Exception:  # a Python module, a lock, a non-leaf tensor in a list: these are not copied
            return thing

    return {key: copied(thing) for key, thing in inputs.items()}


def _stop(recording: Recording) -> str:
    """Where and why a recording ended: `in line 3, y = x.cumprod(0): NotImplementedError: …`."""
    error = recording.error
    assert error is not None
    line = error["line"]
    code = f", {recording.source[line - 1].strip()}" if line is not None and line <= len(recording.source) else ""
    place = f"in line {line}{code}" if line is not None else "before its first line"
    return f"{place}: {error['type']}: {shorten(error['message'].partition(chr(10))[0], 300, placeholder=' …')}"


def _errors(comparison: Comparison) -> None:
    ours, theirs = comparison.ours.error, comparison.theirs.error
    if ours is None and theirs is None:
        return
    same = ours is not None and theirs is not None and (ours["type"], ours["line"]) == (theirs["type"], theirs["line"])
    comparison.table.append(Difference("error", "the program", _said(ours), _said(theirs), same))


def _said(error: dict[str, Any] | None) -> str:
    if error is None:
        return "none"
    return f"{error['type']} in line {error['line']}: {shorten(error['message'], 120, placeholder=' …')}"


def _output(comparison: Comparison) -> None:
    printed = comparison.ours.stdout, comparison.theirs.stdout
    if not any(printed):
        return
    ours, theirs = (IGNORED.sub("", text) for text in printed)
    for mine, other in zip(*comparison.caught, strict=False):
        # PyTorch's hint is its own, and of a node it says `Exp`.
        said, phrase = (re.sub(r"Backward\d+\b|[. ]*(?: Hint: .*)?$", "", text) for text in (mine, other))
        if said.startswith(phrase) and not said[len(phrase) :][:2].strip(".,:; "):  # PyTorch's phrase, then more
            for form in (str, lambda text: repr(text)[1:-1]):
                ours, theirs = ours.replace(form(mine), form(phrase)), theirs.replace(form(other), form(phrase))
    lines = itertools.zip_longest(ours.splitlines(), theirs.splitlines(), fillvalue="")
    row = next((pair for pair in lines if not same_text(*pair, comparison.rounded)), None)
    apart = (at for at, (one, two) in enumerate(itertools.zip_longest(*row or ("", ""))) if one != two)
    start = max(0, next(apart, 0) - 60)
    mine, other = (f"{'… ' if start else ''}{text[start:].strip()[:120]}" or "nothing" for text in row or printed)
    comparison.table.append(Difference("output", "what is printed", mine, other, row is None))


def _recorded(graph: Graph) -> list[str]:
    ops = [op for op in graph.ops.values() if op.recorded]
    return [op.key for op in sorted(ops, key=lambda op: op.sequence_nr or 0)]


def _nodes(comparison: Comparison) -> None:
    """Match nodes by the order in which they were made. Where names differ, keep the longest common subsequence."""
    left, right = comparison.ours.graph, comparison.theirs.graph
    partner: dict[str, str] = {}
    for mine, other in _paired(left, right, comparison.rounded):
        comparison.nodes.append((mine, other))
        where = _place(left, mine) if mine is not None else _place(right, other)
        name = "no node" if mine is None else left.ops[mine].name
        other_name = "no node" if other is None else right.ops[other].name
        same = name == other_name
        comparison.table.append(Difference("node", where, name, other_name, same, detail=True))
        if same:
            partner[mine or ""] = other or ""
    # Where the engines make different nodes, equal node names may not correspond: the program's own names decide.
    whole = len(partner) == len(comparison.nodes)
    leaves = left.accumulators(), right.accumulators()
    for mine, other in partner.items():
        ends = _ends(left, mine, partner, leaves[0]), _ends(right, other, {}, leaves[1])
        if ends[0] != ends[1]:
            comparison.table.append(Difference("edge", _place(left, mine), str(ends[0]), str(ends[1]), detail=True))
        kept = left.ops[mine].saved, right.ops[other].saved
        if any(kept) and (comparison.own is None or hasattr(comparison.own, "saved")):
            same = [_bare(saved) for saved in kept[0]] == [_bare(saved) for saved in kept[1]]
            told = _kept(left, kept[0]), _kept(right, kept[1])
            comparison.table.append(Difference("saved", _place(left, mine), *told, same, detail=True))
        for a, b in zip(left.ops[mine].outputs, right.ops[other].outputs, strict=False):
            shaken = comparison.shaken.graph.values.get(b) if comparison.shaken is not None else None
            arrays = left.values[a].array, right.values[b].array, shaken.array if shaken is not None else None
            _arrays(comparison, "value", left.values[a].title, *arrays, detail=not whole)


def _paired(left: Graph, right: Graph, rounded: float) -> list[tuple[str | None, str | None]]:
    """Which node of one graph corresponds to which of the other; None for a node without a partner."""
    from difflib import SequenceMatcher

    ours, theirs = _recorded(left), _recorded(right)
    forms = (
        [(left.ops[key].name, _shapes(left, key)) for key in ours],
        [(right.ops[key].name, _shapes(right, key)) for key in theirs],
    )
    pairs: list[tuple[str | None, str | None]] = list(zip(ours, theirs, strict=False)) if forms[0] == forms[1] else []
    apart = SequenceMatcher(None, *forms, autojunk=False).get_opcodes() if not pairs else []
    for _, start, end, other_start, other_end in apart:
        pairs += itertools.zip_longest(ours[start:end], theirs[other_start:other_end])
    # Two products in arbitrary order, such as an input's and a state's, are told apart by their values.
    alike: dict[Any, list[int]] = {}
    for index, (mine, other) in enumerate(pairs):
        if mine is not None and other is not None and left.ops[mine].name == right.ops[other].name:
            alike.setdefault((left.ops[mine].name, left.ops[mine].module, _shapes(left, mine)), []).append(index)
    for places in alike.values():
        astray = [index for index in places if not _same_values(left, right, *pairs[index], rounded)]
        left_over = [pairs[index][1] for index in astray]
        waiting = []
        for index in astray:
            mine = pairs[index][0]
            fitting = next((other for other in left_over if _same_values(left, right, mine, other, rounded)), None)
            if fitting is None:
                waiting.append(index)
            else:
                left_over.remove(fitting)
                pairs[index] = mine, fitting
        for index, other in zip(waiting, left_over, strict=True):
            pairs[index] = pairs[index][0], other
    return pairs


def _shapes(graph: Graph, key: str) -> tuple[Any, ...]:
    return tuple(tuple(graph.values[output].shape or ()) for output in graph.ops[key].outputs)


def _same_values(left: Graph, right: Graph, mine: str | None, other: str | None, rounded: float) -> bool:
    """Whether two nodes computed the same, as far as their results were seen."""
    results = zip(left.ops[mine or ""].outputs, right.ops[other or ""].outputs, strict=False)
    arrays = ((left.values[a].array, right.values[b].array) for a, b in results)
    return all(a is None or b is None or distance(a, b, rounded)[2] for a, b in arrays)


def _bare(saved: Saved) -> Any:
    return saved.name, saved.shape, saved.text, saved.state


def _kept(graph: Graph, saved: list[Saved]) -> str:
    """The tensors that a node saves for its backward: `self = x, other = 0.5 (freed)`."""
    told = []
    for kept in saved:
        what = graph.values[kept.value].title if kept.value is not None else kept.text
        told.append(f"{kept.name}{f' = {what}' if what else ''}{'' if kept.state == 'alive' else f' ({kept.state})'}")
    return ", ".join(told) or "nothing"


def _place(graph: Graph, key: str | None) -> str:
    op = graph.ops[key or ""]
    return f"{op.name} in line {op.line}" if op.line is not None else op.name


def _ends(graph: Graph, key: str, partner: dict[str, str], leaves: dict[str, Value]) -> list[str]:
    ends = []
    for node, number in graph.ops[key].next:
        if node is None:
            ends.append("none")
        elif node in leaves:
            ends.append(f"leaf {leaves[node].title}")
        else:
            ends.append(f"{partner.get(node, node)}[{number}]")
    return ends


def _order(comparison: Comparison) -> None:
    ours, theirs = (
        [_name(recording.graph, event.node or "") for event in recording.events if event.kind == "run"]
        for recording in (comparison.ours, comparison.theirs)
    )
    if ours == theirs:
        for number, name in enumerate(ours, 1):
            where = f"step {number} of the backward pass"
            comparison.table.append(Difference("order", where, name, name, True, detail=True))
    elif not any(difference.what in ("node", "error") for difference in (*comparison.differences, *comparison.details)):
        comparison.table.append(
            Difference("order", "the backward pass", ", ".join(ours), ", ".join(theirs), detail=True)
        )


def _name(graph: Graph, key: str) -> str:
    return graph.ops[key].name if key in graph.ops else f"AccumulateGrad({graph.accumulators()[key].title})"


def _tensors(comparison: Comparison) -> None:
    matched = {mine for mine, other in comparison.nodes if mine is not None and other is not None}
    for name in dict.fromkeys([*comparison.ours.tensors, *comparison.theirs.tensors]):
        ours, theirs = comparison.ours.tensors.get(name), comparison.theirs.tensors.get(name)
        if ours is None or theirs is None:
            if comparison.ours.error is None and comparison.theirs.error is None:
                comparison.table.append(
                    Difference("tensor", name, "none" if ours is None else "one", "none" if theirs is None else "one")
                )
            continue
        for entry in DECIDING if comparison.own is not None else (*DECIDING, *DETAILS):
            if ours[entry] is None:  # the engine does not say
                continue
            if entry == "version" and comparison.ours.graph.values[ours["key"]].kind == "input":
                continue  # the result of a backward pass: how often the engine added into it does not matter
            if ours[entry] != theirs[entry]:
                told = str(ours[entry]), str(theirs[entry])
                comparison.table.append(Difference("tensor", f"{name}.{entry}", *told, detail=entry in DETAILS))
        for entry in ("value", "grad"):
            label = name if entry == "value" else f"{name}.grad"
            met = comparison.ours.graph.values.get(ours["key"])
            if entry == "value" and met is not None and met.op in matched and met.array == array_of(ours["value"]):
                continue  # the table lists it as the result of that op
            if entry == "grad" and not has_gradient_of(ours, theirs):
                continue
            shaken = comparison.shaken.tensors.get(name, {}).get(entry) if comparison.shaken is not None else None
            _arrays(comparison, entry, label, array_of(ours[entry]), array_of(theirs[entry]), array_of(shaken))


def _arrays(
    comparison: Comparison,
    what: str,
    where: str,
    ours: Array | None,
    theirs: Array | None,
    shaken: Array | None,
    detail: bool = False,
) -> None:
    if ours is None or theirs is None:
        if what == "grad" and (ours is None) != (theirs is None):
            comparison.table.append(Difference(what, where, brief(ours) or "none", brief(theirs) or "none"))
        return
    gap, allowed, same = distance(ours, theirs, comparison.rounded, shaken)
    comparison.table.append(Difference(what, where, brief(ours), brief(theirs), same, gap, allowed, detail))
