"""Programs as graphs that other programs rewrite, which is not built (PyTorch: `torch.fx`). What modules import can be imported."""

from __future__ import annotations

from typing import Any

from ...nn.module import Module

__all__ = ["Graph", "GraphModule", "Node", "Proxy", "Tracer", "symbolic_trace", "wrap"]


def wrap(fn_or_name: Any) -> Any:
    """Return what was given: it is not traced in any case."""
    return fn_or_name


def symbolic_trace(*args: Any, **kwargs: Any) -> Any:
    """Refused: see `viz.record` and `jit.trace`.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "fx.symbolic_trace: rewriting programs is not built here. jit.trace shows the ops of one run, or run the program on "
        "PyTorch."
    )


class _Refused:
    """A class that programs compare theirs with; there is no instance here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        symbolic_trace()


class Graph(_Refused):
    """The ops of a traced program: refused."""


class Node(_Refused):
    """One op of a `Graph`: refused."""


class Proxy(_Refused):
    """What stands for a tensor in a traced program: refused."""


class Tracer(_Refused):
    """What makes a `Graph`: refused."""


class GraphModule(Module):
    """A module made of a `Graph`: refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        symbolic_trace()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"fx.{name}: rewriting programs is not built here. Leave it out, or run the program on PyTorch."
    )
