"""The text around a picture: details of the element under the pointer, the legend, and one sentence for the whole."""

from __future__ import annotations

from viz.frames.words import Words
from viz.picture.fold import Folding
from viz.recording import notation
from viz.recording.graph import Graph
from viz.recording.notation import brief
from viz.recording.recording import Recording

LEGEND = {
    "leaf": "leaf that requires grad",
    "input": "leaf that does not",
    "value": "result of a recorded op",
    "result": "result that is not recorded",
    "op": "op, with its backward node",
    "unrecorded": "op that ran but was not recorded",
    "fold": "several ops, folded: a click opens it",
    "accumulate": "AccumulateGrad, adds into a leaf's .grad",
    "saved": "saved tensor (struck through: freed)",
    "share": "shares memory with",
    "forward": "value flowing forward",
    "back": "gradient flowing back (.grad: what a tensor holds)",
}

# The parts that only one of the views draws.
ALONE = {"values": {"leaf", "input", "value", "result", "unrecorded", "share", "forward"}, "grad_fn": {"accumulate"}}


def describe(graph: Graph) -> str:
    """The picture in a sentence, for readers who cannot see it."""
    ops = sum(op.recorded for op in graph.ops.values())
    values = len(graph.values)
    return f"{values} values, {ops} recorded ops, {len(graph.ops) - ops} not recorded."


def details(graph: Graph) -> dict[str, list[list[str]]]:
    """Everything known about each element, shown when a reader points at it."""
    words = Words(graph)
    about: dict[str, list[list[str]]] = {}
    for value in graph.values.values():
        rows = [["name", value.title]]
        if len(value.names) > 1:
            rows.append(["also called", ", ".join(value.names[1:])])
        rows.append(["shape", f"{notation.shape(value.shape)} {value.dtype}".strip()])
        if value.array is not None:
            rows.append(["value", brief(value.array)])
        rows.append(["requires_grad", str(value.requires_grad)])
        rows.append(["is_leaf", str(value.kind != "value")])
        if value.op is not None:
            rows.append(["made by", words.node(value.op)])
        if value.shares is not None:
            rows.append(["shares memory with", graph.values[value.shares].title])
        rows.append(["version", str(value.version)])
        about[value.key] = rows
        if value.accumulate:
            about[value.accumulate] = [["node", "AccumulateGrad"], ["leaf", value.title]]
    for op in graph.ops.values():
        rows = [["op", notation.symbol(op)]]
        rows.append(["node", op.name] if op.recorded else ["recorded", "no"])
        if op.sequence_nr is not None:
            rows.append(["sequence number", str(op.sequence_nr)])
        rows += [[f"saved {saved.name}", words.saved(op, saved)] for saved in op.saved]
        if op.constants:
            rows.append(["constants", ", ".join(op.constants)])
        if op.module:
            rows.append(["module", op.module])
        if op.line is not None:
            rows.append(["line", str(op.line)])
        about[op.key] = rows
    return about


def legend(recording: Recording, foldings: list[Folding]) -> list[dict[str, str]]:
    """The legend: only what these pictures use. An entry with a `view` belongs to that view alone."""
    graph = recording.graph
    kinds = {value.kind for value in graph.values.values()}
    kinds |= {"op" if op.recorded else "unrecorded" for op in graph.ops.values()}
    if any(op.saved for op in graph.ops.values()):
        kinds.add("saved")
    if any(value.shares for value in graph.values.values()):
        kinds.add("share")
    if graph.accumulators():
        kinds.add("accumulate")
    if graph.ops:
        kinds.add("forward")
    if any(folding.folds for folding in foldings):
        kinds.add("fold")
    if any(event.kind == "run" for event in recording.events):
        kinds.add("back")
    made = [{"kind": kind, "label": label} for kind, label in LEGEND.items() if kind in kinds]
    for item in made:
        if view := next((view for view, alone in ALONE.items() if item["kind"] in alone), ""):
            item["view"] = view
    return made
