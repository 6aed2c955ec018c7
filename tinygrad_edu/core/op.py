"""`Op`: a short class that becomes a node of the graph with each run that is recorded. `Function`: a user's own.

    class Mul(Op):
        def forward(self, other): return self * other
        def grad_self(grad, other): return grad * other
        def grad_other(grad, self): return grad * self

The functions are static. `forward` computes on values; its keyword arguments are settings. `grad_<input>` is the rule
of one input. The names of its arguments say what the node keeps for it: an input, a setting, `result`, or
`<input>_sym_sizes`, its shape. Rules ignore broadcasting. They get values in the plain pass; under `create_graph`
Tensors, which record what the rule does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from . import layers
from .graph import AccumulateGrad, Node, TensorBase, gradient_edge, sequence, shadow, wrap
from .layers import Declared, Elementwise, by_mask, thread

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, "
    "please use out-of-place `.detach()` instead"
)
# What an input is: no tensor, a tensor without an edge, one that needs a gradient.
NUMBER, TENSOR, WANTED = range(3)
# Where what is kept comes from: an input, an output, an output without a gradient, a setting, elsewhere.
INPUT, OUTPUT, ASIDE, SETTING, ELSEWHERE = range(5)
LEAF = (AccumulateGrad, type(None))  # the ends of edges that are no ops
FREED: Any = object()  # stands where something was freed
ndarray, new = np.ndarray, object.__new__


def names_in(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a rule asks for, besides the gradient that comes in."""
    if hasattr(rule, "__signature__") or hasattr(rule, "__wrapped__"):  # else the code says it, and much quicker
        return tuple(inspect.signature(rule).parameters)[1:]
    return rule.__code__.co_varnames[1 : rule.__code__.co_argcount]


class Plan:
    """For an op and the kinds of its inputs: what a node keeps, the rules it runs, where these find it. Made once."""

    def __init__(self, op: type[Op], kinds: tuple[int, ...]) -> None:
        self.op, self.lies = op, op.lies
        # The one input of an op needs a gradient, even where a view leaves it without an edge.
        self.needs_input_grad = mask = tuple([kind == WANTED for kind in kinds]) if len(kinds) > 1 else (True,)
        self.names = op._needed(mask)
        # What is kept: its source, its place there, its name.
        self.parts = [(*op._source(name), name) for name in self.names]
        self.rules = [  # those that run: the number of the input, the rule, the places of what it is given
            (i, rule, tuple(map(self.names.index, names)))
            for i, ((rule, names), wanted) in enumerate(zip(op._rules, mask, strict=False))
            if rule is not None and wanted
        ]
        self.tensors = [  # the places of tensors; for an input that has an edge its number; for an output its number
            (slot, where if kind == INPUT and kinds[where] == WANTED else None, where if kind == OUTPUT else None)
            for slot, (kind, where, _) in enumerate(self.parts)
            if kind in (OUTPUT, ASIDE) or (kind == INPUT and kinds[where] != NUMBER)
        ]
        tensors = self.slots = [slot for slot, *_ in self.tensors]
        self.unwritten = tuple([0 if slot in tensors else None for slot in range(len(self.names))])
        # How all of it is read, where these are inputs, or the defaults of settings.
        places = [where for kind, where, _ in self.parts if kind == INPUT]
        first = slice(places[0], places[0] + 1) if places else slice(0)
        reader = itemgetter(*places) if len(places) > 1 else itemgetter(first)
        self.inputs = reader if len(places) == len(self.names) else None
        only_settings = all(kind == SETTING for kind, *_ in self.parts)
        self.constants = tuple([default for _, default, _ in self.parts]) if only_settings else None
        # Whether anything, and whether all of it, is freed when the node has run. Settings stay.
        self.frees = any(kind != SETTING and "_sym_" not in name for kind, _, name in self.parts)
        self.frees_all = bool(self.parts) and all(kind in (INPUT, OUTPUT, ASIDE) for kind, *_ in self.parts)
        self.others = [slot for slot in range(len(self.names)) if slot not in tensors]
        self.blank: list[Any] = [None] * len(kinds)
        self.first_outputs = (0,) * len(kinds)
        self.forms: tuple[Any, ...] = (((), None),)  # of the last node's output: most share it


class Op(Declared, Node):
    """A built-in op and, once recorded, its node in the graph."""

    forward: Callable[..., Any]
    on_arrays = False  # `forward` needs an array, also where there is no dimension
    view = False  # the result shows the storage of the first input
    # Read off the subclass: the names of its inputs and settings, and for each input its rule and what that asks for.
    _inputs: tuple[str, ...] = ()
    _settings: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    _rules: tuple[tuple[Any, tuple[str, ...]], ...] = ()
    _differentiable = False
    _form: tuple[Any, ...]  # what `apply` asks of it, read at once
    _plans: dict[tuple[int, ...], Plan]
    _plan_class: type[Plan] = Plan
    # Of a node: its plan, what it keeps, and the versions of those that are tensors; None once they are freed.
    _plan: Plan
    _saved: tuple[Any, ...] = ()
    _versions: tuple[int | None, ...] | None = ()

    def __init_subclass__(cls, name: str | None = None) -> None:
        cls._name = name or f"{cls.__name__}Backward0"
        cls.__name__ = cls.__qualname__ = cls._name.rpartition("::")[2]  # as it prints: `grad_fn=<MulBackward0>`
        for key, value in list(cls.__dict__.items()):
            if inspect.isfunction(value) and not key.startswith("_"):
                setattr(cls, key, staticmethod(value))
        if "forward" in cls.__dict__:
            cls._read_off(list(inspect.signature(cls.forward).parameters.values()))
            cls.lies, cls._plans = cls.jvp if isinstance(cls.jvp, Elementwise) else cls.lies, {}
            cls._form = cls.forward, cls.on_arrays, cls.lies, cls._differentiable, cls.view

    @classmethod
    def _read_off(cls, parameters: Sequence[inspect.Parameter]) -> None:
        """What the signature of `forward`, and the rules, say."""
        cls._inputs = tuple([p.name for p in parameters if p.kind is not p.KEYWORD_ONLY])
        cls._settings = tuple([p.name for p in parameters if p.kind is p.KEYWORD_ONLY])
        cls._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        rules = [getattr(cls, f"grad_{name}", None) for name in cls._inputs]
        cls._rules = tuple([(rule, names_in(rule) if rule else ()) for rule in rules])
        cls._differentiable = any(rules)

    @classmethod
    def apply(cls, *inputs: Any, **settings: Any) -> Any:
        """Compute the op; record it if an input requires grad and grad mode is on. In a rule, values give a value."""
        now, (forward, on_arrays, lies, is_differentiable, view) = thread.state, cls._form
        values, dtype, wanted, is_usual = [], None, False, True  # usual: floats of one type, and numbers beside them
        for x in inputs:
            if isinstance(x, TensorBase):
                if x._requires_grad or (x._view is not None and x.requires_grad):
                    wanted = True
                x = x._data if on_arrays else x.value
                kind = x.dtype
                if kind is not dtype:
                    is_usual = is_usual and dtype is None and kind.kind == "f"
                    dtype = kind
            elif type(x) is not float and type(x) is not int:
                is_usual = False
            values.append(x)
        if settings or not is_usual:
            values, given = layers.around.operands(cls, values, settings, is_usual or dtype is None)
            if given:
                forward = functools.partial(forward, **given)
        if dtype is None:
            return forward(*values)
        try:
            result = forward(*values) if now.is_quiet else now.running(forward, *values)
        except (ValueError, TypeError) as error:
            raise layers.around.refusal(cls, values, error) from error
        if type(result) is tuple:
            return layers.around.several(cls, inputs, settings, result, wanted)
        if lies is not None and type(result) is ndarray and result.ndim > 1:
            result = layers.around.in_order(result, values[:: lies.forward] if lies.forward else ())
        out = wrap(result)
        if wanted and now.recording and is_differentiable and result.dtype.kind == "f":
            out._grad_fn, out._requires_grad = cls.record(inputs, settings, (out,)), True
        if view:
            layers.around.viewed(out, inputs[0], False)
        if now.unusual:
            layers.around.computed(cls, inputs, settings, (out,), out._grad_fn)
        return out

    @classmethod
    def apply_(cls, target: Any, *others: Any, **settings: Any) -> Any:
        """Compute the op in place: write its result into `target`, its first input."""
        return layers.around.write(cls, target, others, settings)

    @classmethod
    def record(cls, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Any]) -> Op:
        """The node of one run of the op: its edges, the form of its outputs, and what its rules will ask for."""
        kinds, nodes, numbers = [], [], None
        for x in inputs:
            to, kind = None, NUMBER
            if isinstance(x, TensorBase):
                to = x._grad_fn
                if x._view is not None or (to is None and x._requires_grad):
                    to, _ = gradient_edge(x)
                if x.output_nr and numbers is None:
                    numbers = [gradient_edge(x)[1] for x in inputs]
                kind = TENSOR if to is None else WANTED
            kinds.append(kind)
            nodes.append(to)
        pattern = tuple(kinds)
        try:
            plan = cls._plans[pattern]
        except KeyError:
            plan = cls._plans[pattern] = cls._plan_class(cls, pattern)
        node = new(cls)
        node._visited, node._plan, node._seq = False, plan, next(sequence)
        node._next, node._next_output = tuple(nodes), plan.first_outputs if numbers is None else tuple(numbers)
        value, forms = outs[0].value, plan.forms
        if forms[0][0] != value.shape or forms[0][1] is not value.dtype:
            forms = plan.forms = ((value.shape, value.dtype),)
        if plan.inputs is not None:
            saved = plan.inputs(inputs)
        elif plan.constants is not None and not settings:
            saved = plan.constants
        else:
            saved = cls._kept(plan, inputs, settings, outs)
        node._outputs, node._saved, node._versions = forms, saved, plan.unwritten
        for slot in plan.slots:
            counter = saved[slot]._counter
            if counter is not None and counter[0]:  # else it was never written to: version 0
                known = zip(saved, plan.unwritten, strict=True)
                node._versions = tuple([None if v is None else layers.around.version(t) for t, v in known])
                break
        return node

    @classmethod
    def _kept(cls, plan: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Any]) -> tuple[Any, ...]:
        """What a node keeps, where it is more than inputs."""
        saved: list[Any] = []
        for kind, where, name in plan.parts:
            if kind == INPUT:
                saved.append(inputs[where])
            elif kind == SETTING:
                saved.append(settings.get(name, where))
            elif kind == OUTPUT:
                saved.append(shadow(outs[where], where))
            else:
                saved.append(outs[where] if kind == ASIDE else where(inputs, settings))
        return tuple(saved)

    def _step(
        self, grads: list[Any], frees: bool = False, create_graph: bool = False, wanted: Sequence[bool] | None = None
    ) -> Sequence[Any]:
        plan, versions = self._plan, self._versions
        values = [*self._saved]
        if versions is None:
            raise RuntimeError(BACKWARD_TWICE)
        # Everything that was kept is read, whether a rule needs it or not, so that every change in between is noticed.
        for slot, position, output_nr in plan.tensors:
            t, version = values[slot], versions[slot]
            if version is None:  # hooks of a layer have packed it
                values[slot] = layers.around.unpacked(t, create_graph)
                continue
            if t._counter is not None and t._counter[0] != version:
                raise RuntimeError(layers.around.modified(t, t.grad_fn if output_nr is None else self, version))
            if t._grad_fn is None and position is not None and not isinstance(self._next[position], LEAF):
                raise RuntimeError(DETACHED)
            values[slot] = t.value if not create_graph else t if output_nr is None else self._output_of(t, output_nr)
        for slot in plan.others if self._hooks is not None else ():
            values[slot] = layers.around.unpacked(values[slot], create_graph)
        results = self._results(grads, values, create_graph, wanted)
        if frees and plan.frees:
            self._release()
        return results

    def _results(
        self, grads: list[Any], values: list[Any], create_graph: bool, wanted: Sequence[bool] | None
    ) -> Sequence[Any]:
        """What the rules make of the gradient of the output and of what the node kept."""
        plan, grad = self._plan, grads[0]
        results = plan.blank.copy()
        if grad is None:
            return results
        lies = plan.lies
        if lies is not None and (type(grad) is not ndarray or (lies is not by_mask and grad.flags.c_contiguous)):
            lies = None  # NumPy lays it out as PyTorch does
        for i, rule, slots in plan.rules:
            if wanted is None or wanted[i]:
                if not slots:
                    results[i] = rule(grad)
                elif len(slots) == 1:
                    results[i] = rule(grad, values[slots[0]])  # a star would make the call three times as long
                else:
                    results[i] = rule(grad, *[values[slot] for slot in slots])
                if lies is not None:
                    operands = [grad, *[values[slot] for slot in slots]] if lies.backward else []
                    results[i] = layers.around.in_order(results[i], operands[:: -1 if lies is by_mask else 1])
        return results

    def _release(self) -> None:
        if self._plan.frees_all and self._hooks is None:
            self._saved, self._versions = (), None
        elif self._plan.frees:
            layers.around.release(self)

    def _output_of(self, t: Any, output_nr: int) -> Any:
        """The output that `t` stands for, a tensor that this node keeps without its node."""
        out = wrap(t.value, self, t._counter, output_nr)
        return layers.around.output(self, out)

    def __getattr__(self, name: str) -> Any:
        return layers.around.attribute(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *layers.around.attributes(self)]

    # --- how the names in a rule are read -----------------------------------------------------------------------------

    @classmethod
    def _needed(cls, mask: tuple[bool, ...]) -> tuple[str, ...]:
        """The names to keep: settings that a rule uses, and the tensors that a needed input's rule uses."""
        names = {
            name
            for (_, needs), wanted in zip(cls._rules, mask, strict=True)
            for name in needs
            if wanted or not (name in cls._inputs or cls._output(name) is not None)
        }
        if not any(mask):
            # A view made under no_grad may require grad without an edge. As PyTorch's, it keeps what any rule asks for.
            names |= set.intersection(*(set(needs) for rule, needs in cls._rules if rule is not None))
        # By name, with outputs last: PyTorch saves in this order, and hooks on saved tensors can observe it.
        return tuple(sorted(names, key=lambda name: (cls._output(name) is not None, name)))

    @classmethod
    def _output(cls, name: str) -> int | None:
        """The number of the output that a rule calls `name`."""
        return 0 if name == "result" else None

    @classmethod
    def _source(cls, name: str) -> tuple[int, Any]:
        """Where the value that a rule calls `name` comes from; and its number there, its default, or how to find it."""
        number, (source, _, what) = cls._output(name), name.partition("_sym_")
        if name in cls._inputs:
            return INPUT, cls._inputs.index(name)
        if name in cls._settings:
            return SETTING, cls._defaults.get(name)
        if number is not None:
            return OUTPUT, number
        if source not in cls._inputs or what not in ("sizes", "numel"):
            raise TypeError(
                f"{cls._name}: a rule asks for {name!r}, which is not an input, result or setting of the op"
            )
        at = cls._inputs.index(source)
        measure: Any = np.shape if what == "sizes" else np.size
        return ELSEWHERE, lambda inputs, settings: measure(getattr(inputs[at], "value", inputs[at]))


class FunctionCtx(Node):
    """What `forward` leaves for `backward`. It is the node itself: `output.grad_fn` and `ctx` are one object."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True  # `backward` gets zeros, not None, for an output that no gradient reached
    to_save: tuple[Any, ...] | None = None  # what forward asked to be saved; None again once that is done
    _saved: tuple[Any, ...] | None = ()  # None once it is freed
    _visited, _is_quiet = True, False  # a user's code runs in it
    _edge_of_argument: tuple[int | None, ...] = ()  # for each argument of forward; None for what is not a tensor
    _forward_cls: Any

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs (or None) for `backward`, where `saved_tensors` returns them."""
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`; RuntimeError if they are freed, or were changed in place since."""
        if self._saved is None:
            raise RuntimeError(BACKWARD_TWICE)
        return tuple([None if t is None else layers.around.unpacked(t, True) for t in self._saved])

    def _step(
        self, grads: list[Any], frees: bool = False, create_graph: bool = False, wanted: Sequence[bool] | None = None
    ) -> Sequence[Any]:
        tensors, state = [self._as_tensor(i, grad) for i, grad in enumerate(grads)], thread.state
        before, state.grad_enabled = state.grad_enabled, create_graph and state.grad_enabled
        try:
            results = self.apply(*tensors)
        finally:
            state.grad_enabled = before
        checked = layers.around.gradients(self, results if isinstance(results, tuple) else (results,))
        if frees:
            self._release()
        return checked if create_graph else [None if r is None else r.value for r in checked]

    def apply(self, *args: Any) -> Any:
        """Run the user's rule on gradients of the outputs, as the engine does."""
        return self._forward_cls.backward(self, *args)

    def _as_tensor(self, i: int, grad: Any) -> Any:
        if grad is not None:
            return grad if isinstance(grad, TensorBase) else wrap(grad)
        shape, dtype = self._outputs[i]
        is_number = dtype is not None and dtype.kind != "O"
        return wrap(np.zeros(shape, dtype)) if self.materialize_grads and is_number else None

    def _release(self) -> None:
        self._saved = None if self._saved else self._saved  # a node that saved nothing may run again


class Function:
    """An op of your own: write `forward(ctx, …)` and `backward(ctx, *grads)` as static methods, call `apply`."""

    _ctx_class: type[FunctionCtx] = FunctionCtx
    _backward_cls: type[FunctionCtx]  # the class of its nodes: `Exp` has `ExpBackward`

    def __init_subclass__(cls) -> None:
        node = {"_forward_cls": cls, "__module__": cls.__module__}
        cls._backward_cls = type(f"{cls.__name__}Backward", (cls._ctx_class,), node)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record it, if an argument requires grad and grad mode is on."""
        ctx, state = cls._backward_cls(), thread.state
        tensors = [a for a in args if isinstance(a, TensorBase)]
        ctx.needs_input_grad = tuple([isinstance(a, TensorBase) and a.requires_grad for a in args])
        records, count = state.recording and any(ctx.needs_input_grad), iter(range(len(args)))
        ctx._edge_of_argument = tuple([next(count) if isinstance(a, TensorBase) else None for a in args])
        if records:  # read before forward runs: an input that forward changes keeps its place in the old graph
            ctx._next, ctx._next_output = zip(*map(gradient_edge, tensors), strict=True)
        ctx._seq = next(sequence)
        before, state.grad_enabled = state.grad_enabled, False
        try:
            results = cls._run_forward(ctx, args, kwargs)
        finally:
            state.grad_enabled = before
        several = results if isinstance(results, tuple) else (results,)
        try:
            outputs = layers.around.outputs(ctx, several, args, records)
        finally:  # also if a hook raises: else a saved output and its node would keep each other alive
            ctx.to_save = None
        return tuple(outputs) if isinstance(results, tuple) else outputs[0]

    @classmethod
    def _run_forward(cls, ctx: FunctionCtx, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return cls.forward(ctx, *args, **kwargs)  # type: ignore[attr-defined]
