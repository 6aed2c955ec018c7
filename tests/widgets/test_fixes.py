"""Every error of these programs offers a fix, and each fix that is offered runs on both engines."""

import pytest

import viz

pytestmark = pytest.mark.outer

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

LINE = "w = T.tensor(0.3, requires_grad=True)\nb = T.tensor(0.1, requires_grad=True)\n"
LINE += "d = w * 2.0 + b\nL = (d - 1) ** 2\nL.backward()"
STATES = [{"backwards": 2}, {"no_grad": [3, 4]}, {"requires_grad": {"w": False, "b": False}}]
STATES += [{"no_grad": [3], "retain_grad": ["d"]}, {"no_grad": [3], "hooks": {"d": "double"}}]
STATES += [{"inference_mode": [3]}, {"detach": ["L"]}]


@pytest.mark.parametrize("program, state", [(one, {}) for one in PROGRAMS.values()] + [(LINE, one) for one in STATES])
def test_an_error_offers_fixes_and_each_of_them_runs_on_both_engines(program, state):
    explorer = viz.explore(program, state=state)
    ways = explorer.result["fixes"]
    assert explorer.result["errors"] and 0 < len(ways) <= (4 if state else 3)
    before = explorer.result["sides"][0]["error"]["message"]
    for way in ways:
        explorer.state = way["state"]
        messages = [side.get("error", {}).get("message") for side in explorer.result["sides"]]
        assert before not in messages, way["label"]
        assert state or not explorer.result["errors"], way["label"]
        assert state or explorer.result["account"].count("the error is gone") == 1
        explorer.state = state


@pytest.mark.parametrize(
    ("learns", "offered"), [(", requires_grad=True", []), ("", ["x requires grad", "w requires grad"])]
)
def test_no_gradient_is_asked_for_the_labels(learns, offered):
    scores = "(x @ w).argmax(1)" if learns else "(x @ w).sum(1)"
    program = f"x = T.ones(4, 3)\ny = T.ones(4)\nw = T.ones(3, 3{learns})\n"
    program += f"L = (({scores} - y) ** 2.0).mean()\nL.backward()"
    assert [way["label"] for way in viz.explore(program).result["fixes"]] == offered


def test_a_program_that_nothing_known_helps_offers_nothing():
    assert viz.explore("x = T.ones(2)\nraise ValueError('no')").result["fixes"] == []
