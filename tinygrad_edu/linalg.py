"""Linear algebra (PyTorch: `torch.linalg`)."""

from __future__ import annotations

from .ops import linalg_functions
from .seam.later import later, names_of

__all__ = sorted([*linalg_functions, *names_of("linalg")])

globals().update(linalg_functions)

__getattr__ = later(__name__, "If you need no gradient, use numpy.linalg on t.numpy().", linalg_functions)
