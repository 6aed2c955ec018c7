"""The same elements in another shape. Most are views: they share storage with their input."""

from __future__ import annotations

import numpy as np

from ..tensor import Tensor
from .op import Op, linear


class View(Op):
    view = True

    def forward(self, *, size):
        # `copy=False` refuses where the elements would have to move.
        return np.reshape(self, size, copy=False) if self.shape != size else self.view()

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)

    jvp = linear


class UnsafeView(Op):
    """Another shape for elements that had to be copied."""

    def forward(self, *, size):
        return self.reshape(size)

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)

    jvp = linear


class Expand(Op):
    view = True

    def forward(self, *, size):
        return np.broadcast_to(self, size) if self.shape != size else self.view()

    def grad_self(grad, self_sym_sizes):
        return sum_to_size(grad, self_sym_sizes)

    jvp = linear


class SumToSize(Op, name="SumBackward1"):
    """The transpose of broadcasting: sums what it repeated."""

    def forward(self, *, size):
        leading = self.ndim - len(size)
        axes = tuple(range(leading)) + tuple(
            leading + i for i, n in enumerate(size) if n == 1 and self.shape[leading + i] != 1
        )
        return self.sum(axis=axes, keepdims=True).reshape(size)

    def grad_self(grad, self_sym_sizes):
        return broadcast_to(grad, self_sym_sizes)

    jvp = linear


class Permute(Op):
    view = True

    def forward(self, *, dims):
        return self.transpose(dims)

    def grad_self(grad, dims):
        return permute(grad, tuple(int(i) for i in np.argsort([d % len(dims) for d in dims])))

    jvp = linear


class Transpose(Op):
    view = True

    def forward(self, *, dim0, dim1):
        return self.swapaxes(dim0, dim1) if self.ndim else self.view()

    def grad_self(grad, dim0, dim1):
        return transpose(grad, dim0, dim1)

    jvp = linear


class T(Op):
    view = True

    def forward(self):
        return self.T if self.ndim == 2 else self.view()

    def grad_self(grad):
        return t(grad)

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


# --- functions -----------------------------------------------------------------------------------------------------------


def _sizes(size):
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = size[0]
    return tuple(int(n) for n in size)


def _resolve(size, numel):
    """Replace the one -1 in `size`; an error where the sizes do not fit the number of elements."""
    known = 1
    for n in size:
        known *= n if n != -1 else 1
    if size.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in size:
        if known == 0 or numel % known:
            raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
        return tuple(numel // known if n == -1 else n for n in size)
    if known != numel:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
    return size


def view(input, *size):
    """`input` in another shape, on the same storage."""
    if len(size) == 1 and not isinstance(size[0], int | tuple | list):
        raise TypeError(
            f"view(): expected a shape, got {type(size[0]).__name__}. To read the bytes as another dtype is not built."
        )
    resolved = _resolve(_sizes(size), input._data.size)
    try:
        return View.apply(input, size=resolved)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


def view_as(input, other):
    """`input` in the shape of `other`."""
    return view(input, tuple(other.shape))


def reshape(input, *shape):
    """`input` in another shape: a view where that is possible, else a copy."""
    size = _sizes(shape)
    if not isinstance(input, Tensor):
        return np.reshape(input, size)
    resolved = _resolve(size, input._data.size)
    try:
        return View.apply(input, size=resolved)
    except ValueError:
        return UnsafeView.apply(input.clone(), size=resolved)


def reshape_as(input, other):
    """`input` in the shape of `other`: a view where that is possible, else a copy."""
    return reshape(input, tuple(other.shape))


def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one."""
    shape = tuple(input.shape)
    if not shape:
        return reshape(input, (1,))
    first, last = start_dim % len(shape), end_dim % len(shape)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    return reshape(input, (*shape[:first], -1 if 0 not in shape else 0, *shape[last + 1 :]))


def broadcast_to(input, *size):
    """`input` repeated to a larger shape, without copying."""
    return expand(input, *size)


def expand(input, *size):
    """`input` repeated along dimensions of size 1 (or new ones in front); -1 keeps a size. No copy."""
    target = _sizes(size)
    shape = input.shape
    if len(target) < len(shape):
        raise RuntimeError(
            f"expand(size {list(target)}): the number of sizes provided ({len(target)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(shape)})"
        )
    leading = len(target) - len(shape)
    resolved = []
    for i, n in enumerate(target):
        own = shape[i - leading] if i >= leading else None
        if n == -1 and own is None:
            raise RuntimeError("expand: -1 is not allowed in a leading, non-existing dimension")
        if n != -1 and own not in (None, 1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({own}) at non-singleton dimension "
                f"{i}. Target sizes: {list(target)}. Tensor sizes: {list(shape)}"
            )
        resolved.append(own if n == -1 else n)
    return Expand.apply(input, size=tuple(resolved))


def expand_as(input, other):
    """`input` repeated to the shape of `other`."""
    return expand(input, tuple(other.shape))


def sum_to_size(input, *size):
    """Sum `input` to a shape that broadcasts to its own."""
    target = _sizes(size)
    return input if tuple(input.shape) == target else SumToSize.apply(input, size=target)


def permute(input, *dims):
    """The dimensions in another order."""
    order = _sizes(dims)
    if sorted(d % len(order) for d in order) != list(range(len(input.shape))):
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {len(input.shape)} is not equal to len(dims) = {len(order)}"
            if len(order) != len(input.shape)
            else "permute(): duplicate dims are not allowed."
        )
    return Permute.apply(input, dims=order)


def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    n = max(len(input.shape), 1)
    for d in (dim0, dim1):
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return Transpose.apply(input, dim0=dim0, dim1=dim1)


def t(input):
    """The transpose of a matrix; vectors and numbers stay."""
    if len(input.shape) > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(input.shape)}D. Use .mT or .permute()."
        )
    return T.apply(input)


def unsqueeze(input, dim):
    """A new dimension of size 1 at `dim`."""
    n = len(input.shape) + 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return Unsqueeze.apply(input, dim=dim % n)


def squeeze(input, dim=None):
    """Without the dimensions of size 1, or without `dim` if its size is 1."""
    if dim is None:
        return Squeeze.apply(input)
    n = max(len(input.shape), 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return SqueezeDim.apply(input, dim=dim)
