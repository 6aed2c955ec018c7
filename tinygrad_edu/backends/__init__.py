"""Settings of libraries below PyTorch. Programs set them out of habit; nothing here depends on them (PyTorch: `torch.backends`)."""

from __future__ import annotations

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]
