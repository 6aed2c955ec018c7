"""The numbers of one tensor of a recording: its entries as a table, and the sum of products that made one of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from viz.recording import notation
from viz.recording.graph import Array, Op
from viz.recording.notation import number
from viz.recording.recording import Recording
from viz.telling.arithmetic import Arithmetic, Part, numbers_of, place, signed

SHOWN = 24  # terms of a sum that are listed
KEPT = 1024  # numbers of an array that a recording keeps, where somebody asks for them
ENTRIES = 600  # whose sums a page without a kernel holds
VALUE, GRAD = "value", "grad"


def key_of(recording: Recording, element: str) -> str | None:
    """The value that an element of a picture is about: an op's result, an AccumulateGrad's leaf, or itself."""
    graph = recording.graph
    if element in graph.values:
        return element
    if element in graph.ops:
        return next(iter(graph.ops[element].outputs), None)
    leaf = graph.accumulators().get(element)
    return leaf.key if leaf is not None else None


def summarised(recording: Recording, key: str) -> bool:
    """Whether the recording holds the value, or what made it, only as a summary that KEPT would hold in full."""
    value = recording.graph.values[key]
    op = recording.graph.ops.get(value.op or "")
    around = [key, *(value for value in (op.inputs if op else []) if value is not None)]
    around += [
        value
        for other in recording.graph.ops.values()
        if key in other.inputs
        for value in (*other.inputs, *other.outputs)
        if value
    ]
    arrays = (recording.graph.values[value].array for value in around)
    return any(array is not None and array.data is None and array.size <= KEPT for array in arrays)


def numbers_sheet(
    recording: Recording,
    key: str,
    of: str = "",
    index: tuple[int, ...] | None = None,
    arithmetic: Arithmetic | None = None,
) -> dict[str, Any]:
    """What a page shows of a value's numbers: the tables of its value and its gradient, and how entry `index` was made.

    `of` is by default the value; of a leaf, which no op made, the gradient. `index` is by default the largest entry.
    `arithmetic` is that of the recording, if there is one already.
    """
    arithmetic = arithmetic or Arithmetic(recording)
    value = recording.graph.values[key]
    arrays = {VALUE: arithmetic.numbers(key), GRAD: arithmetic.arrived(key)}
    of = of or (GRAD if value.op is None else VALUE)
    if arrays[of] is None:
        of = VALUE
    numbers = arrays[of]
    shown: dict[str, Any] = {
        "key": key,
        "title": value.title,
        "shape": f"{notation.shape(value.shape)} {value.dtype}".strip(),
        "of": of,
        "tables": {name: _table(array) for name, array in arrays.items() if array is not None},
        "without": _without(recording, key, arrays),
        "index": None,
        "made": [],
        "sentence": "",
    }
    if numbers is None or not numbers.size:
        return shown
    if index is None or index not in np.ndindex(numbers.shape):
        sizes = np.where(np.isnan(numbers), -1.0, np.abs(numbers))  # the largest, also where nothing but nan is left
        index = tuple(int(i) for i in np.unravel_index(int(sizes.argmax()), numbers.shape))
    parts = arithmetic.gradient(key, index) if of == GRAD else [arithmetic.value(key, index)]
    present = [part for part in parts if part is not None]
    title = place(f"∂/∂{value.title}" if of == GRAD else value.title, index)
    shown["index"] = list(index)
    shown["made"] = [_part(part) for part in present]
    shown["sentence"] = _sentence(recording, key, of, title, float(numbers[index]), present)
    return shown


def asked_for(recording: Recording, asked: dict[str, Any]) -> dict[str, Any]:
    """The sheet of the element that a page asks for: `key`, `of` and `index`; empty if the element has no numbers."""
    key = key_of(recording, str(asked.get("key")))
    if key is None:
        return {}
    index, of = asked.get("index"), asked.get("of")
    chosen = tuple(int(i) for i in index) if isinstance(index, list) else None
    return numbers_sheet(recording, key, of if of in (VALUE, GRAD) else "", chosen)


def all_sheets(recording: Recording, most: int = ENTRIES) -> dict[str, Any]:
    """Every sheet of a recording, for a page on its own: `sheets` by value, and `of`, the value of each other element.

    `entries` of a sheet says how entries were made (`"grad:0,1"`), up to `most` of them, those of small tensors first.
    """
    graph, arithmetic = recording.graph, Arithmetic(recording)
    sheets: dict[str, Any] = {}
    for value in sorted(graph.values.values(), key=lambda value: math.prod(value.shape or ())):
        sheet = numbers_sheet(recording, value.key, arithmetic=arithmetic)
        entries: dict[str, Any] = {}
        for of, table in sheet["tables"].items():
            for head in table["heads"]:
                for column in range(len(table["rows"][0])):
                    index = () if table["scalar"] else (*head, column)
                    if most <= 0:
                        break
                    most -= 1
                    entry = numbers_sheet(recording, value.key, of, index, arithmetic)
                    entries[f"{of}:{','.join(map(str, index))}"] = [entry["sentence"], entry["made"]]
        sheets[value.key] = {**sheet, "entries": entries}
    elements = [*graph.ops, *graph.accumulators()]
    return {
        "sheets": sheets,
        "of": {element: key for element in elements if (key := key_of(recording, element)) is not None},
    }


def _table(array: np.ndarray) -> dict[str, Any]:
    """An array as rows of texts, with the index of each row and how large each number is, from −1 to 1."""
    flat = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    largest = float(np.nanmax(np.abs(array[np.isfinite(array)]), initial=0.0)) or 1.0
    heads = [list(map(int, at)) for at in np.ndindex(array.shape[:-1])] if array.ndim else [[]]
    return {
        "heads": heads,
        "rows": [[number(cell, 3) for cell in row] for row in flat.tolist()],
        "shades": [[round(cell / largest, 2) if np.isfinite(cell) else 0.0 for cell in row] for row in flat.tolist()],
        "scalar": array.ndim == 0,
    }


def _part(part: Part) -> dict[str, Any]:
    terms = [
        {
            "numbers": [signed(factor) for factor in term.factors],
            "labels": list(term.labels),
            "product": number(term.product),
        }
        for term in part.terms[:SHOWN]
    ]
    return {
        "source": part.source,
        "terms": terms,
        "more": len(part.terms) - len(terms),
        "formula": part.formula,
        "result": number(part.result),
    }


def _sentence(recording: Recording, key: str, of: str, title: str, result: float, parts: list[Part]) -> str:
    value = recording.graph.values[key]
    if of == VALUE:
        op = recording.graph.ops.get(value.op or "")
        if op is None:
            return f"{title} = {number(result)}: no op made it."
        if not parts:
            return f"{title} = {number(result)}, made by {_called(op)}."
        return f"{title} = {parts[0].written(6)} = {number(result)}"
    if not parts:
        return f"{title} = {number(result)}: the backward pass starts here."
    uses = [part.written(4) if part.terms else number(part.result) for part in parts]
    if len(parts) == 1:
        return f"{title} = {uses[0]} = {number(result)}" if uses[0] != number(result) else f"{title} = {number(result)}"
    return (
        f"{title} = {' + '.join(signed(part.result) for part in parts)} = {number(result)}: "
        f"it is used {len(parts)} times."
    )


def _called(op: Op) -> str:
    return notation.symbol(op) or op.name


def _without(recording: Recording, key: str, arrays: dict[str, np.ndarray | None]) -> str:
    """Why a table is not there; empty if both are."""
    value = recording.graph.values[key]
    if arrays[VALUE] is None:
        return _large(value.array) if value.array is not None else "Nothing has read these numbers."
    if arrays[GRAD] is None:
        if not value.requires_grad:
            return f"{value.title} requires no grad, so no gradient goes to it."
        return "No gradient has reached it, or it is too large to show."
    return ""


def _large(array: Array) -> str:
    if numbers_of(array) is None and array.data is None:
        if array.size <= KEPT:
            return f"Of its {array.size:,} numbers the recording keeps a summary; viz.explore shows them."
        return (
            f"It has {array.size:,} numbers, more than the {KEPT:,} that are shown. "
            "Make the tensor smaller to see them."
        )
    return "These are complex numbers, which have no table here."
