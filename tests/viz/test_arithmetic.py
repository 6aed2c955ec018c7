"""What is told of an entry is so: each sum of products is the number recorded, and names the entries it took."""

import numpy as np
import pytest
from support.stage_programs import PROGRAMS

import viz
from viz.recording.recording import Recording
from viz.telling.arithmetic import Arithmetic, numbers_of
from viz.telling.differing import lit
from viz.telling.numbers import all_sheets, key_of, numbers_sheet

pytestmark = pytest.mark.outer

OPS = """
T.manual_seed(0)
x = T.randn(1, 1, 4, 4)
k = T.randn(1, 1, 2, 2, requires_grad=True)
y = T.nn.functional.conv2d(x, k, stride=2)
e = T.randn(5, 2, requires_grad=True)
g = e[T.tensor([1, 3, 1])]
h = e.gather(0, T.tensor([[0, 1], [2, 0]]))
m = e.mean(dim=0, keepdim=True) + g * 2
s = T.softmax(m, -1)
c = T.nn.functional.cross_entropy(m, T.tensor([0, 1, 1]))
L = y.sum() + h.sum() + m.max() + ((1 - s) * m / (2 + s)).mean() + c
L.backward()"""
TOLD = {"conv", "mean", "softmax", "ln softmax", "NLL", "gather", "[…]", "+", "Σ"}
WITHOUT = {"function", "double backward", "no graph"}  # a rule of the program's own is not done again


def entries(recording: Recording):
    arithmetic = Arithmetic(recording)
    for key, value in recording.graph.values.items():
        array = numbers_of(value.array)
        if array is None or not array.size:
            continue
        for index in (tuple(int(i) for i in np.unravel_index(at, array.shape)) for at in {0, array.size - 1}):
            yield arithmetic, key, index, array


@pytest.mark.parametrize("name", [*PROGRAMS, "ops"])
def test_every_sum_comes_out_as_recorded(name, engine):
    recording = viz.record(OPS if name == "ops" else PROGRAMS[name], engine=engine)
    told = set()
    for arithmetic, key, index, array in entries(recording):
        made = arithmetic.value(key, index)
        if made is not None and made.terms:
            told.add(made.source)
            assert np.isclose(sum(term.product for term in made.terms), array[index], rtol=3e-3, atol=1e-5)
        came, parts = arithmetic.arrived(key), arithmetic.gradient(key, index)
        for part in parts:
            told |= {part.source.partition(",")[0]} if part.terms else set()
            total = sum(term.product for term in part.terms)
            assert np.isclose(total, part.result, rtol=3e-3, atol=1e-5) or not part.terms
        if parts and came is not None:
            assert np.isclose(sum(part.result for part in parts), came[index], rtol=1e-3, atol=1e-6)
    assert told or name in WITHOUT
    if name == "ops":
        assert told >= TOLD


def test_the_factors_of_a_matrix_product_are_the_entries_that_met(engine):
    matrix = "a = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)\n"
    recording = viz.record(matrix + "b = T.tensor([[5.0], [6.0]])\nc = a @ b\nc.sum().backward()", engine=engine)
    keys = {value.name: key for key, value in recording.graph.values.items()}
    arithmetic = Arithmetic(recording)
    made = arithmetic.value(keys["c"], (1, 0))
    assert made is not None
    assert made.written() == "3 × 5 + 4 × 6"
    assert [term.labels for term in made.terms] == [("a[1, 0]", "b[0, 0]"), ("a[1, 1]", "b[1, 0]")]
    (part,) = arithmetic.gradient(keys["a"], (1, 1))
    assert part.written() == "1 × 6"
    assert part.terms[0].labels == ("∂/∂c[1, 0]", "b[1, 0]")


def test_a_sheet_has_both_tables_and_what_is_counted_ahead_is_what_is_told_when_asked(engine):
    program = "w = T.tensor([[1.0, -2.0]], requires_grad=True)\nL = (w * 3).exp().sum()\nL.backward()"
    recording = viz.record(program, engine=engine)
    assert numbers_sheet(recording, "v0", "value", (0, 1))["tables"]["value"]["rows"] == [["1", "−2"]]
    ahead = all_sheets(recording)
    assert set(ahead["sheets"]) == set(recording.graph.values)
    for key, sheet in ahead["sheets"].items():
        for of, table in sheet["tables"].items():
            indices = [()] if table["scalar"] else [(*head, at) for head in table["heads"] for at in range(2)]
            assert table["scalar"] or len(table["rows"]) == 1
            for index in indices:
                asked = numbers_sheet(recording, key, of, index)
                assert sheet["entries"][f"{of}:{','.join(map(str, index))}"] == [asked["sentence"], asked["made"]]
    assert all(ahead["of"][one] == key_of(recording, one) for one in recording.graph.ops)
    assert sum(len(sheet["entries"]) for sheet in all_sheets(recording, most=3)["sheets"].values()) == 3
    nan = viz.record("w = T.tensor([1.0, 2.0])\ny = (w * float('nan')).sum()", engine=engine)
    assert any("nan" in numbers_sheet(nan, key, "value", None)["sentence"] for key in nan.graph.values)


def test_what_a_change_made_different_is_lit_and_nothing_else(engine):
    program = "x = T.tensor(2.0)\nw = T.tensor({w}, requires_grad=True)\nd = w * x\ns = x + 1\nL = d * d\nL.backward()"
    before, after = (viz.record(program.format(w=w), engine=engine) for w in (1.0, 3.0))
    titles = {after.graph.values[key].title: one for key, one in lit(before, after)["nodes"].items()}
    assert set(titles) == {"w", "d", "L"}
    assert titles["w"]["value"] == ["1", "3"]
    assert titles["w"]["grad"] == ["8", "24"]
    assert titles["L"]["value"] == ["4", "36"]
    assert lit(before, before) == {"nodes": {}, "gone": []}
    kept = viz.record(program.format(w=1.0).replace("L =", "d.retain_grad()\nL ="), engine=engine)
    for was, now, became in ((before, kept, ".grad kept"), (kept, before, ".grad not kept")):
        assert [one["became"] for one in lit(was, now)["nodes"].values()] == [became]


def test_a_new_op_and_one_that_is_gone_are_told_and_a_node_that_is_no_longer_recorded(engine):
    program = "w = T.tensor(1.0, requires_grad=True)\nd = w * 2\n{}L = d.exp()\nL.backward()"
    plain, cut = (viz.record(program.format(line), engine=engine) for line in ("", "d = d.detach().requires_grad_()\n"))
    assert any(one["kind"] == "new" for one in lit(plain, cut)["nodes"].values())
    (gone,) = lit(cut, plain)["gone"]
    assert (gone["part"], gone["node"]) == ("detach", "")
    assert plain.graph.values[gone["near"][0]].name == "d"
    program = "w = T.tensor(2.0, requires_grad={})\nv = T.tensor(3.0, requires_grad=True)\nL = w * w + v\nL.backward()"
    on, off = (viz.record(program.format(grad), engine=engine) for grad in (True, False))
    leaf, product = sorted(lit(on, off)["gone"], key=lambda one: one["node"])
    assert (leaf["node"], leaf["part"], product["node"]) == ("AccumulateGrad", "", "MulBackward0")
    assert off.graph.ops[product["now"]].recorded is False, "the product is still there"
    assert lit(on, off)["nodes"][product["now"]]["became"] == "not recorded"
    assert any(off.graph.ops[key].name == "AddBackward0" for key in leaf["near"] if key in off.graph.ops)


@pytest.mark.parametrize(
    "program",
    [
        "x = T.tensor([1.0, 2.0])\nL = (w[0] * x[0] + w[1] * x[1]).log()",
        "L = (w @ w + w.reshape(2, 1).sum()).log()",
        "w2 = w * 2\nL = T.stack([w2[0].exp(), w[1] * 3]).sum().relu()",
        "L = T.nn.functional.linear(w, T.tensor([[1.0, 2.0]])).sum() * 2",
    ],
)
def test_an_op_that_is_no_longer_recorded_is_neither_new_nor_gone(engine, program):
    made = "w = T.tensor([3.0, 4.0], requires_grad={})\n" + program
    on, off = (viz.record(made.format(grad), engine=engine) for grad in (True, False))
    ways = ((on, off, "not recorded", "requires no grad"), (off, on, "recorded", "requires grad"))
    for before, after, became, leaf in ways:
        changes = lit(before, after)
        switched = {key for key, op in after.graph.ops.items() if op.recorded == (after is on)}
        told = {key: (one["kind"], one.get("became")) for key, one in changes["nodes"].items() if key in switched}
        assert told and set(told.values()) == {("became", became)}
        assert changes["nodes"]["v0"]["became"] == leaf
        assert all(one["now"] for one in changes["gone"] if one["part"])


def test_ops_of_one_function_that_record_other_nodes_are_not_the_same(engine):
    program = "w = T.tensor([3.0, 4.0], requires_grad=True)\nL = w[{}].sum()"
    one, many = (viz.record(program.format(at), engine=engine) for at in ("0", "0:1"))
    new = [key for key, told in lit(one, many)["nodes"].items() if told["kind"] == "new" and key[0] == "o"]
    new = [many.graph.ops[key].name for key in new]
    assert new == ["SliceBackward0"]
    assert [gone["node"] for gone in lit(one, many)["gone"]] == ["SelectBackward0"]


def test_an_explorer_counts_what_a_page_asks_for_and_records_a_large_array_in_full():
    explorer = viz.explore("a = T.ones(4, 30, requires_grad=True)\nb = a * 2\nL = b.mean()\nL.backward()")
    graph = explorer._recordings["torch"].graph
    key = next(key for key, value in graph.values.items() if value.name == "b")
    assert graph.values[key].array.data is None
    asked = {"engine": "torch", "key": graph.values[key].op, "of": "value", "index": [3, 29], "n": 1}
    explorer.questions = {"numbers": asked}
    assert explorer.answers["numbers"]["n"] == 1
    assert explorer.answers["numbers"]["sentence"] == "b[3, 29] = 1 × 2 = 2"
    explorer.questions = {"numbers": {"engine": "torch", "key": key, "of": "grad", "index": [0, 0], "n": 2}}
    assert explorer.answers["numbers"]["sentence"] == "∂/∂b[0, 0] = 1 × 0.008333 = 0.008333"
    explorer.questions = {"numbers": {"engine": "torch", "key": "nothing", "n": 3}}
    assert "tables" not in explorer.answers["numbers"]
