"""The same elements in another shape: views where possible, else copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...core.tensor import Expand, SumToSize
from ...overrides import behind_core
from ..binding import Dims, method, public
from ..creation.copies import contiguous_clone
from ..op import ViewOp
from ..operands import check_expandable


def axis_of(dim: Any, ndim: int) -> Any:
    """`dim`, which may be negative, as an axis counted from 0."""
    n = ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


class _NeedsCopy(Exception):
    """No view has the shape that is asked for: the elements would have to move."""


def same_memory(array: Any, size: Any) -> Any:
    """`array` in another shape, on the same memory."""
    shown = array.reshape(size)
    if array.size and not np.may_share_memory(shown, array):
        raise _NeedsCopy
    return shown


class View(ViewOp):
    def forward(self, *, size):
        return same_memory(self, size) if self.shape != size else self.view()

    def grad_self(grad, self_sym_sizes):
        return grad.reshape(self_sym_sizes)


class ReshapeAlias(View):
    """A view in another shape, for elements that are not in row-major order."""

    forward = View.forward


class UnsafeView(View):
    """Another shape for elements that had to be copied."""

    view = False

    def forward(self, *, size):
        return self.reshape(size)


class Unsqueeze(ViewOp):
    def forward(self, *, dim):
        return np.expand_dims(self, dim)

    def grad_self(grad, dim):
        return squeeze(grad, dim)


class Squeeze(ViewOp):
    def forward(self):
        return self.reshape([n for n in self.shape if n != 1])

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)


class SqueezeDim(Squeeze, name="SqueezeBackward1"):
    def forward(self, *, dim):
        return np.squeeze(self, dim) if self.ndim and self.shape[dim] == 1 else self.view()


class SqueezeDims(Squeeze, name="SqueezeBackward2"):
    def forward(self, *, dim):
        return np.squeeze(self, tuple(d for d in dim if self.shape[d] == 1))


def as_sizes(size: Any) -> Any:
    """`*size`, given one by one or as one tuple."""
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = size[0]
    return tuple(map(int, size))


def _resolve(size, numel):
    """Replace the one -1 in `size`. Raises if the sizes do not match the number of elements."""
    known = math.prod([n for n in size if n != -1])
    if size.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if (not known or numel % known) if -1 in size else known != numel:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
    return tuple(numel // known if n == -1 else n for n in size) if -1 in size else size


@public(where=())
def view(input: Tensor, *size: Any) -> Tensor:
    """A view of `input` in another shape, on the same storage.

    >>> x = T.arange(6)
    >>> x.view(2, 3)[0] = 0  # a view shares memory
    >>> x
    tensor([0, 0, 0, 3, 4, 5])
    """
    if len(size) == 1 and isinstance(size[0], dtypes.dtype):
        raise NotImplementedError("view(dtype), which reads bytes as another type, is not built: t.to(dtype) converts.")
    if len(size) == 1 and not hasattr(size[0], "__index__") and not isinstance(size[0], tuple | list):
        raise TypeError(f"view(): expected a shape, got {type(size[0]).__name__}.")
    resolved = _resolve(as_sizes(size), input.value.size)
    try:
        return View.apply(input, size=resolved)
    except _NeedsCopy:
        told = "view size is not compatible with input tensor's size and stride (at least one dimension spans across"
        raise RuntimeError(f"{told} two contiguous subspaces). Use .reshape(...) instead.") from None


@public(where=())
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view of `input` in the shape of `other`."""
    return view(input, tuple(other.shape))


@public()
def reshape(input: Tensor, *shape: Any) -> Any:
    """`input` in another shape: a view if possible, else a copy.

    >>> T.reshape(T.arange(6), (2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if type(input) is np.ndarray:
        return input.reshape(*shape)
    size = as_sizes(shape)
    if not isinstance(input, Tensor):
        return np.reshape(input, size)
    resolved = _resolve(size, input.value.size)
    try:
        return (View if input.is_contiguous() else ReshapeAlias).apply(input, size=resolved)
    except _NeedsCopy:
        return UnsafeView.apply(contiguous_clone(input), size=resolved)


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one.

    >>> T.flatten(T.ones(2, 3, 4), start_dim=1).shape
    tinygrad_edu.Size([2, 12])
    """
    shape = tuple(input.shape)
    first, last = (axis_of(dim, len(shape)) for dim in (start_dim, end_dim))
    if not shape:
        return reshape(input, (1,))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@public()
def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    """A view of `input`, broadcast to a larger shape."""
    return expand(input, *size)


@public(where=())
def expand(input: Any, *size: Any) -> Tensor:
    """A view with dimensions of size 1 repeated to the given sizes. -1 keeps a size; extra sizes go in front.

    >>> T.ones(2, 1).expand(2, 3).shape
    tinygrad_edu.Size([2, 3])
    """
    target = as_sizes(size)
    shape = input.shape
    leading = len(target) - len(shape)
    if -1 in target[: max(leading, 0)]:
        told = "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension"
        raise RuntimeError(f"{told} {target.index(-1)}")
    resolved = tuple(shape[d - leading] if n == -1 else n for d, n in enumerate(target)) if leading >= 0 else target
    check_expandable(getattr(input, "_data", input), resolved)
    return Expand.apply(input, size=resolved)


@public(where=())
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """A view of `input`, expanded to the shape of `other`."""
    return expand(input, tuple(other.shape))


@public(where=())
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum `input` down to a smaller shape, one that broadcasts to the shape of `input`.

    >>> T.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    target = as_sizes(size)
    fits = len(target) <= input.ndim and all(
        n in (1, m) for n, m in zip(reversed(target), reversed(input.shape), strict=False)
    )
    if not fits:
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(input.shape)}}}.")
    return input if tuple(input.shape) == target else SumToSize.apply(input, size=target)


@public(where=())
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` in the shape of `other`: a view if possible, else a copy."""
    return reshape(input, tuple(other.shape))


@public()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view if possible, else a copy."""
    return reshape(input if input.is_contiguous() else contiguous_clone(input), (-1,))


@public()
def unflatten(input: Tensor, dim: Any, sizes: Any) -> Tensor:
    """Split one dimension into several of the given sizes (one may be -1).

    >>> T.unflatten(T.arange(6), 0, (2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    axis = axis_of(dim, input.ndim)
    n, sizes = input.shape[axis], tuple(sizes)
    try:
        sizes = _resolve(sizes, n)
    except RuntimeError:
        told = f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n})"
        raise RuntimeError(f"{told} in the input tensor") from None
    return view(input, (*input.shape[:axis], *sizes, *input.shape[axis + 1 :]))


@public()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a new dimension of size 1 at position `dim`."""
    return Unsqueeze.apply(input, dim=axis_of(dim, len(input.shape) + 1))


@public()
def squeeze(input: Tensor, dim: Dims = None) -> Tensor:
    """A view without the dimensions of size 1, or without those in `dim` that have size 1.

    >>> T.squeeze(T.ones(2, 1, 3), 1).shape
    tinygrad_edu.Size([2, 3])
    """
    if dim is None:
        return Squeeze.apply(input)
    n = len(input.shape)
    if isinstance(dim, tuple | list):
        return SqueezeDims.apply(input, dim=tuple(axis_of(d, n) for d in dim) if n else ())
    return SqueezeDim.apply(input, dim=axis_of(dim, n))


class ShapeMethods:
    """The methods of Tensor that are defined here."""

    view = method(view)
    view_as = method(view_as)
    reshape = method(reshape)
    flatten = method(flatten)
    broadcast_to = method(broadcast_to)
    expand = method(expand)
    expand_as = method(expand_as)
    reshape_as = method(reshape_as)
    ravel = method(ravel)
    unflatten = method(unflatten)
    unsqueeze = method(unsqueeze)
    squeeze = method(squeeze)


behind_core["sum_to_size"] = method(sum_to_size)
