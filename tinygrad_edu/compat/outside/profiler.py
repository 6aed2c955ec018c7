"""Names for parts of a program, which nothing measures here (PyTorch: `torch.profiler`, `torch.autograd.profiler`)."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

__all__ = ["ProfilerActivity", "emit_nvtx", "profile", "record_function", "schedule", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """What PyTorch's profiler can watch."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class record_function:
    """A name for what runs within `with`: it may stay in a program, and changes nothing."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


class profile:
    """Refused when it is to measure: Python's cProfile tells where the time goes here."""

    def __init__(self, *args: Any, enabled: bool = True, **kwargs: Any) -> None:
        if enabled:
            raise NotImplementedError(
                "profile: measuring kernels is not built here. Use Python's cProfile, or enabled=False, or leave it out."
            )

    __enter__, __exit__ = record_function.__enter__, record_function.__exit__


def _refused(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("PyTorch's profiler is not built here. Use Python's cProfile, or leave it out.")


emit_nvtx = schedule = tensorboard_trace_handler = _refused
