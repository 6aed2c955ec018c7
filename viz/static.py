"""The picture of a static graph: the ops that `tinygrad_edu.jit.trace` recorded, and the frozen values between them."""

from __future__ import annotations

import reprlib
from typing import Any

from tinygrad_edu.jit import Slot, Traced
from viz.draw import Picture, items_of
from viz.recording.graph import Graph, Op, Value
from viz.recording.notation import name_values


def draw_trace(traced: Traced, theme: str = "auto") -> Picture:
    """Draw the result of `T.jit.trace`: inputs, ops and results. A dotted op is a question that no replay asks again.

    Values are not shown: a trace has none until it is called.

    >>> import tinygrad_edu as T
    >>> len(draw_trace(T.jit.trace(lambda x: x * 2 + 1, T.tensor(3.0))).graph.ops)
    2
    """
    graph = Graph()

    def value(slot: Slot, made_by: str | None) -> str:
        """The key of a slot's value. An in-place op gives the same slot a new value, and the last one counts."""
        key = f"v{len(graph.values) + 1}"
        shape, dtype = traced.made[slot.number]
        kind = "value" if made_by else "input"
        about = str(dtype).rpartition(".")[2]
        graph.values[key] = Value(key, kind, traced.label(slot), shape=list(shape), dtype=about, op=made_by)
        current[slot.number] = key
        return key

    current: dict[int, str] = {}
    for number in (*range(len(traced.inputs)), *traced.constants):
        value(Slot(number), None)
    asked = 0
    for position in range(len(traced.steps) + 1):
        while asked < len(traced.frozen) and traced.frozen[asked].after == position:
            frozen = traced.frozen[asked]
            asked += 1
            key, answer = f"f{asked}", f"a{asked}"
            graph.ops[key] = Op(
                key, frozen.what, frozen.what, recorded=False, inputs=[current[frozen.slot.number]], outputs=[answer]
            )
            graph.values[answer] = Value(answer, "result", f"{reprlib.repr(frozen.value)}, frozen", shape=[], op=key)
        if position == len(traced.steps):
            break
        step = traced.steps[position]
        key = f"o{position + 1}"
        arguments = _leaves((step.args, step.kwargs))
        inputs: list[str | None] = [current[each.number] for each in arguments if isinstance(each, Slot)]
        constants = [reprlib.repr(each) for each in arguments if not isinstance(each, Slot)]
        op = graph.ops[key] = Op(key, step.name, step.name, inputs=inputs, constants=constants)
        # A call that returns nothing has written into its first input.
        results = [each for each in _leaves(step.outputs) if isinstance(each, Slot)] or arguments[:1]
        op.outputs = [value(slot, key) for slot in results]
    graph.roots = [current[each.number] for each in _leaves(traced.output) if isinstance(each, Slot)]
    name_values(graph)
    picture = Picture(graph, "values", theme, f"The trace of {traced.name}")
    if traced.frozen:
        picture.caption = (
            "Dotted: Python asked this once, while the trace was made. No replay asks again; the answer is frozen."
        )
    return picture


def _leaves(thing: Any) -> list[Any]:
    return [each for each in items_of(thing) if each is not None]
