"""Backward notices every change to what a rule needs: to tensors, and also to masks, indices and statistics."""

import itertools

import numpy as np
import pytest
from support.both import attempt, same_on_both

import tinygrad_edu


def small(T):
    return T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=T.float64, requires_grad=True)


def assigned(x, where, value):
    y = x.clone()
    y[where] = value
    return y


# What is kept beside the input, and the ops that keep it. `o` makes zeros; a name of its own where the gradient holds
# what was computed from what is kept, so that a write to it later does no harm.
KEPT = {
    "x.detach() > 2": "T.where(k, x, x * 2); x.masked_fill(k, 0.0); x.masked_fill(k, o(()) + 1); "
    "x.clone().masked_fill_(k, 0.0); x.masked_select(k); x[k]; assigned(x, k, 5.0)",
    "T.tensor([1, 0, 1])": "x[k]; x[:, k]; x[k, T.tensor([0, 1, 2])]; x.index_select(1, k)",
    "T.tensor([0])": "assigned(x, k, 5.0)",
    "T.tensor(1)": "x.index_select(1, k)",
    "T.tensor([1, 0])": "o(2, 3).index_put((k,), x); o(2, 3).index_copy(0, k, x)",
    "T.tensor([1, 1])": "o(2, 3).index_add(0, k, x); F.embedding(k, x)",
    "T.tensor([1])": "x.index_fill(0, k, 3.0)",
    "T.tensor([[1, 2, 0], [2, 0, 1]])": "x.gather(1, k); T.take_along_dim(x, k, 1); o(2, 3).scatter(1, k, x); "
    "x.scatter(1, k, 2.0); o(2, 3).scatter_add(1, k, x)",
    "o(2, 3) + 1": "x * k; x**k",
}
COMPUTED_BEFORE = {"T.tensor([1, 2])": "F.nll_loss(x, k); F.cross_entropy(x, k)"}
COMPUTED_BEFORE |= {"o(3) + 1": "F.nll_loss(x, T.tensor([1, 2]), k); F.batch_norm(x, o(3), k)"}
NEEDED, COMPUTED = (
    [(k, op) for k, ops in table.items() for op in ops.split("; ")] for table in (KEPT, COMPUTED_BEFORE)
)


def run(T, kept, op, x):
    """What is kept, and the result of the op."""
    scope = {"T": T, "F": T.nn.functional, "x": x, "assigned": assigned, "o": lambda *s: T.zeros(*s, dtype=T.float64)}
    scope["k"] = eval(kept, scope)
    return scope["k"], eval(op, scope)


# Ops of which the second result is kept: the positions that were chosen.
CHOSEN = "x.max(1); x.sort(1); x.topk(2, 1); x.median(1); F.max_pool2d(x.reshape(1, 1, 2, 3), 2, return_indices=True)"


@pytest.mark.parametrize(("kept", "op"), NEEDED + COMPUTED)
@same_on_both
def test_what_an_op_keeps_beside_its_input_may_not_change_before_backward(T, kept, op):
    seen = []
    for create_graph, change in itertools.product((False, True), repeat=2):
        x = small(T)
        k, y = run(T, kept, op, x)
        if change:
            k.zero_()
        seen.append(attempt(lambda x=x, y=y, create=create_graph: y.sum().backward(create_graph=create)))
        seen.append(None if x.grad is None else x.grad.detach())
    return seen


def second_gradient(T, kept, op, change):
    x, w = small(T), T.ones(1, dtype=T.float64, requires_grad=True)
    k, y = run(T, kept, op, x)
    (g,) = T.autograd.grad((y * w).sum(), x, create_graph=True)
    if change:
        k.zero_()
    return attempt(lambda: (g * g).sum().backward()), None if w.grad is None else w.grad.detach()


@pytest.mark.parametrize(("kept", "op"), NEEDED)
def test_what_an_op_keeps_may_not_change_before_a_second_backward(kept, op) -> None:
    same_on_both(lambda T: second_gradient(T, kept, op, change=True))()


@pytest.mark.parametrize(("kept", "op"), COMPUTED)
def test_where_a_gradient_holds_what_it_needs_a_later_write_changes_nothing(kept, op) -> None:
    same_on_both(lambda T: second_gradient(T, kept, op, change=False))()
    (error, before), (changed, after) = (second_gradient(tinygrad_edu, kept, op, change) for change in (False, True))
    assert error is changed is None
    assert before.tolist() == after.tolist()


@same_on_both
def test_the_positions_that_an_op_chose_may_not_change_before_backward(T):
    found = []
    for op in CHOSEN.split("; "):
        values, positions = eval(op, {"x": small(T), "F": T.nn.functional})
        positions.zero_()
        found.append(attempt(lambda values=values: values.sum().backward()))
    return found


def test_a_list_or_a_numpy_array_of_indices_is_copied() -> None:
    for indices in ([1, 0, 1], np.array([1, 0, 1])):
        x = small(tinygrad_edu)
        y = x[:, indices]
        indices[0] = 2
        y.sum().backward()
        assert x.grad.tolist() == [[1.0, 2.0, 0.0]] * 2


@same_on_both
def test_hooks_on_saved_tensors_get_masks_and_indices(T):
    x, packed = small(T), []
    mask, at = x.detach() > 2, T.tensor([1, 0])
    with T.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = T.where(mask, x, x).masked_fill(mask, 0.0)[at].index_select(1, at)
    y.sum().backward()
    return packed, x.grad
