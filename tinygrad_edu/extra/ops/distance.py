"""Similarities and distances of vectors, and the triplet loss."""

from __future__ import annotations

import math

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...ops.binding import functions, nn_functions, public
from ...ops.creation.copies import to_copy
from ...ops.indexing.masking import where
from ...ops.linalg.matmul import matmul
from ...ops.network.loss import as_float, checked_reduction, reduce_loss
from ...ops.op import Op
from ...ops.operands import need_tensor, refuse_mismatch
from ...ops.pointwise.arithmetic import AddNumber, refuse_booleans
from ...ops.pointwise.clamp import clamp_min, minimum
from ...ops.reductions.norms import VectorNorm, norm_slope, vector_norm
from ...ops.reductions.reduce import sum
from ...ops.shapes.shape import View, expand, reshape, unsqueeze
from .linalg.decomposition import Norm

_BOTH = (functions, nn_functions)

# Above so many rows distances come from a product of matrices, as in PyTorch; so many differences are held at once.
_FEW_ROWS, _AT_ONCE = 25, 2**22


class Cdist(Op):
    """The distance of each row of x1 (…, P, M) to each row of x2 (…, R, M): (…, P, R)"""

    def forward(x1, x2, *, p):
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        out = np.empty((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
        step = max(1, _AT_ONCE // max(1, out.size // max(1, x1.shape[-2]) * x1.shape[-1]))
        for row in range(0, x1.shape[-2], step):
            rows = x1[..., row : row + step, None, :] - x2[..., None, :, :]
            out[..., row : row + step, :] = VectorNorm.forward(rows, ord=p, dim=-1)
        return out

    def grad_x1(grad, x1, x2, result, p):
        return sum(unsqueeze(grad, -1) * _slopes(x1, x2, result, p), -2)

    def grad_x2(grad, x1, x2, result, p):
        return -sum(unsqueeze(grad, -1) * _slopes(x1, x2, result, p), -3)

    def jvp(tangent1, tangent2, x1, x2, result, p):
        return sum((unsqueeze(tangent1, -2) - unsqueeze(tangent2, -3)) * _slopes(x1, x2, result, p), -1)


def _slopes(x1, x2, result, p):
    return norm_slope(unsqueeze(x1, -2) - unsqueeze(x2, -3), unsqueeze(result, -1), p, -1)


class EuclideanDist(Op):
    """The same for p = 2, by |a - b|² = |a|² - 2·a·b + |b|²: without the differences of all rows."""

    def forward(x1, x2):
        squares = [(x * x).sum(-1, keepdims=True) for x in (x1, x2)]
        ones = [np.ones_like(s) for s in squares]
        left = np.concatenate([-2 * x1, squares[0], ones[0]], -1)
        right = np.concatenate([x2, ones[1], squares[1]], -1)
        return np.sqrt(np.maximum(left @ right.swapaxes(-2, -1), 0))

    def grad_x1(grad, x1, x2, result):
        ratio = _ratio(grad, result)
        return x1 * sum(ratio, -1, True) - matmul(ratio, x2)

    def grad_x2(grad, x1, x2, result):
        ratio = _ratio(grad, result).swapaxes(-2, -1)
        return x2 * sum(ratio, -1, True) - matmul(ratio, x1)

    def jvp(tangent1, tangent2, x1, x2, result):
        return Cdist.jvp(tangent1, tangent2, x1, x2, result, 2.0)


def _ratio(grad, result):
    """grad/result, 0 where the distance is."""
    return where(result == 0, 0.0, grad / where(result == 0, 1.0, result))


@public(where=_BOTH, method=False)
def cosine_similarity(x1, x2, dim=1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between two tensors along `dim`.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.cosine_similarity(T.tensor([1.0, 0.0]), T.tensor([1.0, 1.0]), dim=0)
    tensor(0.7071)
    """
    refuse_mismatch([tuple(x1.shape), tuple(x2.shape)])
    sizes = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    x1, x2 = (x if tuple(x.shape) == sizes else expand(x, sizes) for x in (x1, x2))
    common = dtypes.promote([x1._data, x2._data])
    if common.kind not in "fcV":
        kind = dtypes.from_numpy_dtype(common).legacy_name
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {kind}: use t.float().")
    # As in PyTorch, a float keeps its own type up to the product: a half's length is a half.
    x1, x2 = (x if x.is_floating_point() or x.is_complex() else to_copy(x, common) for x in (x1, x2))
    return sum(_direction(x1, dim, eps) * _direction(x2, dim, eps), dim)


def _direction(x, dim, eps):
    length = vector_norm(x, 2, dim, True)
    # As in PyTorch, `eps` has no gradient.
    kept = length.clone()
    kept._data[...] = np.maximum(kept._data, eps)
    return x / kept


@public(where=_BOTH, method=False)
def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The distance ‖x1 - x2 + eps‖ along the last dimension.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.pairwise_distance(T.tensor([[0.0, 0.0]]), T.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    moved = AddNumber.apply(as_float(x1 - need_tensor("pairwise_distance", x2, "x2")), other=eps)
    return Norm.apply(moved, p=float(p), dim=(moved.ndim - 1,), keepdim=keepdim)


@public()
def dist(input, other, p=2) -> Tensor:
    """The p-norm of `input - other`.

    >>> import tinygrad_edu as T
    >>> T.dist(T.tensor([0.0, 0.0]), T.tensor([3.0, 4.0]))
    tensor(5.)
    """
    refuse_booleans(input, need_tensor("dist", other))
    if not (input.is_floating_point() or other.is_floating_point()):
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {input.dtype.legacy_name} instead."
        )
    return Dist.apply(input, other, p=p)


@public(method=False)
def cdist(x1, x2, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distances between each row of `x1` and each row of `x2`, in the p-norm.

    >>> import tinygrad_edu as T
    >>> T.cdist(T.tensor([[0.0, 0.0]]), T.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.legacy_name}")
        if x.dtype.name == "float16":
            raise NotImplementedError("\"cdist\" not implemented for 'Half'. Convert first: t.float().")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    rows = max(x1.shape[-2], x2.shape[-2])
    by_product = compute_mode == modes[1] or (compute_mode == modes[0] and rows > _FEW_ROWS)
    if p != 2 or not by_product or not min(*x1.shape, *x2.shape):
        return Cdist.apply(x1, x2, p=float(p))
    batch = np.broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    sides = [x1, x2]
    if batch:
        sides = [reshape(expand(x, (*batch, *x.shape[-2:])), (math.prod(batch), *x.shape[-2:])) for x in sides]
    return View.apply(EuclideanDist.apply(*sides), size=(*batch, x1.shape[-2], x2.shape[-2]))


@public(where=_BOTH, method=False)
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of max(0, ‖a - p‖ - ‖a - n‖ + margin).

    >>> import tinygrad_edu as T
    >>> anchor, near, far = T.zeros(1, 2), T.ones(1, 2), T.full((1, 2), 3.0)
    >>> T.nn.functional.triplet_margin_loss(anchor, near, far)
    tensor(0.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    reduction = checked_reduction(size_average, reduce, reduction)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_loss(clamp_min(AddNumber.apply(near, other=margin) - far, 0), reduction)


class Dist(Op):
    """‖s - o‖"""

    promotes = True

    def forward(self, other, *, p):
        return VectorNorm.forward(self - other, ord=p)

    def grad_self(grad, self, other, result, p):
        return grad * norm_slope(self - other, result, p, None)

    def grad_other(grad, self, other, result, p):
        return -grad * norm_slope(self - other, result, p, None)

    def jvp(tangent, other_tangent, self, other, result, p):
        return sum((tangent - other_tangent) * norm_slope(self - other, result, p, None))
