"""The runs of an explorer: what both engines do with a listing, remembered where they would do the same again."""

from __future__ import annotations

import ast
import contextlib
import math
import warnings
from dataclasses import dataclass, field
from typing import Any

from viz import engines
from viz.engines import CORE, TORCH
from viz.experiments.edits import Edited
from viz.experiments.program import Program
from viz.experiments.switches import PYTORCH, changes, told, unfelt
from viz.picture.kept import Latest
from viz.recording.graph import Graph, Value
from viz.recording.record import STEPS, record, recorder
from viz.recording.recording import Recording
from viz.recording.source import without_other_frames
from viz.recording.state import as_before, found_in
from viz.recording.teaching import name_of
from viz.telling.account import account, missing, not_built, rewritten, said, table, title, verdict

SEED = 0  # the seed of every run on both engines, so that only the change makes a difference
OF_ONE = "This program uses networks, tensors or functions of {0}, which it does not make itself: {1} cannot run it."
CUTS = ("no_grad", "inference_mode", "detach")  # switches that cut a value off: it can learn once they are off
_WARNED = 3  # warnings of a run that are shown
_FROM_OUTSIDE = {"__import__", "eval", "exec", "input", "open"}  # what these give may differ from run to run
# Its part of the result, what ran, and the sources of random numbers.
_Side = tuple[dict[str, Any], Recording | None, list[str]]


def asks(prompt: object = "") -> str:
    """Replaces `input` in a program that runs again at every change, with nobody there to answer."""
    raise RuntimeError("input() would ask at every change of a switch; write the value into the program instead")


@dataclass(frozen=True)
class Run:
    """What both engines did with a listing: each one's part of the result, the table, and whether they agree."""

    program: Program
    state: dict[str, Any]
    edited: Edited
    recordings: dict[str, Recording] = field(default_factory=dict)
    sides: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=dict)
    random: list[str] = field(default_factory=list)  # the sources of random numbers that the program used
    whole: dict[str, Recording] = field(default_factory=dict)  # once more, with every number, where it was asked for
    drag: Any = None  # the drag of a number that it is part of
    since: Run | None = None  # the run before this drag

    @property
    def listing(self) -> list[str]:
        return self.edited.source.splitlines()

    @property
    def first(self) -> Recording | None:
        """Our engine's recording, or PyTorch's where only that ran."""
        return next(iter(self.recordings.values()), None)

    def tensors(self) -> list[str]:
        """The program's values that are tensors, and those that no run has reached: these can have a gradient."""
        recordings = self.recordings.values()
        graphs = [one.graph for one in recordings]
        known = {name for g in graphs for t in g.values.values() if self._can_learn(g, t) for name in t.names}
        ends = [one.error["line"] or 0 for one in recordings if one.error is not None]
        reached = len(self.program.source) if len(ends) < len(recordings) else max(ends, default=0)
        known |= {name for line in self.program.lines if line.last >= reached for name in line.names}
        return [name for name in self.program.values if name in known]

    def _can_learn(self, graph: Graph, value: Value) -> bool:
        """Whether a value can have a gradient in some state: no whole number can, nor what the program cuts off."""
        op = graph.ops.get(value.op or "")
        given = [graph.values[key] for key in op.inputs if key is not None] if op is not None else []
        cut = op is not None and not op.recorded and any(one.requires_grad for one in given)
        whole = value.dtype.startswith(("int", "uint", "bool"))
        return not whole and (not cut or any(map(self.state.get, CUTS)))

    def told(self, before: Run, why: str) -> str:
        """The sentence on the change from another run: the switches, unless `why` or an edit by hand says more."""
        changed = changes(before.program, before.state, self.program, self.state)
        of_pytorch = bool(changed) and all(change.switch.at == "pytorch" for change in changed)
        ours = CORE in before.recordings and CORE in self.recordings and not of_pytorch
        old, new = (run.recordings.get(CORE if ours else TORCH) for run in (before, self))
        same = before.program.source == self.program.source
        by_hand = "" if same else rewritten(before.listing, self.listing, self.edited.owner)
        return account(why or by_hand or told(changed, new), old, new, unfelt(changed, new) if new is not None else "")


class Runs:
    """Runs listings on both engines; `own` is an engine that takes the place of ours."""

    def __init__(self, own: Any = None):
        self.own = own
        # The latest runs of texts, each from the same seed: a change that goes back to one need not run it again.
        self._latest: dict[Any, tuple[dict[str, Any], Recording, list[str]]] = Latest()
        try:
            self.devices: dict[str, str] = engines.load(TORCH).devices()  # with the reason why one is missing
        except ModuleNotFoundError as error:
            self.devices = {"cpu": "", "cuda": str(error)}

    def remembers(self, program: Program, source: str) -> bool:
        """Whether a listing gives the same each time that it runs."""
        return self.own is None and not program.namespace and _runs_alike(source)

    def both(self, program: Program, edited: Edited, state: dict[str, Any]) -> Run:
        """Run a listing on both engines."""
        sides: list[dict[str, Any]] = []
        recordings: dict[str, Recording] = {}
        random: dict[str, None] = {}
        how: dict[str, Any] = {"limit": STEPS}
        for engine in (CORE, TORCH):
            side, recording, drawn = self._side(program, engine, edited, state, how)
            sides.append(side)
            random |= dict.fromkeys(drawn)
            if recording is not None:
                recordings[engine] = recording
                if engine == CORE and self.own is None and recording.error is None:  # PyTorch's ends with the same line
                    how = {"limit": None, "until": math.inf if recording.cut is None else recording.ran}
        # Without PyTorch, what ran before the missing name is shown, with the error that says so.
        replaced = CORE in recordings and (TORCH in recordings or not recordings[CORE].graph.values)
        if replaced and (why := not_built(recordings[CORE], recordings.get(TORCH))):
            del recordings[CORE]
            sides[0] = {"engine": CORE, "title": sides[0]["title"], "missing": why}
        rows = table(recordings)
        agree = verdict(recordings, rows, sides)
        if any(row["differs"] for row in rows) and self.own is None and not program.namespace:  # for rounding, perhaps
            with warnings.catch_warnings(action="ignore"):  # what it warns of is told
                shaken, _ = self.recorded(program, TORCH, edited.source, state, **how, shaken=True)
            rows = table(recordings, shaken)
            agree = verdict(recordings, rows, sides)
        if CORE not in recordings and TORCH in recordings:
            ours, theirs = sides
            # The stage shows the one that ran. Of a network of one's own the badge says why; a missing name is below.
            sides = [theirs if program.alone else {**theirs, "alone": ours["missing"]}, ours]
        for side in sides:
            if side["engine"] in recordings:
                side.update(said(recordings[side["engine"]]))
        return Run(program, state, edited, recordings, sides, rows, agree, list(random))

    def recorded(
        self, program: Program, engine: str, source: str, state: dict[str, Any], limit: int | None = STEPS, **how: Any
    ) -> tuple[Recording, list[str]]:
        """A run of a listing on one engine, and the sources of random numbers that it used."""
        chosen, device = engines.load(engine), _device(engine, state)
        dtype = None if engine == CORE else state.get("default_dtype")
        namespace = program.namespace
        at_dtype = chosen.default_dtype(dtype) if dtype else contextlib.nullcontext()
        outside = as_before(chosen, found_in(chosen, namespace)) if program.alone else contextlib.nullcontext()
        with outside, at_dtype, chosen.on_one_thread(), chosen.seeded(SEED, device) as asked:
            inputs = {"input": asks, **namespace}
            if engine == CORE and self.own:
                return record(source, self.own, device, inputs), asked()
            return recorder(source, chosen, device, limit=limit, **how).run(inputs), asked()

    def _side(self, program: Program, engine: str, edited: Edited, state: dict[str, Any], how: dict[str, Any]) -> _Side:
        """One engine's part of a run; a sentence instead of a recording if the engine cannot run."""
        if program.alone not in ("", engine):
            name = title(engine, "cpu")
            return {"engine": engine, "title": name, "missing": OF_ONE.format(program.alone, name)}, None, []
        run = engine, *how.values(), edited.source, edited.origin, edited.owner, *map(state.get, PYTORCH)
        if run in self._latest:
            known, recording, random = self._latest[run]
            return dict(known), recording, random
        name = engine if self.own is None or engine != CORE else name_of(self.own)
        side: dict[str, Any] = {"engine": engine, "title": title(name, _device(engine, state))}
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                recording, random = self.recorded(program, engine, edited.source, state, **how)
        except (ModuleNotFoundError, ValueError, RuntimeError, MemoryError) as error:
            # An error outside the program, such as a missing PyTorch or device. The other engine continues.
            return {**side, "missing": missing(str(error) or type(error).__name__)}, None, []
        _count_from_zero(recording)
        if recording.error is not None:
            recording.error["line"] = edited.line_of(recording.error["line"])
        cut = [recording.graph.note] if recording.graph.ops else []
        if recording.cut is not None:
            line = edited.line_of(recording.cut)
            cut.append(f"The picture ends at line {line}, after {STEPS:,} steps; the program ran on without it.")
        if any(cut):
            side["cut"] = " ".join(cut).strip()
        texts = dict.fromkeys(without_other_frames(f"{one.category.__name__}: {one.message}") for one in warned)
        side["warnings"] = list(texts)[:_WARNED]
        about = [f"random numbers start from seed {SEED} in every run"] if random else []
        if engine == TORCH:
            about += [f"{device.upper()}: {reason}" for device, reason in self.devices.items() if reason]
        side["about"] = " · ".join(about)
        if self.remembers(program, edited.source):
            self._latest[run] = dict(side), recording, random
        return side, recording, random


def _runs_alike(text: str) -> bool:
    """Whether a text computes the same each time: it imports only the engines, and reads nothing from outside."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return False
    imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {name.partition(".")[0] for name in imported} <= {TORCH, CORE} and not names & _FROM_OUTSIDE


def _device(engine: str, state: dict[str, Any]) -> str:
    return "cpu" if engine == CORE else state.get("device", "cpu")


def _count_from_zero(recording: Recording) -> None:
    """Restart sequence numbers, as in a fresh process: an engine keeps counting, and the picture would change."""
    numbered = [op for op in recording.graph.ops.values() if op.sequence_nr is not None]
    least = min((op.sequence_nr or 0 for op in numbered), default=0)
    for op in numbered:
        op.sequence_nr = (op.sequence_nr or 0) - least
