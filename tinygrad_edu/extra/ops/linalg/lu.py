"""The LU decomposition A = P·L·U: a row permutation, a unit lower triangular and an upper triangular matrix."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ....array.return_types import named
from ....array.tensor import Tensor, wrap
from ....ops.binding import linalg_functions, public
from ....ops.linalg.matmul import matmul
from ....ops.op import Op
from ....ops.shapes.joining import cat
from ....ops.shapes.permute import transpose
from ..diagonal import tril, triu
from .triangular import solve_triangular

_LINALG = (linalg_functions,)


def _t(value):
    return transpose(value, -2, -1)


def _eliminate(A):
    """Three results: L and U in one array; the row exchanged at each step (counted from 1, as in LAPACK); and for each matrix
    the number of the first 0 on the diagonal of U, or 0 if there is none."""
    out = A.copy()
    *batch, m, n = out.shape
    k = min(m, n)
    flat = out.reshape(math.prod(batch), m, n)
    each = np.arange(len(flat))
    pivots = np.empty((len(flat), k), np.int32)
    info = np.zeros(len(flat), np.int32)
    for i in range(k):
        chosen = i + np.abs(flat[:, i:, i]).argmax(-1)
        pivots[:, i] = chosen + 1
        rows = flat[:, i].copy()
        flat[:, i] = flat[each, chosen]
        flat[each, chosen] = rows
        head = flat[:, i, i]
        info[(info == 0) & (head == 0)] = i + 1
        below = flat[:, i + 1 :, i]
        np.divide(below, head[:, None], out=below, where=head[:, None] != 0)
        flat[:, i + 1 :, i + 1 :] -= below[:, :, None] * flat[:, i, None, i + 1 :]
    return out, pivots.reshape(*batch, k), info.reshape(batch)


def _permutation(pivots, m, kind):
    """The permutation matrix P with A = P·L·U."""
    *batch, k = pivots.shape
    flat = pivots.reshape(math.prod(batch), k)
    each = np.arange(len(flat))
    order = np.tile(np.arange(m), (len(flat), 1))
    for i in range(k):
        other = flat[:, i] - 1
        rows = order[:, i].copy()
        order[:, i] = order[each, other]
        order[each, other] = rows
    return (np.arange(m)[None, :, None] == order[:, None, :]).astype(kind).reshape(*batch, m, m)


def _lower(LU):
    """L, with ones on its diagonal and as many columns as U has rows."""
    *_, m, n = LU.shape
    k = min(m, n)
    return tril(LU[..., :, :k], -1) + np.eye(m, k, dtype=getattr(LU, "_data", LU).dtype)


def _upper(LU):
    *_, m, n = LU.shape
    return triu(LU[..., : min(m, n), :])


def _gradient(P, L, U, to_l, to_u):
    """For square matrices P·L⁻ᵀ·(tril(Lᵀ·gL, -1) + triu(gU·Uᵀ))·U⁻ᵀ. What lies outside the square follows from the factors."""
    m, k = L.shape[-2:]
    n = U.shape[-1]
    one, two = L[..., :k, :], U[..., :, :k]
    to_one = None if to_l is None else to_l[..., :k, :]
    to_two = None if to_u is None else to_u[..., :, :k]
    rest = None
    if m > k and to_l is not None:
        rest = solve_triangular(_t(two), to_l[..., k:, :], upper=False, left=False)
        less = -(_t(L[..., k:, :]) @ rest)
        to_two = less if to_two is None else to_two + less
    if n > k and to_u is not None:
        rest = solve_triangular(_t(one), to_u[..., :, k:], upper=True, unitriangular=True)
        less = -(rest @ _t(U[..., :, k:]))
        to_one = less if to_one is None else to_one + less
    inner = 0.0
    if to_one is not None:
        inner = tril(_t(one) @ to_one, -1)
    if to_two is not None:
        inner = inner + triu(to_two @ _t(two))
    inner = solve_triangular(_t(two), inner, upper=False, left=False)
    out = solve_triangular(_t(one), inner, upper=True, unitriangular=True)
    if m > k:
        out = cat([out, rest if rest is not None else (L[..., k:, :] @ out) * 0], -2)
    if n > k:
        out = cat([out, rest if rest is not None else (out @ U[..., :, k:]) * 0], -1)
    return P @ out


class LinalgLuFactorEx(Op):
    """L and U in one matrix, the row exchanges, and the first 0 on the diagonal of U."""

    results = ("LU", "pivots", "info")
    non_differentiable = (1, 2)

    def forward(A):
        return _eliminate(A)

    def gradients(grad, needs_input_grad, LU, pivots):
        m, n = LU.shape[-2:]
        k = min(m, n)
        plain = getattr(pivots, "_data", pivots)
        P = _permutation(plain, m, getattr(LU, "_data", LU).dtype)
        to_l, to_u = tril(grad[0][..., :, :k], -1), triu(grad[0][..., :k, :])
        return [_gradient(P if LU is getattr(LU, "_data", LU) else wrap(P), _lower(LU), _upper(LU), to_l, to_u)]


class LinalgLu(Op):
    # P comes last, because PyTorch numbers only the outputs that have a gradient.
    results = ("L", "U", "P")
    non_differentiable = (2,)

    def forward(A):
        LU, pivots, _ = _eliminate(A)
        return _lower(LU), _upper(LU), _permutation(pivots, A.shape[-2], A.dtype)

    def gradients(grad, needs_input_grad, L, U, P):
        return [_gradient(P, L, U, grad[0], grad[1])]


class LuUnpack(Op):
    results = ("L", "U", "P")
    non_differentiable = (2,)
    without_gradient = ("LU_pivots",)

    def forward(LU_data, *, LU_pivots):
        return _lower(LU_data), _upper(LU_data), _permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype)

    def gradients(grad, needs_input_grad, LU_data_sym_sizes):
        *_, m, n = LU_data_sym_sizes
        to_l = None if grad[0] is None else tril(grad[0], -1)
        to_u = None if grad[1] is None else triu(grad[1])
        # The part outside the smaller square.
        if m > n and to_u is not None:
            to_u = _with_zeros(to_u, -2, m - n)
        if n > m and to_l is not None:
            to_l = _with_zeros(to_l, -1, n - m)
        return [to_u if to_l is None else to_l if to_u is None else to_l + to_u]


def _with_zeros(value, dim, count):
    shape = list(value.shape)
    shape[dim] = count
    zeros = np.zeros(shape, getattr(value, "_data", value).dtype)
    return cat([value, zeros if isinstance(value, np.ndarray) else wrap(zeros)], dim)


# --- functions -------------------------------------------------------------------------------------------------------

_Lu, _LuUnpack = named("linalg_lu", "P", "L", "U"), named("lu_unpack", "P", "L", "U")
_LuFactor = named("linalg_lu_factor", "LU", "pivots")
_LuFactorEx = named("linalg_lu_factor_ex", "LU", "pivots", "info")
_LuWithInfo = named("_lu_with_info", "LU", "pivots", "info")


def _checked(name, A, pivot):
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@public(where=_LINALG, method=False)
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """The decomposition A = P·L·U: P permutes rows, L is lower triangular with ones on its diagonal, U is upper triangular.

    >>> import tinygrad_edu as T
    >>> P, L, U = T.linalg.lu(T.tensor([[2.0, 4.0], [1.0, 3.0]]))
    >>> L, U
    (tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]]), tensor([[2., 4.],
            [0., 1.]]))
    """
    _checked("linalg.lu", A, pivot)
    L, U, P = LinalgLu.apply(A)
    return _Lu((P, L, U))


@public(where=_LINALG, method=False)
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """L and U in one matrix, the row exchanges, and the number of the first 0 on the diagonal of U (0 if there is none).

    >>> import tinygrad_edu as T
    >>> LU, pivots, info = T.linalg.lu_factor_ex(T.tensor([[2.0, 1.0], [4.0, 3.0]]))
    >>> LU, pivots, info
    (tensor([[ 4.0000,  3.0000],
            [ 0.5000, -0.5000]]), tensor([2, 2], dtype=tinygrad_edu.int32), tensor(0, dtype=tinygrad_edu.int32))
    """
    _checked("torch.linalg.lu_factor", A, pivot)
    LU, pivots, info = LinalgLuFactorEx.apply(A)
    if check_errors and info._data.any():
        _refuse_zero(info._data)
    return _LuFactorEx((LU, pivots, info))


@public(where=_LINALG, method=False)
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the row exchanges, for use in `lu_solve`.

    >>> import tinygrad_edu as T
    >>> A = T.tensor([[2.0, 4.0], [1.0, 3.0]])
    >>> LU, pivots = T.linalg.lu_factor(A)
    >>> T.linalg.lu_solve(LU, pivots, T.tensor([[2.0], [1.0]]))
    tensor([[1.],
            [0.]])
    """
    return _LuFactor(lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


def _refuse_zero(info):
    first = int(np.flatnonzero(info)[0])
    which = f"(Batch element {first}): " if info.ndim else ""
    at = int(info.reshape(-1)[first])
    raise RuntimeError(
        f"torch.linalg.lu_factor: {which}U[{at},{at}] is zero and using it on lu_solve would result in a division by zero. If "
        "you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


@public(where=_LINALG, method=False)
def _lu_solve(LU, pivots, B, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The X of A·X = B (X·A = B with `left=False`, Aᵀ in place of A with `adjoint`), from the result of `lu_factor`.

    >>> import tinygrad_edu as T
    >>> LU, pivots = T.linalg.lu_factor(T.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> T.linalg.lu_solve(LU, pivots, T.tensor([[2.0], [8.0]]))
    tensor([[1.],
            [2.]])
    """
    if LU.ndim < 2 or LU.shape[-1] != LU.shape[-2]:
        shown = " by ".join(map(str, LU.shape[-2:]))
        raise RuntimeError(
            f"torch.linalg.lu_solve: A must be batches of square matrices, but they are {shown} matrices"
        )
    if not left:
        return _t(_lu_solve(LU, pivots, _t(B), adjoint=not adjoint))
    L, U, P = LuUnpack.apply(LU, LU_pivots=pivots)
    if adjoint:
        inner = solve_triangular(_t(U), B, upper=False)
        return matmul(P, solve_triangular(_t(L), inner, upper=True, unitriangular=True))
    return solve_triangular(U, solve_triangular(L, matmul(_t(P), B), upper=False, unitriangular=True), upper=True)


@public()
def lu_solve(b, LU_data, LU_pivots) -> Tensor:
    """The older form of `linalg.lu_solve`.

    >>> import tinygrad_edu as T
    >>> LU, pivots = T.linalg.lu_factor(T.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> T.lu_solve(T.tensor([[2.0], [8.0]]), LU, pivots)
    tensor([[1.],
            [2.]])
    """
    warnings.warn(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\n"
        "should be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)",
        UserWarning,
        stacklevel=3,
    )
    return _lu_solve(LU_data, LU_pivots, b)


@public(method=False)
def lu_unpack(LU_data, LU_pivots, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U from the result of `lu_factor`. What is not asked for is returned empty.

    >>> import tinygrad_edu as T
    >>> A = T.tensor([[2.0, 1.0], [4.0, 3.0]])
    >>> P, L, U = T.lu_unpack(*T.linalg.lu_factor(A))
    >>> T.equal(P @ L @ U, A)
    True
    """
    L, U, P = LuUnpack.apply(LU_data, LU_pivots=LU_pivots)
    none = wrap(np.zeros(0, LU_data._data.dtype))
    return _LuUnpack((P if unpack_pivots else none, L if unpack_data else none, U if unpack_data else none))


@public()
def _lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out=None) -> Any:
    """The older form of `linalg.lu_factor`.

    >>> import tinygrad_edu as T
    >>> LU, pivots = T.lu(T.tensor([[2.0, 1.0], [4.0, 3.0]]))
    >>> LU
    tensor([[ 4.0000,  3.0000],
            [ 0.5000, -0.5000]])
    """
    warnings.warn(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future "
        "PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
        UserWarning,
        stacklevel=3,
    )
    found = lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    return _LuWithInfo(found) if get_infos else tuple(found[:2])
