"""A third engine: one that somebody wrote to learn from is drawn, played and compared as the two of the course are."""

import re
from pathlib import Path
from types import SimpleNamespace

import micrograd.engine
import numpy as np
import pytest

import viz

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engines.md"


@pytest.fixture(scope="module")
def page():
    """What the code of the page defines."""
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:1]:
        exec(code, names)
    return names


@pytest.fixture
def small(page):
    """micrograd as the page wraps it, for programs that are PyTorch's, too."""
    engine = page["Micrograd"]()
    engine.T = SimpleNamespace(tensor=lambda data, requires_grad=False: micrograd.engine.Value(data))
    return engine


def line(T):
    w = T.tensor(2.0, requires_grad=True)
    b = T.tensor(-3.0, requires_grad=True)
    h = w * b + w
    y = (h.relu() + w**2) * w
    y.backward()


def test_the_page_wraps_micrograd_in_thirty_lines(page):
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert len([one for one in code.splitlines() if one.strip()]) <= 30


def test_every_piece_of_code_on_the_page_runs():
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        lines = code.strip().splitlines()
        exec("\n".join(lines), names)


def test_the_pass_is_told_in_the_engines_own_order(small):
    recording = viz.record(line, engine=small)
    ops = {key: op.function for key, op in recording.graph.ops.items()}
    ran = [ops[event.node] for event in recording.events if event.kind == "run" and event.node in ops]
    assert sorted(ran) == sorted(["*", "+", "ReLU", "+", "**2", "*"])
    assert ran[0] == "*"
    assert ran.index("+") < ran.index("ReLU")
    assert recording.tensors["w"]["grad"]["data"] == 12.0
    assert recording.error is None


def test_what_a_node_sends_is_what_its_parents_got(small):
    recording = viz.record(line, engine=small)
    sends = [event for event in recording.events if event.kind == "send"]
    total = sum(
        gradient.array.data for event in sends for gradient in event.gradients if gradient.value == "v0"
    )  # of w, which three ops use
    assert total == 12.0


def test_a_player_and_a_picture_are_made(small, tmp_path):
    titles = [step["title"] for step in viz.play(line, engine=small).scene["steps"]]
    assert titles[-1] == "The backward pass is over"
    saved = viz.record(line, engine=small).save(tmp_path / "line.svg")
    assert ">w<" in saved.read_text()


def test_micrograd_agrees_with_pytorch(small):
    found = viz.compare(line, engine=small)
    assert found.agree
    assert found.verdict.startswith("micrograd and PyTorch agree: 6 nodes, 2 gradients")
    assert found.first == ""


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


def test_a_second_pass_that_pytorch_refuses_is_a_difference(small):
    def program(T):
        w = T.tensor(3.0, requires_grad=True)
        y = w * w
        y.backward()
        y.backward()

    found = viz.compare(program, engine=small)
    assert found.verdict.startswith("Only micrograd runs this program to its end. PyTorch stops in line 5")


def test_an_error_ends_the_recording_and_micrograd_is_as_before(small):
    original = micrograd.engine.Value.backward

    def program(T):
        w = T.tensor(3.0)
        y = w * w
        y.backward()
        y.sofmax()

    recording = viz.record(program, engine=small)
    assert recording.error["type"] == "AttributeError"
    assert recording.error["line"] == 5
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


@pytest.mark.parametrize(
    ("engine", "said"),
    [(5, "int lacks tensor_type"), (SimpleNamespace(tensor_type=int, value=0, parents=0), "lacks gradient, backward")],
)
def test_an_engine_without_a_part_is_refused_by_its_name(engine, said):
    with pytest.raises(TypeError, match=said):
        viz.record(line, engine=engine)


def test_tensors_that_cannot_start_a_pass_are_refused():
    parts = dict.fromkeys(("value", "parents", "gradient", "backward"), lambda tensor: None)
    with pytest.raises(TypeError, match="have no method backward"):
        viz.play(line, engine=SimpleNamespace(tensor_type=int, **parts))


def test_a_second_public_engine_is_drawn_by_the_same_door():
    pytest.importorskip("smallpebble", reason="SmallPebble is not installed: pip install smallpebble")
    torch = pytest.importorskip("torch")
    (code,) = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
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
    assert [op.name for op in mine.graph.ops.values()] == [
        "MmBackward0",
        "AddBackward0",
        "MulBackward0",
        "SumBackward0",
    ]
    x, w, b = (torch.tensor(data, requires_grad=True) for data in ([[1.0, -2.0], [0.5, 3.0]], [[2.0], [1.0]], 0.5))
    h = x @ w + b
    (h * h).sum().backward()
    assert [mine.tensors[name]["grad"]["data"] for name in "xwb"] == [one.grad.tolist() for one in (x, w, b)]
    sent = [g.array.shape for event in mine.events if event.kind == "send" for g in event.gradients]
    assert [] in sent  # of b, which was broadcast
    assert "<svg" in mine.picture().svg
