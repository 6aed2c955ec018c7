"""Function transforms on both engines: values, structure, nested levels, the caller's graph, and errors."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.both import attempt, same_on_both

import tinygrad_edu as T


def plain(value: Any) -> Any:
    """Numbers and structure, without the engine that they come from."""
    if isinstance(value, T.Tensor | torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value


def mixed(w: Any, x: Any) -> Any:
    return (w * w * x + w).sum()


def with_a_note(w: Any, x: Any) -> Any:
    return mixed(w, x), {"product": w * x}


def of_a_dictionary(weights: Any) -> Any:
    return (weights["w"] * 3 + weights["b"]).sum()


RIGHT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a gradient": lambda E, w, x: E.func.grad(mixed)(w, x),
    "a value beside it": lambda E, w, x: E.func.grad_and_value(mixed)(w, x),
    "of the second argument": lambda E, w, x: E.func.grad(mixed, argnums=1)(w, x),
    "of both arguments": lambda E, w, x: E.func.grad(mixed, argnums=(0, 1))(w, x),
    "a note beside it": lambda E, w, x: E.func.grad(with_a_note, has_aux=True)(w, x),
    "of a dictionary": lambda E, w, x: E.func.grad(of_a_dictionary)({"w": w, "b": x}),
    "a gradient of a gradient": lambda E, w, x: E.func.grad(lambda v: E.func.grad(mixed)(v, x).sum())(w),
    "a product with a vector": lambda E, w, x: (lambda y, product: (y, product(E.ones(2))))(
        *E.func.vjp(lambda v: v * v * x, w)
    ),
    "a product with a direction": lambda E, w, x: E.func.jvp(lambda v: v * v * x, (w,), (E.ones(2),)),
    "a direction of a gradient": lambda E, w, x: E.func.jvp(lambda v: E.func.grad(mixed)(v, x), (w,), (E.ones(2),)),
    "a product of two outputs": lambda E, w, x: E.func.vjp(two, w, x)[1]((x, w[0])),
    "a direction of two inputs": lambda E, w, x: E.func.jvp(lambda w, x: w * x, (w, x), (x, w)),
    "rows of a Jacobian": lambda E, w, x: E.func.jacrev(lambda v: v**2)(w),
    "columns of a Jacobian": lambda E, w, x: E.func.jacfwd(lambda v: E.stack([v.sum(), v.prod()]))(w),
    "rows of both": lambda E, w, x: E.func.jacrev(two, argnums=(0, 1))(w, x),
    "columns of both": lambda E, w, x: E.func.jacfwd(two, argnums=(0, 1))(w, x),
    "a Hessian": lambda E, w, x: E.func.hessian(lambda v: (v**3).sum() + v[0] * v[1] ** 2)(w),
    "in inference mode": lambda E, w, x: inside(E.inference_mode(), E.func.grad(mixed), w, x),
    "without gradients": lambda E, w, x: inside(E.no_grad(), E.func.grad(mixed), w, x),
}


def two(w: Any, x: Any) -> Any:
    return w * x, w.sum()


def inside(mode: Any, function: Any, *given: Any) -> Any:
    with mode:
        return function(*given)


@pytest.mark.parametrize("name", RIGHT)
def test_both_engines_give_the_same(name: str) -> None:
    ours, theirs = (plain(RIGHT[name](E, E.tensor([2.0, 3.0]), E.tensor([5.0, 7.0]))) for E in (T, torch))
    assert ours == theirs


@same_on_both
def test_gradients_of_the_callers_tensors_flow_through_a_transform_and_inference_tensors_are_taken(E: Any) -> Any:
    w, x = E.tensor([2.0, 3.0], requires_grad=True), E.tensor([5.0, 7.0], requires_grad=True)
    E.func.grad(mixed)(w, x).sum().backward()
    with E.inference_mode():
        inside = E.tensor([1.0, 2.0]) * 1
    return w.grad, x.grad, E.func.grad(lambda v: (v**2).sum())(inside).tolist()


@same_on_both
def test_functional_call_computes_with_given_values_and_leaves_the_module_as_it_was(E: Any) -> Any:
    layer = E.nn.Linear(2, 2, bias=False)
    layer.weight = E.nn.Parameter(E.tensor([[1.0, 2.0], [3.0, 4.0]]))
    given = E.tensor([[3.0, 4.0], [6.0, 8.0]], requires_grad=True)
    out = E.func.functional_call(layer, {"weight": given}, (E.ones(2),))
    out.sum().backward()
    wrong = attempt(lambda: E.func.functional_call(layer, {"absent.weight": given}, (E.ones(2),)))
    return out.detach(), given.grad, layer.weight, wrong[0]


WRONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a vector": lambda E, w, x: E.func.grad(lambda v: v * x)(w),
    "a number of Python": lambda E, w, x: E.func.grad(lambda v: 3.0)(w),
    "an argument too far": lambda E, w, x: E.func.grad(mixed, argnums=2)(w, x),
    "an argument twice": lambda E, w, x: E.func.grad(mixed, argnums=(0, 0))(w, x),
    "no argument": lambda E, w, x: E.func.grad(mixed, argnums=())(w, x),
    "no note": lambda E, w, x: E.func.grad(mixed, has_aux=True)(w, x),
    "no tensor": lambda E, w, x: E.func.grad(mixed)(2.0, x),
    "a direction of another shape": lambda E, w, x: E.func.jvp(lambda v: v * v, (w,), (E.ones(3),)),
}


@pytest.mark.parametrize("name", WRONG)
def test_both_engines_refuse_the_same(name: str) -> None:
    raised = []
    for E in (torch, T):
        with pytest.raises(Exception) as caught:  # which one it is, PyTorch says
            WRONG[name](E, E.tensor([2.0, 3.0]), E.tensor([5.0, 7.0]))
        raised.append((type(caught.value), str(caught.value).split("torch")[0][:40]))
    assert raised[0] == raised[1]
