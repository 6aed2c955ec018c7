"""Nodes and edges: what a recorded op is in the graph, and where gradients flow."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..quiet import quiet
from ..tensor import Tensor, wrap
from . import grad_mode
from .hooks import RemovableHandle, add_hook

__all__ = [
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "bump_version",
    "get_gradient_edge",
    "grad_accumulator",
    "gradient_edge",
    "increment_version",
    "sequence",
]

# The order in which nodes are made. The engine runs, of those that are ready, the one made last.
sequence = itertools.count()
ACCUMULATE_GRAD_SEQUENCE = 2**64 - 1  # a leaf is served as soon as it is ready


class TensorMeta(NamedTuple):
    """What a gradient must look like when it arrives."""

    shape: tuple[int, ...]
    dtype: np.dtype | None


class Node:
    """One recorded op: an edge list to the nodes of its inputs, and the rule that turns gradients backward.

    `tensor.grad_fn` is a Node. Gradients of its outputs come in, gradients of its inputs go out along `next_functions`.
    """

    # No `__del__` here or below: CPython frees a long chain of plain instances without recursion (its "trashcan"), and a
    # Python destructor would take part in it once per node.

    _edges: tuple[tuple[Node | None, int], ...] = ()
    _seq: int = 0
    # The shape and dtype of each output of the forward op, hence of each gradient that comes in (None: any dtype).
    _outputs: tuple[tuple[tuple[int, ...], Any], ...] = ()
    _metadata: dict[Any, Any] | None = None
    _pre_hooks: dict[int, Any] | None = None
    _post_hooks: dict[int, Any] | None = None
    # Hooks of the tensors that this node computed, by output; and those tensors, where they retain their gradient.
    _tensor_hooks: dict[int, dict[int, Any]] | None = None
    _retaining: dict[int, weakref.ref[Tensor]] | None = None
    # In forward mode: the tangents of the outputs, for the outputs that the node saves.
    _tangents_of_outputs: dict[int, Any] | None = None
    # True if `_run` gives arrays that nobody else holds, so that a leaf may keep one as its `.grad` without a copy.
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
        if len(grads) != len(self._outputs):
            raise TypeError(
                f"expected {len(self._outputs)} arguments, got {len(grads)} instead: {self.name()} takes one gradient for "
                "each output."
            )
        if grad_mode.state.grad_enabled:
            tensors = tuple(self._run(list(grads), True))
        else:
            results = self._run([g._data if isinstance(g, Tensor) else g for g in grads], False)
            tensors = tuple(None if g is None else wrap(np.asarray(g)) for g in results)
        return tensors[0] if len(tensors) == 1 else tensors

    # What the engine needs of a node ---------------------------------------------------------------------------------

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        """The gradients of the inputs, given those of the outputs (None where nothing came).

        They are arrays, or Tensors under `create_graph`, where everything done to them is recorded anew. `wanted` tells
        for each edge whether this pass needs its gradient (None: all); built-in ops leave the others out.
        """
        raise NotImplementedError

    def _release(self) -> None:
        """Let go of what was saved: this node has run and will not run again."""


class AccumulateGrad(Node):
    """The end of a path: adds the gradient that arrives to the `.grad` of the leaf it belongs to."""

    _seq = ACCUMULATE_GRAD_SEQUENCE

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.expect(variable._dtype_of_gradients())

    def expect(self, dtype: np.dtype | None) -> None:
        """Gradients are to come in `dtype`; None: in any."""
        self._outputs = ((self.variable._data.shape, dtype),)

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
            like = np.empty_like(leaf._data, dtype=grad._data.dtype)
            leaf._grad = wrap(like).copy_(grad) if leaf._grad is None else leaf._grad + grad
        elif leaf._grad is None:
            array = np.asarray(grad)
            if array.shape != leaf._data.shape:
                _refuse_other_shape(leaf._data.shape, array.shape)
            leaf._grad = wrap(array if owned and array is grad else array.copy())
        else:
            # In place: who holds the old gradient sees the new one, and a graph that saved it will notice.
            total = leaf._grad
            if total._inference and not grad_mode.state.inference:
                raise RuntimeError(
                    "Inplace update to inference tensor outside InferenceMode is not allowed. The .grad of this leaf was made in "
                    "inference mode, and a gradient is to be added to it: assign a clone() of it, or None."
                )
            if grad.shape != total._data.shape:
                _refuse_other_shape(total._data.shape, grad.shape)
            quiet.run(np.add, total._data, grad, out=total._data)
            bump_version(total)

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        self.accumulate(grads[0], create_graph, owned=False)
        return ()


def _refuse_other_shape(expected: tuple[int, ...], found: tuple[int, ...]) -> None:
    a, b = (", ".join(map(str, shape)) for shape in (expected, found))
    raise RuntimeError(
        f"The size of tensor a ({a}) must match the size of tensor b ({b}): the .data of a leaf was "
        "replaced by a tensor of another shape, and this gradient, or the .grad that is there, belongs to what it was. Set "
        ".grad to None and run the forward pass again."
    )


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
    if node is None:
        raise AssertionError(
            "Expected gradient function to be set: this view was made under no_grad of a tensor that requires grad, so no "
            "graph leads to it."
        )
    return GradientEdge(node, output_nr)


def bump_version(t: Tensor) -> None:
    """Count one in-place write to the storage of `t`."""
    if t._counter is None:
        t._counter = [1]
    else:
        t._counter[0] += 1


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Say that the tensor was written to by means that autograd did not see, so that saved uses of it raise."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not t._inference:
            bump_version(t)
