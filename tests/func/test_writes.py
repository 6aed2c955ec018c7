"""Writes to tensors that a transformed function, or a transformed module, shares with others."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch

import tinygrad_edu as T

from ..support.both import attempt, leaf, same_on_both


def plain(value: Any) -> Any:
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value.tolist()


@same_on_both
def test_vmap_writes_once_to_a_captured_tensor(T: Any) -> Any:
    count, x = T.zeros(()), leaf(T, 1.0, 2.0, 3.0)

    def f(v: Any) -> Any:
        count.add_(1)
        scaled = v.clone()
        scaled.mul_(count)
        return scaled * scaled

    y = T.func.vmap(f)(x)
    y.sum().backward()
    nested = T.func.vmap(lambda row: T.func.vmap(f)(row))(T.ones(2, 3))
    return y.detach(), x.grad, nested, count, count._version, T.func.vmap(f, chunk_size=2)(T.ones(3)), count


@pytest.mark.parametrize("E", [torch, T])
def test_vmap_refuses_other_numbers_for_each_sample_in_a_captured_tensor(E: Any) -> None:
    total, norm = E.zeros(3), E.nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError):
        E.func.vmap(lambda v: total.add_(v.sum()))(E.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError):
        E.func.vmap(norm)(E.arange(12.0).reshape(2, 3, 2))


@pytest.mark.parametrize("E", [torch, T])
def test_functional_call_computes_with_a_given_value_of_a_parametrized_weight(E: Any) -> None:
    layer = E.nn.utils.parametrizations.weight_norm(E.nn.Linear(2, 2, bias=False))
    before = plain(layer.weight)
    given = E.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert plain(E.func.functional_call(layer, {"weight": given}, (E.ones(2),))) == pytest.approx([7.0, 14.0])
    assert plain(layer.weight) == [pytest.approx(row) for row in before]
    with pytest.raises(AttributeError):
        E.func.functional_call(layer, {"absent.weight": given}, (E.ones(2),))


@same_on_both
def test_a_weight_that_two_layers_share_stays_shared_under_weight_norm(T: Any) -> Any:
    first, second = T.nn.Linear(2, 2, bias=False), T.nn.Linear(2, 2, bias=False)
    first.weight = second.weight = T.nn.Parameter(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    T.nn.utils.parametrizations.weight_norm(first)
    optimizer = T.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
    second(first(T.ones(1, 2))).sum().backward()
    optimizer.step()
    return list(first.parameters()), second.weight


@pytest.mark.parametrize("E", [torch, T])
def test_a_parameter_does_not_replace_what_the_class_defines(E: Any) -> None:
    layer = E.nn.utils.parametrizations.weight_norm(E.nn.Linear(2, 2))
    with pytest.raises(KeyError, match="attribute 'weight' already exists"):
        layer.weight = E.nn.Parameter(E.eye(2))
    assert len(list(layer.parameters())) == 3


@same_on_both
def test_what_is_a_tensor_and_what_a_number(T: Any) -> Any:
    x = T.tensor([1.0, 2.0])
    wrong = (
        lambda: x.addcmul_(x, 2.0),
        lambda: T.addcmul(x, x, 2),
        lambda: x.addcdiv_(x, 2.0),
        lambda: T.combinations(T.ones(2, 2)),
        lambda: x.copy_([1.0, 2.0]),
    )
    return [attempt(f) for f in wrong], x.clone().copy_(1.5), T.tensor([1, 2]).copy_(True)


@same_on_both
def test_the_vectors_of_spectral_norm_are_written_in_place(T: Any) -> Any:
    T.manual_seed(0)
    layer = T.nn.utils.parametrizations.spectral_norm(T.nn.Linear(3, 2))
    shared = layer.parametrizations.weight[0]._u
    state = (dict(layer.named_parameters()), dict(layer.named_buffers()))
    T.func.functional_call(layer, state, (T.ones(3),))
    batch = T.func.vmap(lambda x: T.func.functional_call(layer, state[0], (x,)))(T.eye(3))
    return shared, shared._version, dict(layer.named_buffers()), batch.detach()


@pytest.mark.parametrize("E", [torch, T])
def test_an_inference_tensor_can_be_transformed(E: Any) -> None:
    with E.inference_mode():
        x = E.tensor([1.0, 2.0]) * 1
    assert plain(E.func.grad(lambda v: (v**2).sum())(x)) == [2.0, 4.0]


@pytest.mark.parametrize("E", [torch, T])
def test_what_has_no_numbers_yet_or_no_parameter_is_refused(E: Any) -> None:
    lazy = E.nn.LazyLinear(2)
    for ask in (lambda p: p.numel(), lambda p: p.clone(), E.nn.init.ones_, lambda p: E.optim.Adagrad([p])):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            ask(lazy.weight)
    layer = E.nn.utils.parametrizations.weight_norm(E.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="to parameter 'weight_orig'"):
        importlib.import_module(f"{E.__name__}.nn.utils.prune").l1_unstructured(layer, "weight", 0.3)
    with pytest.raises(IndexError, match="index out of range"):
        E.zeros(0).index_add_(0, E.tensor([0]), E.ones(1))
    with pytest.raises(RuntimeError, match="one-dimensional"):
        E.vander(E.ones(2, 2))


@pytest.mark.parametrize("E", [torch, T])
def test_a_state_taken_before_the_first_call_of_a_lazy_layer_has_its_numbers_after_it(E: Any) -> None:
    layer = E.nn.Sequential(E.nn.LazyLinear(2))
    before = layer.state_dict()
    layer(E.ones(1, 3))
    assert before["0.weight"] is layer[0].weight
    assert plain(before["0.bias"]) == plain(layer[0].bias)


@pytest.mark.parametrize("E", [torch, T])
def test_the_last_bag_does_not_end_behind_the_indices(E: Any) -> None:
    with pytest.raises(RuntimeError, match=r"offsets\[-1\] can not be greater than input's length 2"):
        E.nn.functional.embedding_bag(E.tensor([0, 1]), E.ones(2, 2), E.tensor([0, 3]), include_last_offset=True)


def test_the_last_bag_does_not_end_before_the_indices() -> None:
    with pytest.raises(NotImplementedError, match="the end of the last bag"):
        T.nn.functional.embedding_bag(T.tensor([0, 1]), T.ones(2, 2), T.tensor([0, 1]), include_last_offset=True)


@same_on_both
def test_the_sign_that_copysign_takes_may_be_written_to(T: Any) -> Any:
    x, other = leaf(T, 1.0, -2.0), leaf(T, -1.0, -1.0)
    sign = other * 1
    y = T.copysign(x, sign)
    sign.mul_(-1)
    own = x * 1
    own.copysign_(own)
    (y + own).sum().backward()
    return x.grad, other.grad
