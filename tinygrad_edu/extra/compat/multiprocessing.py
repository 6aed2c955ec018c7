"""Python's own multiprocessing (PyTorch: `torch.multiprocessing`). Tensors are copied between processes, not shared."""

from __future__ import annotations

import multiprocessing as _processes
from typing import Any

__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn"]


def set_sharing_strategy(new_strategy: str) -> None:
    """Has no effect: nothing is shared."""


def get_sharing_strategy() -> str:
    """ "file_descriptor", PyTorch's answer on Linux."""
    return "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` accepts."""
    return {"file_descriptor", "file_system"}


def spawn(*args: Any, **kwargs: Any) -> Any:
    """Refused: sharing tensors among processes is not built."""
    raise NotImplementedError(
        "multiprocessing.spawn: tensors are not shared among processes here. Call the function, or use Python's multiprocessing."
    )


def __getattr__(name: str) -> Any:
    return getattr(_processes, name)
