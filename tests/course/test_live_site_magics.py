"""The Python of a live page, run here with its stand-ins: `%%autograd` and `%%diagnose` are served with no IPython."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tinygrad_edu.course.site.live import pages

pytestmark = pytest.mark.outer

CELLS = {
    "a tensor": "import tinygrad_edu as tg\nw = tg.tensor(2.0, requires_grad=True)",
    "autograd": "%%autograd\nL = w * w * 3\nL.backward()\nL",
    "silent": "%%autograd --step\nL = w * w * 3;",
    "compare": "%%autograd --compare\nT.tensor(2.0) * 3",
    "torch": "%%autograd --engine torch\nT.ones(2)",
    "diagnose": "%%diagnose\nL = (w * 2).detach()\nL.backward()",
    "of PyTorch": "%%diagnose\nimport torch\nfrom torch import nn\nmodel = nn.Linear(2, 1)\nloss = model(torch.ones(3, 2)).detach().sum()",
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
# Only Graphviz is the one of this machine: in a page it is JavaScript.
RUNS = """
import asyncio, json, sys, types
import pygraphviz
sys.path.insert(0, sys.argv[1])
sent = []
sys.modules["the_page"] = types.SimpleNamespace(send=lambda text: sent.append(json.loads(text)))
import worker_python
assert "viz.magic" not in sys.modules, "what no first picture needs"
for name, source in json.load(sys.stdin).items():
    sent.clear()
    well = asyncio.run(worker_python.run("cell", source))
    kinds = [one["code"].split()[0].rpartition(".")[2] for one in sent if one["type"] == "open"]
    shown = [text for one in sent for text in [one.get("text", ""), *one.get("data", {}).values()] if isinstance(text, str)]
    print(json.dumps([name, well, kinds, "\\n".join(shown), [one["type"] for one in sent]]))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """By cell: whether it came to its end, the widgets that it shows, all texts."""
    command = [sys.executable, "-c", RUNS, str(pages.HERE / "python")]
    done = subprocess.run(command, input=json.dumps(CELLS), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return {name: tuple(rest) for name, *rest in map(json.loads, done.stdout.splitlines())}


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
        ("explore", True, ["Explorer"], "An explorer of this program"),
        ("raises", False, ["Player"], 'line 2, in <module>\n    x = 1 / 0'),
    ],
)  # fmt: skip
def test_a_magic_does_in_a_page_what_it_does_in_jupyter(
    told: dict[str, Any], name: str, well: bool, widgets: list[str], says: str
) -> None:
    assert told[name][:2] == (well, widgets), told[name][2][-500:]
    assert says in told[name][2]
    assert "tensor(" not in told["silent"][2].rpartition("</figure>")[2]
    assert "MulBackward0" not in told["alone"][2]


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
