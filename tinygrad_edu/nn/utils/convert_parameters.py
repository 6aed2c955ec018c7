"""Parameters as one vector, and back (PyTorch: `torch.nn.utils.convert_parameters`)."""

from __future__ import annotations

from collections.abc import Iterable

from ...ops import functions
from ...tensor import Tensor, wrap

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters as one vector. It is part of the graph."""
    return functions["cat"]([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Replace the parameters' data by the elements of `vec`, in order."""
    start = 0
    for p in parameters:
        p.data = wrap(vec._data[start : start + p.numel()].reshape(p.shape))
        start += p.numel()
