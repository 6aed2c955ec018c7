"""The linear layer, and layers without weights: dropout, reshaping, similarities."""

from __future__ import annotations

import math
from typing import Any

from ..array.tensor import Tensor
from ..ops.creation.factories import zeros
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["CosineSimilarity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Flatten", "Linear"]
__all__ += ["PairwiseDistance", "Unflatten"]


def add_parameters(module: Module, device: Any, dtype: Any, **sizes: Any) -> None:
    """Give `module` an uninitialised parameter of each size in `sizes`, by name; None for a size of None."""
    for name, size in sizes.items():
        made = None if size is None else Parameter(zeros(size, dtype=dtype, device=device))
        module.register_parameter(name, made)


class Linear(Module):
    """A linear layer, x·weightᵀ + bias: (…, in_features) to (…, out_features). `weight` is (out_features, in_features).

    >>> layer = T.nn.Linear(3, 2)
    >>> layer(T.zeros(5, 3)).shape
    tinygrad_edu.Size([5, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        add_parameters(self, device, dtype, weight=(out_features, in_features), bias=out_features if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Dropout(Module):
    """In training, zeroes each element with probability p and divides the others by 1 - p.

    >>> layer = T.nn.Dropout(0.5)
    >>> sorted({*layer(T.ones(100)).tolist()})  # in training each element is zeroed or doubled
    [0.0, 2.0]
    >>> layer.eval()(T.ones(3))
    tensor([1., 1., 1.])
    """

    _function: Any = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Dropout of whole channels, for sequences (N, C, L)."""

    _function: Any = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """Dropout of whole channels, for images (N, C, H, W)."""

    _function: Any = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """Dropout of whole channels, for volumes (N, C, D, H, W)."""

    _function: Any = staticmethod(F.dropout3d)


class Flatten(Module):
    """Merges the dimensions from start_dim to end_dim into one. By default it keeps the first, the batch.

    >>> T.nn.Flatten()(T.ones(2, 3, 4)).shape
    tinygrad_edu.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into several of the sizes `unflattened_size`.

    >>> T.nn.Unflatten(1, (3, 4))(T.ones(2, 12)).shape
    tinygrad_edu.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along `dim`.

    >>> T.nn.CosineSimilarity(dim=0)(T.tensor([1.0, 0.0]), T.tensor([1.0, 1.0]))
    tensor(0.7071)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The distance ‖x1 - x2 + eps‖ along the last dimension.

    >>> T.nn.PairwiseDistance()(T.tensor([[0.0, 0.0]]), T.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
