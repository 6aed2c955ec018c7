"""Small methods of Tensor: `detach`, `to` and other conversions of the dtype, `contiguous`, and simple questions."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...array import absent, dtypes
from ...array.tensor import Tensor, bind, share_storage, wrap
from ...overrides import overridable
from ..binding import functions
from ..indexing.index import select
from . import factories as creation
from .copies import Clone, clone, to_copy


def detach(self: Tensor) -> Tensor:
    """The same values and the same storage, outside the graph. A write to one changes both, and both version counters.

    >>> import tinygrad_edu as T
    >>> w = T.tensor(2.0, requires_grad=True)
    >>> T.detach(w * 3)
    tensor(6.)
    """
    out = wrap(self._data)
    share_storage(out, self)
    return out


def detach_(self: Tensor) -> Tensor:
    """Detach this tensor from the graph, in place: it becomes a leaf and loses its tangent.

    >>> import tinygrad_edu as T
    >>> y = T.tensor(2.0, requires_grad=True) * 3
    >>> y.detach_(), y.requires_grad
    (tensor(6.), False)
    """
    if self._is_view():
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    self._grad_fn, self.output_nr, self._requires_grad = None, 0, False
    self._tangent = None
    return self


def _to_numpy_dtype(self: Tensor, d: np.dtype) -> Tensor:
    return self if self._data.dtype == d else to_copy(self, d)


def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool = False,
    memory_format: Any = None,
    **ignored: Any,
) -> Tensor:
    """This tensor in another dtype; the tensor itself if it already has that dtype. The only device is the CPU.

    >>> import tinygrad_edu as T
    >>> T.tensor([1.5, 2.5]).to(T.int64)
    tensor([1, 2])
    """
    if memory_format == "channels_last":
        self = contiguous(self, memory_format)
    dtype, copy = target_of(args, dtype, device, copy)
    kind = self._data.dtype if dtype is None else dtypes.to_numpy_dtype(dtype)
    if self._data.dtype == kind:
        return clone(self) if copy else self
    return to_copy(self, kind)


def target_of(args: tuple[Any, ...], dtype: Any, device: Any, copy: bool = False) -> tuple[Any, bool]:
    """The dtype that the arguments of `to` ask for, and whether to copy, in all of PyTorch's forms: (other), (dtype), ….

    Raises:
        NotImplementedError: the call asks for a device that is not the CPU.
    """
    if args:
        first, *rest = args
        if isinstance(first, Tensor):
            dtype = first.dtype
        elif isinstance(first, str | int) or first is None or builtins.type(first).__name__ == "device":
            device = first
            if rest:
                dtype, *rest = rest
        else:
            dtype = first
        copy = rest[1] if len(rest) > 1 else copy
    creation.check_device(device)
    return dtype, copy


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype of `other`.

    >>> import tinygrad_edu as T
    >>> T.tensor([1, 2]).type_as(T.tensor([0.5]))
    tensor([1., 2.])
    """
    return _to_numpy_dtype(self, other._data.dtype)


def type(self: Tensor, dtype: Any = None) -> Any:
    """This tensor in another dtype; without `dtype`, PyTorch's name of its type, such as "torch.FloatTensor"."""
    if dtype is None:
        return f"torch.{self.dtype.legacy_name}Tensor"
    if dtype is Tensor:
        dtype = dtypes.get_default_dtype()
    if (
        dtypes.LEGACY.get(dtype) is None
        and not isinstance(dtype, dtypes.dtype)
        and dtype not in (float, int, bool, complex)
    ):
        name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", repr(dtype))
        if "cuda" in name:
            raise NotImplementedError(f"{name}: tinygrad_edu computes only on the CPU. Leave 'cuda' out.")
        why = absent.sentence(name)
        raise (TypeError if why else ValueError)(why or f"invalid type: {name!r}. Pass a dtype such as float32.")
    return _to_numpy_dtype(self, dtypes.to_numpy_dtype(dtypes.LEGACY.get(dtype, dtype)))


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in memory in that order (row-major by default), else a copy in that order.

    >>> import tinygrad_edu as T
    >>> T.ones(2, 3).t().contiguous().is_contiguous()
    True
    """
    if self.is_contiguous(memory_format):
        return self
    return Clone.apply(self, order="channels_last" if memory_format == "channels_last" and self.ndim == 4 else "C")


def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return (select(self, 0, i) for i in range(self.shape[0]))


def __contains__(self: Tensor, item: Any) -> bool:
    if not isinstance(item, Tensor | int | float | complex):
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {builtins.type(item)}."
        )
    return bool(functions["eq"](self, item).any())


def __reversed__(self: Tensor) -> Tensor:
    return functions["flip"](self, (0,)) if self.ndim else self


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """True if both tensors have the same shape.

    >>> import tinygrad_edu as T
    >>> T.is_same_size(T.zeros(2, 3), T.ones(2, 3))
    True
    """
    return self._data.shape == other._data.shape


def is_nonzero(self: Tensor) -> bool:
    """True if the tensor's only element is not 0.

    >>> import tinygrad_edu as T
    >>> T.tensor([2]).is_nonzero()
    True
    """
    return bool(self)


def is_signed(self: Tensor) -> bool:
    """True if the dtype can hold negative numbers.

    >>> import tinygrad_edu as T
    >>> T.is_signed(T.tensor([1])), T.is_signed(T.tensor([1], dtype=T.uint8))
    (True, False)
    """
    return self._data.dtype.kind in "ficV"


def ndimension(self: Tensor) -> int:
    """The number of dimensions."""
    return self.ndim


for _function in (
    detach, detach_, to, type_as, type, contiguous, __iter__, __contains__, __reversed__, is_same_size, is_nonzero, is_signed,
    ndimension,
):  # fmt: skip
    bind(_function.__name__, overridable(_function))
for _function in (detach, detach_, is_same_size, is_nonzero, is_signed):
    functions[_function.__name__] = overridable(_function)


class _Absent:
    """A placeholder for a name that only PyTorch has: it raises with an explanation. Users may overwrite it.

    `__getattr__` is not used for this: it makes reading any attribute of the class ten times slower.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise AttributeError(absent.sentence(self.name))


for _name in absent.NAMES:
    if not hasattr(Tensor, _name):
        bind(_name, _Absent(_name))
bind("_to_numpy_dtype", _to_numpy_dtype)
bind("__pos__", lambda self: self)


def _converted(dtype: Any, self: Tensor, memory_format: Any = None) -> Tensor:
    return _to_numpy_dtype(self, dtypes.to_numpy_dtype(dtype))


for _name, _dtype in {
    "double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16, "long": dtypes.int64, "int": dtypes.int32,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_, "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128, "bfloat16": dtypes.bfloat16,
}.items():  # fmt: skip
    bind(_name, overridable(functools.partial(_converted, _dtype), _name))


def _new(name: str) -> Callable[..., Any]:
    make = creation.plain(getattr(creation, name))

    def method(self: Tensor, *args: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return make(*args, dtype=self.dtype if dtype is None else dtype, **kwargs)

    method.__doc__ = f"As `{name}`, but by default in this tensor's dtype."
    return method


for _name in ("zeros", "ones", "full", "empty", "tensor"):
    bind(f"new_{_name}", _new(_name))
for _name in creation.__all__:
    functions[_name] = overridable(creation.plain(getattr(creation, _name)))
functions["empty"] = overridable(creation.plain(creation.zeros), "empty")
functions["empty_like"] = overridable(creation.plain(creation.zeros_like), "empty_like")
