"""Checkpointing: keep only the inputs of a part of the network, and run that part again in the backward pass.

In the non-reentrant form (`use_reentrant=False`) the part keeps its nodes, and what they save is computed again; see
`recomputation`. In the reentrant form (`use_reentrant=True`) the whole part is one node. Its backward runs the function
again, and then a separate backward pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ..array.absent import answer
from ..array.tensor import Tensor
from ..autograd import engine, grad_mode, graph_task
from ..autograd.function import Function
from ..ops.creation import random
from .recomputation import DETERMINISM_CHECKS, CheckpointError, Frame

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "noop_context_fn"]

__getattr__ = answer(__name__)

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """The default `context_fn`: no context around either run."""
    return nullcontext(), nullcontext()


# --- random state ----------------------------------------------------------------------------------------------------


@contextmanager
def _random_state_of(state: Any) -> Iterator[None]:
    """Inside `with`, set the random state to `state`; afterwards restore it. None means no change."""
    if state is None:
        yield
        return
    before = random.get_rng_state()
    random.set_rng_state(state)
    try:
        yield
    finally:
        random.set_rng_state(before)


# --- the public functions --------------------------------------------------------------------------------------------


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    **kwargs: Any,
) -> Any:
    """Run `function(*args, **kwargs)` without keeping what its nodes save. It runs again in the backward pass.

    Of the two forms `use_reentrant=False` is the better one; omitting it warns and means True. It alone takes `kwargs`
    for the function, a `context_fn`, which returns a context manager for each run, and a `determinism_check`: "default"
    compares the shapes and dtypes that both runs save, "none" does not. With `preserve_rng_state` both draw the same
    random numbers.

    Raises:
        CheckpointError: in the backward pass, if the second run saves something else than the first.

    >>> from tinygrad_edu.utils.checkpoint import checkpoint
    >>> x = T.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {list(DETERMINISM_CHECKS)}, but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    state = random.get_rng_state() if preserve else None
    if not grad_mode.is_grad_enabled():
        return function(*args, **kwargs)

    def run_again(*inputs: Any) -> None:
        with _random_state_of(state), recompute_context:
            function(*inputs, **kwargs)

    frame = Frame(run_again, args, DETERMINISM_CHECKS[determinism_check])
    with frame.hooks(), forward_context:
        result = function(*args, **kwargs)
        frame.forward_completed = True
    return result


# --- with re-entrance ------------------------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """The reentrant form: one node, which saves only the inputs."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        if not any(isinstance(x, Tensor) and x.requires_grad for x in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None, also those of the parameters that "
                "the function uses: pass an input that requires grad, or use_reentrant=False.",
                stacklevel=2,
            )
        ctx.run_function = run_function
        ctx.random_state = random.get_rng_state() if preserve_rng_state else None
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.tensor_indices = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if graph_task.runs_for_some_inputs():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for i, t in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[i] = t
        detached = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs]
        with _random_state_of(ctx.random_state), grad_mode.enable_grad():
            outputs = ctx.run_function(*detached)
        pairs = [
            (o, g)
            for o, g in zip(outputs if isinstance(outputs, tuple) else (outputs,), grads, strict=True)
            if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        engine.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in detached))
