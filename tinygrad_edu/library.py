"""Custom ops with a name: `custom_op`, and `register_autograd` for their gradients (PyTorch: `torch.library`).

>>> @T.library.custom_op("course::scale", mutates_args=())
... def scale(x: T.Tensor, k: float) -> T.Tensor:
...     return x * k
>>> def setup_context(ctx, inputs, output):
...     ctx.k = inputs[1]
>>> def backward(ctx, grad):
...     return grad * ctx.k, None
>>> scale.register_autograd(backward, setup_context=setup_context)
>>> x = T.ones(2, requires_grad=True)
>>> T.ops.course.scale(x, 3.0).sum().backward()
>>> x.grad
tensor([3., 3.])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from . import ops
from .array.absent import answer
from .array.tensor import Tensor
from .autograd.function import Function
from .autograd.grad_mode import no_grad
from .modes import bump_version
from .overrides import overridable

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake"]


class CustomOpDef:
    """A named op. Call it like the function that it was made from."""

    def __init__(self, name: str, fn: Callable[..., Any], mutates_args: tuple[str, ...]) -> None:
        self._qualname = name
        self._namespace, self._name = name.split("::")
        self._fn = fn
        self._mutates = mutates_args
        self._signature = inspect.signature(fn)
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        label = f"GeneratedBackwardFor_{self._namespace}_{self._name}_default"
        self._function: Any = type(label, (_Recorded,), {"definition": self})
        self._call = overridable(self._run, self._name)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register the gradient `backward(ctx, *grad_outputs)`; `setup_context(ctx, inputs, output)` saves for it."""
        if self._mutates:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self._qualname} (it mutates "
                f"{', '.join(self._mutates)}). Please create a functional operator and register an autograd formula "
                "for that."
            )
        self._backward, self._setup_context = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Accepted and ignored: only PyTorch's compilers need shapes without values."""
        return fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if not self._mutates:
            return self._function.apply(*bound.args, *bound.kwargs.values())
        changed = [bound.arguments[name] for name in self._mutates]
        if any(t.requires_grad for t in changed):
            raise RuntimeError(
                f"{self._qualname}: a custom op cannot change a tensor that requires grad, because it cannot have a "
                "gradient for the change. Call it on a detach()ed copy."
            )
        with no_grad():
            self._fn(*bound.args, **bound.kwargs)
        for t in changed:
            bump_version(t)
        return None

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


class _Recorded(Function):
    """The node of a custom op. It does not record inside the function; backward runs the registered formula."""

    definition: CustomOpDef

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        definition = ctx._forward_cls.definition
        output = definition._fn(*inputs)
        _refuse_alias(definition, inputs, output)
        if definition._setup_context is not None:
            definition._setup_context(ctx, inputs, output)
        return output

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        definition = ctx._forward_cls.definition
        if definition._backward is None:
            raise RuntimeError(
                f"Trying to backward through {definition._namespace}.{definition._name}.default but no autograd "
                "formula was registered. Please use register_autograd to add one."
            )
        return definition._backward(ctx, *grad_outputs)


def _refuse_alias(definition: CustomOpDef, inputs: tuple[Any, ...], output: Any) -> None:
    for out in output if isinstance(output, tuple | list) else (output,):
        for t in inputs:
            if isinstance(out, Tensor) and isinstance(t, Tensor) and (out is t or out._base is t):
                raise RuntimeError(
                    f"{definition._name}: The output of this custom operator (1) must not also be an input to this "
                    "custom operator and (2) may not alias any inputs to this custom operator or other returns. Return "
                    "a clone()."
                )


_registered: dict[str, CustomOpDef] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: Any = None,
    tags: Any = None,
) -> Any:
    """Turn a function with annotated parameters into an op named `namespace::name`; it changes `mutates_args` in place.

    >>> @T.library.custom_op("course::double", mutates_args=())
    ... def double(x: T.Tensor) -> T.Tensor:
    ...     return x * 2
    >>> double(T.tensor(4.0))
    tensor(8.)
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        if len(name.split("::")) != 2:
            raise ValueError(f"the name of a custom op is 'namespace::name', got {name!r}")
        for parameter in inspect.signature(function).parameters.values():
            if parameter.annotation is parameter.empty and schema is None:
                raise ValueError(
                    f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with "
                    f"signature {inspect.signature(function)})"
                )
        changed = (mutates_args,) if isinstance(mutates_args, str) else tuple(mutates_args)
        definition = CustomOpDef(name, function, changed)
        _registered[name] = definition
        namespace = ops.__dict__.setdefault(definition._namespace, SimpleNamespace())
        setattr(namespace, definition._name, definition)
        return definition

    return make if fn is None else make(fn)


def _find(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _registered:
        raise RuntimeError(f"There is no custom op named {op!r}. Define it with custom_op first.")
    return _registered[op]


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """Register the gradient of a custom op, given as the op or its name. `lib` has no effect.

    >>> @T.library.custom_op("example::cube", mutates_args=())
    ... def cube(x: T.Tensor) -> T.Tensor:
    ...     return x**3
    >>> save = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    >>> backward = lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad
    >>> T.library.register_autograd("example::cube", backward, setup_context=save)
    >>> T.autograd.grad(cube(x := T.tensor(2.0, requires_grad=True)), x)
    (tensor(12.),)
    """
    _find(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op: Any, fn: Callable[..., Any] | None = None, /) -> Any:
    """Accepted and ignored: only PyTorch's compilers need shapes without values."""
    definition = _find(op)
    return definition.register_fake if fn is None else definition.register_fake(fn)


__getattr__ = answer(__name__)
