"""The handle that registering a hook returns, under the name by which programs import its type."""

from __future__ import annotations

from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
