"""The ops. Each folder holds a family of ops; the files beside the folders hold the machinery that all families share.

Each op is a short class. The function below it defines the names by which users call it. Importing a family binds its
functions, methods and operators.
"""

from __future__ import annotations

from . import bfloat16, composed, rarer
from .binding import fft_functions, functions, linalg_functions, nn_functions
from .complex_numbers import fourier, parts, short_time
from .complex_numbers import rules as complex_rules
from .creation import copies, factories, methods
from .indexing import gather, index, masking, reducing
from .linalg import decomposition, distance, einsum, factors, lu, matmul
from .network import (
    activation,
    convolution,
    cross_entropy,
    layers,
    loss,
    normalization,
    pooling,
    rectifier,
    recurrent,
    resampling,
    softmax,
    volumes,
)
from .network import (
    rarer as rarer_layers,
)
from .op import Op, elementwise, linear
from .pointwise import (
    arithmetic,
    clamp,
    compare,
    division,
    error_function,
    exponential,
    powers,
    rounding,
    special,
    trigonometric,
)
from .reductions import cumulative, extremes, moments, norms, reduce, sorting
from .shapes import diagonal, joining, permute, repetition, shape, turning, windows

__all__ = [
    "Op",
    "activation",
    "arithmetic",
    "bfloat16",
    "clamp",
    "compare",
    "complex_rules",
    "composed",
    "convolution",
    "copies",
    "cross_entropy",
    "cumulative",
    "decomposition",
    "diagonal",
    "distance",
    "division",
    "einsum",
    "elementwise",
    "error_function",
    "exponential",
    "extremes",
    "factories",
    "factors",
    "fft_functions",
    "fourier",
    "functions",
    "gather",
    "index",
    "joining",
    "layers",
    "linalg_functions",
    "linear",
    "loss",
    "lu",
    "masking",
    "matmul",
    "methods",
    "moments",
    "nn_functions",
    "normalization",
    "norms",
    "parts",
    "permute",
    "pooling",
    "powers",
    "rarer",
    "rarer_layers",
    "rectifier",
    "recurrent",
    "reduce",
    "reducing",
    "repetition",
    "resampling",
    "rounding",
    "shape",
    "short_time",
    "softmax",
    "sorting",
    "special",
    "trigonometric",
    "turning",
    "volumes",
    "windows",
]  # fmt: skip
