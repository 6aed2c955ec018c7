"""Jacobians and Hessians as functions (PyTorch: `torch.func`)."""

from __future__ import annotations

import functools
from typing import Any

from ...array.tensor import Tensor
from ...autograd.grad_mode import is_grad_enabled
from ...func.derivatives import (
    _check_outputs,
    _derived,
    _fresh,
    _parts,
    _pushed,
    _reaches_beyond,
    _recording,
    _settled,
    _split,
)
from ...func.trees import Function, filled, mapped
from ...func.trees import leaves as leaves_of
from ...ops import functions as F

__all__ = ["debug_unwrap", "functionalize", "hessian", "jacfwd", "jacrev", "linearize"]


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The value of `func`, and a function of tangents v that returns J·v there, without running `func` again.

    Example:
        >>> import tinygrad_edu as T
        >>> value, product = T.func.linearize(T.exp, T.tensor(0.0))
        >>> value, product(T.tensor(3.0))
        (tensor(1.), tensor(3.))
    """
    with _recording():
        by = tuple(mapped(_fresh, p) for p in primals)
        output = func(*by)
    outs, leaves = leaves_of(output), leaves_of(by)
    _check_outputs(outs, "linearize(f, *primals): expected f(*primals)")

    def product(*tangents: Any) -> Any:
        along = leaves_of(tangents)
        if len(along) != len(leaves):
            raise RuntimeError(
                f"Expected the tangents to have the same argspec as the primals: {len(leaves)} tensors, got {len(along)}"
            )
        for i, (t, like) in enumerate(zip(along, leaves, strict=True)):
            for what in ("shape", "dtype"):
                if getattr(t, what) != getattr(like, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} "
                        f"{getattr(like, what)} of the corresponding primal."
                    )
        with _recording():
            moved = _pushed(outs, leaves, along, False)
        return _settled(filled(output, moved), False)

    return _settled(output, False), product


def jacrev(
    func: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: Any = None
) -> Function:
    """A function that returns the Jacobian of `func`, row by row. Its shape is the output's, then the argument's.

    >>> import tinygrad_edu as T
    >>> T.func.jacrev(lambda x: x ** 2)(T.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacobian(func, argnums, has_aux, _rows, "jacrev")


def jacfwd(
    func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """A function that returns the Jacobian of `func`, computed column by column.

    >>> import tinygrad_edu as T
    >>> T.func.jacfwd(lambda x: x ** 2)(T.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian(func, argnums, has_aux, _columns, "jacfwd")


def _jacobian(func: Function, argnums: Any, has_aux: bool, compute: Function, name: str) -> Function:
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outer = is_grad_enabled()
        with _recording():
            by, every = _parts(args, argnums)
            output, aux = _split(func(*every, **kwargs), has_aux, name)
            outs, leaves = leaves_of(output), leaves_of(by)
            _check_outputs(outs, "vjp(f, *primals): expected f(*primals)")
            for what, tensors in (("inputs", leaves), ("outputs", outs)):
                _refuse_complex(tensors, what, name)
            keep = outer and _reaches_beyond(outs, leaves)
            table = [filled(by, row) for row in compute(outs, leaves, keep)]
        result = _settled(filled(output, table) if not isinstance(output, Tensor) else table[0], keep)
        return (result, _settled(aux, keep)) if has_aux else result

    return wrapper


def _refuse_complex(tensors: list[Any], what: str, name: str) -> None:
    for i, t in enumerate(tensors):
        if isinstance(t, Tensor) and t.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}. Use "
                "view_as_real and view_as_complex around the function."
            )


def _rows(outs: list[Any], leaves: list[Tensor], keep: bool) -> list[list[Tensor]]:
    table = []
    for o in outs:
        rows = [_derived([o], leaves, [one], keep) for one in _units(o)]
        columns = zip(*rows, strict=True) if rows else [()] * len(leaves)
        table.append([_stacked(c, (*o.shape, *t.shape), t) for c, t in zip(columns, leaves, strict=True)])
    return table


def _columns(outs: list[Any], leaves: list[Tensor], keep: bool) -> list[list[Tensor]]:
    table: list[list[Tensor]] = [[] for _ in outs]
    vectors = [F["zeros_like"](o).requires_grad_() for o in outs]
    back = _derived(outs, leaves, vectors, True)
    for i, t in enumerate(leaves):
        columns = [_derived([back[i]], vectors, [one], keep) for one in _units(t)]
        for j, o in enumerate(outs):
            stacked = _stacked([c[j] for c in columns], (*t.shape, *o.shape), o)
            order = (*range(t.ndim, t.ndim + o.ndim), *range(t.ndim))
            table[j].append(stacked.permute(order))
    return table


def _units(t: Tensor) -> list[Tensor]:
    """One tensor per element of `t`: zeros with a 1 at that element."""
    flat = F["eye"](t.numel(), dtype=t.dtype)
    return [row.reshape(t.shape) for row in flat]


def _stacked(parts: Any, shape: tuple[int, ...], like: Tensor) -> Tensor:
    return F["stack"](list(parts)).reshape(shape) if parts else F["zeros"](shape, dtype=like.dtype)


def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """A function that returns the Hessian of `func`: the Jacobian of its Jacobian.

    >>> import tinygrad_edu as T
    >>> T.func.hessian(lambda x: (x ** 3).sum())(T.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Function, *, remove: str = "mutations") -> Function:
    """`func` itself. Nothing is compiled here, so in-place writes may stay as they are.

    >>> import tinygrad_edu as T
    >>> T.func.functionalize(lambda x: x.clone().add_(1))(T.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}.")
    return functools.wraps(func)(lambda *args, **kwargs: func(*args, **kwargs))


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor itself. Tensors inside a transform are ordinary ones here and can be printed.

    >>> import tinygrad_edu as T
    >>> T.func.vmap(lambda x: T.func.debug_unwrap(x) * 2)(T.ones(2))
    tensor([2., 2.])
    """
    return tensor
