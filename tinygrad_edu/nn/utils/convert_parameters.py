"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...array.tensor import Tensor, wrap
from ...ops.shapes.joining import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters as one vector. It is part of the graph.

    >>> T.nn.utils.parameters_to_vector(T.nn.Linear(2, 3).parameters()).shape
    tinygrad_edu.Size([9])
    """
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Replace the parameters' data by the elements of `vec`, in order.

    >>> layer = T.nn.Linear(1, 1)
    >>> T.nn.utils.vector_to_parameters(T.tensor([2.0, 1.0]), layer.parameters())
    >>> layer(T.tensor([3.0])).detach()
    tensor([7.])
    """
    start = 0
    for p in parameters:
        p.data = wrap(vec._data[start : start + p.numel()].reshape(p.shape))
        start += p.numel()
