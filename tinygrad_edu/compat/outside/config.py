"""How this package was built: there is nothing compiled (PyTorch: `torch.__config__`)."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """A sentence; PyTorch lists its compiler and libraries."""
    return "tinygrad_edu: Python and NumPy, nothing is compiled\n"


def parallel_info() -> str:
    """A sentence; PyTorch lists its thread pools."""
    return "tinygrad_edu: one thread, apart from NumPy's matrix products\n"


def _cxx_flags() -> str:
    return ""
