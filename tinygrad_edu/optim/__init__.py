"""Optimizers (PyTorch: `torch.optim`). The comment above each update is its formula."""

from __future__ import annotations

from ..seam.later import later, names_of
from . import lr_scheduler
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler", *names_of("optim")]

__getattr__ = later(__name__, "Write it as a custom Optimizer, starting from one that exists here.")
