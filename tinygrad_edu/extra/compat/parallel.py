"""Modules on several devices, of which there is one: the module runs on the CPU, as in PyTorch without a GPU (`torch.nn.parallel`)."""

from __future__ import annotations

from typing import Any

from ...nn.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "parallel_apply"]


class DataParallel(Module):
    """Runs `module` on the CPU, as PyTorch does without a GPU. Its parameters get the prefix `module.`.

    >>> import tinygrad_edu as T
    >>> model = T.nn.DataParallel(T.nn.Linear(2, 1))
    >>> [name for name, _ in model.named_parameters()]
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Call `module` on the inputs, on the CPU."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Refused: there is only one process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "DistributedDataParallel: sharing work among processes is not built here. Use the module itself."
        )


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """Call each module on its inputs, one after the other."""
    settings = kwargs_tup or [{}] * len(modules)
    calls = zip(modules, inputs, settings, strict=True)
    return [module(*(x if isinstance(x, tuple) else (x,)), **named) for module, x, named in calls]


def _several_devices(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("nn.parallel: there is one device here. Call the module on the whole batch.")


scatter = gather = scatter_kwargs = replicate = _several_devices
