"""Two engines, one program: `compare` sees that they agree, and finds each difference."""

import pytest
from support.networks import NETWORKS

import viz
from viz.experiments.timing import time_both
from viz.frames import scene
from viz.recording.distance import same_text
from viz.widgets.comparison import ComparisonView

AGREE = {
    "a line": "w = T.tensor(2.0, requires_grad=True)\nL = (w * 3.0 + 1.0) ** 2\nL.backward()",
    "vectors": "w = T.tensor([1.0, -2.0], requires_grad=True)\nL = (w * w).relu().sum()\nL.backward()",
    "an error": "x = T.tensor(2.0, requires_grad=True)\ny = x * x\ny.backward()\ny.backward()",
    "a loop": (
        "w = T.tensor(1.0, requires_grad=True)\nfor i in range(3):\n    L = (w * 2 - 4) ** 2\n    L.backward()\n"
        "    with T.no_grad():\n        w -= 0.1 * w.grad"
    ),
    "random numbers": "w = T.randn(3, requires_grad=True)\nL = (w * w).sum()\nL.backward()",
}


@pytest.mark.parametrize("name", AGREE)
def test_both_engines_make_the_same_graph_run_it_in_the_same_order_and_get_the_same_numbers(name):
    comparison = viz.compare(AGREE[name])
    assert comparison.agree and not comparison.details, repr(comparison)
    if name == "an error":
        assert comparison.verdict.endswith("both stop in line 4 with RuntimeError")
        assert next(one for one in comparison.table if one.what == "error").agree


def differing(T):
    x = T.tensor(2.0, requires_grad=True)
    L = x * 3.0 if T.__name__ == "torch" else x * 4.0
    L.backward()


def test_a_different_number_is_found_in_the_value_and_in_the_gradient_and_says_how_large_it_is():
    comparison = viz.compare(differing)
    assert not comparison.agree
    assert {(one.what, one.where) for one in comparison.differences} >= {("value", "L"), ("grad", "x.grad")}
    grad = next(one for one in comparison.differences if one.where == "x.grad")
    assert (grad.difference, grad.tolerance) == (1.0, 1e-4)
    assert str(grad) == "grad of x.grad: tinygrad_edu has 4, PyTorch has 3 (by 1, allowed is 1e-04)"


def other_op(T):
    x = T.tensor(2.0, requires_grad=True)
    L = x.exp() if T.__name__ == "torch" else x + x
    L.backward()


def test_a_different_node_is_found_and_named_with_its_line():
    comparison = viz.compare(other_op)
    assert not comparison.agree
    (first, *_) = comparison.details
    assert (first.what, first.ours, first.theirs) == ("node", "AddBackward0", "ExpBackward0")
    assert first.where.endswith("line 3")


def test_the_table_has_values_gradients_names_and_order_with_difference_and_tolerance():
    table = viz.compare(AGREE["a line"]).table
    assert {one.what for one in table} == {"node", "saved", "value", "grad", "order"}
    assert all(one.agree for one in table)
    grad = next(one for one in table if one.where == "w.grad")
    assert (grad.ours, grad.theirs, grad.difference, grad.tolerance) == ("42", "42", 0.0, 1e-4)
    assert [one.ours for one in table if one.what == "node"] == ["MulBackward0", "AddBackward0", "PowBackward0"]
    assert [one.ours for one in table if one.what == "order"][-1] == "AccumulateGrad(w)"
    assert [one.where for one in table if one.what == "value"].count("L") == 1


def only_there(T):
    x = T.tensor([3.0, 1.0], requires_grad=True)
    y = x * 2
    L = T.linalg.svdvals(y.reshape(1, 2)).sum() if T.__name__ == "torch" else T.no_such_op(y)
    L.backward()


def test_a_program_that_one_engine_alone_runs_names_the_part_and_the_reason():
    comparison = viz.compare(only_there)
    said = "Only PyTorch runs this program to its end. tinygrad_edu stops in line 4, L = T.linalg.svdvals("
    assert comparison.verdict.startswith(said)
    assert "AttributeError" in comparison.verdict
    assert "no_such_op" in comparison.verdict
    assert comparison.theirs.tensors["x"]["grad"] is not None


@pytest.mark.parametrize("program", [AGREE["a loop"], differing], ids=["text", "function"])
def test_both_sides_are_timed_without_recording(program, capsys):
    timing = time_both(program, "cpu", {"tinygrad_edu": {}, "torch": {}})
    assert timing.ours > 0
    assert timing.theirs > 0
    assert timing.runs >= 1
    assert "not into computing it" in str(timing)


def test_what_nodes_save_is_compared_numbers_in_the_place_of_tensors_too():
    table = viz.compare("x = T.tensor(3.0, requires_grad=True)\ny = x * 0.5\nz = y * x\nz.backward()").table
    saved = [(one.ours, one.theirs, one.agree) for one in table if one.what == "saved"]
    assert saved == [(each, each, True) for each in ("other = 0.5 (freed)", "other = x (freed), self = y (freed)")]


def saves_otherwise(T):
    x = T.tensor(3.0, requires_grad=True)
    _ = x * (x if T.__name__ == "torch" else x.detach())


def test_a_node_that_saves_something_else_is_reported_as_a_detail_and_decides_nothing():
    comparison = viz.compare(saves_otherwise)
    assert comparison.agree
    assert [one.where for one in comparison.details if one.what == "saved"] == ["MulBackward0 in line 3"]
    assert "Details of the graph that differ: " in comparison.verdict
    assert "saved tensors (1)" in comparison.verdict


def prints_otherwise(T):
    x = T.tensor(2.0, requires_grad=True)
    print("the loss is", (x * 3.0).item(), "at" if T.__name__ == "torch" else "in")


def test_what_is_printed_decides():
    (difference,) = viz.compare(prints_otherwise).differences
    assert difference.what == "output"
    assert (difference.ours, difference.theirs) == ("the loss is 6.0 in", "the loss is 6.0 at")


@pytest.mark.parametrize(
    "line",
    [
        "print(T.ones(2).dtype, T.float32, T.Size([1]), type(T.ones(1)), T.nn.ReLU)",
        "try: w.add_(1)\nexcept RuntimeError as e: print(e)",
        "try: w.add_(1)\nexcept RuntimeError as e: print(repr(e), flush=True)",
        "try: w.add_(1)\nexcept RuntimeError as e: print(f'error: {e}!')",
        "try: w.numpy()\nexcept RuntimeError as e: print(repr(e))",
        "try: T.tensor([1], requires_grad=True)\nexcept RuntimeError as e: print(e)",
        "try: (v := w.exp()).mul_(2); v.sum().backward()\nexcept RuntimeError as e: print(e)",
    ],
)
def test_what_differs_on_purpose_in_what_is_printed_decides_nothing(line):
    comparison = viz.compare(f"w = T.ones(2, requires_grad=True)\n{line}")
    assert comparison.agree and comparison.ours.stdout != comparison.theirs.stdout, repr(comparison)


@pytest.mark.parametrize(
    ("line", "ours", "theirs"),
    [
        ("print(f'{object()}\\n{5 - ours}')", "4", "5"),
        ("print('-' * 200, 5 - ours, 'end')", f"… {'-' * 59} 4 end", f"… {'-' * 59} 5 end"),
        ("if ours: print(1)", "1", "nothing"),
        (
            "try: raise ValueError(f'loss is {5 + ours / 2:g}')\nexcept ValueError as e: print(e)",
            "loss is 5.5",
            "loss is 5",
        ),
        (
            "try: T.ones(2) + T.ones(3 + ours)\nexcept RuntimeError as e: print(str(e)[25:60])",
            "must match the size of tensor b (4)",
            "must match the size of tensor b (3)",
        ),
    ],
)
def test_a_difference_in_what_is_printed_is_shown_where_it_is(line, ours, theirs):
    (difference,) = viz.compare(f"ours = 'tinygrad' in T.__name__\n{line}").differences
    assert (difference.what, difference.ours, difference.theirs) == ("output", ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("loss 0.12345678", "loss 0.12345684", True),
        ("loss 0.1234", "loss 0.1244", False),
        ("step 3", "step 4", False),
        ("<Exp at 0x7f00>", "<Exp object at 0x1234>", True),
        ("a 1", "a 1 2", False),
        ("tinygrad_edu.float32.", "torch.float32.", True),
        ("tinygrad_edu.float64.", "torch.float32.", False),
        ("<class 'tinygrad_edu.nn.activations.ReLU'>", "<class 'torch.nn.modules.activation.ReLU'>", True),
        ("tinygrad_edu.ones", "torch.zeros", False),
    ],
)
def test_printed_numbers_may_differ_by_what_floats_may(ours, theirs, same):
    assert same_text(ours, theirs, 1e-4) == same


@pytest.mark.outer
@pytest.mark.parametrize("name", NETWORKS)
def test_values_gradients_errors_and_output_of_usual_networks_agree(name):
    comparison = viz.compare(NETWORKS[name])
    assert comparison.agree, repr(comparison)
    assert comparison.ours.error is None
    trained = [name for name, tensor in comparison.theirs.tensors.items() if tensor["grad"] is not None]
    assert len(trained) > 3  # what was compared is there


def one_wrong_entry(T):
    layer = T.nn.Linear(3, 2)
    loss = layer(T.ones(4, 3)).relu().sum()
    loss.backward()
    if T.__name__ == "torch":
        layer.weight.grad[1, 2] += 1e-3


def test_a_gradient_of_a_parameter_that_is_a_little_off_decides():
    assert [one.where for one in viz.compare(one_wrong_entry).differences] == ["layer.weight.grad"]


def test_where_engines_differ_a_picture_carries_both_numbers_and_elsewhere_one() -> None:
    program = """
w = T.tensor(3.0 if T.__name__ == "torch" else 2.0, requires_grad=True)
x = T.tensor(4.0)
y = w * x
L = y * y
L.backward()"""
    sides = ComparisonView(viz.compare(program)).result["sides"]
    ours, theirs = (scene.frame(side["scene"], "values", -1) for side in sides)
    for numbers in ("2 ≠ 3", "8 ≠ 12", "64 ≠ 144", "grad 16 ≠ 24", ".grad 64 ≠ 96"):
        assert f">{numbers}<" in ours
    assert ">144 ≠ 64<" in theirs
    assert ">4<" in ours and "grad 1 ≠" not in ours


def test_an_lstm_has_its_results_in_pytorchs_order():
    program = """
lstm = T.nn.LSTM(3, 4, num_layers=2, batch_first=True)
y, (h, c) = lstm(T.ones(2, 5, 3))
loss = y.sum() + (h * c).sum()
loss.backward()
"""
    same = viz.compare(program)
    assert same.agree, same
    assert not [one for one in same.details if one.what in ("node", "edge")]


@pytest.mark.outer
def test_a_bias_before_a_normalisation_under_adam_is_rounding_and_a_wrong_number_is_not():
    program = """import math
net = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.BatchNorm1d(4), T.nn.ReLU(), T.nn.Linear(4, 1))
optimizer = T.optim.Adam(net.parameters(), lr=0.01)
x = T.randn(8, 3)
for step in range(3):
    optimizer.zero_grad()
    loss = (net(x) ** 2).mean() * FACTOR
    loss.backward()
    optimizer.step()
"""
    for factor, differs in (("1.0", False), ("(1.0 if 'tinygrad' in T.__name__ else 1.01)", True)):
        text = program.replace("FACTOR", factor)
        compared, explored = viz.compare(text), viz.explore(text).result["verdict"]
        assert (not compared.agree) is (not explored["agree"]) is differs, (compared, explored)
        assert differs == ("loss" in {one.where for one in compared.differences})
