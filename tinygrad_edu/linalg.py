"""Linear algebra (PyTorch: `torch.linalg`)."""

from __future__ import annotations

from .compat.later import later
from .ops import linalg_functions

__all__ = sorted(linalg_functions)

globals().update(linalg_functions)

__getattr__ = later(__name__, {}, "If you need no gradient, use numpy.linalg on t.numpy().")
