"""The handle that registering a hook returns, under PyTorch's name."""

from __future__ import annotations

from ..autograd.hooks import RemovableHandle
from ..seam.later import later

__all__ = ["RemovableHandle"]


__getattr__ = later(__name__, "It has RemovableHandle.")
