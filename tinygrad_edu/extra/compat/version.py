"""The version, and the absence of a GPU build (PyTorch: `torch.version`)."""

from __future__ import annotations

import sys

__all__ = ["__version__", "cuda", "debug", "hip", "xpu"]

__version__ = sys.modules[__name__.partition(".")[0]].__version__  # type: ignore[attr-defined]
cuda = hip = xpu = None
debug = False
