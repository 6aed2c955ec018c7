"""Names that a probe may use beside its parameters: they are there, too, where only its source text arrives."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["function_of_x", "math", "np"]


def function_of_x(expression: str) -> Callable[[float], float]:
    """The function of one number that `expression` writes down.

    >>> function_of_x("x ** 2 + 1")(3.0)
    10.0
    """
    names = {"sin": math.sin, "cos": math.cos, "exp": math.exp, "abs": abs, "__builtins__": {}}
    return eval(f"lambda x: {expression}", names)
