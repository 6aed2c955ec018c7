"""The Python of a live page, run here with its stand-ins, in processes of their own.

Magics are served with no IPython; explore.html names a pack that it lacks and does its work once that has come; and it
runs ahead while it is idle, so that a press finds its run remembered and is answered as if nothing had run before.
"""

import json
from typing import Any

import pytest
from support import printed

from tinygrad_edu.course.site.live import pages

pytestmark = pytest.mark.outer

# Only Graphviz is the one of this machine: in a page it is JavaScript.
PAGE = """
import asyncio, json, re, sys, types
import pygraphviz
sys.path.insert(0, sys.argv[1])
sent = []
sys.modules["the_page"] = types.SimpleNamespace(send=lambda text: sent.append(json.loads(text)))
import worker_python
asked = json.load(sys.stdin)
"""


def said(program: str, asked: object) -> list[Any]:
    """The lines of JSON that a program prints, which runs where a page's Python is loaded."""
    told = printed(PAGE + program, str(pages.HERE / "python"), input=json.dumps(asked), timeout=300)
    return [*map(json.loads, told.splitlines())]


CELLS = {
    "a tensor": "import tinygrad_edu as tg\nw = tg.tensor(2.0, requires_grad=True)",
    "autograd": "%%autograd\nL = w * w * 3\nL.backward()\nL",
    "silent": "%%autograd --step\nL = w * w * 3;",
    "compare": "%%autograd --compare\nT.tensor(2.0) * 3",
    "torch": "%%autograd --engine torch\nT.ones(2)",
    "diagnose": "%%diagnose\nL = (w * 2).detach()\nL.backward()",
    "of PyTorch": "%%diagnose\nimport torch\nfrom torch import nn\nmodel = nn.Linear(2, 1)\n"
    "loss = model(torch.ones(3, 2)).detach().sum()",
    "of PyTorch, alone": "import torch",
    "on": "%autograd on",
    "watched": "z = w * 5",
    "off": "%autograd off",
    "alone": "z = w * 5",
    "another": "%%time\nx = 1",
    "no option": "%%autograd --foo\nx = 1",
    "no Python": "%%autograd\nx = (",
    "raises": "%%autograd\nx = 1 / 0",
    "display": "class Module:\n    def _repr_html_(self):\n        return 'shown'\ndisplay(Module())",
    "prints": "for i in range(60_000):\n    print(i)\n1 / 0",
    "order": "print('before')\ndisplay(1)\nprint('after')",
    "explore": "import viz\nviz.explore('L = T.tensor(2.0, requires_grad=True) * 3')",
}
MAGICS = """
assert "viz.magic" not in sys.modules, "what no first picture needs"
for name, source in asked.items():
    sent.clear()
    well = asyncio.run(worker_python.run("cell", source))
    kinds = [one["code"].split()[0].rpartition(".")[2] for one in sent if one["type"] == "open"]
    texts = [text for one in sent for text in [one.get("text", ""), *one.get("data", {}).values()]]
    shown = [text for text in texts if isinstance(text, str)]
    print(json.dumps([name, well, kinds, "\\n".join(shown), [one["type"] for one in sent]]))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """By cell: whether it came to its end, the widgets that it shows, all texts."""
    return {name: tuple(rest) for name, *rest in said(MAGICS, CELLS)}


@pytest.mark.parametrize(
    ("name", "well", "widgets", "says"),
    [
        ("autograd", True, ["Player"], "tensor(12., grad_fn=<MulBackward0>)"),
        ("silent", True, ["Player"], ""),
        ("compare", True, ["ComparisonView"], ""),
        ("torch", False, [], "PyTorch does not run in a browser"),
        ("diagnose", False, [], "detach"),
        ("of PyTorch", True, [], "is <code>tinygrad_edu</code> here, not PyTorch"),
        ("of PyTorch", True, [], "on tinygrad_edu"),
        ("on", True, [], ""),
        ("watched", True, [], "MulBackward0: w to z"),
        ("alone", True, [], ""),
        ("another", False, [], "a page has %%autograd, %%diagnose"),
        ("no option", False, [], "UsageError: unrecognized arguments: --foo"),
        ("no Python", False, [], "is not Python"),
        ("explore", True, ["Explorer"], "The graph of this program"),
        ("raises", False, ["Player"], "line 2, in <module>\n    x = 1 / 0"),
    ],
)
def test_a_magic_does_in_a_page_what_it_does_in_jupyter(
    told: dict[str, Any], name: str, well: bool, widgets: list[str], says: str
) -> None:
    assert told[name][:2] == (well, widgets), told[name][2][-500:]
    assert says in told[name][2]
    assert "tensor(" not in told["silent"][2].rpartition("</figure>")[2]
    assert "MulBackward0" not in told["alone"][2]
    assert told["raises"][3].index("error") < told["raises"][3].index("display"), "the picture stands below"


def test_what_a_cell_prints_comes_in_few_messages_in_order_and_ends_somewhere(told: dict[str, Any]) -> None:
    text, kinds = told["prints"][2:]
    assert text.startswith("0\n1\n2\n")
    assert kinds.count("stream") < 1000, "a page cannot draw a message for each of 60,000"
    assert kinds[-1] == "error"
    assert "\n40000\n" not in text
    assert "these are its first 200,000 characters" in text
    assert told["order"][3] == ["stream", "display", "stream"]
    assert told["order"][2].split() == ["before", "1", "after"]


def test_a_cell_has_display_without_importing_it(told: dict[str, Any]) -> None:
    assert told["display"][0]
    assert "shown" in told["display"][2]


# The run fails as it does where a module is still on its way, after the widget has begun to change.
LACKS = """
import explored, later
from viz.widgets.explorer import Explorer
worker_python.explore(json.dumps({"program": "x = T.tensor(3.0, requires_grad=True)\\n(x * x).backward()"}))
shown = explored._SHOWN[-1]
performed = Explorer._pictures

def lacks(*about):
    raise later.NotHere("numpy.random")

def pressed(text):
    return worker_python.receive(shown.model_id, json.dumps({"request": {"state": {}, "text": text, "seq": 1}}))

text = "x = T.tensor(5.0, requires_grad=True)\\n(x * x).backward()"
before = [shown.state, shown.result, shown.program]
Explorer._pictures = lacks
found = {"missing": [pressed(text)]}
found["unchanged"] = before == [shown.state, shown.result, shown.program]
Explorer._pictures = performed
found["then"] = [pressed(text), shown.result["code"]]
Explorer._pictures = lacks
found["missing"].append(worker_python.explore(json.dumps({"program": "x = T.tensor(1.0)"})))
worker_python.explore(json.dumps({"program": "x = T.tensor(1.0)\\ny = ("}))
found["refused"] = sent[-1]
print(json.dumps(found))
"""


def test_what_is_missing_is_named_and_the_same_message_does_its_work_later() -> None:
    (found,) = said(LACKS, None)
    assert found["missing"] == ["numpy.random", "numpy.random"]
    assert found["unchanged"]
    missing, code = found["then"]
    assert missing is None
    assert code[0] == "x = T.tensor(5.0, requires_grad=True)"
    assert found["refused"] == {"type": "refused", "text": "this is not Python, '(' was never closed: y = (", "line": 2}


ABSENT = """
import explored
opened = []
for program in asked["programs"]:
    worker_python.explore(json.dumps({"program": program, "state": {"source": asked["then"]} if opened else {}}))
    shown = explored._SHOWN[-1]
    told = [f"Line {error['line']}: {error['message']}" for error in shown.result["errors"]]
    opened.append([*told, [[side["engine"], "scene" in side] for side in shown.result["sides"]]])
print(json.dumps(opened))
"""


def test_a_link_of_a_program_with_an_absent_name_says_the_line_and_why() -> None:
    absent = "x = T.ones(4, requires_grad=True)\ny = T.fft.fft(x)"
    (found,) = said(ABSENT, {"programs": [absent, "x = T.ones(4)\ny = x * 2"], "then": absent})
    for why, sides in found:
        assert sides == [["tinygrad_edu", True], ["torch", False]]  # what ran before that line is drawn
        assert why.startswith("Line 2: tinygrad_edu has no 'fft': Fourier transforms are not built.")


PROGRAM = "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = x * x\nL = y.sum()\nL.backward()"
SEVERAL = PROGRAM.replace("L.backward()", "L.backward(retain_graph=True)\nL.backward()")
NEVER_TRIED = {"it may never end": f"while False: pass\n{PROGRAM}"}
NEVER_TRIED |= {"it may give something else": f"import time\n{PROGRAM}"}
AHEAD = """
import ahead, explored, kernel
from viz.widgets.runs import Runs
recorded = []  # not what PyTorch is asked, which does not run in a page
record = Runs.recorded

def counted(self, program, engine, source, *more, **how):
    recorded.extend([source] if engine != "torch" else [])
    return record(self, program, engine, source, *more, **how)

Runs.recorded = counted

def opened(program):
    worker_python.explore(json.dumps({"program": program}))
    return explored._SHOWN[-1]

def pressed(explorer, state):
    "What the page is given, without the ids of its pictures and the time."
    worker_python.receive(explorer.model_id, json.dumps({"request": {"state": state, "seq": 1}}))
    given = json.dumps([explorer.result, explorer.values_pictures, explorer.grad_fn_pictures])
    return re.sub(r'"took": [\\d.]+', "", given.replace(explorer._prefix, ""))

def tried():
    "How many programs ran until there was nothing more to try."
    before = len(recorded)
    while worker_python.ahead():
        pass
    return len(recorded) - before

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
STATES = [{"no_grad": [2]}, {"retain_grad": ["y"]}, {"requires_grad": {"x": False}}, {"dtypes": {"x": "float64"}}]
STATES += [{"hooks": {"y": "double"}}, {"backwards": 2}]


def test_each_switch_is_tried_once_and_a_press_runs_nothing_that_was_tried() -> None:
    """Its answer and its pictures are those of a page that did not run ahead."""
    asked = {"program": PROGRAM, "several": SEVERAL, "states": STATES, "never": list(NEVER_TRIED.values())}
    (found,) = said(AHEAD, asked)
    assert found["tried"] > 20
    assert found["again"] == 0
    assert found["ran"] == [0] * len(STATES)
    assert found["of a call"] == 0
    assert found["is unseen"]
    assert found["after"] == found["alone"]
    assert found["never"] == [0] * len(NEVER_TRIED)
    assert (found["slow"], found["slower"]) == (1, 0)
