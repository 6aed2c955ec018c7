"""The ops. Each folder holds a family of ops; the files beside the folders hold the machinery that all families share.

Each op is a short class. The function below it, and the class of methods at the end of the module, define the names by
which users call it. Importing a module puts its functions into the tables.
"""

from __future__ import annotations

from .binding import functions, linalg_functions, nn_functions
from .creation import copies, factories, legacy, methods, random
from .indexing import distinct, gather, index, masking, slices
from .linalg import decomposition, einsum, matmul
from .network import rectifier, softmax
from .op import Op, elementwise, linear
from .pointwise import (
    arithmetic,
    clamp,
    compare,
    division,
    exponential,
    logic,
    powers,
    rounding,
    trigonometric,
    weighted_sums,
)
from .reductions import extremes, norms, ordering, reduce, running, statistics
from .shapes import diagonal, joining, permute, repeating, shape, turning, windows

__all__ = ["Op", "elementwise", "functions", "linalg_functions", "linear", "nn_functions"]
