"""`Function`: a differentiable op written by the user, and `ctx`, through which its two halves speak."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from . import forward_ad, grad_mode, inplace
from .anomaly_mode import anomaly, remember_forward
from .inplace import make_view
from .node import Node, bump_version, gradient_edge, sequence
from .saved_tensor import BACKWARD_TWICE, SavedTensor
from .variable import volatile

__all__ = ["Function", "FunctionCtx", "NestedIOFunction", "once_differentiable"]


class FunctionCtx:
    """What `forward` leaves for `backward`. It is the node itself: `output.grad_fn` and `ctx` are one object."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _to_save: tuple[Tensor | None, ...] = ()
    _to_save_forward: tuple[Tensor | None, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs (or None) for `backward`, where `saved_tensors` gives them back.

        Unlike attributes (`ctx.y = y`) they are freed after backward, make no reference cycles, and an in-place change
        in between is noticed. For what is no tensor use attributes.
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}. Keep "
                    "what is no tensor as an attribute: ctx.k = k."
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, the rule of forward-mode differentiation."""
        self._to_save_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` changed in place. Each must be returned as an output."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient, such as indices."""
        self._non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Gone, as in PyTorch: tensors that share storage are found without it."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked.",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """False: `backward` gets None, not zeros, for an output that no gradient reached."""
        self.materialize_grads = bool(value)


class FunctionNode(FunctionCtx, Node):
    """The node of a custom Function. Every Function class has a subclass of its own, `<its name>Backward`."""

    _function: type[Function]
    _kept: tuple[SavedTensor | None, ...] | None = ()
    _was_freed = False
    # For each argument of forward, the number of its edge; None for what is no tensor.
    _edge_of_argument: tuple[int | None, ...] = ()

    def name(self) -> str:
        return type(self).__name__

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`.

        Raises:
            RuntimeError: they have been freed by a first backward, or one was changed in place since.
        """
        if self._was_freed:
            raise RuntimeError(BACKWARD_TWICE)
        if self._in_jvp:
            return self._to_save_forward
        return tuple(None if s is None else s.tensor() for s in self._kept or ())

    _in_jvp = False

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor | None, ...]:
        if self._was_freed:
            raise RuntimeError(BACKWARD_TWICE)
        return tuple(self._kept or ())

    def run(self, grads: list[Any], create_graph: bool, wanted: Sequence[bool] | None = None) -> Sequence[Any]:
        tensors = [self._grad_as_tensor(i, g) for i, g in enumerate(grads)]
        previous = grad_mode.state.grad_enabled
        # Under a pass that is not recorded it computes with Tensors all the same where tangents are to flow.
        grad_mode.state.grad_enabled = create_graph and previous
        try:
            results = _backward_rule(self._function)(self, *tensors)
        finally:
            grad_mode.state.grad_enabled = previous
        checked = self._checked(results)
        return checked if create_graph else [None if r is None else r._data for r in checked]

    def _grad_as_tensor(self, i: int, grad: Any) -> Tensor | None:
        if grad is not None:
            return grad if isinstance(grad, Tensor) else wrap(np.asarray(grad))
        if not self.materialize_grads:
            return None
        shape, dtype = self._outputs[i]
        return wrap(np.zeros(shape, dtype))

    def _checked(self, results: Any) -> list[Tensor | None]:
        """One gradient per edge, or an error that names this Function and the argument."""
        if not isinstance(results, tuple):
            results = (results,)
        expected = len(self._edge_of_argument)
        # PyTorch forgives Nones too many at the end.
        while len(results) > expected and results[-1] is None:
            results = results[:-1]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)}). backward returns one gradient for each argument of forward after ctx, and None for "
                "those that have none."
            )
        by_edge: list[Tensor | None] = []
        for position, (grad, edge) in enumerate(zip(results, self._edge_of_argument, strict=True)):
            if edge is None:
                if grad is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at position {position + 1}, but "
                        "the corresponding forward input was not a Variable. Return None there."
                    )
                continue
            if grad is not None and not isinstance(grad, Tensor):
                raise RuntimeError(
                    f"expected Variable or None (got {type(grad).__name__}) as gradient {position + 1} of function "
                    f"{self.name()}. backward returns tensors."
                )
            by_edge.append(grad)
        return by_edge

    def release(self) -> None:
        # A node that saved nothing may run again; one that did has lost it.
        if self._kept:
            self._was_freed = True
            self._kept = ()


def _backward_rule(cls: type[Function]) -> Callable[..., Any]:
    has_backward = cls.backward is not Function.backward
    has_vjp = cls.vjp is not Function.vjp
    if has_backward and has_vjp:
        raise RuntimeError(
            f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed. {cls.__name__} should have one "
            "of them: they are two names of the same rule."
        )
    return cls.vjp if has_vjp else cls.backward


class _FunctionMeta(type):
    """Gives each Function class its node class: `Exp` gets `ExpBackward`."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._node_class = type(name + "Backward", (FunctionNode,), {"_function": cls, "__module__": cls.__module__})


class Function(metaclass=_FunctionMeta):
    """A differentiable op of your own: subclass it, write `forward` and `backward` as static methods, call `apply`.

    Two forms are known. `forward(ctx, *args)` computes and keeps what backward needs; or `forward(*args)` computes alone
    and `setup_context(ctx, inputs, output)` keeps. `backward(ctx, *grad_outputs)` returns one gradient for each argument
    of forward, None for those without.

    Example:
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

    _node_class: type[FunctionNode]
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            f"them on the class itself: {type(self).__name__}.apply(…).",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            f"function with static forward method: write @staticmethod above forward and backward, keep what backward "
            f"needs on ctx instead of self, and call {type(self).__name__}.apply(…)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs from the arguments: `forward(ctx, …)`, or `forward(…)` beside `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep on `ctx` what backward needs, given all arguments of forward and what it returned."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments of forward, given those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    # Another name of `backward`.
    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name of `backward`: the product of a vector with the Jacobian."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, given those of the arguments: the rule of forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record it, if an argument requires grad and grad mode is on.

        Raises:
            RuntimeError: `forward` is not static; a dirty input is not returned, or is a leaf that requires grad.
        """
        _refuse_legacy(cls)
        split = cls.setup_context is not Function.setup_context
        if split or kwargs:
            # setup_context gets every argument; and each has its position, to which backward's gradients belong.
            ctx = () if split else (None,)
            bound = inspect.signature(cls.forward).bind(*ctx, *args, **kwargs)
            bound.apply_defaults()
            args = bound.args[len(ctx) :]
        return _apply(cls, split, args)


def _refuse_legacy(cls: type[Function]) -> None:
    for kind in cls.__mro__:
        if "forward" in kind.__dict__:
            if not isinstance(kind.__dict__["forward"], staticmethod | classmethod):
                raise RuntimeError(
                    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
                    f"autograd function with static forward method: write @staticmethod above {cls.__name__}.forward and "
                    "above backward."
                )
            return


def _apply(cls: type[Function], split: bool, args: tuple[Any, ...]) -> Any:
    if volatile.seen and volatile.reaches(args):
        return volatile.compute(_apply, cls, split, args)
    node = cls._node_class()
    tensors = [a for a in args if isinstance(a, Tensor)]
    node.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
    record = grad_mode.state.grad_enabled and not grad_mode.state.inference and any(node.needs_input_grad)
    count = iter(range(len(tensors)))
    node._edge_of_argument = tuple(next(count) if isinstance(a, Tensor) else None for a in args)
    # The edges are read before forward runs: an input that forward changes keeps its place in the old graph.
    if record:
        node._edges = tuple(gradient_edge(t) for t in tensors)
    node._seq = next(sequence)

    previous = grad_mode.state.grad_enabled
    grad_mode.state.grad_enabled = False
    try:
        with forward_ad._set_fwd_grad_enabled(False):
            results = cls.forward(*args) if split else cls.forward(node, *args)
            if split:
                cls.setup_context(node, args, results)
    finally:
        grad_mode.state.grad_enabled = previous

    single = not isinstance(results, tuple)
    raw = (results,) if single else results
    outputs = _with_history(node, raw, tensors, record)
    if record:
        node._outputs = tuple(
            (o._data.shape, o._data.dtype) if isinstance(o, Tensor) else ((), np.dtype(np.float32)) for o in outputs
        )
        node._kept = tuple(
            None if t is None else SavedTensor(t, node if t.grad_fn is node else None) for t in node._to_save
        )
        if anomaly.enabled:
            remember_forward(node)
    if forward_ad.any_tangent(tensors):
        _apply_jvp(cls, node, args, outputs)
    node._to_save = ()
    node._dirty = node._non_differentiable = ()
    return outputs[0] if single else tuple(outputs)


def _with_history(node: FunctionNode, raw: Sequence[Any], inputs: Sequence[Tensor], record: bool) -> list[Any]:
    """What `forward` returned, as the user gets it: with `node` as its history where it has one."""
    input_ids = {id(t) for t in inputs}
    dirty_ids = {id(t) for t in node._dirty}
    non_differentiable_ids = {id(t) for t in node._non_differentiable}
    returned_ids = {id(o) for o in raw}
    if not dirty_ids <= returned_ids:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            f"modified inplace must all be outputs of the Function {type(node)._function.__name__}."
        )
    for t in node._dirty:
        bump_version(t)
    outputs: list[Any] = []
    with_gradient = 0
    for number, out in enumerate(raw):
        if isinstance(out, Tensor):
            is_input, is_dirty = id(out) in input_ids, id(out) in dirty_ids
            if record and id(out) not in non_differentiable_ids and out.is_floating_point():
                with_gradient += 1
                if is_dirty:
                    _rebase_dirty(out, node, number, len(raw))
                else:
                    if is_input:
                        # An input returned as it is becomes a new tensor on the same storage, with a history of its own.
                        out = _alias(out)
                    out._grad_fn, out.output_nr, out._requires_grad = node, number, True
            elif is_input and not is_dirty:
                out = out.detach() if out.requires_grad else _alias(out)
            if out._view is not None and not (is_input and is_dirty):
                out._view.creation = "custom"
        outputs.append(out)
    if with_gradient > 1:
        for out in outputs:
            if isinstance(out, Tensor) and out._view is not None:
                out._view.creation = "multi-output"
    return outputs


def _alias(t: Tensor) -> Tensor:
    out = wrap(t._data.view())
    make_view(out, t, "custom")
    return out


def _rebase_dirty(t: Tensor, node: FunctionNode, number: int, n_outputs: int) -> None:
    """`forward` has changed its input `t` in place: `node` becomes its history, and that of its base."""
    if t._grad_fn is None and t.requires_grad:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation. Its value before would be lost: "
            "work on a clone()."
        )
    if t._view is not None and n_outputs > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
            "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input "
            "is not a view (using .clone() for example) or make your Function only return one Tensor (potentially "
            "splitting it into two Functions: one doing the inplace that returns a single Tensor and a second one that "
            "does the other operations)."
        )
    inplace.check_inplace(t, record=True)
    # A gradient that was kept belongs to the value before.
    t._grad = None
    # The form of the output is known now, and the history of a base needs it.
    node._outputs = ((t._data.shape, t._data.dtype),) * n_outputs
    inplace.rebase_history(t, node, number)


def _apply_jvp(cls: type[Function], node: FunctionNode, args: tuple[Any, ...], outputs: list[Any]) -> None:
    carried = tuple(forward_ad.tangent_of(a) if isinstance(a, Tensor) else None for a in args)
    tangents = carried
    if node.materialize_grads:
        tangents = tuple(
            forward_ad.zero_tangent(a) if t is None and isinstance(a, Tensor) and a.is_floating_point() else t
            for a, t in zip(args, carried, strict=True)
        )
    node._in_jvp = True
    try:
        with forward_ad._set_fwd_grad_enabled(False):
            results = cls.jvp(node, *tangents)
    finally:
        node._in_jvp = False
    if not isinstance(results, tuple):
        results = (results,)
    if len(results) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(results)}). jvp of {cls.__name__} returns one tangent for each output of forward."
        )
    for i, (out, tangent) in enumerate(zip(outputs, results, strict=True)):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}. jvp of {cls.__name__} "
                "returns tensors."
            )
        if (
            not isinstance(out, Tensor)
            or not out.is_floating_point()
            or any(out is d for d in node._non_differentiable)
        ):
            continue
        if tangent is None:
            raise RuntimeError(
                f"Function's jvp returned None for output {i}, which is differentiable. jvp of {cls.__name__} returns a "
                "tangent for it; zeros where it does not move."
            )
        if any(out is d for d in node._dirty):
            moving = forward_ad.tangent_of(out)
            if moving is not None and moving is not tangent:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
            forward_ad.write_tangent(out, tangent)
            continue
        if out._view is not None:
            if tangent._view is None:
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                    "view. Return a view of the tangent there, such as t.view_as(t)."
                )
        elif any(tangent is t for t in tangents):
            tangent = tangent.clone()
        forward_ad.set_tangent(out, tangent)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a `backward` that cannot be differentiated again: a second backward through it raises, never lies."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with grad_mode.no_grad():
            outputs = fn(ctx, *args)
        if not grad_mode.is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        poisoned = tuple(
            _NotDifferentiable.apply(o.detach().requires_grad_()) if isinstance(o, Tensor) else o
            for o in ((outputs,) if single else outputs)
        )
        return poisoned[0] if single else poisoned

    return wrapper


class _NotDifferentiable(Function):
    """Stands where a graph would be that nobody wrote."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


class NestedIOFunction(Function):
    """Refused: nested lists of tensors as arguments."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("NestedIOFunction is not built. Pass tensors one by one to a Function instead.")
