"""Utilities: checkpointing, data loading, hooks, TensorBoard (PyTorch: `torch.utils`)."""

from __future__ import annotations

from ..array.absent import answer
from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]

__getattr__ = answer(__name__)
