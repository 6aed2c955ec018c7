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

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..autograd import forward_ad
from ..autograd.anomaly_mode import remember_forward
from ..autograd.hooks import surround
from ..autograd.inplace import make_view
from ..autograd.saved_tensor import SavedTensor, pack, pack_all
from ..autograd.variable import volatile
from ..core.plan import BACKWARD_TWICE, FREED
from ..core.state import State, thread
from ..core.tensor import NOT_COUNTED, Tensor, wrap
from .inplace import write
from .operands import as_arrays
from .tangents import elementwise, linear, push_tangents

__all__ = ["Op", "elementwise", "linear"]


class Op(core.op.Op):
    """A built-in op, as an author subclasses it: to what the core runs come the in-place form, forward mode, the unusual
    modes, and what is kept under PyTorch's names. The module's text tells how to write one."""

    jvp: Any = None  # elementwise, linear, or a function of the tangents `(…, then what it needs by name)`

    def __init_subclass__(cls, name: str | None = None, **settings: Any) -> None:
        super().__init_subclass__(name, **settings)
        for need in cls._all_needs():
            setattr(cls, f"_saved_{need}", _property(cls._saved, need))
            setattr(cls, f"_raw_saved_{need}", _property(cls._raw_saved, need))

    @classmethod
    def apply_(cls, target: Tensor, *others: Any, **settings: Any) -> Tensor:
        """Compute the op and write its result into `target`, the op's first input.

        Raises:
            RuntimeError: the result does not fit `target` in shape or dtype, or autograd cannot allow the write.
        """
        return write(cls, target, others, settings)

    # --- what the core leaves a place for -----------------------------------------------------------------------------

    @classmethod
    def _as_arrays(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return as_arrays(settings, cls.without_gradient)

    @classmethod
    def _show(cls, out: Tensor, source: Tensor, several: bool) -> None:
        state = thread.state
        # Why a view made now cannot be written through later; None where it can.
        mode = "inference" if state.inference else None if state.grad_enabled else "no_grad"
        make_view(out, source, mode or ("multi-output" if several else None))

    @classmethod
    def _beside(
        cls,
        now: State,
        inputs: Sequence[Any],
        settings: dict[str, Any],
        outs: Sequence[Tensor],
        node: core.op.Op | None,
    ) -> None:
        if volatile.seen and volatile.reaches(inputs):
            for out in outs:
                out._grad_fn, out.output_nr, out._requires_grad = None, 0, False
                volatile.mark(out)
            return
        if now.inference and not cls.view:
            for out in outs:
                out._counter = NOT_COUNTED
        if node is not None:
            if now.saved_hooks or now.keep_versions is not None:
                pack_all(node)
            if now.anomaly:
                remember_forward(node)
        if forward_ad.any_tangent(inputs):
            push_tangents(cls, inputs, settings, tuple(outs))

    @classmethod
    def _packed(cls, value: Any) -> Any:
        # A tensor among the settings is kept as a SavedTensor, so that a later write to it is noticed.
        if isinstance(value, Tensor):
            return SavedTensor(value)
        if type(value) is tuple and any(isinstance(v, Tensor) for v in value):
            return tuple([SavedTensor(v) if isinstance(v, Tensor) else v for v in value])
        return value

    @classmethod
    def _unpacked(cls, value: Any, as_tensor: bool) -> Any:
        if type(value) is SavedTensor:
            return value.for_backward() if as_tensor else value.array()
        if _holds_saved(value):
            return tuple([cls._unpacked(v, as_tensor) for v in value])
        return value

    @classmethod
    def _lets_go(cls, name: str, value: Any) -> bool:
        parts = value if isinstance(value, tuple) else (value,)
        saved = [part for part in parts if type(part) is SavedTensor]
        for part in saved:
            part.free()
        return bool(saved) or cls._stands_for_tensor(name, value)

    @classmethod
    def _stands_for_tensor(cls, name: str, value: Any) -> bool:
        """True for what PyTorch saves, and frees, as a tensor: a number in place of one, a mask, indices."""
        if name.startswith("_"):
            return False
        parts = value if isinstance(value, tuple) else (value,)
        return name in cls._inputs or any(isinstance(part, np.ndarray) for part in parts)

    # --- what is kept, under PyTorch's names ----------------------------------------------------------------------------

    def _slot(self, name: str) -> int | None:
        """The number of `name` among what this node kept; None where nobody's gradient needs it."""
        names = self._plan.names
        return names.index(name) if name in names else None

    def _saved(self, name: str) -> Any:
        slot = self._slot(name)
        if slot is None:
            return None
        for n, (place, _, _) in enumerate(self._plan.tensors):
            if place == slot:
                return self._plan.tensor(self, n)
        saved = self._kept[slot] if self._kept else FREED
        if saved is FREED:
            raise RuntimeError(BACKWARD_TWICE)
        if isinstance(saved, SavedTensor):
            return saved.tensor()
        if _holds_saved(saved):
            return tuple(None if isinstance(s, slice) else self._unpacked(s, True) for s in saved)
        if isinstance(saved, np.ndarray) or (name in self._inputs and isinstance(saved, int | float)):
            return wrap(np.asarray(saved))
        return saved

    def _raw_saved(self, name: str) -> Any:
        """What is kept, as saved tensors that take hooks: a tensor, a number or an array becomes one when it is asked for."""
        slot = self._slot(name)
        if slot is None:
            return SavedTensor.nothing
        saved = self._kept[slot] if self._kept else FREED
        if saved is FREED:
            return SavedTensor.freed
        if not self._shows_raw(name, saved):
            raise AttributeError(f"{self._name!r} object has no attribute '_raw_saved_{name}'")
        # Whoever asks may hang hooks on it.
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
        """True for what PyTorch shows as `_raw_saved_…`: what is kept as a tensor, or could be."""
        if isinstance(saved, tuple):
            return not self._variadic and (_holds_saved(saved) or self._stands_for_tensor(name, saved))
        if isinstance(saved, Tensor | SavedTensor) or saved is FREED:
            return True
        tensors = name in self._inputs or name in self.without_gradient
        return (tensors and saved is None) or self._stands_for_tensor(name, saved)

    @classmethod
    def _all_needs(cls) -> list[str]:
        rules = [*cls._rules, cls._joint]
        needs = dict.fromkeys(n for rule in rules if rule is not None for n in rule.needs)
        return [n for n in needs if n != "needs_input_grad" and not n.startswith("_")]

    def __dir__(self) -> list[str]:
        needs = self._all_needs()
        names = [name for name in super().__dir__() if not name.startswith(("_saved_", "_raw_saved_"))]
        kept = dict(zip(self._plan.names, self._kept or (FREED,) * len(self._plan.names), strict=True))
        raw = [n for n in needs if n not in kept or self._shows_raw(n, kept[n])]
        return [*names, *(f"_saved_{n}" for n in needs), *(f"_raw_saved_{n}" for n in raw)]


def _property(read: Callable[[Any, str], Any], name: str) -> property:
    return property(lambda node: read(node, name))


def _holds_saved(saved: Any) -> bool:
    """True for a tuple with saved tensors in it: the inputs of a variadic op, indices."""
    return type(saved) is tuple and any(type(s) is SavedTensor for s in saved)
