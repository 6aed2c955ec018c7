"""The memory of a tensor: `storage()`, `resize_`, `set_` (PyTorch: `torch.Storage`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...array.dtypes import dtype, from_numpy_dtype
from ...array.tensor import Tensor, bind, wrap
from ...autograd.inplace import check_inplace, owner, rebase_history
from ...core.tensor import Node, gradient_edge, sequence
from ...modes import bump_version, thread
from ...ops.creation.factories import resize, shape_of
from ...overrides import overridable

__all__ = ["TypedStorage", "UntypedStorage"]


def _owner(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `array`, flattened."""
    memory = owner(array) if owner(array).dtype == array.dtype else array
    return memory.reshape(-1) if memory.flags.c_contiguous else array.reshape(-1)


class TypedStorage:
    """The elements in memory, one after the other, whatever the tensor's shape."""

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

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

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
    """All elements in the memory that this tensor uses, also those of its other views."""
    return TypedStorage(_owner(self._data))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """All bytes in the memory that this tensor uses, also those of its other views."""
    return UntypedStorage(_owner(self._data))


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place: elements keep their order, and new ones at the end are 0.

    Raises:
        RuntimeError: the tensor requires grad.
    """
    if self.requires_grad and not thread.state.inference:
        raise RuntimeError("cannot resize variables that require grad: use reshape, which is recorded.")
    shape = shape_of(sizes)
    if shape != tuple(self._data.shape):
        resize(self, shape)
        bump_version(self)
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """Change the shape in place to that of another tensor; see `resize_`.

    >>> import tinygrad_edu as T
    >>> T.resize_as_(T.arange(4), T.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return resize_(self, the_template.shape)


def set_(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Use the memory and shape of `source` from now on; without one, become empty."""
    if source is not None and not isinstance(source, Tensor):
        raise NotImplementedError("set_ accepts only a tensor: pass one, or assign the tensor to the name.")
    if source is not None and source.requires_grad and thread.state.grad_enabled:
        raise NotImplementedError("derivative for set_ is not implemented: pass source.detach().")
    if source is not None and source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype.name} to a tensor of type {self.dtype.name}")
    check_inplace(self, self.requires_grad and thread.state.recording)
    forgets = self.requires_grad and thread.state.recording
    if forgets and self._view is not None:
        raise NotImplementedError(
            "set_ of a view that requires grad is not built: call it on its base, or under no_grad."
        )
    with_elements = wrap(self._data[:0].reshape(-1)[:0]) if source is None else source
    self.data = with_elements
    self._accumulator = None  # graphs made earlier belong to the old tensor
    bump_version(self)
    if forgets:
        rebase_history(self, _NotImplemented(self))
    return self


class _NotImplemented(Node):
    """The history of a tensor that has the memory of another one: as in PyTorch, no gradient goes through."""

    _around = ()

    def __init__(self, t: Tensor) -> None:
        self._outputs = ((t._data.shape, t._data.dtype),)
        self._set_edges((gradient_edge(t),))
        self._seq = next(sequence)

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        raise RuntimeError("derivative for set_ is not implemented. Use set_ on a tensor that needs no gradient.")

    def _release(self) -> None:
        """Nothing is kept."""


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """True if both tensors have the same memory, shape and strides."""
    a, b = self._data, tensor._data
    return (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)


for _function in (storage, untyped_storage, resize_, resize_as_, set_, is_set_to):
    bind(_function.__name__, overridable(_function))
bind("share_memory_", lambda self: self)
bind("is_pinned", lambda self, device=None: False)
bind("storage_type", lambda self: TypedStorage)
