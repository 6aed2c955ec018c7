"""A student's own engine: collected from the lessons, climbed rung by rung, and blamed by the piece that is wrong."""

import json
import re

import numpy as np
import pytest
from support import printed

import viz
from tinygrad_edu.course.cli import main
from tinygrad_edu.course.own_engine import FRAME, GIVEN, PIECES, Piece, borrowed, collect, read, write
from tinygrad_edu.course.own_engine.digits import TRAINED, digits, learn
from tinygrad_edu.course.own_engine.heart import Beside
from tinygrad_edu.course.own_engine.ladder import climb
from tinygrad_edu.course.own_engine.rungs import RUNGS
from tinygrad_edu.course.progress import progress
from tinygrad_edu.course.working_copy import lessons_root, students_version
from viz.experiments import playground

pytestmark = pytest.mark.outer


@pytest.fixture(scope="module")
def whole():
    """The engine of the course's own answers."""
    return collect(lessons_root())


def lesson_with(folder, number, answers):
    """A working copy in which one lesson has these answers."""
    (source,) = lessons_root().glob(f"{number:02}_*/*.ipynb")
    notebook = students_version(json.loads(source.read_bytes()))
    for cell in notebook["cells"]:
        name = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell["source"] = answers[name]
    target = folder / source.parent.name / source.name
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(notebook))
    return folder


def test_the_courses_answers_make_an_engine_that_stands_on_every_rung(whole):
    ladder = climb(whole)
    assert ladder.height == len(RUNGS) == 16
    assert ladder.verdict.startswith("Your engine agrees with PyTorch 2.13 on all 16 rungs; 12 of 12 pieces are mine.")
    assert "your engine" in ladder.speeds


def test_what_is_not_written_is_borrowed_and_marked(tmp_path):
    mine = "def unbroadcast(grad, shape):\n    return grad.reshape(shape)"
    engine = collect(lesson_with(tmp_path, 4, {"unbroadcast": mine}))
    assert engine.mine == ["unbroadcast"]
    assert re.search(r"# --- unbroadcast, lesson 4: mine \[\w{8}\]\n" + re.escape(mine), engine.text)
    assert "# --- mul_backward, lesson 1: borrowed; write it there, and it becomes mine [" in engine.text


def test_a_file_is_taken_apart_as_it_was_put_together(whole, tmp_path):
    write(whole, tmp_path / "my_engine.py")
    again = read(tmp_path / "my_engine.py")
    assert again.mine == list(PIECES)
    taken, put = ([piece.source.strip() for piece in one.pieces.values()] for one in (again, whole))
    assert taken == put


PREORDER = """
def topological_order(root, inputs):
    order, stack = [], [root]
    while stack:
        name = stack.pop()
        if name not in order:
            order.append(name)
            stack += inputs[name][::-1]
    return order
"""
RECURSION = """
def topological_order(root, inputs):
    order, seen = [], set()
    def visit(name):
        if name not in seen:
            seen.add(name)
            for other in inputs[name]:
                visit(other)
            order.append(name)
    visit(root)
    return order[::-1]
"""
UNCHECKED = """
class Saved:
    def __init__(self, tensor):
        self.tensor = tensor
    def unpack(self):
        return self.tensor
"""
BROAD = "def unbroadcast(grad, shape):\n    return grad\n"
FREED = "        if not retain_graph:\n            self.saved = [None] * len(self.saved)\n"
ADDED = "Tensor(grad if leaf.grad is None else leaf.grad.data + grad)"
BROKEN = {  # a piece, what is replaced in it (or all of it), by what, and the rung on which it shows
    "no sum where two ways meet": ("backward_pass", "grads[other] += grads", "grads[other] = grads", "a diamond"),
    "a preorder": ("topological_order", None, PREORDER, "a late arrival"),
    "no unbroadcast": ("unbroadcast", None, BROAD, "broadcasting"),
    "a recursion": ("topological_order", None, RECURSION, "5,000 ops in a row"),
    "no version check": ("version_check", None, UNCHECKED, "a write in place"),
    "a gradient that is not cleared": ("train", "            w.grad = None\n", "", "a line"),
    "no seed": ("backward_pass", "    grads[order[0]] = 1.0\n", "", "a product"),
    "a leaf that forgets": (FRAME, ADDED, "Tensor(grad)", "two losses"),
    "values that are never freed": ("freeing", FREED, "", "a second pass"),
    "a piece that is no Python": ("unbroadcast", None, BROAD.replace("shape)", "shape"), "a product"),
}


def with_fault(engine, case):
    name, old, new, _ = BROKEN[case]
    source = engine.pieces[name].source
    assert old is None or old in source
    return engine.with_piece(Piece(name, new if old is None else source.replace(old, new), True))


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_engine_stops_at_its_rung_and_the_cause_is_named(case, whole):
    name, _, _, rung = BROKEN[case]
    ladder = climb(with_fault(whole, case))
    stopped = ladder.steps[ladder.height]
    assert stopped.rung.name == rung
    assert stopped.agrees is False
    assert stopped.blame == (name,)
    assert stopped.difference
    assert (f"`{name}`" in stopped.hint) or (name == FRAME and "`Tensor.backward`" in stopped.hint)
    assert all(step.agrees is None for step in ladder.steps[ladder.height + 1 :])


def test_two_wrong_pieces_are_both_named(whole):
    broken = with_fault(with_fault(whole, "no unbroadcast"), "no sum where two ways meet")
    first = climb(broken)
    assert first.steps[first.height].blame == ("backward_pass",)
    second = climb(broken.with_piece(borrowed("backward_pass")))
    assert second.steps[second.height].blame == ("unbroadcast",)


def test_the_engine_is_drawn_beside_pytorch(whole):
    def program(T):
        w = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        b = T.tensor([0.5, -9.0], requires_grad=True)
        h = T.relu(T.tensor([[1.0, -1.0]]) @ w + b)
        loss = (h * h).mean()
        loss.backward()

    found = viz.compare(program, engine=whole.module())
    assert found.verdict.startswith("my_engine and PyTorch agree: 5 nodes, 2 gradients")


def test_the_explorer_runs_it_after_each_switch(whole):
    explorer = viz.explore("w = T.tensor(3.0, requires_grad=True)\ny = w * w\ny.backward()", engine=whole.module())
    assert explorer.result["sides"][0]["title"] == "my_engine"
    assert explorer.result["verdict"]["compared"] == "1 node, 2 tensors, 1 gradient"
    explorer.state = {"requires_grad": {"w": False}}
    error = explorer.result["errors"][0]
    assert error["engines"] == ["tinygrad_edu", "torch"]
    assert error["message"] == "element 0 of tensors does not require grad and does not have a grad_fn"


def test_a_write_in_place_is_one_more_node_of_the_same_tensor(whole):
    def program(T):
        w = T.tensor(3.0, requires_grad=True)
        a = w * 2.0
        a *= w
        a.backward()

    recording = viz.record(program, engine=whole.module())
    versions = [value for value in recording.graph.values.values() if value.name == "a"]
    assert [value.array.data for value in versions] == [6.0, 18.0]
    assert versions[1].how_shared == "in-place"
    assert len(recording.graph.ops) == 2
    assert recording.tensors["w"]["grad"]["data"] == 12.0


def test_the_heart_is_shown_as_it_is_written_beside_the_students_lines(whole):
    told = repr(Beside(whole))
    assert "def topological_order(root, inputs):" in told
    assert "heappop" in told
    assert "def record(" in told and "def deliver(" in told
    assert len(Beside(whole).sections()) == told.count("--- in the heart ---") == 6
    assert "-&gt; None" in Beside(whole)._repr_html_()


def test_the_frame_and_the_further_ops_are_short(whole):
    frame, further = (len(whole.pieces[name].source.splitlines()) for name in GIVEN)
    assert frame <= 270
    assert further <= 90


def test_progress_and_the_command_say_how_many_pieces_are_written(tmp_path, capsys):
    """Also in a working copy below a hidden folder."""
    (hidden := tmp_path / ".hidden").mkdir()
    folder = lesson_with(hidden, 1, {"mul_backward": "def mul_backward(grad_output, a, b):\n    return b, a"})
    found = progress(folder)
    assert "11. Your own engine: 1 of 12 pieces are yours" in repr(found)
    assert "1 of 12 pieces are yours, and it stands on 1 of 16 rungs" in found._repr_html_()
    assert "the next is “a neuron”" in repr(found)
    assert main(["engine", "--dir", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "1 of 12 pieces are mine" in said and "✗  2. a neuron" in said
    path = folder / "my_engine.py"
    path.write_text(re.sub("# --- unbroadcast.*", "", path.read_text()))
    with pytest.raises(ValueError, match="lacks unbroadcast"):
        read(path)


def test_what_was_changed_in_the_file_stays(tmp_path, capsys):
    path = tmp_path / "my_engine.py"
    write(collect(lesson_with(tmp_path, 1, {})), path)
    path.write_text(path.read_text().replace("Tensor(grad if", "Tensor(0.0 * grad if"))
    assert main(["engine", "--dir", str(tmp_path)]) == 1
    assert "`Tensor.backward`" in capsys.readouterr().out
    assert "Tensor(0.0 * grad if" in path.read_text()
    assert main(["engine", "--dir", str(tmp_path)]) == 1  # and at the third time as well
    assert "Tensor(0.0 * grad if" in path.read_text()
    assert read(path).pieces[FRAME].changed


def test_a_file_that_cannot_be_read_is_named_and_stays(tmp_path, capsys):
    path = tmp_path / "my_engine.py"
    path.write_text("def unbroadcast(grad, shape): ...\n")
    assert main(["engine", "--dir", str(tmp_path)]) == 2
    assert "move the file away" in capsys.readouterr().err
    assert path.read_text() == "def unbroadcast(grad, shape): ...\n"


def test_it_reads_digits_as_pytorch_does() -> None:
    import torch

    mine = learn(collect(lessons_root()).module(), 30)
    assert (mine == learn(torch, 30)).all()
    assert (mine == digits()[1][TRAINED:]).mean() > 0.8


def test_the_file_runs_where_only_numpy_is(whole, tmp_path):
    (tmp_path / "tinygrad_edu.py").write_text("raise ModuleNotFoundError")
    write(whole, tmp_path / "my_engine.py")
    program = "import my_engine as T\nw = T.tensor(3.0, requires_grad=True)\n(w * w).backward()\nprint(w.grad.item())"
    assert printed(program, cwd=tmp_path) == "6.0\n"


def learned(own=None, **settings):
    learner = playground.Learner(playground.setting_of(settings, own=["my_engine"]), "moons", own=own)
    for _ in range(20):
        learner.step()
    assert not learner.ended
    return learner


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"activation": "relu", "init": "he", "batch": 32, "lr": 0.1, "optimizer": "momentum", "weight_decay": 0.01},
        {"layers": 3, "residual": True, "features": "x1 x2^2", "test": 0.25, "lr": 0.1, "zero_grad": False},
    ],
    ids=str,
)
def test_in_the_playground_its_losses_and_gradients_are_ours(whole, settings, monkeypatch):
    mine = learned(whole.module(), engine="my_engine", **settings)
    ours, shown = learned(**settings), mine.inside(20)
    np.testing.assert_allclose(mine.losses, ours.losses, rtol=1e-4)  # ours has 32 bits
    text = playground.program

    def doubled(setting, *given):  # the same first numbers, in 64 bits
        names = ["model", "X", *(["X_test"] if setting.test else [])]
        lines = "".join(f"{name} = {name}.double()\n" for name in names)
        return text(setting, *given).replace("optimizer = ", f"{lines}optimizer = ", 1)

    monkeypatch.setattr(playground, "program", doubled)
    exact = learned(**settings)
    np.testing.assert_allclose(mine.losses, exact.losses, rtol=0, atol=1e-9)
    np.testing.assert_allclose(mine.test_losses, exact.test_losses, rtol=0, atol=1e-9)
    for edges, layer in zip(shown.gradients[:-1], exact.layers, strict=False):
        np.testing.assert_allclose(edges, layer.weight.grad.numpy()[:8, :8], rtol=0, atol=1e-9)
    recording = mine.recording(20)
    assert recording.error is None
    assert "model.0.weight" in {value.name for value in recording.graph.values.values()}
    assert recording.tensors["loss"]["value"]["data"] == mine.losses[-1]


def test_in_the_playground_a_missing_op_is_a_sentence_and_an_op_of_ones_own_counts(whole):
    engine = whole.module()
    with pytest.raises(ValueError, match="settings: my_engine has no sigmoid"):
        viz.playground(engine=engine, activation="sigmoid")
    shown = viz.playground("moons", engine=engine)
    assert shown.call() == "viz.playground('moons', engine=my_engine)"
    other = {**shown.task["settings"][0], "optimizer": "Adam"}
    shown.asked = {"data": "moons", "points": shown.task["points"], "settings": [other, None], "seq": "1"}
    assert "there is no Adam over an engine of your own" in shown.frame["said"]

    class Sigmoid(engine.Op):
        name, saves = "sigmoid", "result"
        forward = staticmethod(lambda x: 1 / (1 + np.exp(-x)))
        backward = staticmethod(lambda grad, y: (grad * y * (1 - y),))

    engine.sigmoid = Sigmoid.apply
    shown = viz.playground("moons", engine=engine, activation="sigmoid", beside={"engine": "tinygrad_edu"}, steps=5)
    mine, ours = (learner.losses for learner in shown.learners)
    assert mine == pytest.approx(ours, rel=1e-5)
