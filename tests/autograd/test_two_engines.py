"""Mixing the two engines is refused: neither accepts a tensor of the other, and the error names both."""

import operator  # noqa: F401 (in the cases)

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


OPERATORS = ["add", "sub", "mul", "truediv", "matmul", "pow", "eq", "ne", "lt", "ge"]
OURS = """T.exp(t); T.add(x, t); T.add(x, other=t); x.matmul(t); (x * 1).mul_(t); (x * 1).copy_(t); (x * 1).__iadd__(t);
T.cat([x, t]); T.where(t > 0, x, x); x[torch.tensor([0, 1])]; (x * 1).__setitem__(0, t[0]); T.nn.Linear(2, 1)(t);
T.nn.Sequential(T.nn.Linear(2, 2), T.nn.ReLU())(t); F.mse_loss(x, t); F.cross_entropy(x.view(1, 2), torch.tensor([1]));
Doubled.apply(t); Doubled.apply(x, [t]); Doubled.apply(x, None, [t]).sum().backward(); (x * 2).backward(t);
(x[:1] * 2).backward(gradient=t[:1]); T.autograd.backward(t.sum()); T.autograd.grad(t.sum(), x);
T.autograd.grad(x.sum(), t); T.autograd.grad(x * 2, x, t); setattr(x, "grad", t); setattr(x, "data", t);
T.autograd.Variable(t)"""
THEIRS = "torch.exp(x); torch.stack([t, x]); torch.nn.Linear(2, 1)(x); torch.ones(2).copy_(x)"
CASES = [code for codes in (OURS, THEIRS) for code in codes.replace("\n", " ").split("; ")]
CASES += [f"operator.{name}({operands})" for name in OPERATORS for operands in ("x, t", "t, x")]


@pytest.mark.parametrize("asks", [False, True], ids=["plain", "requires grad"])
@pytest.mark.parametrize("code", CASES)
def test_a_tensor_of_the_other_engine_is_refused_by_a_sentence_that_names_both(code: str, asks: bool) -> None:
    x, t = (engine.ones(2, requires_grad=asks or engine is T) for engine in (T, torch))
    sentence = r"^expected a \w+\.Tensor, but got a \w+\.Tensor\. PyTorch and tinygrad_edu cannot"
    with pytest.raises(TypeError, match=sentence):
        eval(code, {**globals(), "F": T.nn.functional, "x": x, "t": t})


def test_numbers_go_from_one_engine_to_the_other_by_numpy() -> None:
    x, t = T.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
    assert torch.from_numpy(x.detach().numpy()).tolist() == T.from_numpy(t.detach().numpy()).tolist() == [1.0, 2.0]


def test_another_error_is_not_taken_for_this_one() -> None:
    x = T.ones(2)
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        x + T.ones(3)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "2"
