"""`Op`: a built-in differentiable op. What it is to write one, and what all of them share.

An op is one short class, in the order of the mathematics:

    class Mul(Op):
        promotes = True
        def forward(self, other): return self * other
        def grad_self(grad, other): return grad * other
        def grad_other(grad, self): return grad * self
        jvp = elementwise

The functions in the body are static: `self` is the op's first tensor, as in PyTorch's own signatures. `forward` works on
arrays; its positional arguments are tensors or numbers, its keyword arguments are settings. `grad_<input>` is the rule of
one input, and the names of its arguments say what is kept for it: an input, `result`, a setting, or `<input>_sym_sizes`,
the input's shape. What no needed rule asks for is not kept, and a rule that nobody needs is not run. Several inputs can
share one rule, `gradients(grad, needs_input_grad, …)`.

A mask or an index is a setting named in `without_gradient`: given as a Tensor, it is kept as one, with its version.

The rules are written once and used twice: in the plain pass they get arrays, under `create_graph` Tensors, which record
what is done to them. So a rule uses operators and the functions of `ops`, which take either.

Broadcasting is nobody's business here: a gradient that comes out in the broadcast shape is summed by the engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import forward_ad, grad_mode
from ..autograd.anomaly_mode import anomaly, remember_forward
from ..autograd.inplace import make_view
from ..autograd.node import Node, gradient_edge, sequence
from ..autograd.saved_tensor import SavedTensor
from ..autograd.variable import volatile
from ..quiet import quiet
from ..tensor import Tensor, wrap
from .inplace import write
from .operands import as_arrays, promoted, refuse_mismatch
from .tangents import elementwise, linear, push_tangents

__all__ = ["Op", "elementwise", "linear"]


class _Rule:
    """One `grad_…` function, and the names of what it needs beside the incoming gradient."""

    __slots__ = ("function", "needs")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.needs = tuple(inspect.signature(function).parameters)[1:]


class _Plan:
    """What a node keeps and which rules it runs, for one pattern of inputs that need a gradient. Made once a pattern."""

    __slots__ = ("joint", "names", "positions", "rules")

    def __init__(self, op: type[Op], mask: tuple[bool, ...]) -> None:
        self.names = op._what_to_save(mask)
        # Which input each name stands for; None for what is made of inputs, results or settings.
        self.positions = tuple([op._position(name) for name in self.names])
        self.joint = op._joint
        # For each input that needs a gradient: its number, its rule, and which of what is kept it is given (None: all).
        self.rules: list[tuple[int, Callable[..., Any], tuple[int, ...] | None]] = []
        if self.joint is None:
            for i, (rule, needed) in enumerate(zip(op._rules, mask, strict=True)):
                if rule is not None and needed:
                    where = tuple([self.names.index(name) for name in rule.needs])
                    self.rules.append((i, rule.function, None if rule.needs == self.names else where))


class Op(Node):
    """A built-in op and, once recorded, its node in the graph. The module's text tells how to write one."""

    # Settings of a subclass -------------------------------------------------------------------------------------------
    promotes = False  # operands of different dtypes are brought to a common one first
    makes_float = False  # integers become the default float type first
    idempotent = False  # writes one value everywhere: in place, elements may share memory
    view = False  # the result shows the storage of the first input
    non_differentiable: tuple[int, ...] = ()  # outputs without a gradient, such as indices
    without_gradient: tuple[str, ...] = ()  # settings that may be tensors, or tuples of these: masks, indices
    results: tuple[str, ...] = ()  # the names of several outputs, where rules know them by other names than result0, …
    visible_outputs: int | None = None  # outputs that a user sees; the others are kept for the rule alone
    jvp: Any = None  # elementwise, linear, or a function of the tangents `(…, then what it needs by name)`

    # Read off the subclass --------------------------------------------------------------------------------------------
    _inputs: tuple[str, ...] = ()
    _variadic = False
    _defaults: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    _rules: tuple[_Rule | None, ...] = ()
    _joint: _Rule | None = None
    _differentiable = False
    _name = "OpBackward0"
    _plans: dict[tuple[bool, ...], _Plan]

    makes_new_arrays = True
    # What the rules need, in the order of the plan's names.
    _plan: _Plan
    _kept: list[Any]

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
        cls._variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        rules = [getattr(cls, f"grad_{i}", None) for i in cls._inputs]
        cls._rules = tuple(_Rule(r) if r else None for r in rules)
        cls._joint = _Rule(cls.gradients) if hasattr(cls, "gradients") else None
        cls._differentiable = cls._joint is not None or any(cls._rules)
        cls._plans = {}

    forward: Callable[..., Any]

    # --- forward ------------------------------------------------------------------------------------------------------

    @classmethod
    def apply(cls, *inputs: Any, **settings: Any) -> Any:
        """Compute the op; record it if an input requires grad and grad mode is on.

        Arrays and numbers alone give an array: that is how rules compute in the plain pass.
        """
        if volatile.seen and volatile.reaches(inputs):
            return volatile.compute(cls.apply, *inputs, **settings)
        arrays = []
        is_tensor = requires_grad = False
        for x in inputs:
            if isinstance(x, Tensor):
                is_tensor = True
                if x._requires_grad or (x._view is not None and x.requires_grad):
                    requires_grad = True
                arrays.append(x._data)
            else:
                arrays.append(x)
        given = as_arrays(settings, cls.without_gradient) if cls.without_gradient else settings
        if not is_tensor:
            return cls.forward(*arrays, **given)
        if cls.promotes or cls.makes_float:
            arrays = promoted(arrays, cls.makes_float)
        try:
            result = quiet.run(cls.forward, *arrays, **given)
        except ValueError:
            if cls.promotes:
                refuse_mismatch([np.shape(a) for a in arrays])
            raise
        state = grad_mode.state
        inference = state.inference
        record = requires_grad and state.grad_enabled and not inference
        if type(result) is not tuple:
            out = wrap(result if type(result) is np.ndarray else np.asarray(result))
            if cls.view:
                make_view(out, inputs[0], _view_creation(state, False))
            elif inference:
                out._inference = True
            if record and cls._differentiable and out._data.dtype.kind == "f":
                node = cls._record(inputs, settings, (out,))
                out._grad_fn = node
                out._requires_grad = True
            if forward_ad.level.open and forward_ad.any_tangent(inputs):
                push_tangents(cls, inputs, settings, (out,))
            return out
        return cls._several(inputs, settings, result, record)

    @classmethod
    def _several(cls, inputs: tuple, settings: dict[str, Any], results: tuple, record: bool) -> tuple[Tensor, ...]:
        state = grad_mode.state
        outs = tuple(wrap(np.asarray(r)) for r in results)
        for out in outs:
            if cls.view:
                make_view(out, inputs[0], _view_creation(state, True))
            else:
                out._inference = state.inference
        visible = outs if cls.visible_outputs is None else outs[: cls.visible_outputs]
        if record:
            node = cls._record(inputs, settings, outs, visible)
            for number, out in enumerate(visible):
                if number not in cls.non_differentiable and out._data.dtype.kind == "f":
                    out._grad_fn, out.output_nr, out._requires_grad = node, number, True
        if forward_ad.level.open and forward_ad.any_tangent(inputs):
            push_tangents(cls, inputs, settings, outs)
        return visible

    @classmethod
    def _record(
        cls,
        inputs: Sequence[Any],
        settings: dict[str, Any],
        outs: tuple[Tensor, ...],
        visible: tuple[Tensor, ...] | None = None,
    ) -> Op:
        """Make the node of this run: its edges, the form of its outputs, and what its needed rules ask for."""
        node = cls()
        node._seq = next(sequence)
        edges, needed = [], []
        for x in inputs:
            edge = gradient_edge(x) if isinstance(x, Tensor) else _NO_EDGE
            edges.append(edge)
            needed.append(edge[0] is not None)
        node._edges = tuple(edges)
        if len(outs) == 1:
            data = outs[0]._data
            node._outputs = ((data.shape, data.dtype),)
        else:
            node._outputs = tuple([(out._data.shape, out._data.dtype) for out in visible or outs])
        # The one input of an op needs a gradient, even where a view made under no_grad leaves it without an edge.
        mask = tuple(needed) if len(edges) > 1 else _ONE_INPUT
        plan = cls._plans.get(mask)
        if plan is None:
            plan = cls._plans[mask] = _Plan(cls, mask)
        node._plan = plan
        node._kept = kept = []
        for name, position in zip(plan.names, plan.positions):  # noqa: B905 - of one length
            if position is None:
                kept.append(cls._to_save(name, node, inputs, settings, outs, mask))
            else:
                x = inputs[position]
                kept.append(SavedTensor(x) if isinstance(x, Tensor) else x)
        if anomaly.enabled:
            remember_forward(node)
        return node

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
    def _position(cls, name: str) -> int | None:
        return cls._inputs.index(name) if name in cls._inputs and not cls._variadic else None

    @classmethod
    def _to_save(
        cls,
        name: str,
        node: Op,
        inputs: Sequence[Any],
        settings: dict[str, Any],
        outs: tuple[Tensor, ...],
        mask: tuple[bool, ...],
    ) -> Any:
        if name == "needs_input_grad":
            return mask
        number = cls._output(name) if name not in settings else None
        if number is None:
            # A tensor among the settings is kept as one, so that a later write to it is noticed.
            return _saved(cls._named(name, inputs, settings, outs))
        out = outs[number]
        hidden = cls.visible_outputs is not None and number >= cls.visible_outputs
        if hidden or number in cls.non_differentiable:
            return SavedTensor(out)
        out.output_nr = number
        return SavedTensor(out, node)

    @classmethod
    def _named(cls, name: str, inputs: Sequence[Any], settings: dict[str, Any], outs: tuple[Tensor, ...]) -> Any:
        """What a rule asks for by `name`, of one run of the op."""
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

    @classmethod
    def apply_(cls, target: Tensor, *others: Any, **settings: Any) -> Tensor:
        """Compute the op and write its result into `target`, the op's first input.

        Raises:
            RuntimeError: the result does not fit `target` in shape or dtype, or autograd cannot allow the write.
        """
        return write(cls, target, others, settings)

    # --- backward -----------------------------------------------------------------------------------------------------

    def name(self) -> str:
        return self._name

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        # All that was saved is read, whether a rule comes to need it or not: what was changed or freed is always noticed.
        values = []
        for saved in self._kept:
            if type(saved) is SavedTensor:
                saved = saved.for_backward() if create_graph else saved.array()
            elif _holds_saved(saved):
                saved = tuple([_unpacked(s, create_graph) for s in saved])
            values.append(saved)
        edges = self._edges
        grad = grads[0] if len(self._outputs) == 1 else grads if any(g is not None for g in grads) else None
        if grad is None:
            return [None] * len(edges)
        plan = self._plan
        # Under create_graph the ops that a rule records are quiet themselves.
        run = _call if create_graph else quiet.run
        if plan.joint is not None:
            together = run(plan.joint.function, grad, *values)
            return together if wanted is None else [g if w else None for g, w in zip(together, wanted, strict=True)]
        results: list[Any] = [None] * len(edges)
        for i, rule, needs in plan.rules:
            if edges[i][0] is not None and (wanted is None or wanted[i]):
                given = values if needs is None else [values[n] for n in needs]
                results[i] = run(rule, grad, *given)
        return results

    def _release(self) -> None:
        kept = self._kept
        for n, saved in enumerate(kept):
            if type(saved) is SavedTensor:
                saved.free()
            elif _holds_saved(saved):
                for s in saved:
                    if type(s) is SavedTensor:
                        s.free()
            elif self._stands_for_tensor(self._plan.names[n], saved):
                kept[n] = SavedTensor.freed

    def _stands_for_tensor(self, name: str, saved: Any) -> bool:
        """True for what PyTorch saves, and frees, as a tensor: a number in place of one, a mask, indices."""
        if name.startswith("_"):
            return False
        parts = saved if isinstance(saved, tuple) else (saved,)
        return name in self._inputs or any(isinstance(part, np.ndarray) for part in parts)

    def _shows_raw(self, name: str, saved: Any) -> bool:
        """True for what PyTorch shows as `_raw_saved_…`: what is kept as a tensor, or could be."""
        if isinstance(saved, tuple):
            return not self._variadic and (_holds_saved(saved) or self._stands_for_tensor(name, saved))
        tensors = name in self._inputs or name in self.without_gradient
        return isinstance(saved, SavedTensor) or (tensors and saved is None) or self._stands_for_tensor(name, saved)

    # --- what is saved, under PyTorch's names ---------------------------------------------------------------------------

    def __getattr__(self, attribute: str) -> Any:
        prefix = "_raw_saved_" if attribute.startswith("_raw_saved_") else "_saved_"
        if not attribute.startswith(prefix):
            raise AttributeError(f"{self._name!r} object has no attribute {attribute!r}")
        name = attribute[len(prefix) :]
        if name not in self._plan.names:
            if name in self._all_needs():
                # Nobody's gradient needs it, so it was not kept.
                return None if prefix == "_saved_" else SavedTensor.nothing
            raise AttributeError(f"{self._name!r} object has no attribute {attribute!r}")
        if prefix == "_raw_saved_":
            return self._raw_saved(self._plan.names.index(name))
        saved = self._kept[self._plan.names.index(name)]
        if isinstance(saved, SavedTensor):
            return saved.tensor()
        if _holds_saved(saved):
            return tuple(None if isinstance(s, slice) else _unpacked(s, True) for s in saved)
        if isinstance(saved, np.ndarray) or (name in self._inputs and isinstance(saved, int | float)):
            return wrap(np.asarray(saved))
        return saved

    def _raw_saved(self, n: int) -> Any:
        """What is kept, as saved tensors that take hooks: a number or an array becomes one when it is asked for."""
        saved = self._kept[n]
        if saved is None:
            return SavedTensor.nothing
        if self._stands_for_tensor(self._plan.names[n], saved):
            dtype = self._outputs[0][1]
            parts = [
                SavedTensor(wrap(np.asarray(s, None if isinstance(s, np.ndarray) else dtype)))
                if isinstance(s, np.ndarray | int | float)
                else s
                for s in (saved if isinstance(saved, tuple) else (saved,))
            ]
            saved = self._kept[n] = tuple(parts) if isinstance(saved, tuple) else parts[0]
        if isinstance(saved, tuple):
            return tuple(s if isinstance(s, SavedTensor) else SavedTensor.nothing for s in saved)
        return saved

    @classmethod
    def _all_needs(cls) -> list[str]:
        rules = [*cls._rules, cls._joint]
        needs = dict.fromkeys(n for rule in rules if rule is not None for n in rule.needs)
        return [n for n in needs if n != "needs_input_grad" and not n.startswith("_")]

    def __dir__(self) -> list[str]:
        names = self._all_needs()
        kept = dict(zip(self._plan.names, self._kept, strict=True))
        raw = [n for n in names if n not in kept or self._shows_raw(n, kept[n])]
        return [*super().__dir__(), *(f"_saved_{n}" for n in names), *(f"_raw_saved_{n}" for n in raw)]


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _saved(value: Any) -> Any:
    if isinstance(value, Tensor):
        return SavedTensor(value)
    if type(value) is tuple and any(isinstance(v, Tensor) for v in value):
        return tuple([SavedTensor(v) if isinstance(v, Tensor) else v for v in value])
    return value


def _holds_saved(saved: Any) -> bool:
    """True for a tuple with saved tensors in it: the inputs of a variadic op, indices."""
    return type(saved) is tuple and any(type(s) is SavedTensor for s in saved)


def _unpacked(saved: Any, as_tensor: bool) -> Any:
    if type(saved) is not SavedTensor:
        return saved
    return saved.for_backward() if as_tensor else saved.array()


_NO_EDGE: tuple[None, int] = (None, 0)
_ONE_INPUT = (True,)


def _view_creation(state: Any, multi_output: bool) -> str | None:
    """Why a view made now cannot be written through later; None where it can."""
    if state.inference:
        return "inference"
    if not state.grad_enabled:
        return "no_grad"
    return "multi-output" if multi_output else None
