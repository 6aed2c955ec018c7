"""The engine: runs the nodes of the graph backward, each once, when all its gradients have arrived.

First, one walk over the graph counts how many gradients each node waits for. Then, of the nodes that are ready, the one
made last runs, delivers its results along its edges, and frees what it saved. Nothing here is recursive.

Gradients are arrays. Those of 0-d tensors are NumPy scalars, because NumPy computes ten times faster with them. A pass
that is recorded, looks at single nodes, or calls hooks is a subclass: see `autograd/engine.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..array.promotion import sum_to_shape
from ..array.refusals import refuse_misfit
from .node import AccumulateGrad, Node
from .state import everywhere, thread
from .tensor import Tensor

__all__ = ["Entry", "Pass", "backward_method"]

# A node that is ready: its place in the order, the node, and the gradients of its outputs.
Entry = tuple[int, Node, list[Any]]

passes = itertools.count()


def backward_method(kind: type[Pass], in_full: Callable[..., None]) -> Callable[..., None]:
    """`Tensor.backward`: a pass of this `kind` from a scalar. `in_full` does everything beyond that."""

    def backward(
        self: Tensor,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        state = thread.state
        asks_more = gradient is not None or create_graph or inputs is not None
        unusual = state.unusual or everywhere.unusual or everywhere.modes_seen or state.task is not None
        if asks_more or unusual or self._grad_fn is None or self._view is not None or self._value.ndim:
            in_full(self, gradient=gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)
        else:
            kind((self._grad_fn,), (self.output_nr,), bool(retain_graph)).run((self._value.dtype.type(1),))

    return backward


class Pass:
    """One backward pass. It enters the graph at `roots`, and what reaches a leaf is added to its `.grad`.

    waiting: for each node of this pass, how many gradients it still waits for.
    inbox: for each node that one has reached, and that waits for more, what has arrived, by output.
    ready: the nodes that wait for nothing, each with what has arrived, in a heap: the one made last is first. Several leaves
        are equal: then neither goes before the other (`Node.__lt__`), and the heap's own order holds, which is PyTorch's
        (both are the textbook's).
    unshared: the leaves that may keep the array they were sent.
    """

    # A layer around this one may set these: gradients are Tensors; every node is left to `visit`.
    create_graph = visits_all = False
    # The node that `visit` runs now.
    node: Node | None = None

    visit: Callable[..., None]  # runs a node around which a user's code runs
    finish: Callable[[], None]  # calls the callbacks that were queued
    callbacks: Sequence[Callable[[], Any]] = ()  # a list, once there is one

    def __init__(self, roots: tuple[Node | None, ...], output_nrs: tuple[int, ...], retain_graph: bool) -> None:
        self.id = next(passes)
        self.retain_graph = retain_graph
        self.start = Node()
        self.start._next, self.start._next_output = roots, output_nrs
        self.waiting = count_dependencies(self.start)
        self.inbox: dict[Node, Any] = {}
        self.ready: list[Entry] = []
        self.unshared: set[Node] = set()

    def run(self, grads: Sequence[Any]) -> None:
        """Send `grads` in at the roots, and run every node that a gradient reaches."""
        state = thread.state
        outer, state.task = state.task, self
        state.depth += 1
        try:
            self.send(self.start, (), grads)
            while self.ready:
                entry = state.quietly(self.stretch)
                if entry is not None:
                    self.visit(*entry[1:])
            if self.callbacks:
                self.finish()
        finally:
            state.task = outer
            state.depth -= 1

    def stretch(self) -> Entry | None:
        """Run nodes one after the other, up to one around which a user's code runs: `visit` runs that one."""
        ready, visits_all, frees = self.ready, self.visits_all, not self.retain_graph
        while ready:
            _, node, grads = entry = heappop(ready)
            if visits_all or node._around is not None:
                return entry
            if type(node) is AccumulateGrad:
                node.accumulate(grads[0], node in self.unshared)
            else:
                results = node._step(grads)
                if frees:
                    node._release()
                self.deliver(node, grads, results)
        return None

    def send(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """`deliver`, outside a stretch. Tensors add and fit themselves, quietly, and may be seen doing so."""
        if self.create_graph:
            self.deliver(node, grads, results)
        else:
            thread.state.quietly(self.deliver, node, grads, results)

    def deliver(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """Send the results that `node` computed from `grads` along its edges; a node that is complete is ready."""
        waiting, inbox, ready = self.waiting, self.inbox, self.ready
        i = -1  # counted by hand: with `enumerate` the loop takes 1.5 times as long
        for receiver in node._next:
            i += 1
            if receiver is not None and (left := waiting.get(receiver)):  # else no gradient is asked for there
                forms, grad = receiver._outputs, results[i]
                box: Any = (inbox and inbox.pop(receiver, None)) or ([None] if len(forms) == 1 else [None] * len(forms))
                if grad is not None:
                    output_nr = node._next_output[i]
                    shape, dtype = forms[output_nr]
                    # A number of the right type fits: checking the type costs a fifth of checking shape and dtype.
                    if (shape or dtype is None or type(grad) is not dtype.type) and (
                        grad.shape != shape or grad.dtype is not dtype
                    ):
                        grad = self.fitted(node, grad, shape, dtype)
                    if box[output_nr] is not None:
                        grad = box[output_nr] + grad  # of one tensor, which was used twice
                        self.unshared.add(receiver)
                    elif type(receiver) is AccumulateGrad and is_unshared(node, grad, grads, results):
                        self.unshared.add(receiver)
                    box[output_nr] = grad
                if left == 1:
                    heappush(ready, (-receiver._seq, receiver, box))
                else:
                    waiting[receiver] = left - 1
                    inbox[receiver] = box

    def fitted(self, node: Node, grad: Any, shape: tuple[int, ...], dtype: np.dtype | None) -> Any:
        """`grad` in the shape and dtype of the tensor it belongs to.

        A gradient of a broadcast operand comes in the broadcast shape and is summed here, once for all ops.
        """
        if grad.shape != shape:
            refuse_misfit(node, grad.shape, shape)
            grad = sum_to_shape(grad, shape)
        return grad if dtype is None or grad.dtype == dtype else grad.astype(dtype)


def count_dependencies(start: Node) -> dict[Any, int]:
    """For every node reachable from `start`: how many edges lead to it."""
    waiting: dict[Any, int] = {}
    reached = [start]
    for node in reached:  # which grows on the way
        for receiver in node._next:
            if receiver in waiting:
                waiting[receiver] += 1
            elif receiver is not None:
                waiting[receiver] = 1
                reached.append(receiver)
    return waiting


def is_unshared(node: Node, grad: Any, came_in: Sequence[Any], results: Sequence[Any]) -> bool:
    """True if only the engine holds the array `grad`, which `node` has just made, and it goes to one place only."""
    if not node.makes_new_arrays or node._around or type(grad) is not np.ndarray or grad.base is not None:
        return False
    places = 0
    for held in (*came_in, *results):
        places += held is grad
    return places <= 1
