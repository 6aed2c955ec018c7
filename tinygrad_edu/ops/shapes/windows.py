"""Windows into a tensor's storage: `unfold`, `as_strided`."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor, tensor_method
from ...autograd.inplace import view_index
from ...core.tensor import Node
from ..binding import public
from ..indexing.index import accumulate_at
from ..op import Op, linear
from .shape import reshape


class AsStrided(Op):
    """A view of the storage with the given size, stride and offset, in elements."""

    view = True

    def forward(self, *, size, stride, storage_offset, _index):
        room = 1 + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)) // self.itemsize
        memory = np.lib.stride_tricks.as_strided(self, (room if self.size else 0,), (self.itemsize,))
        return np.lib.stride_tricks.as_strided(memory[storage_offset:], size, [s * self.itemsize for s in stride])

    def grad_self(grad, self_sym_sizes, size, stride, storage_offset, _index):
        return reshape(
            accumulate_at(reshape(grad, (-1,)), (math.prod(self_sym_sizes),), (_index.reshape(-1),)), self_sym_sizes
        )

    jvp = linear


# --- functions -------------------------------------------------------------------------------------------------------


@public()
def as_strided(input, size, stride, storage_offset=None) -> Tensor:
    """A view of the storage of `input` with the given size, stride and offset, in elements.

    >>> import tinygrad_edu as T
    >>> T.as_strided(T.arange(6), (2, 2), (3, 1))
    tensor([[0, 1],
            [3, 4]])
    """
    if input._view is not None:
        input, storage_offset = _source_of_window(input, tuple(size), tuple(stride), storage_offset)
    if input._data.size and any(n > 1 and step == 0 for n, step in zip(input.shape, input.stride(), strict=True)):
        raise NotImplementedError(
            "as_strided of a tensor whose elements share memory, as after expand(), is not built: clone() it first."
        )
    return AsStrided.apply(input, **window_settings(input, size, stride, storage_offset))


def _source_of_window(view, size, stride, storage_offset):
    """The tensor to take the window from, and the window's offset there: the view itself if the window lies within it, else
    its base, which owns the storage."""
    base, start = view._view.base, view.storage_offset()
    offset = start if storage_offset is None else storage_offset
    needed = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=False))
    if view._data.flags.c_contiguous and offset >= start and offset - start + needed <= view._data.size:
        return view, offset - start
    if view.requires_grad or not base._data.flags.c_contiguous:
        raise NotImplementedError(
            "as_strided of a view, beyond the elements that it shows, is not built where gradients flow: call it on the base "
            "tensor."
        )
    return base, offset


def window_settings(input, size, stride, storage_offset):
    """The settings of AsStrided, after checking that the window lies within the storage."""
    array = input._data
    size, stride = tuple(size), tuple(stride)
    offset = input.storage_offset() if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} and {len(size)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    room, needed = (
        0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True))
        for sizes, steps in ((array.shape, input.stride()), (size, stride))
    )
    if needed and offset + needed > room:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{array.itemsize} requiring a storage size of {(offset + needed) * array.itemsize} are out of bounds for "
            f"storage of size {room * array.itemsize}"
        )
    settings = {"size": size, "stride": stride, "storage_offset": offset, "_index": None}
    settings["_index"] = view_index(array, AsStrided.forward(array, **settings))
    return settings


@tensor_method
def _as_strided_node(base: Tensor, view: Tensor) -> Node:
    """The history of a view whose storage was written to: the current base, seen through the view's window."""
    settings = {
        "size": tuple(view.shape),
        "stride": view.stride(),
        "storage_offset": view.storage_offset(),
        "_index": view_index(base._data, view._data),
    }
    return AsStrided._record((base,), settings, (view,))
