"""Discrete Fourier transforms (PyTorch: `torch.fft`)."""

from __future__ import annotations

from ...ops import fft_functions
from ...seam.later import later
from . import fourier

__all__ = sorted(fft_functions)

globals().update(fft_functions)
_ = fourier  # which defines them

__getattr__ = later(__name__, "If you need no gradient, use numpy.fft on t.numpy().")
