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
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd import forward_ad, grad_mode
from ..autograd.anomaly_mode import anomaly, remember_forward
from ..autograd.inplace import check_inplace, make_view, rebase_history, refuse_shared_memory
from ..autograd.node import Node, bump_version, gradient_edge, sequence
from ..autograd.saved_tensor import SavedTensor, saved_state
from ..autograd.variable import volatile
from ..quiet import quiet
from ..tensor import Tensor, wrap

__all__ = ["Op", "elementwise", "linear"]

# How tangents travel, where that follows from what is written already.
elementwise = (
    "elementwise"  # each output element depends on its own input elements: the rule for gradients serves tangents
)
linear = "linear"  # the op is linear in all its inputs: it maps tangents as it maps values


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
        given = _as_arrays(settings, cls.without_gradient) if cls.without_gradient else settings
        if not is_tensor:
            return cls.forward(*arrays, **given)
        if cls.promotes or cls.makes_float:
            arrays = _promoted(arrays, cls.makes_float)
        try:
            result = quiet.run(cls.forward, *arrays, **given)
        except ValueError:
            if cls.promotes:
                _refuse_mismatch([np.shape(a) for a in arrays])
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
                cls._push_tangents(inputs, settings, (out,))
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
            cls._push_tangents(inputs, settings, outs)
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
        if name in settings:
            # A tensor among the settings is kept as one, so that a later write to it is noticed.
            return _saved(settings[name])
        if name in cls._inputs:
            return tuple(SavedTensor(x) for x in inputs)
        number = cls._output(name)
        if number is not None:
            out = outs[number]
            hidden = cls.visible_outputs is not None and number >= cls.visible_outputs
            if hidden or number in cls.non_differentiable:
                return SavedTensor(out)
            out.output_nr = number
            return SavedTensor(out, node)
        if name == "needs_input_grad":
            return mask
        source, _, what = name.partition("_sym_")
        if what == "sizes":
            if cls._variadic:
                return tuple(np.shape(getattr(x, "_data", x)) for x in inputs)
            return np.shape(getattr(inputs[cls._inputs.index(source)], "_data", ()))
        if what == "numel":
            return inputs[cls._inputs.index(source)]._data.size
        if name in cls._defaults:
            return cls._defaults[name]
        raise TypeError(f"{cls._name}: a rule asks for {name!r}, which is no input, result or setting of the op")

    # --- backward -----------------------------------------------------------------------------------------------------

    def name(self) -> str:
        return self._name

    def run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
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

    def release(self) -> None:
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
        saved = self._kept[self._plan.names.index(name)]
        if isinstance(saved, SavedTensor):
            return saved if prefix == "_raw_saved_" else saved.tensor()
        if _holds_saved(saved):
            return saved if prefix == "_raw_saved_" else tuple(_unpacked(s, True) for s in saved)
        if isinstance(saved, np.ndarray) or (name in self._inputs and isinstance(saved, int | float)):
            return wrap(np.asarray(saved))
        return saved

    @classmethod
    def _all_needs(cls) -> list[str]:
        rules = [*cls._rules, cls._joint]
        needs = dict.fromkeys(n for rule in rules if rule is not None for n in rule.needs)
        return [n for n in needs if n != "needs_input_grad" and not n.startswith("_")]

    def __dir__(self) -> list[str]:
        names = self._all_needs()
        kept = dict(zip(self._plan.names, self._kept, strict=True))
        raw = [n for n in names if isinstance(kept.get(n, SavedTensor.nothing), SavedTensor)]
        return [*super().__dir__(), *(f"_saved_{n}" for n in names), *(f"_raw_saved_{n}" for n in raw)]

    # --- forward mode ---------------------------------------------------------------------------------------------------

    @classmethod
    def _push_tangents(cls, inputs: Sequence[Any], settings: dict[str, Any], outs: tuple[Tensor, ...]) -> None:
        """Give the outputs their tangents, computed with Tensors, so that reverse mode over forward mode works."""
        if all(out._data.dtype.kind != "f" for out in outs):
            return
        tangents = [forward_ad.tangent_of(x) if isinstance(x, Tensor) else None for x in inputs]
        with forward_ad._set_fwd_grad_enabled(False):
            values = cls._tangents(inputs, tangents, settings, outs)
            for out, value in zip(outs, values, strict=False):
                if value is None or out._data.dtype.kind != "f":
                    continue
                if value._data.dtype != out._data.dtype:
                    value = value._to_numpy_dtype(out._data.dtype)
                if value._data.shape != out._data.shape:
                    value = value.expand(out._data.shape)
                if not cls.view and (value._view is not None or any(value is t for t in tangents)):
                    # A new tensor has a tangent of its own: a write to it is not one to the tangent of an input.
                    value = value.clone()
                forward_ad.set_tangent(out, value)

    @classmethod
    def _tangents(
        cls, inputs: Sequence[Any], tangents: list[Tensor | None], settings: dict[str, Any], outs: tuple[Tensor, ...]
    ) -> Sequence[Any]:
        if cls.jvp is None:
            raise NotImplementedError(
                f"Trying to use forward AD with {cls._name.rstrip('0123456789').removesuffix('Backward')} that does not "
                "support it because it has not been implemented yet. Use reverse mode for this op."
            )
        if cls.jvp == linear:
            moved = [
                t if t is not None else forward_ad.zero_tangent(x) if isinstance(x, Tensor) else x
                for x, t in zip(inputs, tangents, strict=True)
            ]
            result = cls.apply(*moved, **settings)
            return result if isinstance(result, tuple) else (result,)

        def value_of(name: str) -> Any:
            if name in settings:
                return settings[name]
            if name in cls._inputs:
                return inputs[cls._inputs.index(name)]
            number = cls._output(name)
            if number is not None:
                return outs[number]
            source, _, what = name.partition("_sym_")
            if what == "sizes":
                return inputs[cls._inputs.index(source)].shape
            if what == "numel":
                return inputs[cls._inputs.index(source)]._data.size
            return cls._defaults[name]

        if cls.jvp == elementwise:
            total = None
            for rule, tangent in zip(cls._rules, tangents, strict=True):
                if rule is None or tangent is None:
                    continue
                part = rule.function(tangent, *[value_of(name) for name in rule.needs])
                total = part if total is None else total + part
            return (total,)
        given = [
            t if t is not None or not isinstance(x, Tensor) else forward_ad.zero_tangent(x)
            for x, t in zip(inputs, tangents, strict=True)
        ]
        names = tuple(inspect.signature(cls.jvp).parameters)
        if cls._variadic:
            result = cls.jvp(tuple(given), *[inputs if n == cls._inputs[0] else value_of(n) for n in names[1:]])
        else:
            result = cls.jvp(*given, *[value_of(n) for n in names[len(given) :]])
        return result if isinstance(result, tuple) else (result,)

    # --- in place -------------------------------------------------------------------------------------------------------

    @classmethod
    def apply_(cls, target: Tensor, *others: Any, **settings: Any) -> Tensor:
        """Compute the op and write its result into `target`, the op's first input.

        Raises:
            RuntimeError: the result does not fit `target` in shape or dtype, or autograd cannot allow the write.
        """
        if not isinstance(target, Tensor):
            raise TypeError(f"an in-place op changes a Tensor, got {type(target).__name__}")
        inputs = (target, *others)
        if volatile.seen and volatile.reaches(inputs):
            check_inplace(target, target.requires_grad)
            return volatile.write(cls.apply_, *inputs, **settings)
        state = grad_mode.state
        differentiable = target._data.dtype.kind == "f" and cls._differentiable
        record = (
            differentiable
            and state.grad_enabled
            and not state.inference
            and any(isinstance(x, Tensor) and x.requires_grad for x in inputs)
        )
        check_inplace(target, record)
        if not cls.idempotent:
            refuse_shared_memory(target, others)
        # An input whose history cannot be told raises here, before anything is computed.
        with forward_ad._set_fwd_grad_enabled(False):
            before, edges = cls._before_write(inputs, settings, record)
        arrays: list[Any] = [x._data if isinstance(x, Tensor) else x for x in inputs]
        if cls.promotes or cls.makes_float:
            arrays = _promoted(arrays, cls.makes_float)
        given = _as_arrays(settings, cls.without_gradient) if cls.without_gradient else settings
        try:
            result = np.asarray(quiet.run(cls.forward, *arrays, **given))
        except ValueError:
            if cls.promotes:
                _refuse_mismatch([np.shape(a) for a in arrays])
            raise
        _check_fits(target, result)
        if saved_state.keep_versions is not None:
            saved_state.keep_versions.before_write(target)
        node = None
        if record:
            # Inputs are saved as they are before the write; what is computed from `target` itself needs its old value.
            node = cls._record((before, *others), settings, (target,))
            node._edges = edges
        pushes = forward_ad.level.open and forward_ad.any_tangent(inputs)
        if pushes:
            shadow = wrap(result)
            old = before if before is not target else wrap(target._data.copy())
            tangent = forward_ad.tangent_of(target)
            if tangent is not None:
                # A copy: the tangent itself is about to be written to as well.
                with forward_ad._set_fwd_grad_enabled(False):
                    forward_ad.set_tangent(old, tangent.clone())
            cls._push_tangents((old, *others), settings, (shadow,))
        target._data[...] = result
        if not target._inference:
            bump_version(target)
        if pushes:
            moved = forward_ad.tangent_of(shadow)
            if moved is not None:
                forward_ad.write_tangent(target, moved)
        if node is not None:
            for n, name in enumerate(node._plan.names):
                if cls._output(name) is not None:
                    node._kept[n] = SavedTensor(target, node)
            rebase_history(target, node)
            if pushes:
                forward_ad.remember_tangent(target)
        return target

    @classmethod
    def _before_write(cls, inputs: tuple, settings: dict[str, Any], record: bool) -> tuple[Tensor, tuple]:
        """The target as the rules are to see it (a clone, where a rule reads its value), and the edges of the node."""
        target = inputs[0]
        if not record:
            return target, ()
        edges = tuple(gradient_edge(x) if isinstance(x, Tensor) else _NO_EDGE for x in inputs)
        mask = tuple(edge[0] is not None for edge in edges)
        if cls._inputs[0] in cls._what_to_save(mask):
            return target.clone(), edges
        return target, edges


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _as_arrays(settings: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The settings as `forward` gets them: arrays for the tensors among those called `names`."""
    given = dict(settings)
    for name in names:
        value = given.get(name)
        if isinstance(value, Tensor):
            given[name] = value._data
        elif type(value) is tuple:
            given[name] = tuple([v._data if isinstance(v, Tensor) else v for v in value])
    return given


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


def _promoted(arrays: list[Any], makes_float: bool) -> list[Any]:
    """The operands in the dtype in which PyTorch computes them."""
    if not makes_float:
        if len(arrays) == 2:
            a, b = arrays
            if type(a) is np.ndarray:
                if type(b) is np.ndarray:
                    if a.dtype is b.dtype:
                        return arrays
                # NumPy gives a Python number the type of a float array, as PyTorch does.
                elif (type(b) is float or type(b) is int) and a.dtype.kind == "f":
                    return arrays
            elif (type(a) is float or type(a) is int) and b.dtype.kind == "f":
                return arrays
    elif len(arrays) == 1 and arrays[0].dtype.kind == "f":
        return arrays
    for a in arrays:
        if a is not None and not isinstance(a, np.ndarray | np.generic | int | float):
            raise TypeError(f"argument must be Tensor or Number, not {type(a).__name__}. Make a tensor with tensor(…).")
    common = dtypes.promote(arrays)
    if makes_float and common.kind != "f":
        common = dtypes.get_default_dtype().numpy
    return [
        a
        if a is None
        else a.astype(common, copy=False)
        if isinstance(a, np.ndarray | np.generic)
        else np.asarray(a, dtype=common)
        for a in arrays
    ]


def _refuse_mismatch(shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise if two of the shapes do not broadcast."""
    for a, b in itertools.combinations(shapes, 2):
        for back, (n, m) in enumerate(zip(reversed(a), reversed(b), strict=False), start=1):
            if n != m and n != 1 and m != 1:
                raise RuntimeError(
                    f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton dimension "
                    f"{max(len(a), len(b)) - back}. Two shapes broadcast if, from the last dimension on, sizes are equal "
                    f"or one of them is 1; these are {list(a)} and {list(b)}."
                )


def check_writable(target: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Refuse to write what has `shape` into a tensor of shape `target`, where it does not broadcast to it."""
    if shape != target:
        _refuse_mismatch([target, shape])
        result = np.broadcast_shapes(target, shape)
        if result != target:
            raise RuntimeError(
                f"output with shape {list(target)} doesn't match the broadcast shape {list(result)}. An in-place op cannot "
                "change the shape of its tensor; use the op without the underscore."
            )


def _check_fits(target: Tensor, result: np.ndarray) -> None:
    check_writable(target._data.shape, result.shape)
    if result.dtype != target._data.dtype and not np.can_cast(result.dtype, target._data.dtype, "same_kind"):
        names = [dtypes.from_numpy_dtype(d).legacy_name for d in (result.dtype, target._data.dtype)]
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")
