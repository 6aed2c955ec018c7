"""The ops, a file a family. Each is a short class, and beside it the function that says by which names users reach it."""

from __future__ import annotations

# Importing a family binds its functions, methods and operators.
from . import (
    activation,
    arithmetic,
    clamp,
    compare,
    convolution,
    copies,
    creation,
    cross_entropy,
    cumulative,
    decomposition,
    diagonal,
    distance,
    division,
    einsum,
    error_function,
    exponential,
    extremes,
    gather,
    index,
    joining,
    loss,
    masking,
    matmul,
    methods,
    moments,
    network,
    normalization,
    norms,
    permute,
    pooling,
    powers,
    recurrent,
    reduce,
    repetition,
    rounding,
    shape,
    softmax,
    sorting,
    trigonometric,
    turning,
    windows,
)
from .binding import functions, linalg_functions, nn_functions
from .op import Op, elementwise, linear

__all__ = [
    "Op", "activation", "arithmetic", "clamp", "compare", "convolution", "copies", "creation", "cross_entropy",
    "cumulative", "decomposition", "diagonal", "distance", "division", "einsum", "elementwise", "error_function",
    "exponential", "extremes", "functions", "gather", "index", "joining", "linalg_functions", "linear", "loss",
    "masking", "matmul", "methods", "moments", "network", "nn_functions", "normalization", "norms", "permute",
    "pooling", "powers", "recurrent", "reduce", "repetition", "rounding", "shape", "softmax", "sorting",
    "trigonometric", "turning", "windows",
]  # fmt: skip
