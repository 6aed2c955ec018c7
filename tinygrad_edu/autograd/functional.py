"""Jacobians, Hessians and their products with vectors, of a function given as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..array.tensor import Tensor, wrap
from ..seam.later import later, names_of
from . import engine, forward_ad, grad_mode

__all__ = ["hessian", "jacobian", *names_of("autograd.functional")]

Tensors = tuple[Tensor, ...]


# --- arguments and results -------------------------------------------------------------------------------------------


def _as_tensors(given: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """`given` as a tuple, and whether it was one; an error if something in it is not a Tensor."""
    if not isinstance(given, tuple):
        if not isinstance(given, Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the given {what} has "
                f"type {type(given)}."
            )
        return False, (given,)
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the value at index {i} "
                f"has type {type(t)}."
            )
    return True, given


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


# --- strict mode: what is zero because nothing depends on it is an error ---------------------------------------------


def _independent(what: str, hint: str = "") -> NoReturn:
    raise RuntimeError(f"{what} This is not allowed in strict mode{hint}.")


def _check_outputs(outputs: Tensors, strict: bool) -> None:
    for i, t in enumerate(outputs):
        if strict and not t.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )


def _check_first_gradients(grads: Sequence[Tensor | None], strict: bool, of_jacobian: bool) -> None:
    """Gradients that are to be differentiated again must depend on the inputs."""
    for i, t in enumerate(grads if strict else ()):
        if t is None:
            _independent(f"The output of the user-provided function is independent of input {i}.")
        if t.requires_grad:
            continue
        if of_jacobian:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to input "
                f"{i} is independent of the input. This is not allowed in strict mode. You should ensure that your function "
                "is twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
                "function for example)."
            )
        _independent(
            f"The gradient with respect to input {i} is independent of the inputs of the user-provided function."
        )


def _filled(
    grads: Sequence[Tensor | None], like: Tensors, strict: bool, create_graph: bool, missing: str, second: bool
) -> Tensors:
    """Zeros where there is no gradient; under `strict` that is an error, `missing` with the number filled in."""
    results = []
    for i, (grad, t) in enumerate(zip(grads, like, strict=True)):
        if grad is None:
            if strict:
                _independent(missing.format(i))
            grad = wrap(np.zeros_like(t._data))
        elif strict and create_graph and not grad.requires_grad:
            what = "hessian" if second else "jacobian"
            _independent(
                f"The {what} of the user-provided function is independent of input {i}.", " when create_graph=True"
            )
        results.append(grad)
    return tuple(results)


# --- products --------------------------------------------------------------------------------------------------------


# --- whole matrices --------------------------------------------------------------------------------------------------


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`: every derivative of every element of its outputs.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: a Tensor or a tuple of them.
        create_graph: let the result be differentiated again.
        strict: an error where an output depends on no input, instead of zeros.
        vectorize: accepted without effect: rows, or columns, are computed one after the other.
        strategy: "reverse-mode", a backward pass for each element of the outputs; or "forward-mode", a run of `func` for
            each element of the inputs, better where there are fewer of these.

    Returns:
        For one input and one output a Tensor of the shape of the output followed by that of the input; else tuples of
        them: by outputs, then by inputs.

    Example:
        >>> import tinygrad_edu as T
        >>> T.autograd.functional.jacobian(lambda x: x * x, T.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    if vectorize and strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    with grad_mode.enable_grad():
        inputs_tuple, xs = _as_tensors(inputs, "inputs", "jacobian")
        xs = _fresh(xs, create_graph)
        outputs_tuple, outputs = _as_tensors(func(*xs), "outputs of the user-provided function", "jacobian")
        _check_outputs(outputs, strict)
        result = []
        for i, out in enumerate(outputs):
            rows: list[Tensors] = []
            for element in range(out.numel()):
                grads = _grad((out.reshape(-1)[element],), xs, retain_graph=True, create_graph=create_graph)
                if strict and None in [g if g is None else 0 for g in grads]:
                    k = next(k for k, g in enumerate(grads) if g is None)
                    _independent(f"Output {i} of the user-provided function is independent of input {k}.")
                rows.append(_filled(grads, xs, strict, create_graph, "", second=False))
            blocks = (
                _stacked([row[k] for row in rows]).view(tuple(out.shape) + tuple(x.shape)) for k, x in enumerate(xs)
            )
            result.append(_unpacked(_finished(list(blocks), create_graph), inputs_tuple))
    return _unpacked(result, outputs_tuple)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of `func`, which returns one number: every second derivative.

    Args:
        outer_jacobian_strategy: how the gradient is differentiated; with "forward-mode" forward over reverse.

    The other arguments are those of `jacobian`.

    Returns:
        For one input a Tensor of its shape twice; for a tuple of them a tuple of tuples.

    >>> import tinygrad_edu as T
    >>> T.autograd.functional.hessian(lambda x: (x**3).sum(), T.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    inputs_tuple, xs = _as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def one_number(*arguments: Tensor) -> Tensor:
        returned = func(*arguments)
        is_tuple, outputs = _as_tensors(returned, "outputs of the user-provided function", "hessian")
        _check_outputs(outputs, strict)
        if is_tuple:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if returned.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return returned.squeeze()

    def gradient(*arguments: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple(t.requires_grad_() for t in arguments)
        first = jacobian(one_number, arguments, create_graph=True)
        _check_first_gradients(first, strict, of_jacobian=True)
        return first

    result = jacobian(
        gradient, xs, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy
    )
    return result if inputs_tuple else result[0][0]


def _forward_jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """The Jacobian column by column: each element of the inputs moves in turn."""
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together '
            '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    inputs_tuple, xs = _as_tensors(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`. Here too it has to be said; the columns are then computed one after the other."
        )
    columns: list[list[np.ndarray]] = []
    shapes: list[tuple[int, ...]] = []
    outputs_tuple = False
    for k, x in enumerate(xs):
        for at in np.ndindex(x._data.shape):
            with forward_ad.dual_level():
                direction = np.zeros_like(x._data)
                direction[at] = 1
                duals = [
                    forward_ad.make_dual(y.detach(), wrap(direction) if k == i else forward_ad.zero_tangent(y))
                    for i, y in enumerate(xs)
                ]
                outputs_tuple, outputs = _as_tensors(func(*duals), "outputs of the user-provided function", "jacobian")
                shapes = [o._data.shape for o in outputs]
                tangents = [forward_ad.tangent_of(o) for o in outputs]
                columns.append(
                    [
                        np.zeros_like(o._data) if t is None else t._data.copy()
                        for o, t in zip(outputs, tangents, strict=True)
                    ]
                )
    result = []
    for j, shape in enumerate(shapes):
        blocks, start = [], 0
        for x in xs:
            mine = [column[j] for column in columns[start : start + x.numel()]]
            start += x.numel()
            block = np.stack(mine, axis=-1) if mine else np.zeros((*shape, 0), x._data.dtype)
            blocks.append(wrap(block.reshape(shape + x._data.shape)))
        result.append(_unpacked(blocks, inputs_tuple))
    return _unpacked(result, outputs_tuple)


def _stacked(rows: list[Tensor]) -> Tensor:
    if not rows:
        raise RuntimeError(
            "stack expects a non-empty TensorList: an output without elements has no row of derivatives."
        )
    return rows[0]._stacked(rows[1:])


__getattr__ = later(__name__, "It has jacobian, hessian, jvp, vjp, hvp and vhp.")
