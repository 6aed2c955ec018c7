"""Products of vectors and of chains of matrices, powers, angles."""

from __future__ import annotations

import builtins
import itertools
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...ops.binding import linalg_functions, nn_functions, public
from ...ops.indexing.masking import where
from ...ops.linalg.matmul import _AddProduct, _array, _check_batches, _check_in_place, _same_dtype, dot, matmul
from ...ops.op import Op, linear
from ...ops.operands import refuse_mixture
from ...ops.pointwise.powers import pow
from ...ops.reductions.reduce import sum
from ...ops.shapes.permute import transpose
from ...ops.shapes.shape import View, reshape, unsqueeze
from .linalg.decomposition import slogdet

_NN, _LINALG = (nn_functions,), (linalg_functions,)


@public(where=_LINALG, method=False)
def vecdot(x, y, *, dim=-1) -> Any:
    """The dot products of vectors along `dim`.

    >>> import tinygrad_edu as T
    >>> T.linalg.vecdot(T.tensor([[1.0, 2.0], [3.0, 4.0]]), T.ones(2, 2))
    tensor([3., 7.])
    """
    refuse_mixture([x._data, y._data])
    if x._data.dtype.kind not in "fcV":
        kind = x.dtype.legacy_name
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {kind}. Convert first: t.float()."
        )
    if x.ndim == y.ndim == 1:  # PyTorch takes `dot`, which broadcasts nothing
        return dot(x, y)
    return sum(x * y, dim)


@public(where=_LINALG, method=False)
def multi_dot(tensors) -> Any:
    """The matrix product of several matrices.

    >>> import tinygrad_edu as T
    >>> T.linalg.multi_dot([T.ones(2, 3), T.ones(3, 4), T.ones(4, 1)])
    tensor([[12.],
            [12.]])
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, *inner, last = tensors
    kept = (*first.shape[:-1], *last.shape[1:])
    matrices = [
        unsqueeze(first, 0) if first.ndim == 1 else first,
        *inner,
        unsqueeze(last, -1) if last.ndim == 1 else last,
    ]
    for i, (left, right) in enumerate(itertools.pairwise(matrices)):
        if left.ndim != 2 or right.ndim != 2:
            raise RuntimeError(
                "multi_dot(): the first and last tensors must be 1D or 2D, and the others 2D, but got tensors of "
                f"{', '.join(f'{m.ndim}D' for m in tensors)}"
            )
        if left.shape[1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(left.shape)} and {list(right.shape)} cannot be multiplied"
            )
    return View.apply(_product(matrices), size=kept)


def _product(matrices):
    """Their product, in the order that takes the fewest multiplications: the best split of each stretch, the short ones first."""
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i + 1): (0, 0) for i in range(len(matrices))}
    for length in range(2, len(matrices) + 1):
        for i in range(len(matrices) - length + 1):
            j = i + length
            cost[i, j] = builtins.min(
                (cost[i, k][0] + cost[k, j][0] + sizes[i] * sizes[k] * sizes[j], k) for k in range(i + 1, j)
            )

    def of(i, j):
        return matrices[i] if j == i + 1 else matmul(of(i, cost[i, j][1]), of(cost[i, j][1], j))

    return of(0, len(matrices))


@public(where=_LINALG, method=False)
def cross(input, other, *, dim=-1) -> Tensor:
    """The cross product of 3-d vectors along `dim`.

    >>> import tinygrad_edu as T
    >>> T.linalg.cross(T.tensor([1.0, 0.0, 0.0]), T.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    return LinalgCross.apply(input, other, dim=dim)


@public()
def _cross(input, other, dim=None) -> Tensor:
    """The cross product of 3-d vectors along `dim`, by default the first dimension of size 3.

    >>> import tinygrad_edu as T
    >>> T.cross(T.tensor([1.0, 0.0, 0.0]), T.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return cross(input, other, dim=dim)


@public(number_first=True)
def float_power(input, exponent) -> Tensor:
    """input ** exponent, computed in float64.

    >>> import tinygrad_edu as T
    >>> T.float_power(T.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=tinygrad_edu.float64)
    """
    return pow(*(x.to(dtypes.float64) if isinstance(x, Tensor) else x for x in (input, exponent)))


@public()
def positive(input) -> Tensor:
    """The tensor itself.

    >>> import tinygrad_edu as T
    >>> T.positive(T.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """
    return input


class Deg2Rad(Op):
    makes_float = True

    def forward(self):
        return self * self.dtype.type(np.pi / 180)

    def grad_self(grad):
        return grad * (np.pi / 180)

    jvp = linear


class Rad2Deg(Op):
    makes_float = True

    def forward(self):
        return self * self.dtype.type(180 / np.pi)

    def grad_self(grad):
        return grad * (180 / np.pi)

    jvp = linear


@public(inplace=Deg2Rad)
def deg2rad(input) -> Tensor:
    """Convert degrees to radians.

    >>> import tinygrad_edu as T
    >>> T.deg2rad(T.tensor([0.0, 180.0]))
    tensor([0.0000, 3.1416])
    """
    return Deg2Rad.apply(input)


@public(inplace=Rad2Deg)
def rad2deg(input) -> Tensor:
    """Convert radians to degrees.

    >>> import tinygrad_edu as T
    >>> T.rad2deg(T.tensor([0.0, 3.141592653589793]))
    tensor([  0., 180.])
    """
    return Rad2Deg.apply(input)


@public()
def logdet(input) -> Tensor:
    """The logarithm of the determinant; nan if the determinant is negative.

    >>> import tinygrad_edu as T
    >>> T.logdet(T.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(0.6931)
    """
    sign, size = slogdet(input)
    return where(sign == -1, float("nan"), size)


class LinalgCross(Op):
    """The vector at right angles to two others, along a dimension of size 3."""

    def forward(self, other, *, dim):
        after, last = (1, 2, 0), (2, 0, 1)
        return self.take(after, dim) * other.take(last, dim) - self.take(last, dim) * other.take(after, dim)

    # A triple product keeps its value when its factors take turns.
    def grad_self(grad, other, dim):
        return LinalgCross.apply(other, grad, dim=dim)

    def grad_other(grad, self, dim):
        return LinalgCross.apply(grad, self, dim=dim)

    def jvp(tangent, other_tangent, self, other, dim):
        return LinalgCross.apply(tangent, other, dim=dim) + LinalgCross.apply(self, other_tangent, dim=dim)


class Baddbmm(_AddProduct):
    def forward(self, batch1, batch2, *, beta=1, alpha=1):
        return _AddProduct.forward(self, batch1, batch2, beta=beta, alpha=alpha)

    def grad_batch1(grad, batch2, alpha):
        return grad @ transpose(batch2, -2, -1) * alpha

    def grad_batch2(grad, batch1, alpha):
        return transpose(batch1, -2, -1) @ grad * alpha

    def jvp(tangent, tangent1, tangent2, batch1, batch2, beta, alpha):
        return tangent * beta + (tangent1 @ batch2 + batch1 @ tangent2) * alpha


class Addmv(_AddProduct):
    def forward(self, mat, vec, *, beta=1, alpha=1):
        return _AddProduct.forward(self, mat, vec, beta=beta, alpha=alpha)

    def grad_mat(grad, vec, alpha):
        return reshape(grad, (-1, 1)) * reshape(vec, (1, -1)) * alpha

    def grad_vec(grad, mat, alpha):
        return transpose(mat, 0, 1) @ grad * alpha

    def jvp(tangent, tangent1, tangent2, mat, vec, beta, alpha):
        return tangent * beta + (tangent1 @ vec + mat @ tangent2) * alpha


def _check_addmv(input, mat, vec):
    if _array(mat).ndim != 2 or _array(vec).ndim != 1 or _array(input).ndim > 1:
        dims = ", ".join(str(_array(x).ndim) for x in (input, mat, vec))
        raise RuntimeError(f"vector + matrix @ vector expected, got {dims}")
    n, m = _array(mat).shape
    if _array(vec).shape[0] != m or _array(input).size not in (1, n):
        raise RuntimeError(
            f"size mismatch, got input ({_array(input).size}), mat ({n}x{m}), vec ({_array(vec).shape[0]})"
        )
    _same_dtype(mat, vec)


def _addmv_(self, mat, vec, *, beta=1, alpha=1):
    _check_addmv(self, mat, vec)
    _check_in_place(self, (mat.shape[0],))
    return Addmv.apply_(self, mat, vec, beta=beta, alpha=alpha)


@public(inplace=_addmv_)
def addmv(input, mat, vec, *, beta=1, alpha=1) -> Tensor:
    """beta * input + alpha * (mat @ vec).

    >>> import tinygrad_edu as T
    >>> T.addmv(T.ones(2), T.eye(2), T.tensor([3.0, 4.0]))
    tensor([4., 5.])
    """
    _check_addmv(input, mat, vec)
    return Addmv.apply(input, mat, vec, beta=beta, alpha=alpha)


def _baddbmm_(self, batch1, batch2, *, beta=1, alpha=1):
    _check_batches(_array(batch1), _array(batch2))
    _check_in_place(self, (*batch1.shape[:2], batch2.shape[2]))
    return Baddbmm.apply_(self, batch1, batch2, beta=beta, alpha=alpha)


@public(inplace=_baddbmm_)
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).

    >>> import tinygrad_edu as T
    >>> T.baddbmm(T.zeros(1), T.ones(2, 1, 3), T.ones(2, 3, 1)).shape
    tinygrad_edu.Size([2, 1, 1])
    """
    _check_batches(_array(batch1), _array(batch2))
    return Baddbmm.apply(input, batch1, batch2, beta=beta, alpha=alpha)
