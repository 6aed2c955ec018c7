"""Function transforms: gradients, Jacobians, and batching with `vmap` (PyTorch: `torch.func`).

They nest: `grad(grad(f))`, `vmap(grad(f))`. Each level differentiates with respect to its own tensors, and gradients of
the caller's tensors flow through them. `vmap` is a loop over the batch: its values are PyTorch's, its speed is a loop's.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from .autograd.engine import grad as gradients
from .autograd.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from .compat.later import later
from .core.node import gradient_edge
from .nn.module import Module
from .ops import functions as F
from .tensor import Tensor

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

Function = Callable[..., Any]


# --- trees: tensors in tuples, lists and dicts ---------------------------------------------------------------------------


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in _leaves(item)]
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in _leaves(item)]
    return [tree]


def _mapped(function: Function, tree: Any) -> Any:
    """The tree with `function` applied to each leaf."""
    if isinstance(tree, tuple | list):
        items = [_mapped(function, item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if isinstance(tree, dict):
        return type(tree)((key, _mapped(function, item)) for key, item in tree.items())
    return function(tree)


def _filled(tree: Any, values: Iterable[Any]) -> Any:
    """The tree with its leaves replaced by `values`, in order."""
    rest = iter(values)
    return _mapped(lambda leaf: next(rest), tree)


# --- one level of differentiation ------------------------------------------------------------------------------------------


def _fresh(t: Any) -> Tensor:
    """A tensor to differentiate with respect to. It is joined to the graph of `t`, if `t` is in one."""
    if not isinstance(t, Tensor):
        raise ValueError(f"expected a Tensor to differentiate with respect to, but got {type(t).__name__}")
    return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()


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
    return tree if keep else _mapped(lambda t: t.detach() if isinstance(t, Tensor) else t, tree)


def _parts(args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The arguments to differentiate with respect to, as fresh tensors; and all arguments, with these in their places."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    fresh = tuple(_mapped(_fresh, args[n]) for n in numbers)
    every = list(args)
    for n, value in zip(numbers, fresh, strict=True):
        every[n] = value
    return (fresh[0] if isinstance(argnums, int) else fresh), tuple(every)


def _split(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True, got {type(result)}"
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


# --- transforms --------------------------------------------------------------------------------------------------------------


def grad_and_value(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of a scalar-valued `func`, and its value (and with `has_aux`, the aux).

    >>> import tinygrad_edu as T
    >>> T.func.grad_and_value(lambda x: x ** 2)(T.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outer = is_grad_enabled()
        with enable_grad():
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
            leaves = _leaves(by)
            keep = outer and _reaches_beyond([output], leaves)
            found = _filled(by, _derived([output], leaves, None, keep))
        value = _settled(output, keep)
        return (_settled(found, keep), (value, _settled(aux, keep))) if has_aux else (_settled(found, keep), value)

    return wrapper


def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of a scalar-valued `func` with respect to its argument `argnums`.

    Example:
        >>> import tinygrad_edu as T
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

    >>> import tinygrad_edu as T
    >>> value, vjp_fn = T.func.vjp(lambda x: x ** 2, T.tensor([1.0, 2.0]))
    >>> vjp_fn(T.ones(2))
    (tensor([2., 4.]),)
    """
    outer = is_grad_enabled()
    with enable_grad():
        by = tuple(_mapped(_fresh, p) for p in primals)
        output, aux = _split(func(*by), has_aux, "vjp")
    outs, leaves = _leaves(output), _leaves(by)
    keep = outer and _reaches_beyond(outs, leaves)

    def product(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors = _leaves(cotangents)
        if len(vectors) != len(outs):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be of {len(outs)} tensors, got {len(vectors)}"
            )
        again = keep or any(v.requires_grad for v in vectors)
        with set_grad_enabled(True):
            found = _filled(by, _derived(outs, leaves, vectors, again))
        found = _settled(found, again)
        return found[0] if len(primals) == 1 and not isinstance(primals[0], tuple) else found

    def products(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        found = product(cotangents, retain_graph, create_graph)
        return found if isinstance(found, tuple) else (found,)

    value = _settled(output, keep)
    return (value, products, _settled(aux, keep)) if has_aux else (value, products)


def jvp(func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, has_aux: bool = False) -> Any:
    """The value of `func`, and J·v for the tangents v. It takes two backward passes, because vᵀ·J is linear in v.

    >>> import tinygrad_edu as T
    >>> T.func.jvp(lambda x: x ** 2, (T.tensor(3.0),), (T.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to be tuples.")
    outer = is_grad_enabled()
    with enable_grad():
        by = tuple(_mapped(_fresh, p) for p in primals)
        output, aux = _split(func(*by), has_aux, "jvp")
        outs, leaves, along = _leaves(output), _leaves(by), _leaves(tangents)
        keep = outer and (_reaches_beyond(outs, leaves) or any(t.requires_grad for t in along))
        moved = _filled(output, _pushed(outs, leaves, along, keep))
    value, moved = _settled(output, keep), _settled(moved, keep)
    return (value, moved, _settled(aux, keep)) if has_aux else (value, moved)


def _pushed(outs: list[Any], leaves: list[Tensor], along: list[Any], keep: bool) -> list[Tensor]:
    vectors = [F["zeros_like"](o).requires_grad_() for o in outs]
    back = _derived(outs, leaves, vectors, True)
    return _derived(back, vectors, along, keep)


def jacrev(
    func: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: Any = None
) -> Function:
    """A function that returns the Jacobian of `func`, row by row. Its shape is the output's, then the argument's.

    >>> import tinygrad_edu as T
    >>> T.func.jacrev(lambda x: x ** 2)(T.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
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
        with enable_grad():
            by, every = _parts(args, argnums)
            output, aux = _split(func(*every, **kwargs), has_aux, name)
            outs, leaves = _leaves(output), _leaves(by)
            keep = outer and _reaches_beyond(outs, leaves)
            table = [_filled(by, row) for row in compute(outs, leaves, keep)]
        result = _settled(_filled(output, table) if not isinstance(output, Tensor) else table[0], keep)
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

    >>> import tinygrad_edu as T
    >>> T.func.hessian(lambda x: (x ** 3).sum())(T.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# --- over a batch --------------------------------------------------------------------------------------------------------------


def vmap(
    func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Function:
    """A function that runs `func` on each sample of a batch and stacks the results. It is a loop, and not faster than one.

    Args:
        in_dims: the batch dimension of each argument; None for an argument that all samples share.
        out_dims: where the batch dimension goes in the results.

    >>> import tinygrad_edu as T
    >>> dots = T.func.vmap(T.dot, in_dims=(0, None))
    >>> dots(T.tensor([[1.0, 2.0], [3.0, 4.0]]), T.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        dims = _spread(in_dims, args)
        leaves, places = _leaves(args), _leaves(dims)
        if not any(place is not None for place in places):
            raise ValueError(
                f"vmap({func.__name__}, in_dims={in_dims}, ...): at least one of the inputs must be mapped over."
            )
        sizes = []
        for leaf, place in zip(leaves, places, strict=True):
            if place is None:
                continue
            if not isinstance(leaf, Tensor):
                raise ValueError(
                    f"vmap({func.__name__}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={place} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
                    "arguments, please use None as the respective in_dim"
                )
            if not -leaf.ndim <= place < leaf.ndim:
                raise ValueError(
                    f"vmap: Got in_dim={place} for some input, but that input is a Tensor of dimensionality {leaf.ndim}"
                )
            sizes.append(leaf.shape[place])
        if len(set(sizes)) > 1:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
                "dimension"
            )
        results = []
        for i in range(sizes[0]):
            sample = [v if d is None else v.select(d, i) for v, d in zip(leaves, places, strict=True)]
            results.append(func(*_filled(args, sample), **kwargs))
        if not results:
            raise ValueError(
                "vmap: an empty batch does not determine the shape of the result. Call it with at least one sample."
            )
        outs = [_leaves(r) for r in results]
        for leaf in outs[0]:
            if not isinstance(leaf, Tensor):
                raise ValueError(
                    f"vmap({func.__name__}, ...): `{func.__name__}` must only return Tensors, got type {type(leaf)}."
                )
        to = _leaves(_spread(out_dims, results[0] if isinstance(results[0], tuple) else (results[0],)))
        stacked = [F["stack"](list(column), d) for column, d in zip(zip(*outs, strict=True), to, strict=True)]
        return _filled(results[0], stacked)

    return wrapper


def _spread(dims: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """One dimension for each leaf, in the structure of `args`."""
    each = tuple(dims) if isinstance(dims, tuple | list) else (dims,) * len(args)
    if len(each) != len(args):
        raise ValueError(
            f"in_dims is not compatible with the structure of inputs: {len(each)} for {len(args)} arguments"
        )
    return tuple(_over(d, arg) for d, arg in zip(each, args, strict=True))


def _over(dim: Any, arg: Any) -> Any:
    if isinstance(dim, tuple | list):
        return tuple(_over(d, a) for d, a in zip(dim, arg, strict=True))
    if isinstance(dim, dict):
        return {key: _over(dim[key], value) for key, value in arg.items()}
    # A dimension given once holds for all tensors below it; values that are not tensors are shared.
    return _mapped(lambda leaf: dim, arg)


# --- modules as functions --------------------------------------------------------------------------------------------------------


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    """Call `module` with other tensors as its parameters and buffers, given by their paths. The module does not change.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.Linear(1, 1)
    >>> T.func.functional_call(layer, {"weight": T.tensor([[2.0]]), "bias": T.tensor([1.0])}, T.tensor([3.0]))
    tensor([7.])
    """
    given: dict[str, Tensor] = {}
    dicts = (
        parameter_and_buffer_dicts
        if isinstance(parameter_and_buffer_dicts, tuple | list)
        else (parameter_and_buffer_dicts,)
    )
    for values in dicts:
        given.update(values)
    known = dict(
        itertools.chain(module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))
    )
    unexpected, missing = [n for n in given if n not in known], [n for n in known if n not in given]
    if strict and (unexpected or missing):
        raise RuntimeError(f"Error(s) in loading functional_call: missing {missing}, unexpected {unexpected}")
    swapped = {id(known[n]): t for n, t in given.items() if n in known} if tie_weights else {}
    undo: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for path, old in known.items():
            new = given.get(path, swapped.get(id(old)))
            if new is not None:
                above, _, name = path.rpartition(".")
                owner = module.get_submodule(above)
                table = owner._parameters if name in owner._parameters else owner._buffers
                undo.append((table, name, table[name]))  # type: ignore[arg-type]
                table[name] = new  # type: ignore[assignment]
        arguments = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*arguments, **(kwargs or {}))
    finally:
        for table, name, old in reversed(undo):
            table[name] = old


def stack_module_state(models: list[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one kind, stacked for `functional_call` under `vmap`."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    tables = []
    for named in ("named_parameters", "named_buffers"):
        each = [dict(getattr(m, named)()) for m in models]
        stacked = {name: F["stack"]([e[name].detach() for e in each]) for name in each[0]}
        if named == "named_parameters":
            stacked = {n: t.requires_grad_(each[0][n].requires_grad) for n, t in stacked.items()}
        tables.append(stacked)
    return tables[0], tables[1]


__getattr__ = later(__name__, {}, "It has grad, vjp, jvp, jacrev, jacfwd, hessian, vmap and functional_call.")
