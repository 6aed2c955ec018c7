"""The picture of an existing graph: what it shows, and what it says when there is nothing to show."""

import re
import sys
import types
import xml.etree.ElementTree as ET

import pytest
from support.stage_programs import PROGRAMS as USUAL

import viz
from viz.picture.fit import READABLE
from viz.picture.layout import GraphvizMissing
from viz.picture.network import CELL


def line(T):
    w = T.tensor(2.0, requires_grad=True)
    x = T.tensor(3.0)
    b = T.tensor(1.0, requires_grad=True)
    y = T.tensor(4.0)
    L = ((w * x + b) - y) ** 2
    return w, x, b, L


def words(picture):
    return {element.text for element in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")}


NODES = ["MulBackward0", "AddBackward0", "SubBackward0", "PowBackward0"]


def test_ops_are_pytorchs_nodes_and_names_are_the_callers_variables_and_drawing_changes_nothing(T):
    w, _x, b, L = line(T)
    picture = viz.draw(L)
    assert [op.name for op in picture.graph.ops.values()] == NODES
    assert {"w", "b", "L"} <= words(picture)
    assert w.is_leaf and b.is_leaf
    assert {"×", "+", "−", "(·)²"} <= words(picture)
    assert "AccumulateGrad" in words(viz.draw(L, view="grad_fn"))
    assert "AccumulateGrad" not in words(picture)
    L.backward()
    assert float(w.grad) == 18.0


def test_a_graph_whose_buffers_are_freed_is_drawn_with_struck_tabs_and_a_dict_gives_the_names(T):
    w, *_, L = line(T)
    L.backward()
    picture = viz.draw({"loss": L, "weight": w})
    assert [saved.state for op in picture.graph.ops.values() for saved in op.saved] == ["freed", "freed"]
    assert {"loss", "weight", ".grad 18"} <= words(picture)


@pytest.mark.parametrize(("requires_grad", "said"), [(False, "requires no grad"), (True, "This is a leaf")])
def test_a_tensor_without_a_graph_is_drawn_alone_and_says_why(T, requires_grad, said):
    x = T.tensor(3.0, requires_grad=requires_grad)
    picture = viz.draw(x)
    assert list(picture.graph.ops) == []
    assert said in " ".join(re.findall(">([^<]+)</text>", picture.svg))
    assert {"x", "3"} <= words(picture)


@pytest.mark.parametrize("bad", [3, None, [1], {}, "x", (), object()])
def test_a_non_tensor_is_a_type_error_that_says_what_is_accepted(bad):
    with pytest.raises(TypeError, match=r"viz\.draw takes a tensor"):
        viz.draw(bad)


@pytest.mark.parametrize(
    ("option", "why"), [({"depth": "all"}, "not 'all'"), ({"depth": -1}, "0 or more"), ({"loss": 3}, "not 3")]
)
def test_an_option_that_makes_no_sense_is_refused(T, option, why):
    with pytest.raises((TypeError, ValueError), match=why):
        viz.draw(T.nn.Linear(2, 1), T.ones(1, 2), **option)


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


def test_a_picture_admits_what_it_guesses_of_modules(T):
    class Steps(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.step, self.out = T.nn.Linear(3, 3), T.nn.Linear(3, 1)

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


def test_what_other_libraries_call_modules_are_no_modules_of_a_network(T):
    lazy = types.ModuleType("lazy")
    lazy._modules = {"one", "two"}  # as `import transformers` leaves it
    w = T.tensor(2.0, requires_grad=True)
    picture = viz.draw((w * 2).sum())  # not inside the assert: pytest would give the tensor a name
    assert "MulBackward0" in words(picture)


@pytest.mark.outer
@pytest.mark.parametrize("width", [CELL[0], 440.0])
@pytest.mark.parametrize("program", USUAL.values(), ids=[*USUAL])
def test_a_still_is_whole_in_sight_and_readable_in_its_place(program, width):
    picture = viz.record(program).picture(width=width).svg
    wide, high = (float(size) for size in re.search(r'width="(\d+)" height="(\d+)"', picture).groups())
    scale = min(1.0, width / wide)
    assert scale * (10 if re.search(r'class="(mid )?tiny', picture) else 11) >= READABLE - 0.1
    assert scale * high <= 620


def test_nodes_of_the_grad_fn_view_have_their_whole_names_where_there_is_room(T):
    parts = T.nn.Linear(4, 8), T.nn.LayerNorm(8), T.nn.GELU(), T.nn.Dropout(0.1), T.nn.Linear(8, 3)
    loss = T.nn.functional.cross_entropy(T.nn.Sequential(*parts)(T.randn(5, 4)), T.tensor([0, 1, 2, 0, 1]))
    picture = viz.draw(loss, view="grad_fn").svg
    assert ">NativeLayerNormBackward0</text>" in picture and ">LogSoftmaxBackward0</text>" in picture
    assert "…" not in picture
