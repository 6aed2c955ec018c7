"""Backward notices every change to what a rule needs: to tensors, and also to masks, indices and statistics."""

from __future__ import annotations

import numpy as np
import pytest
from support.both import attempt, same_on_both

import tinygrad_edu


def small(T):
    return T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=T.float64, requires_grad=True)


def filled(T, x):
    return T.zeros(2, 3, dtype=T.float64)


def assigned(x, where, value):
    y = x.clone()
    y[where] = value
    return y


# For each: what is kept beside the input, and the op.
KEPT = {
    "where": (lambda T, x: x.detach() > 2, lambda T, x, m: T.where(m, x, x * 2)),
    "masked_fill": (lambda T, x: x.detach() > 2, lambda T, x, m: x.masked_fill(m, 0.0)),
    "masked_fill with a tensor": (
        lambda T, x: x.detach() > 2,
        lambda T, x, m: x.masked_fill(m, T.tensor(1.0, dtype=T.float64)),
    ),
    "masked_fill_": (lambda T, x: x.detach() > 2, lambda T, x, m: x.clone().masked_fill_(m, 0.0)),
    "masked_select": (lambda T, x: x.detach() > 2, lambda T, x, m: x.masked_select(m)),
    "index by a mask": (lambda T, x: x.detach() > 2, lambda T, x, m: x[m]),
    "index by numbers": (lambda T, x: T.tensor([1, 0, 1]), lambda T, x, i: x[i]),
    "index along the second": (lambda T, x: T.tensor([1, 0, 1]), lambda T, x, i: x[:, i]),
    "index by two": (lambda T, x: T.tensor([1, 0, 1]), lambda T, x, i: x[i, T.tensor([0, 1, 2])]),
    "write by numbers": (lambda T, x: T.tensor([0]), lambda T, x, i: assigned(x, i, 5.0)),
    "write by a mask": (lambda T, x: x.detach() > 2, lambda T, x, m: assigned(x, m, 5.0)),
    "index_put": (lambda T, x: T.tensor([1, 0]), lambda T, x, i: filled(T, x).index_put((i,), x)),
    "index_select": (lambda T, x: T.tensor([1, 0, 1]), lambda T, x, i: x.index_select(1, i)),
    "index_select by one": (lambda T, x: T.tensor(1), lambda T, x, i: x.index_select(1, i)),
    "index_add": (lambda T, x: T.tensor([1, 1]), lambda T, x, i: filled(T, x).index_add(0, i, x)),
    "index_copy": (lambda T, x: T.tensor([1, 0]), lambda T, x, i: filled(T, x).index_copy(0, i, x)),
    "index_fill": (lambda T, x: T.tensor([1]), lambda T, x, i: x.index_fill(0, i, 3.0)),
    "gather": (lambda T, x: T.tensor([[1, 2, 0], [2, 0, 1]]), lambda T, x, i: x.gather(1, i)),
    "take_along_dim": (
        lambda T, x: T.tensor([[1, 2, 0], [2, 0, -1]]),
        lambda T, x, i: T.take_along_dim(x, i, 1),
    ),
    "scatter": (lambda T, x: T.tensor([[1, 2, 0], [2, 0, 1]]), lambda T, x, i: filled(T, x).scatter(1, i, x)),
    "scatter of a number": (lambda T, x: T.tensor([[1, 2, 0], [2, 0, 1]]), lambda T, x, i: x.scatter(1, i, 2.0)),
    "scatter_add": (lambda T, x: T.tensor([[1, 2, 0], [2, 0, 1]]), lambda T, x, i: filled(T, x).scatter_add(1, i, x)),
    "take": (lambda T, x: T.tensor([1, 5]), lambda T, x, i: x.take(i)),
    "embedding": (lambda T, x: T.tensor([1, 1]), lambda T, x, i: T.nn.functional.embedding(i, x)),
    "nll_loss": (lambda T, x: T.tensor([1, 2]), lambda T, x, t: T.nn.functional.nll_loss(x, t)),
    "nll_loss by weights": (
        lambda T, x: T.ones(3, dtype=T.float64),
        lambda T, x, w: T.nn.functional.nll_loss(x, T.tensor([1, 2]), w),
    ),
    "cross_entropy": (lambda T, x: T.tensor([1, 2]), lambda T, x, t: T.nn.functional.cross_entropy(x, t)),
    "batch_norm by statistics": (
        lambda T, x: T.ones(3, dtype=T.float64),
        lambda T, x, v: T.nn.functional.batch_norm(x, T.zeros(3, dtype=T.float64), v),
    ),
    "soft_margin_loss": (
        lambda T, x: T.ones(2, 3, dtype=T.float64),
        lambda T, x, t: T.nn.functional.soft_margin_loss(x, t),
    ),
    "the other factor": (lambda T, x: T.ones(2, 3, dtype=T.float64), lambda T, x, w: x * w),
    "the exponent": (lambda T, x: T.ones(2, 3, dtype=T.float64), lambda T, x, w: x**w),
}
# Ops of which the second result is kept: the positions that were chosen.
CHOSEN = {
    "max": lambda T, x: x.max(1),
    "sort": lambda T, x: x.sort(1),
    "topk": lambda T, x: x.topk(2, 1),
    "median": lambda T, x: x.median(1),
    "max_pool2d": lambda T, x: T.nn.functional.max_pool2d(x.reshape(1, 1, 2, 3), 2, return_indices=True),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", KEPT)
def test_what_an_op_keeps_beside_its_input_may_not_change_before_backward(name, create_graph) -> None:
    make, op = KEPT[name]

    @same_on_both
    def program(T):
        seen = []
        for change in (False, True):
            x = small(T)
            kept = make(T, x)
            y = op(T, x, kept)
            if change:
                kept.zero_()
            seen.append(attempt(lambda x=x, y=y: y.sum().backward(create_graph=create_graph)))
            seen.append(None if x.grad is None else x.grad.detach())
        return seen

    program()


def second_gradient(T, name, change):
    make, op = KEPT[name]
    x = small(T)
    w = T.ones(1, dtype=T.float64, requires_grad=True)
    kept = make(T, x)
    (g,) = T.autograd.grad((op(T, x, kept) * w).sum(), x, create_graph=True)
    if change:
        kept.zero_()
    return attempt(lambda: (g * g).sum().backward()), None if w.grad is None else w.grad.detach()


# Here the gradient holds what was computed from what is kept, so that a write to it later does no harm.
COMPUTED_BEFORE = {"nll_loss", "nll_loss by weights", "cross_entropy", "batch_norm by statistics", "soft_margin_loss"}


@pytest.mark.parametrize("name", sorted(KEPT.keys() - COMPUTED_BEFORE))
def test_what_an_op_keeps_may_not_change_before_a_second_backward(name) -> None:
    same_on_both(lambda T: second_gradient(T, name, change=True))()


@pytest.mark.parametrize("name", sorted(COMPUTED_BEFORE))
def test_where_a_gradient_holds_what_it_needs_a_later_write_changes_nothing(name) -> None:
    same_on_both(lambda T: second_gradient(T, name, change=False))()
    (error, before), (changed, after) = (second_gradient(tinygrad_edu, name, change) for change in (False, True))
    assert error is changed is None
    assert before.tolist() == after.tolist()


@pytest.mark.parametrize("name", CHOSEN)
def test_the_positions_that_an_op_chose_may_not_change_before_backward(name) -> None:
    @same_on_both
    def program(T):
        x = small(T)
        values, positions = CHOSEN[name](T, x)
        positions.zero_()
        return attempt(lambda: values.sum().backward())

    program()


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
