"""In-place ops that change a tensor's shape: both engines run one program and show the same after each."""

from typing import Any

import pytest
from support.both import attempt, names, same_on_both

FORMS = """t.unsqueeze_(0); t.unsqueeze_(-1); t.squeeze_(); t.squeeze_(0); t.squeeze_(1); t.squeeze_((0, 1));
t.transpose_(0, -1)""".replace("\n", " ").split("; ")
each_form = pytest.mark.parametrize("form", FORMS)


def turn(t: Any, form: str) -> Any:
    return eval(form, {"t": t})


def matrix(T: Any, rows: int = 1) -> Any:
    return T.tensor([[1.0, 2.0, 3.0]] * rows, requires_grad=True)


def seen(t: Any) -> tuple[Any, ...]:
    return tuple(t.shape), t.stride(), t.tolist(), names(t), t._version, t._is_view(), t.is_leaf


@each_form
@same_on_both
def test_an_intermediate_result_has_the_new_shape_history_and_gradients_of_pytorch(T: Any, form: str) -> Any:
    a = matrix(T)
    x = a * a
    same = turn(x, form) is x
    (first,) = T.autograd.grad((x * x).sum(), a, create_graph=True)
    first.sum().backward()
    return same, seen(x), first.tolist(), a.grad.tolist()


@each_form
@same_on_both
def test_a_view_turns_alone_and_a_base_that_turned_is_still_the_base_of_its_views(T: Any, form: str) -> Any:
    a, b = matrix(T), matrix(T)
    base, turned = a * 2, b * 2
    view, part = base.view(1, 3), turned[0, 1:]
    turn(view, form)
    turn(turned, form)
    before = [seen(t) for t in (base, view, turned, part)]
    view.mul_(3)
    part.mul_(5)
    (base.sum() + (turned * turned).sum()).backward()
    return before, [seen(t) for t in (base, view, turned, part)], a.grad.tolist(), b.grad.tolist()


@each_form
@same_on_both
def test_a_turn_counts_as_a_write_and_is_refused_where_a_write_is(T: Any, form: str) -> Any:
    x, original = matrix(T) * 1, matrix(T) * 1
    y, other = x * x, original.detach()
    turn(x, form)
    turn(other, form)
    leaf = matrix(T)
    with T.no_grad():
        turn(leaf, form)
    (leaf * leaf).sum().backward()
    refused = (matrix(T), matrix(T).view(1, 3), (matrix(T, 2) * 1).split(1)[0])
    found = [attempt(lambda t=t: turn(t, form)) for t in refused]
    error = attempt(lambda: y.sum().backward())
    return *found, error, seen(original), tuple(other.shape), seen(leaf), leaf.grad.tolist()


@each_form
@same_on_both
def test_the_tangent_of_forward_mode_turns_along(T: Any, form: str) -> Any:
    with T.autograd.forward_ad.dual_level():
        x = T.autograd.forward_ad.make_dual(T.tensor([[1.0, 2.0, 3.0]]), T.tensor([[4.0, 5.0, 6.0]])) * 1
        turn(x, form)
        value, tangent = T.autograd.forward_ad.unpack_dual(x)
        return value.tolist(), tangent.tolist()


@same_on_both
def test_a_shape_that_cannot_be_is_refused_and_retain_grad_keeps_the_shape_before_the_turn(T: Any) -> Any:
    wrong = "t.unsqueeze_(4); t.squeeze_(2); t.transpose_(0, 5)"
    x = matrix(T) * 2
    x.retain_grad()
    x.unsqueeze_(0)
    (x * 3).sum().backward()
    return [attempt(lambda form=form: turn(matrix(T).detach(), form)) for form in wrong.split("; ")], x.grad.tolist()
