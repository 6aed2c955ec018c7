"""The same elements in another shape: views where possible, else copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..binding import public
from ..creation.copies import contiguous_clone
from ..op import Op, linear
from ..operands import check_expandable


def axis_of(dim, ndim):
    """`dim`, which may be negative, as an axis counted from 0."""
    n = ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def same_memory(array, size):
    """`array` in another shape. Raises `ValueError` if the elements would have to move."""
    return array.reshape(size, copy=False)


if np.lib.NumpyVersion(np.__version__) < "2.1.0":  # Colab's

    def same_memory(array, size):
        made = array.view()
        try:
            made.shape = size
        except AttributeError as error:
            raise ValueError(str(error)) from None
        return made


class View(Op):
    view = True

    def forward(self, *, size):
        return same_memory(self, size) if self.shape != size else self.view()

    def grad_self(grad, self_sym_sizes):
        return grad.reshape(self_sym_sizes)

    jvp = linear


class ReshapeAlias(Op):
    """A view in another shape, for elements that are not in row-major order."""

    view = True

    def forward(self, *, size):
        return same_memory(self, size)

    def grad_self(grad, self_sym_sizes):
        return grad.reshape(self_sym_sizes)

    jvp = linear


class UnsafeView(Op):
    """Another shape for elements that had to be copied."""

    def forward(self, *, size):
        return self.reshape(size)

    def grad_self(grad, self_sym_sizes):
        return grad.reshape(self_sym_sizes)

    jvp = linear


class Expand(Op):
    view = True

    def forward(self, *, size):
        if self.shape == size:
            return self.view()
        self = np.asarray(self)
        if self.ndim == 0:
            # One number repeated, as in the gradient of a sum: ten times faster than `np.broadcast_to`.
            return np.ndarray(size, self.dtype, self, strides=(0,) * len(size))
        shown = np.broadcast_to(self, size)
        # A part of it may repeat no element. Writes to an expanded tensor are refused elsewhere.
        shown.flags.writeable = self.flags.writeable
        return shown

    def grad_self(grad, self_sym_sizes):
        return sum_to_size(grad, self_sym_sizes)

    jvp = linear


class SumToSize(Op, name="SumBackward1"):
    """The transpose of broadcasting: sum what it repeated."""

    def forward(self, *, size):
        leading = self.ndim - len(size)
        axes = tuple(range(leading)) + tuple(
            leading + i for i, n in enumerate(size) if n == 1 and self.shape[leading + i] != 1
        )
        return self.sum(axis=axes, keepdims=True, dtype=None if self.dtype.kind in "fc" else np.int64).reshape(size)

    def grad_self(grad, self_sym_sizes):
        return broadcast_to(grad, self_sym_sizes)

    jvp = linear


class Unsqueeze(Op):
    view = True

    def forward(self, *, dim):
        return np.expand_dims(self, dim)

    def grad_self(grad, dim):
        return squeeze(grad, dim)

    jvp = linear


class Squeeze(Op):
    view = True

    def forward(self):
        return self.reshape([n for n in self.shape if n != 1])

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)

    jvp = linear


class SqueezeDim(Op, name="SqueezeBackward1"):
    view = True

    def forward(self, *, dim):
        return np.squeeze(self, dim) if self.ndim and self.shape[dim] == 1 else self.view()

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)

    jvp = linear


class SqueezeDims(Op, name="SqueezeBackward2"):
    view = True

    def forward(self, *, dim):
        return np.squeeze(self, tuple(d for d in dim if self.shape[d] == 1))

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)

    jvp = linear


# --- functions -------------------------------------------------------------------------------------------------------


def as_sizes(size):
    """`*size`, given one by one or as one tuple."""
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = size[0]
    return tuple(map(int, size))


def _resolve(size, numel):
    """Replace the one -1 in `size`. Raises if the sizes do not match the number of elements."""
    if -1 in size:
        known = math.prod([n for n in size if n != -1])
        if size.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if known == 0 or numel % known:
            raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
        return tuple(numel // known if n == -1 else n for n in size)
    if math.prod(size) != numel:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
    return size


def _as_dtype(input, kind) -> Tensor:
    """The same bytes read as another dtype: they share memory, and autograd does not follow, as in PyTorch."""
    array, wanted = input._data, dtypes.to_numpy_dtype(kind)
    old, new = array.itemsize, wanted.itemsize
    if old != new:
        how = f"to view {input.dtype.legacy_name} as {kind.legacy_name} (different element sizes)"
        if not array.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {how}: reshape it to one element first")
        if array.shape[-1] > 1 and array.strides[-1] != old:
            raise RuntimeError(f"self.stride(-1) must be 1 {how}, but got {array.strides[-1] // old}")
        if new > old and array.shape[-1] % (new // old):
            raise RuntimeError(f"self.size(-1) must be divisible by {new // old} {how}, but got {array.shape[-1]}")
    seen = input.detach()  # shares the storage, and the counter of its versions
    seen._data = array.view(wanted)
    return seen


@public(where=())
def view(input, *size, dtype=None) -> Tensor:
    """A view of `input` in another shape, on the same storage. Given a dtype, its bytes are read as numbers of that dtype.

    >>> import tinygrad_edu as T
    >>> x = T.arange(6)
    >>> x.view(2, 3)[0] = 0  # a view shares memory
    >>> x
    tensor([0, 0, 0, 3, 4, 5])
    """
    if dtype is not None or (len(size) == 1 and isinstance(size[0], dtypes.dtype)):
        return _as_dtype(input, dtype if dtype is not None else size[0])
    if len(size) == 1 and not hasattr(size[0], "__index__") and not isinstance(size[0], tuple | list):
        raise TypeError(f"view(): expected a shape or a dtype, got {type(size[0]).__name__}.")
    resolved = _resolve(as_sizes(size), input._data.size)
    try:
        return View.apply(input, size=resolved)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


@public(where=())
def view_as(input, other) -> Tensor:
    """A view of `input` in the shape of `other`.

    >>> import tinygrad_edu as T
    >>> T.arange(4).view_as(T.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return view(input, tuple(other.shape))


@public()
def reshape(input, *shape) -> Any:
    """`input` in another shape: a view if possible, else a copy.

    >>> import tinygrad_edu as T
    >>> T.reshape(T.arange(6), (2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if type(input) is np.ndarray:
        return input.reshape(*shape)
    size = as_sizes(shape)
    if not isinstance(input, Tensor):
        return np.reshape(input, size)
    resolved = _resolve(size, input._data.size)
    try:
        return (View if input.is_contiguous() else ReshapeAlias).apply(input, size=resolved)
    except ValueError:
        return UnsafeView.apply(contiguous_clone(input), size=resolved)


@public()
def flatten(input, start_dim=0, end_dim=-1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one.

    >>> import tinygrad_edu as T
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
def broadcast_to(input, *size) -> Tensor:
    """A view of `input`, broadcast to a larger shape.

    >>> import tinygrad_edu as T
    >>> T.broadcast_to(T.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, *size)


@public(where=())
def expand(input, *size) -> Tensor:
    """A view with dimensions of size 1 repeated to the given sizes. -1 keeps a size; extra sizes add dimensions in front.

    >>> import tinygrad_edu as T
    >>> T.ones(2, 1).expand(2, 3).shape
    tinygrad_edu.Size([2, 3])
    """
    target = as_sizes(size)
    shape = input.shape
    leading = len(target) - len(shape)
    if -1 in target[: max(leading, 0)]:
        raise RuntimeError(
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension "
            f"{target.index(-1)}"
        )
    resolved = tuple(shape[d - leading] if n == -1 else n for d, n in enumerate(target)) if leading >= 0 else target
    check_expandable(getattr(input, "_data", input), resolved)
    return Expand.apply(input, size=resolved)


@public(where=())
def expand_as(input, other) -> Tensor:
    """A view of `input`, expanded to the shape of `other`.

    >>> import tinygrad_edu as T
    >>> T.tensor([[1], [2]]).expand_as(T.zeros(2, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand(input, tuple(other.shape))


@public(where=())
def sum_to_size(input, *size) -> Tensor:
    """Sum `input` down to a smaller shape, one that broadcasts to the shape of `input`.

    >>> import tinygrad_edu as T
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


@public()
def unsqueeze(input, dim) -> Tensor:
    """A view with a new dimension of size 1 at position `dim`.

    >>> import tinygrad_edu as T
    >>> T.unsqueeze(T.ones(2, 3), 0).shape
    tinygrad_edu.Size([1, 2, 3])
    """
    return Unsqueeze.apply(input, dim=axis_of(dim, len(input.shape) + 1))


@public()
def squeeze(input, dim=None) -> Tensor:
    """A view without the dimensions of size 1, or without those in `dim` that have size 1.

    >>> import tinygrad_edu as T
    >>> T.squeeze(T.ones(2, 1, 3), 1).shape
    tinygrad_edu.Size([2, 3])
    """
    if dim is None:
        return Squeeze.apply(input)
    n = len(input.shape)
    if isinstance(dim, tuple | list):
        return SqueezeDims.apply(input, dim=tuple(axis_of(d, n) for d in dim) if n else ())
    return SqueezeDim.apply(input, dim=axis_of(dim, n))
