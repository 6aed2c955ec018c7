"""What a change made different: the values and ops of a run that the run before did not have, or had with other numbers."""

from __future__ import annotations

from collections.abc import Hashable
from difflib import SequenceMatcher
from typing import Any

from viz.recording.distance import different
from viz.recording.graph import Array, Graph, Value
from viz.recording.notation import short
from viz.recording.recording import Recording

MANY = 1500  # parts of a graph; in a larger one nobody looks for what is lit
Lit = dict[str, Any]


def lit(before: Recording, after: Recording) -> dict[str, Any]:
    """What `after` has otherwise than `before`: `nodes`, by the key of the element, and the names of what is `gone`.

    A node is `{"kind": "new" | "value" | "grad", "order": its place in the program, "value": [was, is], "grad": [was, is]}`;
    `value` and `grad` are there if they differ.
    """
    if len(before.graph.values) + len(after.graph.values) > MANY:
        return {"nodes": {}, "gone": []}
    nodes: dict[str, Lit] = {}
    partners = _partners(_values(before.graph), _values(after.graph))
    grads = _gradients(before), _gradients(after)
    for order, (key, value) in enumerate(after.graph.values.items()):
        old = partners.get(key)
        if old is None:
            nodes[key] = {"kind": "new", "order": order}
            continue
        was = before.graph.values[old]
        told: Lit = {}
        if value.array is not None and was.array is not None and different(was.array, value.array):
            told["value"] = [short(was.array), short(value.array)]
        if different(grads[0].get(old), grads[1].get(key)):
            told["grad"] = [short(grads[0].get(old)) or "none", short(grads[1].get(key)) or "none"]
        if told:
            nodes[key] = {"kind": "value" if "value" in told else "grad", "order": order, **told}
        elif was.kind != value.kind:
            nodes[key] = {"kind": "new", "order": order}
    partners = _partners(_ops(before.graph), _ops(after.graph))
    for key, op in after.graph.ops.items():
        if op.during == "forward" and key not in partners:
            nodes[key] = {"kind": "new", "order": list(after.graph.values).index(op.outputs[0]) if op.outputs else 0}
    left = set(before.graph.ops) - set(partners.values())
    gone = [op for key, op in before.graph.ops.items() if key in left and op.during == "forward"]
    return {"nodes": nodes, "gone": [op.name for op in gone]}


def _values(graph: Graph) -> dict[str, Hashable]:
    return {key: (value.title, tuple(value.shape or ()), _made(graph, value)) for key, value in graph.values.items()}


def _made(graph: Graph, value: Value) -> str:
    op = graph.ops.get(value.op or "")
    return "" if op is None else op.function


def _ops(graph: Graph) -> dict[str, Hashable]:
    return {key: (op.name, op.recorded) for key, op in graph.ops.items() if op.during == "forward"}


def _partners(old: dict[str, Hashable], new: dict[str, Hashable]) -> dict[str, str]:
    """The key of the old part for each new one that is the same part."""
    if list(old.items()) == list(new.items()):
        return dict(zip(new, old, strict=True))
    olds, news = list(old), list(new)
    found: dict[str, str] = {}
    for first, second, length in SequenceMatcher(
        None, list(old.values()), list(new.values()), False
    ).get_matching_blocks():
        found |= dict(zip(news[second : second + length], olds[first : first + length], strict=True))
    return found


def _gradients(recording: Recording) -> dict[str, Array | None]:
    """The last gradient that arrived at each value, and the `.grad` of each leaf."""
    found: dict[str, Array | None] = {}
    for event in recording.events:
        if event.kind == "run":
            found |= {one.value: one.array for one in event.gradients if one.value}
    for event in recording.events:
        if event.kind == "accumulate" and event.values:
            found[event.values[0]] = event.total
    return found
