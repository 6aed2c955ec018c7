"""The backward hooks of a module: two nodes, before and after its forward, observe the gradients that pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..array.tensor import Tensor
from ..autograd.function import Function

__all__ = ["BackwardHookFunction", "BackwardWatcher"]

Gradients = tuple[Any, ...]


class BackwardWatcher:
    """Collects the gradients of a module's outputs and inputs, and calls its backward hooks with them."""

    def __init__(self, module: Any, before: list[Any], after: list[Any]) -> None:
        self.module = module
        # The hooks for the outputs' gradients and the inputs', looked up when needed, since some may be removed.
        self.before, self.after = before, after
        # None: no gradient has arrived at the outputs. A gradient that reaches the inputs then bypassed the module, as
        # in a second backward, and the hooks ignore it.
        self.grad_output: Gradients | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.inputs = len(args)
        passed = _watched(args, self._inputs_ready, zeros=True)
        self.followed = passed is not args
        return passed

    def watch_outputs(self, result: Any) -> Any:
        if isinstance(result, Tensor):
            return _watched((result,), self._outputs_ready, zeros=False)[0]
        if isinstance(result, tuple):
            return _watched(result, self._outputs_ready, zeros=False)
        warnings.warn(
            "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
            f"received {type(result)}: the hooks do not see its gradients.",
            stacklevel=3,
        )
        return result

    def _outputs_ready(self, grads: Gradients) -> Gradients:
        for hook in self.before:
            grads = _replaced(hook(self.module, grads), grads, "pre hook returned an invalid number of grad_output")
        if self.followed:
            self.grad_output = grads
            return grads
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients: the hook sees only the gradients of the outputs.",
            UserWarning,
            stacklevel=2,
        )
        for hook in self.after:
            answer = hook(self.module, (None,) * self.inputs, grads)
            if answer is not None and not (isinstance(answer, tuple) and all(g is None for g in answer)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients: its result has nothing to replace."
                )
        return grads

    def _inputs_ready(self, grads: Gradients) -> Gradients:
        if self.grad_output is None:
            return grads
        for hook in self.after:
            answer = hook(self.module, grads, self.grad_output)
            grads = _replaced(answer, grads, "hook returned an invalid number of grad_input")
        self.grad_output = None
        return grads


def _replaced(answer: Any, grads: Gradients, complaint: str) -> Gradients:
    """A hook's replacement for the gradients, one for each; or the old gradients if it returned None."""
    if answer is None:
        return grads
    if not isinstance(answer, tuple | list):
        answer = tuple(answer) if isinstance(answer, Tensor) and answer.ndim else (answer,)
    if len(answer) != len(grads):
        raise RuntimeError(f"Backward {complaint}, got {len(answer)}, but expected {len(grads)}")
    return tuple(answer)


def _watched(values: tuple[Any, ...], ready: Callable[[Gradients], Gradients], zeros: bool) -> tuple[Any, ...]:
    """Pass the tensors in `values` through a node that reports their gradients to `ready`: one per value, None for a
    value that is not a tensor, and zeros or None where no gradient arrives. Returns `values` unchanged if no gradient
    is expected."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[i].requires_grad for i in places):
        return values

    def seen(grads: Gradients) -> Gradients:
        every = [None] * len(values)
        for i, grad in zip(places, grads, strict=True):
            every[i] = grad
        answer = ready(tuple(every))
        return tuple(answer[i] for i in places)

    passed = list(values)
    for i, tensor in zip(places, BackwardHookFunction.apply(seen, zeros, *(values[i] for i in places)), strict=True):
        passed[i] = tensor
    # A named tuple stays a named tuple.
    return type(values)(*passed) if hasattr(values, "_fields") else tuple(passed)


class BackwardHookFunction(Function):
    """Passes tensors through. In the backward pass it reports all their gradients at once to `seen`."""

    @staticmethod
    def forward(ctx: Any, seen: Callable[[Gradients], Gradients], zeros: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.seen = seen
        ctx.set_materialize_grads(zeros)
        passed = tuple(t.view_as(t) for t in tensors)
        ctx.mark_non_differentiable(*(p for p, t in zip(passed, tensors, strict=True) if not t.requires_grad))
        return passed

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *ctx.seen(grads)
