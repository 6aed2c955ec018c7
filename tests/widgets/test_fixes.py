"""Every error of these programs offers a fix, and each fix that is offered runs on both engines."""

import pytest

import viz

pytestmark = pytest.mark.outer

pytest.importorskip("torch")

PROGRAMS = {
    "no scalar": "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = x * 2\ny.backward()",
    "in place": "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()",
    "in place, by a sign": "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = x.exp()\ny *= 2\ny.sum().backward()",
    "numpy": "x = T.tensor([1.0, 2.0], requires_grad=True)\nn = (x * 2).numpy()",
    "shapes": "a = T.ones(2, 3, requires_grad=True)\nb = T.ones(2, 3)\nc = a @ b",
    "misspelt function": "x = T.ones(3)\ny = T.sofmax(x, -1)",
    "misspelt name": "weight = T.ones(3)\ny = wieght * 2",
    "leaf": "w = T.tensor(1.0, requires_grad=True)\nL = w * w\nL.backward()\nw -= 0.1 * w.grad",
    "integers": "w = T.tensor([1, 2], requires_grad=True)\nL = (w * w).sum()\nL.backward()",
    "two dtypes": "w = T.tensor([[1, 2]])\nx = T.ones(2, 1)\ny = w @ x",
    "unused": "a = T.tensor(1.0, requires_grad=True)\nb = T.tensor(1.0, requires_grad=True)\n"
    "g = T.autograd.grad(a * 2, [a, b])",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_error_offers_fixes_and_each_of_them_runs(name):
    explorer = viz.explore(PROGRAMS[name])
    ways = explorer.result["fixes"]
    assert explorer.result["errors"] and 0 < len(ways) <= 3
    for way in ways:
        explorer.state = way["state"]
        assert not explorer.result["errors"], way["label"]
        assert explorer.result["account"].count("the error is gone") == 1
        explorer.state = {}


def test_a_program_that_nothing_known_helps_offers_nothing():
    assert viz.explore("x = T.ones(2)\nraise ValueError('no')").result["fixes"] == []
