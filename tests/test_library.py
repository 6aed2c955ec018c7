"""Custom ops with a name, on both engines."""

from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

ENGINES = (tinygrad_edu, torch)


def _cube(T: Any) -> Any:
    def cube(x: T.Tensor, scale: float = 1.0) -> T.Tensor:
        return x * x * x * scale

    return T.library.custom_op("tests::cube", cube, mutates_args=())


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


def _backward(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    return grad * 3 * x * x * ctx.scale, None


def test_a_custom_op_has_a_value_a_node_and_a_gradient() -> None:
    seen = []
    for T in ENGINES:
        op = _cube(T)
        x = T.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(RuntimeError, match="no autograd formula was registered"):
            op(x).sum().backward()
        T.library.register_autograd("tests::cube", _backward, setup_context=_setup)
        y = T.ops.tests.cube(x, 2.0)
        y.sum().backward()
        seen.append((y.tolist(), y.grad_fn.name(), x.grad.tolist(), repr(op)))
    assert seen[0] == seen[1]


def test_a_custom_op_may_not_return_its_input() -> None:
    for T in ENGINES:

        def same(x: T.Tensor) -> T.Tensor:
            return x

        op = T.library.custom_op("tests::same", same, mutates_args=())
        with pytest.raises(RuntimeError, match="must not also be an input"):
            op(T.ones(2))


def test_a_custom_op_that_changes_its_argument_counts_as_a_write() -> None:
    T = tinygrad_edu

    @T.library.custom_op("tests::increment", mutates_args={"x"})
    def increment(x: T.Tensor) -> None:
        x.add_(1)

    x = T.zeros(2)
    before = x._version
    assert increment(x) is None
    np.testing.assert_array_equal(x.numpy(), [1, 1])
    assert x._version > before
    with pytest.raises(RuntimeError, match="non-functional operator"):
        increment.register_autograd(_backward)
