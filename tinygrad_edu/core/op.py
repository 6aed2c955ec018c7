"""An op: one short class, which becomes a node of the graph each time a run of it is recorded.

    class Mul(Op):
        promotes = True
        def forward(self, other): return self * other
        def grad_self(grad, other): return grad * other
        def grad_other(grad, self): return grad * self

`forward` computes on arrays, `grad_<input>` is the rule of one input. The rules are written once and used twice: in the
plain pass they get arrays, under `create_graph` Tensors, which record what is done to them. How to write an op, and what
else its class may say, is told in `ops/op.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..promotion import promoted, refuse_mismatch
from .node import Node, gradient_edge
from .plan import NUMBER, TENSOR, WANTED, Plan
from .state import State, everywhere, thread
from .tensor import Tensor, wrap

__all__ = ["Op"]


class _Rule:
    """One `grad_…` function, and the names of what it needs beside the incoming gradient."""

    __slots__ = ("function", "needs")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.needs = tuple(inspect.signature(function).parameters)[1:]


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
    _rules: tuple[_Rule | None, ...] = ()
    _joint: _Rule | None = None
    _differentiable = False
    _name = "OpBackward0"
    _plans: dict[int, Plan]

    makes_new_arrays = True
    # What the rules need, in the order of the plan's names, and the versions of the tensors among it; None once freed.
    _plan: Plan
    _kept: tuple[Any, ...]
    _versions: tuple[int | None, ...] | None

    forward: Callable[..., Any]

    def __init_subclass__(cls, name: str | None = None, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls._name = name or f"{cls.__name__}Backward0"
        # A node shows itself under its PyTorch name, as in `grad_fn=<MulBackward0>`.
        cls.__name__ = cls.__qualname__ = cls._name.rpartition("::")[2]
        for key, value in list(cls.__dict__.items()):
            if inspect.isfunction(value) and not key.startswith("_"):
                setattr(cls, key, staticmethod(value))
        if "forward" not in cls.__dict__:
            return
        parameters = inspect.signature(cls.forward).parameters.values()
        cls._defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}
        cls._inputs = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
        cls._settings = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        cls._variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        rules = [getattr(cls, f"grad_{i}", None) for i in cls._inputs]
        cls._rules = tuple(_Rule(r) if r else None for r in rules)
        cls._joint = _Rule(cls.gradients) if hasattr(cls, "gradients") else None
        cls._differentiable = cls._joint is not None or any(cls._rules)
        cls._plans = {}

    # --- forward ------------------------------------------------------------------------------------------------------

    @classmethod
    def apply(cls, *inputs: Any, **settings: Any) -> Any:
        """Compute the op; record it if an input requires grad and grad mode is on.

        Arrays and numbers alone give an array: that is how rules compute in the plain pass.
        """
        arrays = []
        pattern = 1
        for x in inputs:
            if isinstance(x, Tensor):
                wanted = x._requires_grad or (x._view is not None and x.requires_grad)
                pattern = pattern << 2 | (WANTED if wanted else TENSOR)
                arrays.append(x._data)
            else:
                pattern <<= 2
                arrays.append(x)
        plan = cls._plans.get(pattern) or cls._planned(pattern)
        given = cls._as_arrays(settings) if plan.prepares else settings
        if plan.computes_alone:
            return plan.forward(*arrays, **given)
        if plan.promotes and not (plan.pair and arrays[0].dtype is arrays[1].dtype):
            arrays = promoted(arrays, cls.makes_float)
        now = thread.state
        try:
            result = plan.forward(*arrays, **given) if now.is_quiet else now.running(plan.forward, *arrays, **given)
        except ValueError:
            if cls.promotes:
                refuse_mismatch([np.shape(a) for a in arrays])
            raise
        if type(result) is tuple:
            return cls._several(plan, inputs, settings, result)
        out = wrap(result if type(result) is np.ndarray else np.asarray(result))
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
    def _several(cls, plan: Plan, inputs: tuple, settings: dict[str, Any], results: tuple) -> tuple[Tensor, ...]:
        """The end of `apply` for an op of several outputs."""
        now = thread.state
        outs = tuple([wrap(np.asarray(result)) for result in results])
        if plan.view:
            for out in outs:
                cls._show(out, inputs[0], several=True)
        node = None
        if plan.records and now.recording:
            node = plan.record(inputs, settings, outs)
            for number, out in enumerate(outs[: cls.visible_outputs]):
                if number not in cls.non_differentiable and out._data.dtype.kind == "f":
                    out._grad_fn, out.output_nr, out._requires_grad = node, number, True
        if now.unusual or everywhere.unusual:
            cls._beside(now, inputs, settings, outs, node)
        return outs[: cls.visible_outputs]

    @classmethod
    def _planned(cls, pattern: int) -> Plan:
        """A plan for inputs of this pattern: two bits each, behind a leading 1."""
        kinds: list[int] = []
        rest = pattern
        while rest > 1:
            kinds.insert(0, rest & 3)
            rest >>= 2
        plan = cls._plans[pattern] = Plan(cls, tuple(kinds))
        return plan

    @classmethod
    def _record(cls, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Tensor]) -> Op:
        """The node of a run whose plan is asked for by its edges: wanted is what a gradient can be sent to."""
        pattern = 1
        for x in inputs:
            kind = NUMBER if not isinstance(x, Tensor) else TENSOR if gradient_edge(x)[0] is None else WANTED
            pattern = pattern << 2 | kind
        return (cls._plans.get(pattern) or cls._planned(pattern)).record(inputs, settings, outs)

    # What `ops/op.py` replaces ----------------------------------------------------------------------------------------

    @classmethod
    def _as_arrays(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings as `forward` gets them: arrays for the tensors among those `without_gradient`."""
        raise NotImplementedError

    @classmethod
    def _show(cls, out: Tensor, source: Tensor, several: bool) -> None:
        """Let `out` be a view of `source`."""
        raise NotImplementedError

    @classmethod
    def _beside(
        cls, now: State, inputs: Sequence[Any], settings: dict, outs: Sequence[Tensor], node: Op | None
    ) -> None:
        """What the unusual modes add to a run."""

    @classmethod
    def _packed(cls, value: Any) -> Any:
        """How a setting, or what was made of inputs, is kept."""
        return value

    @classmethod
    def _unpacked(cls, value: Any, as_tensor: bool) -> Any:
        return value

    @classmethod
    def _lets_go(cls, name: str, value: Any) -> bool:
        """Free what is kept under `name`, and say whether it was a tensor, or stood for one."""
        return False

    # --- what is kept, by name ----------------------------------------------------------------------------------------

    @classmethod
    def _what_to_save(cls, mask: tuple[bool, ...]) -> tuple[str, ...]:
        """The names to keep: settings that some rule asks for, and tensors that a rule asks for whose input needs it."""
        if cls._joint is not None:
            return cls._joint.needs
        names = {
            name
            for rule, wanted in zip(cls._rules, mask, strict=True)
            if rule is not None
            for name in rule.needs
            if wanted or not (name in cls._inputs or cls._output(name) is not None)
        }
        if not any(mask):
            # Views made under no_grad, which require grad and have no edge: kept is, as in PyTorch, what every rule asks for.
            names |= set.intersection(*(set(rule.needs) for rule in cls._rules if rule is not None))
        # By name, and outputs last: the order in which PyTorch saves, as hooks on saved tensors can tell.
        return tuple(sorted(names, key=lambda name: (cls._output(name) is not None, name)))

    @classmethod
    def _output(cls, name: str) -> int | None:
        """The number of the output that a rule calls `name`: one of `results`, or result, result0, result1, …"""
        if name in cls.results:
            return cls.results.index(name)
        return int(name[6:] or 0) if name.startswith("result") else None

    @classmethod
    def _is_hidden(cls, number: int) -> bool:
        return cls.visible_outputs is not None and number >= cls.visible_outputs

    @classmethod
    def _named(
        cls,
        name: str,
        inputs: Sequence[Any],
        settings: dict[str, Any],
        outs: Sequence[Tensor],
        mask: tuple[bool, ...] = (),
    ) -> Any:
        """What a rule asks for by `name`, of one run of the op."""
        if name == "needs_input_grad":
            return mask
        if name in settings:
            return settings[name]
        if name in cls._inputs:
            return tuple(inputs) if cls._variadic else inputs[cls._inputs.index(name)]
        number = cls._output(name)
        if number is not None:
            return outs[number]
        source, _, what = name.partition("_sym_")
        if what == "sizes" and cls._variadic:
            return tuple(np.shape(getattr(x, "_data", x)) for x in inputs)
        if what == "sizes":
            return np.shape(getattr(inputs[cls._inputs.index(source)], "_data", ()))
        if what == "numel":
            return inputs[cls._inputs.index(source)]._data.size
        if name in cls._defaults:
            return cls._defaults[name]
        raise TypeError(f"{cls._name}: a rule asks for {name!r}, which is no input, result or setting of the op")

    # --- backward -----------------------------------------------------------------------------------------------------

    def name(self) -> str:
        return self._name

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        # All that was saved is read, whether a rule comes to need it or not: what was changed or freed is always noticed.
        plan = self._plan
        values = plan.recorded(self) if create_graph else plan.arrays(self) if plan.names else ()
        grad = grads[0] if len(grads) == 1 else grads if any(g is not None for g in grads) else None
        if grad is None:
            return [None] * len(self._next)
        now = thread.state
        # Under create_graph the ops that a rule records are quiet themselves.
        if create_graph or now.is_quiet:
            return plan.gradients(self, grad, values, wanted)
        return now.quietly(plan.gradients, self, grad, values, wanted)

    def _release(self) -> None:
        plan = self._plan
        if plan.frees_all and self._around is None:
            self._kept, self._versions = (), None
        elif plan.frees:
            plan.release(self)
