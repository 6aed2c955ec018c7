"""Fixes for an error: each is a state of the toggles, or a line of the program rewritten, and what that changes.

A line is rewritten only on trial: what is offered has run, and the error did not occur.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

from viz.experiments.program import Program
from viz.experiments.switches import AROUND
from viz.recording.graph import Graph
from viz.recording.recording import Recording
from viz.telling.common_mistakes import recognise

COMPARES = re.compile(r"^(r?sub|cross_entropy|eq)$|loss$")
TRIALS, SHOWN = 8, 3  # fixes that are tried at most, and offered
_Way = tuple[str, str, dict[str, Any]]  # what is done, what that changes, the toggles that it sets


def fixes(
    program: Program, state: dict[str, Any], recording: Recording, works: Callable[[dict[str, Any]], bool]
) -> list[dict[str, Any]]:
    """Up to three states in which the error of a recording would not occur; empty if none is known.

    Each is `{"label": what is done, "why": what that changes, "state": the toggles}`. `works` tries a state out.
    """
    error = recording.error
    if error is None:
        return []
    known = recognise(error["message"])
    for name, pattern, ways in _WAYS:
        if (known is not None and known.name == name) or (pattern and re.search(pattern, error["message"])):
            return [
                {"label": label, "why": why, "state": {**state, **changed}}
                for label, why, changed in ways(program, state, recording.graph)
            ]
    offered: list[dict[str, Any]] = []
    for label, why, changed in list(_tried(program, state, error))[:TRIALS]:
        wanted = {**state, **changed}
        if len(offered) < SHOWN and works(wanted):
            offered.append({"label": label, "why": why, "state": wanted})
    return offered


def _tried(program: Program, state: dict[str, Any], error: dict[str, Any]) -> Iterator[_Way]:
    """What might help, to be tried: other lines, and toggles that are not tied to one mistake."""
    rows, message = program.source.splitlines(), error["message"]
    at = (error["line"] or 0) - 1
    for pattern, changes in _LINES.items():
        if not re.search(pattern, message):
            continue
        for number in range(min(at, len(rows))) if pattern == _IN_PLACE else [at]:
            for find, replacement, why in changes if 0 <= number < len(rows) else ():
                fixed = re.sub(find, replacement.replace("{T}", program.engine_name), rows[number], count=1)
                if fixed != rows[number]:
                    yield _line(rows, number, fixed, why)
    if 0 <= at < len(rows):
        yield from _spelt(rows, at, message)
    if re.search(r"[Ll]eaf .*in-place", message) and at >= 0:
        lines = [*(state.get("no_grad") or []), at + 1]
        yield f"no_grad for line {at + 1}", "the write is not recorded", {"no_grad": lines}
    if re.search(r"floating point|same dtype|scalar type", message):
        whole = {known.name: "float32" for known in program.inputs if known.dtype is None and known.kind != "float"}
        why, wanted = "numbers that have derivatives", state.get("dtypes") or {}
        for name in whole:
            yield f"{name} as float32", f"{name} holds {why}", {"dtypes": {**wanted, name: "float32"}}
        if len(whole) > 1:
            yield "all as float32", f"they hold {why}", {"dtypes": {**wanted, **whole}}


def _line(rows: list[str], number: int, fixed: str, why: str) -> _Way:
    source = "\n".join([*rows[:number], fixed, *rows[number + 1 :]])
    return fixed.strip(), f"line {number + 1}: {why}", {"source": source}


def _spelt(rows: list[str], at: int, message: str) -> Iterator[_Way]:
    """The line with a name that exists in place of one that does not."""
    if match := re.search(r"Did you mean (\w+)\?.* has no '(\w+)'", message):
        yield _line(rows, at, re.sub(rf"\b{match[2]}\b", match[1], rows[at]), "the name is spelt otherwise")
    elif match := re.search(r"name '(\w+)' is not defined", message):
        known = {name for row in rows[:at] for name in re.findall(r"[A-Za-z_]\w*", row)} - {match[1]}
        for name in get_close_matches(match[1], sorted(known), 2, 0.6):
            yield _line(rows, at, re.sub(rf"\b{match[1]}\b", name, rows[at]), f"{name} is a name that the program has")


def _second_backward(program: Program, state: dict[str, Any], graph: Graph) -> list[_Way]:
    why = "what the nodes saved stays in memory for the second pass; the gradients add up"
    ways: list[_Way] = [("keep the graph: retain_graph=True", why, {"retain_graph": True})]
    calls = state.get("passes") or {}
    if (state.get("backwards") or 1) > 1 or any((call.get("backwards") or 1) > 1 for call in calls.values()):
        once = {line: {name: on for name, on in call.items() if name != "backwards"} for line, call in calls.items()}
        ways.append(("call backward() once", "one pass, one gradient", {"backwards": 1, "passes": once}))
    return ways


def _no_graph(program: Program, state: dict[str, Any], graph: Graph) -> list[_Way]:
    modes = (switch.name for switch in AROUND if state.get(switch.name))
    ways: list[_Way] = [(f"take {name} away", "the lines are recorded again", {name: []}) for name in modes]
    if state.get("detach"):
        ways.append(("do not detach", "the value keeps its history", {"detach": []}))
    wanted = state.get("requires_grad") or {}
    if not any(value.requires_grad for value in graph.values.values()):  # such as the weights of a network
        targets = _targets(graph)
        floats = [i for i in program.inputs if i.name not in targets and (i.value is None or "." in repr(i.value))]
        # Switches that the program itself had on come first: turning them off caused the error.
        for known in sorted(floats, key=lambda i: not i.requires_grad)[:2]:
            switched = {**wanted, known.name: True}
            if known.requires_grad:
                switched.pop(known.name)
            ways.append((f"{known.name} requires grad", f"{known.name} gets a gradient", {"requires_grad": switched}))
    return ways[:3]


def _targets(graph: Graph) -> set[str]:
    """The names of what is only compared with others: a gradient would say nothing about a model."""
    compared = {key for op in graph.ops.values() if COMPARES.search(op.function) for key in op.inputs[1:]}
    taken = {key for op in graph.ops.values() for key in op.inputs[: 1 if COMPARES.search(op.function) else None]}
    return {name for key in compared - taken if key is not None for name in graph.values[key].names}


def _not_kept(program: Program, state: dict[str, Any], graph: Graph) -> list[_Way]:
    ways = _no_graph(program, state, graph)
    if state.get("retain_grad"):
        ways.insert(0, ("do not keep a gradient here", "there is none to keep", {"retain_grad": []}))
    return ways[:3]


def _no_hook(program: Program, state: dict[str, Any], graph: Graph) -> list[_Way]:
    ways = _no_graph(program, state, graph)
    if state.get("hooks"):
        ways.insert(0, ("remove the hook", "no gradient arrives here", {"hooks": {}}))
    return ways[:3]


def _inference(program: Program, state: dict[str, Any], graph: Graph) -> list[_Way]:
    lines = list(state.get("inference_mode") or [])
    if not lines:
        return []
    return [
        (
            "use no_grad instead",
            "not recorded either, but usable in a graph later",
            {"inference_mode": [], "no_grad": sorted({*(state.get("no_grad") or []), *lines})},
        ),
        ("remove inference_mode", "the lines are recorded", {"inference_mode": []}),
    ]


# (a common mistake, or else a pattern of the message; what toggles can do about it)
_WAYS = [
    ("second backward", "", _second_backward),
    ("does not require grad", "", _no_graph),
    ("", r"can't retain_grad on Tensor that has requires_grad=False", _not_kept),
    ("", r"cannot register a hook on a tensor that doesn't require grad", _no_hook),
    ("", r"[Ii]nference tensor", _inference),
]

_OUT_OF_PLACE = "a new tensor, and the old one stays as it was saved"

_IN_PLACE = r"modified by an inplace operation"  # raised after the line to change; the others in the line itself

# By a pattern of the message: what is found in a line, what it becomes, why.
_LINES: dict[str, list[tuple[str, str, str]]] = {
    r"implicitly created only for scalar": [
        (r"(\w+)\.backward\(\)", r"\1.sum().backward()", "the sum is one number, and every entry gets the slope 1"),
        (r"(\w+)\.backward\(\)", r"\1.mean().backward()", "the mean is one number"),
    ],
    _IN_PLACE: [
        (r"^(\s*)(\w+)\.(\w+[a-z0-9])_\(", r"\1\2 = \2.\3(", _OUT_OF_PLACE),
        (r"^(\s*)(\w+) ([-+*/])= ([\w.]+)$", r"\1\2 = \2 \3 \4", _OUT_OF_PLACE),
        (r"^(\s*)(\w+) ([-+*/])= (.*[^\w.].*)$", r"\1\2 = \2 \3 (\4)", _OUT_OF_PLACE),
    ],
    r"call numpy\(\) on Tensor that requires grad": [
        (r"\.numpy\(\)", ".detach().numpy()", "the numbers without the graph")
    ],
    r"mat1 and mat2|size mismatch|must match the size|cannot be multiplied|not broadcastable": [
        (r"(\w+) @ (\w+)", r"\1 @ \2.T", "the second factor transposed"),
        (r"(\w+) @ (\w+)", r"\1.T @ \2", "the first factor transposed"),
        (r"(\w+) @ (\w+)", r"\2 @ \1", "the factors in the other order"),
    ],
    r"not have been used in the graph|was not used|unused": [
        (r"autograd\.grad\((.+)\)$", r"autograd.grad(\1, allow_unused=True)", "an input without a path gets None")
    ],
}
