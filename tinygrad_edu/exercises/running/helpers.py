"""Names that a probe may use besides its parameters: they also exist where only its source text arrives."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from ..projects import predictions

__all__ = ["changed_in_place", "function_of_x", "intact", "math", "np", "opaque", "predictions", "registered_op"]
__all__ += ["run_function", "run_program", "unused", "weakref"]


def function_of_x(expression: str) -> Callable:
    """The function of `x`, a number or an array, that `expression` defines.

    >>> function_of_x("x ** 2 + 1")(3.0)
    10.0
    """
    names = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "abs": abs}
    return eval(f"lambda x: {expression}", names)


def run_program(source: str, T: Any) -> dict[str, Any]:
    """The variables of a program after running it with the engine `T`."""
    names: dict[str, Any] = {"T": T}
    exec(compile(source, "<program>", "exec", dont_inherit=True), names)
    return names


def run_function(T: Any, function: Any, inputs: list, grad_output: Any, *constants: Any) -> tuple:
    """The result of `function.apply(*inputs, *constants)`, and the gradient of each input for `grad_output`."""
    tensors = [T.tensor(value, requires_grad=True) for value in inputs]
    result = function.apply(*tensors, *constants)
    result.backward(T.tensor(grad_output))
    return (result.detach(), *(tensor.grad for tensor in tensors))


def changed_in_place(T: Any, function: Any, inputs: list) -> list:
    """For each input, what happens if it is changed in place between the passes: "honest", or how large the error is.

    Honest means to raise, or to return the gradients for the values that forward saw.
    """

    def gradients(changed: int) -> list:
        tensors = [T.tensor(value, requires_grad=True) for value in inputs]
        result = function.apply(*tensors)
        with T.no_grad():
            if changed >= 0:
                tensors[changed].mul_(3.0)
        result.sum().backward()
        return [tensor.grad.tolist() for tensor in tensors]

    found, expected = [], gradients(-1)
    for place in range(len(inputs)):
        try:
            after = gradients(place)
        except RuntimeError:
            after = expected
        found.append("honest" if after == expected else "silently wrong")
    return found


def registered_op(T: Any, name: str) -> Any:
    """The op that `T.ops` has under `namespace::name`; None if there is none."""
    namespace, own = name.split("::")
    return getattr(getattr(T.ops, namespace, None), own, None)


def unused(T: Any, name: str) -> str:
    """`name`, or with a number behind it: under no other has this process registered an op before."""
    number = 1
    while registered_op(T, found := name if number == 1 else f"{name}{number}") is not None:
        number += 1
    return found


def opaque(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function` of one argument, such that whoever gets it cannot reach what it writes to.

    >>> opaque(abs)(-2)
    2
    """

    def run() -> Generator[Any, Any, None]:
        result = None
        while True:
            argument = yield result
            result = function(argument)
            del argument  # the instrument must keep nothing alive

    started = run()
    next(started)
    return started.send


def intact() -> None:
    """In the sandbox: ends an answer that has replaced what a probe relies on. In a notebook: nothing."""
