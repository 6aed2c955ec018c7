"""The path of a finding, from parameter to loss: a still picture and a scene that mark where the gradient ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from viz.diagnosis.finding import Finding, number
from viz.diagnosis.observation import Observation, Seen
from viz.draw import Picture
from viz.frames import details
from viz.frames import scene as scenes
from viz.frames.stage import Stage, shown_moves, translated
from viz.picture import shapes, svg
from viz.picture.svg import State, States
from viz.recording.graph import Graph, Op, Value

MOST = 3  # ops of a path that are shown; those between are counted
VIEW = "values"
WIDE = 700  # pixels: a wider picture gets a narrower one beside it
PASSES_ON = {  # by group of trouble: what an op sends back where it goes wrong
    2: (0.0, " and passes on only zeros"),
    3: (math.nan, "; the gradient that it passes on, or its result, is not finite"),
}


@dataclass
class Hop:
    """One op of a path, or several that are not shown, with the values before and after it."""

    op: Op
    given: Value
    out: Value
    before: Seen
    after: Seen


@dataclass
class Path:
    """A path as a graph, op by op from the parameter to the loss; `cut` is the op where it goes wrong."""

    finding: Finding
    graph: Graph = field(default_factory=Graph)
    hops: list[Hop] = field(default_factory=list)
    cut: str | None = None
    state: States = field(default_factory=dict)  # what is marked in its picture

    @property
    def title(self) -> str:
        """What stands above its picture."""
        return f"{self.finding.kind}: the path in the graph"


def path_of(seen: Observation, finding: Finding) -> Path | None:
    """The path of a finding, or None if it has none."""
    path = [seen.values[nr] for nr in finding.path]
    if path and path[0].nr == finding.cut:  # the op that made it goes wrong, so it is shown with one of its inputs
        path = [*[value for value in seen.inputs(path[0]) if value.floating][:1], *path]
    if len(path) < 2:
        return None
    end = len(path) - 1
    cut = next((index for index, value in enumerate(path) if value.nr == finding.cut), None)
    stops = set(range(len(path)))
    if end > MOST:
        stops = {0, 1, end - 1, end} if cut is None else {0, max(cut - 1, 0), cut, end}
    made = Path(finding)
    given = _value(seen, made.graph, path[0])
    for start, stop in itertools.pairwise(sorted(stops)):
        hop = _hop(seen, made.graph, given, path[start], path[stop], stop - start)
        made.hops.append(hop)
        if stop == cut:
            made.cut, made.state = hop.op.key, {hop.op.key: State("error")}
        given = hop.out
    return made


def _hop(seen: Observation, graph: Graph, source: Value, before: Seen, after: Seen, count: int) -> Hop:
    """Add the op that leads from one value to another, or one pill for several."""
    maker = seen.maker(after)
    out = _value(seen, graph, after)
    op = Op(f"o{len(graph.ops)}", f"{count} ops", "…", after.requires_grad, [source.key], outputs=[out.key])
    if count == 1:
        linked = maker is not None and before.nr in maker.inputs
        op.function = maker.called if maker is not None and linked else "as a Python number"
        op.name = (maker.node if maker is not None else "") or op.function
        op.recorded = maker is not None and linked and maker.recorded
        op.line = maker.line if maker is not None else None
    if op.recorded:
        op.next = [(source.op or source.accumulate if source.kind != "result" else None, 0)]
    out.op = op.key
    graph.ops[op.key] = op
    return Hop(op, source, out, before, after)


def _value(seen: Observation, graph: Graph, value: Seen) -> Value:
    key = f"v{len(graph.values)}"
    leaf = seen.leaves[value.leaf] if value.leaf is not None else None
    name = (leaf.name if leaf is not None else "") or value.name
    kind = ("value" if leaf is None else "leaf") if value.requires_grad else "result"
    shown = Value(key, kind, name, [name] if name else [], shape=list(value.shape), dtype=value.dtype, line=value.line)
    shown.expression = "" if name else seen.places.named(value.line)
    shown.requires_grad = value.requires_grad
    shown.accumulate = f"a{key[1:]}" if kind == "leaf" else None
    graph.values[key] = shown
    return shown


def picture(path: Path) -> Picture:
    """The path as a still picture."""
    caption = "Marked in red: where it goes wrong." if path.cut is not None else ""
    return Picture(path.graph, title=path.title, state=path.state, caption=caption)


def scene(seen: Observation, path: Path) -> dict[str, Any]:
    """The path as a scene for the stage: the gradient moves from the loss, op by op, until it ends."""
    stage = Stage()
    steps = []
    for phase, title, sentence, line in _steps(seen, path, stage):
        steps.append({"phase": phase, "title": title, "sentence": sentence, "line": line})
        stage.close()
    stage.patches[0] = {}
    shown = [_drawn(path, stage, shapes.FULL, 0)]
    if shown[0]["width"] > WIDE:  # a narrow place gets a picture with less in it, shown whole
        shown += [_drawn(path, stage, detail, rank) for rank, detail in enumerate(shapes.DETAILS[1:], 1)]
    view = {**shown[0], "others": shown[1:]}
    return {"title": path.title, "views": {VIEW: view}, "steps": steps, "details": details.details(path.graph)}


def _drawn(path: Path, stage: Stage, detail: shapes.Detail, rank: int) -> dict[str, Any]:
    """One picture of the path, in the stage's form. The higher `rank` is, the less the picture shows."""
    identity = scenes.new_identity()
    drawing = shapes.drawing(path.graph, VIEW, stage.longest, detail=detail)
    layout = scenes.arrange(drawing)
    width, height = svg.canvas(layout, [])
    drawn = svg.write(drawing, layout, identity, path.state, path.title, details.describe(path.graph))
    patches, moves = [translated(patch, drawing) for patch in stage.patches], shown_moves(stage.moves, drawing)
    sizes = {"width": round(width), "height": round(height), "rank": rank, "least": detail.least}
    return {"svg": drawn, "patches": patches, "moves": moves, "id": identity, **sizes}


def _steps(seen: Observation, path: Path, stage: Stage) -> Iterator[tuple[str, str, str, int | None]]:
    """Phase, title, sentence and line of each step; `stage` receives what changes in it."""
    first, last = path.hops[0], path.hops[-1]
    name = first.given.title
    marked = "; marked in red: where it goes wrong" if path.cut is not None else ""
    told = f"How numbers flow forward{marked}. Step to see how far a gradient comes back."
    yield "start", f"From {name} to {last.out.title}", told, None
    for hop in reversed(path.hops):
        op, arrived, sent = hop.op, hop.after.grad, hop.before.grad
        several = op.function == "…"
        at = f"{op.name if several else op.function}{f' in {seen.places.named(op.line)}' if op.line else ''}"
        if op.key == path.cut:
            title = "Here it ends" if path.finding.group in (1, 2) else "Here it goes wrong"
            yield "error", title, f"{at} {_at_the_cut(path, hop, stage)}", op.line
            break
        if arrived is None:
            stage.passing(hop.out.key, "error", "done")
            told = f"No gradient ever reached {hop.out.title}: nothing that leads there was recorded."
            yield "error", "No gradient", told, op.line
            break
        _comes_back(hop, stage, sent)
        s = "" if several else "s"
        told = f" and send{s} numbers up to {number(sent)} on" if sent is not None else ""
        yield "backward", f"Backward: {at}", f"{at} receive{s} numbers up to {number(arrived)}{told}.", op.line
    if first.before.leaf is not None:
        known = seen.leaves[first.before.leaf].gradients
        told = number(known[-1][1]) if known else "None"
        stage.passing(first.given.key, "error", "done", grad=f".grad {told}", short=f".grad {told}")
        largest = "" if told in ("None", "0", "nan") else " at most"
        yield "end", f"{name}.grad", f"{name}.grad {'is' if known else 'stays'} {told}{largest}.", first.given.line


def _at_the_cut(path: Path, hop: Hop, stage: Stage) -> str:
    """What happens to the gradient in the op where it goes wrong."""
    sent, told = PASSES_ON.get(path.finding.group, (None, ": this is where it goes wrong"))
    if hop.op.recorded and sent is not None:
        _comes_back(hop, stage, sent)
    stage.set(hop.op.key, "error")
    if not hop.op.recorded:
        return "was not recorded: there is no node for a gradient to pass through."
    arrived = hop.after.grad
    return f"receives {f'numbers up to {number(arrived)}' if arrived is not None else 'no gradient'}{told}."


def _comes_back(hop: Hop, stage: Stage, sent: float | None) -> None:
    """A gradient goes through an op, and along the line to its input."""
    stage.passing(hop.op.key, "running", "has-grad")
    stage.set(f"b{hop.out.key}", "has-grad")
    if sent is not None:
        stage.passing(f"b{hop.op.key}i0", "running", "has-grad", label=number(sent))
        stage.move("along", f"b{hop.op.key}i0", number(sent))
