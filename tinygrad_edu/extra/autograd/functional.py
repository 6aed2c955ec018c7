"""Products of vectors with Jacobians and Hessians (PyTorch: `torch.autograd.functional`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...array.tensor import wrap
from ...autograd import grad_mode
from ...autograd.functional import (
    Tensors,
    _as_tensors,
    _check_first_gradients,
    _check_outputs,
    _filled,
    _finished,
    _fresh,
    _grad,
    _unpacked,
)

__all__ = ["hvp", "jvp", "vhp", "vjp"]


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
    """The product vᵀ·J of a vector with the Jacobian of `func` at `inputs`: one backward pass.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: a Tensor or a tuple of them.
        v: one Tensor for each output, of its shape; you may leave it out if the output is one number. create_graph:
        allow the result to be differentiated again. strict: raise an error if an output depends on no input, instead of
        returning zeros.

    Returns:
        The outputs of `func`, and the product: one Tensor for each input.

    Example:
        >>> import tinygrad_edu as T
        >>> T.autograd.functional.vjp(lambda x: x * x, T.tensor([1.0, 2.0]), T.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with grad_mode.enable_grad():
        inputs_tuple, xs = _as_tensors(inputs, "inputs", "vjp")
        xs = _fresh(xs, create_graph)
        outputs_tuple, outputs = _as_tensors(func(*xs), "outputs of the user-provided function", "vjp")
        _check_outputs(outputs, strict)
        vs = _vector(v, "vjp", create_graph, outputs, outputs_tuple, _OF_OUTPUT)
    with grad_mode.set_grad_enabled(create_graph or grad_mode.is_grad_enabled()):
        grads = _grad(outputs, xs, vs, create_graph=create_graph)
        product = _filled(
            grads,
            xs,
            strict,
            create_graph,
            "The output of the user-provided function is independent of input {}.",
            second=False,
        )
    return (
        _unpacked(_finished(outputs, create_graph), outputs_tuple),
        _unpacked(_finished(product, create_graph), inputs_tuple),
    )


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product J·v of the Jacobian of `func` at `inputs` with a vector, by the double backward trick.

    vᵀ·J is linear in v, so its derivative with respect to v, times a vector, is J times that vector: two backward passes.
    Forward mode (`autograd.forward_ad`) needs one forward pass instead.

    Args:
        v: one Tensor for each input, of its shape; may be left out where the input is one number.

    The other arguments are those of `vjp`.

    Returns:
        The outputs of `func`, and the product: one Tensor for each output.

    >>> import tinygrad_edu as T
    >>> x, v = T.tensor([1.0, 2.0]), T.tensor([1.0, 1.0])
    >>> T.autograd.functional.jvp(lambda x: x**2, x, v)[1]
    tensor([2., 4.])
    """
    with grad_mode.enable_grad():
        inputs_tuple, xs = _as_tensors(inputs, "inputs", "jvp")
        xs = _fresh(xs, create_graph)
        vs = _vector(v, "jvp", create_graph, xs, inputs_tuple, _OF_INPUT)
        outputs_tuple, outputs = _as_tensors(func(*xs), "outputs of the user-provided function", "jvp")
        _check_outputs(outputs, strict)
        # Their values do not matter: the gradients of the inputs are linear in them.
        probes = tuple(wrap(np.zeros_like(o._data)).requires_grad_() for o in outputs)
        first = _grad(outputs, xs, probes, create_graph=True)
        _check_first_gradients(first, strict, of_jacobian=False)
    with grad_mode.set_grad_enabled(create_graph or grad_mode.is_grad_enabled()):
        grads = _grad(first, probes, vs, create_graph=create_graph)
        product = _filled(
            grads,
            outputs,
            strict,
            create_graph,
            "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
            "backward trick to compute forward mode gradients.",
            second=False,
        )
    return (
        _unpacked(_finished(outputs, create_graph), outputs_tuple),
        _unpacked(_finished(product, create_graph), outputs_tuple),
    )


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product vᵀ·H of a vector with the Hessian of `func`, which returns one number: two backward passes.

    Args:
        v: one Tensor for each input, of its shape; may be left out where the input is one number.

    The other arguments are those of `vjp`.

    Returns:
        The output of `func`, and the product: one Tensor for each input.

    >>> import tinygrad_edu as T
    >>> x, v = T.tensor([1.0, 2.0]), T.tensor([1.0, 1.0])
    >>> T.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)[1]
    tensor([ 6., 12.])
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product H·v of the Hessian of `func`, which returns one number, with a vector: three backward passes.

    If H is symmetric, as it is for functions that are twice continuously differentiable, `vhp` gives the same result
    faster.

    The arguments and the result are those of `vhp`.

    >>> import tinygrad_edu as T
    >>> x, v = T.tensor([1.0, 2.0]), T.tensor([1.0, 1.0])
    >>> T.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)[1]
    tensor([ 6., 12.])
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with grad_mode.enable_grad():
        inputs_tuple, xs = _as_tensors(inputs, "inputs", name)
        xs = _fresh(xs, create_graph)
        vs = _vector(v, name, create_graph, xs, inputs_tuple, _OF_INPUT)
        outputs_tuple, outputs = _as_tensors(func(*xs), "outputs of the user-provided function", name)
        _check_outputs(outputs, strict)
        if outputs_tuple:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        first = _grad(outputs, xs, create_graph=True)
        _check_first_gradients(first, strict, of_jacobian=True)
        if name == "hvp":
            # The double backward trick, as in jvp: vᵀ·H differentiated by v.
            probes = tuple(wrap(np.zeros_like(x._data)).requires_grad_() for x in xs)
            first, by = _grad(first, xs, probes, create_graph=True), probes
            missing = (
                "The hessian of the user-provided function is independent of entry {} in the grad_jacobian, so the double "
                "backward trick cannot replace forward mode AD."
            )
        else:
            by, missing = xs, "The jacobian of the user-provided function is independent of input {}."
    with grad_mode.set_grad_enabled(create_graph or grad_mode.is_grad_enabled()):
        grads = _grad(first, by, vs, create_graph=create_graph)
        product = _filled(grads, xs, strict, create_graph, missing, second=True)
    return (
        _unpacked(_finished(outputs, create_graph), outputs_tuple),
        _unpacked(_finished(product, create_graph), inputs_tuple),
    )
