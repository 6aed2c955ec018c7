"""The path of a finding, from a parameter to the loss: a still picture and a scene that mark where the gradient ends."""

from __future__ import annotations

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
from viz.picture.svg import State
from viz.recording.graph import Graph, Op, Value

MOST = 3  # ops of a path that are shown; those between are counted
VIEW = "values"
WIDE = 700  # pixels: a wider picture gets a narrower one beside it


@dataclass
class Hop:
    """One op of a path, or several that are not shown, with the values before and after it."""

    op: str
    given: str
    out: str
    before: Seen
    after: Seen


@dataclass
class Path:
    """A path as a graph, op by op from the parameter to the loss; `cut` is the op where it goes wrong."""

    finding: Finding
    graph: Graph = field(default_factory=Graph)
    hops: list[Hop] = field(default_factory=list)
    cut: str | None = None

    @property
    def title(self) -> str:
        """The title of its picture."""
        return f"{self.finding.kind}: the path in the graph"


def path_of(seen: Observation, finding: Finding) -> Path | None:
    """The path of a finding, or None if it has none."""
    path = [seen.values[nr] for nr in finding.path]
    if path and path[0].nr == finding.cut:  # the op that made it goes wrong, so it is shown with one of its inputs
        given = [value for value in seen.inputs(path[0]) if value.floating]
        path = [*given[:1], *path]
    if len(path) < 2:
        return None
    cut = next((place for place, value in enumerate(path) if value.nr == finding.cut), None)
    made = Path(finding)
    before = _add(seen, made.graph, path[0])
    place = 1
    while place < len(path):
        count = 1
        if not _shown(place, cut, len(path)):
            while place + count < len(path) and not _shown(place + count, cut, len(path)):
                count += 1
        key, output = _op(seen, made.graph, before, path, place, count, shown=_shown(place, cut, len(path)))
        made.hops.append(Hop(key, before, output, path[place - 1], path[place + count - 1]))
        if place == cut:
            made.cut = key
        before = output
        place += count
    return made


def _op(
    seen: Observation, graph: Graph, before: str, path: list[Seen], place: int, count: int, shown: bool
) -> tuple[str, str]:
    """Add the op that made `path[place]`, or one pill for `count` ops. Returns its key and that of its result."""
    key = f"o{len(graph.ops)}"
    last = path[place + count - 1]
    made = seen.maker(last)
    linked = made is not None and path[place - 1].nr in made.inputs
    if not shown:
        name, function, recorded, line = f"{count} op{'s' if count > 1 else ''}", "…", last.requires_grad, None
        output = f"v{len(graph.values)}"
        kind = "value" if last.requires_grad else "result"
        graph.values[output] = Value(
            output, kind, last.name, expression=seen.places.named(last.line), shape=list(last.shape)
        )
    else:
        function = made.called if made is not None and linked else "as a Python number"
        name = (made.node if made is not None else "") or function
        recorded = made is not None and linked and made.recorded
        line = made.line if made is not None else None
        output = _add(seen, graph, last)
    source = graph.values[before]
    behind = source.op or source.accumulate if source.requires_grad or source.kind == "value" else None
    graph.ops[key] = Op(key, name, function, recorded, [before], [(behind, 0)] if recorded else [], [output], line=line)
    graph.values[output].op = key
    return key, output


def _shown(place: int, cut: int | None, length: int) -> bool:
    if length - 1 <= MOST or cut is None:
        return length - 1 <= MOST or place in (1, length - 1)
    return place == cut or (place == 1 and cut == 2) or (place == length - 1 and cut == length - 2)


def _add(seen: Observation, graph: Graph, value: Seen) -> str:
    key = f"v{len(graph.values)}"
    leaf = seen.leaves[value.leaf] if value.leaf is not None else None
    name = (leaf.name if leaf is not None else "") or value.name
    kind = "leaf" if leaf is not None and value.requires_grad else "value" if value.requires_grad else "result"
    graph.values[key] = Value(
        key,
        kind,
        name,
        [name] if name else [],
        "" if name else seen.places.named(value.line),
        list(value.shape),
        value.dtype,
        requires_grad=value.requires_grad,
        accumulate=f"a{key[1:]}" if kind == "leaf" else None,
        line=value.line,
    )
    return key


def picture(path: Path) -> Picture:
    """The path as a still picture."""
    caption = "Marked in red: where it goes wrong." if path.cut is not None else ""
    state = {path.cut: State("error")} if path.cut is not None else {}
    return Picture(path.graph, title=path.title, state=state, caption=caption)


def scene(seen: Observation, path: Path) -> dict[str, Any]:
    """The path as a scene for the stage: the gradient moves from the loss, op by op, until it ends."""
    stage = Stage()
    steps = []
    for step in _steps(seen, path, stage):
        steps.append(step)
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
    first = {path.cut: State("error")} if path.cut is not None else {}
    width, height = svg.canvas(layout, [])
    return {
        "svg": svg.write(drawing, layout, identity, first, path.title, details.describe(path.graph)),
        "patches": [translated(patch, drawing) for patch in stage.patches],
        "moves": shown_moves(stage.moves, drawing),
        "id": identity,
        "rank": rank,
        "least": detail.least,
        "width": round(width),
        "height": round(height),
    }


def _steps(seen: Observation, path: Path, stage: Stage) -> Iterator[dict[str, Any]]:
    """The sentence for each step; `stage` receives what changes in it."""
    ends, name = path.graph.values[path.hops[-1].out], path.graph.values[path.hops[0].given].title
    marked = "; marked in red: where it goes wrong" if path.cut is not None else ""
    yield _step(
        "start",
        f"From {name} to {ends.title}",
        f"How numbers flow forward{marked}. Step to see how far a gradient comes back.",
    )
    for hop in reversed(path.hops):
        op, arrived, sent = path.graph.ops[hop.op], hop.after.grad, hop.before.grad
        at = f"{op.function if op.function != '…' else op.name}{f' in {seen.places.named(op.line)}' if op.line else ''}"
        if hop.op == path.cut:
            yield _at_the_cut(path, hop, at, stage)
            break
        if arrived is None:
            stage.passing(hop.out, "error", "done")
            yield _step(
                "error",
                "No gradient",
                f"No gradient ever reached {path.graph.values[hop.out].title}: nothing that leads there was recorded.",
                op.line,
            )
            break
        _comes_back(hop, stage, sent)
        many = "" if op.line is None and op.function == "…" and not op.name.startswith("1 ") else "s"
        told = f" and send{many} numbers up to {_size(sent)} on" if sent is not None else ""
        yield _step("backward", f"Backward: {at}", f"{at} receive{many} numbers up to {_size(arrived)}{told}.", op.line)
    leaf = path.hops[0].before.leaf
    if leaf is not None:
        known = seen.leaves[leaf].gradients
        told = _size(known[-1][1]) if known else "None"
        stage.passing(path.hops[0].given, "error", "done", grad=f"grad {told}", short=f"grad {told}")
        largest = "" if told in ("None", "0", "nan") else " at most"
        yield _step(
            "end",
            f"{name}.grad",
            f"{name}.grad {'stays' if told == 'None' else 'is'} {told}{largest}.",
            path.graph.values[path.hops[0].given].line,
        )


def _at_the_cut(path: Path, hop: Hop, at: str, stage: Stage) -> dict[str, Any]:
    """The op where it goes wrong, and what happens to the gradient there."""
    op, arrived = path.graph.ops[hop.op], hop.after.grad
    stage.set(hop.op, "error")
    came = f"receives numbers up to {_size(arrived)}" if arrived is not None else "receives no gradient"
    if not op.recorded:
        text = f"{at} was not recorded: there is no node for a gradient to pass through."
    elif path.finding.group == 2:
        _comes_back(hop, stage, 0.0)
        text = f"{at} {came} and passes on only zeros."
    elif path.finding.group == 3:
        _comes_back(hop, stage, math.nan)
        text = f"{at} {came}; the gradient that it passes on, or its result, is not finite."
    else:
        text = f"{at} {came}: this is where it goes wrong."
    stage.set(hop.op, "error")
    return _step("error", "Here it ends" if path.finding.group in (1, 2) else "Here it goes wrong", text, op.line)


def _comes_back(hop: Hop, stage: Stage, sent: float | None) -> None:
    """A gradient goes through an op, and along the line to its input."""
    stage.passing(hop.op, "running", "has-grad")
    stage.set(f"b{hop.out}", "has-grad")
    if sent is not None:
        stage.passing(f"b{hop.op}i0", "running", "has-grad", label=_size(sent))
        stage.move("along", f"b{hop.op}i0", _size(sent))


def _step(phase: str, title: str, sentence: str, line: int | None = None) -> dict[str, Any]:
    return {"phase": phase, "title": title, "sentence": sentence, "line": line}


def _size(size: float | None) -> str:
    return "None" if size is None else number(size)
