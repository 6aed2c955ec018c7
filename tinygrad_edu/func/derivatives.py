"""Gradients, products with Jacobians, and Jacobians, of functions of tensors."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..array.tensor import Tensor
from ..autograd.engine import grad as gradients
from ..autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, set_grad_enabled
from ..core.graph import gradient_edge
from ..ops import functions as F
from .trees import Function, filled, mapped
from .trees import leaves as leaves_of

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]

# --- one level of differentiation -------------------------------------------------------------------------------------


@contextmanager
def _recording() -> Iterator[None]:
    """Inside `with`: ops are recorded, whatever the caller has switched off."""
    with inference_mode(False), enable_grad():
        yield


def _fresh(t: Any) -> Tensor:
    """A tensor to differentiate with respect to. It is joined to the graph of `t`, if `t` is in one."""
    if not isinstance(t, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
    return t.view_as(t) if t.requires_grad else (t.clone() if t.is_inference() else t.detach()).requires_grad_()


def _reaches_beyond(roots: Iterable[Any], own: Iterable[Tensor]) -> bool:
    """True if the graph behind `roots` ends in leaves that are not in `own`."""
    ours = {id(gradient_edge(t)[0]) for t in own if t.is_leaf}
    stack = [t.grad_fn for t in roots if isinstance(t, Tensor) and t.grad_fn is not None]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if hasattr(node, "variable") and id(node) not in ours:
            return True
        stack.extend(n for n, _ in node.next_functions if n is not None)
    return False


def _settled(tree: Any, keep: bool) -> Any:
    return tree if keep else mapped(lambda t: t.detach() if isinstance(t, Tensor) else t, tree)


def _parts(args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The arguments to differentiate with respect to, as fresh tensors; and all arguments, with these among them."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    if len(set(numbers)) < len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    fresh = tuple(mapped(_fresh, args[n]) for n in numbers)
    every = list(args)
    for n, value in zip(numbers, fresh, strict=True):
        every[n] = value
    return (fresh[0] if isinstance(argnums, int) else fresh), tuple(every)


def _split(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True, got "
            f"{type(result)}"
        )
    return result


def _derived(outputs: list[Any], wanted: list[Tensor], vectors: list[Any] | None, keep: bool) -> list[Tensor]:
    """The gradients of `outputs`, weighted by `vectors`; zeros where nothing depends on a tensor."""
    pairs = [(o, None if vectors is None else vectors[i]) for i, o in enumerate(outputs) if o.requires_grad]
    if not pairs:
        return [F["zeros_like"](t) for t in wanted]
    starts, along = zip(*pairs, strict=True)
    found = gradients(starts, wanted, along, create_graph=keep, retain_graph=True, allow_unused=True)
    return [F["zeros_like"](t) if g is None else g for g, t in zip(found, wanted, strict=True)]


# --- transforms -------------------------------------------------------------------------------------------------------


def grad_and_value(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of a scalar-valued `func`, and its value (and with `has_aux`, the aux).

    >>> T.func.grad_and_value(lambda x: x ** 2)(T.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outer = is_grad_enabled()
        with _recording():
            by, every = _parts(args, argnums)
            output, aux = _split(func(*every, **kwargs), has_aux, "grad_and_value")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.ndim:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            leaves = leaves_of(by)
            keep = outer and _reaches_beyond([output], leaves)
            found = filled(by, _derived([output], leaves, None, keep))
        value = _settled(output, keep)
        return (_settled(found, keep), (value, _settled(aux, keep))) if has_aux else (_settled(found, keep), value)

    return wrapper


def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of a scalar-valued `func` with respect to its argument `argnums`.

    >>> cube = lambda x: x ** 3
    >>> T.func.grad(T.func.grad(cube))(T.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func`, and a function that maps a vector v to vᵀ·J for each argument (and with `has_aux`, the aux).

    >>> value, vjp_fn = T.func.vjp(lambda x: x ** 2, T.tensor([1.0, 2.0]))
    >>> vjp_fn(T.ones(2))
    (tensor([2., 4.]),)
    """
    outer = is_grad_enabled()
    with _recording():
        by = tuple(mapped(_fresh, p) for p in primals)
        output, aux = _split(func(*by), has_aux, "vjp")
    outs, leaves = leaves_of(output), leaves_of(by)
    _check_outputs(outs, "vjp(f, *primals): expected f(*primals)")
    keep = outer and _reaches_beyond(outs, leaves)

    def products(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors = leaves_of(cotangents)
        for v in vectors:
            if not isinstance(v, Tensor):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(v).__name__}")
        if len(vectors) != len(outs):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be of {len(outs)} tensors, got {len(vectors)}"
            )
        again = keep or any(v.requires_grad for v in vectors)
        with set_grad_enabled(True):
            return _settled(filled(by, _derived(outs, leaves, vectors, again)), again)

    value = _settled(output, keep)
    return (value, products, _settled(aux, keep)) if has_aux else (value, products)


def jvp(func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, has_aux: bool = False) -> Any:
    """The value of `func`, and J·v for the tangents v. It takes two backward passes, because vᵀ·J is linear in v.

    >>> T.func.jvp(lambda x: x ** 2, (T.tensor(3.0),), (T.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple, and tangents too. E.g. it should be valid to "
            "call f(*primals)."
        )
    outer = is_grad_enabled()
    with _recording():
        by = tuple(mapped(_fresh, p) for p in primals)
        output, aux = _split(func(*by), has_aux, "jvp")
        outs, leaves, along = leaves_of(output), leaves_of(by), leaves_of(tangents)
        _check_outputs(outs, "jvp(f, primals, tangents): expected f(*args)")
        if len(leaves) != len(along):
            raise RuntimeError(
                "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For "
                f"example, if primals is a tuple of 3 tensors, tangents also must be. Got {len(leaves)} and "
                f"{len(along)} tensors."
            )
        keep = outer and (_reaches_beyond(outs, leaves) or any(t.requires_grad for t in along))
        for t, tangent in zip(leaves, along, strict=True):
            if t.shape != tangent.shape:
                raise RuntimeError(
                    "Trying to set a forward gradient that has a different size than that of the original Tensor, this "
                    f"is not supported. Tensor is of size {list(t.shape)} while the given forward gradient is of size "
                    f"{list(tangent.shape)}."
                )
        moved = filled(output, _pushed(outs, leaves, along, keep))
    value, moved = _settled(output, keep), _settled(moved, keep)
    return (value, moved, _settled(aux, keep)) if has_aux else (value, moved)


def _check_outputs(outs: list[Any], opening: str) -> None:
    for o in outs:
        if not isinstance(o, Tensor):
            raise RuntimeError(f"{opening} to return only tensors, got unsupported type {type(o)}")


def _pushed(outs: list[Any], leaves: list[Tensor], along: list[Any], keep: bool) -> list[Tensor]:
    vectors = [F["zeros_like"](o).requires_grad_() for o in outs]
    back = _derived(outs, leaves, vectors, True)
    return _derived(back, vectors, along, keep)


# --- Jacobians and Hessians -------------------------------------------------------------------------------------------


def jacrev(
    func: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: Any = None
) -> Function:
    """A function that returns the Jacobian of `func`, row by row. Its shape is the output's, then the argument's.

    >>> T.func.jacrev(lambda x: x ** 2)(T.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian(func, argnums, has_aux, _rows, "jacrev")


def jacfwd(
    func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """A function that returns the Jacobian of `func`, computed column by column.

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
            keep = outer and _reaches_beyond(outs, leaves)
            table = [filled(by, row) for row in compute(outs, leaves, keep)]
        result = _settled(filled(output, table) if not isinstance(output, Tensor) else table[0], keep)
        return (result, _settled(aux, keep)) if has_aux else result

    return wrapper


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

    >>> T.func.hessian(lambda x: (x ** 3).sum())(T.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
