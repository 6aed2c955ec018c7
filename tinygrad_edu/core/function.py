"""`Function`: an op that a user writes on Tensors, and `ctx`, which connects its two halves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .layers import no_grad, thread
from .tensor import Node, Tensor, gradient_edge, sequence, version_of, wrap

__all__ = ["Function", "FunctionCtx"]


class FunctionCtx(Node):
    """What `forward` leaves for `backward`. It is the node itself: `output.grad_fn` and `ctx` are one object."""

    needs_input_grad: tuple[bool, ...] = ()
    _saved: tuple[tuple[Tensor | None, int], ...] | None = ()
    _forward_cls: Any

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs (or None) for `backward`, where `saved_tensors` returns them."""
        self._saved = tuple([(t, 0 if t is None else version_of(t)) for t in tensors])

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`; a RuntimeError if they are freed, or were changed in place since."""
        if self._saved is None or any(t is not None and version_of(t) != version for t, version in self._saved):
            raise RuntimeError(
                "Trying to backward a second time, or a saved tensor was modified by an inplace operation"
            )
        return tuple([t for t, _ in self._saved])

    def _step(self, grads: list[Any], frees: bool) -> Sequence[Any]:
        tensors = [wrap(np.zeros(*form) if g is None else g) for g, form in zip(grads, self._outputs, strict=True)]
        with no_grad():
            results = self._forward_cls.backward(self, *tensors)
        if frees and self._saved:
            self._saved = None
        return [None if r is None else r._data for r in (results if isinstance(results, tuple) else (results,))]


class Function:
    """A differentiable op of your own: subclass it, write `forward` and `backward` as static methods, call `apply`."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs from the arguments: `forward(ctx, …)`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments of forward, given those of its outputs."""
        raise NotImplementedError("You must implement the backward function for custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record it, if an argument requires grad and grad mode is on."""
        ctx = type(f"{cls.__name__}Backward", (FunctionCtx,), {"_forward_cls": cls})()
        ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        with no_grad():
            results = cls.forward(ctx, *args, **kwargs)
        outs = results if isinstance(results, tuple) else (results,)
        if thread.state.recording and any(ctx.needs_input_grad):
            edges = [gradient_edge(a) if isinstance(a, Tensor) else (None, 0) for a in args]
            ctx._seq, (ctx._next, ctx._next_output) = next(sequence), zip(*edges, strict=True)
            ctx._outputs = tuple([(out._data.shape, out._data.dtype) for out in outs])
            outs = tuple([wrap(out._data, ctx) for out in outs])
            for number, out in enumerate(outs):
                out.output_nr = number
        return outs if isinstance(results, tuple) else outs[0]
