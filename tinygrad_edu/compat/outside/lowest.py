"""The names of PyTorch's C++ layer that libraries write in a program (PyTorch: `torch._C`). There is no C++ here."""

from __future__ import annotations

import sys
from typing import Any

from ...core.state import thread
from ...dtypes import dtype
from ...generator import Generator
from ...tensor import Size, Tensor, device

__all__ = ["DisableTorchFunctionSubclass", "Generator", "Size", "device", "dtype"]

TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)


class DisableTorchFunctionSubclass:
    """A context in which ops do not call the `__torch_function__` of subclasses; here subclasses follow by their class alone."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


DisableTorchFunction = DisableTorchFunctionSubclass


def _disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return func(*args, **(kwargs or {}))


def _log_api_usage_once(event: str) -> None:
    pass


def _get_tracing_state() -> None:
    return None


def _are_functorch_transforms_active() -> bool:
    return bool(getattr(thread.state, "transforms", False))


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def _get_accelerator(check: Any = None) -> device:
    return device("cpu")


def _is_torch_function_enabled() -> bool:
    return True


def _switch(*args: Any, **kwargs: Any) -> bool:
    return False


_jit_set_profiling_mode = _jit_set_profiling_executor = _jit_override_can_fuse_on_gpu = _switch
_jit_override_can_fuse_on_cpu = _jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _switch
_jit_set_bailout_depth = _switch


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """What the arguments of `t.to(…)` ask for: a device, a dtype, whether not to wait, a memory format."""
    where, kind = kwargs.get("device"), kwargs.get("dtype")
    for value in args:
        if isinstance(value, Tensor):
            where, kind = value.device, value.dtype
        elif isinstance(value, dtype):
            kind = value
        elif isinstance(value, str | device | int) and not isinstance(value, bool):
            where = value
    wait = kwargs.get("non_blocking", False) or any(value is True for value in args)
    return None if where is None else device(where), kind, wait, kwargs.get("memory_format")


_nn = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"_C.{name}: this is a part of PyTorch's C++ layer, which is not built here. Use the public function above it, or run "
        "the program on PyTorch."
    )
