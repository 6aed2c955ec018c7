"""Checkpoints of rows of modules, and settings of checkpoints."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ...array.tensor import Tensor
from ...utils.checkpoint import Contexts, _warn_of_the_default, checkpoint

__all__ = [
    "CheckpointPolicy", "checkpoint_sequential", "create_selective_checkpoint_contexts", "get_device_states", "set_device_states",
]  # fmt: skip


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run `functions` one after the other, in `segments` parts. All parts except the last are checkpointed.

    Args:
        functions: a `Sequential`, or a list of modules or functions of one argument.
        segments: the number of parts; the square root of the number of functions needs the least memory.
        input: the argument of the first function.
        preserve_rng_state: as in `checkpoint`.

    >>> import tinygrad_edu as T
    >>> layers = [lambda x: x * x, lambda x: x + 1, lambda x: x * 2]
    >>> x = T.tensor(3.0, requires_grad=True)
    >>> T.utils.checkpoint.checkpoint_sequential(layers, 3, x, use_reentrant=False).backward()
    >>> x.grad
    tensor(12.)
    """
    if use_reentrant is None:
        _warn_of_the_default("torch.utils.checkpoint.checkpoint_sequential")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return run

    size = len(steps) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(last, len(steps))(input)


class CheckpointPolicy(enum.Enum):
    """The decisions that PyTorch's selective checkpointing makes per op. See `create_selective_checkpoint_contexts`."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> Contexts:
    """Refused: it would keep the results of some ops of a checkpoint and compute the others again."""
    raise NotImplementedError(
        "create_selective_checkpoint_contexts is not built: it chooses among the kernels below autograd, and here an op and "
        "its node are one. Checkpoint the parts between the results that you want to keep, each with its own call."
    )


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of the tensors and the states of their random numbers: none, since the CPU's is not among them."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Nothing to do: see `get_device_states`."""
