"""Indexing with brackets, to read and to write: integers, slices and None make views, index arrays and masks copies."""

from __future__ import annotations

import itertools
import operator
import warnings
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...autograd.inplace import check_inplace, refuse_shared_memory
from ...core.tensor import Alias, Select, Slice
from ...modes import quiet, thread
from ...overrides import behind_core, overridable
from ..arrays import copied, sum_at
from ..binding import both_forms, method, public
from ..creation.copies import copy_, fill_, to_copy
from ..creation.factories import fitted
from ..op import LinearOp
from ..operands import need_tensor
from ..shapes.shape import axis_of, expand, unsqueeze, view


class Index(LinearOp):
    """Indexing by arrays: a copy, in which an element may occur several times."""

    without_gradient = ("indices",)

    def forward(self, *, indices):
        return np.asarray(self[indices], order="C")

    def grad_self(grad, self_sym_sizes, indices):
        return accumulate_at(grad, self_sym_sizes, indices)


class AccumulateAt(LinearOp, name="IndexPutBackward1"):
    """Zeros of shape `size` with `self` added at `indices`; values at repeated positions are summed."""

    without_gradient = ("indices",)

    def forward(self, *, size, indices):
        return sum_at(size, indices, self)

    def grad_self(grad, indices):
        return Index.apply(grad, indices=indices)


class IndexPut(LinearOp):
    """`self` with `values` written (or added) at `indices`."""

    apart = True
    without_gradient = ("indices",)

    def forward(self, values, *, indices, accumulate=False):
        out = copied(self, "K")
        if accumulate:
            np.add.at(out, indices, np.broadcast_to(values, out[indices].shape))  # NumPy itself reads beyond a row
        else:
            out[indices] = values
        return out

    def grad_self(grad, indices, accumulate):
        return grad if accumulate else IndexPut.apply(grad, 0.0, indices=indices)

    def grad_values(grad, indices):
        return Index.apply(grad, indices=indices)


def accumulate_at(value: Any, size: Any, indices: Any) -> Any:
    """Zeros of shape `size` with `value` added at `indices`."""
    return AccumulateAt.apply(value, size=tuple(size), indices=indices)


def _put_settings(input, indices, values):
    indices = _watched(tuple(_index_array(i) for i in indices), indices)
    _check_put(input, indices, need_tensor("index_put", values, "values"))
    return indices


def _index_put_(self, indices, values, accumulate=False):
    return IndexPut.apply_(self, values, indices=_put_settings(self, indices, values), accumulate=accumulate)


@public()
def index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """A copy of `input` with `values` written at `indices`, or added there with `accumulate`."""
    return IndexPut.apply(input, values, indices=_put_settings(input, indices, values), accumulate=accumulate)


@public()
def select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slice at `index` along `dim`, as a view without that dimension.

    >>> T.select(T.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    return _selected(input, axis_of(dim, input.ndim), index)


@public()
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A view of `length` positions along `dim`, from `start` on.

    >>> T.narrow(T.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    if not input.ndim or length < 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor, and its length must be non-negative.")
    axis = axis_of(dim, input.ndim)
    n = input.shape[axis]
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [-{n}, {n}], but got {start})")
    start = start % n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return Slice.apply(input, dim=axis, start=start, end=start + length, step=1)


def _index_array(index):
    """The array of an advanced index: integers, or booleans for a mask."""
    array = index._data if isinstance(index, Tensor) else np.array(_numbers(index))
    if array.dtype.kind not in "ib" and (array.size or isinstance(index, Tensor)):
        if array.dtype != np.uint8:
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors: index.long(), mask.bool()"
            )
        told = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead: mask.bool()."
        warnings.warn(told, UserWarning, stacklevel=2)
        array = array.astype(bool)
    return array if array.size else array.astype(bool if array.dtype == bool else np.int64)


def _numbers(index):
    """Nested lists of indices, with one-element tensors replaced by numbers."""
    if isinstance(index, list | tuple):
        return [_numbers(i) for i in index]
    return index.tolist() if isinstance(index, Tensor) else index


def _as_tuple(key):
    """PyTorch reads a list that contains lists, tensors, slices, None or Ellipsis as a tuple of indices."""
    parts = list | tuple | range | slice | Tensor | np.ndarray | None
    if not isinstance(key, list) or not any(isinstance(i, parts) or i is Ellipsis for i in key):
        return key
    told = "Using a non-tuple sequence for multidimensional indexing is deprecated: x[[a, b]] is read as x[a, b]"
    warnings.warn(f"{told}. Write x[tuple(seq)], or x[tensor(seq)].", UserWarning, stacklevel=4)
    return tuple(key)


def _watched(arrays, indices):
    """The arrays, or the tensors in `indices` that own them, so that a later write to these is detected."""
    tensors = {id(i._data): i for i in indices if isinstance(i, Tensor)}
    return tuple(tensors.get(id(a), a) for a in arrays)


def _is_advanced(item):
    """True for index arrays and masks. A 0-d integer tensor counts as an integer."""
    if isinstance(item, Tensor | np.ndarray):
        return item.ndim > 0 or getattr(item, "_data", item).dtype in (bool, np.uint8)
    return isinstance(item, list | tuple | range)


def _plan(t, key):
    """The index as a list without Ellipsis, with one entry per dimension (None, True and False add a dimension)."""
    items = [_index_array(i) if _is_advanced(i) else i for i in (key if isinstance(key, tuple) else (key,))]
    items = [bool(i) if isinstance(i, np.ndarray) and not i.ndim else i for i in items]
    reading = [i for i in items if not (i is None or i is Ellipsis or isinstance(i, bool))]
    used = sum(i.ndim if isinstance(i, np.ndarray) and i.dtype == bool else 1 for i in reading)
    if used > t.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t.ndim}")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    where = dots[0] if dots else len(items)
    items[where : where + 1] = [slice(None)] * (t.ndim - used)
    return items


def _window(input, key):
    """The basic part of `input[key]`, as a chain of views; and the arrays that index that result, or None. PyTorch
    first applies integers, slices and None, each as a view, and passes the arrays to one `index` op."""
    if not input.ndim and isinstance(key, slice):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if not input.ndim and type(key) is int:
        item = "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number"
        raise IndexError(f"index {key} is out of bounds for dimension 0 with size 0" if key else item)
    out, dim, left = input, 0, []
    for item in _plan(input, key):
        if isinstance(item, str):
            raise TypeError("new(): invalid data type 'str'. An index consists of integers, slices, None or booleans.")
        rest: Any = slice(None)
        if item is None:
            out = unsqueeze(out, dim)
        elif isinstance(item, slice):
            if item.indices(out.shape[dim]) != (0, out.shape[dim], 1):
                out = _sliced(out, dim, item)
        elif isinstance(item, bool):
            # A single index into a new dimension of size 1, or no index.
            out, rest = unsqueeze(out, dim), np.zeros(int(item), np.int64)
        elif isinstance(item, np.ndarray):
            _check_bounds(item, out.shape, dim)
            rest = item
        else:
            out = _selected(out, dim, item)
            continue
        left.append(rest)
        dim += rest.ndim if isinstance(rest, np.ndarray) and rest.dtype == bool else 1
    if not any(isinstance(i, np.ndarray) for i in left):
        return out, None
    return out, _watched(left, key if isinstance(key, tuple) else (key,))


def _sliced(t, dim, item):
    if item.step is not None and item.step <= 0:
        raise ValueError("step must be greater than zero")
    start, end, step = item.indices(t.shape[dim])
    return Slice.apply(t, dim=dim, start=start, end=max(start, end), step=step)


def _selected(t, dim, item):
    try:
        index = operator.index(item)
    except TypeError:
        kinds = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
        raise IndexError(f"{kinds} (got {type(item).__name__})") from None
    n = t.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {n}")
    return Select.apply(t, dim=dim, index=index % n)


def _check_bounds(indices, shape, dim):
    if indices.dtype == bool:
        if indices.shape != tuple(shape[dim : dim + indices.ndim]):
            at = next((i for i, n in enumerate(indices.shape) if n != shape[dim + i]), 0)
            told = f"The shape of the mask {list(indices.shape)} at index {at} does not match the shape of the indexed"
            raise IndexError(f"{told} tensor {list(shape)} at index {dim + at}")
        return
    n = shape[dim]
    outside = indices[(indices < -n) | (indices >= n)]
    if outside.size:
        raise IndexError(f"index {outside.flat[0]} is out of bounds for dimension {dim} with size {n}")


def _no_such_shape(indices):
    shapes = ", ".join(str(list(i.shape)) for i in indices if not isinstance(i, slice))
    return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")


def getitem(input: Any, key: Any) -> Any:
    """`input[key]`: a view for integers and slices, a copy for index arrays and masks."""
    key = _as_tuple(key)
    if isinstance(key, slice) and input.ndim:
        # A full slice that stands alone is also an op.
        return _sliced(input, 0, key)
    out, indices = _window(input, key)
    if indices is not None:
        try:
            return Index.apply(out, indices=indices)
        except IndexError:
            raise _no_such_shape(indices) from None
    return Alias.apply(out) if out is input else out


def __setitem__(self, key, value):
    if key is False:
        return
    key = None if key is True else _as_tuple(key)
    if not isinstance(value, Tensor | np.ndarray | np.generic | int | float):
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{self.dtype.legacy_name}Tensor")
    window, indices = _window(self, key)
    if not isinstance(value, Tensor):
        whole = self.value.dtype.kind in "iu" and isinstance(value, int | float)
        value = wrap(fitted(value, self.value.dtype) if whole else quiet(np.asarray, value, self.value.dtype))
    if indices is not None:
        arrays = [getattr(i, "_data", i) for i in indices if not isinstance(i, slice)]
        alike = value.value.dtype == window.value.dtype
        if not alike and value.numel() == 1 and len(arrays) == 1 and arrays[0].dtype == bool:
            value = to_copy(value, window.value.dtype)  # like masked_fill_, which takes a number of any dtype
        _write_at(window, indices, value)
    elif not value.ndim and window.ndim:
        fill_(window, value)
    elif value.shape == window.shape:
        copy_(window, value)
    else:
        value = view(value, _without_leading_ones(value.shape))
        copy_(window, value if value.shape == window.shape else expand(value, window.shape))


def _without_leading_ones(sizes):
    return tuple(itertools.dropwhile(lambda n: n == 1, sizes))


def _write_at(window, indices, value):
    # First ask autograd whether it allows the write, then check whether type and shape fit.
    if thread.state.recording and (window.requires_grad or value.requires_grad):
        check_inplace(window, record=True)
    sizes = _without_leading_ones(value.shape)
    if sizes != value.shape:
        value = view(value, sizes)
    _check_put(window, indices, value)
    IndexPut.apply_(window, value, indices=indices)


def _check_put(window, indices, value):
    """Raise unless `value` has the dtype of `window` and fits what the indices select."""
    try:
        shape = window._data[tuple(getattr(i, "_data", i) for i in indices)].shape
    except IndexError:
        raise _no_such_shape(indices) from None
    try:
        np.broadcast_to(value._data, shape)
    except ValueError:
        refuse_shared_memory(window, (value,), apart=True)
        told = f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result"
        raise RuntimeError(f"{told} of shape {list(shape)}") from None
    if value.value.dtype != window.value.dtype:
        kinds = f"{window.dtype.legacy_name} for the destination and {value.dtype.legacy_name} for the source"
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {kinds}: use value.to(…).")


class IndexMethods:
    """The methods of Tensor that are defined here."""

    index_put, index_put_ = both_forms(index_put, _index_put_)
    select = method(select)
    narrow = method(narrow)
    __setitem__ = overridable(__setitem__)


behind_core["__getitem__"] = overridable(getitem, "__getitem__")
