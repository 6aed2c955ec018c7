"""Distributed training, with a single process here (PyTorch: `torch.distributed`)."""

from __future__ import annotations

from typing import Any

__all__ = [
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_initialized",
]


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def init_process_group(*args: Any, **kwargs: Any) -> None:
    """Refused: there is only one process."""
    raise NotImplementedError(
        "init_process_group: sharing work among processes is not built here. Leave it out: the program then runs in "
        "one process."
    )


def _no_group(*args: Any, **kwargs: Any) -> Any:
    raise ValueError(
        "Default process group has not been initialized, please make sure to call init_process_group: here there is one "
        "process, so ask is_initialized() first."
    )


get_rank = get_world_size = _no_group


def destroy_process_group(group: Any = None) -> None:
    """Has no effect."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"distributed.{name}: sharing work among processes is not built here. Leave it out.")
