"""Mixed precision, which needs a GPU: disabled it changes nothing, as in PyTorch without one (`torch.amp`)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ... import dtypes
from .scaling import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_NO_CPU = (
    "autocast on the CPU computes in bfloat16, which is not built here. Leave it out (enabled=False), or use .half() "
    "on the tensors that should be float16."
)


class autocast:
    """Within `with`, or around a function: nothing for "cuda" without a GPU (with PyTorch's warning), refused for "cpu"."""

    def __init__(
        self, device_type: str = "cuda", dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            # The form of cuda.amp.autocast(enabled).
            device_type, enabled = "cuda", bool(device_type)
        if enabled and device_type == "cpu":
            raise NotImplementedError(_NO_CPU)
        if enabled:
            warnings.warn(
                f"User provided device_type of '{device_type}', but {device_type.upper()} is not available. Disabling",
                UserWarning,
                stacklevel=2,
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


def is_autocast_available(device_type: str) -> bool:
    """False: see `autocast`."""
    return False


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """False: see `autocast`."""
    return False


def is_autocast_cpu_enabled() -> bool:
    """The older form of `is_autocast_enabled("cpu")`."""
    warnings.warn(
        "torch.is_autocast_cpu_enabled() is deprecated. Please use torch.is_autocast_enabled('cpu') instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return False


def get_autocast_dtype(device_type: str) -> Any:
    """What PyTorch's autocast computes in: bfloat16 on the CPU, float16 on a GPU."""
    return dtypes.bfloat16 if device_type == "cpu" else dtypes.float16


def custom_fwd(fwd: Callable[..., Any] | None = None, **settings: Any) -> Any:
    """The forward of a Function itself: nothing is cast."""
    return fwd if fwd is not None else functools.partial(custom_fwd, **settings)


def custom_bwd(bwd: Callable[..., Any] | None = None, **settings: Any) -> Any:
    """The backward of a Function itself: nothing is cast."""
    return bwd if bwd is not None else functools.partial(custom_bwd, **settings)
