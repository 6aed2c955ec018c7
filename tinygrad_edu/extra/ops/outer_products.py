"""Products of vectors and of batches, and all pairs or combinations."""

from __future__ import annotations

import itertools

import numpy as np

from ...array.tensor import Tensor, wrap
from ...ops.binding import functions, nn_functions, public
from ...ops.creation.copies import overwrite
from ...ops.linalg.matmul import bmm
from ...ops.operands import check_expandable
from ...ops.pointwise.powers import pow
from ...ops.reductions.norms import vector_norm
from ...ops.reductions.reduce import sum
from ...ops.shapes.shape import unsqueeze


def _addr_(self, vec1, vec2, *, beta=1, alpha=1):
    if vec1.ndim == vec2.ndim == 1 and tuple(self.shape) != (len(vec1), len(vec2)):
        raise RuntimeError(f"size mismatch, input: {list(self.shape)}, v1: {list(vec1.shape)}, v2: {list(vec2.shape)}")
    return overwrite(self, addr(self, vec1, vec2, beta=beta, alpha=alpha))


@public(inplace=_addr_)
def addr(input, vec1, vec2, *, beta=1, alpha=1) -> Tensor:
    """beta·input + alpha·(vec1 ⊗ vec2).

    >>> import tinygrad_edu as T
    >>> T.addr(T.zeros(2, 2), T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for name, vec in (("vec1", vec1), ("vec2", vec2)):
        if vec.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vec.ndim}-D")
    check_expandable(input._data, (len(vec1), len(vec2)))
    return input * beta + functions["outer"](vec1, vec2) * alpha


@public(inplace=lambda self, b1, b2, *, beta=1, alpha=1: overwrite(self, addbmm(self, b1, b2, beta=beta, alpha=alpha)))
def addbmm(input, batch1, batch2, *, beta=1, alpha=1) -> Tensor:
    """beta·input + alpha·Σ batch1ᵢ·batch2ᵢ.

    >>> import tinygrad_edu as T
    >>> T.addbmm(T.zeros(1, 1), T.ones(2, 1, 3), T.ones(2, 3, 1))
    tensor([[6.]])
    """
    products = bmm(batch1, batch2)
    check_expandable(input._data, products.shape[1:])
    return input * beta + sum(products, 0, dtype=batch1.dtype) * alpha


@public(method=False)
def vander(x, N=None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: each row holds the powers of an element, from the highest down (up with `increasing`).

    >>> import tinygrad_edu as T
    >>> T.vander(T.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1].copy()
    return pow(unsqueeze(x, -1), wrap(powers))


@public(method=False)
def combinations(input, r=2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, one per row, in order.

    >>> import tinygrad_edu as T
    >>> T.combinations(T.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(len(input)), r)), np.int64).reshape(-1, r)
    return input[wrap(rows)]


@public(method=False)
def pdist(input, p: float = 2.0) -> Tensor:
    """The distances between all pairs of rows, in the p-norm.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.pdist(T.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    i, j = np.triu_indices(input.shape[0], 1)
    return vector_norm(input[wrap(i)] - input[wrap(j)], p, (-1,))


nn_functions["pdist"] = functions["pdist"]
