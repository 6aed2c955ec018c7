"""What the Python of explore.html answers, in a process of its own.

Where it lacks a pack it does nothing yet: it names the pack, and the same message does its work once it has come.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tinygrad_edu.course.site.live import pages

pytestmark = pytest.mark.outer

# The run fails as it does where a module is still on its way, after the widget has begun to change.
RUNS = """
import json, sys, types
import pygraphviz
sys.path.insert(0, sys.argv[1])
sent = []
sys.modules["the_page"] = types.SimpleNamespace(send=lambda text: sent.append(json.loads(text)))
import worker_python, explored, later
from viz.widgets.explorer import Explorer
worker_python.explore(json.dumps({"program": "x = T.tensor(3.0, requires_grad=True)\\n(x * x).backward()"}))
shown = explored._SHOWN[-1]
performed = Explorer._performed

def lacks(*about):
    raise later.NotHere("numpy.random")

def pressed(text):
    return worker_python.receive(shown.model_id, json.dumps({"state": {"text": text, "seq": 1}}))

text = "x = T.tensor(5.0, requires_grad=True)\\n(x * x).backward()"
before = [shown.state, shown.result, shown.program]
Explorer._performed = lacks
found = {"missing": [pressed(text)]}
found["unchanged"] = before == [shown.state, shown.result, shown.program]
Explorer._performed = performed
found["then"] = [pressed(text), shown.result["code"]]
Explorer._performed = lacks
found["missing"].append(worker_python.explore(json.dumps({"program": "x = T.tensor(1.0)"})))
worker_python.explore(json.dumps({"program": "x = T.tensor(1.0)\\ny = ("}))
found["refused"] = sent[-1]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", RUNS, str(pages.HERE / "python")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_what_is_missing_is_named(found: dict[str, Any]) -> None:
    assert found["missing"] == ["numpy.random", "numpy.random"]


def test_a_widget_that_lacks_a_pack_is_as_it_was(found: dict[str, Any]) -> None:
    assert found["unchanged"]


def test_the_same_message_does_its_work_later(found: dict[str, Any]) -> None:
    missing, code = found["then"]
    assert missing is None
    assert code[0] == "x = T.tensor(5.0, requires_grad=True)"


def test_a_text_that_is_not_python_is_told_with_its_line_apart(found: dict[str, Any]) -> None:
    assert found["refused"] == {"type": "refused", "text": "this is not Python, '(' was never closed: y = (", "line": 2}
