"""Top-level names of PyTorch that programs use now and then: settings, queries, and older ways to make a tensor."""

from __future__ import annotations

import builtins
import math
import warnings
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, device, wrap
from ...modes import everywhere
from ...ops import functions
from ...ops.creation.factories import check_device, plain
from .legacy import TYPES
from .storage import TypedStorage

__all__ = [
    "are_deterministic_algorithms_enabled", "asarray", "compiled_with_cxx11_abi", "empty_permuted", "empty_strided",
    "frombuffer", "get_default_device", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled", "is_distributed", "is_storage",
    "is_warn_always_enabled", "range", "scalar_tensor", "set_default_device", "set_default_tensor_type",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_warn_always", "typename",
]  # fmt: skip


def set_default_device(device: Any) -> None:
    """Has no effect for the CPU.

    Raises:
        NotImplementedError: the device is not the CPU.
    """
    check_device(device)


def get_default_device() -> device:
    """The CPU."""
    return device("cpu")


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a type name such as "torch.DoubleTensor". `set_default_dtype` is the newer way."""
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    kind = dtypes.LEGACY.get(t)
    if kind is None:
        raise TypeError(f"invalid type object: {t!r}. Use one of {', '.join(k.__name__ for k in TYPES)}.")
    dtypes.set_default_dtype(kind)


def range(start: Any = 0, end: Any = None, step: Any = 1, **settings: Any) -> Tensor:
    """start, start + step, …, up to and including `end`: the older form of `arange`."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.floor((end - start) / step) + 1
    kind = settings.pop("dtype", None) or dtypes.get_default_dtype()
    return functions["tensor"](start + step * np.arange(count), dtype=kind, **settings)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """`obj` as a tensor. It shares memory if possible (unless `copy`); a tensor stays in its graph unless `requires_grad` is False."""
    check_device(device)
    if isinstance(obj, Tensor):
        if copy is False and dtype not in (None, obj.dtype):
            raise ValueError(f"can't alias tensor with dtype '{obj.dtype}' into dtype '{dtype}'. Leave copy out.")
        out = obj if dtype is None else obj.to(dtype)
        out = out.clone() if copy and out is obj else out
        if requires_grad is False:
            out = out.detach()
    else:
        out = functions["as_tensor"](np.array(obj) if copy and isinstance(obj, np.ndarray) else obj, dtype=dtype)
    return out.requires_grad_() if requires_grad else out


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A vector that shares the memory of a buffer, such as `bytes`."""
    array = np.frombuffer(buffer, dtypes.to_numpy_dtype(dtype), count, offset)
    out = functions["from_numpy"](array)
    return out.requires_grad_() if requires_grad else out


@plain
def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a 0-d tensor of the default dtype."""
    kind = dtype or dtypes.get_default_dtype()
    return functions["tensor"](s, dtype=kind, requires_grad=requires_grad)


@plain
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Zeros of shape `size` with the given `stride` in memory."""
    kind = dtypes.to_numpy_dtype(dtype or dtypes.get_default_dtype())
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if all(size) else -1
    steps = [step * kind.itemsize for step in stride]
    out = wrap(np.lib.stride_tricks.as_strided(np.zeros(last + 1, kind), tuple(size), steps))
    return out.requires_grad_() if requires_grad else out


@plain
def empty_permuted(size: Any, physical_layout: Any, **settings: Any) -> Tensor:
    """Zeros of shape `size` whose dimensions lie in memory in the order `physical_layout`."""
    made = functions["zeros"]([size[d] for d in physical_layout], **settings)
    return made.permute([list(physical_layout).index(d) for d in builtins.range(len(size))])


def typename(obj: Any) -> str:
    """The name of the type of `obj`, as in "torch.FloatTensor"."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return (
        kind.__qualname__
        if kind.__module__ in ("builtins", "__builtin__")
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def is_storage(obj: Any) -> bool:
    """True for what `t.storage()` returns."""
    return isinstance(obj, TypedStorage)


def is_distributed(input: Tensor) -> bool:
    """False."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True, as in PyTorch's own packages."""
    return True


# --- settings that have no effect here ---------------------------------------------------------------------------------


def are_deterministic_algorithms_enabled() -> bool:
    """True: everything is always computed in the same order."""
    return True


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """False."""
    return False


def get_deterministic_debug_mode() -> int:
    """0."""
    return 0


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """Has no effect: everything is always computed in the same order."""


def get_float32_matmul_precision() -> str:
    """The value that was set last, or "highest". float32 products are always computed in float32."""
    return _set["float32_matmul_precision"]


def set_float32_matmul_precision(precision: str) -> None:
    """Store the setting: "highest", "high" or "medium". It has no effect."""
    _set["float32_matmul_precision"] = precision


_set = {"float32_matmul_precision": "highest"}


def set_flush_denormal(mode: bool) -> bool:
    """False: the setting is not supported, as in PyTorch on some processors."""
    return False


def get_num_interop_threads() -> int:
    """1."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Has no effect."""


def set_warn_always(b: bool) -> None:
    """Repeat the warnings that appear once in a process, or do so no longer."""
    everywhere.warns_always = b


def is_warn_always_enabled() -> bool:
    """Whether the warnings that appear once in a process are repeated."""
    return everywhere.warns_always
