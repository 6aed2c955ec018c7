"""Products of vectors, matrices and batches of matrices."""

from __future__ import annotations

import builtins
import math

import numpy as np

from .. import dtypes
from ..tensor import Tensor
from .binding import functions, linalg_functions, operator, public
from .op import Op, linear
from .shape import UnsafeView, axis_of, broadcast_to, clone, permute, reshape, t, transpose, unsqueeze


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


class _AddProduct(Op):
    """beta·self + alpha·(product of the other two)"""

    def forward(self, mat1, mat2, *, beta=1, alpha=1):
        product = mat1 @ mat2
        if alpha != 1:
            product *= alpha
        # A `self` that nan or infinity fill is not to be seen when beta is 0.
        return product if beta == 0 else (self if beta == 1 else beta * self) + product

    def grad_self(grad, beta):
        return grad if beta == 1 else grad * beta

    def jvp(tangent, mat1_tangent, mat2_tangent, mat1, mat2, beta, alpha):
        return tangent * beta + (mat1_tangent @ mat2 + mat1 @ mat2_tangent) * alpha


class Addmm(_AddProduct):
    """What a linear layer computes."""

    forward = _AddProduct.forward

    def grad_mat1(grad, mat2, alpha):
        g = grad @ transpose(mat2, 0, 1)
        return g if alpha == 1 else g * alpha

    def grad_mat2(grad, mat1, alpha):
        g = transpose(mat1, 0, 1) @ grad
        return g if alpha == 1 else g * alpha


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


class SqueezeInPlace(Op, name="SqueezeBackward4"):
    """The product of a vector with a matrix loses the dimension that the vector was lent."""

    def forward(self, *, dim):
        return self.squeeze(dim)

    def grad_self(grad, dim):
        return unsqueeze(grad, dim)

    jvp = linear


class Trace(Op):
    def forward(self):
        return np.trace(self)

    def grad_self(grad, self_sym_sizes):
        return grad * np.eye(*self_sym_sizes, dtype=getattr(grad, "_data", grad).dtype)

    jvp = linear


# --- functions -------------------------------------------------------------------------------------------------------


def _array(x):
    return getattr(x, "_data", x)


def _same_dtype(a, b):
    a, b = _array(a), _array(b)
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        names = [
            {"Float": "float", "Double": "double", "Long": "long int", "Int": "int", "Half": "c10::Half"}.get(n, n)
            for n in (dtypes.from_numpy_dtype(d).legacy_name for d in (a.dtype, b.dtype))
        ]
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}. Convert one: t.to(other.dtype)."
        )


def _check_product(a, b):
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    _same_dtype(a, b)


@public()
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


@public()
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


@public()
def mm(input, mat2):
    """The product of two matrices."""
    a, b = _array(input), _array(mat2)
    if a.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if b.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _check_product(a, b)
    return Mm.apply(input, mat2)


def _check_batches(a, b):
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if a.ndim != 3 else "batch2 must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    _same_dtype(a, b)


@public()
def bmm(input, mat2):
    """The products of two batches of matrices."""
    _check_batches(_array(input), _array(mat2))
    return Bmm.apply(input, mat2)


@public(inplace=Addmm)
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1·mat2."""
    _check_product(_array(mat1), _array(mat2))
    return Addmm.apply(input, mat1, mat2, beta=beta, alpha=alpha)


@public(inplace=Addmv)
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * mat·vec."""
    _same_dtype(mat, vec)
    return Addmv.apply(input, mat, vec, beta=beta, alpha=alpha)


@public(inplace=Baddbmm)
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * the products of two batches."""
    _check_batches(_array(batch1), _array(batch2))
    return Baddbmm.apply(input, batch1, batch2, beta=beta, alpha=alpha)


@operator("__matmul__")
@public(where=(functions, linalg_functions))
def matmul(input, other):
    """The product of vectors, matrices or batches of matrices, by their dimensions, as PyTorch composes it."""
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
        return SqueezeInPlace.apply(mm(unsqueeze(input, 0), other), dim=0)
    if a == 2 and b == 2:
        return mm(input, other)
    if _folds(input, other):
        return _folded(input, other)
    left = unsqueeze(input, 0) if a == 1 else input
    right = unsqueeze(other, 1) if b == 1 else other
    try:
        batch = np.broadcast_shapes(tuple(left.shape[:-2]), tuple(right.shape[:-2]))
    except ValueError:
        raise RuntimeError(
            f"The batch dimensions {list(left.shape[:-2])} and {list(right.shape[:-2])} cannot be broadcast together"
        ) from None
    count = math.prod(batch)
    left3 = reshape(broadcast_to(left, (*batch, *left.shape[-2:])), (count, *left.shape[-2:]))
    right3 = reshape(broadcast_to(right, (*batch, *right.shape[-2:])), (count, *right.shape[-2:]))
    size = [*batch]
    if a != 1:
        size.append(left.shape[-2])
    if b != 1:
        size.append(right.shape[-1])
    return _unsafe_view(bmm(left3, right3), tuple(size))


def _folds(left, right):
    """True if the batch of the larger is to become rows of one product of matrices."""
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
    rows = reshape(large, (-1, large.shape[-1]))
    if small.ndim == 1:
        return _unsafe_view(mv(rows, small), tuple(large.shape[:-1]))
    product = _unsafe_view(mm(rows, small), (*large.shape[:-1], small.shape[1]))
    return clone(transpose(product, -2, -1)) if swapped else product


def _unsafe_view(value, size):
    """Another shape for a product that nobody else holds: no view of it, so it may be changed in place."""
    return UnsafeView.apply(value, size=size)


@operator("__rmatmul__")
def __rmatmul__(self, other):
    return matmul(other, self)


@public("ger")
def outer(input, vec2):
    """The products of each element of one vector with each of another."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    return reshape(input, (input.numel(), 1)) * vec2


@public()
def inner(input, other):
    """The sums of products along the last dimension of both."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@public(method=False)
def tensordot(a, b, dims=2):
    """The sums of products over pairs of dimensions: the last `dims` of `a` with the first of `b`, or as listed."""
    if isinstance(dims, int):
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [axis_of(d, a.ndim) for d in left], [axis_of(d, b.ndim) for d in right]
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    kept_a = [d for d in range(a.ndim) if d not in left]
    kept_b = [d for d in range(b.ndim) if d not in right]
    inner_size = math.prod(a.shape[d] for d in left)
    sizes = tuple(a.shape[d] for d in kept_a) + tuple(b.shape[d] for d in kept_b)
    rows = reshape(permute(a, kept_a + left) if a.ndim else a, (-1, inner_size))
    columns = reshape(permute(b, right + kept_b) if b.ndim else b, (inner_size, -1))
    return reshape(mm(rows, columns), sizes)


@public()
def trace(input):
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return Trace.apply(input)


@public()
def kron(input, other):
    """The Kronecker product: each element of `input` times all of `other`, in blocks."""
    n = max(input.ndim, other.ndim)
    a, b = ((1,) * (n - x.ndim) + tuple(x.shape) for x in (input, other))
    wide_a = _unsafe_view(input, tuple(m for size in a for m in (size, 1)))
    wide_b = _unsafe_view(other, tuple(m for size in b for m in (1, size)))
    return _unsafe_view(wide_a * wide_b, tuple(i * j for i, j in zip(a, b, strict=True)))


@public(method=False)
def einsum(equation, *operands):
    """Sums of products by Einstein's rule: "ij,jk->ik" is the product of matrices. Operands are contracted in turn."""
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = tuple(operands[0])
    terms, output = _parse(equation, operands)
    sizes = _sizes_of(terms, operands)
    term, value = _diagonals(terms[0], operands[0])
    for i in range(1, len(operands)):
        later = set(output).union(*terms[i + 1 :])
        term, value = _contract(term, value, *_diagonals(terms[i], operands[i]), later, sizes)
    gone = tuple(d for d, label in enumerate(term) if label not in output)
    if gone:
        value = value.sum(gone)
        term = [label for label in term if label in output]
    order = tuple(term.index(label) for label in output)
    return permute(value, order) if order != tuple(range(len(order))) else value


def _parse(equation, operands):
    """The labels of each operand and of the result; those that an ellipsis stands for are numbers."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        more = "more" if len(operands) > len(parts) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    widths = [x.ndim - len(p.replace("...", "")) if "..." in p else 0 for p, x in zip(parts, operands, strict=True)]
    widest = builtins.max(widths)

    def labels(part, width):
        before, dots, after = part.partition("...")
        return [*before, *(range(widest - width, widest) if dots else ()), *after]

    terms = [labels(p, w) for p, w in zip(parts, widths, strict=True)]
    for i, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        if len(term) != operand.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of dimensions "
                f"({operand.ndim}) for operand {i} and no ellipsis was given"
            )
    if arrow:
        output = labels(right, widest)
    else:
        flat = [label for term in terms for label in term]
        output = [*range(widest), *sorted(x for x in set(flat) if isinstance(x, str) and flat.count(x) == 1)]
    for label in output:
        if not builtins.any(label in term for term in terms):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    return terms, output


def _sizes_of(terms, operands):
    sizes = {}
    for term, operand in zip(terms, operands, strict=True):
        for label, n in zip(term, operand.shape, strict=True):
            if sizes.get(label, 1) not in (1, n) and n != 1:
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {n} for an operand which does not broadcast with previously "
                    f"seen size {sizes[label]}"
                )
            sizes[label] = builtins.max(n, sizes.get(label, 1)) if n != 0 else 0
    return sizes


def _diagonals(term, value):
    """A label that an operand has twice stands for its diagonal."""
    term = list(term)
    while len(set(term)) < len(term):
        label = next(x for x in term if term.count(x) > 1)
        i, j = [d for d, x in enumerate(term) if x == label][:2]
        value = value.diagonal(0, i, j)
        term = [x for d, x in enumerate(term) if d not in (i, j)] + [label]
    return term, value


def _contract(term_a, a, term_b, b, later, sizes):
    """Two operands as one batch of products of matrices: labels of both that stay are the batch, those that go are summed."""
    common = [x for x in term_a if x in term_b]
    batch = [x for x in common if x in later]
    summed = [x for x in common if x not in later]
    a, term_a = _summed_alone(a, term_a, [x for x in term_a if x not in term_b and x not in later])
    b, term_b = _summed_alone(b, term_b, [x for x in term_b if x not in term_a and x not in later])
    rows = [x for x in term_a if x not in common]
    columns = [x for x in term_b if x not in common]
    a = _ordered(a, term_a, batch + rows + summed, sizes)
    b = _ordered(b, term_b, batch + summed + columns, sizes)
    count = math.prod(sizes[x] for x in batch)
    inside = math.prod(sizes[x] for x in summed)
    wide, tall = math.prod(sizes[x] for x in rows), math.prod(sizes[x] for x in columns)
    product = bmm(reshape(a, (count, wide, inside)), reshape(b, (count, inside, tall)))
    term = batch + rows + columns
    return term, reshape(product, tuple(sizes[x] for x in term))


def _summed_alone(value, term, labels):
    if not labels:
        return value, term
    return value.sum(tuple(term.index(x) for x in labels)), [x for x in term if x not in labels]


def _ordered(value, term, order, sizes):
    """`value` with its dimensions in `order`, those of size 1 that meet a larger one expanded."""
    value = permute(value, tuple(term.index(x) for x in order)) if order != term else value
    target = tuple(sizes[x] for x in order)
    return broadcast_to(value, target) if target != tuple(value.shape) else value
