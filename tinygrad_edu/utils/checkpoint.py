"""Checkpointing: keep only the inputs of a part of the network, and run that part again in the backward pass.

In the non-reentrant form (`use_reentrant=False`) the part keeps its nodes, and what they save is computed again; see
`recomputation`. In the reentrant form (`use_reentrant=True`) the whole part is one node. Its backward runs the function
again, and then a separate backward pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ..array import companions
from ..array.tensor import Tensor
from ..autograd import engine, grad_mode, graph_task
from ..autograd.function import Function
from ..seam.later import later, names_of
from .recomputation import DETERMINISM_CHECKS, CheckpointError, Frame, Log

__all__ = [
    "CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "detach_variable",
    "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", *names_of("utils.checkpoint"),
]  # fmt: skip

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """The default `context_fn`: no context around either run."""
    return nullcontext(), nullcontext()


# --- random state ----------------------------------------------------------------------------------------------------


def _random() -> Any:
    """The module that holds the random state, if it is loaded."""
    from ..ops.creation import random

    return random


@contextmanager
def _random_state_of(state: Any) -> Iterator[None]:
    """Inside `with`, set the random state to `state`; afterwards restore it. None means no change."""
    if state is None:
        yield
        return
    random = _random()
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
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run `function(*args, **kwargs)` without keeping what its nodes save. The function runs again in the backward pass.

    Args:
        function: must do the same when it runs again.
        use_reentrant: which of the two forms to use; False is the better one. Omitting it warns and means True.
        preserve_rng_state: (keyword) the second run draws the same random numbers as the first. Default True.
        context_fn: returns two context managers, for the first and the second run. Not with use_reentrant=True.
        determinism_check: "default" checks that both runs save the same shapes and dtypes; "none" does not.
        debug: a CheckpointError lists the calls of both runs, each with its line. Not with a context_fn.
        early_stop: end the second run as soon as everything that is needed has been saved.
        kwargs: passed on to `function`. Not with use_reentrant=True.

    Returns:
        What `function` returns.

    Raises:
        CheckpointError: in the backward pass, if the second run saves something else than the first.
        ValueError: an argument that the chosen form does not support.

    Example:
        >>> import tinygrad_edu as T
        >>> from tinygrad_edu.utils.checkpoint import checkpoint
        >>> x = T.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([2., 4.])
    """
    if use_reentrant is None:
        _warn_of_the_default("torch.utils.checkpoint")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    logs = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn: both wrap the two runs.")
        logs = Log(), Log()
    if determinism_check not in DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {list(DETERMINISM_CHECKS)}, but got {determinism_check}")
    forward_context, recompute_context = logs or context_fn()
    state = _random().get_rng_state() if preserve else None
    precision = companions.as_now()
    if not grad_mode.is_grad_enabled():
        return function(*args, **kwargs)

    def run_again(*inputs: Any) -> None:
        with _random_state_of(state), precision, recompute_context:
            function(*inputs, **kwargs)

    stops = early_stop if _early_stop is None else _early_stop
    frame = Frame(run_again, args, stops, DETERMINISM_CHECKS[determinism_check], logs)
    with frame.hooks(), forward_context:
        result = function(*args, **kwargs)
        frame.forward_completed = True
    if not frame.forward_completed:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
            "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
        )
    return result


_early_stop: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside `with`, override the `early_stop` of all checkpoints.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.utils import checkpoint
    >>> x = T.ones(2, requires_grad=True)
    >>> with checkpoint.set_checkpoint_early_stop(False):
    ...     y = checkpoint.checkpoint(T.exp, x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    global _early_stop
    before = _early_stop
    _early_stop = enable
    try:
        yield
    finally:
        _early_stop = before


_debug: bool | None = None


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside `with`, override the `debug` of all checkpoints; None does not override it.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.utils import checkpoint
    >>> x = T.ones(2, requires_grad=True)
    >>> with checkpoint.set_checkpoint_debug_enabled(False):
    ...     checkpoint.checkpoint(T.exp, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    global _debug
    before = _debug
    _debug = enabled
    try:
        yield
    finally:
        _debug = before


def _warn_of_the_default(name: str) -> None:
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint "
        "without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the "
        "current default behavior, you can pass use_reentrant=True.",
        UserWarning,
        stacklevel=3,
    )


# --- with re-entrance ------------------------------------------------------------------------------------------------


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """Detached copies of the inputs, which require grad if the inputs did.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.utils.checkpoint import detach_variable
    >>> y = T.ones(1, requires_grad=True) * 2
    >>> (copy,) = detach_variable((y,))
    >>> copy.is_leaf, copy.requires_grad
    (True, True)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if no input requires grad, because then nothing in the checkpoint gets a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None, also those of the parameters that the "
            "function uses: pass an input that requires grad, or use_reentrant=False.",
            UserWarning,
            stacklevel=2,
        )


class CheckpointFunction(Function):
    """The reentrant form: one node, which saves only the inputs."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = _random().get_rng_state() if preserve_rng_state else None
        ctx.precision = companions.as_now()
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
        detached = detach_variable(tuple(inputs))
        with _random_state_of(ctx.random_state), ctx.precision, grad_mode.enable_grad():
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


__getattr__ = later(__name__, "Programs do not use it, and it is not built here.")
