"""The ops, a file a family. Each is a short class, and beside it the function that says by which names users reach it."""

from __future__ import annotations

# Importing a family binds its functions, methods and operators.
from . import (
    activation,
    compare,
    convolution,
    creation,
    decomposition,
    exponential,
    gather,
    index,
    joining,
    linalg,
    loss,
    methods,
    network,
    normalization,
    pointwise,
    pooling,
    recurrent,
    reduce,
    shape,
    softmax,
)
from .binding import functions, linalg_functions, nn_functions
from .op import Op, elementwise, linear

__all__ = [
    "Op", "activation", "compare", "convolution", "creation", "decomposition", "elementwise", "exponential", "functions", "gather", "index",
    "joining", "linalg", "linalg_functions", "linear", "loss", "methods", "network", "nn_functions", "normalization",
    "pointwise", "pooling", "recurrent", "reduce", "shape", "softmax",
]  # fmt: skip
