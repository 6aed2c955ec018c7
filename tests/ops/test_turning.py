"""In-place ops that change a tensor's shape: both engines run one program and show the same after each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tinygrad_edu

ENGINES = (tinygrad_edu, torch)

FORMS: dict[str, Callable[[Any], Any]] = {
    "unsqueeze_(0)": lambda t: t.unsqueeze_(0),
    "unsqueeze_(-1)": lambda t: t.unsqueeze_(-1),
    "squeeze_()": lambda t: t.squeeze_(),
    "squeeze_(0)": lambda t: t.squeeze_(0),
    "squeeze_(1)": lambda t: t.squeeze_(1),
    "squeeze_((0, 1))": lambda t: t.squeeze_((0, 1)),
    "t_()": lambda t: t.t_(),
    "transpose_(0, -1)": lambda t: t.transpose_(0, -1),
    "swapaxes_(0, 1)": lambda t: t.swapaxes_(0, 1),
    "swapdims_(0, 1)": lambda t: t.swapdims_(0, 1),
    "as_strided_": lambda t: t.as_strided_((2, 1), (1, 1), 1),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def matrix(T: Any, rows: int = 1) -> Any:
    return T.tensor([[1.0, 2.0, 3.0]] * rows, requires_grad=True)


def history(node: Any) -> list[str]:
    """The names of the nodes on the way along first edges."""
    names = []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def seen(t: Any) -> tuple[Any, ...]:
    return tuple(t.shape), t.stride(), t.tolist(), history(t.grad_fn), t._version, t._is_view(), t.is_leaf


def outcome(program: Callable[[Any], Any], T: Any) -> Any:
    """What a program gives, or the type of its error and the first words of what it says."""
    try:
        return program(T)
    except Exception as error:
        return type(error).__name__, str(error)[:39]


def assert_same(program: Callable[[Any], Any]) -> None:
    ours, theirs = (outcome(program, T) for T in ENGINES)
    assert ours == theirs


@each_form
def test_an_intermediate_result_has_the_new_shape_history_and_gradient_of_pytorch(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        a = matrix(T)
        x = a * 2
        same = form(x) is x
        (x * x).sum().backward()
        return same, seen(x), a.grad.tolist()

    assert_same(program)


@each_form
def test_a_view_turns_alone_and_a_write_through_it_reaches_its_base(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        a = matrix(T)
        base = a * 2
        view = base.view(1, 3)
        form(view)
        before = seen(base), seen(view)
        view.mul_(3)
        base.sum().backward()
        return before, seen(base), seen(view), a.grad.tolist()

    if form is FORMS["as_strided_"]:
        with pytest.raises(NotImplementedError, match="as_strided_ of a view is not built"):
            program(tinygrad_edu)
    else:
        assert_same(program)


@each_form
def test_a_base_that_turned_is_still_the_base_of_its_views(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        a = matrix(T)
        base = a * 2
        view = base[0, 1:]
        form(base)
        view.mul_(5)
        (base * base).sum().backward()
        return seen(base), seen(view), a.grad.tolist()

    assert_same(program)


@each_form
def test_a_value_saved_before_counts_as_modified(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        x = matrix(T) * 1
        y = x * x
        form(x)
        y.sum().backward()

    assert_same(program)
    assert outcome(program, tinygrad_edu)[0] == "RuntimeError"


@each_form
@pytest.mark.parametrize(
    "make",
    [matrix, lambda T: matrix(T).view(1, 3), lambda T: (matrix(T, 2) * 1).split(1)[0]],
    ids=["a leaf", "a view of a leaf", "one of several views"],
)
def test_what_cannot_be_changed_in_place_cannot_be_turned(
    form: Callable[[Any], Any], make: Callable[[Any], Any]
) -> None:
    def program(T: Any) -> Any:
        form(make(T))

    if form is not FORMS["as_strided_"] or make is matrix:
        assert_same(program)
        assert outcome(program, tinygrad_edu)[0] == "RuntimeError"


@each_form
def test_a_leaf_changes_shape_under_no_grad_and_then_gets_a_gradient_of_that_shape(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        leaf = matrix(T)
        with T.no_grad():
            form(leaf)
        (leaf * leaf).sum().backward()
        return seen(leaf), leaf.grad.tolist()

    assert_same(program)


@each_form
def test_a_detached_tensor_changes_shape_without_the_original(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        original = matrix(T) * 1
        other = original.detach()
        form(other)
        return seen(original), tuple(other.shape)

    if form is not FORMS["as_strided_"]:
        assert_same(program)


@each_form
def test_the_tangent_of_forward_mode_turns_along(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        with T.autograd.forward_ad.dual_level():
            x = T.autograd.forward_ad.make_dual(T.tensor([[1.0, 2.0, 3.0]]), T.tensor([[4.0, 5.0, 6.0]])) * 1
            form(x)
            value, tangent = T.autograd.forward_ad.unpack_dual(x)
            return value.tolist(), tangent.tolist()

    assert_same(program)


@each_form
def test_the_second_gradient_goes_through(form: Callable[[Any], Any]) -> None:
    def program(T: Any) -> Any:
        a = matrix(T)
        x = a * a
        form(x)
        (first,) = T.autograd.grad((x * x).sum(), a, create_graph=True)
        first.sum().backward()
        return a.grad.tolist()

    assert_same(program)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.unsqueeze_(4),
        lambda t: t.squeeze_(2),
        lambda t: t.transpose_(0, 5),
        lambda t: t.reshape(1, 1, 3).clone().t_(),
        lambda t: t.as_strided_((2, 2), (1, 1), 1),
        lambda t: t.as_strided_((2, 2), (1,)),
        lambda t: t.as_strided_((2,), (-1,)),
    ],
    ids=[
        "unsqueeze_",
        "squeeze_",
        "transpose_",
        "t_",
        "as_strided_ past the end",
        "as_strided_ of two lengths",
        "backwards",
    ],
)
def test_a_shape_that_cannot_be_is_refused_as_by_pytorch(wrong: Callable[[Any], Any]) -> None:
    assert_same(lambda T: wrong(matrix(T).detach()))


def test_retain_grad_keeps_the_gradient_in_the_shape_before_the_turn() -> None:
    def program(T: Any) -> Any:
        x = matrix(T) * 2
        x.retain_grad()
        x.unsqueeze_(0)
        (x * 3).sum().backward()
        return x.grad.tolist()

    assert_same(program)


def test_a_mode_sees_the_op_by_its_name() -> None:
    names = []

    class Watch(tinygrad_edu.overrides.FunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    t = tinygrad_edu.ones(2, 3)
    with Watch():
        t.t_().unsqueeze_(0)
    assert names == ["t_", "unsqueeze_"]


def test_a_volatile_tensor_turns_and_stays_volatile() -> None:
    with pytest.warns(UserWarning, match="volatile"):
        v = tinygrad_edu.autograd.Variable(tinygrad_edu.ones(1, 3), volatile=True)
    v.unsqueeze_(0)
    assert (tuple(v.shape), v.volatile, v.requires_grad) == ((1, 1, 3), True, False)
