"""`Op`: a built-in differentiable op. This module explains how to write one; what all of them share is in `core/op.py`.

An op is one short class, in the order of the mathematics:

    class Logaddexp(ElementwiseOp):
        promotes = True
        def forward(self, other): return np.logaddexp(self, other)
        def grad_self(grad, self, other): return grad * sigmoid(self - other)
        def grad_other(grad, self, other): return grad * sigmoid(other - self)

The functions in the body are static: `self` is the op's first tensor, as in PyTorch's own signatures. `forward`
computes on arrays; its positional arguments are tensors or numbers, its keyword arguments are settings. `grad_<input>`
is the rule for one input. The names of its arguments say what the node saves for it: an input, `result`, a setting, or
`<input>_sym_sizes`, the input's shape. Only what the needed rules ask for is saved, and only the needed rules run.
Several inputs can share one rule, `gradients(grad, needs_input_grad, …)`.

A mask or an index is a setting listed in `without_gradient`. If it is a Tensor, it is saved as one, with its version.

The rules are written once and used twice. In the plain pass they receive arrays; under `create_graph` they receive
Tensors, which record the ops of the rule. So a rule uses only operators and the functions of `ops`, which accept both.

Rules ignore broadcasting: the engine sums a gradient that has the broadcast shape.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array.tensor import wrap
from ..core import layers
from ..core import op as core
from ..core.layers import by_mask, elementwise, linear, row_by_row
from ..core.op import ASIDE, ELSEWHERE
from ..modes import thread

__all__ = ["ElementwiseOp", "LinearOp", "Op", "ViewOp", "by_mask", "elementwise", "linear", "row_by_row"]


class Plan(core.Plan):
    """A plan that knows the places of what may hold tensors beside the inputs: masks, indices, any number of inputs."""

    def __init__(self, op: Any, kinds: tuple[int, ...]) -> None:
        super().__init__(op, kinds)
        self.packed = [slot for slot, name in enumerate(self.names) if op._may_hold_tensors(name)]


class Op(core.Op):
    """A built-in op whose `forward` gets arrays. Adds several outputs, any number of inputs, and joint rules."""

    on_arrays = True
    results: tuple[str, ...] = ()  # the names of several outputs, where rules know them by other names than result0, …
    visible_outputs: int | None = None  # how many outputs a user sees; the others are kept for the rule alone
    _joint: Any = None  # one rule for all inputs
    _variadic = False
    _plan_class = Plan

    @classmethod
    def _read_off(cls, parameters: Sequence[inspect.Parameter]) -> None:
        super()._read_off(parameters)
        cls._variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        cls._joint = getattr(cls, "gradients", None)
        cls._differentiable = cls._differentiable or cls._joint is not None

    @classmethod
    def record(cls, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Any]) -> core.Op:
        node = super().record(inputs, settings, outs)
        if len(outs) > 1:
            node._outputs = tuple([(out.value.shape, out.value.dtype) for out in outs[: cls.visible_outputs]])
        return node

    @classmethod
    def _kept(cls, plan: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Any]) -> tuple[Any, ...]:
        saved = list(super()._kept(plan, inputs, settings, outs))
        for slot in plan.packed:
            saved[slot] = layers.around.kept(saved[slot])
        if "needs_input_grad" in plan.names:
            saved[plan.names.index("needs_input_grad")] = plan.needs_input_grad
        return tuple(saved)

    def _results(
        self, grads: list[Any], values: list[Any], create_graph: bool, wanted: Sequence[bool] | None
    ) -> Sequence[Any]:
        plan: Any = self._plan
        for slot in plan.packed:
            values[slot] = layers.around.unpacked(values[slot], create_graph)
        if len(grads) > 1:  # a rule for several outputs gets arrays even for 0-d ones, because it may combine them
            several: Any = grads if create_graph else [None if g is None else np.asarray(g) for g in grads]
            grads = [None if all([g is None for g in grads]) else several]
        if self._joint is None or grads[0] is None:
            return super()._results(grads, values, create_graph, wanted)
        together: Sequence[Any] = type(self)._joint(grads[0], *values)
        return together if wanted is None else [g if w else None for g, w in zip(together, wanted, strict=True)]

    @classmethod
    def _needed(cls, mask: tuple[bool, ...]) -> tuple[str, ...]:
        return super()._needed(mask) if cls._joint is None else core.names_in(cls._joint)

    @classmethod
    def _output(cls, name: str) -> int | None:
        """The number of the output that a rule calls `name`: one of `results`, or result, result0, result1, …."""
        if name in cls.results:
            return cls.results.index(name)
        return int(name[6:] or 0) if name.startswith("result") and name not in cls._settings else None

    @classmethod
    def _may_hold_tensors(cls, name: str) -> bool:
        return name in cls.without_gradient or (cls._variadic and name in cls._inputs)

    @classmethod
    def _source(cls, name: str) -> tuple[int, Any]:
        number = cls._output(name)
        if number is not None and name not in cls._inputs:
            hidden = cls.visible_outputs is not None and number >= cls.visible_outputs
            return ASIDE if hidden or number in cls.non_differentiable else core.OUTPUT, number
        if name in cls.without_gradient:
            return ELSEWHERE, lambda inputs, settings: settings.get(name, cls._defaults.get(name))
        if name == "needs_input_grad":
            return ELSEWHERE, lambda inputs, settings: None  # `_kept` puts in what the plan says
        if cls._variadic and name in cls._inputs:
            return ELSEWHERE, lambda inputs, settings: inputs
        if cls._variadic and name.endswith("_sym_sizes"):
            return ELSEWHERE, lambda inputs, settings: tuple([np.shape(getattr(x, "value", x)) for x in inputs])
        return super()._source(name)


def several(op: Any, inputs: Any, settings: dict[str, Any], result: tuple[Any, ...], wanted: bool) -> Any:
    """The outputs of an op that has several, of which a user sees the first ones."""
    node, outs, state = None, tuple(map(wrap, result)), thread.state
    for out in outs if op.view else ():
        layers.around.viewed(out, inputs[0], True)
    if wanted and state.recording and op._differentiable:
        node = op.record(inputs, settings, outs)
        for number, out in enumerate(outs[: op.visible_outputs]):
            if number not in op.non_differentiable and out.value.dtype.kind == "f":
                out._grad_fn, out.output_nr, out._requires_grad = node, number, True
    if state.unusual:
        layers.around.computed(op, inputs, settings, outs, node)
    return outs[: op.visible_outputs]


class ElementwiseOp(Op):
    """An op that computes each number from those at its place. Forward mode goes through the gradients' rules."""

    jvp = elementwise


class LinearOp(Op):
    """An op that is linear in all its inputs: forward mode maps tangents as the op maps values."""

    jvp = linear


class ViewOp(LinearOp):
    """The same, with a result that shows the storage of the first input."""

    view = True
