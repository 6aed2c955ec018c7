"""Hooks: handles, the methods of Tensor that register them, and how the engine calls them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..array.tensor import Tensor, visit_end, wrap
from ..core.graph import Hooks, Node
from ..overrides import overridable

__all__ = ["RemovableHandle", "add_hook", "around"]


class RemovableHandle:
    """The result of registering a hook: `remove()` removes the hook; as a context manager it does so at the end."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = next(self._ids)
        self._hooks: dict[int, Any] | None = hooks

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        if self._hooks is not None:
            self._hooks.pop(self.id, None)
            self._hooks = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    """Put `hook` last in `hooks`, which keep the order of registration."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


_NOTHING = Hooks()


def around(node: Node) -> Hooks:
    """The hooks around `node`, to read."""
    return node._hooks or _NOTHING


def _register_node_hook(self: Node, fn: Callable[[tuple, tuple], Any]) -> RemovableHandle:
    """Call `fn(grad_inputs, grad_outputs)` after this node ran; a tuple it returns replaces the grad_inputs."""
    return add_hook(self._surround().post, fn)


def _register_node_prehook(self: Node, fn: Callable[[tuple], Any]) -> RemovableHandle:
    """Call `fn(grad_outputs)` before this node runs; a tuple it returns replaces the grad_outputs."""
    return add_hook(self._surround().pre, fn)


# Each node has these: hooks, what a user keeps with it and, in forward mode, the tangents of the outputs it saves.
for _name, _attribute in {
    "_metadata": None,
    "_tangents_of_outputs": None,
    "register_hook": _register_node_hook,
    "register_prehook": _register_node_prehook,
}.items():
    setattr(Node, _name, _attribute)


@overridable
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of this tensor is complete; a tensor it returns replaces the gradient.

    >>> x = T.tensor(3.0, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> (x * 2).backward()
    >>> x.grad
    tensor(20.)
    """
    if not self.requires_grad:
        raise RuntimeError(
            "cannot register a hook on a tensor that doesn't require gradient: no gradient will ever arrive here. Set "
            "requires_grad=True on it first."
        )
    node = self.grad_fn
    if node is None:
        if self._hooks is None:
            self._hooks = {}
        visit_end(self)
        return add_hook(self._hooks, hook)
    return add_hook(node._surround().tensors.setdefault(self.output_nr, {}), hook)


@overridable
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`.

    >>> x = T.tensor(3.0, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    >>> (x * x).backward()
    tensor(6.)
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_accumulate_hooks is None:
        self._post_accumulate_hooks = {}
    visit_end(self)
    return add_hook(self._post_accumulate_hooks, hook)


# --- calling them ------------------------------------------------------------------------------------------------
# Hooks see Tensors. In the plain pass these are made for the call, and their arrays are taken out again afterwards.


def as_tensor(grad: Any) -> Tensor | None:
    return grad if grad is None or isinstance(grad, Tensor) else wrap(grad)


def as_plain(grad: Tensor | None, create_graph: bool) -> Any:
    return grad if grad is None or create_graph else grad.value


def _hook_name(hook: Any) -> str:
    return getattr(hook, "__name__", None) or type(hook).__name__


def _check_hook_result(hook: Any, before: Tensor | None, after: Any) -> None:
    if not isinstance(after, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(after).__name__}'. A hook must return a Tensor that replaces "
            "the gradient, or None to keep it."
        )
    if before is None:
        raise RuntimeError(
            "can't replace a None gradient with a non-None value: no gradient has arrived here, and a hook cannot make "
            "one."
        )
    name = _hook_name(hook)
    if after.value.dtype != before.value.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {before.dtype.legacy_name}Tensor got "
            f"{after.dtype.legacy_name}Tensor)"
        )
    if after.value.shape != before.value.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: it had shape {list(before.shape)}, now {list(after.shape)}"
        )


def call_hooks(hooks: dict[int, Any], grad: Any, create_graph: bool) -> Any:
    value = as_tensor(grad)
    for hook in list(hooks.values()):
        result = hook(value)
        if result is not None:
            _check_hook_result(hook, value, result)
            value = result
    return as_plain(value, create_graph)


def call_tensor_hooks(node: Node, box: list[Any], create_graph: bool) -> list[Any]:
    """Run the hooks of the tensors this node computed."""
    for output_nr, hooks in around(node).tensors.items():
        box[output_nr] = call_hooks(hooks, box[output_nr], create_graph)
    return box


def call_pre_hooks(node: Node, box: list[Any], create_graph: bool) -> list[Any]:
    return _call_in_turn(around(node).pre, box, (), create_graph)


def call_post_hooks(node: Node, results: Sequence[Any], box: list[Any], create_graph: bool) -> Sequence[Any]:
    incoming = tuple(as_tensor(g) for g in box)
    return _call_in_turn(around(node).post, results, (incoming,), create_graph)


def _call_in_turn(hooks: dict[int, Any], grads: Sequence[Any], more: tuple[Any, ...], create_graph: bool) -> list[Any]:
    """What is left of `grads` after each hook has replaced what it wants."""
    values: tuple[Any, ...] = tuple(as_tensor(g) for g in grads)
    for hook in list(hooks.values()):
        result = hook(values, *more)
        if result is not None:
            values = _hook_tuple(hook, result, values)
    return [as_plain(v, create_graph) for v in values]


def _hook_tuple(hook: Any, result: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(result, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(result).__name__}'. A hook on a node must return a tuple with "
            "one gradient for each that it received, or None to keep them."
        )
    if len(result) != len(before):
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has returned an incorrect number of values (got {len(result)}, but expected "
            f"{len(before)})"
        )
    for old, new in zip(before, result, strict=True):
        if new is not None:
            _check_hook_result(hook, old, new)
    return result


class HookMethods:
    """Hooks of a tensor, as its methods."""

    register_hook = register_hook
    register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
