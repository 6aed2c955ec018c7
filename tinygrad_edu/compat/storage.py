"""The memory behind a tensor, as programs look at it: `storage()`, `resize_`, `set_` (PyTorch: `torch.Storage`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.node import bump_version
from ..core.state import thread
from ..dtypes import dtype, from_numpy_dtype
from ..ops.creation.factories import shape_of
from ..overrides import overridable
from ..tensor import Tensor, bind, wrap

__all__ = ["TypedStorage", "UntypedStorage"]


def _owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory `array` shows, flat."""
    owner = array.base if isinstance(array.base, np.ndarray) and array.base.dtype == array.dtype else array
    return owner.reshape(-1) if owner.flags.c_contiguous else array.reshape(-1)


class TypedStorage:
    """The elements in memory one after the other, whatever the shape of the tensor."""

    def __init__(self, flat: np.ndarray) -> None:
        self._flat = flat

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return from_numpy_dtype(self._flat.dtype)

    def __len__(self) -> int:
        return len(self._flat)

    size = __len__

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        return self._flat[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[index] = value

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._flat.tolist()

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._flat.ctypes.data

    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._flat.nbytes

    def __repr__(self) -> str:
        shown = "\n".join(f" {value}" for value in self.tolist())
        kind = f"dtype=torch.{self.dtype.name}, device=cpu"
        return f"{shown}\n[torch.storage.TypedStorage({kind}) of size {len(self)}]"


class UntypedStorage(TypedStorage):
    """The same memory, byte by byte."""

    def __init__(self, flat: np.ndarray) -> None:
        super().__init__(flat.view(np.uint8))

    def __repr__(self) -> str:
        shown = "\n".join(f" {value}" for value in self.tolist())
        return f"{shown}\n[torch.storage.UntypedStorage(device=cpu) of size {len(self)}]"


def storage(self: Tensor) -> TypedStorage:
    """The elements in memory that this tensor shows, with all that share it."""
    return TypedStorage(_owner(self._data))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes in memory that this tensor shows, with all that share it."""
    return UntypedStorage(_owner(self._data))


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another shape in place: the elements stay in their order, and new ones at the end are 0.

    Raises:
        RuntimeError: the tensor requires grad.
    """
    if self.requires_grad and not thread.state.inference:
        raise RuntimeError("cannot resize variables that require grad: use reshape, which is recorded.")
    shape = shape_of(sizes)
    flat, count = self._data.reshape(-1), math.prod(shape)
    if count > flat.size:
        flat = np.concatenate([flat, np.zeros(count - flat.size, flat.dtype)])
    self._data = flat[:count].reshape(shape)
    bump_version(self)
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """The shape of another tensor, in place; see `resize_`."""
    return resize_(self, the_template.shape)


def set_(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Show the memory of `source` from now on, in its shape; without one, no elements."""
    if source is not None and not isinstance(source, Tensor):
        raise NotImplementedError("set_ accepts only a tensor: pass one, or bind the tensor to the name.")
    with_elements = wrap(self._data[:0].reshape(-1)[:0]) if source is None else source
    self.data = with_elements
    self._accumulator = None  # a graph that was made before is about another tensor
    bump_version(self)
    return self


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """True if both show the same elements of the same memory."""
    a, b = self._data, tensor._data
    return (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)


for _function in (storage, untyped_storage, resize_, resize_as_, set_, is_set_to):
    bind(_function.__name__, overridable(_function))
bind("share_memory_", lambda self: self)
bind("is_shared", lambda self: False)
bind("is_pinned", lambda self, device=None: False)
bind("storage_type", lambda self: TypedStorage)
