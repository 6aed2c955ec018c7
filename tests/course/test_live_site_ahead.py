"""The page's Python runs ahead while it is idle: a press finds its run remembered, and is answered as if nothing had run before."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tinygrad_edu.course.site.live import pages

pytestmark = pytest.mark.outer

PROGRAM = "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = x * x\nL = y.sum()\nL.backward()"
SEVERAL = PROGRAM.replace("L.backward()", "L.backward(retain_graph=True)\nL.backward()")
NEVER_TRIED = {
    "it may never end": f"while False: pass\n{PROGRAM}",
    "it may give something else": f"import time\n{PROGRAM}",
}
# Only Graphviz is the one of this machine: in a page it is JavaScript.
RUNS = """
import json, re, sys, types
import pygraphviz
sys.path.insert(0, sys.argv[1])
sys.modules["the_page"] = types.SimpleNamespace(send=lambda text: None)
import worker_python, ahead, explored, kernel
from viz.widgets.explorer import Explorer
recorded = []  # not what PyTorch is asked, which does not run in a page
record = Explorer._recorded

def counted(self, engine, source, *more):
    recorded.extend([source] if engine != "torch" else [])
    return record(self, engine, source, *more)

Explorer._recorded = counted

def opened(program):
    worker_python.explore(json.dumps({"program": program}))
    return explored._SHOWN[-1]

def pressed(explorer, state):
    "What the page is given, without the ids of its pictures and the time."
    worker_python.receive(explorer.model_id, json.dumps({"state": {**state, "seq": 1}}))
    given = json.dumps([explorer.result, explorer.values_pictures, explorer.grad_fn_pictures])
    return re.sub(r'"took": [\\d.]+', "", given.replace(explorer._prefix, ""))

def tried():
    "How many programs ran until there was nothing more to try."
    before = len(recorded)
    while worker_python.ahead():
        pass
    return len(recorded) - before

asked = json.load(sys.stdin)
ahead.LONGEST_S, ahead.FIRST_MS = 60, 60_000  # this machine may be slow
found = {"alone": [pressed(opened(asked["program"]), state) for state in asked["states"]]}
explorer = opened(asked["program"])
shown = pressed(explorer, {})
found["tried"], found["again"] = tried(), tried()
found["is unseen"] = pressed(explorer, {}) == shown
found["after"], found["ran"] = [], []
for state in asked["states"]:
    explorer = opened(asked["program"])
    tried()
    before = len(recorded)
    found["after"].append(pressed(explorer, state))
    found["ran"].append(len(recorded) - before)
explorer = opened(asked["several"])
tried()
before = len(recorded)
pressed(explorer, {"passes": {"5": {"create_graph": True}}})
found["of a call"] = len(recorded) - before
found["never"] = [opened(program) and tried() for program in asked["never"]]
ahead.LONGEST_S = 0
opened(asked["program"])
found["slow"] = tried()
ahead.FIRST_MS = 0
opened(asked["program"])
found["slower"] = tried()
print(json.dumps(found))
"""
STATES = [
    {"no_grad": [2]},
    {"retain_grad": ["y"]},
    {"requires_grad": {"x": False}},
    {"dtypes": {"x": "float64"}},
    {"hooks": {"y": "double"}},
    {"backwards": 2},
]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    asked = {"program": PROGRAM, "several": SEVERAL, "states": STATES, "never": list(NEVER_TRIED.values())}
    command = [sys.executable, "-c", RUNS, str(pages.HERE / "python")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_each_switch_is_tried_once(found: dict[str, Any]) -> None:
    assert found["tried"] > 20
    assert found["again"] == 0


def test_a_press_runs_nothing_that_was_tried(found: dict[str, Any]) -> None:
    assert found["ran"] == [0] * len(STATES)
    assert found["of a call"] == 0


def test_its_answer_and_its_pictures_are_those_of_a_page_that_did_not_run_ahead(found: dict[str, Any]) -> None:
    assert found["is unseen"]
    assert found["after"] == found["alone"]


def test_what_may_not_end_differs_or_takes_long_is_not_tried(found: dict[str, Any]) -> None:
    assert found["never"] == [0] * len(NEVER_TRIED)
    assert found["slow"] == 1
    assert found["slower"] == 0
