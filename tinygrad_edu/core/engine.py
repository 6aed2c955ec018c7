"""The engine: runs the nodes of the graph backward, each once, when all its gradients have arrived.

Of the nodes that are ready, the one made last runs, frees what it kept, and delivers its results along its edges.
Nothing is recursive.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from . import layers
from .graph import AccumulateGrad, Node, wrap
from .layers import thread
from .op import Op


class Pass:
    """One backward pass. It enters the graph at `roots`, and what reaches a leaf is added to its `.grad`."""

    kind: type[Pass] | None = None  # a layer's own kind of it
    ids = itertools.count()
    create_graph = False  # gradients are Tensors, and what is done to them is recorded
    visits_all = False  # every node is left to `visit`
    waiting: dict[Any, int]  # for each node of this pass, how many gradients it still waits for
    inbox: dict[Node, Any]  # what has arrived, by output, at a node that waits for more
    ready: list[tuple[int, Node, list[Any]]]  # the nodes that wait for nothing, in a heap: the one made last is first
    unshared: set[Node]  # the leaves that were sent an array which nobody else holds

    def __init__(self, roots: tuple[Node | None, ...], output_nrs: tuple[int, ...], retain_graph: bool) -> None:
        self.id, self.retain_graph, self.start = next(self.ids), retain_graph, Node()
        self.start._next, self.start._next_output = roots, output_nrs
        self.waiting, self.inbox, self.ready, self.unshared, reached = {}, {}, [], set(), [self.start]
        waiting = self.waiting
        for node in reached:  # which grows on the way
            for receiver in node._next:
                if receiver is not None:
                    if receiver not in waiting:
                        reached.append(receiver)
                        waiting[receiver] = 0
                    waiting[receiver] += 1

    def run(self, grads: Sequence[Any]) -> None:
        """Send `grads` in at the roots, and run every node that a gradient reaches."""
        state = thread.state
        outer, state.task = state.task, self
        try:
            self.deliver(self.start, (), grads)
            while self.ready:
                # NumPy's warnings are turned off for a stretch of nodes at once.
                was_quiet, state.is_quiet = state.is_quiet, True
                try:
                    entry = self.stretch() if was_quiet else state.running(self.stretch)
                finally:
                    state.is_quiet = was_quiet
                if entry is not None:
                    self.visit(*entry)
        finally:
            state.task = outer

    def stretch(self) -> tuple[Node, list[Any]] | None:
        """Run nodes one after the other, up to one that is left to `visit`."""
        ready, frees, visits_all = self.ready, not self.retain_graph, self.visits_all
        while ready:
            _, node, grads = heappop(ready)
            if visits_all or node._visited:
                return node, grads
            if type(node) is AccumulateGrad:
                node._step(grads, node in self.unshared)
            else:
                self.deliver(node, grads, node._step(grads, frees))
        return None

    def visit(self, node: Node, grads: list[Any]) -> None:
        """Run a node that has hooks, or is a Function's; or any node, where gradients are Tensors."""
        grads = self.before(node, grads)
        results = self.compute(node, grads)
        if not self.retain_graph:
            node._release()
        self.send(node, grads, results)

    def before(self, node: Node, grads: list[Any]) -> list[Any]:
        """Keep gradients for tensors that asked for it: a copy, or a sum, which nothing else shares."""
        for output_nr, reference in (node._hooks.retaining if node._hooks else {}).items():
            t, grad = reference(), grads[output_nr]
            if t is not None and grad is not None:
                kept = layers.around.clone(grad) if self.create_graph else wrap(np.array(grad))
                t._grad = kept if t._grad is None else t._grad + kept
        return grads

    def compute(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        """The gradients of the inputs of `node`."""
        if self.create_graph or not node._is_quiet:
            return node._step(grads, False, self.create_graph, self.wanted(node))
        return thread.state.quietly(node._step, grads, False, False, self.wanted(node))

    def wanted(self, node: Node) -> Sequence[bool] | None:
        """For each edge of `node`, whether this pass needs its gradient; None: all."""
        return None

    def send(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """`deliver`, outside a stretch."""
        if self.create_graph:  # Tensors are quiet themselves, and a layer may watch them
            self.deliver(node, grads, results)
        else:
            thread.state.quietly(self.deliver, node, grads, results)

    def deliver(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """Send the results that `node` computed from `grads` along its edges; a node that is complete is ready."""
        waiting, inbox, ready = self.waiting, self.inbox, self.ready
        i = -1  # counted by hand: with `enumerate` the loop takes 1.5 times as long
        for receiver in node._next:
            i += 1
            if receiver is None or not (left := waiting.get(receiver)):  # no gradient is asked for there
                continue
            forms, grad = receiver._outputs, results[i]
            box = inbox.pop(receiver, None) if inbox else None
            if box is None:
                box = [None] * len(forms)
            if grad is not None:
                output_nr = node._next_output[i]
                shape, dtype = forms[output_nr]
                if grad.shape != shape or grad.dtype is not dtype:
                    grad = self.fitted(node, grad, shape, dtype)
                if box[output_nr] is not None:
                    grad = box[output_nr] + grad
                    self.unshared.add(receiver)
                elif type(receiver) is AccumulateGrad and is_unshared(node, grad, grads, results):
                    self.unshared.add(receiver)
                box[output_nr] = grad
            if left == 1:
                heappush(ready, (-receiver._seq, receiver, box))
            else:
                waiting[receiver], inbox[receiver] = left - 1, box

    def fitted(self, node: Node, grad: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """`grad` in the shape and dtype of its tensor: that of a broadcast operand is summed here, once for all ops."""
        if grad.shape != shape:
            grad = layers.around.summed(node, grad, shape)
        value = grad.value if self.create_graph else grad
        return grad if dtype is None or value.dtype == dtype else layers.around.cast(grad, dtype)


def is_unshared(node: Node, grad: Any, came_in: Sequence[Any], results: Sequence[Any]) -> bool:
    """True if only the engine holds the array `grad`, which an op has just made, and it goes to one place only."""
    if type(grad) is not np.ndarray or grad.base is not None or node._visited or not isinstance(node, Op):
        return False
    return sum([held is grad for held in (*came_in, *results)]) <= 1
