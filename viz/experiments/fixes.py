"""Fixes for an error that toggles can show: each is a state of the toggles, with a short description of what it changes."""

from __future__ import annotations

import re
from typing import Any

from viz.experiments.program import Program
from viz.telling.common_mistakes import recognise

_Way = tuple[str, str, dict[str, Any]]  # what is done, what that changes, the toggles that it sets


def fixes(program: Program, state: dict[str, Any], error: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Two or three states of the toggles in which `error` would not occur; empty if no toggle helps.

    Each is `{"label": what is done, "why": what that changes, "state": the toggles}`.
    """
    if error is None:
        return []
    known = recognise(error["message"])
    for name, pattern, ways in _WAYS:
        if (known is not None and known.name == name) or (pattern and re.search(pattern, error["message"])):
            return [
                {"label": label, "why": why, "state": {**state, **changed}}
                for label, why, changed in ways(program, state)
            ]
    return []


def _second_backward(program: Program, state: dict[str, Any]) -> list[_Way]:
    found: list[_Way] = [
        (
            "keep the graph: retain_graph=True",
            "what the nodes saved stays in memory for the second pass; the gradients add up",
            {"retain_graph": True},
        )
    ]
    if (state.get("backwards") or 1) > 1:
        found.append(("call backward() once", "one pass, one gradient", {"backwards": 1}))
    return found


def _no_graph(program: Program, state: dict[str, Any]) -> list[_Way]:
    modes = (name for name in ("no_grad", "inference_mode") if state.get(name))
    found: list[_Way] = [(f"take {name} away", "the lines are recorded again", {name: []}) for name in modes]
    if state.get("detach"):
        found.append(("do not detach", "the value keeps its history", {"detach": []}))
    wanted = state.get("requires_grad") or {}
    if not any(wanted.get(i.name, i.requires_grad) for i in program.inputs):
        floats = [i for i in program.inputs if i.value is None or "." in repr(i.value)]
        # Switches that the program itself had on come first: turning them off caused the error.
        for known in sorted(floats, key=lambda i: not i.requires_grad)[:2]:
            switched = {**wanted, known.name: True}
            if known.requires_grad:
                switched.pop(known.name)
            found.append((f"{known.name} requires grad", f"{known.name} gets a gradient", {"requires_grad": switched}))
    return found[:3]


def _not_kept(program: Program, state: dict[str, Any]) -> list[_Way]:
    found = _no_graph(program, state)
    if state.get("retain_grad"):
        found.insert(0, ("do not keep a gradient here", "there is none to keep", {"retain_grad": []}))
    return found[:3]


def _no_hook(program: Program, state: dict[str, Any]) -> list[_Way]:
    found = _no_graph(program, state)
    if state.get("hooks"):
        found.insert(0, ("remove the hook", "no gradient arrives here", {"hooks": {}}))
    return found[:3]


def _inference(program: Program, state: dict[str, Any]) -> list[_Way]:
    lines = list(state.get("inference_mode") or [])
    if not lines:
        return []
    return [
        ("use no_grad instead", "not recorded either, but usable in a graph later",
         {"inference_mode": [], "no_grad": sorted({*(state.get("no_grad") or []), *lines})}),
        ("remove inference_mode", "the lines are recorded", {"inference_mode": []}),
    ]  # fmt: skip


# (a common mistake, or else a pattern of the message; what toggles can do about it)
_WAYS = [
    ("second backward", "", _second_backward),
    ("does not require grad", "", _no_graph),
    ("", r"can't retain_grad on Tensor that has requires_grad=False", _not_kept),
    ("", r"cannot register a hook on a tensor that doesn't require grad", _no_hook),
    ("", r"[Ii]nference tensor", _inference),
]
