"""The ops. Each folder holds a family of ops; the files beside the folders hold the machinery that all families share.

Each op is a short class. The function below it defines the names by which users call it. Importing a family binds its
functions, methods and operators. `network/` is imported when a program uses a name of it: `seam/names.py` has them.
"""

from __future__ import annotations

from .binding import fft_functions, functions, linalg_functions, nn_functions
from .creation import copies, factories, methods, random
from .indexing import gather, index, masking
from .linalg import matmul
from .op import Op, elementwise, linear
from .pointwise import arithmetic, clamp, compare, division, exponential, powers, rounding, trigonometric
from .reductions import extremes, norms, reduce
from .shapes import joining, permute, shape, turning, windows

__all__ = [
    "Op", "arithmetic", "clamp", "compare", "copies", "cumulative", "diagonal",
    "division", "elementwise", "error_function", "exponential", "extremes", "factories", "fft_functions", "functions",
    "gather", "index", "joining", "linalg_functions", "linear", "masking", "matmul", "methods", "moments",
    "nn_functions", "norms", "permute", "powers", "random", "reduce",
    "repetition", "rounding", "shape", "sorting", "trigonometric", "turning", "windows",
]  # fmt: skip
