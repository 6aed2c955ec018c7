"""Modules whose parameters a program sets itself (PyTorch: `torch.nn.utils.init`)."""

from __future__ import annotations

from typing import Any

from ...ops.creation import random

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters you will set. Here they are initialised anyway, but no random numbers are used up.

    >>> import tinygrad_edu as T
    >>> T.nn.utils.skip_init(T.nn.Linear, 2, 3).weight.shape
    tinygrad_edu.Size([3, 2])
    """
    with random.fork_rng():
        return module_cls(*args, **kwargs)
