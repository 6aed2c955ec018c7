"""Each sentence of the explorer is true: every switch of every program is pressed twice, and what is said is looked up.

The normal run presses a few of each program, spread over its lines; the long ring presses all.
"""

import re
from typing import Any

import pytest
from support.stage_programs import HELD_OUT, PROGRAMS

import viz
from viz.experiments.switches import Offer, pressed
from viz.recording.notation import number

pytestmark = pytest.mark.outer
ALL = {**PROGRAMS, **HELD_OUT}
CORE = "tinygrad_edu"
FEW = 4  # switches of a program in the normal run
LONGEST = {"loop of 30"}  # one press takes a second: the switches of its first lines, in the long ring as well


def switches(program: dict[str, Any]) -> list[Offer]:
    """Every switch that stands beside the lines of a program, and each number raised by one."""
    numbers = [one for one in program["switches"] if one["control"] == "value" and isinstance(one["own"], float)]
    pills = [offer for offer in program["switches"] if offer["control"] == "pill"]
    return pills + [{**offer, "on": offer["own"] + 1.0, "off": offer["own"]} for offer in numbers]


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
    named = [value for value in recording.graph.values.values() if name in value.names]
    return [value for value in named if line is None or (value.line and owner[value.line - 1] == line)]


def claims(sentence):
    cause, _, effects = sentence.rstrip(".").partition(": ")
    return re.split(r", (?=[A-Za-z])", cause), effects.split("; ")


def check(explorer, before, after, sentence, pressed):
    """Look up in the recordings what the sentence says."""
    said = f"{pressed}: {sentence}"
    causes, effects = claims(sentence)
    given = [one for one in after.graph.values.values() if one.op is None and one.kind in ("leaf", "input")]
    leaves = {name: value.kind == "leaf" for value in given for name in value.names}
    for cause in causes:
        if found := re.fullmatch(r"(\w+) requires (no )?grad", cause):
            assert leaves[found[1]] is not bool(found[2]), said
        elif found := re.fullmatch(r"[Ll]ine (\d+) now runs under (no_grad|inference_mode)", cause):
            ops = of_line(after, explorer, int(found[1]))
            assert not any(op.recorded for op in ops if op.during == "forward"), said
        elif found := re.fullmatch(r"(\w+)\.grad(?: of line (\d+))? is (now|no longer) kept", cause):
            line = int(found[2]) if found[2] else None
            kept = any(one.retains_grad for one in made_at(after, explorer, found[1], line))
            assert kept is (found[3] == "now"), said
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
    first, offered = explorer._recordings[CORE], switches(explorer.program)
    every = 1 if whole else max(1, len(offered) // FEW)
    for switch in offered[:3] if name in LONGEST else offered[::every]:
        before, label = explorer._recordings[CORE], switch["change"]
        for _ in ("on", "off"):
            explorer.state = pressed(explorer.state, switch)
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
