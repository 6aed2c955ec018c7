"""`Variable` is a Tensor by its old name; `volatile` means what it meant in PyTorch 0.3."""

import copy
import warnings

import pytest
import torch

import tinygrad_edu as T

MADE = {
    "plain": lambda T, V: V(T.ones(2)),
    "requires grad": lambda T, V: V(T.ones(2), requires_grad=True),
    "by position": lambda T, V: V(T.ones(2), True),
    "by name": lambda T, V: V(data=T.ones(2)),
    "nothing": lambda T, V: V(),
    "a leaf loses its flag": lambda T, V: V(T.ones(2, requires_grad=True)),
    "a result loses its history": lambda T, V: V(T.ones(2, requires_grad=True) * 2, requires_grad=True),
    "a list": lambda T, V: V([1.0, 2.0]),
    "a number": lambda T, V: V(3.0),
    "integers": lambda T, V: V(T.tensor([1, 2]), requires_grad=True),
    "both flags": lambda T, V: V(T.ones(2), requires_grad=True, volatile=True),
}


@pytest.mark.parametrize("name", MADE)
def test_variable_makes_pytorchs_tensor_or_its_error(name: str) -> None:
    def program(T):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of the flag before it refuses it
            try:
                v = MADE[name](T, T.autograd.Variable)
            except Exception as error:
                return type(error).__name__, str(error).lower().split()[:4]
        return v.tolist(), v.requires_grad, v.is_leaf, v.grad_fn is None, type(v) is T.Tensor

    assert program(T) == program(torch)


def test_a_variable_shares_storage_and_versions_with_its_tensor() -> None:
    def program(T):
        t = T.ones(2)
        v = T.autograd.Variable(t)
        t.add_(1)
        return v is t, v.tolist(), v._version, v.data_ptr() == t.data_ptr()

    assert program(T) == program(torch)


def test_every_tensor_is_a_variable() -> None:
    def program(T):
        V = T.autograd.Variable
        return [isinstance(x, V) for x in (T.ones(1), V(T.ones(1)), T.ones(1, requires_grad=True) * 2, 3.0, [1.0])]

    assert program(T) == program(torch) == [True, True, True, False, False]


def test_volatile_warns_in_both_and_only_when_it_is_asked_for() -> None:
    for T_ in (T, torch):
        with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
            T_.autograd.Variable(T_.ones(1), volatile=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            T_.autograd.Variable(T_.ones(1), volatile=False)


@pytest.fixture
def v():
    with pytest.warns(UserWarning, match="volatile"):
        return T.autograd.Variable(T.tensor([1.0, 2.0]), volatile=True)


w = T.tensor([3.0, 4.0], requires_grad=True)


class Double(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * 2 + y

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, grad


PATHS = {
    "an op": lambda v: v * w,
    "the other operand": lambda v: w - v,
    "a chain": lambda v: ((v * 2).exp() @ w).tanh(),
    "a view": lambda v: v[0] * w,
    "a reflected operator": lambda v: (2 - v) / w,
    "a Function": lambda v: Double.apply(w, v),
    "in place": lambda v: (w * 2).add_(v),
    "into a slice": lambda v: write(w * 2, v),
    "by enable_grad": lambda v: enabled(v),
    "a cast": lambda v: v.double() * w.double(),
    "a copy": lambda v: copy.deepcopy(v) * w,
}


def write(t, v):
    t[:1] = v[:1]
    return t[:1]


def enabled(v):
    with T.enable_grad():
        return v * w


@pytest.mark.parametrize("name", PATHS)
def test_one_volatile_input_makes_the_result_volatile_and_nothing_is_recorded(name: str, v) -> None:
    """In 0.3: `(requires_grad, volatile)` of a result is `(False, True)` as soon as one input is volatile."""
    result = PATHS[name](v)
    assert (result.requires_grad, result.grad_fn, result.volatile) == (False, None, True)
    assert (result * w).volatile


def test_the_values_are_those_of_today(v) -> None:
    assert (v * w).tolist() == (torch.tensor([1.0, 2.0]) * torch.tensor([3.0, 4.0])).tolist()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        (v * w).sum().backward()


def test_what_is_not_reached_is_recorded_as_ever(v) -> None:
    _ = v * w
    y = w * w
    y.sum().backward()
    assert (w.volatile, y.volatile, w.grad.tolist()) == (False, False, [6.0, 8.0])
    w.grad = None


def test_detach_and_data_leave_it_behind(v) -> None:
    for fresh in (v.detach(), v.data, T.tensor(v.tolist())):
        assert (fresh * w).requires_grad


def test_the_attribute_switches_it_with_a_warning(v) -> None:
    x = T.ones(2)
    with pytest.warns(UserWarning, match="volatile"):
        x.volatile = True
    assert not (x * w).requires_grad
    with pytest.warns(UserWarning, match="volatile"):
        x.volatile = False
    assert (x * w).requires_grad


def test_an_error_in_an_op_leaves_the_state_sound(v) -> None:
    with pytest.raises(RuntimeError):
        v @ T.ones(3)
    assert (v * w).volatile
    assert T.is_grad_enabled()
