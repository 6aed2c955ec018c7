"""Jacobians, Hessians and their products with vectors, of a function given as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.absent import SMALL
from ..array.tensor import Tensor, wrap
from . import engine, grad_mode

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]


# --- arguments and results -------------------------------------------------------------------------------------------


def _as_tensors(given: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """`given` as a tuple, and whether it was one; an error if something in it is not a Tensor."""
    is_tuple = isinstance(given, tuple)
    items = given if is_tuple else (given,)
    for i, t in enumerate(items):
        if not isinstance(t, Tensor):
            which = f"value at index {i}" if is_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has "
                f"type {type(t)}."
            )
    return is_tuple, items


def _fresh(tensors: Tensors, create_graph: bool, need_graph: bool = True) -> Tensors:
    """The tensors to differentiate by: apart from the caller's graph, or, to differentiate again, joined to it."""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph) for t in tensors
    )


def _finished(tensors: Sequence[Tensor], create_graph: bool) -> Tensors:
    return tuple(tensors) if create_graph else tuple(t.detach() for t in tensors)


def _unpacked(tensors: Sequence[Any], as_tuple: bool) -> Any:
    return tuple(tensors) if as_tuple else tensors[0]


def _grad(
    outputs: Sequence[Any], inputs: Tensors, grad_outputs: Any = None, **options: Any
) -> tuple[Tensor | None, ...]:
    """As `autograd.grad`, from those outputs that are in the graph; None for an input that none of them depends on."""
    grads = grad_outputs if grad_outputs is not None else (None,) * len(outputs)
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    starts, vectors = zip(*pairs, strict=True)
    return engine.grad(starts, inputs, vectors, allow_unused=True, **options)


def _filled(grads: Sequence[Tensor | None], like: Tensors) -> Tensors:
    """Zeros where there is no gradient, because nothing depends on that tensor."""
    zeros = (wrap(np.zeros_like(t._data)) for t in like)
    return tuple(zero if grad is None else grad for grad, zero in zip(grads, zeros, strict=True))


# --- whole matrices --------------------------------------------------------------------------------------------------


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """The Jacobian of `func` at `inputs`: every derivative of every element of its outputs.

    For one input and one output it is a Tensor of the shape of the output followed by that of the input; else tuples of
    them: by outputs, then by inputs. `create_graph` is as in `vjp`.

    >>> T.autograd.functional.jacobian(lambda x: x * x, T.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    with grad_mode.enable_grad():
        inputs_tuple, xs, outputs_tuple, outputs = _run("jacobian", func, inputs, create_graph, strict)
        result = []
        for out in outputs:
            rows: list[Tensors] = []
            for element in range(out.numel()):
                grads = _grad((out.reshape(-1)[element],), xs, retain_graph=True, create_graph=create_graph)
                rows.append(_filled(grads, xs))
            blocks = (
                _stacked([row[k] for row in rows]).view(tuple(out.shape) + tuple(x.shape)) for k, x in enumerate(xs)
            )
            result.append(_unpacked(_finished(list(blocks), create_graph), inputs_tuple))
    return _unpacked(result, outputs_tuple)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """The Hessian of `func`, which returns one number: every second derivative.

    For one input it is a Tensor of its shape twice; for a tuple of them a tuple of tuples.

    >>> T.autograd.functional.hessian(lambda x: (x**3).sum(), T.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    inputs_tuple, xs = _as_tensors(inputs, "inputs", "hessian")

    def gradient(*arguments: Tensor) -> Any:
        return jacobian(one_number, arguments, create_graph=True)

    def one_number(*arguments: Tensor) -> Tensor:
        returned = func(*arguments)
        _check_one_number("hessian", *_as_tensors(returned, "outputs of the user-provided function", "hessian"))
        return returned.squeeze()

    result = jacobian(gradient, xs, create_graph=create_graph, strict=strict)
    return result if inputs_tuple else result[0][0]


def _stacked(rows: list[Tensor]) -> Tensor:
    if not rows:
        raise RuntimeError(
            "stack expects a non-empty TensorList: an output without elements has no row of derivatives."
        )
    return rows[0]._stacked(rows[1:])


def _vector(
    v: Any, function: str, create_graph: bool, like: Tensors, like_is_tuple: bool, missing: str
) -> Tensors | None:
    """The vector of a product, checked against what it multiplies; None if that is one number, whose vector is 1."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(missing)
        return None
    _, vs = _as_tensors(v, "v", function)
    vs = _fresh(vs, create_graph, need_graph=False)
    if len(vs) != len(like):
        if like_is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(vs, like, strict=True)):
        if one.shape != other.shape:
            entry = f"Entry {i} in " if like_is_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {one.shape}.")
    return vs


_OF_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)
_OF_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func`, and the product vᵀ·J of a vector with its Jacobian at `inputs`: one backward pass.

    `v` is one Tensor for each output, of its shape; it may be left out where the output is one number. With
    `create_graph` the result can be differentiated again.

    >>> T.autograd.functional.vjp(lambda x: x * x, T.tensor([1.0, 2.0]), T.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with grad_mode.enable_grad():
        inputs_tuple, xs, outputs_tuple, outputs = _run("vjp", func, inputs, create_graph, strict)
        vs = _vector(v, "vjp", create_graph, outputs, outputs_tuple, _OF_OUTPUT)
    product = _product(outputs, xs, vs, xs, create_graph)
    return _unpacked(_finished(outputs, create_graph), outputs_tuple), _unpacked(product, inputs_tuple)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func`, and the product J·v of its Jacobian at `inputs` and a vector: a double backward.

    vᵀ·J is linear in v, so its derivative with respect to v, times a vector, is J times that vector: two backward
    passes. Forward mode (`autograd.forward_ad`) needs one forward pass instead. `v` is one Tensor for each input.

    >>> x, v = T.tensor([1.0, 2.0]), T.tensor([1.0, 1.0])
    >>> T.autograd.functional.jvp(lambda x: x**2, x, v)[1]
    tensor([2., 4.])
    """
    with grad_mode.enable_grad():
        inputs_tuple, xs, outputs_tuple, outputs = _run("jvp", func, inputs, create_graph, strict)
        vs = _vector(v, "jvp", create_graph, xs, inputs_tuple, _OF_INPUT)
        probes = _probes(outputs)
        first = _grad(outputs, xs, probes, create_graph=True)
    product = _product(first, probes, vs, outputs, create_graph)
    return _unpacked(_finished(outputs, create_graph), outputs_tuple), _unpacked(product, outputs_tuple)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func`, one number, and the product vᵀ·H of a vector with its Hessian: two backward passes.

    >>> x, v = T.tensor([1.0, 2.0]), T.tensor([1.0, 1.0])
    >>> T.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)[1]
    tensor([ 6., 12.])
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func`, one number, and the product H·v of its Hessian with a vector: three backward passes.

    If H is symmetric, as for functions that are twice continuously differentiable, `vhp` is a faster way to the same.

    >>> x, v = T.tensor([1.0, 2.0]), T.tensor([1.0, 1.0])
    >>> T.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)[1]
    tensor([ 6., 12.])
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with grad_mode.enable_grad():
        inputs_tuple, xs, outputs_tuple, outputs = _run(name, func, inputs, create_graph, strict)
        vs = _vector(v, name, create_graph, xs, inputs_tuple, _OF_INPUT)
        _check_one_number(name, outputs_tuple, outputs)
        first, by = _grad(outputs, xs, create_graph=True), xs
        if name == "hvp":
            # The double backward trick, as in jvp: vᵀ·H differentiated by v.
            by = _probes(xs)
            first = _grad(first, xs, by, create_graph=True)
    product = _product(first, by, vs, xs, create_graph)
    return _unpacked(_finished(outputs, create_graph), outputs_tuple), _unpacked(product, inputs_tuple)


def _run(
    name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
) -> tuple[bool, Tensors, bool, Tensors]:
    """The inputs as fresh tensors and the outputs of `func`, each with whether it is a tuple."""
    if strict:
        raise NotImplementedError(
            f"strict=True is not built. {SMALL}: a derivative is zero where nothing depends on an input."
        )
    inputs_tuple, xs = _as_tensors(inputs, "inputs", name)
    xs = _fresh(xs, create_graph)
    outputs_tuple, outputs = _as_tensors(func(*xs), "outputs of the user-provided function", name)
    return inputs_tuple, xs, outputs_tuple, outputs


def _check_one_number(name: str, outputs_tuple: bool, outputs: Tensors) -> None:
    if outputs_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def _probes(tensors: Tensors) -> Tensors:
    """Vectors to differentiate by. Their values do not matter, since what is differentiated is linear in them."""
    return tuple(wrap(np.zeros_like(t._data)).requires_grad_() for t in tensors)


def _product(outputs: Any, by: Tensors, vs: Any, like: Tensors, create_graph: bool) -> Tensors:
    """The last backward pass: the derivatives of `outputs`, weighted by `vs`, in the shapes of `like`."""
    with grad_mode.set_grad_enabled(create_graph or grad_mode.is_grad_enabled()):
        return _finished(_filled(_grad(outputs, by, vs, create_graph=create_graph), like), create_graph)
