""""""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...autograd.graph import get_gradient_edge
from ...autograd.graph_task import current_graph_task_id, will_execute
from ...autograd.hooks import RemovableHandle
from ...autograd.saved_tensor import _FREED, SavedTensor, saved_tensors_hooks
from ...core.tensor import Tensor, gradient_edge, wrap
from ...modes import NOT_COUNTED, bump_version, thread

__all__ = [
    "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "increment_version",
    "register_multi_grad_hook", "save_on_cpu",
]  # fmt: skip


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a write to the tensor that autograd did not see, so that saved uses of it raise.

    >>> import tinygrad_edu as T
    >>> t = T.zeros(2)
    >>> T.autograd.graph.increment_version(t)
    >>> t._version
    1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if t._counter is not NOT_COUNTED:
            bump_version(t)


class save_on_cpu(saved_tensors_hooks):
    """Inside `with`, saved tensors are kept on the CPU. They are there already, so the saved values come back unchanged.

    >>> import tinygrad_edu as T
    >>> x = T.tensor(3.0, requires_grad=True)
    >>> with T.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor, lambda tensor: tensor)


class _MultiHandle:
    def __init__(self, handles: list[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> _MultiHandle:
    """Call `fn` when the gradients of all `tensors` that take part in a backward pass have arrived.

    With mode "all" `fn` gets the list of gradients (None for a tensor that takes no part); with mode "any" it gets the
    first gradient that arrives, once per backward pass.

    >>> import tinygrad_edu as T
    >>> a, b = T.tensor(2.0, requires_grad=True), T.tensor(3.0, requires_grad=True)
    >>> handle = T.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (a * b).backward()
    [tensor(3.), tensor(2.)]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        fired: set[int] = set()

        def first(grad: Tensor) -> None:
            task = current_graph_task_id()
            if task not in fired:
                fired.clear()
                fired.add(task)
                fn(grad)

        return _MultiHandle([t.register_hook(first) for t in tensors if t.requires_grad])

    edges = []
    for t in tensors:
        if not t.requires_grad:
            raise AssertionError(
                "Expected gradient function to be set: one of the tensors requires no gradient, so none will ever arrive "
                "there."
            )
        edges.append(get_gradient_edge(t))
    arrived: dict[int, list[Tensor | None]] = {}
    counts: dict[int, list[int]] = {}

    def one_of(index: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            task = current_graph_task_id()
            if task not in arrived:
                arrived[task] = [None] * len(edges)
                expected = sum(will_execute(edge.node) for edge in edges)
                counts[task] = [0, expected]
            arrived[task][index] = grad
            counts[task][0] += 1
            if counts[task][0] == counts[task][1]:
                grads = arrived.pop(task)
                del counts[task]
                fn(grads)

        return hook

    return _MultiHandle([t.register_hook(one_of(i)) for i, t in enumerate(tensors)])


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside `with`, entering `saved_tensors_hooks` raises a RuntimeError with `error_message`.

    >>> import tinygrad_edu as T
    >>> with T.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no hooks here...
    """
    state = thread.state
    if state.saved_hooks:
        raise RuntimeError(error_message)
    previous = state.hooks_refused
    state.hooks_refused = error_message
    try:
        yield
    finally:
        state.hooks_refused = previous


class _MutationGuard:
    """Saves a copy of each saved tensor that is about to be changed in place, so that backward still finds the old value."""

    def __init__(self) -> None:
        self._alive: list[SavedTensor] = []

    def track(self, saved: SavedTensor) -> None:
        self._alive.append(saved)

    def before_write(self, t: Tensor) -> None:
        """`t` is about to be written to: saved tensors of the same storage get their own copies."""
        for saved in self._alive:
            if saved._tensor is _FREED or saved._unpack is not None:
                continue
            original = saved.tensor()
            same = original is t or (original._counter is not None and original._counter is t._counter)
            if not same:
                continue
            copy = wrap(original._data.copy())
            copy._requires_grad, copy.output_nr = original._requires_grad, original.output_nr
            copy._grad_fn, copy._accumulator = original._grad_fn, original._accumulator
            if saved._node is None:
                if copy._requires_grad and copy._grad_fn is None:
                    copy._accumulator = weakref.ref(gradient_edge(original)[0])  # type: ignore[arg-type]
                saved._tensor, saved._version = copy, 0
            else:
                saved._array, saved._counter, saved._version = copy._data, [0], 0

    def clear(self) -> None:
        for saved in self._alive:
            if saved._tensor is not _FREED:
                saved._unpack, saved._tensor, saved._array = _refuse_outside, (None, (None, 0), False), None
        self._alive.clear()


def _refuse_outside(packed: Any) -> Any:
    raise AssertionError(
        "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was recorded. Call "
        "backward inside the block."
    )


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_MutationGuard]:
    """Inside `with`, saved tensors may be changed in place: backward uses a copy of the old value, made before the change.

    The backward pass must run inside the block too.

    >>> import tinygrad_edu as T
    >>> x = T.tensor(3.0, requires_grad=True)
    >>> with T.autograd.graph.allow_mutation_on_saved_tensors():
    ...     copy = x.clone()
    ...     y = copy * copy
    ...     _ = copy.zero_()
    ...     y.backward()
    >>> x.grad
    tensor(6.)
    """
    state = thread.state
    if state.keep_versions is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    guard = state.keep_versions = _MutationGuard()
    try:
        yield guard
    finally:
        state.keep_versions = None
        guard.clear()
