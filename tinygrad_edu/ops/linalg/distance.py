"""Similarities and distances of vectors: `cosine_similarity`, `pairwise_distance`, `cdist`."""

from __future__ import annotations

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..binding import BOTH, public
from ..creation.copies import to_copy
from ..indexing.masking import where
from ..op import Op
from ..operands import need_tensor, refuse_mismatch
from ..pointwise.arithmetic import AddNumber
from ..reductions.norms import VectorNorm, norm_slope, vector_norm
from ..reductions.reduce import sum
from ..shapes.shape import View, expand, unsqueeze
from .matmul import matmul


class Norm(Op, name="NormBackward1"):
    """A norm along dimensions, under its older name."""

    def forward(self, *, p, dim, keepdim):
        return VectorNorm.forward(self, ord=p, dim=dim, keepdim=keepdim)

    def grad_self(grad, self, result, p, dim, keepdim):
        return VectorNorm.grad_self(grad, self, result, p, dim, keepdim)


class Cdist(Op):
    """The distance of each row of x1 (…, P, M) to each row of x2 (…, R, M): (…, P, R)"""

    def forward(x1, x2, *, p):
        return VectorNorm.forward(x1[..., :, None, :] - x2[..., None, :, :], ord=p, dim=-1)

    def grad_x1(grad, x1, x2, result, p):
        return sum(unsqueeze(grad, -1) * _slopes(x1, x2, result, p), -2)

    def grad_x2(grad, x1, x2, result, p):
        return -sum(unsqueeze(grad, -1) * _slopes(x1, x2, result, p), -3)


def _slopes(x1, x2, result, p):
    return norm_slope(unsqueeze(x1, -2) - unsqueeze(x2, -3), unsqueeze(result, -1), p, -1)


class EuclideanDist(Op):
    """The same for p = 2, by |a - b|² = |a|² - 2·a·b + |b|²: without the differences of all rows."""

    def forward(x1, x2):
        squares = [(x * x).sum(-1, keepdims=True) for x in (x1, x2)]
        ones = [np.ones_like(square) for square in squares]
        left = np.concatenate([-2 * x1, squares[0], ones[0]], -1)
        right = np.concatenate([x2, ones[1], squares[1]], -1)
        return np.sqrt(np.maximum(left @ right.swapaxes(-2, -1), 0))

    def grad_x1(grad, x1, x2, result):
        ratio = _ratio(grad, result)
        return x1 * sum(ratio, -1, True) - matmul(ratio, x2)

    def grad_x2(grad, x1, x2, result):
        ratio = _ratio(grad, result).swapaxes(-2, -1)
        return x2 * sum(ratio, -1, True) - matmul(ratio, x1)


def _ratio(grad, result):
    """grad/result, 0 where the distance is."""
    return where(result == 0, 0.0, grad / where(result == 0, 1.0, result))


@public(where=BOTH)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between two tensors along `dim`.

    >>> T.nn.functional.cosine_similarity(T.tensor([1.0, 0.0]), T.tensor([1.0, 1.0]), dim=0)
    tensor(0.7071)
    """
    refuse_mismatch([tuple(x1.shape), tuple(x2.shape)])
    sizes = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    common = dtypes.promote([x1._data, x2._data])
    if common.kind != "f":
        kind = dtypes.from_numpy_dtype(common).legacy_name
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {kind}: use t.float().")
    x1, x2 = (x1, x2) if x1.shape == x2.shape else (expand(x1, sizes), expand(x2, sizes))
    # As in PyTorch, a float keeps its own type up to the product: a half's length is a half.
    x1, x2 = (x if x.is_floating_point() else to_copy(x, common) for x in (x1, x2))
    return sum(_direction(x1, dim, eps) * _direction(x2, dim, eps), dim)


def _direction(x, dim, eps):
    length = vector_norm(x, 2, dim, True).clone()
    length._data[...] = np.maximum(length._data, eps)  # as in PyTorch, `eps` has no gradient
    return x / length


@public(where=BOTH)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The distance ‖x1 - x2 + eps‖ along the last dimension.

    >>> T.nn.functional.pairwise_distance(T.tensor([[0.0, 0.0]]), T.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    moved = x1 - need_tensor("pairwise_distance", x2, "x2")
    moved = AddNumber.apply(moved if moved.is_floating_point() else moved.to(dtypes.get_default_dtype()), other=eps)
    return Norm.apply(moved, p=float(p), dim=(moved.ndim - 1,), keepdim=keepdim)


@public()
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distances between each row of `x1` and each row of `x2`, in the p-norm.

    >>> T.cdist(T.tensor([[0.0, 0.0]]), T.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.legacy_name}")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    # As in PyTorch, many rows are compared by a product of matrices.
    many = max(x1.shape[-2], x2.shape[-2]) > 25 and compute_mode != "donot_use_mm_for_euclid_dist"
    if p != 2 or not (many or compute_mode == "use_mm_for_euclid_dist") or not min(*x1.shape, *x2.shape):
        return Cdist.apply(x1, x2, p=float(p))
    distances = EuclideanDist.apply(x1, x2)
    return View.apply(distances, size=tuple(distances.shape))
