"""The same elements in another shape. Most are views: they share storage with their input."""

from __future__ import annotations

import math

import numpy as np

from .. import dtypes
from ..tensor import Tensor, bind
from .binding import public
from .op import Op, linear


def axis_of(dim, ndim):
    """`dim`, counted from the end if negative, as an axis from 0."""
    n = ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


# --- views -----------------------------------------------------------------------------------------------------------


class View(Op):
    view = True

    def forward(self, *, size):
        # `copy=False` refuses where the elements would have to move.
        return np.reshape(self, size, copy=False) if self.shape != size else self.view()

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)

    jvp = linear


class ReshapeAlias(Op):
    """Another shape for elements that do not lie in row-major order, and need not move all the same."""

    view = True

    def forward(self, *, size):
        return np.reshape(self, size, copy=False)

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
        if self.shape == size:
            return self.view()
        self = np.asarray(self)
        shown = np.broadcast_to(self, size)
        # A part of it may repeat no element; writes to one that does are refused where they are made.
        shown.flags.writeable = self.flags.writeable
        return shown

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
        return self.T

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


class SqueezeDims(Op, name="SqueezeBackward2"):
    view = True

    def forward(self, *, dim):
        return np.squeeze(self, tuple(d for d in dim if self.shape[d] == 1))

    def grad_self(grad, self_sym_sizes):
        return reshape(grad, self_sym_sizes)

    jvp = linear


class Diagonal(Op):
    """The elements (i, i + offset) of two dimensions, as a new last one."""

    view = True

    def forward(self, *, offset, dim1, dim2):
        out = self.diagonal(offset, dim1, dim2)
        out.flags.writeable = self.flags.writeable
        return out

    def grad_self(grad, self_sym_sizes, offset, dim1, dim2):
        return DiagonalScatter.apply(grad, size=self_sym_sizes, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class DiagonalCopy(Op, name="DiagonalBackward0_copy"):
    """As Diagonal, for elements that are copied."""

    def forward(self, *, offset, dim1, dim2):
        return self.diagonal(offset, dim1, dim2).copy()

    def grad_self(grad, self_sym_sizes, offset, dim1, dim2):
        return DiagonalScatter.apply(grad, size=self_sym_sizes, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class DiagonalScatter(Op, name="DiagonalBackwardBackward0"):
    """Zeros of shape `size` with `self` on the diagonal: the transpose of taking it."""

    def forward(self, *, size, offset, dim1, dim2):
        out = np.zeros(size, self.dtype)
        window = out.diagonal(offset, dim1, dim2)
        window.flags.writeable = True
        window[...] = self
        return out

    def grad_self(grad, offset, dim1, dim2):
        return DiagonalCopy.apply(grad, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class DiagEmbed(Op):
    """The last dimension on the diagonal of two new ones."""

    def forward(self, *, offset, dim1, dim2):
        n = self.shape[-1] + abs(offset)
        out = np.zeros((*self.shape[:-1], n, n), self.dtype)
        window = out.diagonal(offset, -2, -1)
        window.flags.writeable = True
        window[...] = self
        return np.moveaxis(out, (-2, -1), (dim1, dim2))

    def grad_self(grad, offset, dim1, dim2):
        return DiagonalCopy.apply(grad, offset=offset, dim1=dim1, dim2=dim2)

    jvp = linear


class Unfold(Op):
    """Windows of `size` along a dimension, one each `step`, as a new last dimension."""

    view = True

    def forward(self, *, dimension, size, step):
        if not self.ndim:
            self = self.reshape(1)
        windows = np.lib.stride_tricks.sliding_window_view(self, size, dimension, writeable=self.flags.writeable)
        return windows[(slice(None),) * dimension + (slice(None, None, step),)]

    def grad_self(grad, self_sym_sizes, dimension, size, step):
        return Fold.apply(grad, size=self_sym_sizes, dimension=dimension, window=size, step=step)

    jvp = linear


class Fold(Op, name="UnfoldBackwardBackward0"):
    """Sums windows back to where they came from: the transpose of Unfold."""

    def forward(self, *, size, dimension, window, step):
        out = np.zeros(size or (1,), self.dtype)
        count = self.shape[dimension]
        for k in range(window):
            part = (slice(None),) * dimension + (slice(k, k + (count - 1) * step + 1, step),)
            out[part] += self[..., k]
        return out.reshape(size)

    def grad_self(grad, dimension, window, step):
        return Unfold.apply(grad, dimension=dimension, size=window, step=step)

    jvp = linear


# --- copies ----------------------------------------------------------------------------------------------------------


class Flip(Op):
    def forward(self, *, dims):
        return np.flip(self, dims).copy() if self.ndim else self.copy()

    def grad_self(grad, dims):
        return flip(grad, dims)

    jvp = linear


class Roll(Op):
    def forward(self, *, shifts, dims):
        return np.roll(self, shifts, dims or None)

    def grad_self(grad, shifts, dims):
        return Roll.apply(grad, shifts=tuple(-s for s in shifts), dims=dims)

    jvp = linear


class Repeat(Op):
    """Copies side by side, `repeats` along each dimension."""

    def forward(self, *, repeats):
        return np.tile(self, repeats) if 0 not in repeats else np.zeros(_repeated(self.shape, repeats), self.dtype)

    # Each repetition is a dimension of its own, over which the gradient is summed.
    def grad_self(grad, self_sym_sizes, repeats):
        leading = len(repeats) - len(self_sym_sizes)
        sizes = (1,) * leading + tuple(self_sym_sizes)
        split = reshape(grad, tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair))
        summed = SumToSize.apply(split, size=tuple(n for size in sizes for n in (1, size)))
        return reshape(summed, self_sym_sizes)

    jvp = linear


def _repeated(sizes, repeats):
    leading = len(repeats) - len(sizes)
    return tuple(n * r for n, r in zip((1,) * leading + tuple(sizes), repeats, strict=True))


class Tril(Op):
    def forward(self, *, diagonal=0):
        return np.tril(self, diagonal)

    def grad_self(grad, diagonal):
        return tril(grad, diagonal)

    jvp = linear


class Triu(Op):
    def forward(self, *, diagonal=0):
        return np.triu(self, diagonal)

    def grad_self(grad, diagonal):
        return triu(grad, diagonal)

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


@public(where=())
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


@public(where=())
def view_as(input, other):
    """`input` in the shape of `other`."""
    return view(input, tuple(other.shape))


@public()
def reshape(input, *shape):
    """`input` in another shape: a view where that is possible, else a copy."""
    size = _sizes(shape)
    if not isinstance(input, Tensor):
        return np.reshape(input, size)
    resolved = _resolve(size, input._data.size)
    try:
        return (View if input.is_contiguous() else ReshapeAlias).apply(input, size=resolved)
    except ValueError:
        return UnsafeView.apply(clone(input), size=resolved)


@public(where=())
def reshape_as(input, other):
    """`input` in the shape of `other`: a view where that is possible, else a copy."""
    return reshape(input, tuple(other.shape))


@public()
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


@public()
def broadcast_to(input, *size):
    """`input` repeated to a larger shape, without copying."""
    return expand(input, *size)


@public(where=())
def expand(input, *size):
    """`input` repeated along dimensions of size 1 (or new ones in front); -1 keeps a size. No copy."""
    target = _sizes(size)
    shape = input.shape
    if len(target) < len(shape):
        raise RuntimeError(
            f"expand(torch.{dtypes.from_numpy_dtype(getattr(input, '_data', input).dtype).legacy_name}Tensor{{{list(shape)}}}, "
            f"size={list(target)}): the number of sizes provided ({len(target)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(shape)})"
        )
    leading = len(target) - len(shape)
    resolved = []
    for i, n in enumerate(target):
        own = shape[i - leading] if i >= leading else None
        if n == -1 and own is None:
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
            )
        if n != -1 and own not in (None, 1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({own}) at non-singleton dimension "
                f"{i}. Target sizes: {list(target)}. Tensor sizes: {list(shape)}"
            )
        resolved.append(own if n == -1 else n)
    return Expand.apply(input, size=tuple(resolved))


@public(where=())
def expand_as(input, other):
    """`input` repeated to the shape of `other`."""
    return expand(input, tuple(other.shape))


@public(where=())
def sum_to_size(input, *size):
    """Sum `input` to a shape that broadcasts to its own."""
    target = _sizes(size)
    return input if tuple(input.shape) == target else SumToSize.apply(input, size=target)


@public()
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


@public("swapaxes", "swapdims")
def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    for d in (dim0, dim1):
        axis_of(d, len(input.shape))
    return Transpose.apply(input, dim0=dim0, dim1=dim1)


@public()
def t(input):
    """The transpose of a matrix; vectors and numbers stay."""
    if len(input.shape) > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(input.shape)}D. Use .mT or .permute()."
        )
    return T.apply(input)


def _ints(values):
    """`*dims` given one by one or as one tuple."""
    if len(values) == 1 and isinstance(values[0], tuple | list):
        values = values[0]
    return tuple(values)


def clone(value):
    """A copy in row-major order, on which any shape is a view."""
    from .pointwise import Clone

    return Clone.apply(value, order="C")


@public()
def unsqueeze(input, dim):
    """A new dimension of size 1 at `dim`."""
    return Unsqueeze.apply(input, dim=axis_of(dim, len(input.shape) + 1))


@public()
def squeeze(input, dim=None):
    """Without the dimensions of size 1, or without those of `dim` whose size is 1."""
    if dim is None:
        return Squeeze.apply(input)
    n = len(input.shape)
    if isinstance(dim, tuple | list):
        return SqueezeDims.apply(input, dim=tuple(axis_of(d, n) for d in dim) if n else ())
    return SqueezeDim.apply(input, dim=axis_of(dim, n))


@public()
def unflatten(input, dim, sizes):
    """One dimension as several, of the given sizes (one may be -1)."""
    axis = axis_of(dim, input.ndim)
    n, sizes = input.shape[axis], tuple(sizes)
    known = math.prod(s for s in sizes if s != -1)
    if (known != n) if -1 not in sizes else (not known or n % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input tensor"
        )
    sizes = tuple(n // known if s == -1 else s for s in sizes)
    return view(input, (*input.shape[:axis], *sizes, *input.shape[axis + 1 :]))


@public("moveaxis")
def movedim(input, source, destination):
    """The dimensions `source` at the places `destination`, the others in their order."""
    n = input.ndim
    source, destination = (
        tuple(axis_of(d, n) for d in ((x,) if isinstance(x, int) else x)) for x in (source, destination)
    )
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of "
            f"dims as destination ({list(destination)} dims)"
        )
    order = [d for d in range(n) if d not in source]
    for place, d in sorted(zip(destination, source, strict=True)):
        order.insert(place, d)
    return Permute.apply(input, dims=tuple(order))


@public()
def diagonal(input, offset=0, dim1=0, dim2=1):
    """The elements (i, i + offset) of two dimensions, as a view."""
    n = input.ndim
    axes = axis_of(dim1, n), axis_of(dim2, n)
    if axes[0] == axes[1]:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return Diagonal.apply(input, offset=offset, dim1=dim1, dim2=dim2)


@public()
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension on the diagonal of new matrices."""
    return DiagEmbed.apply(input, offset=offset, dim1=dim1, dim2=dim2)


@public()
def diag(input, diagonal=0):
    """The diagonal of a matrix; of a vector, the matrix with it on the diagonal."""
    if input.ndim == 1:
        return DiagEmbed.apply(input, offset=diagonal, dim1=0, dim2=1)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return DiagonalCopy.apply(input, offset=diagonal, dim1=0, dim2=1)


@public(where=())
def unfold(input, dimension, size, step):
    """Windows of `size` along a dimension, one each `step`, as a new last dimension: a view."""
    axis = axis_of(dimension, input.ndim)
    n = input.shape[axis] if input.ndim else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return Unfold.apply(input, dimension=axis, size=size, step=step)


@public()
def flip(input, *dims):
    """The elements in reverse order along `dims`."""
    axes = tuple(axis_of(d, len(input.shape)) for d in _ints(dims))
    if len(set(axes)) != len(axes):
        raise RuntimeError("dim appears multiple times in the list of dims")
    return Flip.apply(input, dims=axes)


@public(method=False)
def fliplr(input):
    """Columns in reverse order."""
    return flip(input, 1)


@public(method=False)
def flipud(input):
    """Rows in reverse order."""
    return flip(input, 0)


@public()
def roll(input, shifts, dims=()):
    """The elements moved along `dims`, those pushed out coming in at the other end."""
    shifts, dims = ((x,) if isinstance(x, int) else tuple(x) for x in (shifts, dims))
    if dims and len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return Roll.apply(input, shifts=shifts, dims=tuple(axis_of(d, input.ndim) for d in dims))


@public(where=())
def repeat(input, *repeats):
    """Copies side by side, `repeats` along each dimension (new ones in front)."""
    repeats = _ints(repeats)
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return Repeat.apply(input, repeats=repeats)


@public()
def tile(input, *dims):
    """As `repeat`, with ones for the dimensions that `dims` leaves out in front."""
    dims = _ints(dims)
    return Repeat.apply(input, repeats=(1,) * (input.ndim - len(dims)) + dims)


def _need_matrix(name, input):
    if len(input.shape) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@public(inplace=Tril)
def tril(input, diagonal=0):
    """The lower triangle, zeros above it."""
    _need_matrix("tril", input)
    return Tril.apply(input, diagonal=diagonal)


@public(inplace=Triu)
def triu(input, diagonal=0):
    """The upper triangle, zeros below it."""
    _need_matrix("triu", input)
    return Triu.apply(input, diagonal=diagonal)


def _reverse(self):
    """The dimensions in reverse order."""
    return Permute.apply(self, dims=tuple(reversed(range(self.ndim))))


bind("T", property(_reverse))
bind("H", property(_reverse))
bind("mT", property(lambda self: transpose(self, -2, -1)))
