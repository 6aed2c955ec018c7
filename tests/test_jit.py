"""A trace does what `torch.jit.trace` does: it freezes what Python decided, warns of it, and replays the rest."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.functions import function

import tinygrad_edu as T

Program = Callable[[Any], Callable[..., Any]]


def double_or_square(T: Any) -> Callable[..., Any]:
    return lambda x: x * 2 if x.sum() > 0 else x * x


def loop(T: Any) -> Callable[..., Any]:
    def halved(x: Any) -> Any:
        while x.sum() > 1:
            x = x / 2
        return x

    return halved


def written(T: Any) -> Callable[..., Any]:
    def set_first(x: Any) -> Any:
        y = x.clone()
        y[0] = 7.0
        y += x
        return y

    return set_first


def a_constant(T: Any) -> Callable[..., Any]:
    w = T.tensor(3.0)
    return lambda x: x * w


PROGRAMS = {"an if": double_or_square, "a loop": loop, "a write": written, "a constant": a_constant}
PROGRAMS |= {"a number that is read": lambda T: lambda x: x * x.sum().item()}
PROGRAMS |= {"a float that is read": lambda T: lambda x: x * float(x[0])}
PROGRAMS |= {"a list that is read": lambda T: lambda x: x * x.tolist()[0]}
PROGRAMS |= {"an array that is read": lambda T: lambda x: x * float(x.numpy()[0])}
PROGRAMS |= {"a length": lambda T: lambda x: x.sum() / len(x)}
PROGRAMS |= {"rows": lambda T: lambda x: T.stack([row * 2 for row in x])}
PROGRAMS |= {"several results": lambda T: lambda x: (x.exp(), (x + 1).sum())}
PROGRAMS |= {"an index by a tensor": lambda T: lambda x: x[x > 1] * 2}


def outcome(T: Any, program: Program) -> tuple[Any, list[str]]:
    """What a trace gives for another input than it was made with, and what PyTorch's users know its warnings by."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        traced = T.jit.trace(program(T), T.tensor([1.0, 2.0, 3.0]))
    known = {str(w.message).partition(" might")[0] for w in said if issubclass(w.category, T.jit.TracerWarning)}
    result = traced(T.tensor([-4.0, 5.0, -6.0]))
    results = result if isinstance(result, tuple) else (result,)
    return [each.tolist() for each in results], sorted(known)


@pytest.mark.outer
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_trace_replays_as_pytorchs_does_and_warns_where_it_does(name: str) -> None:
    ours, theirs = (outcome(engine, PROGRAMS[name]) for engine in (T, torch))
    assert ours[0] == [pytest.approx(each, rel=1e-6) for each in theirs[0]]
    assert ours[1] == theirs[1]


def test_the_if_is_frozen_the_warning_points_at_its_line_and_the_function_itself_still_asks() -> None:
    with pytest.warns(
        T.jit.TracerWarning, match="Converting a tensor to a Python boolean might cause the trace"
    ) as said:
        traced = T.jit.trace(double_or_square(T), T.tensor(3.0))
    assert said[0].filename == __file__
    assert traced(T.tensor(-3.0)).item() == -6.0
    assert double_or_square(T)(T.tensor(-3.0)).item() == 9.0
    (frozen,) = traced.frozen
    assert (frozen.what, frozen.value) == ("boolean", True)
    lines = ["v1 = sum(x)", "v2 = gt(v1, 0)", "# the boolean of v2 was True: frozen", "v3 = mul(x, 2)", "return v3"]
    assert traced.code.splitlines() == ["def traced(x):", *(f"    {line}" for line in lines)]


def test_gradients_flow_through_a_replay() -> None:
    traced = T.jit.trace(lambda x: (x * x).sum(), T.ones(2))
    x = T.tensor([2.0, 5.0], requires_grad=True)
    traced(x).backward()
    assert x.grad.tolist() == [4.0, 10.0]


def test_a_module_provides_its_parameters_and_they_are_not_frozen() -> None:
    layer = T.nn.Linear(2, 1, bias=False)
    traced = T.jit.trace(layer, T.ones(2))
    with T.no_grad():
        layer.weight.fill_(10.0)
    out = traced(T.tensor([1.0, 2.0]))
    assert out.tolist() == [30.0]
    out.sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 2.0]]


def test_a_random_op_is_drawn_anew_at_each_replay() -> None:
    traced = T.jit.trace(lambda x: x + T.rand(8), T.zeros(8))
    assert traced(T.zeros(8)).tolist() != traced(T.zeros(8)).tolist()


LOUD = function(T, "Loud", lambda ctx, x: x * 1, lambda ctx, grad: grad * 100)


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: LOUD.apply(x) * 2, "A custom Function cannot be replayed"),
        (lambda x: x * x.data, "in a way that the trace does not record"),
        (lambda x: 3.0, "Only tensors, lists, tuples of tensors"),
        (lambda x: {"x": x}, "Only tensors, lists, tuples of tensors"),
        (lambda x: None, "The traced function didn't return any values!"),
    ],
    ids=["custom Function", "data", "a number", "a dict", "nothing"],
)
@pytest.mark.filterwarnings("ignore::tinygrad_edu.jit.TracerWarning")
def test_what_cannot_be_replayed_is_refused(function: Callable[..., Any], message: str, requires_grad: bool) -> None:
    with pytest.raises(RuntimeError, match=message):
        T.jit.trace(function, T.ones(2, requires_grad=requires_grad))


@pytest.mark.parametrize("engine", [T, torch], ids=["tinygrad_edu", "torch"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_captured_tensor_that_requires_grad_is_refused_as_pytorch_does(engine: Any) -> None:
    w = engine.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        engine.jit.trace(lambda x: x * w, engine.tensor(1.0))


@pytest.mark.parametrize("inputs", [3.0, (3.0,), "x"])
def test_a_non_tensor_is_not_an_example(inputs: Any) -> None:
    with pytest.raises(TypeError, match="cannot be traced"):
        T.jit.trace(lambda x: x, inputs)


def test_a_replay_with_other_sizes_or_another_dtype_is_refused() -> None:
    traced = T.jit.trace(lambda x: x.sum() / x.shape[0], T.ones(3))
    with pytest.raises(RuntimeError, match=r"x has shape \(4,\).*frozen"):
        traced(T.ones(4))
    with pytest.raises(RuntimeError, match="float64"):
        traced(T.ones(3, dtype=T.float64))
    with pytest.raises(TypeError, match="takes 1 input"):
        traced()


def test_after_a_trace_that_failed_nothing_is_traced() -> None:
    with pytest.raises(ZeroDivisionError):
        T.jit.trace(lambda x: x / (1 / 0), T.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bool(T.ones(1) > 0)


@pytest.mark.outer
def test_a_long_trace_replays() -> None:
    def chain(x: Any) -> Any:
        for _ in range(5000):
            x = x + 1
        return x

    traced = T.jit.trace(chain, T.zeros(()))
    assert traced(T.tensor(1.0)).item() == 5001.0
    assert traced.code.count("\n") == 5001
