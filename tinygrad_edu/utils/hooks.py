"""The handle that registering a hook returns, under PyTorch's name."""

from __future__ import annotations

from ..array.absent import answer
from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]


__getattr__ = answer(__name__)
