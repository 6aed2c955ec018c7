"""Linear algebra (PyTorch: `torch.linalg`)."""

from __future__ import annotations

from typing import Any

from .compat import absent
from .ops import linalg_functions

__all__ = sorted(linalg_functions)

globals().update(linalg_functions)


def __getattr__(name: str) -> Any:
    raise AttributeError(absent.sentence(name) or f"tinygrad_edu.linalg has no {name!r}. It has {', '.join(__all__)}.")
