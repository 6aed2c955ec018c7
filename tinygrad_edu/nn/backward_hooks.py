"""The backward hooks of a module: two nodes, around what it computes, that see the gradients pass."""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function
from ..tensor import Tensor

__all__ = ["BackwardHookFunction", "BackwardWatcher"]


class BackwardWatcher:
    """Gathers the gradients at a module's outputs and inputs, and calls its backward hooks with them."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] = ()

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        tensors = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        if not tensors:
            self.inputs = 0
            return args
        self.inputs = len(args)
        passed = BackwardHookFunction.apply(lambda grads: self._inputs_ready(grads, args), *tensors)
        passed = iter(passed if isinstance(passed, tuple) else (passed,))
        return tuple(next(passed) if isinstance(a, Tensor) and a.requires_grad else a for a in args)

    def watch_outputs(self, result: Any) -> Any:
        outputs = result if isinstance(result, tuple) else (result,)
        if not any(isinstance(o, Tensor) and o.requires_grad for o in outputs):
            return result
        passed = BackwardHookFunction.apply(self._outputs_ready, *outputs)
        return passed if isinstance(result, tuple) else passed[0] if isinstance(passed, tuple) else passed

    def _outputs_ready(self, grads: tuple[Any, ...]) -> Any:
        for hook in list(self.module._backward_pre_hooks.values()):
            changed = hook(self.module, grads)
            if changed is not None:
                grads = changed if isinstance(changed, tuple) else (changed,)
        self.grad_output = grads
        if not self.inputs:
            for hook in list(self.module._backward_hooks.values()):
                hook(self.module, (), grads)
        return grads

    def _inputs_ready(self, grads: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        waiting = iter(grads)
        every = tuple(next(waiting) if isinstance(a, Tensor) and a.requires_grad else None for a in args)
        for hook in list(self.module._backward_hooks.values()):
            changed = hook(self.module, every, self.grad_output)
            if changed is not None:
                every = changed if isinstance(changed, tuple) else (changed,)
        return tuple(g for g, a in zip(every, args, strict=True) if isinstance(a, Tensor) and a.requires_grad)


class BackwardHookFunction(Function):
    """Passes tensors through, and on the way back gives their gradients to `seen`, all at once."""

    @staticmethod
    def forward(ctx: Any, seen: Any, *tensors: Any) -> Any:
        ctx.seen = seen
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.seen(grads))
