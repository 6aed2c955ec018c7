"""The engine: runs the nodes of the graph backward, each once, when all its gradients have arrived.

First, one walk over the graph counts how many gradients each node waits for. Then, of the nodes that are ready, the one
made last runs, frees what it kept, and delivers its results along its edges. Nothing here is recursive. Gradients are arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .layers import AroundPass, thread
from .tensor import AccumulateGrad, Node, Tensor, gradient_edge

__all__ = ["Entry", "Pass"]

# A node that is ready: its place in the order, the node, and the gradients of its outputs.
Entry = tuple[int, Node, list[Any]]
passes = itertools.count()


class Pass(AroundPass):
    """One backward pass. It enters the graph at `roots`, and what reaches a leaf is added to its `.grad`.

    waiting: for each node of this pass, how many gradients it still waits for.
    inbox: for each node that one has reached, and that waits for more, what has arrived, by output.
    ready: the nodes that wait for nothing, each with what has arrived, in a heap: the one made last is first.
    """

    def __init__(self, roots: tuple[Node | None, ...], output_nrs: tuple[int, ...], retain_graph: bool) -> None:
        self.id, self.retain_graph, self.start = next(passes), retain_graph, Node()
        self.start._next, self.start._next_output = roots, output_nrs
        self.waiting: dict[Any, int] = {}
        self.inbox: dict[Node, Any] = {}
        self.ready: list[Entry] = []
        reached = [self.start]
        for node in reached:  # which grows on the way
            for receiver in node._next:
                if receiver in self.waiting:
                    self.waiting[receiver] += 1
                elif receiver is not None:
                    self.waiting[receiver] = 1
                    reached.append(receiver)

    def run(self, grads: Sequence[Any]) -> None:
        """Send `grads` in at the roots, and run every node that a gradient reaches."""
        state = thread.state
        outer, state.task, was_quiet = state.task, self, state.is_quiet
        try:
            self.deliver(self.start, (), grads)
            while self.ready:
                state.is_quiet = True
                entry = self.stretch() if was_quiet else state.running(self.stretch)
                state.is_quiet = was_quiet
                if entry is not None:
                    self.visit(*entry[1:])
            for callback in self.callbacks:
                callback()
        finally:
            state.task, state.is_quiet = outer, was_quiet

    def stretch(self) -> Entry | None:
        """Run nodes one after the other, up to one that has something around it: `visit` runs that one."""
        while self.ready:
            _, node, grads = entry = heappop(self.ready)
            if self.visits_all or node._around is not None:
                return entry
            if isinstance(node, AccumulateGrad):
                node.accumulate(grads[0], node in self.unshared)
            else:
                self.deliver(node, grads, node._step(grads, not self.retain_graph))
        return None

    def deliver(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """Send the results that `node` computed from `grads` along its edges; a node that is complete is ready."""
        for receiver, output_nr, grad in zip(node._next, node._next_output, results, strict=False):
            if receiver is not None and (left := self.waiting.get(receiver)):  # else no gradient is asked for there
                box = self.inbox.pop(receiver, None) or [None] * len(receiver._outputs)
                if grad is not None:
                    shape, dtype = receiver._outputs[output_nr]
                    if grad.shape != shape or grad.dtype is not dtype:
                        grad = self.fitted(node, grad, shape, dtype)
                    # What has arrived already is of the same tensor, which was used twice.
                    box[output_nr] = grad if box[output_nr] is None else box[output_nr] + grad
                if left == 1:
                    heappush(self.ready, (-receiver._seq, receiver, box))
                else:
                    self.waiting[receiver], self.inbox[receiver] = left - 1, box

    def fitted(self, node: Node, grad: Any, shape: tuple[int, ...], dtype: np.dtype | None) -> Any:
        """`grad` in the shape and dtype of the tensor it belongs to.

        A gradient of a broadcast operand comes in the broadcast shape and is summed here, once for all ops.
        """
        summed = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
        summed = summed.sum(axis=tuple([i for i, size in enumerate(shape) if size == 1]), keepdims=True)
        if summed.shape != shape:
            raise RuntimeError(f"{node.name()} returned an invalid gradient: {grad.shape} does not fit {shape}")
        return summed if dtype is None or summed.dtype == dtype else summed.astype(dtype)


def backward(
    self: Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Compute the gradient of this tensor with respect to the leaves of its graph, and add it to their `.grad`."""
    state, node, more = thread.state, self._grad_fn, gradient is not None or create_graph or inputs is not None
    more = more or self._data.ndim > 0 or self._data.dtype.kind != "f"  # else 1 of the loss's own type begins the pass
    if more or node is None or self._view is not None or state.unusual or state.task is not None:
        self._backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)
    else:
        self._kind_of_pass((node,), (self.output_nr,), bool(retain_graph)).run((self._data.dtype.type(1),))


def backward_in_full(self: Tensor, gradient: Any, retain_graph: Any, create_graph: bool, inputs: Any) -> None:
    """`backward`, where more is asked for than the gradient of a scalar result. A layer puts its own in the place of this."""
    node, output_nr = gradient_edge(self)
    if node is None or create_graph or inputs is not None:
        raise RuntimeError(
            "this tensor does not require grad, or create_graph or inputs is given, which a layer has to add"
        )
    if gradient is None and self._data.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs: pass the gradient to start with")
    start = np.ones_like(self._data) if gradient is None else gradient._data
    self._kind_of_pass((node,), (output_nr,), bool(retain_graph)).run((start,))


Tensor.backward, Tensor._backward, Tensor._kind_of_pass = backward, backward_in_full, Pass
