"""Utilities: checkpointing, data loading, hooks, TensorBoard (PyTorch: `torch.utils`)."""

from __future__ import annotations

from ..seam.later import later
from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]

__getattr__ = later(__name__, "It has benchmark, checkpoint, data, hooks and tensorboard.")
