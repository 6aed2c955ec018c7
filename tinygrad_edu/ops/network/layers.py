"""The op of a linear layer."""

from __future__ import annotations

import math

from ...array.tensor import Tensor
from ..binding import NN, public
from ..linalg.matmul import addmm, matmul
from ..shapes.permute import t
from ..shapes.shape import View, reshape

# --- functions -------------------------------------------------------------------------------------------------------


@public(where=NN)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input·weightᵀ + bias along the last dimension. `weight` has shape (out, in).

    >>> T.nn.functional.linear(T.tensor([1.0, 2.0]), T.tensor([[3.0, 4.0]]), T.tensor([0.5]))
    tensor([11.5000])
    """
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim == 2 and input.shape and input.shape[-1] != weight.shape[1]:
        rows = math.prod(input.shape[:-1])
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and "
            f"{weight.shape[1]}x{weight.shape[0]})"
        )
    if bias is None:
        return matmul(input, t(weight))
    if input.ndim == 2:
        return addmm(bias, input, t(weight))
    if not input.is_contiguous():
        return matmul(input, t(weight)).add_(bias)
    sizes = input.value.shape
    rows = reshape(input, (math.prod(sizes[:-1]), sizes[-1]))
    return View.apply(addmm(bias, rows, t(weight)), size=(*sizes[:-1], weight.value.shape[0]))
