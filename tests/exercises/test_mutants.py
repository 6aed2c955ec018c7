"""Every slip in a reference answer costs points. A mutant that earns them all is listed here, with the reason."""

import warnings

import pytest
from support.mutation import ENOUGH, mutants_of, survivors

from tinygrad_edu.exercises import all_exercises

pytestmark = pytest.mark.outer(start=1)
SIGN = "the square forgets the sign"
ORDER = "the sum does not depend on the order"
NO_ZERO = "the divisor is never zero"
EQUIVALENT = {
    "central_difference": {"2 * eps -> 2 * eps * eps / eps": NO_ZERO},
    "exp": {"grad_output * y -> grad_output * y * y / y": "y is a power of e, and never zero"},
    "cube": {"/ x": "who divides by x is right wherever x is not zero, and 3 * y / x is taught"},
    "line_loss": {"w * x + b - y -> y - (w * x + b)": SIGN},
    "topological_order": {
        "for name in inputs[stack.pop()]:": "the order in which uses are counted is free",
        "for name in inputs[order[-1]]:": "there are several right orders",
        "0 -> 1": "nothing uses the root, so its count is never asked",
        "{root: 0} -> {}": "nothing uses the root, so its count is never asked",
    },
    "smallest_graph": {"'a': ['x']}": "what has no entry has no inputs"},
    "straight_through": {"x - (T.round(x) - x).detach(), and 2: T.round(x) - x -> x - T.round(x)": "minus, twice"},
    "backward_pass": {
        "def backward_pass(order, inputs, local): grads": "`order` and `inputs` hold the same nodes",
        "for other, slope in zip(inputs[name], local[name], strict=True): grads": ORDER,
        "zip(inputs[name], local[name], strict=True) -> zip(inputs[name], local[name])": "the lengths are equal",
        "True -> False": "the lengths are equal",
    },
    "apply_twice": {", and 2: -1 -> 1": "times 1"},
    "first_gradient": {
        "gradient.shape -> gradient.size": "in the message",
        "output.shape -> output.size": "in the message",
    },
    "every_gradient": {
        "for t in (p, d, L): t.retain_grad() -> for t in reversed": "the order of the calls does not matter",
        "(p, d, L) -> (L, d, p)": "the order of the calls does not matter",
    },
    "train": {"for _ in range(epochs):": "an epoch does not know its number", "w * x - y -> y - w * x": SIGN},
    "sgd_step": {
        "def sgd_step(T, w, lr):": "nothing is said of what it returns",
        "return w -> return": "nothing is said of what it returns",
    },
    "log_loss": {
        "(0.0, 0) -> (0, 0.0)": "whole numbers and others add up alike",
        "loss.item -> loss.detach": "a detached tensor holds no graph either",
    },
    "accumulate_gradients": {"for x, y in micro_batches:": ORDER, "w * x - y -> y - w * x": SIGN},
    "td_loss": {"w * state - target -> target - w * state": SIGN},
    "freeing": {"list(saved) -> saved": "what is handed in is a list"},
    "abs_dot": {"(u * v).sum -> (u * v).mean": "the mean has the sign of the sum"},
    "numerical_gradient": {
        "for i in np.ndindex(x.shape):": "the entries are independent",
        "2 * eps -> 2 * eps * eps / eps": NO_ZERO,
        "1e-06 -> -1e-06": "left and right are exchanged twice",
        "np.zeros -> np.ones": "every entry is written over",
    },
    "he_weight": {
        "/ np.sqrt(2 / noise.shap": NO_ZERO,
        "2: 1 -> -1": "of two axes, the last is the second",
        "2 / noise.shape[1] -> noise.shape[1] / 2": "divided by the root of the inverse",
    },
    "project_policy": {"11: 14 -> 15": "the new line takes the place of zero_grad, and the policy learns without it"},
    "safe_sqrt": {"T.ones_like -> T.zeros_like": "the inner where masks the gradient of its stand-in, whatever it is"},
}

SOME = 10  # one mutant of ten is tried in each run, and all of them with `-m long`


@pytest.mark.parametrize("step", [SOME, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("id", all_exercises())
def test_every_mutant_loses_points_unless_it_is_right(id, step):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        left, count = survivors(id, step)
    assert count >= ENOUGH
    accepted = [mutant for mutant in left if not any(known in mutant.change for known in EQUIVALENT.get(id, ()))]
    assert accepted == []


@pytest.mark.parametrize("id", EQUIVALENT)
def test_what_is_listed_as_equivalent_is_a_mutant(id):
    changes = [mutant.change for mutant in mutants_of(id)]
    assert [known for known in EQUIVALENT[id] if not any(known in change for change in changes)] == []
