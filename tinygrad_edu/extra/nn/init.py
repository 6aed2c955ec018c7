"""Fillings of weights that few programs use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...nn.init import _fill, _older, _refuse_unusual, normal_
from ...ops.creation.random import even_like, normal_like, source

__all__ = ["dirac", "dirac_", "eye", "eye_", "orthogonal", "orthogonal_", "sparse", "sparse_", "trunc_normal_"]


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix, so that a linear layer preserves its input.

    >>> import tinygrad_edu as T
    >>> T.nn.init.eye_(T.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill with identity kernels, 1 in the middle from each channel to itself, so that a convolution preserves its input.

    >>> import tinygrad_edu as T
    >>> kernel = T.nn.init.dirac_(T.empty(1, 1, 3))
    >>> T.nn.functional.conv1d(T.tensor([[[1.0, 2.0, 3.0]]]), kernel, padding=1)
    tensor([[[1., 2., 3.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    out = np.zeros(tensor.shape)
    per_group = tensor.shape[0] // groups
    middle = tuple(k // 2 for k in tensor.shape[2:])
    for g in range(groups):
        for d in range(min(per_group, tensor.shape[1])):
            out[(g * per_group + d, d, *middle)] = 1
    return _fill(tensor, out)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix whose rows or columns have length `gain`.

    >>> import tinygrad_edu as T
    >>> w = T.nn.init.orthogonal_(T.empty(3, 3))
    >>> T.allclose(w @ w.T, T.eye(3), atol=1e-6)
    True
    """
    _refuse_unusual(tensor, "orthogonal_")
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    flat = source(generator).normal((rows, columns), tensor._data.dtype)
    q, r = np.linalg.qr(flat if rows >= columns else flat.T)
    q *= np.sign(np.diag(r))
    return _fill(tensor, (gain * (q if rows >= columns else q.T)).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal with standard deviation `std`; a fraction `sparsity` of each column is 0 (Martens 2010).

    >>> import tinygrad_edu as T
    >>> (T.nn.init.sparse_(T.empty(4, 2), sparsity=0.5) == 0).sum(dim=0)
    tensor([2, 2])
    """
    _refuse_unusual(tensor, "sparse_")
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    normal_(tensor, 0.0, std, generator)
    none = math.ceil(sparsity * tensor.shape[0])
    for column in tensor._data.T:
        column[source(None).permutation(len(column))[:none]] = 0
    return tensor


eye, dirac, orthogonal, sparse = map(_older, (eye_, dirac_, orthogonal_, sparse_))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with numbers from the normal distribution, truncated to [a, b]: numbers outside are drawn again.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.init.trunc_normal_(T.empty(100), a=-1.0, b=1.0).abs().max() <= 1
    tensor(True)
    """
    _refuse_unusual(tensor, "trunc_normal_")
    like = tensor._data
    below, above = ((1 + math.erf((x - mean) / (std * math.sqrt(2)))) / 2 for x in (a, b))
    # Where few normal numbers would fall inside, use rejection sampling: draw uniform numbers and accept them by the density.
    often = above - below > 0.3
    top = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    out = np.full_like(like, np.nan)
    while (again := np.isnan(out)).any():
        if often:
            drawn = normal_like(like, like.dtype, mean, std, generator)
            kept = (a <= drawn) & (drawn <= b)
        else:
            drawn = even_like(like, like.dtype, a, b, generator)
            density = -0.5 * ((drawn - mean) / std) ** 2 - top
            kept = np.log(even_like(like, like.dtype, 0.0, 1.0, generator)) <= density
        out = np.where(again & kept, drawn, out)
    return _fill(tensor, out)
