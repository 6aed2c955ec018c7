"""Join tensors, split them, and pad them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor, bind
from ...overrides import overridable
from ..arrays import row_major
from ..binding import public
from ..op import Op, linear
from .shape import axis_of, reshape


def _pieces(grads):
    """The gradients of a node's outputs, as a list; a node with one output gets a single gradient."""
    return grads if isinstance(grads, list) else [grads]


def _zeros(size, like):
    return np.zeros(size, getattr(like, "_data", like).dtype)


def _along(dim, start, stop):
    return (slice(None),) * dim + (slice(start, stop),)


class Cat(Op):
    promotes = True

    def forward(*tensors, dim):
        return row_major(np.concatenate(tensors, axis=dim), *tensors)

    def gradients(grad, needs_input_grad, tensors_sym_sizes, dim):
        results, start = [], 0
        for needed, sizes in zip(needs_input_grad, tensors_sym_sizes, strict=True):
            stop = start + sizes[dim]
            results.append(grad[_along(dim, start, stop)] if needed else None)
            start = stop
        return results

    jvp = linear


class Stack(Op):
    promotes = True

    def forward(*tensors, dim):
        return np.ascontiguousarray(np.stack(tensors, axis=dim))

    def gradients(grad, needs_input_grad, dim):
        index = (slice(None),) * dim
        return [grad[(*index, i)] if needed else None for i, needed in enumerate(needs_input_grad)]

    jvp = linear


class Split(Op):
    """Views of equal pieces along `dim`; the last one may be smaller."""

    view = True

    def forward(self, *, split_size, dim):
        return tuple(self[_along(dim, i, i + split_size)] for i in range(0, max(self.shape[dim], 1), split_size))

    def grad_self(grad, self_sym_sizes, split_size, dim):
        n = self_sym_sizes[dim]
        sizes = [min(split_size, n - i) for i in range(0, max(n, 1), split_size)]
        return _joined(grad, self_sym_sizes, sizes, dim)

    jvp = linear


class SplitWithSizes(Op):
    view = True

    def forward(self, *, split_sizes, dim):
        ends = np.cumsum(split_sizes)
        return tuple(self[_along(dim, int(e) - n, int(e))] for e, n in zip(ends, split_sizes, strict=True))

    def grad_self(grad, self_sym_sizes, split_sizes, dim):
        return _joined(grad, self_sym_sizes, split_sizes, dim)

    jvp = linear


def _joined(grads, size, pieces, dim):
    """The gradients of the pieces joined again; zeros for pieces without one."""
    grads = _pieces(grads)
    known = next(g for g in grads if g is not None)
    filled = [
        g if g is not None else _zeros((*size[:dim], n, *size[dim + 1 :]), known)
        for g, n in zip(grads, pieces, strict=True)
    ]
    return np.concatenate(filled, axis=dim) if isinstance(known, np.ndarray) else cat(filled, dim)


class Unbind(Op):
    """Views of the slices along `dim`, without that dimension."""

    view = True

    def forward(self, *, dim):
        return tuple(self[(slice(None),) * dim + (i, ...)] for i in range(self.shape[dim]))

    def grad_self(grad, dim):
        grads = _pieces(grad)
        known = next(g for g in grads if g is not None)
        return stack([g if g is not None else _zeros(known.shape, known) for g in grads], dim)

    jvp = linear


# --- joining ---------------------------------------------------------------------------------------------------------


def _check_list(name, tensors):
    if isinstance(tensors, Tensor) or not isinstance(tensors, tuple | list):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor | np.ndarray | np.generic):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    if not tensors:
        if name == "cat":
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        raise RuntimeError(f"{name} expects a non-empty TensorList")


@public("concat", "concatenate", method=False)
def cat(tensors, dim=0) -> Tensor:
    """Concatenate tensors along `dim`. All their other sizes must be equal.

    >>> import tinygrad_edu as T
    >>> T.cat([T.zeros(2), T.ones(1)])
    tensor([0., 0., 1.])
    """
    _check_list("cat", tensors)
    first = next((t.shape for t in tensors if tuple(t.shape) != (0,)), tensors[0].shape)
    for i, t in enumerate(tensors):
        if not t.shape:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {i}) cannot be concatenated. Use stack() instead."
            )
    axis = axis_of(dim, len(first)) if tuple(first) != (0,) else 0
    for i, t in enumerate(tensors):
        if len(t.shape) != len(first) or any(
            a != b for d, (a, b) in enumerate(zip(t.shape, first, strict=True)) if d != axis
        ):
            # An empty vector can be joined with anything, which older PyTorch programs rely on.
            if tuple(t.shape) == (0,):
                sizes = (*first[:axis], 0, *first[axis + 1 :])
                return cat([reshape(u, sizes) if tuple(u.shape) == (0,) else u for u in tensors], dim)
            if len(t.shape) != len(first):
                raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(t.shape)}")
            d = next(d for d, (a, b) in enumerate(zip(t.shape, first, strict=True)) if d != axis and a != b)
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {axis}. Expected size {first[d]} but got size "
                f"{t.shape[d]} for tensor number {i} in the list."
            )
    return Cat.apply(*tensors, dim=axis)


@public(method=False)
def stack(tensors, dim=0) -> Tensor:
    """Stack tensors of one shape along a new dimension.

    >>> import tinygrad_edu as T
    >>> T.stack([T.zeros(2), T.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    _check_list("stack", tensors)
    first = tuple(tensors[0].shape)
    for i, t in enumerate(tensors):
        if tuple(t.shape) != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(t.shape)} at "
                f"entry {i}"
            )
    return Stack.apply(*tensors, dim=axis_of(dim, len(first) + 1))


# --- splitting -------------------------------------------------------------------------------------------------------


@public(method=False)
def split(tensor, split_size_or_sections, dim=0) -> Any:
    """Split into views along `dim`: of equal size (the last may be smaller), or of the given sizes.

    >>> import tinygrad_edu as T
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
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {axis}), but "
            f"got split_sizes={list(sizes)}"
        )
    return SplitWithSizes.apply(tensor, split_sizes=sizes, dim=axis)


@overridable
def _split(self, split_size, dim=0):
    """Split into views along `dim`: of equal size (the last may be smaller), or of the given sizes."""
    return split(self, split_size, dim)


_split.__name__ = _split.__qualname__ = "split"
bind("split", _split)


@public()
def chunk(input, chunks, dim=0) -> Any:
    """Split into at most `chunks` views of equal size along `dim` (the last may be smaller).

    >>> import tinygrad_edu as T
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
def split_with_sizes(input, split_sizes, dim=0) -> Any:
    """Split into views of the given sizes along `dim`.

    >>> import tinygrad_edu as T
    >>> [part.tolist() for part in T.split_with_sizes(T.arange(5), [2, 3])]
    [[0, 1], [2, 3, 4]]
    """
    return split(input, tuple(split_sizes), dim)


@public()
def unbind(input, dim=0) -> Any:
    """A tuple of views: the slices along `dim`, without that dimension.

    >>> import tinygrad_edu as T
    >>> T.unbind(T.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {axis} but tensor has no dimensions")
    return Unbind.apply(input, dim=axis)


# --- repeating and padding -------------------------------------------------------------------------------------------


# For autograd.engine, which lies below the ops.
bind("_stacked", lambda self, others: stack((self, *others)))
