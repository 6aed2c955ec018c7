"""The picture of an existing graph: what it shows, and what it says when there is nothing to show."""

import sys
import xml.etree.ElementTree as ET

import pytest

import viz
from viz import engines
from viz.picture.layout import GraphvizMissing


def line(T):
    w = T.tensor(2.0, requires_grad=True)
    x = T.tensor(3.0)
    b = T.tensor(1.0, requires_grad=True)
    y = T.tensor(4.0)
    L = ((w * x + b) - y) ** 2
    return w, x, b, L


def words(picture):
    return {element.text for element in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")}


def test_ops_are_pytorchs_nodes_and_names_are_the_callers_variables(T):
    w, _x, b, L = line(T)
    picture = viz.draw(L)
    assert [op.name for op in picture.graph.ops.values()] == [
        "MulBackward0",
        "AddBackward0",
        "SubBackward0",
        "PowBackward0",
    ]
    assert {"w", "b", "L"} <= words(picture)
    assert w.is_leaf and b.is_leaf
    assert {"×", "+", "−", "(·)²"} <= words(picture)


def test_drawing_runs_nothing_and_changes_nothing(T):
    w, *_, L = line(T)
    viz.draw(L)
    L.backward()
    assert float(w.grad) == 18.0


def test_a_graph_whose_buffers_are_freed_is_drawn_with_struck_tabs(T):
    w, *_, L = line(T)
    L.backward()
    picture = viz.draw({"L": L, "w": w})
    assert [saved.state for op in picture.graph.ops.values() for saved in op.saved] == ["freed", "freed"]
    assert "grad 18" in words(picture)


def test_the_grad_fn_view_shows_accumulate_grad_and_the_values_view_hides_it(T):
    L = line(T)[-1]
    assert "AccumulateGrad" in words(viz.draw(L, view="grad_fn"))
    assert "AccumulateGrad" not in words(viz.draw(L))


def test_a_tensor_without_a_graph_is_drawn_alone_and_says_why(T):
    x = T.tensor(3.0)
    picture = viz.draw(x)
    assert list(picture.graph.ops) == []
    assert "requires no grad" in " ".join(picture.notes)
    assert {"x", "3"} <= words(picture)


def test_a_leaf_that_requires_grad_says_that_it_is_one(T):
    assert "This is a leaf" in " ".join(viz.draw(T.tensor(3.0, requires_grad=True)).notes)


@pytest.mark.parametrize("bad", [3, None, [1], {}, "x", (), object()])
def test_a_non_tensor_is_a_type_error_that_says_what_is_accepted(bad):
    with pytest.raises(TypeError, match=r"viz\.draw takes a tensor"):
        viz.draw(bad)


def test_without_any_graphviz_the_error_names_the_one_command_that_fixes_it(T, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GraphvizMissing, match="pip install pygraphviz"):
        _ = viz.draw(T.tensor(2.0, requires_grad=True) * 3).svg


def test_a_graphviz_that_does_not_load_says_which_library_is_missing(T, monkeypatch, tmp_path):
    (tmp_path / "pygraphviz.py").write_text("raise ImportError('libX11.so.6: cannot open shared object file')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pygraphviz", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GraphvizMissing, match=r"does not load: libX11.*apt-get install"):
        _ = viz.draw(T.tensor(2.5, requires_grad=True) * 3.5).svg


def test_a_dict_provides_the_names(T):
    w = T.tensor(2.0, requires_grad=True)
    picture = viz.draw({"double": w * 2, "triple": w * 3})
    assert {"double", "triple"} <= words(picture)


def test_names_with_markup_in_them_stay_text(T):
    w = T.tensor(2.0, requires_grad=True)
    nasty = '<script>alert("x")</script>]]>\\"&\n'
    picture = viz.draw({nasty: w * 2})
    root = ET.fromstring(picture.svg)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert any(text and "<script>" in text for text in words(picture))


def test_the_source_is_dot_that_graphviz_draws(T):
    import pygraphviz

    L = line(T)[-1]
    graph = pygraphviz.AGraph(string=viz.draw(L).source)
    assert graph.number_of_nodes() == 11  # y is kept by no node, so nothing tells of it
    assert graph.draw(format="svg", prog="dot").startswith(b"<?xml")


def test_parameters_have_the_same_names_wherever_a_model_is_drawn_or_recorded(engine):
    T = engines.load(engine).module
    model = T.nn.Sequential(T.nn.Linear(3, 2), T.nn.Linear(2, 1))

    def step():
        model(T.ones(2, 3)).sum().backward()

    names = ["model.0.weight", "model.0.bias", "model.1.weight", "model.1.bias"]
    for graph in (viz.draw(model).graph, viz.draw(model, T.ones(2, 3)).graph, viz.record(step).graph):
        assert sorted(value.name for value in graph.values.values() if value.kind == "leaf") == sorted(names)


def test_a_picture_admits_what_it_guesses_of_modules(engine):
    T = engines.load(engine).module

    class Steps(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.step = T.nn.Linear(3, 3)
            self.out = T.nn.Linear(3, 1)

        def forward(self, x):
            for _ in range(3):
                x = self.step(x)
            return self.out(x)

    model = Steps()
    picture = viz.draw(model(T.ones(2, 3)).sum(), module=model)
    assert picture.caption.startswith("Modules guessed from the names of parameters: step.weight is used 3 times.")
    assert "guessed" not in viz.draw(model, T.ones(2, 3)).caption
    one = T.nn.Linear(3, 1)
    assert "guessed" not in viz.draw(one(T.ones(2, 3)), module=one).caption
