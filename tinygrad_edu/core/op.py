"""An op: one short class, which becomes a node of the graph each time a run of it is recorded.

    class Mul(Op):
        def forward(self, other): return self * other
        def grad_self(grad, other): return grad * other
        def grad_other(grad, self): return grad * self

The functions in the body are static. `forward` computes on arrays: its positional arguments are tensors or numbers, its
keyword arguments are settings. `grad_<input>` is the rule of one input. The names of its arguments say what the node keeps for
it: an input, a setting, or `result`. Only what the needed rules ask for is kept, and only the needed rules run. Rules ignore
broadcasting: the engine sums a gradient that has the broadcast shape.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .layers import AroundOp, thread
from .tensor import AccumulateGrad, Node, Tensor, gradient_edge, sequence, wrap

__all__ = ["Op", "Plan", "Rule", "operator", "shadow"]

ndarray = np.ndarray
# Where what is kept comes from: an input, an output, an output without a gradient, elsewhere (see `_kept_as`), a setting.
INPUT, OUTPUT, ASIDE, NAMED, SETTING = range(5)
# What an input is: no tensor, a tensor without an edge, one that needs a gradient. And the ends of edges that are no ops.
NUMBER, TENSOR, WANTED = range(3)
LEAF = (AccumulateGrad, type(None))


class Rule(NamedTuple):
    """One `grad_…` function, and the names of what it needs besides the incoming gradient."""

    function: Callable[..., Any]
    needs: tuple[str, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Rule:
        """Read off the code, where that says it: `inspect.signature` takes long."""
        if "__signature__" in vars(function) or "__wrapped__" in vars(function):
            return cls(function, tuple(inspect.signature(function).parameters)[1:])
        return cls(function, function.__code__.co_varnames[1 : function.__code__.co_argcount])


class Plan:
    """For an op, and the inputs of it that need a gradient: which rules run, and what is kept for them."""

    def __init__(self, op: type[Op], kinds: Sequence[int]) -> None:
        # The one input of an op needs a gradient, even where a view leaves it without an edge.
        self.op, self.mask = op, tuple([kind == WANTED for kind in kinds]) if len(kinds) > 1 else (True,)
        self.names = op._what_to_save(self.mask)
        self.sources = tuple(map(op._source, self.names))
        # Which of what is kept are tensors: the place there, and the number of the output, or of the input, that it is.
        self.tensors: list[tuple[int, int | None, int | None]] = []
        for slot, (kind, where) in enumerate(self.sources):
            if kind in (OUTPUT, ASIDE) or (kind == INPUT and kinds[where] != NUMBER):
                self.tensors.append((slot, where if kind == OUTPUT else None, where if kind == INPUT else None))
        # The rules that run: the number of the input, the rule, the places of what it is given.
        self.rules: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
        for i, (rule, needed) in enumerate(zip(op._rules, self.mask, strict=False)):
            if rule is not None and needed:
                self.rules.append((i, rule.function, tuple(map(self.names.index, rule.needs))))
        # Whether anything, and whether all that is kept, is freed when the node has run. Settings stay.
        froms = [kind for kind, _ in self.sources]
        self.frees, self.frees_all = any(k < SETTING for k in froms), bool(froms) and all(k < NAMED for k in froms)
        self.is_plain = True  # False where a layer reads what was kept, or runs the rules, in its own way


class Op(AroundOp, Node):
    """A built-in op and, once recorded, its node in the graph."""

    view = False  # a setting: the result shows the storage of the first input
    visible_outputs: int | None = (
        None  # a setting: how many outputs a user sees; the others are kept for the rule alone
    )
    # Read off the subclass: the names of the inputs, the defaults of the settings, for each input its rule.
    _inputs: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    _rules: tuple[Rule | None, ...] = ()
    _differentiable = False
    _name = "OpBackward0"
    _plans: dict[Any, Plan]
    _kind_of_plan: type[Plan] = Plan
    # Of a node: `_kept` has what the rules need, by the names of the plan; `_versions` those of its tensors, None once freed.
    _plan: Plan
    forward: Callable[..., Any]

    def __init_subclass__(cls, name: str | None = None, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls._name = name or f"{cls.__name__}Backward0"
        cls.__name__ = cls.__qualname__ = cls._name.rpartition("::")[2]  # as it prints: `grad_fn=<MulBackward0>`
        for key, value in list(cls.__dict__.items()):
            if inspect.isfunction(value) and not key.startswith("_"):
                setattr(cls, key, staticmethod(value))
        if "forward" in cls.__dict__:
            parameters = inspect.signature(cls.forward).parameters.values()
            cls._inputs = tuple([p.name for p in parameters if p.kind is not p.KEYWORD_ONLY])
            cls._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
            rules = [getattr(cls, f"grad_{name}", None) for name in cls._inputs]
            cls._rules = tuple([Rule.of(rule) if rule else None for rule in rules])
            cls._differentiable, cls._plans = any(cls._rules), {}

    @classmethod
    def apply(cls, *inputs: Any, **settings: Any) -> Any:
        """Compute the op; record it if an input requires grad and grad mode is on.

        Arrays and numbers alone give an array: that is how rules compute in the plain pass.
        """
        now, forward, given, arrays = thread.state, cls.forward, settings, []
        dtype, wanted, is_usual = None, False, True  # usual: floats of one dtype, and numbers beside them
        for x in inputs:
            if isinstance(x, Tensor):
                wanted = wanted or x._requires_grad or (x._view is not None and x.requires_grad)
                x = x._data
                if type(x) is not ndarray or (x.dtype is not dtype and (dtype is not None or x.dtype.kind != "f")):
                    is_usual = False
                dtype = x.dtype
            elif type(x) is not float and type(x) is not int:
                is_usual = False
            arrays.append(x)
        if settings or not is_usual:
            forward, arrays, given = cls._adapted(arrays, settings, is_usual or dtype is None)
        if dtype is None:
            return forward(*arrays, **given)
        try:
            result = forward(*arrays, **given) if now.is_quiet else now.running(forward, *arrays, **given)
        except ValueError:
            cls._refuse(arrays)
            raise
        out: Any = wrap(result) if type(result) is not tuple else None
        is_float = out is not None and out._data.dtype.kind == "f"
        if wanted and is_float and now.recording and cls._differentiable:
            out._grad_fn, out._requires_grad = cls._record(inputs, settings, (out,)), True
        if now.unusual or cls.view or not (is_usual and is_float):
            return cls._beside(now, inputs, settings, result, out, wanted)
        return out

    @classmethod
    def _record(cls, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Tensor]) -> Op:
        """The node of one run of the op: its edges, the form of its outputs, and what its rules will ask for."""
        node, edges, kinds, kept = cls(), [], [], []
        for x in inputs:
            edges.append(gradient_edge(x) if isinstance(x, Tensor) else (None, 0))
            kinds.append(NUMBER if not isinstance(x, Tensor) else TENSOR if edges[-1][0] is None else WANTED)
        node._seq, (node._next, node._next_output) = next(sequence), zip(*edges, strict=True)
        plan = node._plan = cls._plans.get(tuple(kinds)) or cls._planned(tuple(kinds))
        for out in outs[: cls.visible_outputs]:
            node._outputs = (*node._outputs, (out._data.shape, out._data.dtype))
        for name, (kind, where) in zip(plan.names, plan.sources, strict=True):
            if kind == INPUT:
                kept.append(inputs[where])
            elif kind == SETTING:
                kept.append(settings.get(name, where))
            elif kind in (OUTPUT, ASIDE):
                kept.append(shadow(outs[where], where) if kind == OUTPUT else outs[where])
            else:
                kept.append(cls._kept_as(name, inputs, settings, outs, plan.mask))
        node._kept, node._versions = tuple(kept), ()
        for slot, _, _ in plan.tensors:
            node._versions += (0 if kept[slot]._counter is None else kept[slot]._counter[0],)
        return node

    @classmethod
    def _planned(cls, kinds: tuple[int, ...]) -> Plan:
        """The plan for inputs of these kinds, which is kept for the next time."""
        plan = cls._plans[kinds] = cls._kind_of_plan(cls, kinds)
        return plan

    @classmethod
    def _what_to_save(cls, mask: tuple[bool, ...]) -> tuple[str, ...]:
        """The names of what some needed rule asks for."""
        needed = [rule.needs for rule, wanted in zip(cls._rules, mask, strict=True) if rule is not None and wanted]
        return tuple(sorted({name for needs in needed for name in needs}))

    @classmethod
    def _source(cls, name: str) -> tuple[int, Any]:
        """Where the value that a rule calls `name` comes from, and its number there, or its default."""
        if name in cls._inputs:
            return INPUT, cls._inputs.index(name)
        if name == "result":
            return OUTPUT, 0
        return (SETTING, cls._defaults[name]) if name in cls._defaults else (NAMED, None)

    def name(self) -> str:
        return self._name

    def _step(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        plan, versions, grad = self._plan, self._versions, grads[0]
        if grad is None or versions is None or len(grads) > 1 or not plan.is_plain:
            return self._in_its_own_way(grads, frees)
        # Everything that was kept is read, whether a rule needs it or not, so that every change in between is noticed.
        values, results = [*self._kept], [None] * len(self._next)
        for (slot, _, position), version in zip(plan.tensors, versions, strict=True):
            t = values[slot]
            was_cut = position is not None and t._grad_fn is None and not isinstance(self._next[position], LEAF)
            if was_cut or (t._counter is not None and t._counter[0] != version):
                return self._in_its_own_way(grads, frees)
            values[slot] = t._data
        for i, rule, slots in plan.rules:
            results[i] = rule(grad, *map(values.__getitem__, slots))
        if frees and plan.frees_all:
            self._kept, self._versions = (), None
        elif frees and plan.frees:
            self._release()
        return results


def shadow(out: Tensor, output_nr: int = 0) -> Tensor:
    """A tensor on the storage of `out`, with its counter and without its node, which would keep itself alive."""
    if out._counter is None:
        out._counter = [0]
    t = wrap(out._data)
    t._counter, t.output_nr = out._counter, output_nr
    return t


def operator(op: type[Op], otherwise: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    """A method of Tensor for an operator, such as `__mul__`: `op` of two tensors, or `otherwise(method, self, other)`."""

    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, Tensor) or thread.state.unusual or self._view is not None or other._view is not None:
            return otherwise(method, self, other)
        return op.apply(self, other) if self._requires_grad or other._requires_grad else otherwise(method, self, other)

    return method
