"""What `viz` asks of an engine whose tensors keep their parts under the usual names, such as a student's own.

An engine's module imports them, and adds its `tensor_type`. docs/engines.md says what each of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["backward", "gradient", "node", "op", "parents", "requires_grad", "value", "version"]


def value(tensor: Any) -> Any:
    """The array in a tensor."""
    return tensor.data


def parents(tensor: Any) -> Sequence[Any]:
    """The tensors that it was computed from."""
    parents: Sequence[Any] = tensor.parents
    return parents


def gradient(tensor: Any) -> Any:
    """The gradient that it holds, or None."""
    return tensor.grad


def requires_grad(tensor: Any) -> bool:
    """Whether it takes part in a backward pass."""
    return bool(tensor.requires_grad)


def op(tensor: Any) -> str:
    """The name of the op that made it."""
    return str(tensor.op)


def version(tensor: Any) -> int:
    """How often it was written to."""
    return int(tensor._version)


def node(tensor: Any) -> Any:
    """The object that stands for its op."""
    return tensor.node


def backward(tensor: Any, done: Callable[..., None], *arguments: Any, **settings: Any) -> None:
    """The engine's own pass, which tells `done` of each tensor."""
    tensor.backward(*arguments, **settings, done=done)
