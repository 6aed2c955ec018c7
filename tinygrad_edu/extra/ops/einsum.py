"""`einsum`, and the products that it covers."""

from __future__ import annotations

import builtins
import math
import string
from typing import Any

import numpy as np

from ...array.companions import lowered
from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.linalg.matmul import bmm, mm, unsafe_view
from ...ops.operands import need_tensor
from ...ops.shapes.permute import permute
from ...ops.shapes.shape import axis_of, reshape


@public()
def inner(input: Tensor, other) -> Tensor:
    """The dot products along the last dimension of both.

    >>> import tinygrad_edu as T
    >>> T.inner(T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if need_tensor("inner", other).ndim == 0 or input.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@public(method=False)
def tensordot(a, b, dims=2) -> Any:
    """Sum products over pairs of dimensions: the last `dims` of `a` with the first of `b`, or the listed pairs.

    >>> import tinygrad_edu as T
    >>> T.tensordot(T.ones(2, 3), T.ones(3, 4), dims=1).shape
    tinygrad_edu.Size([2, 4])
    """
    if isinstance(dims, int | np.integer):
        left, right = [*range(a.ndim - int(dims), a.ndim)], [*range(int(dims))]
    else:
        left, right = ([d] if isinstance(d, int | np.integer) else list(d) for d in dims)
    left, right = [axis_of(d, a.ndim) for d in left], [axis_of(d, b.ndim) for d in right]
    for i, j in zip(left, right, strict=True):
        if a.shape[i] == 1 != b.shape[j]:
            b = b.sum(j, True, dtype=b.dtype)
        elif b.shape[j] == 1 != a.shape[i]:
            a = a.sum(i, True, dtype=a.dtype)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    kept_a = [d for d in range(a.ndim) if d not in left]
    kept_b = [d for d in range(b.ndim) if d not in right]
    inner_size = math.prod(a.shape[d] for d in left)
    sizes = tuple(a.shape[d] for d in kept_a) + tuple(b.shape[d] for d in kept_b)
    outer_a, outer_b = (math.prod(t.shape[d] for d in kept) for t, kept in ((a, kept_a), (b, kept_b)))
    rows = reshape(permute(a, kept_a + left) if a.ndim else a, (outer_a, inner_size))
    columns = reshape(permute(b, right + kept_b) if b.ndim else b, (inner_size, outer_b))
    return reshape(mm(rows, columns), sizes)


@public()
def kron(input: Tensor, other) -> Tensor:
    """The Kronecker product: a block matrix of each element of `input` times `other`.

    >>> import tinygrad_edu as T
    >>> T.kron(T.tensor([1, 10]), T.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    n = max(input.ndim, other.ndim)
    a, b = ((1,) * (n - x.ndim) + tuple(x.shape) for x in (input, other))
    wide_a = unsafe_view(input, tuple(m for size in a for m in (size, 1)))
    wide_b = unsafe_view(other, tuple(m for size in b for m in (1, size)))
    return unsafe_view(wide_a * wide_b, tuple(i * j for i, j in zip(a, b, strict=True)))


@public(method=False)
def einsum(equation, *operands) -> Any:
    """Sum products by Einstein's notation: "ij,jk->ik" is the matrix product. Operands are contracted from left to right.

    >>> import tinygrad_edu as T
    >>> T.einsum('ij,jk->ik', T.ones(2, 3), T.ones(3, 4)).shape
    tinygrad_edu.Size([2, 4])
    """
    if isinstance(equation, Tensor):
        equation, operands = _lettered((equation, *operands))
    if not isinstance(equation, str):
        raise TypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}. The equation "
            'names the dimensions by letters, as in einsum("ij,jk->ik", a, b).'
        )
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = tuple(operands[0])
    terms, output = _parse(equation, operands)
    _check_sizes(terms, operands)
    kept = len(output)
    labels = [*output, *sorted({label for term in terms for label in term}.difference(output), key=str)]
    values = [_aligned(term, operand, labels) for term, operand in zip(terms, operands, strict=True)]
    # A dimension is summed with the last operand in which it has more than one element, or none.
    sizes = [[value.shape[d] for value in values] for d in range(len(labels))]
    last = [builtins.max((i for i, n in enumerate(along) if n != 1), default=0) for along in sizes]
    alone = [d for d in range(kept, len(labels)) if last[d] == 0 and sizes[d][0] != 1]
    value = _summed(values[0], alone, len(values) > 1)
    for i, other in enumerate(values[1:], 1):
        ends = [d for d in range(kept, len(labels)) if last[d] == i]
        common = [d for d in ends if value.shape[d] != 1]
        other = _summed(other, [d for d in ends if d not in common])
        value = _contracted(value, other, common) if common else value * other
    return reshape(value, tuple(value.shape[:kept])) if kept < value.ndim else value


def _parse(equation, operands):
    """The labels of each operand and of the result. Numbers are the labels of dimensions under an ellipsis."""
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
            dotted = "..." in parts[i]
            how = "is more than" if dotted else "does not match"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) {how} the number of dimensions "
                f"({operand.ndim}) for operand {i}{'' if dotted else ' and no ellipsis was given'}"
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


def _lettered(operands):
    """The equation of the form without one, einsum(a, [0, 1], b, [1, 2], [0, 2]): numbers from 0 to 51 stand for letters."""
    letters = string.ascii_uppercase + string.ascii_lowercase
    *operands, output = operands if len(operands) % 2 else (*operands, None)
    lists = [*operands[1::2], output]
    if not all(n is Ellipsis or (isinstance(n, int) and 0 <= n < 52) for numbers in lists for n in numbers or ()):
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52). Number the dimensions from 0"
        )
    texts = ["".join("..." if n is Ellipsis else letters[n] for n in numbers or ()) for numbers in lists]
    return ",".join(texts[:-1]) + ("" if output is None else f"->{texts[-1]}"), tuple(operands[::2])


def _check_sizes(terms, operands):
    sizes: dict[Any, int] = {}
    for i, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        own: dict[Any, int] = {}
        for label, n in zip(term, operand.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, {n} != {own[label]}"
                )
            if sizes.get(label, 1) not in (1, n) and n != 1:
                raise RuntimeError(_misfit(label, n, i, sizes[label], term))
            sizes[label] = n if n != 1 else sizes.get(label, 1)


def _misfit(label, n, i, before, term):
    if isinstance(label, str):
        return (
            f"einsum(): subscript {label} has size {n} for operand {i} which does not broadcast with previously seen size "
            f"{before}"
        )
    return (
        f"einsum(): dimension {[x for x in term if isinstance(x, int)].index(label)} covered by ellipsis in operand {i}has size {n} which does not broadcast with previously "
        f"seen ellipsis with size {before} for the respective dimension"
    )


def _diagonals(term, value):
    """Take the diagonal for a label that an operand has twice."""
    term = list(term)
    while len(set(term)) < len(term):
        label = next(x for x in term if term.count(x) > 1)
        i, j = [d for d, x in enumerate(term) if x == label][:2]
        value = value.diagonal(0, i, j)
        term = [x for d, x in enumerate(term) if d not in (i, j)] + [label]
    return term, value


def _aligned(term, operand, labels):
    """`operand` with a dimension for each of `labels`, of size 1 where it has none."""
    term, value = _diagonals(term, operand)
    order = tuple(term.index(label) for label in labels if label in term)
    value = permute(value, order) if order != tuple(range(len(order))) else value
    if len(order) == len(labels):
        return value
    given = dict(zip((label for label in labels if label in term), value.shape, strict=True))
    return reshape(value, tuple(given.get(label, 1) for label in labels))


def _summed(value, dims, keepdim=True):
    return value.sum(tuple(dims), keepdim) if dims else value


def _contracted(a, b, summed):
    """Multiply, and sum over dimensions, by one batched matrix product: its batch are those that both have, besides."""
    rest = [d for d in range(a.ndim) if d not in summed]
    batch = [d for d in rest if a.shape[d] != 1 and b.shape[d] != 1]
    rows = [d for d in rest if a.shape[d] != 1 and d not in batch]
    columns = [d for d in rest if d not in batch and d not in rows]
    count, wide, inside = (math.prod(a.shape[d] for d in dims) for dims in (batch, rows, summed))
    tall = math.prod(b.shape[d] for d in columns)
    left = reshape(permute(a, batch + rows + summed + columns), (count, wide, inside))
    right = reshape(permute(b, batch + summed + columns + rows), (count, inside, tall))
    order = batch + rows + summed + columns
    sizes = [b.shape[d] if d in columns else 1 if d in summed else a.shape[d] for d in order]
    product = reshape(bmm(*lowered(left, right)), tuple(sizes))
    return permute(product, tuple(order.index(d) for d in range(a.ndim)))
