"""Distinct numbers, and how often each occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..arrays import as_index
from ..arrays import bincount as counted
from ..binding import method, public
from ..creation.factories import finish
from ..op import Op


class Unique2(Op):
    """The distinct elements, the position of each element among them, and how often each occurs."""

    non_differentiable = (1, 2)

    def forward(self, *, dim=None):
        found, *indices = np.unique(self, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
        return found, *map(as_index, indices)

    def grad_self(grad):
        raise NotImplementedError(
            "the derivative for '_unique2' is not implemented. Equality has no gradient; select by an index instead."
        )


class UniqueDim(Unique2):
    forward = Unique2.forward


class Bincount(Op, name="torch::autograd::NotImplemented"):
    without_gradient = ("index",)

    def forward(self, *, index, minlength):
        sums = counted(index, self, minlength)
        return sums.astype(self.dtype) if self.dtype == np.float32 else sums

    def grad_self(grad):
        raise RuntimeError(
            "derivative for aten::bincount is not implemented. zeros(n).index_add(0, input, weights) has one."
        )


@public()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, sorted; optionally with each element's position among them, and with their counts.

    >>> T.unique(T.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    found = Unique2.apply(input) if dim is None else UniqueDim.apply(input, dim=dim)
    wanted = tuple(x for x, asked in zip(found, (True, return_inverse, return_counts), strict=True) if asked)
    return wanted[0] if len(wanted) == 1 else wanted


@public()
def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """Count how often each of 0, 1, 2, … occurs in a vector of integers, or sum the `weights` there.

    >>> T.bincount(T.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    """
    array = input._data
    if array.dtype.kind not in "iu":
        kind = input.dtype.legacy_name
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{kind}'. Convert first: t.long().")
    if array.ndim != 1 or (array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is None:
        return finish(as_index(counted(array, None, minlength)))
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return Bincount.apply(weights, index=input, minlength=minlength)


class DistinctMethods:
    """The methods of Tensor that are defined here."""

    unique = method(unique)
    bincount = method(bincount)
