"""`Op`: a built-in differentiable op. This module explains how to write one, and holds what all of them share.

An op is one short class, in the order of the mathematics:

    class Mul(Op):
        promotes = True
        def forward(self, other): return self * other
        def grad_self(grad, other): return grad * other
        def grad_other(grad, self): return grad * self
        jvp = elementwise

The functions in the body are static: `self` is the op's first tensor, as in PyTorch's own signatures. `forward` computes on
arrays; its positional arguments are tensors or numbers, its keyword arguments are settings. `grad_<input>` is the rule for
one input. The names of its arguments say what the node saves for it: an input, `result`, a setting, or `<input>_sym_sizes`,
the input's shape. Only what the needed rules ask for is saved, and only the needed rules run. Several inputs can share one
rule, `gradients(grad, needs_input_grad, …)`.

A mask or an index is a setting listed in `without_gradient`. If it is a Tensor, it is saved as one, with its version.

The rules are written once and used twice. In the plain pass they receive arrays; under `create_graph` they receive Tensors,
which record the ops of the rule. So a rule uses only operators and the functions of `ops`, which accept both.

Rules ignore broadcasting: the engine sums a gradient that has the broadcast shape.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..array.tensor import Tensor, wrap
from ..autograd import forward_ad
from ..autograd.anomaly_mode import remember_forward
from ..autograd.hooks import surround
from ..autograd.inplace import make_view
from ..autograd.saved_tensor import SavedTensor, pack, pack_all
from ..autograd.variable import volatile
from ..core.tensor import AccumulateGrad, shadow, version_of
from ..modes import NOT_COUNTED, quiet, thread
from ..refusals import BACKWARD_TWICE, modified, refuse_detached
from .arrays import in_order
from .inplace import write
from .operands import as_arrays, as_number, promoted, refuse_kinds, refuse_mismatch, refuse_mixture
from .tangents import Elementwise, by_mask, elementwise, linear, push_tangents, row_by_row

__all__ = ["LinearOp", "Op", "ViewOp", "by_mask", "elementwise", "linear", "row_by_row"]


# Where what is kept comes from: an input, an output, an output without a gradient, a setting, an input's shape, elsewhere.
INPUT, OUTPUT, ASIDE, SETTING, SIZES, NAMED = range(6)
# The kinds that are tensors; and settings that are no tensors.
_TENSORS = (INPUT, OUTPUT, ASIDE)
_PLAIN = (int, float, bool, str, type(None))
# Marks a kept value that was freed.
FREED: Any = object()


def cannot_compute(op: type[Op], arrays: Sequence[Any], error: Exception) -> Exception:
    """What PyTorch raises where NumPy refuses to compute: the sizes that do not fit, the dimension that is not there."""
    shapes = [np.shape(a) for a in arrays]
    if op.promotes:
        refuse_mismatch(shapes)
    if isinstance(error, np.exceptions.AxisError):
        n = max(error.ndim or 1, 1)
        return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {error.axis})")
    if isinstance(error, TypeError):
        return TypeError(f"{op._name}: received an invalid combination of arguments: {error}")
    return RuntimeError(f"{op._name}: cannot compute with shapes {', '.join(str(list(s)) for s in shapes)}: {error}")


def names_in(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a rule asks for, besides the gradient that comes in."""
    if hasattr(rule, "__signature__") or hasattr(rule, "__wrapped__"):  # else the code says it, and much quicker
        return tuple(inspect.signature(rule).parameters)[1:]
    return rule.__code__.co_varnames[1 : rule.__code__.co_argcount]


class Plan:
    """For an op, and the inputs of it that need a gradient (`mask`): what is kept, which rules run, what is freed then."""

    def __init__(self, op: type[Op], mask: tuple[bool, ...]) -> None:
        self.op, self.mask, self.names, self.joint = op, op._mask(mask), op._needed(mask), op._joint
        # Where each of what is kept comes from; and for what is an input, its number.
        self.sources = tuple(map(op._source, self.names))
        self.inputs = tuple([where if kind == INPUT else None for kind, where in self.sources])
        # The rules that run: the number of the input, the rule, the places of what it is given.
        self.rules: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
        for i, ((rule, names), needed) in enumerate(zip(op._rules, self.mask, strict=False)):
            if rule is not None and needed:
                self.rules.append((i, rule, tuple(map(self.names.index, names))))
        # Which of what is kept are tensors: the place there, and the number of the output that it is.
        self.tensors = [
            (slot, where if kind == OUTPUT else None)
            for slot, (kind, where) in enumerate(self.sources)
            if kind in _TENSORS
        ]
        # Whether anything, and whether all that is kept, is freed when the node has run. Settings stay.
        froms = [kind for kind, _ in self.sources]
        self.frees, self.frees_all = any(k not in (SETTING, SIZES) for k in froms), all(k in _TENSORS for k in froms)
        # What may go then: its place, its name, and whether it goes whatever it is.
        parts = enumerate(zip(self.names, froms, strict=True))
        self.may_go = [(slot, name, kind in _TENSORS) for slot, (name, kind) in parts if kind != SIZES]


class _PlanOfNode:
    """The attribute `_plan` of a node, which is looked up when somebody asks for it."""

    def __get__(self, node: Any, op: Any = None) -> Any:
        if node is None:
            return self
        mask = tuple(map(bool, node._next))
        plan = node._plan = op._plans.get(mask) or op._plans.setdefault(mask, Plan(op, mask))
        return plan


class Op(core.op.Op):
    """A built-in op; authors subclass it. To the core's `Op` it adds the in-place form, forward mode, the unusual modes, and
    saved values under PyTorch's names. The module's docstring explains how to write one.
    """

    promotes = False  # operands of different dtypes are brought to a common one first
    mixes = False  # takes operands of different dtypes as they are; else, without `promotes`, they are refused
    makes_float = False  # integers become the default float type first
    refuses = ("", "")  # PyTorch's kernel, and the kinds of operands for which it is not implemented
    apart = False  # in place, no operand may show the memory that is written
    lies: Elementwise | None = None  # of an elementwise op that has a `jvp` of its own
    idempotent = False  # writes one value everywhere: in place, elements may share memory
    non_differentiable: tuple[int, ...] = ()  # outputs without a gradient, such as indices
    without_gradient: tuple[str, ...] = ()  # settings that may be tensors, or tuples of these: masks, indices
    results: tuple[str, ...] = ()  # the names of several outputs, where rules know them by other names than result0, …
    _settings: tuple[str, ...] = ()
    _variadic = False
    _joint: Any = None  # one rule for all inputs
    view = False  # the result shows the storage of the first input
    visible_outputs: int | None = None  # how many outputs a user sees; the others are kept for the rule alone
    _plans: dict[Any, Plan]
    _plan: Any = _PlanOfNode()
    tangents_by: Any = None  # the op whose `jvp` is used in place of this one's
    jvp: Any = None  # elementwise, linear, or a function of the tangents, followed by what it needs, by name

    def __init_subclass__(cls, name: str | None = None, **settings: Any) -> None:
        super().__init_subclass__(name=name, **settings)
        if "forward" in cls.__dict__:
            code = inspect.unwrap(cls.forward).__code__
            cls._settings = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
            cls._variadic = bool(code.co_flags & inspect.CO_VARARGS)
            cls._joint = cls.gradients if hasattr(cls, "gradients") else None
            cls._rules = tuple([(rule, names_in(rule) if rule else ()) for rule, _ in cls._rules])
            cls._differentiable = cls._differentiable or cls._joint is not None
            cls._is_plain = not (cls._joint or cls.without_gradient or cls._variadic)
            cls._plans, cls._orders = {}, cls.jvp if isinstance(cls.jvp, Elementwise) else cls.lies
        for need in cls._all_needs():
            setattr(cls, f"_saved_{need}", _property(cls._saved, need))
            setattr(cls, f"_raw_saved_{need}", _property(cls._raw_saved, need))

    @classmethod
    def apply(cls, *inputs: Any, **settings: Any) -> Any:
        """Compute the op; record it if an input requires grad and grad mode is on.

        Arrays and numbers alone give an array: that is how rules compute in the plain pass.
        """
        arrays: list[Any] = []
        now, forward, given, adapted = thread.state, cls.forward, settings, arrays
        dtype, wanted, is_usual = None, False, True  # usual: floats of one dtype, and numbers beside them
        for x in inputs:
            if isinstance(x, Tensor):
                wanted = wanted or x._requires_grad or (x._view is not None and x.requires_grad)
                x = x._data
                if type(x) is not np.ndarray or (x.dtype is not dtype and (dtype is not None or x.dtype.kind != "f")):
                    is_usual = False
                dtype = x.dtype
            elif type(x) is not float and type(x) is not int:
                is_usual = False
            arrays.append(x)
        if settings or not is_usual:
            forward, adapted, given = cls._adapted(arrays, settings, is_usual or dtype is None)
        if dtype is None:
            return forward(*adapted, **given)
        try:
            result = forward(*adapted, **given) if now.is_quiet else now.running(forward, *adapted, **given)
        except (ValueError, TypeError) as error:
            raise cannot_compute(cls, adapted, error) from error
        if type(result) is tuple:
            return cls._several(now, inputs, settings, result, wanted)
        out = wrap(in_order(result, arrays[:: how.forward] if how.forward else ()) if (how := cls._orders) else result)
        is_float = out._data.dtype.kind == "f"
        if wanted and is_float and now.recording and cls._differentiable:
            out._grad_fn, out._requires_grad = cls._record(inputs, settings, (out,)), True
        if cls.view:
            cls._show(out, inputs[0], several=False)
        if now.unusual or not (is_usual and is_float):
            cls._meet(now, inputs, settings, (out,), out._grad_fn)
        return out

    @classmethod
    def apply_(cls, target: Tensor, *others: Any, **settings: Any) -> Tensor:
        """Compute the op in place: write its result into `target`, its first input.

        Raises:
            RuntimeError: the result does not fit `target` in shape or dtype, or autograd does not allow the write.
        """
        return write(cls, target, others, settings)

    # --- what is saved, by name ---------------------------------------------------------------------------------------

    @classmethod
    def _mask(cls, mask: tuple[bool, ...]) -> tuple[bool, ...]:
        """The one input of an op needs a gradient, even where a view leaves it without an edge."""
        return mask if len(mask) > 1 else (True,)

    @classmethod
    @functools.cache
    def _needed(cls, mask: tuple[bool, ...]) -> tuple[str, ...]:
        """The names to save: settings that a rule uses, and tensors used by the rule of an input that needs a gradient."""
        if cls._joint is not None:
            return names_in(cls._joint)
        mask = cls._mask(mask)
        names = {
            name
            for (_, needs), wanted in zip(cls._rules, mask, strict=True)
            for name in needs
            if wanted or not (name in cls._inputs or cls._output(name) is not None)
        }
        if not any(mask):
            # A view made under no_grad can require grad and have no edge. As in PyTorch, it saves what every rule asks for.
            names |= set.intersection(*(set(needs) for rule, needs in cls._rules if rule is not None))
        # By name, with outputs last: PyTorch saves in this order, and hooks on saved tensors can observe it.
        return tuple(sorted(names, key=lambda name: (cls._output(name) is not None, name)))

    @classmethod
    def _output(cls, name: str) -> int | None:
        """The number of the output that a rule calls `name`: one of `results`, or result, result0, result1, …."""
        if name in cls.results:
            return cls.results.index(name)
        return int(name[6:] or 0) if name.startswith("result") else None

    @classmethod
    def _is_hidden(cls, number: int) -> bool:
        return cls.visible_outputs is not None and number >= cls.visible_outputs

    # --- extension points of the core ---------------------------------------------------------------------------------

    @classmethod
    def _adapted(
        cls, arrays: list[Any], settings: dict[str, Any], are_alike: bool
    ) -> tuple[Any, list[Any], dict[str, Any]]:
        forward = cls.forward
        for name, value in settings.items():
            if isinstance(value, Tensor) and name not in cls.without_gradient:
                settings[name] = as_number(cls._name.partition("Backward")[0].lower(), name, value)
        if settings and cls.without_gradient:
            settings = as_arrays(cls, settings)
        if not are_alike:
            if cls.promotes or cls.makes_float:
                arrays = promoted(arrays, cls.makes_float)
            elif not cls.mixes and len(arrays) > 1:
                refuse_mixture(arrays)
            refuse_kinds(arrays, *cls.refuses)
        return forward, arrays, settings

    @classmethod
    def _source(cls, name: str) -> tuple[int, Any]:
        """Where the value that a rule calls `name` comes from, and its number there."""
        if name in cls._inputs and not cls._variadic:
            return INPUT, cls._inputs.index(name)
        if name.endswith("_sym_sizes") and not cls._variadic:
            return SIZES, cls._inputs.index(name.removesuffix("_sym_sizes"))
        number = None if name in cls._settings else cls._output(name)
        if number is None:
            is_plain = name in cls._settings and name not in cls.without_gradient
            return (SETTING, cls._defaults.get(name)) if is_plain else (NAMED, None)
        return ASIDE if number in cls.non_differentiable or cls._is_hidden(number) else OUTPUT, number

    @classmethod
    def _show(cls, out: Tensor, source: Tensor, several: bool) -> None:
        state = thread.state
        # Why a view made now cannot be written to later; None if it can.
        mode = "inference" if state.inference else None if state.grad_enabled else "no_grad"
        make_view(out, source, mode or ("multi-output" if several else None))

    @classmethod
    def _several(cls, now: Any, inputs: tuple, settings: dict[str, Any], result: tuple, wanted: bool) -> Any:
        """The outputs of an op that has several."""
        node, outs = None, tuple([wrap(one) for one in result])
        if cls.view:
            for out in outs:
                cls._show(out, inputs[0], several=True)
        if wanted and now.recording and cls._differentiable:
            node = cls._record_several(inputs, settings, outs)
            for number, out in enumerate(outs[: cls.visible_outputs]):
                if number not in cls.non_differentiable and out._data.dtype.kind == "f":
                    out._grad_fn, out.output_nr, out._requires_grad = node, number, True
        cls._meet(now, inputs, settings, outs, node)
        return outs[: cls.visible_outputs]

    @classmethod
    def _record_several(cls, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Tensor]) -> Any:
        """The node of a run, of which the outputs that a user does not see are no part."""
        node = cls._record(inputs, settings, outs)
        node._outputs = node._outputs[: cls.visible_outputs]
        return node

    @classmethod
    def _meet(
        cls, now: Any, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Tensor], node: Any
    ) -> None:
        """What modes do to a run of the op, which was computed, and recorded as `node`."""
        if not now.unusual:
            return
        if volatile.alive and volatile.reaches(inputs):
            for out in outs:
                out._grad_fn, out.output_nr, out._requires_grad = None, 0, False
                volatile.mark(out)
            return
        if now.inference and not cls.view:
            for out in outs:
                out._counter = NOT_COUNTED
        if node is not None:
            if now.saved_hooks:
                pack_all(node)
            if now.anomaly:
                remember_forward(node)
        if forward_ad.any_tangent(inputs):
            push_tangents(cls.tangents_by or cls, inputs, settings, tuple(outs))

    @classmethod
    def _kept_as(cls, name: str, inputs: Any, settings: dict[str, Any], outs: Any, node: Any) -> Any:
        kind, where = cls._source(name)
        if kind in _TENSORS:
            return inputs[where] if kind == INPUT else outs[where] if kind == ASIDE else shadow(outs[where], where)
        return cls._packed(cls._named(name, inputs, settings, outs, cls._mask(tuple(map(bool, node._next)))))

    @classmethod
    def _packed(cls, value: Any) -> Any:
        # A tensor among the settings is saved as a SavedTensor, so that a later write to it is detected.
        if isinstance(value, Tensor):
            return SavedTensor(value)
        if type(value) is tuple and any(isinstance(v, Tensor) for v in value):
            return tuple([SavedTensor(v) if isinstance(v, Tensor) else v for v in value])
        return value

    @classmethod
    def _named(
        cls,
        name: str,
        inputs: Sequence[Any],
        settings: dict[str, Any],
        outs: Sequence[Tensor],
        mask: tuple[bool, ...] = (),
    ) -> Any:
        """The value that a rule calls `name`, for one run of the op."""
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
        raise TypeError(f"{cls._name}: a rule asks for {name!r}, which is not an input, result or setting of the op")

    # --- reading what was saved, and running the rules, in the unusual cases ------------------------------------------------

    def _in_its_own_way(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        results = self._run(grads, False)
        if frees:
            self._release()
        return results

    def _run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        """The gradients of the inputs, given those of the outputs (None where nothing arrived).

        They are arrays, or Tensors under `create_graph`, where everything done to them is recorded anew. `wanted` says
        for each edge whether this pass needs its gradient (None: all).
        """
        plan = self._plan
        values: Sequence[Any] = self._kept
        if plan.frees or self._around is not None:
            values = self._recorded()
            if not create_graph:
                values = [plain(value) for value in values]
        grad: Any = grads[0]
        if len(grads) > 1:
            # A rule for several outputs gets arrays even for 0-d ones, because it may combine them.
            several = grads if create_graph else [None if g is None else np.asarray(g) for g in grads]
            grad = several if any(g is not None for g in several) else None
        if grad is None:
            return [None] * len(self._next)
        # Under create_graph, warnings of the ops that a rule records are suppressed too.
        return self._gradients(grad, values, wanted) if create_graph else quiet(self._gradients, grad, values, wanted)

    def _gradients(self, grad: Any, values: Sequence[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
        """The results of the rules for the inputs that need a gradient; None for the others."""
        plan = self._plan
        if plan.joint is not None:
            together = plan.joint(grad, *values)
            return together if wanted is None else [g if w else None for g, w in zip(together, wanted, strict=True)]
        results: list[Any] = [None] * len(self._next)
        for i, rule, slots in plan.rules:
            if self._next[i] is not None and (wanted is None or wanted[i]):
                given = [values[slot] for slot in slots]
                results[i] = rule(grad, *given)
                if type(grad) is np.ndarray and self._orders:
                    said_by = {"grad first": (grad, *given), "grad last": (*given, grad), "": ()}
                    results[i] = in_order(results[i], said_by[self._orders.backward])
        return results

    def _disorders(self, grad: np.ndarray) -> bool:
        """Whether a formula on arrays may leave a gradient in another order in memory than PyTorch's."""
        if not self._orders or grad.ndim < 2:
            return False
        others = self._kept if self._orders is by_mask else ()
        return not (
            grad.flags.c_contiguous and all(t._data.flags.c_contiguous for t in others if isinstance(t, Tensor))
        )

    def _recorded(self) -> list[Any]:
        """The saved values, as Tensors."""
        versions = self._versions
        if versions is None:
            raise RuntimeError(BACKWARD_TWICE)
        values = [unpacked(value) for value in self._kept]
        for slot, position in enumerate(self._plan.inputs):
            if versions[slot] is not None:
                t = values[slot] = self._tensor(slot)
                is_inner = position is not None and not isinstance(self._next[position], AccumulateGrad | None)
                if is_inner and t._grad_fn is None:
                    refuse_detached()
        return values

    def _tensor(self, slot: int) -> Any:
        """The saved tensor at `slot`, as it was in the forward pass."""
        kind, output_nr = self._plan.sources[slot]
        if self._versions is None:
            raise RuntimeError(BACKWARD_TWICE)
        t, version = self._kept[slot], self._versions[slot]
        if version is None:
            return t.tensor()
        if version != version_of(t):
            raise RuntimeError(modified(t, t.grad_fn if kind != OUTPUT else self, version))
        if kind != OUTPUT:
            return t
        out = wrap(t._data)
        out._counter = t._counter
        out._grad_fn, out.output_nr, out._requires_grad = self, output_nr, True
        if self._tangents_of_outputs is not None:
            out._tangent = self._tangents_of_outputs.get(output_nr)
        return out

    def _release(self) -> None:
        if self._plan.frees_all and self._plan.names and self._around is None:
            self._kept, self._versions = (), None
        elif self._plan.frees:
            self._release_some()

    def _release_some(self) -> None:
        kept, freed = list(self._kept), False
        for slot, name, goes in self._plan.may_go:
            value = kept[slot]
            if not isinstance(value, Tensor) and type(value) not in _PLAIN:
                goes = self._lets_go(name, value) or goes
            if goes:
                kept[slot], freed = FREED, True
        if freed:
            self._kept, self._versions = tuple(kept), None

    @classmethod
    def _lets_go(cls, name: str, value: Any) -> bool:
        parts = value if isinstance(value, tuple) else (value,)
        saved = [part for part in parts if type(part) is SavedTensor]
        for part in saved:
            part.free()
        return bool(saved) or cls._stands_for_tensor(name, value)

    @classmethod
    def _stands_for_tensor(cls, name: str, value: Any) -> bool:
        """True for what PyTorch saves, and frees, as a tensor: a number in place of a tensor, a mask, or indices."""
        if name.startswith("_"):
            return False
        parts = value if isinstance(value, tuple) else (value,)
        return name in cls._inputs or any(isinstance(part, np.ndarray) for part in parts)

    # --- saved values under PyTorch's names ------------------------------------------------------------------------------

    def _slot(self, name: str) -> int | None:
        """The number of `name` among the values this node saved; None if no gradient needs it."""
        names = self._plan.names
        return names.index(name) if name in names else None

    def _saved(self, name: str) -> Any:
        slot = self._slot(name)
        if slot is None:
            return None
        saved = self._kept[slot] if self._kept else FREED
        if isinstance(saved, Tensor):
            return self._tensor(slot)
        if saved is FREED:
            raise RuntimeError(BACKWARD_TWICE)
        if isinstance(saved, SavedTensor):
            return saved.tensor()
        if _holds_saved(saved):
            return tuple(None if isinstance(s, slice) else unpacked(s) for s in saved)
        if isinstance(saved, np.ndarray) or (name in self._inputs and isinstance(saved, int | float)):
            return wrap(np.asarray(saved))
        return saved

    def _raw_saved(self, name: str) -> Any:
        """The saved value as saved tensors that accept hooks. A tensor, a number or an array becomes one on demand."""
        slot = self._slot(name)
        if slot is None:
            return SavedTensor.nothing
        saved = self._kept[slot] if self._kept else FREED
        if saved is FREED:
            return SavedTensor.freed
        if not self._shows_raw(name, saved):
            raise AttributeError(f"{self._name!r} object has no attribute '_raw_saved_{name}'")
        # The caller may register hooks on it.
        surround(self)
        if isinstance(saved, Tensor):
            pack(self, slot)
            return self._kept[slot]
        if saved is None:
            return SavedTensor.nothing
        if self._stands_for_tensor(name, saved):
            dtype = self._outputs[0][1]
            parts = [
                SavedTensor(wrap(np.asarray(s, None if isinstance(s, np.ndarray) else dtype)))
                if isinstance(s, np.ndarray | int | float)
                else s
                for s in (saved if isinstance(saved, tuple) else (saved,))
            ]
            saved = tuple(parts) if isinstance(saved, tuple) else parts[0]
            self._kept = (*self._kept[:slot], saved, *self._kept[slot + 1 :])
        if isinstance(saved, tuple):
            return tuple(s if isinstance(s, SavedTensor) else SavedTensor.nothing for s in saved)
        return saved

    def _shows_raw(self, name: str, saved: Any) -> bool:
        """True for what PyTorch shows as `_raw_saved_…`: a value that is, or could be, saved as a tensor."""
        if isinstance(saved, tuple):
            return not self._variadic and (_holds_saved(saved) or self._stands_for_tensor(name, saved))
        if isinstance(saved, Tensor | SavedTensor) or saved is FREED:
            return True
        tensors = name in self._inputs or name in self.without_gradient
        return (tensors and saved is None) or self._stands_for_tensor(name, saved)

    @classmethod
    def _all_needs(cls) -> list[str]:
        needs = dict.fromkeys(
            n for _, names in (*cls._rules, (None, names_in(cls._joint) if cls._joint else ())) for n in names
        )
        return [n for n in needs if n != "needs_input_grad" and not n.startswith("_")]

    def __dir__(self) -> list[str]:
        needs = self._all_needs()
        names = [name for name in super().__dir__() if not name.startswith(("_saved_", "_raw_saved_"))]
        kept = dict(zip(self._plan.names, self._kept or (FREED,) * len(self._plan.names), strict=True))
        raw = [n for n in needs if n not in kept or self._shows_raw(n, kept[n])]
        return [*names, *(f"_saved_{n}" for n in needs), *(f"_raw_saved_{n}" for n in raw)]


class LinearOp(Op):
    """An op that is linear in all its inputs: forward mode maps tangents as the op maps values."""

    jvp = linear


class ViewOp(LinearOp):
    """The same, with a result that shows the storage of the first input."""

    view = True


def _property(read: Callable[[Any, str], Any], name: str) -> property:
    return property(lambda node: read(node, name))


def unpacked(value: Any) -> Any:
    if type(value) is SavedTensor:
        return value.for_backward()
    return tuple([unpacked(v) for v in value]) if _holds_saved(value) else value


def plain(value: Any) -> Any:
    """The array of a Tensor, or the number of a 0-d one; also for Tensors in a tuple."""
    if isinstance(value, Tensor):
        return value._data if value._data.ndim else value._data[()]
    return tuple([plain(v) for v in value]) if type(value) is tuple else value


def _holds_saved(saved: Any) -> bool:
    """True for a tuple that contains saved tensors: the inputs of a variadic op, or indices."""
    return type(saved) is tuple and any(type(s) is SavedTensor for s in saved)
