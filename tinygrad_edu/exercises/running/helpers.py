"""Names that a probe may use beside its parameters: they are there, too, where only its source text arrives."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["function_of_x", "math", "np", "run_function", "run_program", "weakref"]


def function_of_x(expression: str) -> Callable:
    """The function of `x`, a number or an array, that `expression` writes down.

    >>> function_of_x("x ** 2 + 1")(3.0)
    10.0
    """
    names = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "abs": abs}
    return eval(f"lambda x: {expression}", names)


def run_program(source: str, T: Any) -> dict[str, Any]:
    """The variables of a program after it ran with the engine `T`."""
    names: dict[str, Any] = {"T": T}
    exec(source, names)
    return names


def run_function(T: Any, function: Any, inputs: list, grad_output: Any, *constants: Any) -> tuple:
    """What `function.apply(*inputs, *constants)` gives, and the gradient of each input for `grad_output`."""
    tensors = [T.tensor(value, requires_grad=True) for value in inputs]
    result = function.apply(*tensors, *constants)
    result.backward(T.tensor(grad_output))
    return (result.detach(), *(tensor.grad for tensor in tensors))
