"""The code that toggles stand for runs as it is copied, on either engine, and computes what the explorer shows."""

import re
import warnings

import numpy as np
import pytest
import torch

import viz
from viz.widgets.code import renamed

PROGRAM = """\
x = T.tensor([[1.0, 2.0], [3.0, 4.0]])  # T.tensor in a comment stays
w = T.tensor([0.5, -1.0], requires_grad=True)
n = T.tensor(2)
m = T.tensor([True, False])
o = T.ones(2, requires_grad=True)
h = (x @ w).tanh() * o + m
L = (h * n).sum()
L.backward()"""


@pytest.fixture(autouse=True)
def default_dtype():
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def ran(lines):
    namespace = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # volatile and anomaly mode say that they are there
        exec("\n".join(lines), namespace)
    return namespace


@pytest.mark.outer
@pytest.mark.parametrize(
    "state",
    [
        {},
        {"requires_grad": {"x": True, "w": False}},
        {"values": {"w": [1, 2], "n": 3, "m": [False, False]}},
        {
            "values": {"x": [[2, 1], [0, 1], [1, 1]], "m": [True, True, False]},
            "shapes": {"o": [3]},
            "requires_grad": {"o": False},
            "dtypes": {"m": "int64"},
        },
        {"dtypes": {"x": "float64", "w": "float64", "o": "float64"}},
        {"default_dtype": "float64"},
        {"shapes": {"o": [3]}},
        {"volatile": ["m"]},
        {"no_grad": [6], "requires_grad": {"w": False}, "values": {}},
        {"retain_grad": ["h"], "hooks": {"h": "double"}},
        {"backwards": 3, "retain_graph": True},
        {"backwards": 2, "retain_graph": True, "zero_grad": True},
        {"create_graph": True},
        {"anomaly": True},
        {"detach": ["h"], "requires_grad": {"x": True}},
    ],
)
@pytest.mark.parametrize("engine", ["tinygrad_edu", "torch"])
def test_copied_code_computes_what_is_shown(engine, state):
    explorer = viz.explore(PROGRAM, state=state)
    recording = explorer._recordings[engine]
    lines = explorer.result["codes"][engine]
    assert not explorer.result.get("refused"), explorer.result["account"]
    if recording.error is not None:
        with pytest.raises(Exception, match=re.escape(recording.error["message"][:30])):
            ran(lines["before"] + lines["lines"])
        return
    namespace = ran(lines["before"] + lines["lines"])
    for name, shown in recording.tensors.items():
        tensor = namespace[name]
        np.testing.assert_allclose(tensor.tolist(), shown["value"]["data"], rtol=1e-6)
        assert str(tensor.dtype).rpartition(".")[2] == shown["dtype"]
        assert tensor.requires_grad == shown["requires_grad"]
        if shown["grad_kept"] and shown["grad"] is not None:
            np.testing.assert_allclose(tensor.grad.tolist(), shown["grad"]["data"], rtol=1e-6)
        elif shown["grad_kept"]:
            assert tensor.grad is None


def scaled(T, factor=3.0):
    v = T.tensor([1.0, 2.0], requires_grad=True)
    (v * factor).sum().backward()


def test_what_a_function_sees_from_outside_is_in_the_code():
    lines = viz.explore(scaled).result["codes"]["torch"]
    assert lines["before"] == ["import torch", "factor = 3.0", ""]
    assert ran(lines["before"] + lines["lines"])["v"].grad.tolist() == [3.0, 3.0]


def test_pasted_pytorch_code_becomes_code_for_the_core():
    source = 'import torch\nw = torch.tensor(2.0, requires_grad=True)\nprint("torch")\n(w * w).backward()'
    lines = viz.explore(source).result["codes"]["tinygrad_edu"]
    assert lines["before"] == []
    assert lines["lines"][0] == "import tinygrad_edu"
    assert 'print("torch")' in lines["lines"]
    assert ran(lines["lines"])["w"].grad.item() == 4.0
    assert renamed("x.T @ T.ones(2)  # T\ns = 'T'", "T", "torch") == "x.T @ torch.ones(2)  # T\ns = 'T'"


@pytest.mark.parametrize("engine", ["tinygrad_edu", "torch"])
def test_pasted_code_that_draws_random_numbers_or_is_in_double_precision_runs_as_it_is_copied(engine):
    explorer = viz.explore("import torch\nw = torch.randn(2, requires_grad=True)\n(w * w).sum().backward()")
    explorer.state = {"default_dtype": "float64"}
    lines = explorer.result["codes"][engine]
    shown = explorer._recordings[engine].tensors["w"]
    assert ran(lines["before"] + lines["lines"])["w"].grad.tolist() == pytest.approx(shown["grad"]["data"])
