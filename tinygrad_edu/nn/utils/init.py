"""Modules whose parameters a program sets itself (PyTorch: `torch.nn.utils.init`)."""

from __future__ import annotations

from typing import Any

from ... import random

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters you will set. Here they are initialised anyway, but no random numbers are used up."""
    with random.fork_rng():
        return module_cls(*args, **kwargs)
