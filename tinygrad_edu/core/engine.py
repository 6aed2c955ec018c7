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

from .node import AccumulateGrad, Node
from .state import thread

__all__ = ["Pass", "sum_to_shape"]


class Pass:
    """One backward pass. It sends `grads` into the graph at `roots`, and what reaches a leaf is added to its `.grad`.

    waiting: for each node of this pass, how many gradients it still waits for.
    inbox: for each node that one has reached, what has arrived, by output.
    ready: the nodes that wait for nothing, a heap: the one made last is first. Several leaves are equal: then neither goes
        before the other (`Node.__lt__`), and the heap's own order holds, which is PyTorch's (both are the textbook's).
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
        self.ready: list[tuple[int, Node]] = []
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
                node = state.quietly(self.stretch)
                if node is not None:
                    self.visit(node)
            # One may queue another, which the same loop then comes to.
            for callback in self.callbacks:
                callback()
        finally:
            state.task = before
            state.depth -= 1
            if state.saved_hooks is not hooks:
                # What a hook has entered and not left, or left and not entered, ends with the pass.
                state.saved_hooks = hooks

    def stretch(self) -> Node | None:
        """Run nodes one after the other, up to one around which a user's code runs: that is left to `visit`."""
        ready = self.ready
        while ready:
            node = ready.pop()[1] if len(ready) == 1 else heapq.heappop(ready)[1]
            if node._around is not None or (type(node) is AccumulateGrad and node.is_hooked()):
                return node
            self.step(node)
        return None

    def step(self, node: Node) -> None:
        """Run one node on the gradients that have arrived for it."""
        grads = self.inbox.pop(node)
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
        waiting, inbox = self.waiting, self.inbox
        position = 0
        for receiver, output_nr in zip(node._next, node._next_output):  # noqa: B905 - of one length
            grad = results[position]
            position += 1
            if receiver is None or receiver not in waiting:
                continue  # nobody there, or nobody that this pass asks for
            box = inbox.get(receiver)
            if box is None:
                box = inbox[receiver] = [None] * len(receiver._outputs)
            if grad is not None:
                shape, dtype = receiver._outputs[output_nr]
                if grad.shape != shape or grad.dtype is not dtype:
                    grad = self.fitted(node, position - 1, grad, shape, dtype)
                if box[output_nr] is not None:
                    box[output_nr] = self.sum(box[output_nr], grad)
                    self.unshared.add(receiver)
                else:
                    box[output_nr] = grad
                    if type(receiver) is AccumulateGrad and is_unshared(node, grad, grads, results):
                        self.unshared.add(receiver)
            left = waiting[receiver] = waiting[receiver] - 1
            if left == 0:
                if self.ready:
                    heapq.heappush(self.ready, (-receiver._seq, receiver))
                else:
                    self.ready.append((-receiver._seq, receiver))

    def sum(self, a: Any, b: Any) -> Any:
        """Two gradients of one tensor, which was used twice."""
        return a + b

    def fitted(self, node: Node, position: int, grad: Any, shape: tuple[int, ...], dtype: np.dtype | None) -> Any:
        """`grad` in the shape and dtype of the tensor it belongs to.

        A gradient of a broadcast operand comes in the broadcast shape and is summed here, once for all ops.
        """
        if grad.shape != shape:
            refuse_misfit(node, position, grad.shape, shape)
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


def refuse_misfit(node: Node, position: int, found: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise if a tensor of `shape` does not broadcast to what was `found`."""
    stretched = zip(reversed(shape), reversed(found), strict=False)
    if len(shape) > len(found) or any(size not in (1, large) for size, large in stretched):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {position} - got {list(found)} but expected "
            f"shape compatible with {list(shape)}"
        )


def sum_to_shape(array: Any, shape: tuple[int, ...]) -> Any:
    """Sum `array` over the dimensions that broadcasting added or stretched: the transpose of broadcasting."""
    leading = array.ndim - len(shape)
    axes = list(range(leading))
    for axis, size in enumerate(shape, leading):
        if size == 1 and array.shape[axis] != 1:
            axes.append(axis)
    summed = np.add.reduce(array, axis=tuple(axes), keepdims=len(axes) > leading)
    return summed if summed.shape == shape else summed.reshape(shape)
