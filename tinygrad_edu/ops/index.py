"""Parts of a tensor: indexing, writing to an index, strided windows."""

from __future__ import annotations

import numpy as np

from ..autograd.inplace import view_index
from ..tensor import Tensor, tensor_method, wrap
from .op import Op, linear
from .shape import reshape, unsqueeze


class Select(Op):
    """One position along one dimension."""

    view = True

    def forward(self, *, dim, index):
        # An Ellipsis keeps a 0-d result a view.
        return self[(slice(None),) * dim + (index, ...)]

    def grad_self(grad, self_sym_sizes, dim, index):
        return scatter_slice(grad, self_sym_sizes, (slice(None),) * dim + (index, ...))

    jvp = linear


class Slice(Op):
    """start, start + step, … along one dimension."""

    view = True

    def forward(self, *, dim, start, end, step):
        return self[(slice(None),) * dim + (slice(start, end, step),)]

    def grad_self(grad, self_sym_sizes, dim, start, end, step):
        return scatter_slice(grad, self_sym_sizes, (slice(None),) * dim + (slice(start, end, step),))

    jvp = linear


class ScatterSlice(Op, name="SliceScatterBackward0"):
    """Zeros of shape `size` with `self` at `where`, a basic index: the transpose of taking it."""

    def forward(self, *, size, where):
        out = np.zeros(size, self.dtype)
        out[where] = self
        return out

    def grad_self(grad, where):
        return take(grad, where)

    jvp = linear


class Take(Op, name="IndexBackward1"):
    """A basic index without the view."""

    def forward(self, *, where):
        return self[where].copy() if isinstance(self[where], np.ndarray) else self[where]

    def grad_self(grad, self_sym_sizes, where):
        return scatter_slice(grad, self_sym_sizes, where)

    jvp = linear


class Index(Op):
    """Indexing by arrays: a copy, in which positions may repeat."""

    def forward(self, *, indices):
        return self[indices]

    def grad_self(grad, self_sym_sizes, indices):
        return accumulate_at(grad, self_sym_sizes, indices)

    jvp = linear


class AccumulateAt(Op, name="IndexPutBackward1"):
    """Zeros of shape `size` to which `self` is added at `indices`, repeated positions summed."""

    def forward(self, *, size, indices):
        out = np.zeros(size, self.dtype)
        np.add.at(out, indices, self)
        return out

    def grad_self(grad, indices):
        return Index.apply(grad, indices=indices)

    jvp = linear


class IndexPut(Op):
    """`self` with `values` written (or added) at `indices`."""

    def forward(self, values, *, indices, accumulate=False):
        out = self.copy()
        if accumulate:
            np.add.at(out, indices, values)
        else:
            out[indices] = values
        return out

    def grad_self(grad, indices, accumulate):
        return grad if accumulate else IndexPut.apply(grad, 0.0, indices=indices)

    def grad_values(grad, indices):
        return Index.apply(grad, indices=indices)

    def jvp(tangent, values_tangent, indices, accumulate):
        return IndexPut.apply(tangent, values_tangent, indices=indices, accumulate=accumulate)


class AsStrided(Op):
    """A window on the storage, by size, stride and offset in elements."""

    view = True

    def forward(self, *, size, stride, storage_offset, _index):
        window = self.reshape(-1)[storage_offset:] if self.flags.c_contiguous else self
        return np.lib.stride_tricks.as_strided(window, size, [s * self.itemsize for s in stride])

    def grad_self(grad, self_sym_sizes, size, stride, storage_offset, _index):
        return reshape(
            accumulate_at(reshape(grad, (-1,)), (_numel(self_sym_sizes),), (_index.reshape(-1),)), self_sym_sizes
        )

    jvp = linear


class Copy(Op, name="CopyBackwards"):
    """What `copy_` leaves: nothing of the old value, all of `src`."""

    def forward(self, src):
        return np.broadcast_to(src, self.shape).astype(self.dtype)

    def grad_self(grad):
        return grad * 0

    def grad_src(grad):
        return grad

    def jvp(tangent, src_tangent):
        return src_tangent


class Zero(Op):
    """What `zero_` leaves."""

    def forward(self):
        return np.zeros_like(self)

    def grad_self(grad):
        return grad * 0

    jvp = linear


class Fill(Op):
    """What `fill_` with a number leaves."""

    def forward(self, *, value):
        return np.full_like(self, value)

    def grad_self(grad):
        return grad * 0


class FillTensor(Op, name="FillBackward2"):
    """What `fill_` leaves; its value may be a 0-d tensor with a gradient."""

    def forward(self, value):
        return np.full_like(self, value)

    def grad_self(grad):
        return grad * 0

    def grad_value(grad):
        return grad.sum()


def _numel(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


# --- functions -----------------------------------------------------------------------------------------------------------


def scatter_slice(value, size, where):
    """Zeros of shape `size` with `value` at the basic index `where`."""
    return ScatterSlice.apply(value, size=tuple(size), where=where)


def take(value, where):
    """The basic index `where` of `value`, as a copy."""
    return Take.apply(value, where=where)


def accumulate_at(value, size, indices):
    """Zeros of shape `size` to which `value` is added at `indices`."""
    return AccumulateAt.apply(value, size=tuple(size), indices=indices)


def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with `values` written at `indices` (added to, with `accumulate`)."""
    arrays = tuple(_index_array(i) for i in indices)
    return IndexPut.apply(input, _values(values, input), indices=arrays, accumulate=accumulate)


def select(input, dim, index):
    """The slice at `index` along `dim`, without that dimension."""
    shape = input.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = _axis(dim, len(shape))
    n = shape[axis]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return Select.apply(input, dim=axis, index=index % n)


def narrow(input, dim, start, length):
    """`length` positions from `start` on, along `dim`."""
    axis = _axis(dim, len(input.shape))
    n = input.shape[axis]
    start = start % n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return Slice.apply(input, dim=axis, start=start, end=start + length, step=1)


def as_strided(input, size, stride, storage_offset=None):
    """A window on the storage of `input`, by size, stride and offset in elements."""
    base = input._view.base if input._view is not None else input
    offset = input.storage_offset() if storage_offset is None else storage_offset
    window = np.lib.stride_tricks.as_strided(
        base._data.reshape(-1)[offset:] if base._data.flags.c_contiguous else base._data,
        tuple(size),
        [s * base._data.itemsize for s in stride],
    )
    if base is not input:
        raise NotImplementedError("as_strided of a view is not built: take it of the base tensor.")
    return AsStrided.apply(
        input, size=tuple(size), stride=tuple(stride), storage_offset=offset, _index=view_index(base._data, window)
    )


@tensor_method
def _as_strided_node(base: Tensor, view: Tensor) -> Op:
    """The history of a view whose storage was written to: the base as it is now, seen through the view's window."""
    settings = {
        "size": tuple(view.shape),
        "stride": view.stride(),
        "storage_offset": view.storage_offset(),
        "_index": view_index(base._data, view._data),
    }
    return AsStrided._record((base,), settings, (view,))


def _axis(dim, ndim):
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def _index_array(index):
    if isinstance(index, Tensor):
        if index._data.dtype.kind not in "iub":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return index._data
    return np.asarray(index) if isinstance(index, list) else index


def _values(values, target):
    return values if isinstance(values, Tensor | int | float | bool) else wrap(np.asarray(values, target._data.dtype))


def _is_advanced(item):
    return isinstance(item, Tensor | np.ndarray | list) and not (
        isinstance(item, Tensor) and item.ndim == 0 and item._data.dtype.kind in "iu"
    )


def _plan(t, key):
    """The index as a tuple without Ellipsis, one entry a dimension (None adds one)."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = 0
    for item in items:
        if item is None or item is Ellipsis:
            continue
        used += item.ndim if isinstance(item, Tensor | np.ndarray) and getattr(item, "_data", item).dtype == bool else 1
    if used > t.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t.ndim}")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if dots:
        items[dots[0] : dots[0] + 1] = [slice(None)] * (t.ndim - used)
    return items


def getitem(input, key):
    """`input[key]`: views for integers and slices, a copy for arrays of indices or booleans."""
    items = _plan(input, key)
    out, dim = input, 0
    advanced = []
    for item in items:
        if item is None:
            out = unsqueeze(out, dim)
            dim += 1
        elif isinstance(item, slice):
            if item.step is not None and item.step <= 0:
                raise ValueError("step must be greater than zero")
            start, end, step = item.indices(out.shape[dim])
            if (start, end, step) != (0, out.shape[dim], 1):
                out = Slice.apply(out, dim=dim, start=start, end=max(start, end), step=step)
            dim += 1
        elif isinstance(item, bool):
            raise NotImplementedError(
                "a single True or False as an index is not built: use unsqueeze(0), or a mask tensor"
            )
        elif _is_advanced(item):
            array = _index_array(item)
            advanced.append((dim, array))
            dim += array.ndim if array.dtype == bool else 1
        else:
            out = select(out, dim, int(item))
    if advanced:
        full = [slice(None)] * out.ndim
        position = 0
        for position, array in advanced:
            full[position : position + (array.ndim if array.dtype == bool else 1)] = [array]
            # A mask over several dimensions takes the place of them all: the entries behind it move up.
            advanced = [(p - (array.ndim - 1 if array.dtype == bool and p > position else 0), a) for p, a in advanced]
        try:
            return Index.apply(out, indices=tuple(full))
        except IndexError as error:
            raise IndexError(f"{error}. The tensor has shape {list(input.shape)}.") from None
    if out is input:
        from .shape import View

        return (
            View.apply(input, size=tuple(input._data.shape))
            if input.ndim == 0
            else Slice.apply(input, dim=0, start=0, end=input.shape[0], step=1)
        )
    return out


@tensor_method
def __setitem__(self, key, value):
    items = _plan(self, key)
    if any(_is_advanced(i) for i in items):
        arrays = tuple(_index_array(i) if _is_advanced(i) else i for i in items)
        IndexPut.apply_(self, _values(value, self), indices=arrays)
        return
    window = getitem(self, key)
    if isinstance(value, Tensor):
        copy_(window, value)
    else:
        fill_(window, value)


def copy_(self, src, non_blocking=False):
    """Write the values of `src`, broadcast, into this tensor."""
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    try:
        np.broadcast_shapes(src._data.shape, self._data.shape)
    except ValueError:
        raise RuntimeError(
            f"The size of tensor a {list(self.shape)} must match the size of tensor b {list(src.shape)}: they do not broadcast"
        ) from None
    while src.ndim > self.ndim and src.shape[0] == 1:
        src = select(src, 0, 0)
    return Copy.apply_(self, src)


def zero_(self):
    """Write 0 everywhere."""
    return Zero.apply_(self)


def fill_(self, value):
    """Write `value` everywhere."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return FillTensor.apply_(self, value)
    return Fill.apply_(self, value=value)
