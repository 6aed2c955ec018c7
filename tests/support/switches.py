"""Every switch that stands beside the lines of a program in the explorer, as `listing.js` offers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

State = dict[str, Any]
HOOKS = ("double", "print")
MODES = ("no_grad", "inference_mode")
OF_PASSES = ("retain_graph", "create_graph", "zero_grad", "anomaly")


def _put(name: str, key: str, value: Any) -> Callable[[State], State]:
    return lambda state: {**state, name: {**state.get(name, {}), key: value}}


def _dropped(name: str, key: str) -> Callable[[State], State]:
    return lambda state: {**state, name: {each: value for each, value in state.get(name, {}).items() if each != key}}


def _with(name: str, item: Any) -> Callable[[State], State]:
    return lambda state: {**state, name: [*state.get(name, []), item]}


def _without(name: str, item: Any) -> Callable[[State], State]:
    return lambda state: {**state, name: [each for each in state.get(name, []) if each != item]}


def switches(program: dict[str, Any]) -> Iterator[tuple[str, Callable[[State], State], Callable[[State], State]]]:
    """(what it is called, what a first press makes of the state, what a second one does)."""
    values, lines = program["values"], program["lines"]
    for made in program["inputs"]:
        name = made["name"]
        on = _put("requires_grad", name, not made["requires_grad"])
        yield f"requires_grad of {name}", on, _dropped("requires_grad", name)
        yield f"volatile {name}", _with("volatile", name), _without("volatile", name)
        if isinstance(made["value"], float):
            yield f"value of {name}", _put("values", name, made["value"] + 1.0), _dropped("values", name)
    makers = [name for line in lines if line["kind"] == "compute" for name in line["names"]]
    for line in lines:
        if line["kind"] != "compute":
            continue
        for mode in MODES:
            yield f"{mode} of line {line['first']}", _with(mode, line["first"]), _without(mode, line["first"])
        for name in line["names"]:
            if name not in values:
                continue
            item = f"{name}@{line['first']}" if makers.count(name) > 1 else name
            for what in ("retain_grad", "detach"):
                yield f"{what} of {item}", _with(what, item), _without(what, item)
            for hook in HOOKS:
                yield f"hook that {hook}s {item}", _put("hooks", item, hook), _dropped("hooks", item)
    calls = [line for line in lines if line["kind"] == "backward"]
    for line in calls if len(calls) > 1 else []:
        for name in OF_PASSES[:2]:
            key = str(line["first"])
            on = _put("passes", key, {name: name not in line["passes"]})
            yield f"{name} of line {key}", on, _dropped("passes", key)
        for name, wanted in (("backwards", 2), ("zero_grad", True)):
            key = str(line["first"])
            yield f"{name} of line {key}", _put("passes", key, {name: wanted}), _dropped("passes", key)
    if calls:
        for name in OF_PASSES:
            own = program["passes"].get(name, False)
            on = lambda state, name=name, own=own: {**state, name: not own}  # noqa: E731
            yield name, on, lambda state, name=name: {key: value for key, value in state.items() if key != name}
        twice = lambda state: {**state, "backwards": 2}  # noqa: E731
        yield "call it twice", twice, lambda state: {**state, "backwards": 1}
