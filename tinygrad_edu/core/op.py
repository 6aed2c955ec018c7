"""`Op`: one short class, which becomes a node of the graph each time a run of it is recorded. `Function`: one that a user writes.

    class Mul(Op):
        def forward(self, other): return self * other
        def grad_self(grad, other): return grad * other
        def grad_other(grad, self): return grad * self

The functions are static. `forward` computes on arrays; its keyword arguments are settings. `grad_<input>` is the rule of one input.
The names of its arguments say what the node keeps for it: an input, a setting, or `result`. Rules ignore broadcasting."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .layers import AroundOp, no_grad, thread
from .tensor import AccumulateGrad, Node, Tensor, form_of, gradient_edge, sequence, shadow, version_of, wrap


class Op(AroundOp, Node):
    """A built-in op and, once recorded, its node in the graph."""

    _inputs: tuple[str, ...] = ()  # read off the subclass: the names of the inputs, the defaults of the settings,
    _defaults: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    _rules: tuple[tuple[Any, tuple[str, ...]], ...] = ()  # and for each input its rule, and what that asks for
    _differentiable, _is_plain = False, True  # not plain: a layer keeps what the rules need, and runs them
    forward: Callable[..., Any]
    _names: tuple[str, ...]  # of a node: what its rules need,
    _kept: tuple[Any, ...] = ()  # the values,
    _versions: tuple[int | None, ...] | None = ()  # the versions of those that are tensors, None once they are freed

    def __init_subclass__(cls, name: str | None = None) -> None:
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
            cls._rules = tuple([(r, r.__code__.co_varnames[1 : r.__code__.co_argcount] if r else ()) for r in rules])
            cls._differentiable = any(rules)

    @classmethod
    def apply(cls, *inputs: Any, **settings: Any) -> Any:
        """Compute the op; record it if an input requires grad and grad mode is on."""
        arrays, wanted = [], False
        for x in inputs:
            arrays.append(x._data if isinstance(x, Tensor) else x)
            wanted = wanted or (isinstance(x, Tensor) and x._requires_grad)
        with np.errstate(all="ignore"):  # NaN and infinity flow silently
            out = wrap(cls.forward(*arrays, **settings))
        if wanted and thread.state.recording and cls._differentiable:
            out._grad_fn, out._requires_grad = cls._record(inputs, settings, (out,)), True
        return out

    @classmethod
    def _record(cls, inputs: Sequence[Any], settings: dict[str, Any], outs: Sequence[Tensor]) -> Op:
        """The node of one run of the op: its edges, the form of its outputs, and what its rules will ask for."""
        node, given = cls(), {**cls._defaults, **settings, **dict(zip(cls._inputs, inputs, strict=False))}
        node._seq, (node._next, node._next_output) = next(sequence), zip(*map(gradient_edge, inputs), strict=True)
        node._outputs, node._names = tuple(map(form_of, outs)), cls._needed(tuple(map(bool, node._next)))
        for name in node._names:
            x = given[name] if cls._is_plain and name in given else cls._kept_as(name, inputs, settings, outs, node)
            node._kept += (x,)
            node._versions += (version_of(x) if isinstance(x, Tensor) else None,)  # type: ignore[operator]
        return node

    @classmethod
    @functools.cache
    def _needed(cls, mask: tuple[bool, ...]) -> tuple[str, ...]:
        """The names of what the rules of those inputs ask for that need a gradient."""
        return tuple(sorted({n for (_, names), wanted in zip(cls._rules, mask, strict=False) if wanted for n in names}))

    @classmethod
    def _kept_as(cls, name: str, inputs: Any, settings: Any, outs: Any, node: Any) -> Any:
        """What a node keeps for a rule that asks for `name`, which is no input and no setting."""
        if name != "result":
            raise TypeError(f"{cls._name}: a rule asks for {name!r}, which is not an input, result or setting")
        return shadow(outs[0])

    def _step(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        strays = grads[0] is None or len(grads) > 1 or not self._is_plain
        if strays or self._versions is None or (self._orders and not grads[0].flags.c_contiguous):
            return self._in_its_own_way(grads, frees)
        values, results = dict(zip(self._names, self._kept, strict=True)), [None] * len(self._next)
        made_by = dict(zip(self._inputs, self._next, strict=False))
        # Everything that was kept is read, whether a rule needs it or not, so that every change in between is noticed.
        for name, t, version in zip(self._names, self._kept, self._versions, strict=True):
            if version is not None:
                if version_of(t) != version or (
                    t._grad_fn is None and not isinstance(made_by.get(name), AccumulateGrad | None)
                ):
                    return self._in_its_own_way(grads, frees)
                values[name] = t._data
        for i, (rule, names) in enumerate(self._rules):
            if rule is not None and self._next[i] is not None:
                results[i] = rule(grads[0], *map(values.get, names))
        if frees and None not in self._versions:
            self._kept, self._versions = (), None if values else ()
        elif frees:
            self._release()
        return results

    def _in_its_own_way(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        """What `_step` gives where no gradient arrived, what was kept is not as it was, or the op is not plain."""
        if self._versions is not None and grads[0] is None:
            return [None] * len(self._next)
        raise RuntimeError("Trying to backward through the graph twice, or it was modified by an inplace operation")


class FunctionCtx(Node):
    """What `forward` leaves for `backward`. It is the node itself: `output.grad_fn` and `ctx` are one object."""

    needs_input_grad: tuple[bool, ...] = ()
    _saved: tuple[tuple[Tensor | None, int], ...] | None = ()
    _forward_cls: Any

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs (or None) for `backward`, where `saved_tensors` returns them."""
        self._saved = tuple([(t, version_of(t)) for t in tensors])

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`; a RuntimeError if they are freed, or were changed in place since."""
        if self._saved is None or any(version_of(t) != version for t, version in self._saved):
            raise RuntimeError("Trying to backward a second time, or a saved tensor was modified by an inplace op")
        return tuple([t for t, _ in self._saved])

    def _step(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        tensors = [wrap(np.zeros(*form) if g is None else g) for g, form in zip(grads, self._outputs, strict=True)]
        with no_grad():
            results = self._forward_cls.backward(self, *tensors)
        self._saved = None if frees and self._saved else self._saved
        return [None if r is None else r._data for r in (results if isinstance(results, tuple) else (results,))]


class Function:
    """An op of your own: write `forward(ctx, …)` and `backward(ctx, *grads)` as static methods, call `apply`."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record it, if an argument requires grad and grad mode is on."""
        ctx = type(f"{cls.__name__}Backward", (FunctionCtx,), {"_forward_cls": cls})()
        ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        with no_grad():
            results = cls.forward(ctx, *args, **kwargs)  # type: ignore[attr-defined]
        outs = results if isinstance(results, tuple) else (results,)
        if thread.state.recording and any(ctx.needs_input_grad):
            ctx._seq, (ctx._next, ctx._next_output) = next(sequence), zip(*map(gradient_edge, args), strict=True)
            ctx._outputs = tuple(map(form_of, outs))
            outs = tuple([wrap(out._data, ctx, None, number) for number, out in enumerate(outs)])
        return outs if isinstance(results, tuple) else outs[0]
