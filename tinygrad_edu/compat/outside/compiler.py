"""What programs ask the compiler of: nothing is compiled, and the numbers are the same (PyTorch: `torch.compiler`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["allow_in_graph", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "reset"]


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself; without one, a decorator that gives it back."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """What was given."""
    return fn


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


is_dynamo_compiling = is_compiling


def reset() -> None:
    """Nothing to do."""


cudagraph_mark_step_begin = reset
