"""The interface to PyTorch's compiler. Nothing is compiled here; the numbers are the same (PyTorch: `torch.compiler`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["allow_in_graph", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "reset"]


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function unchanged; without one, return a decorator that does so."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """Return the argument unchanged."""
    return fn


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


is_dynamo_compiling = is_compiling


def reset() -> None:
    """Has no effect."""


cudagraph_mark_step_begin = reset
