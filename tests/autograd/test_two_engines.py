"""Mixing the two engines is refused: neither accepts a tensor of the other, and the error names both."""

from __future__ import annotations

import operator

import pytest
import torch

import tinygrad_edu as T


class Doubled(T.autograd.Function):
    """A Function of our engine; the test provides what its rules do."""

    @staticmethod
    def forward(ctx, x, answer=None, gradient=None):
        ctx.gradient = gradient
        return x * 2 if answer is None else answer[0]

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 if ctx.gradient is None else ctx.gradient[0], None, None


def attribute(name):
    return lambda x, t: setattr(x, name, t)


def augmented(x, t):
    y = x * 1
    y += t


def assigned(x, t):
    y = x * 1
    y[0] = t[0]


OPERATORS = ("add", "sub", "mul", "truediv", "matmul", "pow", "eq", "ne", "lt", "ge")
OURS = {
    **{name: getattr(operator, name) for name in OPERATORS},
    "augmented": augmented,
    "a function": lambda x, t: T.exp(t),
    "its second argument": lambda x, t: T.add(x, t),
    "by name": lambda x, t: T.add(x, other=t),
    "a method": lambda x, t: x.matmul(t),
    "in place": lambda x, t: (x * 1).mul_(t),
    "copy_": lambda x, t: (x * 1).copy_(t),
    "a list": lambda x, t: T.cat([x, t]),
    "a condition": lambda x, t: T.where(t > 0, x, x),
    "an index": lambda x, t: x[torch.tensor([0, 1])],
    "an assignment": assigned,
    "a module": lambda x, t: T.nn.Linear(2, 1)(t),
    "modules": lambda x, t: T.nn.Sequential(T.nn.Linear(2, 2), T.nn.ReLU())(t),
    "a loss": lambda x, t: T.nn.functional.mse_loss(x, t),
    "classes": lambda x, t: T.nn.functional.cross_entropy(x.view(1, 2), torch.tensor([1])),
    "apply": lambda x, t: Doubled.apply(t),
    "what forward returns": lambda x, t: Doubled.apply(x, [t]),
    "what backward returns": lambda x, t: Doubled.apply(x, None, [t]).sum().backward(),
    "backward": lambda x, t: (x * 2).backward(t),
    "backward from one": lambda x, t: (x[:1] * 2).backward(gradient=t[:1]),
    "autograd.backward": lambda x, t: T.autograd.backward(t.sum()),
    "outputs": lambda x, t: T.autograd.grad(t.sum(), x),
    "inputs": lambda x, t: T.autograd.grad(x.sum(), t),
    "grad_outputs": lambda x, t: T.autograd.grad(x * 2, x, t),
    "grad": attribute("grad"),
    "data": attribute("data"),
    "Variable": lambda x, t: T.autograd.Variable(t),
}
THEIRS = {
    **{name: lambda x, t, name=name: getattr(operator, name)(t, x) for name in OPERATORS},
    "a function": lambda x, t: torch.exp(x),
    "a list": lambda x, t: torch.stack([t, x]),
    "a module": lambda x, t: torch.nn.Linear(2, 1)(x),
    "copy_": lambda x, t: torch.ones(2).copy_(x),
}


@pytest.mark.parametrize("asks", [False, True], ids=["plain", "requires grad"])
@pytest.mark.parametrize(("whose", "case"), [("ours", c) for c in OURS] + [("theirs", c) for c in THEIRS])
def test_a_tensor_of_the_other_engine_is_refused_by_a_sentence_that_names_both(
    whose: str, case: str, asks: bool
) -> None:
    x, t = (engine.ones(2, requires_grad=asks or engine is T) for engine in (T, torch))
    with pytest.raises(
        TypeError, match=r"^expected a \w+\.Tensor, but got a \w+\.Tensor\. PyTorch and tinygrad_edu cannot"
    ):
        (OURS if whose == "ours" else THEIRS)[case](x, t)


def test_numbers_go_from_one_engine_to_the_other_by_numpy() -> None:
    x, t = T.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
    assert torch.from_numpy(x.detach().numpy()).tolist() == T.from_numpy(t.detach().numpy()).tolist() == [1.0, 2.0]


def test_another_error_is_not_taken_for_this_one() -> None:
    x = T.ones(2)
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        x + T.ones(3)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "2"
