"""What a change made different: the values and ops of a run that the run before did not have, or had with other numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from difflib import SequenceMatcher
from typing import Any

from viz.recording.distance import different
from viz.recording.graph import Array, Graph, Value
from viz.recording.notation import short, symbol
from viz.recording.recording import Recording

NEAR = 6  # parts beside which a picture may say what is gone
MANY = 1500  # parts of a graph; in a larger one nobody looks for what is lit
Lit = dict[str, Any]


def lit(before: Recording, after: Recording) -> dict[str, Any]:
    """What `after` has otherwise than `before`: `nodes`, by the key of the element, and what is `gone`.

    A node is `{"kind": "new" | "value" | "grad", "order": its place in the program, "value": [was, is], "grad": [was, is]}`;
    `value` and `grad` are there if they differ. What is gone is `{"node": its name as a node, "part": its name as a part of the
    program, "now": the element that has its place, "near": the elements that were nearest to it}`; a name is empty where the
    view never had it.
    """
    if len(before.graph.values) + len(after.graph.values) > MANY:
        return {"nodes": {}, "gone": []}
    nodes: dict[str, Lit] = {}
    of_values = partners = _partners(_values(before.graph), _values(after.graph))
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
    stays = {old: new for new, old in {**of_values, **partners}.items()}
    return {"nodes": nodes, "gone": list(_gone(before.graph, after.graph, stays))}


def _gone(before: Graph, after: Graph, stays: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What a graph no longer has; `stays` has the key of each part that is still there, by its key before."""
    names = {value.name for value in after.values.values()}
    users: dict[str, list[str]] = {}
    for op in before.ops.values():
        for key in op.inputs:
            if key is not None:
                users.setdefault(key, []).append(op.key)

    def near(start: str) -> list[str]:
        """The parts that stay, the nearest first."""
        order, found = [start], []
        for key in order:
            if key in stays:
                found.append(stays[key])
            if len(found) == NEAR:
                break
            op, value = before.ops.get(key), before.values.get(key)
            around = [*op.inputs, *op.outputs] if op is not None else [value.op if value else None, *users.get(key, ())]
            order += [one for one in dict.fromkeys(around) if one is not None and one not in order]
        return found

    for op in before.ops.values():
        if op.key in stays or op.during != "forward":
            continue
        made = [before.values[key] for key in op.outputs]
        now = next((after.values[stays[value.key]].op for value in made if value.key in stays), None)
        part = next((value.name for value in made if value.name and value.name not in names), "") or symbol(op)
        yield {"node": op.name if op.recorded else "", "part": part, "now": now, "near": near(op.key)}
    for value in before.values.values():
        if value.op is not None or not value.name or not (value.accumulate or value.key not in stays):
            continue
        still = after.values[stays[value.key]] if value.key in stays else None
        if still is None or still.accumulate is None:
            node = "AccumulateGrad" if value.accumulate else ""
            yield {"node": node, "part": "" if still else value.title, "now": None, "near": near(value.key)}


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
