"""Nodes and edges: how a recorded op appears in the graph, and where gradients flow."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array.refusals import MOVED_INTO_THE_GRAPH, REFUSED_UPDATE, refuse_other_shape
from .state import thread
from .tensor import NOT_COUNTED, Tensor, wrap

if TYPE_CHECKING:
    from ..declared import DeclaredOfNode
else:
    DeclaredOfNode = object

__all__ = ["AccumulateGrad", "Node", "bump_version", "grad_accumulator", "gradient_edge", "sequence", "version_of"]

# The order in which nodes are made. Of the nodes that are ready, the engine runs the one made last.
sequence = itertools.count()
ACCUMULATE_GRAD_SEQUENCE = 2**64 - 1  # a leaf is served as soon as it is ready

Edge = tuple["Node | None", int]


class Node(DeclaredOfNode):
    """One recorded op: edges to the nodes of its inputs, and the rule that turns gradients backward.

    `tensor.grad_fn` is a Node. Gradients of its outputs come in, gradients of its inputs go out along `next_functions`.
    """

    # No `__del__` here or below: CPython frees a long chain of plain instances without recursion (its "trashcan"), and a
    # Python destructor would take part in it once per node.

    # The edges, as two tuples: for each input of the op the node that made it, and which of its outputs it is.
    _next: tuple[Node | None, ...] = ()
    _next_output: tuple[int, ...] = ()
    _seq: int = 0
    # The shape and dtype of each output of the forward op, hence of each gradient that comes in (None: any dtype).
    _outputs: tuple[tuple[tuple[int, ...], Any], ...] = ()
    # None for a node that runs only our own code. Else what a user has hung around it, see `autograd/hooks.py`; empty
    # where that is a hook of a leaf, or a Function of the user's.
    _around: Any = ()
    _metadata: dict[Any, Any] | None = None
    # In forward mode: the tangents of the outputs, for the outputs that the node saves.
    _tangents_of_outputs: dict[int, Any] | None = None
    # True if `_run` returns arrays that nobody else holds, so that a leaf may keep one as its `.grad` without a copy.
    makes_new_arrays = False

    def name(self) -> str:
        """The name PyTorch gives this kind of node, such as `MulBackward0`."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        """For each input of the op: the node that made it and which of its outputs it is; None if it needs no gradient."""
        return tuple(zip(self._next, self._next_output, strict=True))

    def _set_edges(self, edges: Sequence[Edge]) -> None:
        self._next = tuple([node for node, _ in edges])
        self._next_output = tuple([output_nr for _, output_nr in edges])

    def __lt__(self, other: Node) -> bool:
        # The engine's heap asks this about nodes with the same sequence number: neither goes first.
        return False

    _step: Callable[[list[Any]], Sequence[Any]]  # `_run` on arrays, where nobody's code runs but ours

    # What the engine needs of a node ---------------------------------------------------------------------------------

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        """The gradients of the inputs, given those of the outputs (None where nothing arrived).

        They are arrays, or Tensors under `create_graph`, where everything done to them is recorded anew. `wanted` says
        for each edge whether this pass needs its gradient (None: all). Built-in ops skip the others.
        """
        raise NotImplementedError

    def _release(self) -> None:
        """Free what was saved: this node has run and will not run again."""


class AccumulateGrad(Node):
    """The end of a path: adds the gradient that arrives to the `.grad` of the leaf it belongs to."""

    _seq = ACCUMULATE_GRAD_SEQUENCE

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self._around = () if self.is_hooked() else None
        self.expect(variable._value.dtype if variable._grad_dtype is ... else variable._grad_dtype)

    def expect(self, dtype: np.dtype | None) -> None:
        """Gradients must arrive in `dtype`; None: in any dtype."""
        self._outputs = ((self.variable._value.shape, dtype),)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def is_hooked(self) -> bool:
        """True if something is called when a gradient arrives at the leaf, or after it."""
        return bool(self.variable._hooks or self.variable._post_accumulate_hooks)

    def accumulate(self, grad: Any, owned: bool) -> None:
        """Add the array `grad` to the leaf's `.grad`. One that is `owned` belongs to nobody else and is kept as it is."""
        leaf = self.variable
        if grad is None or not leaf._requires_grad:
            return
        if leaf._grad_fn is not None:
            raise RuntimeError(MOVED_INTO_THE_GRAPH)
        total = leaf._grad
        expected = (leaf if total is None else total)._value.shape
        if grad.shape != expected:
            refuse_other_shape(expected, grad.shape)
        if total is None:
            leaf._grad = wrap(grad if owned or isinstance(grad, np.generic) else np.array(grad, order="C"))
        else:
            if total._counter is NOT_COUNTED and not thread.state.inference:
                raise RuntimeError(REFUSED_UPDATE)
            # In place: a holder of the old gradient sees the new one, and a graph that saved it will notice.
            np.add(total._data, grad, out=total._data)
            bump_version(total)

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        self.accumulate(grads[0]._data if create_graph and grads[0] is not None else grads[0], owned=False)
        return ()


def grad_accumulator(leaf: Tensor) -> AccumulateGrad:
    """The AccumulateGrad of a leaf: always the same one while a graph, or somebody, holds it."""
    node = leaf._accumulator and leaf._accumulator()
    if node is None:
        node = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(node)
    return node


def gradient_edge(t: Tensor) -> Edge:
    """Where the gradient of `t` goes: to its grad_fn and output number, to its AccumulateGrad, or nowhere."""
    node = t.grad_fn if t._view is not None else t._grad_fn
    if node is not None:
        return node, t.output_nr
    if t._requires_grad:
        return grad_accumulator(t), 0
    return None, 0


def version_of(t: Tensor) -> int:
    """The number of in-place writes to the storage of `t` so far."""
    return 0 if t._counter is None else t._counter[0]


def bump_version(t: Tensor) -> None:
    """Count one in-place write to the storage of `t`."""
    if t._counter is None:
        t._counter = [1]
    elif t._counter is not NOT_COUNTED:
        t._counter[0] += 1
