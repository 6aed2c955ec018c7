"""Join tensors, split them, and pad them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, bind
from ...overrides import overridable
from ..arrays import by_channels, row_major
from ..binding import nn_functions, public
from ..creation.copies import to_copy
from ..op import Op, linear
from .shape import axis_of, unsqueeze


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


class UnsafeSplit(Op):
    """The same for pieces that nobody writes to: not known as views."""

    forward = Split.forward
    grad_self = Split.grad_self
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


class ConstantPadNd(Op):
    """Pad with one value; negative widths crop."""

    def forward(self, *, pad, value=0.0):
        out = np.full([n + a + b for n, (a, b) in zip(self.shape, pad, strict=True)], value, self.dtype)
        out[_inner(pad, out.shape)] = self[_inner([(-a, -b) for a, b in pad], self.shape)]
        return by_channels(out, self)

    def grad_self(grad, pad):
        return ConstantPadNd.apply(grad, pad=tuple((-a, -b) for a, b in pad))

    def jvp(tangent, pad):
        return ConstantPadNd.apply(tangent, pad=pad)


def _inner(pad, sizes):
    """The part inside the padding widths, where they are positive."""
    return tuple(slice(max(a, 0), n - max(b, 0)) for (a, b), n in zip(pad, sizes, strict=True))


class _TakePad(Op):
    """Pad with elements of the input: each dimension is indexed by the positions that its values come from."""

    def forward(self, *, padding, _sources):
        return self[np.ix_(*_sources)]

    # Only the input's shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, padding, _sources):
        return _TakePadBack.apply(grad, size=tuple(self.shape), sources=_sources)

    jvp = linear


class _TakePadBack(Op, name="IndexPutBackward1"):
    """Sum repeated elements back to where they came from."""

    def forward(self, *, size, sources):
        out = np.zeros(size, self.dtype)
        np.add.at(out, np.ix_(*sources), self)
        return out

    def grad_self(grad, sources):
        return _TakePad.apply(grad, padding=None, _sources=sources)

    jvp = linear


def _mirrored(self, *, padding, _sources):
    return by_channels(self[np.ix_(*_sources)], self)


def _pad_op(node: str) -> type[Op]:
    # PyTorch builds circular padding by copies, whose results are row-major.
    forward = _TakePad.forward if node.startswith("Circular") else _mirrored
    return type(node, (_TakePad,), {"forward": forward}, name=f"{node}Backward0")


# One node name per mode and number of dimensions.
_PADS = {
    (mode, n): _pad_op(f"{name}{n}D")
    for mode, name in {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}.items()
    for n in (1, 2, 3)
}


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
    axis = axis_of(dim, len(first))
    for i, t in enumerate(tensors):
        if len(t.shape) != len(first) or any(
            a != b for d, (a, b) in enumerate(zip(t.shape, first, strict=True)) if d != axis
        ):
            # An empty vector can be joined with anything, which older PyTorch programs rely on.
            if tuple(t.shape) == (0,):
                joined = cat([u for u in tensors if tuple(u.shape) != (0,)], dim)
                common = dtypes.promote([getattr(u, "_data", u) for u in tensors])
                return joined if getattr(joined, "_data", joined).dtype == common else to_copy(joined, common)
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


def _at_least(n, t):
    while t.ndim < n:
        t = unsqueeze(t, 0)
    return t


@public(method=False)
def hstack(tensors) -> Tensor:
    """Join tensors side by side: along dimension 1, or 0 for vectors.

    >>> import tinygrad_edu as T
    >>> T.hstack((T.tensor([1, 2]), T.tensor([3])))
    tensor([1, 2, 3])
    """
    _check_list("hstack", tensors)
    tensors = [_at_least(1, t) for t in tensors]
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@public("row_stack", method=False)
def vstack(tensors) -> Tensor:
    """Stack tensors vertically; vectors become rows.

    >>> import tinygrad_edu as T
    >>> T.vstack((T.tensor([1, 2]), T.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    _check_list("vstack", tensors)
    return cat([_at_least(2, t) for t in tensors], 0)


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
    return split(input, max(-(-input.shape[axis_of(dim, input.ndim)] // chunks), 1), dim)


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


@public(where=(nn_functions,), method=False)
def pad(input, pad, mode: str = "constant", value=None) -> Tensor:
    """Pad the last dimensions. `pad` is (before, after) for the last dimension, then for the one before it, and so on.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.pad(T.ones(1, 2), (1, 2))
    tensor([[0., 1., 1., 0., 0.]])
    """
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    count = len(pad) // 2
    if count > input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    pairs = [(0, 0)] * (input.ndim - count) + [(pad[2 * i], pad[2 * i + 1]) for i in reversed(range(count))]
    if mode == "constant":
        return ConstantPadNd.apply(input, pad=tuple(pairs), value=0.0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if input.ndim not in (count + 1, count + 2) or count not in (1, 2, 3):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: pad the last dimensions of a "
            "batch of channels."
        )
    sources = []
    for n, (a, b) in zip(input.shape, pairs, strict=True):
        if mode == "reflect" and (a >= n or b >= n) and (a or b):
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({a}, {b}) at dimension of size {n}"
            )
        if mode == "circular" and (a > n or b > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        places = np.arange(-a, n + b)
        if mode == "replicate":
            places = places.clip(0, n - 1)
        elif mode == "circular":
            # Negative widths crop first; circular padding repeats what remains.
            first, last = max(-a, 0), n + min(b, 0)
            places = first + (places - first) % (last - first)
        else:
            places = np.abs(places)
            places = np.where(places >= n, 2 * (n - 1) - places, places)
        sources.append(places)
    return _PADS[mode, count].apply(input, padding=tuple(pad), _sources=tuple(sources))


# For autograd.functional, which lies below the ops.
bind("_stacked", lambda self, others: stack((self, *others)))
