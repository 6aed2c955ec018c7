"""For one pattern of inputs, all that a node of an op needs is worked out once, and every node of that pattern shares it.

What a node keeps is what the plain core keeps, in the same attributes. So whoever reads it need not know which made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.tensor import Tensor
from ..core import op as core
from ..core.tensor import AccumulateGrad, gradient_edge, sequence, shadow, version_of
from ..ops.op import ASIDE, INPUT, NAMED, OUTPUT, SETTING, SIZES, Op, Plan, plain, unpacked

__all__ = ["FastPlan", "planned", "record", "record_two", "step"]

ndarray = np.ndarray
# The ends of edges that are no ops.
LEAF = (AccumulateGrad, type(None))
# What an input is: no tensor, a tensor without an edge, one that needs a gradient.
NUMBER, TENSOR, WANTED = range(3)

# The forms of a node whose output is a number.
FORMS_OF_NUMBERS = {kind: (((), np.dtype(kind)),) for kind in (np.float16, np.float32, np.float64)}

# What is kept of two tensors, by their numbers.
KEEPERS: dict[tuple[int, ...], Callable[[Any, Any], tuple[Any, ...]]] = {
    (0,): lambda x, y: (x,),
    (1,): lambda x, y: (y,),
    (0, 1): lambda x, y: (x, y),
    (1, 0): lambda x, y: (y, x),
}


class FastPlan(Plan):
    """A Plan that has at hand what a node is made of."""

    def __init__(self, op: type[Op], kinds: Sequence[int]) -> None:
        super().__init__(op, tuple([kind == WANTED for kind in kinds]))
        self.blank: list[Any] = [None] * len(kinds)
        self.is_plain = op._is_plain
        self.first_outputs = (0,) * len(kinds)
        are_tensors = [
            kind in (OUTPUT, ASIDE) or (kind == INPUT and kinds[where] != NUMBER) for kind, where in self.sources
        ]
        self.never_written = tuple([0 if is_tensor else None for is_tensor in are_tensors])
        self.forms: Any = (((), None),)
        # What is kept, as `record` collects it: the name, the kind of its place, the number there. The mask is known now.
        self.parts: list[tuple[str, int, Any]] = [
            (name, SETTING, self.mask) if name == "needs_input_grad" else (name, kind, where)
            for name, (kind, where) in zip(self.names, self.sources, strict=True)
        ]
        self.packed = [slot for slot, (kind, _) in enumerate(self.sources) if kind == NAMED]
        # What is kept that are tensors, as `step` reads them: the slot, and the number of an input which has an edge.
        self.reads = [
            (slot, position if position is not None and kinds[position] == WANTED else None)
            for slot, position in enumerate(self.inputs)
            if are_tensors[slot]
        ]
        # How two tensors are kept, or settings by their defaults; None where `record` works it out.
        self.keep: Callable[[Any, Any], tuple[Any, ...]] | None = None
        if all(kind == INPUT for kind, _ in self.sources):
            self.keep = KEEPERS.get(tuple([where for _, where in self.sources]))
        elif all(kind == SETTING for kind, _ in self.sources):
            defaults = tuple([default for _, default in self.sources])
            self.keep = lambda x, y: defaults
        if not self.sources:
            self.keep = lambda x, y: ()


def planned(op: Any, pattern: int) -> FastPlan:
    """The plan of `op` for inputs of this pattern: two bits each, behind a leading 1."""
    plan = op._plans.get(pattern)
    if plan is None:
        kinds = [pattern >> bits & 3 for bits in range(pattern.bit_length() - 3, -1, -2)]
        plan = op._plans[pattern] = FastPlan(op, kinds)
    return plan  # type: ignore[no-any-return]


def forms_of(plan: FastPlan, array: np.ndarray) -> tuple[tuple[tuple[int, ...], Any], ...]:
    """The forms of a node with this output. Most nodes of a plan share them."""
    if plan.forms[0][0] != array.shape or plan.forms[0][1] is not array.dtype:
        plan.forms = ((array.shape, array.dtype),)
    return plan.forms  # type: ignore[no-any-return]


def versions_of(kept: Sequence[Any]) -> tuple[int | None, ...]:
    """The versions of those that are tensors."""
    return tuple([version_of(x) if isinstance(x, Tensor) else None for x in kept])


def record_two(plan: FastPlan, x: Tensor, y: Tensor, forms: Any) -> core.Op:
    """The node of an op on two tensors that are not views and of which at least one needs a gradient."""
    node = plan.op()
    node._around, node._plan, node._seq = None, plan, next(sequence)
    to_x = gradient_edge(x)[0] if x._grad_fn is None and x._requires_grad else x._grad_fn
    to_y = gradient_edge(y)[0] if y._grad_fn is None and y._requires_grad else y._grad_fn
    node._next = (to_x, to_y)
    node._next_output = (x.output_nr, y.output_nr) if x.output_nr or y.output_nr else plan.first_outputs
    node._outputs = forms
    node._kept = kept = plan.keep(x, y)  # type: ignore[misc]
    if x._counter is y._counter is None:
        node._versions = plan.never_written
    else:
        node._versions = versions_of(kept)
    return node


def record(cls: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Tensor]) -> core.Op:
    """What `Op._record` of the core does."""
    pattern, nodes, numbers, first = 1, [], [], True
    for x in inputs:
        made_by, number, kind = None, 0, NUMBER
        if isinstance(x, Tensor):
            made_by, number = x._grad_fn, x.output_nr
            if made_by is None or x._view is not None:
                made_by, number = gradient_edge(x)
            kind = TENSOR if made_by is None else WANTED
            first = first and not number
        pattern = pattern << 2 | kind
        nodes.append(made_by)
        numbers.append(number)
    plan = cls._plans.get(pattern) or planned(cls, pattern)
    node = cls()
    node._around, node._plan, node._seq = None, plan, next(sequence)
    node._next, node._next_output = tuple(nodes), plan.first_outputs if first else tuple(numbers)
    if len(outs) == 1:
        node._outputs = forms_of(plan, outs[0]._data)
    else:
        node._outputs = tuple([(out._data.shape, out._data.dtype) for out in outs[: cls.visible_outputs]])
    kept: list[Any] = []
    written_to = False
    for name, kind, where in plan.parts:
        if kind == INPUT:
            value = inputs[where]
            written_to = written_to or (isinstance(value, Tensor) and value._counter is not None)
        elif kind == SETTING:
            value = settings.get(name, where)
        elif kind == SIZES:
            value = inputs[where]
            value = value._data.shape if isinstance(value, Tensor) else np.shape(value)
        elif kind in (OUTPUT, ASIDE):
            value = outs[where]
            if kind == OUTPUT:
                value = shadow(value, where)
                written_to = written_to or value._counter != [0]
        elif name in settings:
            value = cls._packed(settings[name])
        else:
            value = cls._kept_as(name, inputs, settings, outs, node)
        kept.append(value)
    node._kept = tuple(kept)
    node._versions = plan.never_written
    if written_to:
        node._versions = versions_of(kept)
    return node  # type: ignore[no-any-return]


def step(self: Any, grads: list[Any], frees: bool) -> Sequence[Any]:
    """What `Op._step` of the core does. A 0-d saved value is read as a number."""
    plan, versions, grad = self._plan, self._versions, grads[0]
    strays = type(grad) is ndarray and self._disorders(grad)
    if strays or versions is None or len(grads) > 1 or grad is None or not plan.is_plain:
        return step_of_several(self, grads, frees)
    values, results = self._kept, plan.blank.copy()
    if plan.reads:
        values = [*values]
    for slot, position in plan.reads:
        t = values[slot]
        changed = t._counter is not None and t._counter[0] != versions[slot]
        if changed or (position is not None and t._grad_fn is None and not isinstance(self._next[position], LEAF)):
            return self._in_its_own_way(grads, frees)  # type: ignore[no-any-return]
        value = t._as_number
        if value is None:
            value = t._data
            if not value.ndim:
                value = value[()]
        values[slot] = value
    for i, rule, slots in plan.rules:
        if not slots:
            results[i] = rule(grad)
        elif len(slots) == 1:
            results[i] = rule(grad, values[slots[0]])  # a star would make the call three times as long
        else:
            results[i] = rule(grad, *[values[slot] for slot in slots])
    if not values or not frees:
        return results  # type: ignore[no-any-return]
    if plan.frees_all:
        self._kept, self._versions = (), None
    elif plan.frees:
        self._release()
    return results  # type: ignore[no-any-return]


def step_of_several(self: Any, grads: list[Any], frees: bool) -> Sequence[Any]:
    """`step` for an op that has several outputs, or one rule for all inputs, or masks and indices among what is kept."""
    plan, versions = self._plan, self._versions
    strays = type(grads[0]) is ndarray and self._disorders(grads[0])
    if versions is None or strays or all([g is None for g in grads]):
        return self._in_its_own_way(grads, frees)  # type: ignore[no-any-return]
    values = [*self._kept]
    for slot, position in plan.reads:
        t = values[slot]
        changed = t._counter is not None and t._counter[0] != versions[slot]
        if changed or (position is not None and t._grad_fn is None and not isinstance(self._next[position], LEAF)):
            return self._in_its_own_way(grads, frees)  # type: ignore[no-any-return]
        values[slot] = t._data if t._data.ndim else t._data[()]
    for slot in plan.packed:
        values[slot] = plain(unpacked(values[slot]))
    # A rule for several outputs gets arrays even for 0-d ones, because it may combine them.
    grad = grads[0] if len(grads) == 1 else [None if g is None else np.asarray(g) for g in grads]
    if plan.joint is not None:
        results = plan.joint(grad, *values)
    else:
        results = plan.blank.copy()
        for i, rule, slots in plan.rules:
            results[i] = rule(grad, *[values[slot] for slot in slots])
    if frees:
        self._release()
    return results  # type: ignore[no-any-return]
