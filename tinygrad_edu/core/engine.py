"""The engine: runs the nodes of the graph backward, each once, when all its gradients have arrived.

How many gradients a node waits for is counted first, by one walk over the graph. Then the node that is ready and was made
last runs, delivers its results along its edges, and lets go of what it saved. Nothing here is recursive.

Gradients are arrays; those of 0-d tensors are NumPy's numbers, with which NumPy computes ten times faster. A pass that is
recorded, that looks at single nodes or calls hooks, is a subclass: `autograd/passes.py`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..promotion import sum_to_shape
from ..refusals import refuse_misfit
from .node import AccumulateGrad, Node
from .state import thread

__all__ = ["Entry", "Pass"]

# A node that is ready: its place in the order, the node, and the gradients of its outputs.
Entry = tuple[int, Node, list[Any]]


class Pass:
    """One backward pass. It sends `grads` into the graph at `roots`, and what reaches a leaf is added to its `.grad`.

    waiting: for each node of this pass, how many gradients it still waits for.
    inbox: for each node that one has reached, and that waits for more, what has arrived, by output.
    ready: the nodes that wait for nothing, each with what has arrived, in a heap: the one made last is first. Several leaves
        are equal: then neither goes before the other (`Node.__lt__`), and the heap's own order holds, which is PyTorch's
        (both are the textbook's).
    unshared: the leaves that may keep the array they were sent.
    """

    create_graph = False

    def __init__(self, roots: Sequence[tuple[Node, int]], grads: Sequence[Any], retain_graph: bool) -> None:
        self.retain_graph = retain_graph
        self.start = Node()
        self.start._set_edges(roots)
        self.grads = grads
        self.waiting = count_dependencies(self.start)
        self.inbox: dict[Node, list[Any]] = {}
        self.ready: list[Entry] = []
        self.unshared: set[Node] = set()
        self.callbacks: list[Callable[[], Any]] = []
        self.node: Node | None = None

    def run(self) -> None:
        """Run every node that a gradient reaches."""
        state = thread.state
        before, hooks = state.task, state.saved_hooks
        state.task = self
        state.depth += 1
        try:
            self.send(self.start, (), self.grads)
            while self.ready:
                entry = state.quietly(self.stretch)
                if entry is not None:
                    self.visit(*entry[1:])
            # One may queue another, which the same loop then comes to.
            for callback in self.callbacks:
                callback()
        finally:
            state.task = before
            state.depth -= 1
            if state.saved_hooks is not hooks:
                # What a hook has entered and not left, or left and not entered, ends with the pass.
                state.saved_hooks = hooks

    def stretch(self) -> Entry | None:
        """Run nodes one after the other, up to one around which a user's code runs: that is left to `visit`."""
        ready = self.ready
        while ready:
            entry = ready.pop() if len(ready) == 1 else heapq.heappop(ready)
            _, node, grads = entry
            if node._around is not None or (type(node) is AccumulateGrad and node.is_hooked()):
                return entry
            self.step(node, grads)
        return None

    def step(self, node: Node, grads: list[Any]) -> None:
        """Run one node on the gradients that have arrived for it."""
        if type(node) is AccumulateGrad:
            node.accumulate(grads[0], node in self.unshared)
            return
        results = node._run(grads, False)
        if not self.retain_graph:
            node._release()
        self.deliver(node, grads, results)

    visit = step

    def send(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """`deliver`, outside a stretch."""
        thread.state.quietly(self.deliver, node, grads, results)

    def deliver(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """Send what `node` made of `grads` along its edges; a node for which all has arrived is ready."""
        waiting, inbox, ready = self.waiting, self.inbox, self.ready
        for receiver, output_nr, grad in zip(node._next, node._next_output, results):  # noqa: B905 - of one length
            if receiver is None:
                continue
            left = waiting.get(receiver, 0) - 1
            if left < 0:
                continue  # nothing that this pass asks for
            outputs = receiver._outputs
            box = (inbox.pop(receiver, None) if inbox else None) or [None] * len(outputs)
            if grad is not None:
                shape, dtype = outputs[output_nr]
                if grad.shape != shape or grad.dtype is not dtype:
                    grad = self.fitted(node, grad, shape, dtype)
                if box[output_nr] is not None:
                    grad = self.sum(box[output_nr], grad)
                    self.unshared.add(receiver)
                elif type(receiver) is AccumulateGrad and is_unshared(node, grad, grads, results):
                    self.unshared.add(receiver)
                box[output_nr] = grad
            if left:
                waiting[receiver] = left
                inbox[receiver] = box
            elif ready:
                heapq.heappush(ready, (-receiver._seq, receiver, box))
            else:
                ready.append((-receiver._seq, receiver, box))

    def sum(self, a: Any, b: Any) -> Any:
        """Two gradients of one tensor, which was used twice."""
        return a + b

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
    stack = [start]
    while stack:
        for node in stack.pop()._next:
            if node in waiting:
                waiting[node] += 1
            elif node is not None:
                waiting[node] = 1
                stack.append(node)
    return waiting


def is_unshared(node: Node, grad: Any, came_in: Sequence[Any], results: Sequence[Any]) -> bool:
    """True if nobody but the engine holds the array `grad`, which `node` has just made, and it goes to one place alone."""
    if not node.makes_new_arrays or node._around or type(grad) is not np.ndarray or grad.base is not None:
        return False
    places = 0
    for held in (*came_in, *results):
        places += held is grad
    return places <= 1
