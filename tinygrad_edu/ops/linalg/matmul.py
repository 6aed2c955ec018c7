"""Products of vectors, matrices and batches of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...core.tensor import Mm
from ...overrides import behind_core
from ..binding import both_forms, functions, linalg_functions, method, operator, public
from ..creation.copies import contiguous_clone
from ..op import Op
from ..operands import check_expandable, refuse_mismatch
from ..shapes.permute import t, transpose
from ..shapes.shape import UnsafeView, broadcast_to, reshape, unsqueeze
from ..shapes.turning import squeeze_


class Dot(Op):
    refuses = ("dot", "b")

    def forward(self, tensor):
        return np.dot(self, tensor)

    def grad_self(grad, tensor):
        return grad * tensor

    def grad_tensor(grad, self):
        return grad * self

    def jvp(tangent, tensor_tangent, self, tensor):
        return tangent @ tensor + self @ tensor_tangent


class Mv(Op):
    refuses = ("addmv_impl_cpu", "b")

    def forward(self, vec):
        return self @ vec

    def grad_self(grad, vec):
        return reshape(grad, (-1, 1)) * reshape(vec, (1, -1))

    def grad_vec(grad, self):
        return transpose(self, 0, 1) @ grad

    def jvp(tangent, vec_tangent, self, vec):
        return tangent @ vec + self @ vec_tangent


class Bmm(Mm):
    """The products of each pair in two batches."""

    refuses = ("bmm", "b")
    forward = Mm.forward


class Addmm(Op):
    """beta·self + alpha·mat1·mat2: the op of a linear layer."""

    def forward(self, mat1, mat2, *, beta=1, alpha=1):
        product = mat1 @ mat2
        if self.shape != product.shape:
            check_expandable(self, product.shape)
        if alpha != 1:
            product *= product.dtype.type(alpha)
        if beta == 1 and self.dtype is product.dtype and self.ndim <= product.ndim:
            product += self
            return product
        # With beta = 0, `self` must not matter, even if it holds nan or infinity.
        return product if beta == 0 else (self if beta == 1 else self.dtype.type(beta) * self) + product

    def grad_self(grad, beta):
        return grad if beta == 1 else grad * beta

    def grad_mat1(grad, mat2, alpha):
        product = grad @ transpose(mat2, -2, -1)
        return product if alpha == 1 else product * alpha

    def grad_mat2(grad, mat1, alpha):
        product = transpose(mat1, -2, -1) @ grad
        return product if alpha == 1 else product * alpha

    def jvp(tangent, mat1_tangent, mat2_tangent, mat1, mat2, beta, alpha):
        return tangent * beta + (mat1_tangent @ mat2 + mat1 @ mat2_tangent) * alpha


class Baddbmm(Op):
    """The same of batches."""

    def forward(self, batch1, batch2, *, beta=1, alpha=1):
        return Addmm.forward(self, batch1, batch2, beta=beta, alpha=alpha)

    grad_self = Addmm.grad_self

    def grad_batch1(grad, batch2, alpha):
        return Addmm.grad_mat1(grad, batch2, alpha)

    def grad_batch2(grad, batch1, alpha):
        return Addmm.grad_mat2(grad, batch1, alpha)

    def jvp(tangent, batch1_tangent, batch2_tangent, batch1, batch2, beta, alpha):
        return Addmm.jvp(tangent, batch1_tangent, batch2_tangent, batch1, batch2, beta, alpha)


def _array(x):
    return getattr(x, "_data", x)


_OF_C = {"Float": "float", "Double": "double", "Long": "long int", "Int": "int", "Half": "c10::Half"}


def _same_dtype(a, b, opening="expected m1 and m2 to have the same dtype, but got: {0} != {1}"):
    """Raise for two dtypes; in `opening` {0} and {1} stand for their names in C, {2} and {3} for those of PyTorch."""
    a, b = _array(a), _array(b)
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        names = [dtypes.from_numpy_dtype(d).legacy_name for d in (a.dtype, b.dtype)]
        said = opening.format(*(_OF_C.get(n, n) for n in names), *names)
        raise RuntimeError(f"{said}. Convert one: t.to(other.dtype).")


def _check_product(a, b):
    if a.shape[1] != b.shape[0]:
        sizes = f"({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied {sizes}")


@public()
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The dot product of two vectors.

    >>> T.dot(T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]))
    tensor(11.)
    """
    a, b = _array(input), _array(tensor)
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    _same_dtype(a, b, "dot : expected both vectors to have same dtype, but found {2} and {3}")
    if a.shape != b.shape:
        told = f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}]"
        raise RuntimeError(f"{told} to have the same number of elements, but got {a.size} and {b.size} elements")
    return Dot.apply(input, tensor)


@public()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector.

    >>> T.mv(T.tensor([[1.0, 2.0], [3.0, 4.0]]), T.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    a, b = _array(input), _array(vec)
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {b.ndim}, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0]:
        n, m = a.shape
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{m}), vec ({b.shape[0]})")
    _same_dtype(b, a, "addmv input tensors must have the same dtype, but got {2}, {3}, and {2}")
    return Mv.apply(input, vec)


@public()
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices.

    >>> T.mm(T.tensor([[1.0, 2.0]]), T.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    a, b = _array(input), _array(mat2)
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix")
    _check_product(a, b)
    _same_dtype(a, b)
    return Mm.apply(input, mat2)


def _check_batches(a, b):
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if a.ndim != 3 else "batch2 must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        sizes = f"[{a.shape[0]}, {a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}]"
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {sizes}.")
    _same_dtype(a, b, "expected scalar type {2} but found {3}")


@public()
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The matrix products of two batches.

    >>> T.bmm(T.ones(5, 2, 3), T.ones(5, 3, 4)).shape
    tinygrad_edu.Size([5, 2, 4])
    """
    _check_batches(_array(input), _array(mat2))
    return Bmm.apply(input, mat2)


def _check_addmm(input, mat1, mat2):
    if isinstance(input, Tensor):
        _same_dtype(input, mat2, "self and mat2 must have the same dtype, but got {2} and {3}")
    _same_dtype(mat1, mat2, "mat1 and mat2 must have the same dtype, but got {2} and {3}")
    for name, mat in (("mat1", _array(mat1)), ("mat2", _array(mat2))):
        if mat.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {mat.ndim}-D tensor")
    _check_product(_array(mat1), _array(mat2))


@public()
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2).

    >>> T.addmm(T.ones(2), T.eye(2), T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 3.],
            [4., 5.]])
    """
    _check_addmm(input, mat1, mat2)
    return Addmm.apply(input, mat1, mat2, beta=beta, alpha=alpha)


@public()
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).

    >>> T.baddbmm(T.zeros(1), T.ones(2, 1, 3), T.ones(2, 3, 1)).shape
    tinygrad_edu.Size([2, 1, 1])
    """
    _check_batches(_array(batch1), _array(batch2))
    return Baddbmm.apply(input, batch1, batch2, beta=beta, alpha=alpha)


@public(where=(functions, linalg_functions))
def matmul(input: Tensor, other: Tensor | float) -> Tensor:
    """The product of vectors, matrices or batches of matrices. The dimensions decide which, as in PyTorch.

    >>> T.matmul(T.ones(2, 3), T.ones(3, 4)).shape
    tinygrad_edu.Size([2, 4])
    """
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        return np.matmul(input, other)
    if not isinstance(input, Tensor | np.ndarray) or not isinstance(other, Tensor | np.ndarray):
        wrong = other if isinstance(input, Tensor | np.ndarray) else input
        raise TypeError(f"matmul(): argument 'other' must be Tensor, not {type(wrong).__name__}")
    a, b = input.ndim, other.ndim
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1 and b == 2:
        return squeeze_(mm(unsqueeze(input, 0), other), 0)
    if a == 2 and b == 2:
        return mm(input, other)
    if _folds(input, other):
        return _folded(input, other)
    left = unsqueeze(input, 0) if a == 1 else input
    right = unsqueeze(other, 1) if b == 1 else other
    try:
        batch = np.broadcast_shapes(tuple(left.shape[:-2]), tuple(right.shape[:-2]))
    except ValueError:
        refuse_mismatch([left.shape[:-2], right.shape[:-2]])
    left3, right3 = (
        reshape(broadcast_to(x, (*batch, *x.shape[-2:])), (math.prod(batch), *x.shape[-2:])) for x in (left, right)
    )
    size = (*batch, *((left.shape[-2],) if a != 1 else ()), *((right.shape[-1],) if b != 1 else ()))
    return unsafe_view(bmm(left3, right3), size)


def _folds(left, right):
    """True if the batch of the larger operand becomes the rows of a single matrix product."""
    large, small = (left, right) if left.ndim >= right.ndim else (right, left)
    if large.ndim < 3 or small.ndim > 2:
        return False
    if getattr(small, "requires_grad", False):
        return True
    return left.ndim != 2 and (large is left or not isinstance(large, Tensor) or not large.is_contiguous())


def _folded(left, right):
    swapped = left.ndim < right.ndim
    large, small = (transpose(right, -2, -1), left) if swapped else (left, right)
    if swapped and small.ndim == 2:
        small = t(small)
    rows = reshape(large, (math.prod(large.shape[:-1]), large.shape[-1]))
    if small.ndim == 1:
        return unsafe_view(mv(rows, small), tuple(large.shape[:-1]))
    product = unsafe_view(mm(rows, small), (*large.shape[:-1], small.shape[1]))
    return contiguous_clone(transpose(product, -2, -1)) if swapped else product


def unsafe_view(value: Any, size: Any) -> Any:
    """A product in another shape: no view, since nothing else uses the product, so it may be changed in place."""
    return UnsafeView.apply(value, size=size)


def __rmatmul__(self, other) -> Any:
    return matmul(other, self)


@public()
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product: each element of one vector times each element of the other.

    >>> T.outer(T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    return reshape(input, (input.numel(), 1)) * vec2


class MatmulMethods:
    """The methods of Tensor that are defined here."""

    __rmatmul__ = operator(__rmatmul__, name="__rmatmul__")
    dot = method(dot)
    mv = method(mv)
    mm = method(mm)
    bmm = method(bmm)
    addmm, addmm_ = both_forms(addmm, Addmm)
    baddbmm, baddbmm_ = both_forms(baddbmm, Baddbmm)
    matmul = method(matmul)
    outer = method(outer)


behind_core["__matmul__"] = operator(matmul, name="matmul")
