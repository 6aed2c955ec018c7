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
def test_each_module_has_a_frame_in_that_of_the_module_it_is_part_of_and_what_is_in_it_lies_in_it(engine, view):
    picture = viz.record(NET, engine=engine).picture(view=view)
    scopes = picture._drawing.scopes
    titles = {scope.key: scope.title for scope in scopes}
    nested = {(scope.title, titles.get(scope.parent)) for scope in scopes}
    assert nested == {("net", None), ("net.hidden", "net"), ("net.out", "net")}
    for scope in scopes:
        left, top, right, bottom = picture.layout.frames[scope.key]
        inside = held(scopes, scope)
        for box in picture._drawing.boxes:
            spot = picture.layout.spots[box.key]
            sides = spot.x - box.width / 2, spot.y - box.height / 2, spot.x + box.width / 2, spot.y + box.height / 2
            if box.key in inside:
                assert left <= sides[0] and top <= sides[1] and sides[2] <= right and sides[3] <= bottom
            else:
                assert sides[2] <= left or sides[0] >= right or sides[3] <= top or sides[1] >= bottom
    graph = pytest.importorskip("pygraphviz").AGraph(string=picture.source)
    (outer,) = graph.subgraphs()
    assert outer.graph_attr["label"] == "net", "the dot text has the frames too"
    assert {cluster.graph_attr["label"] for cluster in outer.subgraphs()} == {"net.hidden", "net.out"}


def test_a_parameter_stands_in_its_module_and_what_goes_in_and_out_does_not(engine):
    picture = viz.record(NET, engine=engine).picture()
    title = {key: value.title for key, value in picture.graph.values.items()}
    scopes = picture._drawing.scopes
    inside = {scope.title: {title[key] for key in held(scopes, scope) if key in title} for scope in scopes}
    assert {"net.hidden.weight", "net.hidden.bias"} <= inside["net.hidden"] <= inside["net"]
    assert not {"x", "loss"} & inside["net"]
    relu = next(op for op in picture.graph.ops.values() if op.name == "ReluBackward0")
    between = {title[key] for key in (*relu.inputs, *relu.outputs)}
    assert between <= inside["net"] - inside["net.hidden"] - inside["net.out"]


@pytest.mark.parametrize(
    ("program", "framed"),
    [
        ("lin = T.nn.Linear(2, 2)\ny = lin(lin(T.ones(1, 2)).relu())", []),
        ("net = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.ReLU())\ny = net(T.ones(1, 2))", ["net", "net.0"]),
        ("y = T.ones(2) * 3", []),
    ],
    ids=["a module that runs twice", "a module of one op", "no module"],
)
def test_what_is_no_part_by_itself_has_no_frame(engine, program, framed):
    assert [scope.title for scope in viz.record(program, engine=engine).picture()._drawing.scopes] == framed


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
