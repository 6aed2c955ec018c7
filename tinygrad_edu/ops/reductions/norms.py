"""Vector norms of any order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..arrays import row_major
from ..binding import Dims, method, public
from ..indexing.masking import where
from ..op import Op
from ..pointwise.arithmetic import abs
from ..pointwise.powers import pow
from ..pointwise.rounding import sign
from .extremes import shares
from .reduce import as_dims, normalized_dims, restore_dims, sum


class VectorNorm(Op, name="LinalgVectorNormBackward0"):
    """(Σ|s|^ord)^(1/ord)"""

    def forward(self, *, ord=2, dim=None, keepdim=False):
        axes = normalized_dims(dim, self.ndim)
        size = np.abs(self)
        if math.isinf(ord):
            return row_major((size.max if ord > 0 else size.min)(axis=axes, keepdims=keepdim))
        if ord == 0:
            return row_major((self != 0).sum(axis=axes, keepdims=keepdim).astype(self.dtype))
        if ord == 2:
            return row_major(np.sqrt((self * self).sum(axis=axes, keepdims=keepdim)))
        total = row_major((size if ord == 1 else np.power(size, ord)).sum(axis=axes, keepdims=keepdim))
        return total if ord == 1 else np.power(total, 1 / ord).astype(self.dtype)

    # d‖s‖ = sign(s)·(|s|/‖s‖)^(ord-1); at 0 the subgradient is 0, and the second derivative of order 2 nan.
    def grad_self(grad, self, result, ord, dim, keepdim):
        sizes = tuple(self.shape)
        return restore_dims(grad, dim, keepdim, sizes) * norm_slope(
            self, restore_dims(result, dim, keepdim, sizes), ord, dim
        )

    def jvp(tangent, self, result, ord, dim, keepdim):
        norm = restore_dims(result, dim, keepdim, tuple(self.shape))
        return sum(tangent * norm_slope(self, norm, ord, dim), dim, keepdim)


def norm_slope(self: Any, norm: Any, ord: Any, dim: Any) -> Any:
    if ord == 0:
        return self * 0
    if ord == 1:
        return sign(self)
    if math.isinf(ord):
        return sign(self) * shares(abs(self), norm, dim)
    if ord == 2:
        return where(norm == 0, 0.0, self / norm)
    if ord < 1:
        zero = self == 0
        return where(zero, 0.0, sign(self) * pow(where(zero, 1.0, abs(self)), ord - 1)) * pow(norm, 1 - ord)
    zero = norm == 0
    slope = sign(self) * pow(abs(self), ord - 1) if ord < 2 else self * pow(abs(self), ord - 2)
    return where(zero, 0.0, slope / where(zero, 1.0, pow(norm, ord - 1)))


@public()
def norm(
    input: Tensor, p: float | str = "fro", dim: Dims = None, keepdim: bool = False, dtype: dtypes.dtype | None = None
) -> Any:
    """(Σ|x|^p)^(1/p), over all elements or along `dim`.

    >>> T.norm(T.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if dtype is not None:
        input = input.to(dtype)
    if p == "nuc":
        raise NotImplementedError("the nuclear norm is not here: tinygrad_edu has no svd. This line runs on PyTorch.")
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim)


def vector_norm(input: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """(Σ|x|^ord)^(1/ord), with the limits for ord = 0 and ±inf."""
    array = getattr(input, "_data", input)
    if array.dtype.kind != "f":
        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point tensor as input. Got {kind}. Use t.float().")
    return VectorNorm.apply(input, ord=ord, dim=None if dim is None else as_dims(dim), keepdim=keepdim)


class NormsMethods:
    """The methods of Tensor that are defined here."""

    norm = method(norm)
