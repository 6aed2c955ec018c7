"""`FunctionMode` sees each function as it is called, as `TorchFunctionMode` does."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.functions import function
from torch.overrides import TorchFunctionMode

import tinygrad_edu as T
from tinygrad_edu.overrides import FunctionMode

MODES = {T: FunctionMode, torch: TorchFunctionMode}


def mode(T: Any, see: Callable[..., Any]) -> Any:
    """A mode whose `__torch_function__` is `see(function, call)`; without a result of its own it gives the call's."""

    class Mode(MODES[T]):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            call = lambda **more: func(*args, **{**(kwargs or {}), **more})  # noqa: E731
            result = see(func, call)
            return call() if result is None else result

    return Mode()


def names(T: Any, program: Callable[[Any], Any]) -> tuple[list[str], Any]:
    """The names of the functions that a program calls, and its result."""
    seen: list[str] = []
    with mode(T, lambda func, call: seen.append(func.__name__)):
        result = program(T)
    return seen, result


def silent(T):
    with T.no_grad():
        return T.exp(T.ones(2, requires_grad=True)).requires_grad


def assigned(T):
    t = T.zeros(3)
    t[1] = 5.0
    return t.tolist()


PROGRAMS = {"functions": lambda T: T.exp(T.zeros(2)).tolist(), "methods": lambda T: T.zeros(2).exp().sum().item()}
PROGRAMS |= {"operators": lambda T: ((T.ones(2) + 1) * T.ones(2)).tolist()}
PROGRAMS |= {"in place": lambda T: T.ones(2).add_(1).mul_(2).tolist()}
PROGRAMS |= {"views": lambda T: T.ones(2, 3).view(3, 2).unsqueeze(0).shape[0], "under no_grad": silent}
PROGRAMS |= {"indexing": lambda T: T.ones(3)[1].item(), "assignment": assigned}
PROGRAMS |= {"matrices": lambda T: (T.ones(2, 2) @ T.ones(2)).tolist()}
PROGRAMS |= {"creation": lambda T: T.zeros_like(T.ones(2)).tolist()}
PROGRAMS |= {"comparison": lambda T: (T.ones(2) > 0).tolist()}
# The shape that is asked of a tensor is seen by PyTorch's mode; ours sees the ops, and values that Python reads.
OPS = "item tolist ones zeros exp sum add mul view unsqueeze getitem setitem matmul zeros_like gt"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_mode_sees_the_ops_that_pytorchs_sees_and_changes_nothing(name: str) -> None:
    ours, theirs = names(T, PROGRAMS[name]), names(torch, PROGRAMS[name])
    assert ours[1] == theirs[1] == PROGRAMS[name](T)
    ops = [[n.strip("_") for n in seen if n.strip("_") in OPS.split()] for seen in (ours[0], theirs[0])]
    assert ops[0] == ops[1] != []


CALLS = {"backward": lambda T, x, y: y.backward(retain_graph=True)}
CALLS |= {"autograd.backward": lambda T, x, y: T.autograd.backward(y, retain_graph=True)}
CALLS |= {"autograd.backward of two": lambda T, x, y: T.autograd.backward([y, y], retain_graph=True)}
CALLS |= {"autograd.grad": lambda T, x, y: T.autograd.grad(y, x, retain_graph=True)}
CALLS |= {"autograd.grad recorded": lambda T, x, y: T.autograd.grad(y, x, create_graph=True)}
CALLS |= {"register_hook": lambda T, x, y: x.register_hook(print).remove()}
CALLS |= {"retain_grad": lambda T, x, y: y.retain_grad()}
CALLS |= {"register_post_accumulate_grad_hook": lambda T, x, y: x.register_post_accumulate_grad_hook(print).remove()}
CALLS |= {"a number by a tensor": lambda T, x, y: 2 / x, "a product of matrices": lambda T, x, y: x @ x}
CALLS |= {"bool": lambda T, x, y: bool(y), "if": lambda T, x, y: 1 if y else 0, "item": lambda T, x, y: y.item()}
CALLS |= {"tolist": lambda T, x, y: x.tolist(), "float": lambda T, x, y: float(y), "int": lambda T, x, y: int(y)}
CALLS |= {"len": lambda T, x, y: len(x), "format": lambda T, x, y: f"{y:.2f}", "print": lambda T, x, y: print(x)}
CALLS |= {"numpy": lambda T, x, y: x.numpy(force=True), "requires_grad_": lambda T, x, y: x.requires_grad_()}
CALLS |= {"==": lambda T, x, y: x == x, "!=": lambda T, x, y: x != x}


def leaf_and_sum(T: Any) -> tuple[Any, Any]:
    x = T.ones(2, requires_grad=True)
    return x, (x * x).sum()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_autograd_and_an_operator_have_the_name_of_pytorch(name: str) -> None:
    def seen(T: Any) -> list[str]:
        given = leaf_and_sum(T)
        return names(T, lambda T: CALLS[name](T, *given))[0]

    ours, theirs = seen(T), seen(torch)
    assert ours == theirs
    assert len(ours) == 1


def replaced(T):
    """A mode may replace a result."""
    with mode(T, lambda func, call: call() * 2 if func.__name__ == "exp" else None):
        return T.exp(T.zeros(2)).tolist()


def replaced_pass(T):
    """A mode may call a backward pass as it likes, here twice."""
    x, y = leaf_and_sum(T)
    with mode(T, lambda func, call: (func.__name__ == "backward" and call(retain_graph=True)) or None):
        y.backward()
    return x.grad.tolist()


def nested(T):
    """The inner mode goes first, and the outer one sees what it calls."""
    log = []
    noting = lambda name: mode(T, lambda func, call: log.append((name, func.__name__)))  # noqa: E731
    x = T.zeros(2)
    with noting("outer"), noting("inner"):
        T.exp(x)
    return log


def ended(T):
    """A mode ends with its block, also when the block raises."""
    seen, x = [], T.zeros(2)
    noting = mode(T, lambda func, call: seen.append(func.__name__))
    with pytest.raises(ZeroDivisionError), noting:
        _ = 1 / 0
    T.exp(x)
    with noting, pytest.raises(RuntimeError):
        T.add(x, T.ones(3))
    T.exp(x)
    return "exp" in seen


def threaded(T):
    """A mode holds in its own thread alone."""
    x = T.zeros(2)
    thread = threading.Thread(target=lambda: T.exp(x))
    return names(T, lambda T: (thread.start(), thread.join()))[0]


def inner_calls(T):
    """What a backward rule computes is no call of the user."""
    double = function(T, "Double", lambda ctx, x: x.clone(), lambda ctx, grad: grad * T.ones(2) * 2)
    y = double.apply(T.ones(2, requires_grad=True)).sum()
    return names(T, lambda T: y.backward(create_graph=True))[0]


CLAIMS = {replaced: [2.0, 2.0], replaced_pass: [4.0, 4.0], nested: [("inner", "exp"), ("outer", "exp")]}
CLAIMS |= {ended: False, threaded: [], inner_calls: ["backward"]}


@pytest.mark.parametrize("program", CLAIMS, ids=lambda program: program.__doc__)
def test_a_mode_works_as_in_pytorch(program: Callable[[Any], Any]) -> None:
    assert program(T) == program(torch) == CLAIMS[program]
