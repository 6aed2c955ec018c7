"""Optimizers (PyTorch: `torch.optim`). The comment above each update is its formula."""

from __future__ import annotations

from ..compat.later import later
from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

# Names imported on first use, with their modules.
_LATER = {
    name: name.lower()
    for name in ("ASGD", "Adadelta", "Adafactor", "Adamax", "LBFGS", "Muon", "NAdam", "RAdam", "Rprop", "swa_utils")
}

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler", *_LATER]

__getattr__ = later(__name__, _LATER, "Write it as a custom Optimizer, starting from one that exists here.")
