"""Products of matrices and vectors."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .op import Op
from .shape import broadcast_to, reshape, transpose, unsqueeze


class Dot(Op):
    def forward(self, tensor):
        return np.dot(self, tensor)

    def grad_self(grad, tensor):
        return grad * tensor

    def grad_tensor(grad, self):
        return grad * self

    def jvp(tangent, tensor_tangent, self, tensor):
        return dot(tangent, tensor) + dot(self, tensor_tangent)


class Mv(Op):
    def forward(self, vec):
        return self @ vec

    def grad_self(grad, vec):
        return reshape(grad, (-1, 1)) * reshape(vec, (1, -1))

    def grad_vec(grad, self):
        return transpose(self, 0, 1) @ grad

    def jvp(tangent, vec_tangent, self, vec):
        return tangent @ vec + self @ vec_tangent


class Mm(Op):
    def forward(self, mat2):
        return self @ mat2

    # C = A·B:  dA = dC·Bᵀ,  dB = Aᵀ·dC
    def grad_self(grad, mat2):
        return grad @ transpose(mat2, 0, 1)

    def grad_mat2(grad, self):
        return transpose(self, 0, 1) @ grad

    def jvp(tangent, mat2_tangent, self, mat2):
        return tangent @ mat2 + self @ mat2_tangent


class Bmm(Op):
    def forward(self, mat2):
        return self @ mat2

    def grad_self(grad, mat2):
        return grad @ transpose(mat2, -2, -1)

    def grad_mat2(grad, self):
        return transpose(self, -2, -1) @ grad

    def jvp(tangent, mat2_tangent, self, mat2):
        return tangent @ mat2 + self @ mat2_tangent


class Addmm(Op):
    """self + mat1·mat2, what a linear layer computes."""

    def forward(self, mat1, mat2, *, beta=1, alpha=1):
        product = mat1 @ mat2
        return (self if beta == 1 else beta * self) + (product if alpha == 1 else alpha * product)

    def grad_self(grad, beta):
        return grad if beta == 1 else grad * beta

    def grad_mat1(grad, mat2, alpha):
        g = grad @ transpose(mat2, 0, 1)
        return g if alpha == 1 else g * alpha

    def grad_mat2(grad, mat1, alpha):
        g = transpose(mat1, 0, 1) @ grad
        return g if alpha == 1 else g * alpha

    def jvp(tangent, mat1_tangent, mat2_tangent, self, mat1, mat2, beta, alpha):
        return tangent * beta + (mat1_tangent @ mat2 + mat1 @ mat2_tangent) * alpha


# --- functions -----------------------------------------------------------------------------------------------------------


def _array(x):
    return getattr(x, "_data", x)


def _same_dtype(a, b):
    a, b = _array(a), _array(b)
    if a.dtype != b.dtype:
        names = [
            dtypes.from_numpy_dtype(d).name.replace("32", "").replace("float64", "double") for d in (a.dtype, b.dtype)
        ]
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}. Convert one: t.to(other.dtype)."
        )


def dot(input, tensor):
    """The sum of products of two vectors."""
    a, b = _array(input), _array(tensor)
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same number of elements, "
            f"but got {a.size} and {b.size} elements respectively"
        )
    _same_dtype(a, b)
    return Dot.apply(input, tensor)


def mv(input, vec):
    """A matrix times a vector."""
    a, b = _array(input), _array(vec)
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {b.ndim}, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    _same_dtype(a, b)
    return Mv.apply(input, vec)


def mm(input, mat2):
    """The product of two matrices."""
    a, b = _array(input), _array(mat2)
    if a.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if b.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    _same_dtype(a, b)
    return Mm.apply(input, mat2)


def bmm(input, mat2):
    """The products of two batches of matrices."""
    a, b = _array(input), _array(mat2)
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if a.ndim != 3 else "batch2 must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    _same_dtype(a, b)
    return Bmm.apply(input, mat2)


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1·mat2."""
    a, b = _array(mat1), _array(mat2)
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    _same_dtype(a, b)
    return Addmm.apply(input, mat1, mat2, beta=beta, alpha=alpha)


def matmul(input, other):
    """The product of vectors, matrices or batches of matrices, by their dimensions, as PyTorch composes it."""
    if not hasattr(input, "_data") and not hasattr(other, "_data"):
        return np.matmul(input, other)
    a, b = input.ndim, other.ndim
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1 and b == 2:
        return mm(unsqueeze(input, 0), other).squeeze(0)
    if a == 2 and b == 2:
        return mm(input, other)
    if b <= 2 and a >= 3:
        # The batch of the left folds into its rows.
        right = unsqueeze(other, 1) if b == 1 else other
        rows = mm(reshape(input, (-1, input.shape[-1])), right)
        size = input.shape[:-1] if b == 1 else (*input.shape[:-1], other.shape[-1])
        return reshape(rows, tuple(size))
    left = unsqueeze(input, 0) if a == 1 else input
    right = unsqueeze(other, 1) if b == 1 else other
    try:
        batch = np.broadcast_shapes(tuple(left.shape[:-2]), tuple(right.shape[:-2]))
    except ValueError:
        raise RuntimeError(
            f"The batch dimensions {list(left.shape[:-2])} and {list(right.shape[:-2])} cannot be broadcast together"
        ) from None
    count = int(np.prod(batch))
    left3 = reshape(broadcast_to(left, (*batch, *left.shape[-2:])), (count, *left.shape[-2:]))
    right3 = reshape(broadcast_to(right, (*batch, *right.shape[-2:])), (count, *right.shape[-2:]))
    size = [*batch]
    if a != 1:
        size.append(left.shape[-2])
    if b != 1:
        size.append(right.shape[-1])
    return reshape(bmm(left3, right3), tuple(size))
