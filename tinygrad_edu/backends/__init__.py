"""Settings of libraries below PyTorch (its `torch.backends`). Programs set them out of habit, without effect."""

from __future__ import annotations

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]
