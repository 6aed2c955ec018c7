"""The listing is the program: it shows what ran, and an edit by hand is a change like any other."""

import functools
import random

import pytest

import viz
from viz.engines import CORE, TORCH, load
from viz.experiments.edits import edit
from viz.experiments.listing import read_back
from viz.experiments.program import parse
from viz.experiments.switches import SWITCHES, offers, pressed, presses

PROGRAM = """\
x = T.tensor([1.0, 2.0])
w = T.tensor([0.3, -0.7], requires_grad=True)
b = T.zeros(2, requires_grad=True)
d = w * x
h = (d
     + b)
for factor in (2.0, 3.0):
    h = h * factor
L = (h - 1.0).pow(2).sum()
L.backward()"""

OFFERED = presses(offers(parse(PROGRAM), parse(PROGRAM).values, ()))
FIELDS = [{"values": {"w": [1.0, 2.0]}}, {"shapes": {"b": [1]}}, {"backwards": 3}]
SINGLE = [*(pressed({}, offer) for offer in OFFERED), *FIELDS]
WORDS = {switch.name for switch in SWITCHES if switch.at == "input"} | {"create_graph"}  # a line says them itself


def combinations(offered, count):
    """States in which some switches are on, chosen at random and the same in every run."""
    choose = random.Random(13)
    return [functools.reduce(pressed, choose.sample(offered, choose.randint(2, 6)), {}) for _ in range(count)]


def told(recording):
    """All that a recording says, except numbers that an engine counts on from run to run."""
    return {
        "graph": [
            (op.name, op.line, op.recorded, op.during, len(op.inputs), len(op.outputs), [s.name for s in op.saved])
            for op in recording.graph.ops.values()
        ],
        "events": [(event.kind, event.line) for event in recording.events],
        "tensors": {name: {k: v for k, v in state.items() if k != "key"} for name, state in recording.tensors.items()},
        "stdout": recording.stdout,
        "error": recording.error and (recording.error["type"], recording.error["message"]),
    }


@pytest.mark.outer
@pytest.mark.parametrize("state", [*SINGLE, *combinations(OFFERED, 20)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_the_listing_as_it_is_shown_is_the_program_that_ran_on_both_engines(state):
    explorer = viz.explore(PROGRAM, state=state)
    result = explorer.result
    assert not result.get("refused"), result["account"]
    for engine in (CORE, TORCH):
        with load(engine).seeded(0):
            again = viz.record("\n".join(result["code"]), engine)
        shown = explorer._recordings[engine]
        assert again.source == shown.source == result["code"]
        assert told(shown) == told(again)


@pytest.mark.parametrize("state", combinations([one for one in OFFERED if one["path"][0] not in WORDS], 60), ids=str)
def test_a_listing_is_read_back_into_the_switches_that_made_it(state):
    if "backwards" not in state:  # of one call
        state = {name: held for name, held in state.items() if name not in ("retain_graph", "zero_grad")}
    program = parse(PROGRAM)
    plain, found = read_back(edit(program, state).source, program)
    assert plain.source == PROGRAM
    assert found == {name: sorted(held) if isinstance(held, list) else held for name, held in state.items()}


def text_of(explorer, *changes):
    text = "\n".join(explorer.result["code"])
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_switch_of_a_line_with_several_names_begins_with_the_name_that_it_is_of():
    program = parse("w, b = T.tensor(1.0), T.tensor(2.0)\nL = w * b\nL.backward()")
    shown = [one["label"] for one in offers(program, program.values, ()) if one["line"] == 1 and not one["rare"]]
    assert shown == ["w requires_grad", "b requires_grad"], "what is cut at its end still says which"


def test_a_line_written_by_hand_is_a_change_that_both_engines_answer():
    explorer = viz.explore(PROGRAM)
    explorer.request = {"state": {}, "text": text_of(explorer, ("d = w * x", "d = w * x * x")), "seq": 1}
    assert explorer.result["code"][3] == "d = w * x * x"
    said = "Line 4 is rewritten: MulBackward0 is recorded; L = 0.64 + 316.8 = 317.5 (was 89)"
    assert explorer.result["account"].startswith(said)
    assert explorer.result["verdict"]["agree"]
    assert explorer.program["source"][3] == "d = w * x * x"
    assert explorer.state == {"source": "\n".join(explorer.program["source"])}


def test_what_a_switch_would_write_turns_the_switch_on_when_it_is_written_by_hand():
    explorer = viz.explore(PROGRAM)
    twice = ("L.backward()", "L.backward()\nL.backward()")
    by_hand = text_of(explorer, ("d = w * x", "with T.no_grad():\n    d = w * x"), twice)
    explorer.request = {"state": {}, "text": by_hand, "seq": 1}
    assert explorer.result["state"] == {"no_grad": [4], "backwards": 2}
    assert "\n".join(explorer.result["code"]) == by_hand
    assert explorer.result["account"].startswith("Line 4 now runs under no_grad, backward() is called twice")
    explorer.state = {"backwards": 2, "retain_graph": True}
    assert explorer.result["code"][-2:] == ["L.backward(retain_graph=True)", "L.backward()"]


def test_a_switch_works_on_a_program_that_was_edited_by_hand():
    explorer = viz.explore(PROGRAM)
    text = text_of(explorer, ("x = T.tensor([1.0, 2.0])\n", "")).replace("w * x", "w * 2")
    explorer.request = {"state": {}, "text": text, "seq": 1}
    source = explorer.state["source"]
    explorer.state = {"source": source, "retain_grad": ["d"]}
    assert explorer.result["code"][:4] == [*source.splitlines()[:3], "d.retain_grad()"]
    explorer.state = {}
    assert "\n".join(explorer.result["code"]) == PROGRAM


def test_a_syntax_error_keeps_the_last_graph_and_says_where():
    explorer = viz.explore(PROGRAM, state={"no_grad": [4]})
    before = explorer.result
    explorer.request = {"state": {"no_grad": [4]}, "text": text_of(explorer, ("- 1.0", "- ")), "seq": 1}
    after = explorer.result
    assert after["refused"]
    assert after["line"] == 10
    assert "line 10" in after["account"]
    assert after["sides"] == before["sides"]
    assert after["state"] == {"no_grad": [4]}
    assert explorer.state == {"no_grad": [4]}
    explorer.state = {}
    assert "\n".join(explorer.result["code"]) == PROGRAM


def test_the_sentence_about_a_dragged_number_compares_with_where_the_drag_began():
    explorer = viz.explore("w = T.tensor(1.0, requires_grad=True)\nL = w * w\nL.backward()")
    for seq, value in enumerate((1.5, 2.0, 3.0), 1):
        explorer.request = {"state": {"values": {"w": value}}, "drag": "a", "seq": seq}
    assert explorer.result["account"] == "w is 3: L = 3 × 3 = 9 (was 1); w.grad = 3 + 3 = 6 (was 2)."
    explorer.request = {"state": {"values": {"w": 4.0}}, "drag": "b", "seq": 4}
    assert explorer.result["account"] == "w is 4: L = 4 × 4 = 16 (was 9); w.grad = 4 + 4 = 8 (was 6)."
    assert "drag" not in explorer.result["state"]
    explorer = viz.explore(PROGRAM)
    for seq, number in enumerate(("2", "3"), 1):  # one that is written in any line
        explorer.request = {"state": {}, "text": PROGRAM.replace("- 1.0", f"- {number}.0"), "drag": "a", "seq": seq}
    said = "Line 9 has 3.0 instead of 1.0: L = 1.44 + 130 = 131.4 (was 89); w.grad[1] = −136.8 × 2"
    assert explorer.result["account"].startswith(said)


def test_the_verdict_says_where_the_engines_differ_and_an_error_of_both_is_shown_once():
    verdict = viz.explore(PROGRAM, state={"volatile": ["x"]}).result["verdict"]
    assert verdict["agree"] is False
    assert any("in PyTorch alone" in one for one in verdict["details"])
    assert any(one.startswith("d: requires_grad") for one in verdict["differs"])
    program = "a = T.ones(2, 3, requires_grad=True)\nL = T.einsum('ij,kj->', a, a)\nL.backward()"
    einsum = viz.explore(program).result["verdict"]
    assert (einsum["agree"], einsum["differs"]) == (True, []), "names of nodes alone are a detail"
    assert any("in PyTorch alone" in one for one in einsum["details"])
    explorer = viz.explore(PROGRAM, state={"backwards": 2})
    (error,) = explorer.result["errors"]
    assert (error["engines"], error["type"]) == ([CORE, TORCH], "RuntimeError")
    assert explorer.result["verdict"]["agree"]
    assert explorer.result["verdict"]["compared"].endswith(", RuntimeError")
    explorer.request = {"state": {}, "why": "The program is as it was written", "seq": 1}
    assert explorer.result["account"].startswith("The program is as it was written: the error is gone")
