"""`einsum`, `tensordot` and `inner`: sums of products over named, or listed, dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ..binding import method, public
from ..operands import need_tensor
from ..shapes.permute import permute
from ..shapes.shape import axis_of, reshape
from .matmul import bmm, mm


@public()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The dot products along the last dimension of both.

    >>> T.inner(T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if need_tensor("inner", other).ndim == 0 or input.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        told = "inner() the last dimension must match on both input tensors but got shapes"
        raise RuntimeError(f"{told} {list(input.shape)} and {list(other.shape)}")
    return tensordot(input, other, ([-1], [-1]))


@public()
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sum products over pairs of dimensions: the last `dims` of `a` with the first of `b`, or the listed pairs.

    >>> T.tensordot(T.ones(2, 3), T.ones(3, 4), dims=1).shape
    tinygrad_edu.Size([2, 4])
    """
    if isinstance(dims, int | np.integer):
        dims = range(a.ndim - dims, a.ndim), range(dims)
    left, right = ([d] if isinstance(d, int | np.integer) else list(d) for d in dims)
    left, right = [axis_of(d, a.ndim) for d in left], [axis_of(d, b.ndim) for d in right]
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(left, right, strict=True):
        if a.shape[i] == 1 != b.shape[j]:
            b = b.sum(j, True, dtype=b.dtype)
        elif b.shape[j] == 1 != a.shape[i]:
            a = a.sum(i, True, dtype=a.dtype)
        elif a.shape[i] != b.shape[j]:
            told = f"first has size {a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}"
            raise RuntimeError(f"contracted dimensions need to match, but {told}")
    kept_a, kept_b = ([d for d in range(t.ndim) if d not in out] for t, out in ((a, left), (b, right)))
    size_a, size_b = (tuple(t.shape[d] for d in kept) for t, kept in ((a, kept_a), (b, kept_b)))
    n = math.prod(a.shape[d] for d in left)
    rows = reshape(permute(a, kept_a + left) if a.ndim else a, (math.prod(size_a), n))
    columns = reshape(permute(b, right + kept_b) if b.ndim else b, (n, math.prod(size_b)))
    return reshape(mm(rows, columns), size_a + size_b)


@public()
def einsum(equation: Any, *operands: Any) -> Any:
    """Sum products by Einstein's notation: "ij,jk->ik" is the matrix product. Operands contract from left to right.

    >>> T.einsum('ij,jk->ik', T.ones(2, 3), T.ones(3, 4)).shape
    tinygrad_edu.Size([2, 4])
    """
    if not isinstance(equation, str):
        told = f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}"
        raise TypeError(f'{told}. It names the dimensions by letters, as in einsum("ij,jk->ik", a, b).')
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = tuple(operands[0])
    terms, output = _parse(equation, operands)
    _check_sizes(terms, operands)
    kept = len(output)
    labels = [*output, *sorted({label for term in terms for label in term}.difference(output), key=str)]
    values = [_aligned(term, operand, labels) for term, operand in zip(terms, operands, strict=True)]
    # A dimension is summed with the last operand in which it has more than one element, or none.
    sizes = [[value.shape[d] for value in values] for d in range(len(labels))]
    last = [max((i for i, n in enumerate(along) if n != 1), default=0) for along in sizes]
    alone = [d for d in range(kept, len(labels)) if last[d] == 0 and sizes[d][0] != 1]
    value = _summed(values[0], alone)
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
    widest = max(widths)

    def labels(part, width):
        before, dots, after = part.partition("...")
        return [*before, *(range(widest - width, widest) if dots else ()), *after]

    terms = [labels(p, w) for p, w in zip(parts, widths, strict=True)]
    for i, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        if len(term) != operand.ndim:
            how = "is more than" if "..." in parts[i] else "does not match"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) {how} the number of dimensions "
                f"({operand.ndim}) for operand {i}{'' if '...' in parts[i] else ' and no ellipsis was given'}"
            )
    flat = [label for term in terms for label in term]
    once = sorted(label for label in set(flat) if isinstance(label, str) and flat.count(label) == 1)
    output = labels(right, widest) if arrow else [*range(widest), *once]
    for label in output:
        if label not in flat:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    return terms, output


def _check_sizes(terms, operands):
    sizes: dict[Any, int] = {}
    for i, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        own: dict[Any, int] = {}
        for label, n in zip(term, operand.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, {n} != "
                    f"{own[label]}"
                )
            if sizes.get(label, 1) not in (1, n) and n != 1:
                what = f"subscript {label}" if isinstance(label, str) else "a dimension covered by ellipsis"
                told = f"einsum(): {what} has size {n} for operand {i} which does not broadcast with"
                raise RuntimeError(f"{told} previously seen size {sizes[label]}")
            sizes[label] = n if n != 1 else sizes.get(label, 1)


def _aligned(term, value, labels):
    """An operand with a dimension for each of `labels`, of size 1 where it has none."""
    while len(set(term)) < len(term):  # a label that it has twice stands for its diagonal
        label = next(x for x in term if term.count(x) > 1)
        i, j = [d for d, x in enumerate(term) if x == label][:2]
        value = value.diagonal(0, i, j)
        term = [x for d, x in enumerate(term) if d not in (i, j)] + [label]
    order = tuple(term.index(label) for label in labels if label in term)
    value = permute(value, order) if order != tuple(range(len(order))) else value
    given = dict(zip((label for label in labels if label in term), value.shape, strict=True))
    return value if len(order) == len(labels) else reshape(value, tuple(given.get(label, 1) for label in labels))


def _summed(value, dims):
    return value.sum(tuple(dims), True) if dims else value


def _contracted(a, b, summed):
    """Multiply, and sum over dimensions, by one batched matrix product: its batch are those that both have, besides."""
    rest = [d for d in range(a.ndim) if d not in summed]
    batch = [d for d in rest if a.shape[d] != 1 and b.shape[d] != 1]
    rows = [d for d in rest if a.shape[d] != 1 and d not in batch]
    columns = [d for d in rest if d not in batch and d not in rows]
    count, wide, inside = (math.prod(a.shape[d] for d in dims) for dims in (batch, rows, summed))
    left = reshape(permute(a, batch + rows + summed + columns), (count, wide, inside))
    right = reshape(
        permute(b, batch + summed + columns + rows), (count, inside, math.prod(b.shape[d] for d in columns))
    )
    order = batch + rows + summed + columns
    sizes = [b.shape[d] if d in columns else 1 if d in summed else a.shape[d] for d in order]
    return permute(reshape(bmm(left, right), tuple(sizes)), tuple(order.index(d) for d in range(a.ndim)))


class EinsumMethods:
    """The methods of Tensor that are defined here."""

    inner = method(inner)
