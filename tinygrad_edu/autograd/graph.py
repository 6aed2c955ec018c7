"""The nodes of the graph, what they keep for the backward pass, and the hooks that hang on them."""

from __future__ import annotations

import itertools
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..tensor import Tensor, tensor_method, wrap
from . import grad_mode

__all__ = [
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "SavedTensor",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

# The order in which nodes are made. The engine runs, of those that are ready, the one made last.
sequence = itertools.count()
ACCUMULATE_GRAD_SEQUENCE = 2**64 - 1  # a leaf is served as soon as it is ready

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away; as a context manager it does so at the end."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = next(self._ids)
        self._hooks: dict[int, Any] | None = hooks

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
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


class TensorMeta(NamedTuple):
    """What a gradient must look like when it arrives."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Node:
    """One recorded op: an edge list to the nodes of its inputs, and the rule that turns gradients backward.

    `tensor.grad_fn` is a Node. Gradients of its outputs come in, gradients of its inputs go out along `next_functions`.
    """

    # No `__del__` here or below: CPython frees a long chain of plain instances without recursion (its "trashcan"), and a
    # Python destructor would take part in it once per node.

    _edges: tuple[tuple[Node | None, int], ...] = ()
    _seq: int = 0
    # The shape and dtype of each output of the forward op, hence of each gradient that comes in.
    _outputs: tuple[tuple[tuple[int, ...], np.dtype], ...] = ()
    _metadata: dict[Any, Any] | None = None
    _pre_hooks: dict[int, Any] | None = None
    _post_hooks: dict[int, Any] | None = None
    # Hooks of the tensors that this node computed, by output; and those tensors, where they retain their gradient.
    _tensor_hooks: dict[int, dict[int, Any]] | None = None
    _retaining: dict[int, weakref.ref[Tensor]] | None = None
    # In forward mode: the tangents of the outputs, for the outputs that the node saves.
    _tangents_of_outputs: dict[int, Any] | None = None
    # True if `run` gives arrays that nobody else holds, so that a leaf may keep one as its `.grad` without a copy.
    makes_new_arrays = False

    def name(self) -> str:
        """The name PyTorch gives this kind of node, such as `MulBackward0`."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input of the op: the node that made it and which of its outputs it is; None if it needs no gradient."""
        return self._edges

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for whatever the user wants to keep beside this node."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def requires_grad(self) -> bool:
        """Always True: what needs no gradient has no node."""
        return True

    @property
    def _input_metadata(self) -> tuple[TensorMeta, ...]:
        return tuple(TensorMeta(*output) for output in self._outputs)

    def _sequence_nr(self) -> int:
        """The order in which this node was made."""
        return self._seq

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        self._seq = sequence_nr

    def register_hook(self, fn: Callable[[tuple, tuple], Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node ran; a tuple it returns replaces the grad_inputs."""
        if self._post_hooks is None:
            self._post_hooks = {}
        return add_hook(self._post_hooks, fn)

    def register_prehook(self, fn: Callable[[tuple], Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; a tuple it returns replaces the grad_outputs."""
        if self._pre_hooks is None:
            self._pre_hooks = {}
        return add_hook(self._pre_hooks, fn)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __lt__(self, other: Node) -> bool:
        # Asked by the engine's heap about nodes of the same sequence number: neither goes first.
        return False

    def __call__(self, *grads: Tensor) -> Any:
        """Run this node alone on gradients of its outputs; the graph behind it is not touched."""
        results = self.run([g._data if isinstance(g, Tensor) else g for g in grads], False)
        tensors = tuple(None if g is None else wrap(np.asarray(g)) for g in results)
        return tensors[0] if len(tensors) == 1 else tensors

    # What the engine needs of a node ---------------------------------------------------------------------------------

    def run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        """The gradients of the inputs, given those of the outputs (None where nothing came).

        They are arrays, or Tensors under `create_graph`, where everything done to them is recorded anew. `wanted` tells
        for each edge whether this pass needs its gradient (None: all); built-in ops leave the others out.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Let go of what was saved: this node has run and will not run again."""


class AccumulateGrad(Node):
    """The end of a path: adds the gradient that arrives to the `.grad` of the leaf it belongs to."""

    _seq = ACCUMULATE_GRAD_SEQUENCE

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self._outputs = ((variable._data.shape, variable._data.dtype),)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def accumulate(self, grad: Any, create_graph: bool, owned: bool) -> None:
        """Add `grad` to the leaf's `.grad`. An array that is `owned` belongs to nobody else and may be kept as it is."""
        leaf = self.variable
        if grad is None or not leaf._requires_grad:
            return
        if leaf._grad_fn is not None:
            raise RuntimeError(
                "leaf variable has been moved into the graph interior: after it was used it was changed in place by an op "
                "that was recorded, so no .grad can be its. Change a clone() instead."
            )
        if create_graph and not grad_mode.state.grad_enabled:
            # The pass computed with Tensors for the sake of their tangents alone; these end here.
            grad, create_graph, owned = grad._data, False, False
        if create_graph:
            # Recorded, as any op: the gradient itself is part of a graph.
            leaf._grad = wrap(np.empty_like(leaf._data)).copy_(grad) if leaf._grad is None else leaf._grad + grad
        elif leaf._grad is None:
            array = np.asarray(grad)
            leaf._grad = wrap(array if owned and array is grad else array.copy())
        else:
            # In place: who holds the old gradient sees the new one, and a graph that saved it will notice.
            total = leaf._grad
            np.add(total._data, grad, out=total._data)
            bump_version(total)

    def run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        self.accumulate(grads[0], create_graph, owned=False)
        return ()


def grad_accumulator(leaf: Tensor) -> AccumulateGrad:
    """The AccumulateGrad of a leaf: one as long as some graph, or somebody, holds it."""
    reference = leaf._accumulator
    node = reference() if reference is not None else None
    if node is None:
        node = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(node)
    return node


def gradient_edge(t: Tensor) -> tuple[Node | None, int]:
    """Where the gradient of `t` goes: its grad_fn and output number, or its AccumulateGrad, or nowhere."""
    node = t.grad_fn if t._view is not None else t._grad_fn
    if node is not None:
        return node, t.output_nr
    if t._requires_grad:
        return grad_accumulator(t), 0
    return None, 0


class GradientEdge(NamedTuple):
    """An edge of the graph: a node and the number of one of its outputs. Stands for a tensor in `grad` and `backward`."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge along which the gradient of `tensor` flows; usable in `autograd.grad` after the tensor itself is gone."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients. Set "
            "requires_grad=True on it, or on one of the tensors it is computed from."
        )
    node, output_nr = gradient_edge(tensor)
    assert node is not None
    return GradientEdge(node, output_nr)


# --- saved tensors ---------------------------------------------------------------------------------------------------


class _SavedTensorState(threading.local):
    def __init__(self) -> None:
        self.hooks: list[tuple[Callable, Callable]] = []
        self.disabled: str | None = None
        # Clones of what was about to be changed, while mutation is allowed.
        self.keep_versions: _MutationGuard | None = None


saved_state = _SavedTensorState()

_FREED: Any = object()


class SavedTensor:
    """A tensor that a node keeps for its backward rule, with the version it had, packed by the hooks in force.

    An input of the op is kept as it is. An output is kept without its node, since the node would keep itself alive.
    """

    __slots__ = ("_array", "_counter", "_leaf", "_node", "_output_nr", "_tensor", "_unpack", "_version")

    # Stands where something was saved that has been let go.
    freed: ClassVar[SavedTensor]

    def __init__(self, tensor: Tensor, node: Node | None = None) -> None:
        """Save `tensor`; `node` is given when the tensor is an output of that node."""
        if tensor._inference and grad_mode.state.grad_enabled:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
                "use it in autograd, or use `no_grad()` instead of `inference_mode()`."
            )
        self._unpack: Callable | None = None
        self._node = None
        self._leaf = tensor._grad_fn is None
        if node is None:
            self._tensor: Any = tensor
            self._array: Any = None
            counter = tensor._counter
            self._version = 0 if counter is None else counter[0]
        else:
            self._tensor = None
            self._array = tensor._data
            if tensor._counter is None:
                tensor._counter = [0]
            self._counter = tensor._counter
            self._version = self._counter[0]
            self._node = weakref.ref(node)
            self._output_nr = tensor.output_nr
        state = saved_state
        if state.hooks:
            self.register_hooks(*state.hooks[-1])
        elif state.keep_versions is not None:
            state.keep_versions.track(self)

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Keep `pack_hook(tensor)` instead of the tensor, and give `unpack_hook` of it back when it is needed."""
        if self._tensor is _FREED:
            raise RuntimeError(BACKWARD_TWICE)
        if self._unpack is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
                "is allowed at a time."
            )
        original = self.tensor()
        view = wrap(original._data)
        view._counter = original._counter
        before = view._version
        with grad_mode.no_grad():
            packed = pack_hook(view)
        if view._version != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not "
                "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
                "you need to perform in-place operations on the input to a pack hook."
            )
        # The tensor itself is let go; what is left is where it stands in the graph.
        edge = gradient_edge(original) if self._node is None else None
        self._tensor = (packed, edge, original.requires_grad)
        self._array = None
        self._unpack = unpack_hook

    def _check_version(self) -> None:
        if self._tensor is _FREED:
            raise RuntimeError(BACKWARD_TWICE)
        if self._unpack is not None:
            return
        if self._node is None:
            counter = self._tensor._counter
            now = 0 if counter is None else counter[0]
        else:
            now = self._counter[0]
        if now != self._version:
            raise RuntimeError(self._modified_message(now))

    def _modified_message(self, now: int) -> str:
        if self._node is None:
            array, node, output_nr = self._tensor._data, self._tensor.grad_fn, self._tensor.output_nr
        else:
            array, node, output_nr = self._array, self._node(), self._output_nr
        from_what = f", which is output {output_nr} of {node.name()}," if node is not None else ""
        from .. import dtypes

        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        return (
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{kind}Tensor {list(array.shape)}]{from_what} is at version {now}; expected version {self._version} "
            "instead. The backward rule needs the value as it was in the forward pass. Hint: replace the in-place "
            "operation (a name that ends in _, +=, or an assignment to a slice) by one that makes a new tensor, or "
            "change a clone(); detect_anomaly() shows the forward line whose gradient failed."
        )

    def array(self) -> Any:
        """The array as it was saved.

        Raises:
            RuntimeError: it has been freed, or changed in place since.
        """
        if self._unpack is None and self._tensor is not _FREED:
            # The common case, in few steps: the engine reads every saved tensor through here.
            if self._node is None:
                t = self._tensor
                if (0 if t._counter is None else t._counter[0]) == self._version and (
                    self._leaf or t._grad_fn is not None
                ):
                    return t._data
            elif self._counter[0] == self._version:
                return self._array
        return self.for_backward()._data

    def for_backward(self) -> Tensor:
        """The tensor as it was saved, for a rule that will record what it does with it."""
        is_original = self._tensor is not _FREED and self._unpack is None and self._node is None
        if is_original and not self._leaf and self._tensor._grad_fn is None:
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, "
                "please use out-of-place `.detach()` instead"
            )
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
        with grad_mode.no_grad():
            value = self._unpack(packed)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(value).__name__}"
            )
        out = wrap(value._data)
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

    @property
    def data(self) -> Tensor:
        """The saved tensor outside the graph."""
        return self.tensor().data

    def free(self) -> None:
        """Let go of the tensor; a later use raises."""
        self._tensor = _FREED
        self._array = None


SavedTensor.freed = object.__new__(SavedTensor)
SavedTensor.freed._unpack = None
SavedTensor.freed.free()


class saved_tensors_hooks:
    """Inside, every tensor that a node saves goes through `pack_hook`, and comes back through `unpack_hook`.

    For instance to save it on disk, or to draw it. `unpack_hook(pack_hook(t))` must equal `t`.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if saved_state.disabled is not None:
            raise RuntimeError(saved_state.disabled)
        saved_state.hooks.append((self.pack_hook, self.unpack_hook))

    def __exit__(self, *exception: object) -> None:
        saved_state.hooks.pop()


class save_on_cpu:
    """Refused: all tensors are on the CPU already."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        raise NotImplementedError(
            "save_on_cpu moves saved tensors from a device to the CPU, and tinygrad_edu has the CPU alone. Use "
            "saved_tensors_hooks(pack_hook, unpack_hook) to keep them somewhere else, for instance on disk."
        )


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, entering `saved_tensors_hooks` raises a RuntimeError with `error_message`."""
    if saved_state.hooks:
        raise RuntimeError(error_message)
    previous = saved_state.disabled
    saved_state.disabled = error_message
    try:
        yield
    finally:
        saved_state.disabled = previous


class _MutationGuard:
    """Keeps a copy of each saved tensor that is about to be changed in place, so that backward still finds it."""

    def __init__(self) -> None:
        self._alive: list[SavedTensor] = []

    def track(self, saved: SavedTensor) -> None:
        self._alive.append(saved)

    def before_write(self, t: Tensor) -> None:
        """`t` is about to be written to: saved tensors of the same storage get copies of their own."""
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
                    copy._accumulator = weakref.ref(grad_accumulator(original))
                saved._tensor, saved._version = copy, 0
            else:
                saved._array, saved._counter, saved._version = copy._data, [0], 0

    def clear(self) -> None:
        for saved in self._alive:
            saved.free()
        self._alive.clear()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_MutationGuard]:
    """Inside, a saved tensor may be changed in place: backward uses a copy of what it was, made when it changes.

    The backward pass has to run inside the block as well.
    """
    if saved_state.keep_versions is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    guard = saved_state.keep_versions = _MutationGuard()
    try:
        yield guard
    finally:
        saved_state.keep_versions = None
        guard.clear()


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Say that the tensor was written to by means that autograd did not see, so that saved uses of it raise."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if t._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        bump_version(t)


def bump_version(t: Tensor) -> None:
    """Count one in-place write to the storage of `t`."""
    if t._counter is None:
        t._counter = [1]
    else:
        t._counter[0] += 1


# --- hooks on tensors ------------------------------------------------------------------------------------------------


@tensor_method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of this tensor is complete; a tensor it returns replaces the gradient.

    Returns:
        A handle whose `remove()` takes the hook away.

    Raises:
        RuntimeError: the tensor requires no gradient.
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
        return add_hook(self._hooks, hook)
    if node._tensor_hooks is None:
        node._tensor_hooks = {}
    return add_hook(node._tensor_hooks.setdefault(self.output_nr, {}), hook)


@tensor_method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`.

    Raises:
        RuntimeError: the tensor is not a leaf that requires grad.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_accumulate_hooks is None:
        self._post_accumulate_hooks = {}
    return add_hook(self._post_accumulate_hooks, hook)


@tensor_method
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this intermediate result in its `.grad` after backward. Leaves keep theirs anyway.

    Raises:
        RuntimeError: the tensor requires no gradient.
    """
    if not self.requires_grad:
        raise RuntimeError(
            "can't retain_grad on Tensor that has requires_grad=False: no gradient will ever arrive here. Set "
            "requires_grad=True on it, or on what it is computed from."
        )
    node = self.grad_fn
    if node is None or self._retains_grad:
        return
    if node._retaining is None:
        node._retaining = {}
    node._retaining[self.output_nr] = weakref.ref(self)
    self._retains_grad = True


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
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    from . import engine

    if mode == "any":
        fired: set[int] = set()

        def first(grad: Tensor) -> None:
            task = engine.current_graph_task_id()
            if task not in fired:
                fired.clear()
                fired.add(task)
                fn(grad)

        return _MultiHandle([t.register_hook(first) for t in tensors])

    edges = [get_gradient_edge(t) for t in tensors]
    arrived: dict[int, list[Tensor | None]] = {}
    counts: dict[int, list[int]] = {}

    def one_of(index: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            task = engine.current_graph_task_id()
            if task not in arrived:
                arrived[task] = [None] * len(edges)
                expected = sum(engine.will_execute(edge.node) for edge in edges)
                counts[task] = [0, expected]
            arrived[task][index] = grad
            counts[task][0] += 1
            if counts[task][0] == counts[task][1]:
                grads = arrived.pop(task)
                del counts[task]
                fn(grads)

        return hook

    return _MultiHandle([t.register_hook(one_of(i)) for i, t in enumerate(tensors)])


# --- anomaly mode ----------------------------------------------------------------------------------------------------


class _Anomaly(threading.local):
    enabled = False
    check_nan = True


anomaly = _Anomaly()


def remember_forward(node: Node) -> None:
    """In anomaly mode: keep where in the user's code this node was made, and by which node if in a backward pass."""
    from . import engine

    node.metadata["traceback_"] = traceback.format_list(traceback.extract_stack()[:-3])
    parent = engine.current_node()
    if parent is not None:
        node.metadata["parent_"] = parent
