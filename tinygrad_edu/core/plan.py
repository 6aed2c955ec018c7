"""A Plan: for one pattern of inputs, the rules that an op runs, what it keeps for them, and how its node is made.

Which inputs need a gradient decides which rules run, and the rules decide what is kept. So this is worked out once for each
op and pattern, and every node of that pattern shares the plan.

Of an input, the plan keeps the tensor itself together with its version: the rule gets its array, and a write in between
is noticed. Of an output, it keeps a shadow, a tensor on the same storage with the same counter. The output itself holds
the node, so neither would ever be freed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .node import AccumulateGrad, grad_accumulator, gradient_edge, sequence, version_of
from .tensor import Tensor, wrap

if TYPE_CHECKING:
    from .op import Op

__all__ = ["FREED", "LEAF", "NUMBER", "TENSOR", "WANTED", "Plan", "shadow"]

# What an input is, two bits of a pattern.
NUMBER, TENSOR, WANTED = 0, 1, 2

# Marks a kept value that was freed.
FREED: Any = object()

# Where what is kept comes from: an input, an output, an output that has no gradient; an input's shape, a setting of no
# tensors; anything else.
INPUT, OUTPUT, ASIDE, SIZES, SETTING, NAMED = range(6)

# Where the gradient of a tensor goes that is not the result of an op.
LEAF = (AccumulateGrad, type(None))

# The forms of a node whose output is a number.
FORMS_OF_NUMBERS = {kind: (((), np.dtype(kind)),) for kind in (np.float16, np.float32, np.float64)}

# What is kept of two tensors, by their numbers.
KEEPERS: dict[tuple[int, ...], Callable[[Any, Any], tuple[Any, ...]]] = {
    (0,): lambda x, y: (x,),
    (1,): lambda x, y: (y,),
    (0, 1): lambda x, y: (x, y),
    (1, 0): lambda x, y: (y, x),
}


class Plan:
    """For one op and one pattern of inputs: what is kept, under which names, and the rules that receive it."""

    __slots__ = (
        "blank", "computes_alone", "forms", "forward", "frees", "frees_all", "is_plain", "joint", "keep", "mask", "names", "op",
        "pair", "prepares", "promotes", "reads", "records", "rules", "sources", "tensors", "versions", "view", "wanted", "zeros",
    )  # fmt: skip

    def __init__(self, op: type[Op], kinds: tuple[int, ...]) -> None:
        self.op = op
        self.forward = op.forward
        # Arrays and numbers alone: a rule that computes, not a user.
        self.computes_alone = not any(kinds)
        self.promotes = op.promotes or op.makes_float
        two = op.promotes and len(kinds) == 2 and NUMBER not in kinds
        self.pair = two and not op.makes_float
        self.prepares = bool(op.without_gradient)
        self.view = op.view
        self.records = WANTED in kinds and op._differentiable
        # The one input of an op needs a gradient, even where a view made under no_grad leaves it without an edge.
        self.mask = tuple([kind == WANTED for kind in kinds]) if len(kinds) > 1 else (True,)
        self.wanted = [i for i, kind in enumerate(kinds) if kind == WANTED]
        self.names = op._what_to_save(self.mask) if op._differentiable else ()
        self.sources = tuple([(name, *op._source(name)) for name in self.names])
        # Which of what is kept are tensors: the number there, and that of the output, or of the input, that it is.
        self.tensors = tuple(
            [
                (slot, where if kind == OUTPUT else None, where if kind == INPUT else None)
                for slot, (_, kind, where) in enumerate(self.sources)
                if kind in (OUTPUT, ASIDE) or (kind == INPUT and kinds[where] != NUMBER)
            ]
        )
        # The same, as a node reads them: the number there, that of the slot, and that of an input which has an edge.
        self.reads = [
            (n, slot, position if position in self.wanted else None)
            for n, (slot, _, position) in enumerate(self.tensors)
        ]
        self.versions = (0,) * len(self.tensors)
        # Whether anything, and whether all that is kept, is let go once the node has run. Settings and sizes stay, and are
        # read as they are.
        self.frees = any(kind not in (SIZES, SETTING) for _, kind, _ in self.sources)
        self.frees_all = self.frees and all(kind in (INPUT, OUTPUT, ASIDE) for _, kind, _ in self.sources)
        self.blank = [None] * len(kinds)
        self.zeros = (0,) * len(kinds)
        self.forms: Any = (((), None),)
        # How two tensors are kept, or settings by their defaults; None where `record` works it out.
        self.keep: Any = None
        if two and self.records and all(kind == INPUT for _, kind, _ in self.sources):
            self.keep = KEEPERS.get(tuple([where for _, _, where in self.sources]))
        if two and self.records and all(kind == SETTING for _, kind, _ in self.sources):
            defaults = tuple([default for _, _, default in self.sources])
            self.keep = lambda x, y: defaults
        # A rule for each input, and nothing kept that has to be unpacked.
        self.is_plain = not (op._joint or self.prepares or op._variadic)
        self.joint = op._joint.function if op._joint is not None else None
        # For each input that needs a gradient: its number, its rule, and which of what is kept it is given.
        self.rules: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
        if self.joint is None and op._differentiable:
            for i, (rule, needed) in enumerate(zip(op._rules, self.mask, strict=True)):
                if rule is not None and needed:
                    slots = tuple([self.names.index(name) for name in rule.needs])
                    self.rules.append((i, rule.function, slots))

    def record_two(self, x: Tensor, y: Tensor, result: Any) -> Op:
        """`record`, for two tensors that are not views and of which at least one needs a gradient."""
        node = self.op()
        node._around, node._plan, node._seq = None, self, next(sequence)
        to_x = grad_accumulator(x) if x._grad_fn is None and x._requires_grad else x._grad_fn
        to_y = grad_accumulator(y) if y._grad_fn is None and y._requires_grad else y._grad_fn
        node._next = (to_x, to_y)
        node._next_output = (x.output_nr, y.output_nr) if x.output_nr or y.output_nr else self.zeros
        node._outputs = FORMS_OF_NUMBERS.get(type(result)) or self.forms_of(result)
        node._kept = kept = self.keep(x, y)
        node._versions = self.versions if x._counter is y._counter is None else self.versions_of(kept)
        return node

    def record(self, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Tensor]) -> Op:
        """The node of one run of the op: its edges, the form of its outputs, and what its rules will ask for."""
        node = self.op()
        node._around, node._plan, node._seq = None, self, next(sequence)
        nodes = self.blank.copy()
        numbers = self.zeros
        for i in self.wanted:
            x = inputs[i]
            made_by, output_nr = x._grad_fn, x.output_nr
            if made_by is None or x._view is not None:
                made_by, output_nr = gradient_edge(x)
                if made_by is None and len(nodes) > 1:
                    # A view made under no_grad asks for a gradient and has no edge to send it along.
                    return self.op._record(inputs, settings, outs)
            nodes[i] = made_by
            if output_nr:
                numbers = (*numbers[:i], output_nr, *numbers[i + 1 :])
        node._next = tuple(nodes)
        node._next_output = numbers
        if len(outs) == 1:
            node._outputs = self.forms_of(outs[0]._data)
        else:
            node._outputs = tuple([(out._data.shape, out._data.dtype) for out in outs[: self.op.visible_outputs]])
        # What the rules will ask for, and the version of each tensor among it.
        kept: list[Any] = []
        written_to = False
        for name, kind, where in self.sources:
            if kind == INPUT:
                value = inputs[where]
                if isinstance(value, Tensor) and value._counter is not None and value._counter[0]:
                    written_to = True
            elif kind == SETTING:
                value = settings.get(name, where)
            elif kind == SIZES:
                value = inputs[where]
                value = value._data.shape if isinstance(value, Tensor) else np.shape(value)
            elif kind == NAMED:
                value = self.op._packed(self.op._named(name, inputs, settings, outs, self.mask))
            else:
                value = outs[where]
                if kind == OUTPUT:
                    value = shadow(value, where)
                    written_to = written_to or value._counter != [0]
            kept.append(value)
        node._kept = tuple(kept)
        node._versions = self.versions_of(kept) if written_to else self.versions
        return node

    def forms_of(self, array: np.ndarray) -> tuple[tuple[tuple[int, ...], Any], ...]:
        """The forms of a node with this output. Most nodes of a plan share them."""
        if self.forms[0][0] != array.shape or self.forms[0][1] is not array.dtype:
            self.forms = ((array.shape, array.dtype),)
        return self.forms

    def versions_of(self, kept: Sequence[Any]) -> tuple[int, ...]:
        """The version of each tensor among what is kept."""
        return tuple([version_of(kept[slot]) for slot, _, _ in self.tensors])


def shadow(out: Tensor, output_nr: int = 0) -> Tensor:
    """A tensor on the storage of `out`, with its counter and without its node, which would keep itself alive."""
    if out._counter is None:
        out._counter = [0]
    t = wrap(out._data)
    t._counter = out._counter
    t.output_nr = output_nr
    return t
