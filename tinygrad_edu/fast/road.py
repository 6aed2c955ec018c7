"""The straight road: an operator between two tensors of one type, and a stretch of a backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..core import tensor as core
from ..core.engine import Pass
from ..core.tensor import AccumulateGrad, Node, gradient_edge, sequence
from ..modes import thread
from ..ops.arrays import in_order
from ..ops.op import Op
from .plans import FORMS_OF_NUMBERS, TENSOR, WANTED, forms_of, planned, record_two, versions_of

__all__ = ["deliver", "operator", "run"]

new, ndarray = object.__new__, np.ndarray


def operator(op: type[Op], function: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A method of Tensor for an operator, such as `__mul__`: what `op.apply` does, for two tensors of one floating-point type.

    Other tensors go to `function`, which is `mul`; numbers, and whatever a mode is to see, to `otherwise`.
    """
    forward = op.forward
    pattern = 1 << 4
    # By whether the first and the second need a gradient.
    plans: Any = (
        (None, planned(op, pattern | TENSOR << 2 | WANTED)),
        (planned(op, pattern | WANTED << 2 | TENSOR), planned(op, pattern | WANTED << 2 | WANTED)),
    )

    def call(self: Any, other: Any) -> Any:
        now = thread.state
        if not isinstance(other, Tensor) or now.unusual:
            return otherwise(call, self, other)
        a, b = self._as_number, other._as_number  # type: ignore[attr-defined]
        if a is None:
            a = self._data
            if not a.ndim:
                a = a[()]
        if b is None:
            b = other._data
            if not b.ndim:
                b = b[()]
        plan = plans[self._requires_grad][other._requires_grad]
        alike = type(a) is type(b) is not ndarray or a.dtype is b.dtype
        strays = plan is None or now.is_quiet or not now.recording or self._view is not None or other._view is not None
        if strays or not alike:
            return function(self, other)
        try:
            result = now.running(forward, a, b)
        except ValueError:
            return function(self, other)  # which says what does not fit
        forms = FORMS_OF_NUMBERS.get(type(result))
        if forms is None:
            if type(result) is not ndarray or result.dtype.kind != "f":
                return function(self, other)
            return wrap(in_order(result, (a, b)), record_two(plan, self, other, forms_of(plan, result)))
        # What `record_two` does, written here: two calls less are an eighth of the time of an op.
        node = op()
        node._around, node._plan, node._seq = None, plan, next(sequence)
        to_x, to_y, nr_x, nr_y = self._grad_fn, other._grad_fn, self.output_nr, other.output_nr
        if to_x is None and self._requires_grad:
            to_x = gradient_edge(self)[0]
        if to_y is None and other._requires_grad:
            to_y = gradient_edge(other)[0]
        node._next = (to_x, to_y)
        node._next_output = (nr_x, nr_y) if nr_x or nr_y else plan.first_outputs
        node._outputs = forms
        node._kept = kept = plan.keep(self, other)
        node._versions = plan.never_written if self._counter is other._counter is None else versions_of(kept)
        t: Any = new(core._results)
        t._as_number, t._grad_fn, t._requires_grad = result, node, True
        t._view = t._counter = None
        t.output_nr = 0
        return t

    return call


def run(self: Pass, grads: Sequence[Any]) -> None:
    """What `Pass.run` of the core does. NumPy's warnings are turned off for a stretch of nodes at once."""
    state = thread.state
    outer, state.task, was_quiet = state.task, self, state.is_quiet
    try:
        self.deliver(self.start, (), grads)
        while self.ready:
            state.is_quiet = True
            entry = stretch(self) if was_quiet else state.running(stretch, self)
            state.is_quiet = was_quiet
            if entry is not None:
                self.visit(*entry[1:])
    finally:
        state.task, state.is_quiet = outer, was_quiet


def stretch(self: Any) -> tuple[int, Node, list[Any]] | None:
    """Run nodes one after the other, up to one that has something around it: `visit` runs that one."""
    ready, visits_all, frees = self.ready, self.visits_all, not self.retain_graph
    while ready:
        _, node, grads = entry = heappop(ready)
        if visits_all or node._around is not None:
            return entry
        if type(node) is AccumulateGrad:
            node._step(grads, frees, node in self.unshared)
        else:
            self.deliver(node, grads, node._step(grads, frees))
    return None


def deliver(self: Any, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
    """What `Pass.deliver` of the core does."""
    waiting, inbox, ready = self.waiting, self.inbox, self.ready
    i = -1  # counted by hand: with `enumerate` the loop takes 1.5 times as long
    for receiver in node._next:
        i += 1
        if receiver is not None and (left := waiting.get(receiver)):
            forms, grad = receiver._outputs, results[i]
            if left == 1 and not inbox and FORMS_OF_NUMBERS.get(type(grad)) is forms:
                heappush(ready, (-receiver._seq, receiver, [grad]))  # a number, the only gradient of an op's number
                continue
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
                    grad = box[output_nr] + grad
                    not_shared(self, receiver)
                elif type(receiver) is AccumulateGrad and is_unshared(node, grad, grads, results):
                    not_shared(self, receiver)
                box[output_nr] = grad
            if left == 1:
                heappush(ready, (-receiver._seq, receiver, box))
            else:
                waiting[receiver] = left - 1
                inbox[receiver] = box


def not_shared(self: Any, leaf: Node) -> None:
    """Say that `leaf` may keep the array that it was sent."""
    if not self.unshared:
        self.unshared = set()
    self.unshared.add(leaf)


def is_unshared(node: Node, grad: Any, came_in: Sequence[Any], results: Sequence[Any]) -> bool:
    """True if only the engine holds the array `grad`, which an op has just made, and it goes to one place only."""
    if type(grad) is not ndarray or grad.base is not None or node._around or not isinstance(node, Op):
        return False
    places = 0
    for held in (*came_in, *results):
        places += held is grad
    return places <= 1
