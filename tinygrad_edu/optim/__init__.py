"""Optimisers: how parameters follow their gradients (PyTorch: `torch.optim`)."""

from __future__ import annotations

from typing import Any

from ..compat import absent
from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        absent.sentence(name)
        or f"tinygrad_edu.optim has no {name!r}. Write it as an Optimizer of your own, from one that is here."
    )
