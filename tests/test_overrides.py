"""`FunctionMode` sees each function as it is called, as `TorchFunctionMode` does."""

import threading
from typing import Any

import pytest
import torch
from support.both import same_on_both
from torch.overrides import TorchFunctionMode

import tinygrad_edu as T
from tinygrad_edu.overrides import FunctionMode

MODES = {T: FunctionMode, torch: TorchFunctionMode}


def record(T, program):
    """The names of the functions that a program calls, and its result."""
    names = []

    class Names(MODES[T]):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__.strip("_"))
            return func(*args, **(kwargs or {}))

    with Names():
        result = program(T)
    return names, result


PROGRAMS = {
    "functions": lambda T: T.exp(T.zeros(2)).tolist(),
    "methods": lambda T: T.zeros(2).exp().sum().item(),
    "operators": lambda T: ((T.ones(2) + 1) * T.ones(2)).tolist(),
    "in place": lambda T: T.ones(2).add_(1).mul_(2).tolist(),
    "views": lambda T: T.ones(2, 3).view(3, 2).unsqueeze(0).shape[0],
    "under no_grad": lambda T: silent(T),
    "indexing": lambda T: T.ones(3)[1].item(),
    "assignment": lambda T: assigned(T),
    "matrices": lambda T: (T.ones(2, 2) @ T.ones(2)).tolist(),
    "creation": lambda T: T.zeros_like(T.ones(2)).tolist(),
    "comparison": lambda T: (T.ones(2) > 0).tolist(),
}
OPS = (
    "item",
    "tolist",
    "ones",
    "zeros",
    "exp",
    "sum",
    "add",
    "mul",
    "view",
    "unsqueeze",
    "getitem",
    "setitem",
    "matmul",
    "zeros_like",
    "gt",
)


def silent(T):
    with T.no_grad():
        return T.exp(T.ones(2, requires_grad=True)).requires_grad


def assigned(T):
    t = T.zeros(3)
    t[1] = 5.0
    return t.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_mode_sees_the_ops_that_pytorchs_sees_and_changes_nothing(name: str) -> None:
    ours, theirs = record(T, PROGRAMS[name]), record(torch, PROGRAMS[name])
    assert ours[1] == theirs[1] == PROGRAMS[name](T)
    # The shape that is asked of a tensor is seen by PyTorch's mode; ours sees the ops, and values that Python reads.
    assert [n for n in ours[0] if n in OPS] == [n for n in theirs[0] if n in OPS]
    assert [n for n in ours[0] if n in OPS]


def test_a_mode_may_replace_a_result() -> None:
    def program(T):
        class Doubling(MODES[T]):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                return result * 2 if func.__name__ == "exp" else result

        with Doubling():
            return T.exp(T.zeros(2)).tolist()

    assert program(T) == program(torch) == [2.0, 2.0]


def test_the_inner_mode_goes_first_and_the_outer_one_sees_what_it_calls() -> None:
    def program(T):
        log = []

        class Named(MODES[T]):
            def __init__(self, name):
                super().__init__()
                self.name = name

            def __torch_function__(self, func, types, args=(), kwargs=None):
                log.append((self.name, func.__name__))
                return func(*args, **(kwargs or {}))

        x = T.zeros(2)
        with Named("outer"), Named("inner"):
            T.exp(x)
        return log

    assert program(T) == program(torch) == [("inner", "exp"), ("outer", "exp")]


def test_a_mode_ends_with_its_block_also_when_the_block_raises() -> None:
    for T_ in (T, torch):
        seen = []

        class Names(MODES[T_]):
            def __torch_function__(self, func, types, args=(), kwargs=None, seen=seen):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        x = T_.zeros(2)
        with pytest.raises(ZeroDivisionError), Names():
            _ = 1 / 0
        T_.exp(x)
        with Names(), pytest.raises(RuntimeError):
            T_.add(T_.ones(2), T_.ones(3))
        T_.exp(x)
        assert [n for n in seen if n == "exp"] == []


def test_a_mode_holds_in_its_own_thread_alone() -> None:
    def program(T):
        seen = []

        class Names(MODES[T]):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        x = T.zeros(2)
        with Names():
            thread = threading.Thread(target=lambda: T.exp(x))
            thread.start()
            thread.join()
        return seen

    assert program(T) == program(torch) == []


CALLS = {
    "backward": lambda T, x, y: y.backward(retain_graph=True),
    "autograd.backward": lambda T, x, y: T.autograd.backward(y, retain_graph=True),
    "autograd.backward of two": lambda T, x, y: T.autograd.backward([y, y], retain_graph=True),
    "autograd.grad": lambda T, x, y: T.autograd.grad(y, x, retain_graph=True),
    "autograd.grad recorded": lambda T, x, y: T.autograd.grad(y, x, create_graph=True),
    "register_hook": lambda T, x, y: x.register_hook(print).remove(),
    "retain_grad": lambda T, x, y: y.retain_grad(),
    "register_post_accumulate_grad_hook": lambda T, x, y: x.register_post_accumulate_grad_hook(print).remove(),
    "a number by a tensor": lambda T, x, y: 2 / x,
    "a product of matrices": lambda T, x, y: x @ x,
    "bool": lambda T, x, y: bool(y),
    "if": lambda T, x, y: 1 if y else 0,
    "item": lambda T, x, y: y.item(),
    "tolist": lambda T, x, y: x.tolist(),
    "float": lambda T, x, y: float(y),
    "int": lambda T, x, y: int(y),
    "len": lambda T, x, y: len(x),
    "format": lambda T, x, y: f"{y:.2f}",
    "print": lambda T, x, y: print(x),
    "numpy": lambda T, x, y: x.numpy(force=True),
    "requires_grad_": lambda T, x, y: x.requires_grad_(),
    "==": lambda T, x, y: x == x,
    "!=": lambda T, x, y: x != x,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_autograd_and_an_operator_have_the_name_of_pytorch(name: str) -> None:
    def program(T):
        x = T.ones(2, requires_grad=True)
        y = (x * x).sum()
        seen = []

        class Names(MODES[T]):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        with Names():
            CALLS[name](T, x, y)
        return seen

    assert program(T) == program(torch)
    assert len(program(T)) == 1


def test_what_a_backward_rule_computes_is_no_call_of_the_user() -> None:
    def program(T):
        class Square(T.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0] * 2

        x = T.ones(2, requires_grad=True)
        y = Square.apply(x).sum()
        return record(T, lambda T: y.backward(create_graph=True))[0]

    assert program(T) == program(torch) == ["backward"]


def test_a_mode_may_replace_a_backward_pass() -> None:
    def program(T):
        class Twice(MODES[T]):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                if func.__name__ == "backward":
                    func(*args, **{**(kwargs or {}), "retain_graph": True})
                return func(*args, **(kwargs or {}))

        x = T.ones(2, requires_grad=True)
        y = (x * x).sum()
        with Twice():
            y.backward()
        return x.grad.tolist()

    assert program(T) == program(torch) == [4.0, 4.0]


def test_the_backward_pass_is_no_call_of_the_user() -> None:
    def program(T):
        x = T.ones(2, requires_grad=True)
        y = (x * x).sum()
        names, _ = record(T, lambda T: y.backward())
        return [n for n in names if n != "backward"]

    assert program(T) == program(torch) == []


SIDES = [
    "y = x * c",
    "y = c * x",
    "y = c - x",
    "y = c + x.exp()",
    "y = x * x",
    "y = c.clone(); y += x",
    "y = T.stack([c, x])",
]


@same_on_both
def test_a_subclass_is_kept_on_either_side_and_sees_what_it_overrides(T: Any) -> Any:
    names: list[str] = []

    class Kept(T.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__.strip("_"))
            return super().__torch_function__(func, types, args, kwargs)

    class Own(T.Tensor):
        def __mul__(self, other):
            return super().__mul__(other)

    told = []
    for program in SIDES:
        x, c = T.tensor(2.0, requires_grad=True).exp().as_subclass(Kept), T.tensor(3.0)
        space = {"T": T, "x": x, "c": c}
        names.clear()
        exec(program, space)
        told.append((len(names), type(space["y"]).__name__))
        space["y"].sum().backward()
        told.append(names[-2:])
    own, c = T.tensor(2.0).as_subclass(Own), T.tensor(3.0)
    return told, type(own * c).__name__, type(c * own).__name__
