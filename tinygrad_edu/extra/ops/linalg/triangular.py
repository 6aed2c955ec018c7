"""Triangular systems of equations, solved row by row for the best accuracy, in batches."""

from __future__ import annotations

import numpy as np

from ....ops.op import Op
from ....ops.shapes.permute import transpose
from ..diagonal import tril, triu

# Up to this many rows are solved one by one. Larger triangles are cut into blocks, which become matrix products.
_ROWS = 24


class LinalgSolveTriangular(Op):
    """The X with A·X = B, or X·A = B, for a triangular A. The other triangle, and a diagonal of ones, are not read."""

    def forward(self, B, *, upper, left, unitriangular):
        if not left:
            solved = LinalgSolveTriangular.forward(
                self.swapaxes(-2, -1), B.swapaxes(-2, -1), upper=not upper, left=True, unitriangular=unitriangular
            )
            return np.ascontiguousarray(solved.swapaxes(-2, -1))
        (n, m), rows = self.shape[-2:], B.shape[-2]
        if n != m:
            raise RuntimeError(
                f"linalg.solve_triangular: A must be batches of square matrices, but they are {n} by {m} matrices"
            )
        if rows != n:
            raise RuntimeError(
                f"linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B ({n}x{n} and "
                f"{rows}x{B.shape[-1]})"
            )
        shape = (*np.broadcast_shapes(self.shape[:-2], B.shape[:-2]), *B.shape[-2:])
        out = np.array(np.broadcast_to(B, shape))
        if upper:
            # From the last row to the first it is lower triangular.
            _solve_lower(self[..., ::-1, ::-1], out[..., ::-1, :], unitriangular)
        else:
            _solve_lower(self, out, unitriangular)
        return out

    # dB = A⁻ᵀ·dX,  dA = -dB·Xᵀ, of which only the triangle counts
    def gradients(grad, needs_input_grad, self, result, upper, left, unitriangular):
        settings = {"upper": not upper, "left": left, "unitriangular": unitriangular}
        to_b = LinalgSolveTriangular.apply(transpose(self, -2, -1), grad, **settings)
        turned = transpose(result, -2, -1)
        to_a = -(to_b @ turned) if left else -(turned @ to_b)
        to_a = triu(to_a, int(unitriangular)) if upper else tril(to_a, -int(unitriangular))
        return [to_a if needs_input_grad[0] else None, to_b if needs_input_grad[1] else None]

    def jvp(self_tangent, B_tangent, self, result, upper, left, unitriangular):
        part = triu(self_tangent, int(unitriangular)) if upper else tril(self_tangent, -int(unitriangular))
        moved = part @ result if left else result @ part
        return LinalgSolveTriangular.apply(self, B_tangent - moved, upper=upper, left=left, unitriangular=unitriangular)


def _solve_lower(triangle, out, unitriangular):
    """Replace `out` by the solution of a lower triangular system."""
    n = triangle.shape[-1]
    if n > _ROWS:
        half = n // 2
        _solve_lower(triangle[..., :half, :half], out[..., :half, :], unitriangular)
        out[..., half:, :] -= triangle[..., half:, :half] @ out[..., :half, :]
        _solve_lower(triangle[..., half:, half:], out[..., half:, :], unitriangular)
        return
    for i in range(n):
        if i:
            out[..., i, :] -= (triangle[..., i : i + 1, :i] @ out[..., :i, :])[..., 0, :]
        if not unitriangular:
            out[..., i, :] /= triangle[..., i, i, None]


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """The X of A·X = B (or X·A = B), for both rules and functions."""
    return LinalgSolveTriangular.apply(A, B, upper=upper, left=left, unitriangular=unitriangular)
