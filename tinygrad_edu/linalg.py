"""Linear algebra (PyTorch: `torch.linalg`)."""

from __future__ import annotations

from .array.absent import answer
from .ops import linalg_functions

__all__ = sorted([*linalg_functions])

globals().update(linalg_functions)

__getattr__ = answer(__name__)
