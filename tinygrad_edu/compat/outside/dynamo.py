"""The compiler's front end, which programs tell what to leave out (PyTorch: `torch._dynamo`). Nothing is compiled here."""

from __future__ import annotations

from typing import Any

from ..absent import Switches
from .compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "is_compiling", "list_backends", "reset"]

config = Switches(suppress_errors=False, cache_size_limit=8, recompile_limit=8)
disallow_in_graph = forbid_in_graph = graph_break = mark_static_address = allow_in_graph
external_utils = Switches()


def mark_dynamic(t: Any, *args: Any, **kwargs: Any) -> None:
    """Has no effect."""


mark_static = maybe_mark_dynamic = mark_unbacked = mark_dynamic


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that returns its function unchanged."""
    return lambda function: function


def is_dynamo_supported() -> bool:
    """False."""
    return False


class OptimizedModule:
    """What `compile` makes of a module in PyTorch; there is no instance here."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"_dynamo.{name}: nothing is compiled here. Leave it out, or run the program on PyTorch.")
