"""PyTorch's settings for speed, memory and reproducibility. Programs make them out of habit; they have no effect."""

from __future__ import annotations

from typing import Any

from .array.tensor import CPU, check_device, device

# Orders of elements in memory, as in `zeros_like(p, memory_format=T.preserve_format)`.
contiguous_format, preserve_format, channels_last = "contiguous_format", "preserve_format", "channels_last"


def compile(model: Any = None, **settings: Any) -> Any:
    """Return the model or function unchanged, or a decorator that does so: nothing is compiled here.

    >>> model = T.nn.Linear(2, 1)
    >>> T.compile(model) is model
    True
    """
    return model if model is not None else lambda function: function


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Has no effect: everything is already computed in the same order each time."""


def are_deterministic_algorithms_enabled() -> bool:
    """True."""
    return True


def set_num_threads(num: int) -> None:
    """Has no effect: NumPy's matrix products use their own threads (set OMP_NUM_THREADS in the environment)."""


def get_num_threads() -> int:
    """1."""
    return 1


def set_float32_matmul_precision(precision: str) -> None:
    """Has no effect: products have the precision of their dtype."""


def get_default_device() -> device:
    """The CPU."""
    return CPU


def set_default_device(where: Any) -> None:
    """Accept the CPU, and no other device."""
    check_device(where)
