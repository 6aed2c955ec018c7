"""Helpers of PyTorch's modules, under the names that programs import from `torch.nn.modules`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from . import functional as F
from .containers import ModuleList
from .module import Module
from .state import IncompatibleKeys as _IncompatibleKeys

__all__ = [
    "_IncompatibleKeys", "_addindent", "_get_activation_fn", "_get_clones", "_ntuple", "_pair", "_quadruple",
    "_reverse_repeat_tuple", "_single", "_triple",
]  # fmt: skip


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a single value `n` times, and returns several values as they are."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (
    _ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), start=1)
)


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """The values in reverse order, each `n` times."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _get_clones(module: Module, N: int) -> ModuleList:
    """`N` copies of a module."""
    return ModuleList(copy.deepcopy(module) for _ in range(N))


def _get_activation_fn(activation: str) -> Callable[..., Any]:
    """The function named "relu" or "gelu".

    Raises:
        RuntimeError: the name is another one.
    """
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _addindent(s_: str, numSpaces: int) -> str:
    """The text with every line except the first indented."""
    return s_.replace("\n", "\n" + numSpaces * " ")
