"""Determinants, inverses, systems of equations and norms of matrices, in batches: `tinygrad_edu.linalg`."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..binding import functions, linalg_functions, method, public
from ..op import Op
from ..reductions.norms import vector_norm
from ..shapes.permute import transpose
from ..shapes.shape import squeeze, unsqueeze

_LINALG, _BOTH = (linalg_functions,), (linalg_functions, functions)


class LinAlgError(RuntimeError):
    """PyTorch's `torch.linalg.LinAlgError`: a matrix was singular, for example."""


linalg_functions["LinAlgError"] = LinAlgError


def _t(value):
    return transpose(value, -2, -1)


def _as_matrix(value):
    return unsqueeze(unsqueeze(value, -1), -1)


def _computed(name, compute, *arrays):
    with contextlib.suppress(np.linalg.LinAlgError):
        found = compute(*arrays)
        # In a browser NumPy does not raise: it fills such a matrix with nan.
        is_lost = found.size and np.isnan(found).all((-2, -1)).any() and all(np.isfinite(each).all() for each in arrays)
        if not is_lost:
            return found
    raise LinAlgError(f"linalg.{name}: The factorization could not be completed because the input matrix is singular.")


class LinalgInvEx(Op):
    results = ("inverse",)

    def forward(A):
        return _computed("inv", np.linalg.inv, A)

    # dA⁻¹ = -A⁻¹·dA·A⁻¹
    def grad_A(grad, inverse):
        return -(_t(inverse) @ grad @ _t(inverse))


class LinalgDet(Op):
    def forward(A):
        return np.linalg.det(A)

    # d det A = det A · tr(A⁻¹·dA); by cofactors, which also exist for singular matrices
    def grad_A(grad, A):
        return _as_matrix(grad) * _cofactors(A)


def _cofactors(A):
    """det A · A⁻ᵀ. It is recorded if A is."""
    plain = getattr(A, "_data", A)
    # Its determinant is 0 but for rounding, next to what it is at most by Hadamard's inequality.
    largest = np.linalg.norm(plain, axis=-1).prod(-1)
    if not np.any(np.abs(np.linalg.det(plain)) <= A.shape[-1] * np.finfo(plain.dtype).eps * largest):
        return _as_matrix(LinalgDet.apply(A)) * _t(LinalgInvEx.apply(A))
    if A is not plain:
        raise NotImplementedError("the second gradient of det at a singular matrix is not built.")
    # By A = U·diag(S)·Vh, which every matrix has: for each singular value, the product of all others.
    U, S, Vh = np.linalg.svd(A)
    others = np.where(np.eye(S.shape[-1], dtype=bool), 1, S[..., None, :]).prod(-1)
    turn = np.linalg.det(U) * np.linalg.det(Vh)
    return (turn[..., None, None] * (U * others[..., None, :]) @ Vh).astype(A.dtype)


class LinalgSolveEx(Op):
    """The X with A·X = B, or with X·A = B."""

    def forward(A, B, *, left):
        if left:
            return _computed("solve", np.linalg.solve, A, B)
        return LinalgSolveEx.forward(A.swapaxes(-2, -1), B.swapaxes(-2, -1), left=True).swapaxes(-2, -1)

    # dB = A⁻ᵀ·dX,  dA = -dB·Xᵀ
    def grad_A(grad, A, result, left):
        to_b = LinalgSolveEx.apply(_t(A), grad, left=left)
        return -(to_b @ _t(result)) if left else -(_t(result) @ to_b)

    def grad_B(grad, A, left):
        return LinalgSolveEx.apply(_t(A), grad, left=left)


# --- functions -------------------------------------------------------------------------------------------------------


def _square(name, A):
    if A.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        sizes = f"{A.shape[-2]} by {A.shape[-1]}"
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, but they are {sizes} matrices")
    if A.value.dtype.kind != "f":
        kind = A.dtype.legacy_name
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got {kind}: use t.float()."
        )


@public("inverse", where=_LINALG)
def inv(A: Tensor) -> Any:
    """The inverse of a square matrix, or of each matrix in a batch.

    >>> T.linalg.inv(T.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    _square("inv", A)
    return LinalgInvEx.apply(A)


functions["inverse"] = linalg_functions.pop("inverse")


@public(where=_BOTH)
def det(A: Tensor) -> Tensor:
    """The determinant of a square matrix, or of each matrix in a batch.

    >>> T.det(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    _square("det", A)
    return LinalgDet.apply(A)


@public(where=_LINALG)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Any:
    """The X with A·X = B, or with `left=False`, X·A = B. B is a vector or a matrix.

    >>> T.linalg.solve(T.tensor([[2.0, 0.0], [0.0, 4.0]]), T.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    _square("solve", A)
    if B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1])):
        return squeeze(solve(A, unsqueeze(B, -1), left=left), -1)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        told = f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
        raise RuntimeError(f"{told} ({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")
    return LinalgSolveEx.apply(A, B, left=left)


@public(where=_LINALG)
def _vector_norm(x, ord=2, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """(Σ|x|^ord)^(1/ord), over all elements or along `dim`."""
    return vector_norm(x if dtype is None else x.to(dtype), ord, dim, keepdim)


@public(where=_LINALG)
def _norm(A: Tensor, ord=None, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The norm of a vector, or of a matrix if `ord` is given for two dimensions.

    >>> T.linalg.norm(T.tensor([3.0, 4.0]))
    tensor(5.)
    """
    is_matrix = (isinstance(dim, tuple | list) and len(dim) == 2) or (dim is None and A.ndim == 2)
    if is_matrix and ord not in (None, "fro"):
        raise NotImplementedError(
            f"linalg.norm: order {ord!r} of a matrix is not built: 'fro' is, and vector_norm has all."
        )
    return _vector_norm(A, 2 if ord in (None, "fro") else ord, dim, keepdim, dtype=dtype)


class DecompositionMethods:
    """The methods of Tensor that are defined here."""

    inverse = method(inv)
    det = method(det)
