"""What third-party optimizers import from PyTorch's own (PyTorch: names of `torch.optim.optimizer` with an underscore)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..autograd.grad_mode import set_grad_enabled
from ..dtypes import float32, float64, get_default_dtype
from ..ops import functions
from ..tensor import Tensor

__all__ = ["DeviceDict", "ParamsT"]

ParamsT: TypeAlias = Iterable[Any]
StateDict: TypeAlias = dict[str, Any]
DeviceDict = DeviceDtypeDict = dict[Any, Any]
_foreach_doc = "foreach: accepted without effect."
_fused_doc = "fused: accepted without effect."
_capturable_doc = "capturable: refused."
_differentiable_doc = "differentiable: refused."
_maximize_doc = "maximize: ascend instead of descend."
_params_doc = "params: the parameters, or groups of them."


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            return func(self, *args, **kwargs)

    return call


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    return False, False


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[..., Any]:
    return lambda func: func


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


_to_scalar = _get_value


def _stack_if_compiling(x: Any) -> Any:
    return x


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex tensors by views of their real and imaginary parts."""
    for i, p in enumerate(params):
        if p.is_complex():
            for values in (params, *state_and_grads):
                values[i] = functions["view_as_real"](values[i])


def _get_scalar_dtype(is_fused: Any = None) -> Any:
    return float32 if is_fused else float64 if get_default_dtype() is float64 else float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    pass
