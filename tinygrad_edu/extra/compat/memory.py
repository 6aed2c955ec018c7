"""The types of settings about memory (PyTorch: `torch.layout`, `torch.memory_format`)."""

from __future__ import annotations

from ...ops.creation.factories import strided
from .legacy import memory_format

__all__ = ["layout", "memory_format"]

layout = type(strided)
