"""Programs of all kinds: each is explored, or refused in a sentence; nothing asks, hangs or is lost."""

import json
import random

import numpy as np
import pytest
import torch

import tinygrad_edu
import viz
from viz.experiments.program import ProgramError

AGREEING = {
    "a class": (
        "class Net(T.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = T.nn.Parameter(T.tensor(2.0))\n    def forward(self, x):\n        return self.w * x\n"
        "net = Net()\nx = T.tensor(3.0, requires_grad=True)\nL = net(x)\nL.backward()"
    ),
    "a nested function": (
        "def f(x):\n    def g(y):\n        return y * 2\n    return g(x) + 1\n"
        "w = T.tensor(2.0, requires_grad=True)\nL = f(w)\nL.backward()"
    ),
    "a comprehension": "w = T.tensor(2.0, requires_grad=True)\nL = sum([w * i for i in range(3)])\nL.backward()",
    "a thousand numbers": "w = T.ones(1000, requires_grad=True)\nL = (w * w).sum()\nL.backward()",
    "a thousand numbers written out": f"w = T.tensor({[0.5] * 1000}, requires_grad=True)\nL = w.sum()\nL.backward()",
    "names in unicode": "größe = T.tensor(2.0, requires_grad=True)\nλ = größe * größe\nλ.backward()",
    "numpy": "import numpy as np\nw = T.tensor(np.array([1.0, 2.0]), requires_grad=True)\nL = w.sum()\nL.backward()",
    "PyTorch, pasted": "import torch\nw = torch.tensor(2.0, requires_grad=True)\nL = w * w\nL.backward()",
    "no backward": "w = T.tensor(2.0, requires_grad=True)\nL = w * w",
    "NaN": 'w = T.tensor(float("nan"), requires_grad=True)\nL = w * w\nL.backward()',
    "random numbers": "w = T.randn(3, requires_grad=True)\nL = (w * w).sum()\nL.backward()",
    "Python's random numbers": "import random\n"
    "w = T.tensor(random.random(), requires_grad=True)\nL = w * w\nL.backward()",
}


@pytest.mark.parametrize("name", AGREEING)
def test_it_is_explored_and_every_toggle_of_a_line_answers(name):
    explorer = viz.explore(AGREEING[name])
    assert [side.get("error") for side in explorer.result["sides"]] == [None, None]
    assert all(row["agree"] for row in explorer.result["table"])
    for line in explorer.program["lines"]:
        if line["kind"] == "compute":
            explorer.state = {"no_grad": [line["first"]]}
            assert "refused" not in explorer.result
    sent = explorer.get_state()
    json.loads(sent["result"], parse_constant=lambda word: pytest.fail(f"{word} is no word of JSON"))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        *((program, "Start with one") for program in ("", "# nothing yet", "a = 1\nb = a + 2")),
        ("w = T.tensor([1, 2], requires_grad=True)", "It stops before it has made a tensor"),
    ],
)
def test_without_a_tensor_a_sentence_says_how_to_begin(program, said):
    for side in viz.explore(program).result["sides"]:
        assert said in side["missing"] and "scene" not in side


def test_what_cannot_be_run_is_told_in_a_sentence(capsys):
    with pytest.raises(ProgramError) as refused:
        viz.explore("x = T.tensor(1.0\nL = x * x")
    sentence = "ProgramError: line 1: this is not Python, '(' was never closed: x = T.tensor(1.0"
    assert refused.value._render_traceback_() == [sentence]
    del refused
    assert capsys.readouterr().err == ""
    result = viz.explore('v = float(input("? "))\nw = T.tensor(v, requires_grad=True)').result
    assert ["write the value into the program" in side["error"]["message"] for side in result["sides"]] == [True, True]


def test_random_numbers_are_the_same_after_a_change_and_those_of_the_notebook_go_on():
    torch.manual_seed(7)
    tinygrad_edu.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    states = torch.get_rng_state(), random.getstate()
    expected = tinygrad_edu.rand(2).tolist(), np.random.random_sample()
    tinygrad_edu.manual_seed(7)
    np.random.seed(7)
    explorer = viz.explore(AGREEING["random numbers"])
    (before,) = (row["value"] for row in explorer.result["table"] if row["name"] == "w")
    explorer.state = {"retain_grad": ["L"]}
    (after,) = (row["value"] for row in explorer.result["table"] if row["name"] == "w")
    assert before == after
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert (tinygrad_edu.rand(2).tolist(), np.random.random_sample()) == expected


def test_code_to_copy_begins_at_the_same_seed_where_numbers_are_drawn():
    codes = viz.explore(AGREEING["random numbers"]).result["codes"]
    assert codes["torch"]["before"] == ["import torch", "torch.manual_seed(0)", ""]
    assert codes["tinygrad_edu"]["before"] == ["import tinygrad_edu", "tinygrad_edu.manual_seed(0)", ""]
    codes = viz.explore(AGREEING["Python's random numbers"]).result["codes"]
    assert codes["torch"]["before"] == ["import torch", "import random; random.seed(0)", ""]
    codes = viz.explore(AGREEING["no backward"]).result["codes"]
    assert codes["torch"]["before"] == ["import torch", ""]
