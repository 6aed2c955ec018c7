"""Join tensors, and split them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...overrides import overridable
from ..arrays import row_major
from ..binding import method, public
from ..op import LinearOp, ViewOp
from .shape import axis_of, reshape, unsqueeze


def _pieces(grads):
    """The gradients of a node's outputs (a node with one output gets a single gradient), and one that is known."""
    grads = grads if isinstance(grads, list) else [grads]
    return grads, next(g for g in grads if g is not None)


def _zeros(size, like):
    return np.zeros(size, getattr(like, "_data", like).dtype)


def _along(dim, start, stop):
    return (slice(None),) * dim + (slice(start, stop),)


class Cat(LinearOp):
    promotes = True

    def forward(*tensors, dim):
        return row_major(np.concatenate(tensors, axis=dim))

    def gradients(grad, needs_input_grad, tensors_sym_sizes, dim):
        results, start = [], 0
        for needed, sizes in zip(needs_input_grad, tensors_sym_sizes, strict=True):
            stop = start + sizes[dim]
            results.append(grad[_along(dim, start, stop)] if needed else None)
            start = stop
        return results


class Stack(LinearOp):
    promotes = True

    def forward(*tensors, dim):
        return np.ascontiguousarray(np.stack(tensors, axis=dim))

    def gradients(grad, needs_input_grad, dim):
        index = (slice(None),) * dim
        return [grad[(*index, i)] if needed else None for i, needed in enumerate(needs_input_grad)]


class SplitWithSizes(ViewOp):
    """Views of pieces along `dim`."""

    def forward(self, *, split_sizes, dim):
        ends = itertools.accumulate(split_sizes)
        return tuple(self[_along(dim, end - n, end)] for end, n in zip(ends, split_sizes, strict=True))

    # The gradients of the pieces, joined again: zeros for pieces without one.
    def grad_self(grad, self_sym_sizes, split_sizes, dim):
        grads, known = _pieces(grad)
        sizes = [(*self_sym_sizes[:dim], n, *self_sym_sizes[dim + 1 :]) for n in split_sizes]
        filled = [_zeros(size, known) if g is None else g for g, size in zip(grads, sizes, strict=True)]
        return np.concatenate(filled, axis=dim) if isinstance(known, np.ndarray) else cat(filled, dim)


class Split(ViewOp):
    """The same of equal pieces; the last one may be smaller."""

    def forward(self, *, split_size, dim):
        return SplitWithSizes.forward(self, split_sizes=_equal(self.shape[dim], split_size), dim=dim)

    def grad_self(grad, self_sym_sizes, split_size, dim):
        return SplitWithSizes.grad_self(grad, self_sym_sizes, _equal(self_sym_sizes[dim], split_size), dim)


def _equal(n, size):
    return [min(size, n - start) for start in range(0, max(n, 1), max(size, 1))]


class Unbind(ViewOp):
    """Views of the slices along `dim`, without that dimension."""

    def forward(self, *, dim):
        return tuple(self[(slice(None),) * dim + (i, ...)] for i in range(self.shape[dim]))

    def grad_self(grad, dim):
        grads, known = _pieces(grad)
        return stack([g if g is not None else _zeros(known.shape, known) for g in grads], dim)


def _check_list(name, tensors):
    if isinstance(tensors, Tensor) or not isinstance(tensors, tuple | list):
        kind = type(tensors).__name__
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {kind}")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor | np.ndarray | np.generic):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    if not tensors:
        raise (ValueError if name == "cat" else RuntimeError)(f"{name}(): expected a non-empty list of Tensors")


@public("concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Concatenate tensors along `dim`. All their other sizes must be equal.

    >>> T.cat([T.zeros(2), T.ones(1)])
    tensor([0., 0., 1.])
    """
    _check_list("cat", tensors)
    for i, t in enumerate(tensors):
        if not t.shape:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {i}) cannot be concatenated. Use stack() instead."
            )
    first = next((tuple(t.shape) for t in tensors if tuple(t.shape) != (0,)), (0,))
    axis = axis_of(dim, len(first))
    # An empty vector can be joined with anything, which older PyTorch programs rely on.
    empty = (*first[:axis], 0, *first[axis + 1 :])
    tensors = [reshape(t, empty) if tuple(t.shape) == (0,) != empty else t for t in tensors]
    for i, t in enumerate(tensors):
        if len(t.shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(t.shape)}")
        for d, (n, own) in enumerate(zip(first, t.shape, strict=True)):
            if n != own and d != axis:
                told = f"Sizes of tensors must match except in dimension {axis}. Expected size {n} but got size {own}"
                raise RuntimeError(f"{told} for tensor number {i} in the list.")
    return Cat.apply(*tensors, dim=axis)


@public()
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Stack tensors of one shape along a new dimension.

    >>> T.stack([T.zeros(2), T.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    _check_list("stack", tensors)
    first = tuple(tensors[0].shape)
    for i, t in enumerate(tensors):
        if tuple(t.shape) != first:
            told = f"got {list(first)} at entry 0 and {list(t.shape)} at entry {i}"
            raise RuntimeError(f"stack expects each tensor to be equal size, but {told}")
    return Stack.apply(*tensors, dim=axis_of(dim, len(first) + 1))


def _at_least(number, tensors):
    """The tensors, with dimensions of size 1 in front where they have fewer than `number`."""
    return [t if t.ndim >= number else unsqueeze(t, 0) if t.ndim else reshape(t, (1,) * number) for t in tensors]


def _each_at_least(number, tensors):
    if len(tensors) == 1 and not isinstance(tensors[0], tuple | list):
        return _at_least(number, tensors)[0]
    return tuple(_at_least(number, tensors[0] if isinstance(tensors[0], tuple | list) else tensors))


@public()
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension."""
    return _each_at_least(1, tensors)


@public()
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: a vector becomes a row."""
    return _each_at_least(2, tensors)


@public()
def hstack(tensors: Any) -> Tensor:
    """Join tensors side by side: along dimension 1, or 0 for vectors.

    >>> T.hstack((T.tensor([1, 2]), T.tensor([3])))
    tensor([1, 2, 3])
    """
    _check_list("hstack", tensors)
    tensors = _at_least(1, tensors)
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@public("row_stack")
def vstack(tensors: Any) -> Tensor:
    """Stack tensors vertically; vectors become rows.

    >>> T.vstack((T.tensor([1, 2]), T.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    _check_list("vstack", tensors)
    return cat(_at_least(2, tensors), 0)


@public()
def column_stack(tensors: Any) -> Tensor:
    """Stack tensors side by side; vectors become columns.

    >>> T.column_stack((T.tensor([1, 2]), T.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    _check_list("column_stack", tensors)
    return cat([t if t.ndim > 1 else reshape(t, (-1, 1)) for t in tensors], 1)


@public()
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Split into views along `dim`: of equal size (the last may be smaller), or of the given sizes.

    >>> [part.tolist() for part in T.split(T.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    if not tensor.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = axis_of(dim, tensor.ndim)
    n = tensor.shape[axis]
    if isinstance(split_size_or_sections, int | np.integer):
        if split_size_or_sections < 0 or (split_size_or_sections == 0 and n):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size_or_sections}")
        return Split.apply(tensor, split_size=split_size_or_sections, dim=axis)
    sizes = tuple(split_size_or_sections)
    if np.sum(sizes) != n:
        told = f"(input tensor's size at dimension {axis}), but got split_sizes={list(sizes)}"
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} {told}")
    return SplitWithSizes.apply(tensor, split_sizes=sizes, dim=axis)


@public()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """Split into at most `chunks` views of equal size along `dim` (the last may be smaller).

    >>> [part.tolist() for part in T.chunk(T.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    size = input.shape[axis_of(dim, input.ndim)]
    return split(input, -(-size // chunks) if size else (0,) * chunks, dim)  # nothing gives that many parts


@public()
def unbind(input: Tensor, dim: int = 0) -> Any:
    """A tuple of views: the slices along `dim`, without that dimension.

    >>> T.unbind(T.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {axis} but tensor has no dimensions")
    return Unbind.apply(input, dim=axis)


def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self))


# For autograd.engine, which lies below the ops.


class JoiningMethods:
    """The methods of Tensor that are defined here."""

    split = overridable(lambda self, split_size, dim=0: split(self, split_size, dim), "split")
    chunk = method(chunk)
    unbind = method(unbind)
    __iter__ = overridable(__iter__)

    def _stacked(self, others: Any) -> Any:
        return stack((self, *others))
