"""Modules whose parameters a program sets itself (PyTorch: `torch.nn.utils.init`)."""

from __future__ import annotations

from typing import Any

from ... import random

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters are to be set by you; here they are drawn all the same, and no number is used up."""
    with random.fork_rng():
        return module_cls(*args, **kwargs)
