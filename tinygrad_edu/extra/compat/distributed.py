"""Distributed training, with a single process here (PyTorch: `torch.distributed`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

__all__ = [
    "ReduceOp",
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
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


# What programs import, to call it where several processes run.
_FOR_GROUPS = frozenset(
    [
        "all_gather",
        "all_gather_into_tensor",
        "all_gather_object",
        "all_reduce",
        "all_to_all",
        "all_to_all_single",
        "barrier",
        "batch_isend_irecv",
        "broadcast",
        "broadcast_object_list",
        "gather",
        "gather_object",
        "get_backend",
        "get_global_rank",
        "get_group_rank",
        "get_process_group_ranks",
        "irecv",
        "isend",
        "monitored_barrier",
        "new_group",
        "new_subgroups",
        "recv",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "scatter",
        "scatter_object_list",
        "send",
    ]
)


# Classes and stores that programs name in annotations, or compare with.
group = GroupMember = SimpleNamespace(WORLD=None, NON_GROUP_MEMBER=object())


class ReduceOp:
    """How `all_reduce` joins the numbers of the processes: names alone, as there is one process."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"


def is_nccl_available() -> bool:
    """False."""
    return False


is_gloo_available = is_mpi_available = is_torchelastic_launched = is_nccl_available


def __getattr__(name: str) -> Any:
    if name in _FOR_GROUPS:
        return _no_group
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"distributed.{name}: sharing work among processes is not built here. Leave it out.")
