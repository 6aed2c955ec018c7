"""An op: one short class, which becomes a node of the graph each time a run of it is recorded.

    class Mul(Op):
        promotes = True
        def forward(self, other): return self * other
        def grad_self(grad, other): return grad * other
        def grad_other(grad, self): return grad * self

`forward` computes on arrays, `grad_<input>` is the rule of one input. The rules are written once and used twice: in the
plain pass they get arrays, under `create_graph` Tensors, which record what is done to them. `ops/op.py` says how to
write an op, and what else its class may say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.promotion import promoted, refuse_mismatch
from .node import Node
from .plan import LEAF, TENSOR, WANTED, Plan
from .state import everywhere, thread
from .tensor import Tensor, wrap

__all__ = ["Op", "operator"]

asarray, ndarray = np.asarray, np.ndarray


def operator(op: type[Op], function: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A method of Tensor for an operator, such as `__mul__`. It does what `apply` does, for two tensors of one type.

    Other tensors go to `function`, which is `mul`; numbers, and whatever a function mode is to see, to `otherwise`.
    """
    forward = op.forward
    # By whether the first and the second need a gradient.
    plans = (None, Plan(op, (TENSOR, WANTED))), (Plan(op, (WANTED, TENSOR)), Plan(op, (WANTED, WANTED)))

    def call(self: Tensor, other: Any) -> Any:
        if not isinstance(other, Tensor) or everywhere.modes_seen:
            return otherwise(call, function, self, other)
        now = thread.state
        a, b = self._value, other._value
        if type(a) is ndarray and not a.ndim:
            a = a[()]  # with its number NumPy computes ten times faster
        if type(b) is ndarray and not b.ndim:
            b = b[()]
        plan = plans[self._requires_grad][other._requires_grad]
        unusual = now.unusual or everywhere.unusual or now.is_quiet or not now.recording
        alike = type(a) is type(b) is not ndarray or a.dtype is b.dtype
        if plan is None or unusual or not alike or self._view is not None or other._view is not None:
            return function(self, other)
        try:
            result = now.running(forward, a, b)
        except ValueError:
            return function(self, other)  # which says what does not fit
        return wrap(result, plan.record_two(self, other, result))

    return call


class Op(Node):
    """A built-in op and, once recorded, its node in the graph."""

    # Settings of a subclass -------------------------------------------------------------------------------------------
    promotes = False  # operands of different dtypes are brought to a common one first
    makes_float = False  # integers become the default float type first
    idempotent = False  # writes one value everywhere: in place, elements may share memory
    view = False  # the result shows the storage of the first input
    non_differentiable: tuple[int, ...] = ()  # outputs without a gradient, such as indices
    without_gradient: tuple[str, ...] = ()  # settings that may be tensors, or tuples of these: masks, indices
    results: tuple[str, ...] = ()  # the names of several outputs, where rules know them by other names than result0, …
    visible_outputs: int | None = None  # outputs that a user sees; the others are kept for the rule alone

    # Read off the subclass --------------------------------------------------------------------------------------------
    _inputs: tuple[str, ...] = ()
    _settings: tuple[str, ...] = ()
    _variadic = False
    _defaults: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    _rules: tuple[Any, ...] = ()  # for each input its `Rule`, or None
    _joint: Any = None  # or one rule for all
    _differentiable = False
    _name = "OpBackward0"
    _plans: dict[int, Plan]

    makes_new_arrays = True
    # What the rules need, in the order of the plan's names, and the versions of the tensors among it; None once freed.
    _plan: Plan
    _kept: tuple[Any, ...]
    _versions: tuple[int | None, ...] | None

    forward: Callable[..., Any]

    # What `ops/op.py` adds, and the straight road does not come by -----------------------------------------------------
    _several: Any  # the end of `apply` for an op of several outputs
    _as_arrays: Any  # the settings with arrays for the tensors among them
    _show: Any  # lets an output be a view of the first input
    _beside: Any  # what the unusual modes add to a run
    jvp: Any  # how tangents travel in forward mode
    _what_to_save: Any  # the names that some needed rule asks for
    _record: Any  # `Plan.record`, where a gradient cannot be sent to all inputs that ask for one
    _source: Any  # where what a rule calls by a name comes from
    _named: Any  # what a rule asks for by a name that is no input, output, setting or shape
    _packed: Any  # how that is kept
    _run: Any  # runs the rules of what `_step` does not: what was packed, changed, freed, or is recorded anew
    _release_some: Any  # lets go of the tensors among what is kept, and not of the settings

    # --- forward ------------------------------------------------------------------------------------------------------

    @classmethod
    def apply(cls, *inputs: Any, **settings: Any) -> Any:
        """Compute the op; record it if an input requires grad and grad mode is on.

        Arrays and numbers alone give an array: that is how rules compute in the plain pass.
        """
        arrays: Any = []
        pattern = 1
        for x in inputs:
            if isinstance(x, Tensor):
                wanted = x._requires_grad or (x._view is not None and x.requires_grad)
                pattern = pattern * 4 + (WANTED if wanted else TENSOR)
                arrays.append(x._value if type(x._value) is ndarray else x._data)
            else:
                pattern *= 4
                arrays.append(x)
        plan = cls._plans.get(pattern) or cls._planned(pattern)
        given = cls._as_arrays(settings) if plan.prepares else settings
        if plan.computes_alone:
            return plan.forward(*arrays, **given)
        if plan.promotes and not (plan.pair and arrays[0].dtype is arrays[1].dtype):
            arrays = promoted(arrays, cls.makes_float)
        now = thread.state
        try:
            if now.is_quiet:
                result = plan.forward(*arrays, **given)
            else:
                result = now.running(plan.forward, *arrays, **given) if given else now.running(plan.forward, *arrays)
        except ValueError:
            if cls.promotes:
                refuse_mismatch([np.shape(a) for a in arrays])
            raise
        if type(result) is tuple:
            return cls._several(plan, inputs, settings, result)
        out = wrap(result if type(result) is ndarray else asarray(result))
        if plan.view:
            cls._show(out, inputs[0], several=False)
        node = None
        if plan.records and now.recording and (plan.promotes or out._data.dtype.kind == "f"):
            node = out._grad_fn = plan.record(inputs, settings, (out,))
            out._requires_grad = True
        if now.unusual or everywhere.unusual:
            cls._beside(now, inputs, settings, (out,), node)
        return out

    @classmethod
    def _planned(cls, pattern: int) -> Plan:
        """A plan for inputs of this pattern: two bits each, behind a leading 1."""
        kinds = [pattern >> bits & 3 for bits in range(pattern.bit_length() - 3, -1, -2)]
        plan = cls._plans[pattern] = Plan(cls, tuple(kinds))
        return plan

    # --- backward -----------------------------------------------------------------------------------------------------

    def name(self) -> str:
        return self._name

    def _step(self, grads: list[Any]) -> Sequence[Any]:
        plan, versions, grad = self._plan, self._versions, grads[0]
        if grad is None or versions is None or len(grads) > 1 or not plan.is_plain:
            return self._run(grads, False)
        # Everything that was saved is read, whether a rule needs it or not, so that every change in between is noticed.
        values, results = [*self._kept], plan.blank.copy()
        for n, slot, position in plan.reads:
            t = values[slot]
            changed = t._counter is not None and t._counter[0] != versions[n]
            if changed or (position is not None and t._grad_fn is None and type(self._next[position]) not in LEAF):
                return self._run(grads, False)
            value = t._value
            values[slot] = value[()] if type(value) is ndarray and not value.ndim else value
        for i, rule, slots in plan.rules:
            if not slots:
                results[i] = rule(grad)
            elif len(slots) == 1:
                results[i] = rule(grad, values[slots[0]])  # a star would make the call three times as long
            else:
                results[i] = rule(grad, *[values[slot] for slot in slots])
        return results

    def _release(self) -> None:
        if self._plan.frees_all and self._around is None:
            self._kept, self._versions = (), None
        elif self._plan.frees:
            self._release_some()
