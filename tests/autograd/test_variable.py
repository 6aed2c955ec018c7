"""`Variable` is a Tensor by its old name; `volatile` means what it meant in PyTorch 0.3."""

import copy  # noqa: F401 (in a path)

import pytest

import tinygrad_edu as T


@pytest.fixture
def v():
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        return T.autograd.Variable(T.tensor([1.0, 2.0]), volatile=True)


w = T.tensor([3.0, 4.0], requires_grad=True)


class Double(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * 2 + y


def written(t, v):
    t[:1] = v[:1]
    return t[:1]


PATHS = """v * w; w - v; ((v * 2).exp() @ w).tanh(); v[0] * w; (2 - v) / w; Double.apply(w, v); (w * 2).add_(v);
written(w * 2, v); T.enable_grad()(lambda: v * w)(); v.double() * w.double(); copy.deepcopy(v) * w; T.stack([w, v]);
v.unbind()[1] * w"""


@pytest.mark.parametrize("path", PATHS.replace("\n", " ").split("; "))
def test_one_volatile_input_makes_the_result_volatile_and_nothing_is_recorded(path: str, v) -> None:
    """In 0.3: `(requires_grad, volatile)` of a result is `(False, True)` as soon as one input is volatile."""
    result = eval(path, globals() | {"v": v})
    assert (result.requires_grad, result.grad_fn, result.volatile, (result * w).volatile) == (False, None, True, True)


def test_what_is_not_reached_is_recorded_as_ever_and_what_is_has_no_gradient(v) -> None:
    assert (v * w).tolist() == [3.0, 8.0]
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        (v * w).sum().backward()
    assert [(fresh * w).requires_grad for fresh in (v.detach(), v.data, T.tensor(v.tolist()), w)] == [True] * 4
    assert not w.volatile


def test_the_attribute_switches_it_with_a_warning_and_an_error_in_an_op_leaves_the_state_sound(v) -> None:
    x = T.ones(2)
    for switched in (True, False):
        with pytest.warns(UserWarning, match="volatile"):
            x.volatile = switched
        assert (x * w).requires_grad is not switched
    with pytest.raises(RuntimeError):
        v @ T.ones(3)
    assert (v * w).volatile and T.is_grad_enabled()
