"""The engine: runs the nodes of the graph backward, each once, when all its gradients have arrived. Of the nodes that are ready,
the one made last runs, frees what it kept, and delivers its results along its edges. Nothing is recursive. Gradients are arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .layers import AroundPass, thread
from .tensor import Node, Tensor, gradient_edge


class Pass(AroundPass):
    """One backward pass. It enters the graph at `roots`, and what reaches a leaf is added to its `.grad`."""

    kind: type[Pass] | None = None  # a layer's own kind of it
    ids = itertools.count()
    waiting: dict[Any, int]  # for each node of this pass, how many gradients it still waits for
    inbox: dict[Node, Any]  # what has arrived, by output, at a node that waits for more
    ready: list[tuple[int, Node, list[Any]]]  # the nodes that wait for nothing, in a heap: the one made last is first

    def __init__(self, roots: tuple[Node | None, ...], output_nrs: tuple[int, ...], retain_graph: bool) -> None:
        self.id, self.retain_graph, self.start = next(self.ids), retain_graph, Node()
        self.start._next, self.start._next_output = roots, output_nrs
        self.waiting, self.inbox, self.ready, reached = {}, {}, [], [self.start]
        waiting = self.waiting
        for node in reached:  # which grows on the way
            for receiver in filter(None, node._next):
                if receiver not in waiting:
                    reached.append(receiver)
                waiting[receiver] = waiting.get(receiver, 0) + 1

    @classmethod
    def begin(cls, root: Tensor, gradient: Any, retain_graph: Any, create_graph: bool, inputs: Any) -> None:
        """`backward`, where more is asked for than the gradient of a scalar."""
        node, output_nr = gradient_edge(root)
        if node is None or create_graph or inputs is not None:
            raise RuntimeError("element 0 of tensors does not require grad, or what is asked for is left to a layer")
        if gradient is None and root._data.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs: pass the gradient")
        start = np.ones_like(root._data) if gradient is None else gradient._data
        cls((node,), (output_nr,), bool(retain_graph)).run((start,))

    def run(self, grads: Sequence[Any]) -> None:
        """Send `grads` in at the roots, and run every node that a gradient reaches."""
        outer, thread.state.task = thread.state.task, self
        try:
            self.deliver(self.start, (), grads)
            while self.ready:
                _, node, box = heappop(self.ready)
                if self.visits_all or node._around is not None:
                    self.visit(node, box)
                else:
                    with np.errstate(all="ignore"):
                        self.deliver(node, box, node._step(box, not self.retain_graph))
        finally:
            thread.state.task = outer

    def deliver(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """Send the results that `node` computed from `grads` along its edges; a node that is complete is ready."""
        for receiver, output_nr, grad in zip(node._next, node._next_output, results, strict=False):
            if receiver is not None and (left := self.waiting.get(receiver)):  # else no gradient is asked for there
                box = self.inbox.pop(receiver, None) or [None] * len(receiver._outputs)
                if grad is not None:
                    if (grad.shape, grad.dtype) != receiver._outputs[output_nr]:
                        grad = self.fitted(node, grad, *receiver._outputs[output_nr])
                    box[output_nr] = grad if box[output_nr] is None else box[output_nr] + grad
                if left == 1:
                    heappush(self.ready, (-receiver._seq, receiver, box))
                else:
                    self.waiting[receiver], self.inbox[receiver] = left - 1, box

    def fitted(self, node: Node, grad: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """`grad` in the shape and dtype of its tensor: that of a broadcast operand is summed here, once for all ops."""
        grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
        grad = grad.sum(axis=tuple([i for i, size in enumerate(shape) if size == 1]), keepdims=True)
        if grad.shape != shape:
            raise RuntimeError(f"{node.name()} returned an invalid gradient: {grad.shape} does not fit {shape}")
        return grad.astype(dtype)


def backward(
    self: Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Compute the gradient of this tensor with respect to the leaves of its graph, and add it to their `.grad`."""
    node, array, state = self._grad_fn, self._data, thread.state
    more = gradient is not None or create_graph or inputs is not None or array.ndim or array.dtype.kind != "f"
    if more or node is None or self._view is not None or state.unusual or state.task is not None:
        (Pass.kind or Pass).begin(self, gradient, retain_graph, create_graph, inputs)
    else:  # 1 of the loss's own type begins the pass
        (Pass.kind or Pass)((node,), (self.output_nr,), bool(retain_graph)).run((array.dtype.type(1),))


Tensor.backward = backward  # type: ignore[attr-defined]
