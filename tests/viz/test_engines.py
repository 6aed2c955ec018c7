"""A third engine: one that somebody wrote to learn from is drawn, played and compared as the two of the course are."""

import re
from pathlib import Path
from types import SimpleNamespace

import micrograd.engine
import numpy as np
import pytest
import torch

import viz

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engines.md"
CODE = re.findall(r"```(?:py|python)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_piece_of_code_on_the_page_runs_and_micrograd_needs_thirty_lines():
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code.strip(), names)
    assert len([one for one in CODE[0].splitlines() if one.strip()]) <= 30


@pytest.fixture(scope="module")
def small():
    """micrograd as the page wraps it, for programs that are PyTorch's, too."""
    names = {}
    exec(CODE[0], names)
    engine = names["Micrograd"]()
    engine.T = SimpleNamespace(tensor=lambda data, requires_grad=False: micrograd.engine.Value(data))
    return engine


def line(T):
    w = T.tensor(2.0, requires_grad=True)
    b = T.tensor(-3.0, requires_grad=True)
    h = w * b + w
    y = (h.relu() + w**2) * w
    y.backward()


def test_the_pass_is_told_in_the_engines_own_order_played_and_drawn(small, tmp_path):
    recording = viz.record(line, engine=small)
    ops = {key: op.function for key, op in recording.graph.ops.items()}
    ran = [ops[event.node] for event in recording.events if event.kind == "run" and event.node in ops]
    assert sorted(ran) == sorted(["*", "+", "ReLU", "+", "**2", "*"])
    assert ran[0] == "*"
    assert ran.index("+") < ran.index("ReLU")
    sends = [gradient for event in recording.events if event.kind == "send" for gradient in event.gradients]
    sent = sum(gradient.array.data for gradient in sends if gradient.value == "v0")  # to w, which three ops use
    assert recording.tensors["w"]["grad"]["data"] == sent == 12.0
    assert recording.error is None
    assert viz.play(line, engine=small).scene["steps"][-1]["title"] == "The backward pass is over"
    assert ">w<" in recording.save(tmp_path / "line.svg").read_text()


def test_micrograd_agrees_with_pytorch_but_for_a_second_pass(small):
    found = viz.compare(line, engine=small)
    assert found.agree
    assert found.verdict.startswith("micrograd and PyTorch agree: 6 nodes, 2 gradients")
    assert found.first == ""
    twice = "w = T.tensor(3.0, requires_grad=True)\ny = w * w\ny.backward()\ny.backward()"
    found = viz.compare(twice, engine=small)
    assert found.verdict.startswith("Only micrograd runs this program to its end. PyTorch stops in line 4")


def test_a_wrong_rule_is_named_by_the_first_node_that_shows_it(small, monkeypatch):
    def half(self):
        out = micrograd.engine.Value(max(self.data, 0.0), (self,), "ReLU")

        def _backward():
            self.grad += 0.5 * (out.data > 0) * out.grad

        out._backward = _backward
        return out

    monkeypatch.setattr(micrograd.engine.Value, "relu", half)

    def program(T):
        w = T.tensor(2.0, requires_grad=True)
        h = w * w
        y = h.relu()
        y.backward()

    found = viz.compare(program, engine=small)
    assert not found.agree
    assert found.first == "the gradient that arrives at MulBackward0 in line 3: 0.5, in PyTorch 1"
    assert "micrograd has 2, PyTorch has 4" in str(found)


def test_an_error_ends_the_recording_and_micrograd_is_as_before(small):
    original = micrograd.engine.Value.backward
    recording = viz.record("w = T.tensor(3.0)\ny = w * w\ny.backward()\ny.sofmax()", engine=small)
    assert (recording.error["type"], recording.error["line"]) == ("AttributeError", 4)
    assert micrograd.engine.Value.backward is original


def test_a_leaf_that_a_loop_writes_to_is_seen_at_each_step(small):
    def program(T):
        w = T.tensor(1.0, requires_grad=True)
        for _ in range(3):
            w.grad = 0
            y = (w - 4.0) ** 2
            y.backward()
            w.data = w.data - 0.25 * w.grad

    recording = viz.record(program, engine=small)
    values = [value.array.data for value in recording.graph.values.values() if value.name == "w"]
    assert values == [1.0, 2.5, 3.25, 3.625]
    loops = [op.loops for op in recording.graph.ops.values() if op.function == "**2"]
    assert [steps[-1][1] for steps in loops] == [1, 2, 3]


PARTS = dict.fromkeys(("value", "parents", "gradient", "backward"), lambda tensor: None)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (5, "int lacks tensor_type"),
        (SimpleNamespace(tensor_type=int, value=0, parents=0), "lacks gradient, backward"),
        (SimpleNamespace(tensor_type=int, **PARTS), "have no method backward"),
    ],
)
def test_an_engine_without_a_part_is_refused_by_its_name(engine, said):
    with pytest.raises(TypeError, match=said):
        viz.record(line, engine=engine)


def test_a_second_public_engine_is_drawn_by_the_same_door():
    pytest.importorskip("smallpebble", reason="SmallPebble is not installed: pip install smallpebble")
    code = next(code for code in CODE if "class SmallPebble" in code)
    assert len([one for one in code.splitlines() if one.strip()]) <= 40
    names = {}
    exec(code, names)

    def layer(T):
        x = T.Variable(np.array([[1.0, -2.0], [0.5, 3.0]]))
        w = T.Variable(np.array([[2.0], [1.0]]))
        b = T.Variable(np.array(0.5))
        h = T.matmul(x, w) + b
        loss = T.sum(h * h)
        loss.backward()

    mine = viz.record(layer, engine=names["SmallPebble"]())
    assert mine.error is None
    names = ["MmBackward0", "AddBackward0", "MulBackward0", "SumBackward0"]
    assert [op.name for op in mine.graph.ops.values()] == names
    x, w, b = (torch.tensor(data, requires_grad=True) for data in ([[1.0, -2.0], [0.5, 3.0]], [[2.0], [1.0]], 0.5))
    h = x @ w + b
    (h * h).sum().backward()
    assert [mine.tensors[name]["grad"]["data"] for name in "xwb"] == [one.grad.tolist() for one in (x, w, b)]
    sent = [g.array.shape for event in mine.events if event.kind == "send" for g in event.gradients]
    assert [] in sent  # of b, which was broadcast
    assert "<svg" in mine.picture().svg
