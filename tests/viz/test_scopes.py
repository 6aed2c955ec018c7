"""Frames around modules hold what belongs to the module, and nothing else."""

import pytest

import viz
from viz.frames.director import VIEWS
from viz.picture.scopes import Scope, held, whole

NET = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = T.nn.Linear(2, 3)
        self.out = T.nn.Linear(3, 1)

    def forward(self, x):
        return self.out(self.hidden(x).relu())

net = Net()
x = T.ones(1, 2)
loss = (net(x) - 1.0).pow(2).mean()
loss.backward()
"""


@pytest.mark.parametrize("view", VIEWS)
def test_each_module_has_a_frame_in_that_of_the_module_it_is_part_of(engine, view):
    drawing = viz.record(NET, engine=engine).picture(view=view)._drawing
    titles = {scope.key: scope.title for scope in drawing.scopes}
    assert {(scope.title, titles.get(scope.parent)) for scope in drawing.scopes} == {
        ("net", None),
        ("net.hidden", "net"),
        ("net.out", "net"),
    }


def test_a_parameter_stands_in_its_module_and_what_goes_in_and_out_does_not(engine):
    picture = viz.record(NET, engine=engine).picture()
    title = {key: value.title for key, value in picture.graph.values.items()}
    inside = {
        scope.title: {title[key] for key in held(picture._drawing.scopes, scope) if key in title}
        for scope in picture._drawing.scopes
    }
    assert {"net.hidden.weight", "net.hidden.bias"} <= inside["net.hidden"] <= inside["net"]
    assert not {"x", "loss"} & inside["net"]
    relu = next(op for op in picture.graph.ops.values() if op.name == "ReluBackward0")
    between = {title[key] for key in (*relu.inputs, *relu.outputs)}
    assert between <= inside["net"] - inside["net.hidden"] - inside["net.out"]


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_in_a_frame_lies_in_it_and_nothing_else_does(engine, view):
    picture = viz.record(NET, engine=engine).picture(view=view)
    for scope in picture._drawing.scopes:
        left, top, right, bottom = picture.layout.frames[scope.key]
        inside = held(picture._drawing.scopes, scope)
        for box in picture._drawing.boxes:
            spot = picture.layout.spots[box.key]
            sides = spot.x - box.width / 2, spot.y - box.height / 2, spot.x + box.width / 2, spot.y + box.height / 2
            if box.key in inside:
                assert left <= sides[0] and top <= sides[1] and sides[2] <= right and sides[3] <= bottom
            else:
                assert sides[2] <= left or sides[0] >= right or sides[3] <= top or sides[1] >= bottom


def test_a_module_that_runs_twice_has_no_frame(engine):
    program = "lin = T.nn.Linear(2, 2)\ny = lin(lin(T.ones(1, 2)).relu())"
    assert viz.record(program, engine=engine).picture()._drawing.scopes == []


def test_a_module_of_one_op_has_no_frame_and_a_program_without_modules_none_at_all(engine):
    program = "net = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.ReLU())\ny = net(T.ones(1, 2))"
    titles = [scope.title for scope in viz.record(program, engine=engine).picture()._drawing.scopes]
    assert titles == ["net", "net.0"]
    assert viz.record("y = T.ones(2) * 3", engine=engine).picture()._drawing.scopes == []


def test_the_dot_text_has_the_frames_too(engine):
    graphviz = pytest.importorskip("pygraphviz").AGraph(string=viz.record(NET, engine=engine).picture().source)
    outer = graphviz.subgraphs()
    assert [cluster.graph_attr["label"] for cluster in outer] == ["net"]
    assert {cluster.graph_attr["label"] for cluster in outer[0].subgraphs()} == {"net.hidden", "net.out"}


def test_the_title_of_a_frame_is_text_whatever_it_is(engine):
    program = (
        "d = {'<b>&\"': T.nn.Sequential(T.nn.Linear(1, 1))}\nnet = T.nn.ModuleDict(d)\ny = net['<b>&\"'](T.ones(1, 1))"
    )
    drawn = viz.record(program, engine=engine).picture().svg
    assert "net.&lt;b&gt;&amp;&quot;" in drawn
    assert "<b>" not in drawn


def test_a_frame_that_a_path_leaves_and_enters_again_is_dropped():
    def frames():
        return [Scope("m0", "net", None, ["a"]), Scope("m1", "net.inner", "m0", ["b", "d"])]

    assert [scope.key for scope in whole(frames(), [("a", "b"), ("b", "d"), ("d", "e")])] == ["m0", "m1"]
    left = whole(frames(), [("a", "b"), ("b", "c"), ("c", "d")])  # c is in neither
    assert left == []
    left = whole([Scope("m0", "net", None, ["a", "c"]), frames()[1]], [("b", "c"), ("c", "d")])
    assert [(scope.key, sorted(scope.boxes)) for scope in left] == [("m0", ["a", "b", "c", "d"])]
