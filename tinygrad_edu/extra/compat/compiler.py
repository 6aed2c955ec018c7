"""The interface to PyTorch's compiler. Nothing is compiled here; the numbers are the same (PyTorch: `torch.compiler`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "list_backends", "reset", "set_stance",
]  # fmt: skip


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function unchanged; without one, return a decorator that does so."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """Return the argument unchanged."""
    return fn


assume_constant_result = allow_in_graph


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Has no effect."""


cudagraph_mark_step_begin = reset


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Empty: nothing compiles."""
    return []


def set_stance(*args: Any, **kwargs: Any) -> Any:
    """Has no effect. The result can be used as a context or a decorator."""
    return contextlib.nullcontext()
