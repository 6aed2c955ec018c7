"""The text around a picture: details of the element under the pointer, and one sentence for the whole."""

from __future__ import annotations

from viz.frames.words import Words
from viz.recording import notation
from viz.recording.graph import Graph
from viz.recording.notation import brief


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
