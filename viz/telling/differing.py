"""What a change made different: values and ops of a run that the run before lacked, or had with other numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from difflib import SequenceMatcher
from typing import Any

from viz.recording.distance import different
from viz.recording.graph import Array, Graph
from viz.recording.notation import short, symbol
from viz.recording.recording import Recording

NEAR = 6  # parts beside which a picture may say what is gone
MANY = 1500  # parts of a graph; in a larger one nobody looks for what is lit
Lit = dict[str, Any]


def lit(before: Recording, after: Recording) -> dict[str, Any]:
    """What `after` has otherwise than `before`: `nodes`, by the key of the element, and what is `gone`.

    A node is `{"kind": "new" | "became" | "value" | "grad", "order": its place in the program, "value": [was, is],
    "grad": [was, is], "became": what a part that was there is now}`; `value` and `grad` are there if they differ. What
    is gone is `{"node": its name as a node, "part": its name as a part of the program, "now": the element that has its
    place, "near": the elements that were nearest to it}`; a name is empty where the view never had it.
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
        elif was.kind != value.kind and "leaf" in (was.kind, value.kind):  # a value's op says whether it is recorded
            became = "requires grad" if value.kind == "leaf" else "requires no grad"
            nodes[key] = {"kind": "became", "order": order, "became": became}
        elif was.retains_grad != value.retains_grad:
            kept = "kept" if value.retains_grad else "not kept"
            nodes[key] = {"kind": "became", "order": order, "became": f".grad {kept}"}
    partners = _same_ops(before.graph, after.graph)
    places = {key: order for order, key in enumerate(after.graph.values)}
    for key, op in after.graph.ops.items():
        order = places[op.outputs[0]] if op.outputs else 0
        if op.during != "forward":
            continue
        if key not in partners:
            nodes[key] = {"kind": "new", "order": order}
        elif op.recorded != before.graph.ops[partners[key]].recorded:
            became = "recorded" if op.recorded else "not recorded"
            nodes[key] = {"kind": "became", "order": order, "became": became}
    stays = {old: new for new, old in {**of_values, **partners}.items()}
    return {"nodes": nodes, "gone": list(_gone(before.graph, after.graph, stays))}


def _gone(before: Graph, after: Graph, stays: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What a graph no longer has; `stays` has the key of each part that is still there, by its key before."""
    names = {value.name for value in after.values.values()}
    users = before.users()

    def near(start: str) -> list[str]:
        """The parts that stay, the nearest first."""
        order, staying = [start], []
        for key in order:
            if key in stays:
                staying.append(stays[key])
            if len(staying) == NEAR:
                break
            op, value = before.ops.get(key), before.values.get(key)
            around = [*op.inputs, *op.outputs] if op is not None else [value.op if value else None, *users.get(key, ())]
            for near in around:
                if near is not None and near not in order:
                    order.append(near)
        return staying

    same = [(op, after.ops[stays[op.key]]) for op in before.ops.values() if op.key in stays]
    of_calls = {op.call: now.key for op, now in same if now.recorded < op.recorded}
    for op in before.ops.values():
        now = stays.get(op.key) or of_calls.get(op.call)
        if op.during != "forward" or (now is not None and after.ops[now].recorded >= op.recorded):
            continue
        outputs = [before.values[key] for key in op.outputs]
        now = now or next((after.values[stays[value.key]].op for value in outputs if value.key in stays), None)
        part = next((value.name for value in outputs if value.name and value.name not in names), "") or symbol(op)
        yield {"node": op.name if op.recorded else "", "part": part, "now": now, "near": near(op.key)}
    for value in before.values.values():
        if value.op is not None or not value.name or not (value.accumulate or value.key not in stays):
            continue
        still = after.values[stays[value.key]] if value.key in stays else None
        if still is None or still.accumulate is None:
            node = "AccumulateGrad" if value.accumulate else ""
            yield {"node": node, "part": "" if still else value.title, "now": None, "near": near(value.key)}


def _values(graph: Graph) -> list[dict[str, Hashable]]:
    """What makes a value the same as in another run: its title, or at least its name, which an expression is not."""
    by_title: dict[str, Hashable] = {}
    by_name: dict[str, Hashable] = {}
    for key, value in graph.values.items():
        about = tuple(value.shape or ()), graph.ops[value.op].function if value.op else ""
        by_title[key], by_name[key] = (value.title, about), (value.name, about)
    return [by_title, by_name]


def _ops(graph: Graph) -> list[dict[str, Hashable]]:
    """The same for an op: its function and the shape that it makes, or at least its function; recorded or not."""
    by_shape: dict[str, Hashable] = {}
    by_function: dict[str, Hashable] = {}
    for key, op in graph.ops.items():
        if op.during == "forward":
            shape = tuple(graph.values[op.outputs[0]].shape or ()) if op.outputs else ()
            by_shape[key], by_function[key] = (op.function, shape), op.function
    return [by_shape, by_function]


def _same_ops(before: Graph, after: Graph) -> dict[str, str]:
    """The key before of each op that both have; one function can record different nodes, as `[i]` and `[a:b]` do."""
    partners = _partners(_ops(before), _ops(after))
    pairs = [(new, old, after.ops[new], before.ops[old]) for new, old in partners.items()]
    switched = {now.call: old for _, old, now, was in pairs if now.recorded != was.recorded}
    # A call that is recorded can make several ops of what is one op otherwise.
    parts = {key: switched[op.call] for key, op in after.ops.items() if key not in partners and op.call in switched}
    return parts | {new: old for new, old, now, was in pairs if now.recorded != was.recorded or now.name == was.name}


def _partners(old: list[dict[str, Hashable]], new: list[dict[str, Hashable]]) -> dict[str, str]:
    """The key of the old part for each new one that is the same: by the first description, the rest by the next."""
    partners: dict[str, str] = {}
    for before, after in zip(old, new, strict=True):
        taken = set(partners.values())
        olds, news = [key for key in before if key not in taken], [key for key in after if key not in partners]
        if (first := [before[key] for key in olds]) == (second := [after[key] for key in news]):
            return partners | dict(zip(news, olds, strict=True))
        for i, j, length in SequenceMatcher(None, first, second, False).get_matching_blocks():
            partners |= dict(zip(news[j : j + length], olds[i : i + length], strict=True))
    return partners


def _gradients(recording: Recording) -> dict[str, Array | None]:
    """The last gradient that arrived at each value, and the `.grad` of each leaf."""
    gradients: dict[str, Array | None] = {}
    for event in recording.events:
        if event.kind == "run":
            for gradient in event.gradients:
                if gradient.value:
                    gradients[gradient.value] = gradient.array
    for event in recording.events:
        if event.kind == "accumulate" and event.values:
            gradients[event.values[0]] = event.total
    return gradients
