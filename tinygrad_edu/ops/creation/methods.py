"""Small methods of Tensor: `detach`, `to` and other conversions of the dtype, `contiguous`, and simple questions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import absent, dtypes
from ...array.tensor import Tensor, share_storage, wrap
from ...overrides import behind_core, overridable
from ..binding import functions
from . import factories as creation
from .copies import Clone, clone, to_copy


def detach(self: Tensor) -> Tensor:
    """The same values and the same storage, outside the graph. A write to one changes both, and both version counters.

    >>> w = T.tensor(2.0, requires_grad=True)
    >>> T.detach(w * 3)
    tensor(6.)
    """
    out = wrap(self._data)
    share_storage(out, self)
    return out


def detach_(self: Tensor) -> Tensor:
    """Detach this tensor from the graph, in place: it becomes a leaf and loses its tangent.

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
    return self if self.value.dtype == d else to_copy(self, d)


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, **ignored: Any) -> Tensor:
    """This tensor in another dtype; the tensor itself if it already has that dtype. The only device is the CPU.

    >>> T.tensor([1.5, 2.5]).to(T.int64)
    tensor([1, 2])
    """
    dtype, copy = target_of(args, dtype, device, copy)
    kind = self.value.dtype if dtype is None else dtypes.to_numpy_dtype(dtype)
    if self.value.dtype == kind:
        return clone(self) if copy else self
    return to_copy(self, kind)


def target_of(args: tuple[Any, ...], dtype: Any, device: Any, copy: bool = False) -> tuple[Any, bool]:
    """The dtype that the arguments of `to` ask for, and whether to copy, in PyTorch's forms: (other), (dtype), …."""
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
    """This tensor in the dtype of `other`."""
    return _to_numpy_dtype(self, other.value.dtype)


def type(self: Tensor, dtype: Any = None) -> Any:
    """This tensor in another dtype; without `dtype`, PyTorch's name of its type, such as "torch.FloatTensor"."""
    if dtype is None:
        return f"torch.{self.dtype.legacy_name}Tensor"
    if dtype is Tensor:
        dtype = dtypes.get_default_dtype()
    if dtypes.LEGACY.get(dtype) is None and not isinstance(dtype, dtypes.dtype) and dtype not in (float, int, bool):
        name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", repr(dtype))
        if "cuda" in name:
            raise NotImplementedError(f"{name}: tinygrad_edu computes only on the CPU. Leave 'cuda' out.")
        if name.rpartition(".")[2] in absent.NAMES:
            raise TypeError(absent.sentence(name))
        raise ValueError(f"invalid type: {name!r}. Pass a dtype such as float32.")
    return _to_numpy_dtype(self, dtypes.to_numpy_dtype(dtypes.LEGACY.get(dtype, dtype)))


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in memory in row-major order, else a copy in that order."""
    return self if self._data.flags.c_contiguous else Clone.apply(self, order="C")


def __reversed__(self: Tensor) -> Tensor:
    return self.flip(0) if self.ndim else self


def ndimension(self: Tensor) -> int:
    """The number of dimensions."""
    return self.ndim


for _function in (detach, detach_):
    functions[_function.__name__] = overridable(_function)


class _Absent:
    """A placeholder for a name that only PyTorch has: it raises with an explanation. Users may overwrite it.
    `__getattr__` is not used for this: it makes reading any attribute of the class ten times slower."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise AttributeError(absent.sentence(self.name, "Tensor"))


class AbsentMethods:
    """Reading a name that only PyTorch has raises the sentence of `absent`. These stand behind all other methods."""

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - {*absent.NAMES})  # completion offers what is there


for _name in absent.NAMES:
    setattr(AbsentMethods, _name, _Absent(_name))


def _converted(dtype: dtypes.dtype, name: str) -> Callable[..., Tensor]:
    """A method that gives the tensor in `dtype`."""

    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return _to_numpy_dtype(self, dtype.numpy)

    return overridable(method, name)


def _new(name: str) -> Callable[..., Any]:
    make = creation.plain(getattr(creation, name), f"new_{name}")

    def method(self: Tensor, *args: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return make(*args, dtype=self.dtype if dtype is None else dtype, **kwargs)

    method.__doc__ = f"As `{name}`, but by default in this tensor's dtype."
    return method


for _name in creation.__all__:
    functions[_name] = overridable(creation.plain(getattr(creation, _name), _name), _name)


_FLOATS = ((dtypes.float64, "double"), (dtypes.float32, "float"), (dtypes.float16, "half"))
_WHOLE = ((dtypes.int64, "long"), (dtypes.int32, "int"), (dtypes.int16, "short"))
_BYTES = ((dtypes.int8, "char"), (dtypes.uint8, "byte"), (dtypes.bool_, "bool"))


class ConversionMethods:
    """The methods of Tensor that are defined here."""

    detach_ = overridable(detach_)
    to = overridable(to)
    type_as = overridable(type_as)
    type = overridable(type)
    contiguous = overridable(contiguous)
    __reversed__ = overridable(__reversed__)
    ndimension = overridable(ndimension)
    _to_numpy_dtype = _to_numpy_dtype
    new_zeros, new_ones, new_full = _new("zeros"), _new("ones"), _new("full")
    new_empty, new_tensor = _new("empty"), _new("tensor")
    double, float, half = (_converted(*each) for each in _FLOATS)
    long, int, short = (_converted(*each) for each in _WHOLE)
    char, byte, bool = (_converted(*each) for each in _BYTES)

    def __pos__(self) -> Any:
        return self


behind_core["detach"] = overridable(detach)
