"""`Function`: a differentiable op written by the user, and `ctx`, which connects its two halves."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.absent import answer, refuse_tensors_of_pytorch
from ..array.tensor import Tensor, wrap
from ..core import op as core
from ..core.graph import Node, gradient_edge, sequence
from . import forward_ad, grad_mode
from .variable import volatile

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "once_differentiable"]

__getattr__ = answer(__name__)


class FunctionCtx(core.FunctionCtx):
    """What `forward` leaves for `backward`. It is the node itself: `output.grad_fn` and `ctx` are one object."""

    # What forward, or setup_context, requested; None again once that is done.
    saved_for_forward: tuple[Tensor | None, ...] | None = None
    dirty_tensors: tuple[Tensor, ...] | None = None
    non_differentiable: tuple[Tensor, ...] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs or outputs (or None) for `backward`, where `saved_tensors` returns them.

        Unlike attributes (`ctx.y = y`), they are freed after backward and make no reference cycles, and an in-place
        change in between is detected. Use attributes for anything that is not a tensor.
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}. Keep "
                    "anything that is not a tensor as an attribute: ctx.k = k."
                )
        super().save_for_backward(*tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `jvp`, the rule of forward-mode differentiation."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Name the inputs that `forward` changed in place. Each must be returned as an output."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Name the outputs that have no gradient, such as indices."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """False: `backward` gets None, not zeros, for an output that no gradient reached."""
        self.materialize_grads = bool(value)


class BackwardCFunction(FunctionCtx):
    """The node of a custom Function. Every Function class has its own subclass, `<its name>Backward`."""

    _forward_cls: type[Function]
    _in_jvp = False

    def name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{__name__}.{type(self).__name__} object at {id(self):#x}>"

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`; an error if they were freed, or one was changed in place since."""
        return self.saved_for_forward or () if self._in_jvp else super().saved_tensors

    def apply(self, *args: Any) -> Any:
        """Run the user's rule on gradients of the outputs, as the engine does."""
        cls = self._forward_cls
        has_vjp = cls.vjp is not Function.vjp
        if has_vjp and cls.backward is not Function.backward:
            raise RuntimeError(
                f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed. {cls.__name__} should "
                "have only one of them: they are two names for the same rule."
            )
        return cls.vjp(self, *args) if has_vjp else super().apply(*args)

    def _checked(self, results: Sequence[Any]) -> list[Tensor | None]:
        """One gradient per edge, or an error that names this Function and the argument."""
        expected = len(self._edge_of_argument)
        # PyTorch accepts extra Nones at the end.
        while len(results) > expected and results[-1] is None:
            results = results[:-1]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)}). backward must return one gradient for each argument of forward after ctx, and None "
                "for those that have none."
            )
        by_edge: list[Tensor | None] = []
        for position, (grad, edge) in enumerate(zip(results, self._edge_of_argument, strict=True)):
            if edge is None:
                if grad is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at position {position + 1}, "
                        "but the corresponding forward input was not a Variable. Return None there."
                    )
                continue
            if grad is not None and not isinstance(grad, Tensor):
                refuse_tensors_of_pytorch((grad,))
                raise RuntimeError(
                    f"expected Variable or None (got {type(grad).__name__}) as gradient {position + 1} of function "
                    f"{self.name()}. backward returns tensors."
                )
            by_edge.append(grad)
        return by_edge


_NO_RULE = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)


class FunctionMeta(type):
    """The type of each Function class."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)


class Function(core.Function, metaclass=FunctionMeta):
    """A differentiable op of your own: subclass it, write `forward` and `backward` as static methods, call `apply`.

    There are two forms. `forward(ctx, *args)` computes, and keeps what backward needs. Or `forward(*args)` only
    computes, and `setup_context(ctx, inputs, output)` keeps. `backward(ctx, *grad_outputs)` returns one gradient for
    each argument of forward, and None for those without.

    >>> from tinygrad_edu import tensor
    >>> from tinygrad_edu.autograd import Function
    >>> class Exp(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (y,) = ctx.saved_tensors
    ...         return grad_output * y
    >>> Exp.apply(tensor(0.0, requires_grad=True))
    tensor(1., grad_fn=<ExpBackward>)
    """

    _ctx_class = BackwardCFunction
    _backward_cls: type[BackwardCFunction]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            f"invoke them on the class itself: {type(self).__name__}.apply(…).",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method: write @staticmethod above forward and backward, keep what backward "
            f"needs on ctx instead of self, and call {type(self).__name__}.apply(…)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs from the arguments: `forward(ctx, …)`, or without `ctx` if there is a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save on `ctx` what backward needs, given all arguments of forward and its result."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments of forward, given those of its outputs."""
        raise NotImplementedError(_NO_RULE)

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`: the product of a vector with the Jacobian."""
        raise NotImplementedError(_NO_RULE)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, given those of the arguments: the rule of forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record it, if an argument requires grad and grad mode is on."""
        split = cls.setup_context is not Function.setup_context
        if split or kwargs:
            # setup_context gets every argument; and each has its position, to which backward's gradients belong.
            ctx = () if split else (None,)
            bound = inspect.signature(cls.forward).bind(*ctx, *args, **kwargs)
            bound.apply_defaults()
            args = bound.args[len(ctx) :]
        if volatile.alive and volatile.reaches(args):
            return volatile.compute(super().apply, *args)
        if not all([isinstance(a, Tensor) for a in args]):
            refuse_tensors_of_pytorch(args)
        return super().apply(*args)

    @classmethod
    def _run_forward(cls, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with forward_ad._set_fwd_grad_enabled(False):
            if cls.setup_context is Function.setup_context:
                return super()._run_forward(ctx, args, kwargs)
            results = cls.forward(*args)
            cls.setup_context(ctx, args, results)
            return results


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a `backward` that cannot be differentiated again: a second backward through it raises an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with grad_mode.no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not grad_mode.is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        poisoned = Error.behind(outputs if isinstance(outputs, tuple) else (outputs,))
        return poisoned if isinstance(outputs, tuple) else poisoned[0]

    return wrapper


class Error(Node):
    """Replaces a graph that does not exist: it raises when a backward pass reaches it."""

    _visited = True

    @classmethod
    def behind(cls, tensors: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """The same tensors, with one such node as their history."""
        ends = [None if t is None else t.detach().requires_grad_() for t in tensors]
        node = cls()
        node._seq = next(sequence)
        node._next, node._next_output = zip(*[(None, 0) if t is None else gradient_edge(t) for t in ends], strict=True)
        node._outputs = tuple(((), np.dtype(object)) if t is None else (t.value.shape, t.value.dtype) for t in ends)
        shown = tuple(None if t is None else wrap(t.value) for t in ends)
        for number, t in enumerate(shown):
            if t is not None:
                t._grad_fn, t.output_nr, t._requires_grad = node, number, True
        return shown

    def name(self) -> str:
        return "torch::autograd::Error"

    def _step(self, *args: Any, **settings: Any) -> Sequence[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
