"""Matrix factorizations and the problems they solve, in batches: `svd`, `qr`, `eigh`, `lstsq`, `pinv` and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....array.return_types import named
from ....array.tensor import Tensor, wrap
from ....ops.binding import functions, linalg_functions, public
from ....ops.creation.factories import eye
from ....ops.indexing.masking import where
from ....ops.linalg.matmul import matmul
from ....ops.op import Op
from ....ops.reductions.norms import vector_norm
from ....ops.reductions.reduce import sum
from ....ops.shapes.joining import cat
from ....ops.shapes.permute import permute, transpose
from ....ops.shapes.shape import reshape, squeeze, unsqueeze
from ..diagonal import diagonal, tril
from .decomposition import _square, inv, solve
from .triangular import solve_triangular

_LINALG, _BOTH = (linalg_functions,), (linalg_functions, functions)


def _t(value):
    return transpose(value, -2, -1)


def _symmetric(value):
    return (value + _t(value)) * 0.5


def _on_diagonal(value):
    """Matrices with the given vectors as their diagonals."""
    return unsqueeze(value, -1) * np.eye(value.shape[-1], dtype=getattr(value, "_data", value).dtype)


def _differences(values):
    """1/(vⱼ - vᵢ), 0 on the diagonal."""
    gap = unsqueeze(values, -2) - unsqueeze(values, -1)
    same = np.eye(values.shape[-1], dtype=bool)
    return where(same, 0.0, 1 / where(same, 1.0, gap))


class LinalgEigh(Op):
    """Eigenvalues in ascending order, and eigenvectors, of symmetric matrices: A = V·diag(L)·Vᵀ."""

    results = ("eigenvalues", "eigenvectors")

    def forward(A, *, lower):
        found = np.linalg.eigh(A, "L" if lower else "U")
        return found.eigenvalues.astype(A.dtype), found.eigenvectors.astype(A.dtype)

    # V·(diag gL + (Vᵀ·gV)∘F)·Vᵀ with Fᵢⱼ = 1/(Lⱼ - Lᵢ)
    def gradients(grad, needs_input_grad, eigenvalues, eigenvectors):
        values, vectors = eigenvalues, eigenvectors
        inner = 0.0
        if grad[1] is not None:
            inner = _differences(values) * (_t(vectors) @ grad[1])
        if grad[0] is not None:
            inner = inner + _on_diagonal(grad[0])
        return [_symmetric(vectors @ inner @ _t(vectors))]


class LinalgSvd(Op):
    """A = U·diag(S)·Vh with S ≥ 0 in descending order. U and Vh are reduced to min(m, n) columns and rows, or full."""

    results = ("U", "S", "Vh")

    def forward(A, *, full_matrices):
        found = np.linalg.svd(A, full_matrices=full_matrices)
        return tuple(part.astype(A.dtype) for part in found)

    # Townsend, "Differentiating the singular value decomposition" (2016)
    def gradients(grad, needs_input_grad, U, S, Vh):
        g_u, g_s, g_vh = grad
        # The remaining columns of U or rows of Vh are an arbitrary basis, so their gradient is ignored, as in PyTorch.
        k = S.shape[-1]
        U, Vh = U[..., :, :k], Vh[..., :k, :]
        g_u, g_vh = None if g_u is None else g_u[..., :, :k], None if g_vh is None else g_vh[..., :k, :]
        inner = 0.0 if g_s is None else _on_diagonal(g_s)
        squares = _differences(S * S)
        row, column = unsqueeze(S, -2), unsqueeze(S, -1)
        if g_u is not None:
            skew = _t(U) @ g_u
            inner = inner + (squares * (skew - _t(skew))) * row * 1.0
        if g_vh is not None:
            skew = Vh @ _t(g_vh)
            inner = inner + column * (squares * (skew - _t(skew)))
        out = U @ inner @ Vh
        if g_u is not None and U.shape[-2] > U.shape[-1]:
            rest = g_u - U @ (_t(U) @ g_u)
            out = out + (rest / row) @ Vh
        if g_vh is not None and Vh.shape[-1] > Vh.shape[-2]:
            rest = g_vh - (g_vh @ _t(Vh)) @ Vh
            out = out + U @ (rest / column)
        return [out]


class LinalgQr(Op):
    """A = Q·R: Q has orthonormal columns, R is upper triangular."""

    results = ("Q", "R")

    def forward(A, *, mode):
        factors: Any = np.linalg.qr(A, mode)
        if mode == "r":
            return np.zeros(0, A.dtype), factors.astype(A.dtype)
        Q, R = factors
        return Q.astype(A.dtype), R.astype(A.dtype)

    def gradients(grad, needs_input_grad, Q, R, mode):
        g_q, g_r = grad
        if mode == "r":
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
            )
        m, n = Q.shape[-2], R.shape[-1]
        if mode == "complete" and m > n:
            raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
        if m < n:
            # A = [X, Y] with X = Q·U and Y = Q·V: the gradient of Y from Q and V, then that of X from Q and U.
            U, V = R[..., :, :m], R[..., :, m:]
            to_q, to_u, to_y = g_q, None, None
            if g_r is not None:
                to_u, to_v = g_r[..., :, :m], g_r[..., :, m:]
                more = (Q @ V) @ _t(to_v)
                to_q, to_y = more if g_q is None else g_q + more, Q @ to_v
            to_x = LinalgQr.gradients((to_q, to_u), needs_input_grad, Q, U, mode)[0]
            return [cat([to_x, (Q @ V) * 0 if to_y is None else to_y], -1)]
        middle = 0.0
        if g_r is not None:
            middle = R @ _t(g_r)
        if g_q is not None:
            middle = middle - _t(g_q) @ Q
        # Mirror the lower triangle to the upper one.
        mirrored = tril(middle) + _t(tril(middle, -1))
        whole = Q @ mirrored if g_q is None else g_q + Q @ mirrored
        return [solve_triangular(_t(R), whole, upper=False, left=False)]


class LinalgPinv(Op):
    """The pseudoinverse. Singular values (with `hermitian`, |eigenvalues| of the lower triangle) up to the limit count as 0."""

    results = ("pinv",)

    def forward(A, *, atol, rtol, hermitian):
        if not A.size:
            return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
        if hermitian:
            values, right = np.linalg.eigh(A)
            left = np.swapaxes(right, -2, -1)
        else:
            left, values, right = np.linalg.svd(A, full_matrices=False)
            left, right = np.swapaxes(left, -2, -1), np.swapaxes(right, -2, -1)
        kept = np.abs(values) > _limit(np.abs(values), A.shape, atol, rtol)
        inverse = np.divide(1, values, out=np.zeros_like(values), where=kept)
        return ((right * inverse[..., None, :]) @ left).astype(A.dtype)

    # Golub and Pereyra, "The differentiation of pseudo-inverses" (1973): valid for any constant rank
    def grad_A(grad, A, pinv):
        slope = _t(grad)
        if A.shape[-2] <= A.shape[-1]:
            K = slope @ pinv
            turned = K @ _t(pinv)
            return turned - _t(pinv @ K) - (A @ pinv) @ turned + (_t(pinv) @ pinv) @ (slope - K @ A)
        K = pinv @ slope
        turned = _t(pinv) @ K
        return turned - _t(K @ pinv) + (slope - A @ K) @ pinv @ _t(pinv) - (turned @ pinv) @ A

    def jvp(tangent, A, pinv):
        slope, left, right = _t(tangent), pinv @ _t(pinv), _t(pinv) @ pinv
        return left @ (slope - slope @ (A @ pinv)) + (slope - pinv @ (A @ slope)) @ right - pinv @ tangent @ pinv


def _limit(values, shape, atol=None, rtol=None):
    """The limit up to which singular values count as 0, per matrix: the larger of atol and rtol times the largest."""
    atol, rtol = (None if x is None else np.asarray(getattr(x, "_data", x)) for x in (atol, rtol))
    if rtol is None:
        default = np.finfo(values.dtype).eps * max(shape[-2:])
        rtol = np.asarray(default) if atol is None else np.where(atol > 0, 0.0, default)
    largest = values.max(-1, keepdims=True, initial=0)
    return np.maximum(0.0 if atol is None else atol[..., None], rtol[..., None] * largest)


class LinalgMatrixExp(Op):
    """Σ Aᵏ/k!, of A halved until it is small, and squared as often."""

    def forward(self):
        # Up to this norm eighteen terms reach full precision. Each halving saved also saves a squaring and its error.
        most = float(np.abs(self).sum(-2).max(initial=0)) / (3.01 if self.dtype.itemsize < 8 else 1.09)
        halvings = max(0, math.ceil(math.log2(most))) if most > 0 and math.isfinite(most) else 0
        small = self * self.dtype.type(0.5**halvings)
        term = total = np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape)
        for k in range(1, 19):
            term = term @ small / k
            total = total + term
        for _ in range(halvings):
            total = total @ total
        return total

    # Najfeld and Havel, "Derivatives of the matrix exponential and their computation" (1995)
    def grad_self(grad, self):
        return _beside_exp(_t(self), grad)

    def jvp(tangent, self):
        return _beside_exp(self, tangent)


def _beside_exp(matrix, move):
    """How much exp(matrix) changes with a change of the matrix: the upper right block of exp([[A, E], [0, A]])."""
    n = matrix.shape[-1]
    whole = cat((cat((matrix, move), -1), cat((move * 0, matrix), -1)), -2)
    return LinalgMatrixExp.apply(whole)[..., :n, n:]


class LinalgLstsq(Op):
    """The X for which |A·X - b| is smallest, by the pseudoinverse of A."""

    def forward(self, b, *, rcond):
        return LinalgPinv.forward(self, atol=None, rtol=rcond, hermitian=False) @ b

    def grad_self(grad, self, b, rcond):
        pinv = LinalgPinv.apply(self, atol=None, rtol=rcond, hermitian=False)
        return LinalgPinv.grad_A(matmul(grad, _t(b)), self, pinv)

    def grad_b(grad, self, rcond):
        return matmul(_t(LinalgPinv.apply(self, atol=None, rtol=rcond, hermitian=False)), grad)

    def jvp(tangent, b_tangent, self, b, rcond):
        pinv = LinalgPinv.apply(self, atol=None, rtol=rcond, hermitian=False)
        return matmul(LinalgPinv.jvp(tangent, self, pinv), b) + matmul(pinv, b_tangent)


# --- functions -------------------------------------------------------------------------------------------------------

_Eigh, _Svd, _Qr = (
    named("linalg_eigh", "eigenvalues", "eigenvectors"),
    named("linalg_svd", "U", "S", "Vh"),
    named("linalg_qr", "Q", "R"),
)
_Lstsq = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
_OldSvd, _OldQr = named("svd", "U", "S", "V"), named("qr", "Q", "R")
_CholeskyEx, _InvEx = named("linalg_cholesky_ex", "L", "info"), named("linalg_inv_ex", "inverse", "info")
_SolveEx = named("linalg_solve_ex", "result", "info")


@public(where=_LINALG, method=False)
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues, in ascending order, and the eigenvectors of a symmetric matrix.

    >>> import tinygrad_edu as T
    >>> values, vectors = T.linalg.eigh(T.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(decimals=4)
    tensor([1., 3.])
    """
    return _Eigh(LinalgEigh.apply(A, lower=UPLO == "L"))


@public(where=_LINALG, method=False)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues of a symmetric matrix, in ascending order.

    >>> import tinygrad_edu as T
    >>> T.linalg.eigvalsh(T.tensor([[2.0, 1.0], [1.0, 2.0]])).round(decimals=4)
    tensor([1., 3.])
    """
    return eigh(A, UPLO).eigenvalues


@public(where=_LINALG, method=False)
def svd(A: Tensor, full_matrices: bool = True, *, driver=None) -> Any:
    """The decomposition A = U·diag(S)·Vh, with the singular values S in descending order.

    >>> import tinygrad_edu as T
    >>> U, S, Vh = T.linalg.svd(T.tensor([[3.0, 0.0], [0.0, 2.0]]))
    >>> S
    tensor([3., 2.])
    """
    return _Svd(LinalgSvd.apply(A, full_matrices=full_matrices))


@public(where=(functions,))
def _svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The decomposition input = U·diag(S)·Vᵀ. This older form returns V instead of its transpose.

    >>> import tinygrad_edu as T
    >>> T.svd(T.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    tensor([3., 2.])
    """
    U, S, Vh = svd(input, not some)
    return _OldSvd((U, S, _t(Vh)))


@public(where=_LINALG, method=False)
def svdvals(A: Tensor, *, driver=None) -> Any:
    """The singular values, in descending order.

    >>> import tinygrad_edu as T
    >>> T.linalg.svdvals(T.tensor([[3.0, 0.0], [0.0, 2.0]]))
    tensor([3., 2.])
    """
    return LinalgSvd.apply(A, full_matrices=False)[1]


@public(where=_LINALG, method=False)
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """The decomposition A = Q·R: Q has orthonormal columns, R is upper triangular. Mode "complete" extends Q to a square.

    >>> import tinygrad_edu as T
    >>> A = T.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> Q, R = T.linalg.qr(A)
    >>> T.allclose(Q @ R, A)
    True
    """
    return _Qr(LinalgQr.apply(A, mode=mode))


@public(where=(functions,))
def _qr(input: Tensor, some: bool = True) -> Any:
    """The decomposition input = Q·R: the older form of `linalg.qr`.

    >>> import tinygrad_edu as T
    >>> A = T.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> Q, R = T.qr(A)
    >>> T.allclose(Q @ R, A)
    True
    """
    return _OldQr(qr(input, "reduced" if some else "complete"))


@public(where=_LINALG, method=False)
def _pinv(A: Tensor, *, atol=None, rtol=None, hermitian: bool = False) -> Any:
    """The pseudoinverse. For a matrix with independent columns it is A⁺ = (AᵀA)⁻¹Aᵀ.

    >>> import tinygrad_edu as T
    >>> T.linalg.pinv(T.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return LinalgPinv.apply(A, atol=atol, rtol=rtol, hermitian=hermitian)


@public()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse. Singular values up to `rcond` times the largest count as 0.

    >>> import tinygrad_edu as T
    >>> T.pinverse(T.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return LinalgPinv.apply(input, atol=None, rtol=rcond, hermitian=False)


@public(where=_BOTH)
def lstsq(input: Tensor, b, rcond=None, *, driver=None) -> Any:
    """The X that minimizes |input·X - b|, as a named tuple (solution, residuals, rank, singular_values).

    >>> import tinygrad_edu as T
    >>> x, y = T.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), T.tensor([[1.0], [3.0], [5.0]])
    >>> T.linalg.lstsq(x, y).solution.flatten().round(decimals=4)  # the line 2·x + 1
    tensor([2., 1.])
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), not {driver!r}"
        )
    if not 0 <= input.ndim - b.ndim <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    column = b.ndim == input.ndim - 1
    if column and b.shape != input.shape[:-1]:
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size(-1), a vector for each matrix; the shapes are "
            f"{list(input.shape)} and {list(b.shape)}"
        )
    right = unsqueeze(b, -1) if column else b
    solution = LinalgLstsq.apply(input, right, rcond=rcond)
    rows, columns = input.shape[-2:]
    values = np.linalg.svd(input._data, compute_uv=False)
    rank = (values > _limit(values, input.shape, rtol=rcond)).sum(-1)
    none = wrap(np.zeros(0, values.dtype))
    residuals = none
    # As LAPACK's drivers: gelsy returns no residuals; gels assumes full rank.
    if rows > columns and (driver == "gels" or (driver in ("gelsd", "gelss") and (rank == columns).all())):
        missed = matmul(input, solution) - right
        residuals = sum(missed * missed, -2)
    return _Lstsq(
        (
            squeeze(solution, -1) if column else solution,
            residuals,
            wrap(np.zeros(0, np.int64) if driver == "gels" else np.asarray(rank)),
            wrap(values) if driver in ("gelsd", "gelss") else none,
        )
    )


@public(where=_LINALG, method=False)
def matrix_rank(A: Tensor, tol=None, *, atol=None, rtol=None, hermitian: bool = False) -> Any:
    """The rank: the number of linearly independent rows.

    >>> import tinygrad_edu as T
    >>> T.linalg.matrix_rank(T.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    limit = tol if tol is not None else atol
    if rtol is not None:
        limit = np.maximum(limit or 0.0, rtol * np.linalg.norm(A._data, 2, (-2, -1)))
    return wrap(np.asarray(np.linalg.matrix_rank(A._data, limit)))


@public(where=_LINALG, method=False)
def cond(A: Tensor, p=None) -> Any:
    """The condition number, which bounds how much relative errors can grow: the norm of A times that of its inverse (p = 2).

    >>> import tinygrad_edu as T
    >>> T.linalg.cond(T.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    if p in (None, 2, -2):
        values = svdvals(A)
        large, small = values.select(-1, 0), values.select(-1, values.shape[-1] - 1)
        return small / large if p == -2 else large / small
    norm = linalg_functions["matrix_norm"]
    return norm(A, p) * norm(inv(A), p)


@public(where=_LINALG, method=False)
def _solve_triangular(A: Tensor, B, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The X of A·X = B for a triangular A. The other triangle, and a diagonal of ones, are not read.

    >>> import tinygrad_edu as T
    >>> T.linalg.solve_triangular(T.tensor([[2.0, 0.0], [1.0, 1.0]]), T.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    return solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)


@public()
def cholesky_solve(input: Tensor, L, upper: bool = False) -> Tensor:
    """The X of A·X = input, from the Cholesky factor L of A.

    >>> import tinygrad_edu as T
    >>> L = T.tensor([[2.0, 0.0], [0.0, 1.0]])  # of the matrix with 4 and 1 on its diagonal
    >>> T.cholesky_solve(T.tensor([[4.0], [2.0]]), L)
    tensor([[1.],
            [2.]])
    """
    # Solve by the factors: their product would square the error. PyTorch's gradient fills both triangles of the factor.
    U = L if upper else _t(L)
    return (
        solve(U, solve(_t(U), input))
        if L.requires_grad
        else solve_triangular(U, solve_triangular(_t(U), input, upper=False), upper=True)
    )


@public()
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is `input`.

    >>> import tinygrad_edu as T
    >>> A = T.tensor([[4.0, 0.0], [0.0, 2.0]])
    >>> T.cholesky_inverse(T.linalg.cholesky(A))
    tensor([[0.2500, 0.0000],
            [0.0000, 0.5000]])
    """
    return cholesky_solve(eye(input.shape[-1], dtype=input.dtype), input, upper)


@public(where=_BOTH)
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential Σ Aᵏ/k!, by scaling and squaring: A is halved until it is small, then the result is squared.

    >>> import tinygrad_edu as T
    >>> T.matrix_exp(T.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _square("matrix_exp", input)
    return LinalgMatrixExp.apply(input)


@public(where=_LINALG, method=False)
def _diagonal(A: Tensor, *, offset=0, dim1=-2, dim2=-1) -> Tensor:
    """The diagonals of matrices, as a view.

    >>> import tinygrad_edu as T
    >>> T.linalg.diagonal(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """
    return diagonal(A, offset, dim1, dim2)


@public(where=_LINALG, method=False)
def vander(x, *, N=None) -> Tensor:
    """The Vandermonde matrix: each row holds the powers 0 to N - 1 of an element.

    >>> import tinygrad_edu as T
    >>> T.linalg.vander(T.tensor([2.0, 3.0]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    x = x if x.ndim else reshape(x, (1,))
    if N is not None and N < 2:
        raise RuntimeError("N must be greater than 1.")
    count = x.shape[-1] if N is None else N
    return unsqueeze(x, -1) ** wrap(np.arange(count))


@public(where=_LINALG, method=False)
def tensorinv(A: Tensor, ind=2) -> Tensor:
    """The inverse of a tensor whose first `ind` dimensions are the rows of a matrix, for `tensordot`.

    >>> import tinygrad_edu as T
    >>> T.linalg.tensorinv(T.eye(6).reshape(2, 3, 6)).shape
    tinygrad_edu.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(columns)} != {math.prod(rows)}"
        )
    return reshape(inv(reshape(A, (math.prod(rows), -1))), (*columns, *rows))


@public(where=_LINALG, method=False)
def tensorsolve(A: Tensor, B, dims=None) -> Tensor:
    """The X for which tensordot(A, X, X.ndim) is B.

    >>> import tinygrad_edu as T
    >>> T.linalg.tensorsolve(2 * T.eye(6).reshape(2, 3, 6), T.ones(2, 3))
    tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000])
    """
    if dims is not None:
        last = [d % A.ndim for d in dims]
        A = permute(A, [*(d for d in range(A.ndim) if d not in last), *last])
    sizes = tuple(A.shape[B.ndim :])
    if math.prod(sizes) != B._data.size:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(sizes)} != {B._data.size}"
        )
    return reshape(solve(reshape(A, (B._data.size, -1)), reshape(B, (-1,))), sizes)


@public(where=_LINALG, method=False)
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor, and a status: 0 means success. See `cholesky`.

    >>> import tinygrad_edu as T
    >>> L, info = T.linalg.cholesky_ex(T.tensor([[4.0]]))
    >>> L, info
    (tensor([[2.]]), tensor(0, dtype=tinygrad_edu.int32))
    """
    factor = linalg_functions["cholesky"](A, upper=upper)
    return _CholeskyEx((factor, wrap(np.zeros(A.shape[:-2], np.int32))))


@public(where=_LINALG, method=False)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverse, and a status: 0 means success. See `inv`.

    >>> import tinygrad_edu as T
    >>> inverse, info = T.linalg.inv_ex(T.tensor([[4.0]]))
    >>> inverse, info
    (tensor([[0.2500]]), tensor(0, dtype=tinygrad_edu.int32))
    """
    return _InvEx((inv(A), wrap(np.zeros(A.shape[:-2], np.int32))))


@public(where=_LINALG, method=False)
def solve_ex(A: Tensor, B, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution, and a status: 0 means success. See `solve`.

    >>> import tinygrad_edu as T
    >>> X, info = T.linalg.solve_ex(T.tensor([[2.0]]), T.tensor([[6.0]]))
    >>> X, info
    (tensor([[3.]]), tensor(0, dtype=tinygrad_edu.int32))
    """
    return _SolveEx((solve(A, B, left=left), wrap(np.zeros(A.shape[:-2], np.int32))))


@public(method=False)
def frobenius_norm(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    """The square root of the sum of all squares.

    >>> import tinygrad_edu as T
    >>> T.frobenius_norm(T.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    return vector_norm(input, 2, dim, keepdim)


@public(method=False)
def nuclear_norm(input: Tensor, keepdim: bool = False) -> Tensor:
    """The sum of the singular values.

    >>> import tinygrad_edu as T
    >>> T.nuclear_norm(T.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    return svdvals(input).sum(-1)


@public(method=False)
def chain_matmul(*matrices):
    """The matrix product of several matrices.

    >>> import tinygrad_edu as T
    >>> T.chain_matmul(T.ones(1, 2), T.ones(2, 3), T.ones(3, 1))
    tensor([[6.]])
    """
    return linalg_functions["multi_dot"](list(matrices))


@public(method=False)
def svd_lowrank(A: Tensor, q=6, niter=2, M=None) -> Any:
    """Approximate the q largest singular values of A - M and their vectors: (U, S, V), in `niter` iterations.

    Source: Halko, Martinsson and Tropp, "Finding structure with randomness", algorithm 5.1, arXiv:0909.4061.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> A = T.tensor([[3.0], [4.0]]) @ T.tensor([[1.0, 0.0]])  # rank 1
    >>> U, S, V = T.svd_lowrank(A, q=1)
    >>> S
    tensor([5.])
    """
    A = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    A = _t(A) if wide else A
    start = functions["randn"](A.shape[-1], 6 if q is None else q, dtype=A.dtype)
    basis = linalg_functions["qr"](matmul(A, start))[0]
    for _ in range(2 if niter is None else niter):
        basis = linalg_functions["qr"](matmul(_t(A), basis))[0]
        basis = linalg_functions["qr"](matmul(A, basis))[0]
    U, S, Vh = linalg_functions["svd"](matmul(_t(basis), A), full_matrices=False)
    U, V = matmul(basis, U), _t(Vh)
    return (V, S, U) if wide else (U, S, V)


@public(method=False)
def pca_lowrank(A: Tensor, q=None, center: bool = True, niter=2) -> Any:
    """The principal components of the rows: `svd_lowrank` of A minus the mean of its rows.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> points = T.tensor([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])  # on a line
    >>> U, S, V = T.pca_lowrank(points, q=1)
    >>> S
    tensor([3.1623])
    """
    least = min(A.shape[-2:])
    q = min(6, least) if q is None else q
    if not 0 <= q <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
