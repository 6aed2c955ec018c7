"""Two engines, one program: where they agree, and that a difference is found when there is one."""

import pytest

import viz

pytest.importorskip("torch")

AGREE = {
    "a line": "w = T.tensor(2.0, requires_grad=True)\nL = (w * 3.0 + 1.0) ** 2\nL.backward()",
    "a diamond": "x = T.tensor(3.0, requires_grad=True)\na = x * x\nL = a * (a + x)\nL.backward()",
    "vectors": "w = T.tensor([1.0, -2.0], requires_grad=True)\nL = (w * w).relu().sum()\nL.backward()",
    "no_grad": "w = T.tensor(2.0, requires_grad=True)\nwith T.no_grad():\n    h = w * 3\nL = h * w\nL.backward()",
    "an error": "x = T.tensor(2.0, requires_grad=True)\ny = x * x\ny.backward()\ny.backward()",
    "a loop": (
        "w = T.tensor(1.0, requires_grad=True)\nfor i in range(3):\n    L = (w * 2 - 4) ** 2\n    L.backward()\n"
        "    with T.no_grad():\n        w -= 0.1 * w.grad"
    ),
    "in-place on a view": (
        "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = x * 2\nv = y[0:1]\nv.mul_(3)\nL = y.sum()\nL.backward()"
    ),
}


@pytest.mark.parametrize("name", AGREE)
def test_both_engines_make_the_same_graph_run_it_in_the_same_order_and_get_the_same_numbers(name):
    comparison = viz.compare(AGREE[name])
    assert comparison.agree, repr(comparison)


def differing(T):
    x = T.tensor(2.0, requires_grad=True)
    L = x * 3.0 if T.__name__ == "torch" else x * 4.0
    L.backward()


def test_a_different_number_is_found_in_the_value_and_in_the_gradient():
    comparison = viz.compare(differing)
    assert not comparison.agree
    assert {(one.what, one.where) for one in comparison.differences} >= {("value", "L"), ("grad", "x.grad")}


def other_op(T):
    x = T.tensor(2.0, requires_grad=True)
    L = x.exp() if T.__name__ == "torch" else x + x
    L.backward()


def test_a_different_node_is_found_and_named_with_its_line():
    (first, *_) = viz.compare(other_op).differences
    assert (first.what, first.ours, first.theirs) == ("node", "AddBackward0", "ExpBackward0")
    assert first.where.endswith("line 3")
