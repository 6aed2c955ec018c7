"""The handle that registering a hook returns, under PyTorch's name."""

from __future__ import annotations

from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
