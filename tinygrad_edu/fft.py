"""Discrete Fourier transforms (PyTorch: `torch.fft`)."""

from __future__ import annotations

from .compat.later import later
from .ops import fft_functions

__all__ = sorted(fft_functions)

globals().update(fft_functions)

__getattr__ = later(__name__, {}, "If you need no gradient, use numpy.fft on t.numpy().")
