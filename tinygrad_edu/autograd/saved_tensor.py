"""What a node keeps for its backward rule: saved tensors, their versions, and the hooks that pack them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from ..array.tensor import Tensor, wrap
from ..core.graph import AccumulateGrad, Node, gradient_edge, shadow, version_of
from ..core.op import BACKWARD_TWICE, DETACHED
from ..modes import NOT_COUNTED, REFUSED_IN_GRAPH, thread
from ..refusals import modified
from . import grad_mode

__all__ = ["SavedTensor", "keep_outputs", "pack", "pack_all", "saved_tensors_hooks"]

_FREED: Any = object()


class SavedTensor:
    """A tensor that a node keeps for its backward rule, with the version it had, packed by the hooks in force.

    An input of the op is kept as it is. An output is kept without its node, since the node would keep itself alive.

    >>> y = T.tensor(3.0, requires_grad=True).exp()
    >>> y.grad_fn._saved_result
    tensor(20.0855, grad_fn=<ExpBackward0>)
    """

    __slots__ = ("_array", "_counter", "_leaf", "_node", "_output_nr", "_tensor", "_unpack", "_version")

    # Marks a saved value that has been freed, and a place where nothing was saved.
    freed: ClassVar[SavedTensor]
    nothing: ClassVar[SavedTensor]

    def __init__(self, tensor: Tensor | None = None, node: Node | None = None) -> None:
        """Save `tensor`; `node` is given when the tensor is an output of that node."""
        if tensor is None:
            raise RuntimeError(
                "Trying to create a SavedTensor object from Python is forbidden. Ops make them, and Function's "
                "save_for_backward."
            )
        if tensor._counter is NOT_COUNTED and thread.state.grad_enabled:
            raise RuntimeError(REFUSED_IN_GRAPH)
        self._unpack: Callable | None = None
        self._node = None
        self._leaf = tensor._grad_fn is None
        if node is None:
            self._tensor: Any = tensor
            self._array: Any = None
            self._version = version_of(tensor)
        else:
            self._tensor = None
            self._array = tensor._data
            if tensor._counter is None:
                tensor._counter = [0]
            self._counter = tensor._counter
            self._version = self._counter[0]
            self._node = weakref.ref(node)
            self._output_nr = tensor.output_nr
        self.pack_by_hooks_in_force()

    @classmethod
    def of(cls, node: Any, slot: int, position: int | None, output_nr: int | None) -> SavedTensor:
        """The tensor that `node` keeps at `slot`, with its version then; with an output's number, that output."""
        t, version = node._saved[slot], node._versions[slot]
        self = cls.__new__(cls)
        self._unpack = None
        self._version = version if version is not None else 0
        if output_nr is None:
            made_by = None if position is None else node._next[position]
            self._leaf = made_by is None or isinstance(made_by, AccumulateGrad)
            self._tensor, self._array, self._node = t, None, None
        else:
            self._leaf = False
            self._tensor, self._array, self._node = None, t._data, weakref.ref(node)
            self._counter, self._output_nr = t._counter, output_nr
        return self

    def pack_by_hooks_in_force(self) -> None:
        """Hooks see an input itself, but an output without its history: that would keep its own node alive."""
        state = thread.state
        if state.saved_hooks:
            pack_hook, unpack_hook = state.saved_hooks[-1]
            self._pack(pack_hook, unpack_hook, self._tensor if self._node is None else self._detached())

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Save `pack_hook(tensor)` instead of the tensor, and return `unpack_hook` of it when it is needed."""
        if self._tensor is _FREED:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Specify retain_graph=True in the "
                "first backward if you need its saved tensors afterwards."
            )
        if self._unpack is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        self._check_version()
        self._pack(pack_hook, unpack_hook, self._detached())

    def _detached(self) -> Tensor:
        if self._node is None:
            return wrap(self._tensor.value, None, self._tensor._counter)
        return wrap(self._array, None, self._counter, self._output_nr)

    def _pack(self, pack_hook: Callable, unpack_hook: Callable, shown: Tensor) -> None:
        before = shown._version
        with grad_mode.no_grad():
            packed = pack_hook(shown)
        if shown._version != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                "not be modified by in-place operations as this can lead to unexpected side-effects. Change a clone()."
            )
        # The tensor itself is dropped; only its place in the graph is left.
        original = self._tensor
        self._tensor = (
            (packed, gradient_edge(original), original.requires_grad) if self._node is None else (packed, None, True)
        )
        self._array = None
        self._unpack = unpack_hook

    def _check_version(self) -> None:
        if self._tensor is _FREED:
            raise RuntimeError(BACKWARD_TWICE)
        if self._unpack is not None:
            return
        now = version_of(self._tensor) if self._node is None else self._counter[0]
        if now != self._version:
            kept = self._tensor if self._node is None else self._detached()
            made_by = kept.grad_fn if self._node is None else self._node()
            raise RuntimeError(modified(kept, made_by, self._version))

    def for_backward(self) -> Tensor:
        """The tensor as it was saved, for a rule that will record what it does with it."""
        is_original = self._tensor is not _FREED and self._unpack is None and self._node is None
        if is_original and not self._leaf and self._tensor._grad_fn is None:
            raise RuntimeError(DETACHED)
        return self.tensor()

    def tensor(self) -> Tensor:
        """The tensor as it was saved, with its place in the graph."""
        self._check_version()
        if self._unpack is not None:
            return self._unpacked()
        if self._node is None:
            return self._tensor
        node = self._node()
        out = wrap(self._array)
        out._counter = self._counter
        if node is not None:
            out._grad_fn, out.output_nr, out._requires_grad = node, self._output_nr, True
            if node._tangents_of_outputs is not None:
                out._tangent = node._tangents_of_outputs.get(self._output_nr)
        return out

    def _unpacked(self) -> Tensor:
        packed, edge, requires_grad = self._tensor
        assert self._unpack is not None
        value = self._unpack(packed)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(value).__name__}"
            )
        if not requires_grad and not value.requires_grad:
            return value
        out = wrap(value.value)
        if self._node is not None:
            node, output_nr = self._node(), self._output_nr
        else:
            node, output_nr = edge
        if requires_grad and isinstance(node, AccumulateGrad):
            out._requires_grad, out._accumulator = True, weakref.ref(node)
        elif requires_grad and node is not None:
            out._grad_fn, out.output_nr, out._requires_grad = node, output_nr, True
        return out

    # PyTorch's names on the object behind `_raw_saved_self`.
    unpack = tensor

    def free(self) -> None:
        """Free the tensor; a later use raises."""
        self._tensor = _FREED
        self._array = None


class _Nothing(SavedTensor):
    """Marks a tensor that a node could have saved, but that no wanted gradient needs."""

    __slots__ = ()

    def __init__(self) -> None:
        self._tensor = self._unpack = self._node = None

    def tensor(self) -> None:  # type: ignore[override]
        return None

    unpack = tensor  # type: ignore[assignment]

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        raise RuntimeError(
            "Calling register_hooks on a saved tensor with value None is forbidden. No gradient that is wanted needs "
            "this tensor, so it was not saved."
        )


SavedTensor.nothing = _Nothing()
SavedTensor.freed = object.__new__(SavedTensor)
SavedTensor.freed._unpack = None
SavedTensor.freed.free()


# --- what built-in ops save, which becomes a SavedTensor only on demand -----------------------------------------------


def pack(node: Any, slot: int, by_hooks: bool = False) -> None:
    """Turn the tensor that `node` saved at `slot` into a SavedTensor; `by_hooks` packs it by the hooks in force."""
    for place, position, output_nr in node._plan.tensors:
        if place == slot and node._versions[slot] is not None:
            saved = SavedTensor.of(node, slot, position, output_nr)
            if by_hooks:
                saved.pack_by_hooks_in_force()
            _put(node, slot, saved, None)


def _put(node: Any, slot: int, saved: Any, version: int | None) -> None:
    node._saved = (*node._saved[:slot], saved, *node._saved[slot + 1 :])
    node._versions = (*node._versions[:slot], version, *node._versions[slot + 1 :])


def pack_all(node: Any, outputs: bool = True) -> None:
    """Pack every tensor that `node` saved by the hooks in force; those of its outputs only with `outputs`."""
    node._surround()
    for slot, _, output_nr in node._plan.tensors:
        if outputs or output_nr is None:
            pack(node, slot, by_hooks=True)


def keep_outputs(node: Any, target: Tensor) -> None:
    """Save `target`, which the output of `node` was written to, instead of that output."""
    for slot, _, output_nr in node._plan.tensors:
        if output_nr is not None:
            kept = shadow(target, output_nr)
            _put(node, slot, kept, version_of(kept))


class saved_tensors_hooks:
    """Inside `with`, every tensor that a node saves goes through `pack_hook`, and comes back through `unpack_hook`.

    For example to save it on disk, or to draw it. `unpack_hook(pack_hook(t))` must equal `t`.

    >>> x = T.tensor(3.0, requires_grad=True)
    >>> with T.autograd.graph.saved_tensors_hooks(lambda t: t.item(), lambda number: T.tensor(number)):
    ...     y = x * x  # only the number is saved
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        state = thread.state
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))

    def __exit__(self, *exception: object) -> None:
        thread.state.saved_hooks = thread.state.saved_hooks[:-1]
