"""Each sentence of the explorer is true: every switch of every program is pressed twice, and what is said is looked up.

The normal run presses a few of each program, spread over its lines; the long ring presses all.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.stage_programs import HELD_OUT, PROGRAMS

import viz
from viz.recording.notation import number

pytestmark = pytest.mark.outer

ALL = {**PROGRAMS, **HELD_OUT}
CORE = "tinygrad_edu"
FEW = 4  # switches of a program in the normal run
LONGEST = {"loop of 30"}  # one press takes a second: the switches of its first lines, in the long ring as well

# Every switch that stands beside the lines of a program, as `listing.js` offers it.
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


def grad(recording, name):
    tensor = recording.tensors[name]
    return None if tensor["grad"] is None else tensor["grad"]["data"]


def of_line(recording, explorer, line):
    """The ops that a line of the program ran."""
    owner = explorer.result["owner"]
    return [op for op in recording.graph.ops.values() if op.line is not None and owner[op.line - 1] == line]


def made_at(recording, explorer, name, line=None):
    """The values that have a name; with `line`, those that this line of the program made."""
    owner = explorer.result["owner"]
    return [
        value
        for value in recording.graph.values.values()
        if name in value.names and (line is None or (value.line and owner[value.line - 1] == line))
    ]


def claims(sentence):
    cause, _, effects = sentence.rstrip(".").partition(": ")
    return re.split(r", (?=[A-Za-z])", cause), effects.split("; ")


def check(explorer, before, after, sentence, pressed):
    """Look up in the recordings what the sentence says."""
    said = f"{pressed}: {sentence}"
    causes, effects = claims(sentence)
    leaves = {
        name: value.kind == "leaf"
        for value in after.graph.values.values()
        if value.op is None and value.kind in ("leaf", "input")
        for name in value.names
    }
    for cause in causes:
        if found := re.fullmatch(r"(\w+) requires (no )?grad", cause):
            assert leaves[found[1]] is not bool(found[2]), said
        elif found := re.fullmatch(r"Line (\d+) now runs under (no_grad|inference_mode)", cause):
            ops = of_line(after, explorer, int(found[1]))
            assert not any(op.recorded for op in ops if op.during == "forward"), said
        elif found := re.fullmatch(r"(\w+)\.grad(?: of line (\d+))? is (now|no longer) kept", cause):
            line = int(found[2]) if found[2] else None
            assert any(one.retains_grad for one in made_at(after, explorer, found[1], line)) is (found[3] == "now"), (
                said
            )
        elif found := re.fullmatch(r"(\w+)(?: of line (\d+))? is now cut off from its history", cause):
            assert any(op.function == "detach" for op in after.graph.ops.values()), said
        elif cause == "backward() is called twice":
            assert after.error or len([e for e in after.events if e.kind == "backward"]) >= 2, said
    for effect in effects:
        if found := re.fullmatch(r"(?:line (\d+)|the program) now raises (\w+)", effect):
            assert after.error["type"] == found[2], said
            assert found[1] is None or after.error["line"] == int(found[1]), said
        elif effect == "the error is gone":
            assert before.error and not after.error, said
        elif effect.startswith("no op is recorded any more"):
            assert not any(op.recorded and op.during == "forward" for op in after.graph.ops.values()), said
        elif found := re.match(
            r"([\w.]+)\.grad (?:= (.*?) \(was (.*)\)|is None.* \(was (.*)\)|was (.*), is (.*))$", effect
        ):
            name, was = found[1], next(one for one in (found[3], found[4], found[5]) if one is not None)
            now = found[6] or (found[2] or "None").rpartition("= ")[2]
            for recording, told in ((before, was), (after, now)):
                there = grad(recording, name)
                if told.startswith("None"):
                    assert recording.tensors[name]["grad"] is None, said
                elif isinstance(there, float):
                    assert told == number(there), said
        elif found := re.match(
            r"every gradient stays|neither the graph nor a gradient changes|the gradients stay", effect
        ):
            assert {name: grad(before, name) for name in before.tensors if grad(before, name)} == {
                name: grad(after, name) for name in after.tensors if grad(after, name)
            }, said


@pytest.mark.parametrize(
    "name, whole",
    [
        *(pytest.param(name, False, id=f"{name}-a few") for name in PROGRAMS),
        *(pytest.param(name, True, id=f"{name}-all", marks=pytest.mark.long) for name in ALL),
    ],
)
def test_every_switch_pressed_twice_tells_what_was_recorded(name, whole):
    explorer = viz.explore(ALL[name])
    first = explorer._recordings[CORE]
    pressed = list(switches(explorer.program))
    every = 1 if whole else max(1, len(pressed) // FEW)
    for label, on, off in pressed[:3] if name in LONGEST else pressed[::every]:
        before = explorer._recordings[CORE]
        for press in (on, off):
            explorer.state = press(dict(explorer.state))
            after = explorer._recordings[CORE]
            if not explorer.result.get("refused"):
                check(explorer, before, after, explorer.result["account"], label)
            before = after
        assert explorer.result["codes"]["tinygrad_edu"]
        assert {n: grad(after, n) for n in after.tensors} == {n: grad(first, n) for n in first.tensors}, label


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            "w = T.tensor(2.0, requires_grad=True)\nx = w * 3\nx.backward()\nprint(x.grad)",
            "Line 2 computes x from another",
        ),
        (
            "w = T.tensor(2.0, requires_grad=True)\nL = w * w\nL.backward()\nw = w - 0.1 * w.grad\nw.grad.zero_()",
            "Line 4 makes a new tensor",
        ),
        ("x = T.tensor([0.0, 4.0], requires_grad=True)\ny = x.sqrt().sum()\ny.backward()", "Line 2: `sqrt` at 0"),
        ("w = T.tensor([1.0, 2.0], requires_grad=True)\n(w * w).backward()", ""),  # the error's own sentence says it
        ("w = T.tensor(2.0, requires_grad=True)\nprint(w.grad)", ""),
    ],
)
def test_what_goes_wrong_names_the_line_that_caused_it(program, says):
    cause = viz.explore(program).result["cause"]
    assert cause.startswith(says) if says else cause == ""


def test_a_switch_is_no_cause():
    program = "w = T.tensor(2.0, requires_grad=True)\nx = w * 3\nx.backward()"
    explorer = viz.explore(program, state={"no_grad": [2]})
    assert (bool(explorer.result["errors"]), explorer.result["cause"]) == (True, "")
