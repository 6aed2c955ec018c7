"""Trees: tensors in tuples, lists and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["Function", "filled", "leaves", "mapped"]

Function = Callable[..., Any]


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in leaves(item)]
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    return [tree]


def mapped(function: Function, tree: Any) -> Any:
    """The tree with `function` applied to each leaf."""
    if isinstance(tree, tuple | list):
        items = [mapped(function, item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if isinstance(tree, dict):
        return type(tree)((key, mapped(function, item)) for key, item in tree.items())
    return function(tree)


def filled(tree: Any, values: Iterable[Any]) -> Any:
    """The tree with its leaves replaced by `values`, in order."""
    rest = iter(values)
    return mapped(lambda leaf: next(rest), tree)
