"""Optimizers (PyTorch: `torch.optim`). The comment above each update is its formula."""

from __future__ import annotations

from ..seam.later import later, names_of
from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler", *names_of("optim")]

__getattr__ = later(__name__, "Write it as a custom Optimizer, starting from one that exists here.")
