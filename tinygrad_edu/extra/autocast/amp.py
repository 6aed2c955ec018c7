"""Mixed precision (PyTorch: `torch.amp`): `autocast` and `GradScaler` work on the CPU, and do nothing for a GPU, which is not there."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ...array import dtypes
from ...array.tensor import Tensor
from .casts import Region, local, switch
from .scaling import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast:
    """Within `with`, or around a function: products and convolutions in bfloat16 (or float16), losses in float32.

    For "cuda" it is disabled with PyTorch's warning, because there is no GPU.

    Raises:
        NotImplementedError: bfloat16, where the package ml_dtypes is not installed.

    Example:
        >>> import tinygrad_edu as T
        >>> layer = T.nn.Linear(2, 1)
        >>> with T.autocast("cpu", dtype=T.float16):
        ...     y = layer(T.ones(3, 2))
        >>> y.dtype
        tinygrad_edu.float16
    """

    def __init__(
        self, device_type: str = "cuda", dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            # The form of cuda.amp.autocast(enabled).
            device_type, enabled = "cuda", bool(device_type)
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = local.keeps_casts if cache_enabled is None else cache_enabled
        if enabled and device_type != "cpu":
            warnings.warn(
                f"User provided device_type of '{device_type}', but {device_type.upper()} is not available. Disabling",
                UserWarning,
                stacklevel=2,
            )
        elif enabled and self.fast_dtype not in (dtypes.bfloat16, dtypes.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtypes of "
                "torch.bfloat16, torch.float16 currently.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled and device_type == "cpu"
        self._region = Region(self._enabled, self.fast_dtype, self._cache_enabled) if device_type == "cpu" else None
        if self._enabled:
            self.fast_dtype.numpy  # noqa: B018 - where there is no bfloat16, the error comes here

    def __enter__(self) -> autocast:
        if self._region is not None:
            self._region.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._region is not None:
            self._region.__exit__()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call


def is_autocast_available(device_type: str) -> bool:
    """True for "cpu"."""
    return device_type == "cpu"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """True inside `autocast` of that device."""
    return device_type == "cpu" and local.enabled


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for the CPU; prefer `autocast`."""
    if device_type == "cpu":
        switch(enabled)


def is_autocast_cpu_enabled() -> bool:
    """The older form of `is_autocast_enabled("cpu")`."""
    warnings.warn(
        "torch.is_autocast_cpu_enabled() is deprecated. Please use torch.is_autocast_enabled('cpu') instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return local.enabled


def get_autocast_dtype(device_type: str) -> Any:
    """What autocast computes in: on the CPU bfloat16, unless a surrounding `autocast` says otherwise; float16 on a GPU."""
    return local.dtype if device_type == "cpu" else dtypes.float16


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set what autocast computes in on the CPU; prefer `autocast(dtype=…)`."""
    if device_type == "cpu":
        local.dtype = dtype


def is_autocast_cache_enabled() -> bool:
    """True unless a surrounding `autocast` was told not to keep the casts of weights."""
    return local.keeps_casts


def clear_autocast_cache() -> None:
    """Forget the casts of weights."""
    local.casts.clear()


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """The tensors in `value`, and in what it holds, in another dtype."""
    if isinstance(value, Tensor):
        takes_part = value.is_floating_point() and device_type == "cpu" and value.dtype is not dtypes.float64
        return value.to(dtype) if takes_part else value
    if isinstance(value, Mapping):
        return {key: _cast(v, device_type, dtype) for key, v in value.items()}
    return type(value)(_cast(v, device_type, dtype) for v in value) if isinstance(value, list | tuple) else value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str = "cuda", cast_inputs: Any = None
) -> Callable[..., Any]:
    """For the forward of a Function: inside `autocast`, run it as it is, or with inputs of the dtype `cast_inputs` and autocast off."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = enabled
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        if not enabled:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cuda") -> Callable[..., Any]:
    """For the backward of a Function: run it with autocast as it was in forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *grads: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *grads)

    return backward
