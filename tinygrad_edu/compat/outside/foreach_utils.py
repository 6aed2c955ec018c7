"""How optimizers sort their tensors before they call `_foreach_…` (PyTorch: `torch.utils._foreach_utils`)."""

from __future__ import annotations

from typing import Any

from ...tensor import device

__all__: list[str] = []


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: device) -> bool:
    return True


def _has_foreach_support(tensors: Any, device: device) -> bool:
    return True


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
    """The rows of some lists of tensors, sorted by device and dtype of the first list: `{(device, dtype): (lists, indices)}`."""
    groups: dict[Any, Any] = {}
    for i, first in enumerate(tensorlistlist[0]):
        key = (first.device, first.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for mine, given in zip(lists, tensorlistlist, strict=True):
            if given:
                mine.append(given[i])
        if with_indices:
            indices.append(i)
    return groups
