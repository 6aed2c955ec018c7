"""Determinants, inverses, linear systems, Cholesky factors and matrix norms, in batches. Part of `tinygrad_edu.linalg`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....array import dtypes
from ....array.return_types import named
from ....array.tensor import Tensor
from ....ops.binding import functions, linalg_functions, public
from ....ops.indexing.masking import where
from ....ops.linalg.matmul import matmul
from ....ops.op import Op
from ....ops.reductions.extremes import amax, amin
from ....ops.reductions.norms import VectorNorm, vector_norm
from ....ops.reductions.reduce import sum
from ....ops.shapes.permute import transpose
from ....ops.shapes.shape import squeeze, unsqueeze
from ..arrangement import movedim
from ..diagonal import tril
from .triangular import solve_triangular

_LINALG, _BOTH = (linalg_functions,), (linalg_functions, functions)


def _t(value):
    return transpose(value, -2, -1)


class LinalgInvEx(Op):
    results = ("inverse",)

    def forward(A):
        return _or_singular("inv", np.linalg.inv, A)

    # dA⁻¹ = -A⁻¹·dA·A⁻¹
    def grad_A(grad, inverse):
        return -(_t(inverse) @ grad @ _t(inverse))

    def jvp(tangent, inverse):
        return -(inverse @ tangent @ inverse)


class LinalgDet(Op):
    def forward(A):
        return np.linalg.det(A)

    # d det A = det A · tr(A⁻¹·dA); by cofactors, which also exist for singular matrices
    def grad_A(grad, A):
        return unsqueeze(unsqueeze(grad, -1), -1) * _cofactors(A)

    def jvp(tangent, A):
        return sum(tangent * _cofactors(A), (-2, -1))


def _cofactors(A):
    """det A · A⁻ᵀ. It is recorded if A is."""
    plain = getattr(A, "_data", A)
    if np.any(_nearly_singular(plain)):
        if A is not plain:
            raise NotImplementedError("the second gradient of det at a singular matrix is not built.")
        # By A = U·diag(S)·Vh, which every matrix has: for each singular value, the product of all others.
        U, S, Vh = np.linalg.svd(A)
        others = np.where(np.eye(S.shape[-1], dtype=bool), 1, S[..., None, :]).prod(-1)
        turn = np.linalg.det(U) * np.linalg.det(Vh)
        return (turn[..., None, None] * (U * others[..., None, :]) @ Vh).astype(A.dtype)
    return unsqueeze(unsqueeze(LinalgDet.apply(A), -1), -1) * _t(LinalgInvEx.apply(A))


def _nearly_singular(A):
    """Whether the determinant of each matrix is 0 but for rounding: which bits are left of it depends on the processor."""
    largest = np.linalg.norm(A, axis=-1).prod(-1)  # what it is at most, by Hadamard's inequality
    return np.abs(np.linalg.det(A)) <= A.shape[-1] * np.finfo(A.dtype).eps * largest


class LinalgSlogdet(Op):
    """The sign of the determinant, and the logarithm of its absolute value."""

    def forward(A):
        sign, size = np.linalg.slogdet(A)
        if A.dtype.kind == "f":
            sign = np.where(np.isnan(size), A.dtype.type(0), sign)  # LAPACK's sign of a nan is that of a pivot
        return np.asarray(sign), np.asarray(size)

    # d ln|det A| = tr(A⁻¹·dA)
    def grad_A(grad, A):
        if grad[1] is None:
            return None  # the sign is constant
        return unsqueeze(unsqueeze(grad[1], -1), -1) * _t(LinalgInvEx.apply(A))

    def jvp(tangent, A):
        return None, sum(tangent * _t(LinalgInvEx.apply(A)), (-2, -1))


class LinalgSolveEx(Op):
    """The X with A·X = B, or with X·A = B."""

    def forward(A, B, *, left):
        if left:
            return _or_singular("solve", np.linalg.solve, A, B)
        return _or_singular("solve", np.linalg.solve, A.swapaxes(-2, -1), B.swapaxes(-2, -1)).swapaxes(-2, -1)

    # dB = A⁻ᵀ·dX,  dA = -dB·Xᵀ
    def grad_A(grad, A, result, left):
        to_b = LinalgSolveEx.apply(_t(A), grad, left=left)
        return -(to_b @ _t(result)) if left else -(_t(result) @ to_b)

    def grad_B(grad, A, left):
        return LinalgSolveEx.apply(_t(A), grad, left=left)

    def jvp(A_tangent, B_tangent, A, result, left):
        moved = A_tangent @ result if left else result @ A_tangent
        return LinalgSolveEx.apply(A, B_tangent - moved, left=left)


class LinalgCholeskyEx(Op):
    """The lower triangular L with A = L·Lᵀ, for a positive definite A."""

    results = ("L",)

    def forward(A, *, upper):
        try:
            return np.linalg.cholesky(A, upper=upper)
        except np.linalg.LinAlgError:
            raise LinAlgError(
                "linalg.cholesky: The factorization could not be completed because the input is not positive-definite."
            ) from None

    # Φ takes the lower triangle and halves its diagonal: dA = sym(L⁻ᵀ·Φ(Lᵀ·dL)·L⁻¹)
    def grad_A(grad, L, upper):
        grad, L = (_t(grad), _t(L)) if upper else (grad, L)
        inner = _half_lower(_t(L) @ tril(grad))
        inner = (inner + _t(inner)) * 0.5
        return solve_triangular(L, solve_triangular(_t(L), inner, upper=True), upper=False, left=False)

    def jvp(tangent, L, upper):
        L = _t(L) if upper else L
        inner = solve_triangular(_t(L), solve_triangular(L, tangent, upper=False), upper=True, left=False)
        moved = L @ _half_lower(inner)
        return _t(moved) if upper else moved


def _half_lower(value):
    n = value.shape[-1]
    mask = np.tri(n, dtype=getattr(value, "_data", value).dtype) - 0.5 * np.eye(n)
    return value * mask.astype(getattr(value, "_data", value).dtype)


def _or_singular(name, compute, *arrays):
    try:
        return compute(*arrays)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            f"linalg.{name}: The diagonal element is zero, the {'inversion' if name == 'inv' else 'solve'} could not be "
            "completed because the input matrix is singular."
        ) from None


class LinAlgError(RuntimeError):
    """PyTorch's `torch.linalg.LinAlgError`: a matrix was singular, for example.

    >>> import tinygrad_edu as T
    >>> try:
    ...     T.linalg.cholesky(-T.eye(2))
    ... except T.linalg.LinAlgError as error:
    ...     print(type(error).__name__)
    LinAlgError
    """


linalg_functions["LinAlgError"] = LinAlgError


# --- functions -------------------------------------------------------------------------------------------------------


_Slogdet = named("linalg_slogdet", "sign", "logabsdet")


def _square(name, A):
    if A.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if A._data.dtype.kind != "f":
        kind = dtypes.from_numpy_dtype(A._data.dtype).legacy_name
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {kind}")


@public("inverse", where=_LINALG)
def inv(A: Tensor) -> Any:
    """The inverse of a square matrix, or of each matrix in a batch.

    >>> import tinygrad_edu as T
    >>> T.linalg.inv(T.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    _square("inv", A)
    return LinalgInvEx.apply(A)


functions["inverse"] = linalg_functions["inverse"]


@public(where=_BOTH)
def det(A: Tensor) -> Tensor:
    """The determinant of a square matrix, or of each matrix in a batch.

    >>> import tinygrad_edu as T
    >>> T.det(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    _square("det", A)
    return LinalgDet.apply(A)


@public(where=_BOTH)
def slogdet(A: Tensor) -> Any:
    """The sign of the determinant and the logarithm of its absolute value.

    >>> import tinygrad_edu as T
    >>> T.slogdet(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tinygrad_edu.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.6931))
    """
    _square("slogdet", A)
    return _Slogdet(LinalgSlogdet.apply(A))


@public(where=_LINALG, method=False)
def solve(A: Tensor, B, *, left: bool = True) -> Any:
    """The X with A·X = B, or with `left=False`, X·A = B. B is a vector or a matrix.

    >>> import tinygrad_edu as T
    >>> T.linalg.solve(T.tensor([[2.0, 0.0], [0.0, 4.0]]), T.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    _square("solve", A)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    if not vector and B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    if vector:
        return squeeze(LinalgSolveEx.apply(A, unsqueeze(B, -1), left=left), -1)
    return LinalgSolveEx.apply(A, B, left=left)


@public(where=_BOTH)
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L·Lᵀ (or its transpose with `upper`), for a symmetric positive definite A.

    >>> import tinygrad_edu as T
    >>> T.linalg.cholesky(T.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    _square("cholesky", A)
    return LinalgCholeskyEx.apply(A, upper=upper)


@public(where=_LINALG, method=False)
def _vector_norm(x, ord=2, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """(Σ|x|^ord)^(1/ord), over all elements or along `dim`.

    >>> import tinygrad_edu as T
    >>> T.linalg.vector_norm(T.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return vector_norm(x if dtype is None else x.to(dtype), ord, dim, keepdim)


@public(where=_LINALG, method=False)
def matrix_norm(A: Tensor, ord="fro", dim=(-2, -1), keepdim: bool = False, *, dtype=None) -> Any:
    """A norm of matrices. "fro": the root of the sum of squares; 1 and inf: the largest column or row sum of absolute values;
    2 and "nuc": the largest singular value, and the sum of all. A negative `ord` takes the smallest instead of the largest.

    >>> import tinygrad_edu as T
    >>> T.linalg.matrix_norm(T.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if dtype is not None:
        A = A.to(dtype)
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if ord == "fro":
        return vector_norm(A, 2, dim, keepdim)
    rows, columns = (d % A.ndim for d in dim)
    if ord in (2, -2, "nuc"):
        values = linalg_functions["svdvals"](movedim(A, (rows, columns), (-2, -1)))
        out = values.sum(-1) if ord == "nuc" else _extreme(values, ord, -1)
        return unsqueeze(unsqueeze(out, min(rows, columns)), max(rows, columns)) if keepdim else out
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1, summed, True)
    extreme = _extreme(sums, ord, chosen, True)
    return extreme if keepdim else squeeze(extreme, (rows, columns))


def _extreme(values, ord, dim, keepdim=False):
    """The largest value, 0 of none; the smallest for a negative `ord`."""
    if ord > 0 and not values.shape[dim]:
        return values.detach().sum(dim, keepdim)
    return (amax if ord > 0 else amin)(values, dim, keepdim)


@public(where=_LINALG, method=False)
def _norm(A: Tensor, ord=None, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The norm of a vector, or of a matrix if `ord` is given for two dimensions.

    >>> import tinygrad_edu as T
    >>> T.linalg.norm(T.tensor([3.0, 4.0]))
    tensor(5.)
    """
    matrix = (isinstance(dim, tuple | list) and len(dim) == 2) or (dim is None and ord is not None and A.ndim == 2)
    if ord is not None and matrix:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A if dtype is None else A.to(dtype), 2 if ord is None else ord, dim, keepdim)


@public(where=_BOTH)
def matrix_power(A, n) -> Any:
    """A·A·…·A, `n` times. For a negative `n`, the power of the inverse.

    >>> import tinygrad_edu as T
    >>> T.matrix_power(T.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    _square("matrix_power", A)
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        return where(np.eye(A.shape[-1], dtype=bool), 1.0, A * 0)
    if n == 3:
        return matmul(matmul(A, A), A)
    out, square = None, A
    while n:
        if n & 1:
            out = square if out is None else matmul(out, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return out


class Norm(Op, name="NormBackward1"):
    """The same along dimensions, under its older name."""

    def forward(self, *, p, dim, keepdim):
        return VectorNorm.forward(self, ord=p, dim=dim, keepdim=keepdim)

    def grad_self(grad, self, result, p, dim, keepdim):
        return VectorNorm.grad_self(grad, self, result, p, dim, keepdim)

    def jvp(tangent, self, result, p, dim, keepdim):
        return VectorNorm.jvp(tangent, self, result, p, dim, keepdim)
