"""How the function of an op becomes public.

`public` above it puts it into the tables of functions; `by_dimension` makes three that differ by a number; `method`,
`in_place`, `both_forms` and `operator` make of it what a class below it gives to Tensor.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array import dtypes
from ..array.absent import SMALL, refuse_tensors_of_pytorch
from ..array.tensor import Tensor, wrap
from ..modes import thread
from ..overrides import dispatch, overridable, refuse_switches
from .creation.factories import write_out
from .operands import refuse_write

__all__ = ["BOTH", "IN_WORDS", "NN", "Dims", "Sizes", "both_forms", "by_dimension", "functions", "in_place"]
__all__ += ["linalg_functions", "method", "nn_functions", "operator", "public"]

Dims = int | Sequence[int] | None  # None: all of them
Sizes = int | Sequence[int]  # one for each dimension, or one for all

# The public functions by name: the contents of `tinygrad_edu`, `tinygrad_edu.linalg` and `tinygrad_edu.nn.functional`.
functions: dict[str, Callable[..., Any]] = {}
linalg_functions: dict[str, Callable[..., Any]] = {}
nn_functions: dict[str, Callable[..., Any]] = {}
# The tables of a function that is in `nn.functional` alone, and of one that is in `tinygrad_edu` too.
NN, BOTH = (nn_functions,), (functions, nn_functions)

# For 1, 2 and 3 dimensions: what has so many, its sizes, those of a kernel, and numbers for examples.
IN_WORDS: dict[int, dict[str, Any]] = {
    n: {"what": what, "sizes": sizes, "kernel": kernel, "count": 2.0**n, "last": 2.0**n - 1, "half": (2.0**n - 1) / 2}
    | {word: ", ".join(size * n) for word, size in (("ones", "1"), ("twos", "2"), ("fours", "4"))}
    for n, what, sizes, kernel in (
        (1, "sequences", "L", "k"),
        (2, "images", "H, W", "kh, kw"),
        (3, "volumes", "D, H, W", "kd, kh, kw"),
    )
}

# The module in which pickle finds the functions of each table: it stores a function by its name.
_HOMES = {
    id(functions): "tinygrad_edu",
    id(nn_functions): "tinygrad_edu.nn.functional",
    id(linalg_functions): "tinygrad_edu.linalg",
}
_OPERANDS = (int, float, complex, np.ndarray, np.generic)
# The public form of each function.
_calls: dict[Callable[..., Any], Callable[..., Any]] = {}


def public(
    *aliases: str, where: tuple[dict[str, Callable[..., Any]], ...] = (functions,), number_first: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function of `ops` into each table of `where`, under its own name and `aliases`.

    A leading underscore is not part of the public name; it avoids a clash with another function of the module. The
    decorator returns the function unchanged: rules call it with arrays, which function modes do not see. `number_first`
    allows a number first, as in `pow(2, x)`.

    Example:
        @public("multiply")
        def mul(input, other): ...

        class ArithmeticMethods:
            mul_ = multiply_ = __imul__ = in_place(mul, Mul)
            mul = multiply = method(mul)
    """

    def bind(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.lstrip("_")
        call = _calls[function] = _checked(function, name, number_first)
        for table in where:
            call.__module__ = _HOMES[id(table)]
            table.update(dict.fromkeys((name, *aliases), call))
        return function

    return bind


def by_dimension(
    name: str, make: Callable[[int], Callable[..., Any]], where: tuple[dict[str, Callable[..., Any]], ...]
) -> list[Callable[..., Any]]:
    """The public functions for 1, 2 and 3 dimensions, `make(n)` each; that for one is in `tinygrad_edu`, too.

    In a name and a docstring, `{n}` and the words of `IN_WORDS` stand for what depends on the number.
    """
    made = []
    for n, words in IN_WORDS.items():
        function = make(n)
        function.__name__, function.__doc__ = name.format(n=n), (function.__doc__ or "").format(n=n, **words)
        made.append(public(where=BOTH if n == 1 else where)(function))
    return made


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a method of Tensor."""
    return _calls.get(function) or _checked(function, function.__name__.lstrip("_"))


def in_place(function: Callable[..., Any], op: Any) -> Callable[..., Any]:
    """The form with an underscore, which writes into its first tensor: by an Op, or a function that does the same."""
    name = f"{function.__name__.lstrip('_')}_"
    write = op if inspect.isfunction(op) else _writer(function, op)
    call = overridable(_allowed(write, name, function), name)
    call.__doc__ = f"In-place version of `{name[:-1]}`."
    return call


def both_forms(function: Callable[..., Any], op: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The method of Tensor, and its form with an underscore."""
    return method(function), in_place(function, op)


def operator(function: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """The function as an operator of Tensor. Function modes see it as `name`."""

    @functools.wraps(function)
    def call(self: Tensor, other: Any) -> Any:
        return _unusual_operands(function, call, self, other)

    call.__name__ = call.__qualname__ = name or function.__name__.lstrip("_")
    return call


def _allowed(write: Callable[..., Any], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """An in-place form that, where it fails, first says what autograd has against the write: PyTorch asks this before
    it looks at shapes and types."""

    @functools.wraps(write)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return write(*args, **kwargs)
        except TypeError:
            raise
        except Exception as error:
            if args and isinstance(args[0], Tensor):
                refuse_write(*args, *kwargs.values())
            _refuse_no_tensor(error, name, args, kwargs, function)
            raise

    return call


def _unusual_operands(function: Callable[..., Any], call: Callable[..., Any], self: Tensor, other: Any) -> Any:
    """An operator with a number or an array on its other side, or under a function mode, which sees it as `call`."""
    modes = thread.state.modes
    if not isinstance(other, Tensor):
        if not isinstance(other, _OPERANDS):
            refuse_tensors_of_pytorch((other,))
            return NotImplemented
        if isinstance(other, np.ndarray) and not modes:
            self, other = _as_numpy_has_them(self, other)
        elif isinstance(other, np.generic):
            other = dtypes.number(other)
    if modes:
        return dispatch(call, (self, other), {})
    return function(self, other)


def _as_numpy_has_them(self: Tensor, other: np.ndarray) -> tuple[Tensor, Tensor]:
    """A tensor and an array in NumPy's common dtype, if PyTorch uses it, too: float64 for float32 and 0-d float64."""
    kind = np.result_type(self.value.dtype, dtypes.of_outside(other.dtype))
    if kind == self.value.dtype == other.dtype:
        return self, wrap(other)
    dtype = dtypes.from_numpy_dtype(kind)
    return self if kind == self.value.dtype else self.to(dtype), wrap(other.astype(kind))


def _checked(function: Callable[..., Any], name: str, number_first: bool = False) -> Callable[..., Any]:
    """Check that a user's call has a Tensor among its arguments: for the rules, functions of `ops` take arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if thread.state.modes:
            return dispatch(call, args, kwargs)
        if kwargs and "out" in kwargs:
            out = kwargs.pop("out")
            if out is not None and name in ("sum", "prod", "cumsum", "cumprod"):
                kwargs = {"dtype": out.dtype, **kwargs}
            result = call(*args, **kwargs)
            if out is None:
                return result
            return write_out(result, out, function.__name__.lstrip("_"), (*args, *kwargs.values()))
        try:
            if kwargs or len(args) > 1:
                refuse_switches(name, function, args, kwargs)
            if args and isinstance(args[0], Tensor):
                if kwargs:
                    args, kwargs = _arranged(function, args, kwargs)
                    return function(*args, **kwargs)
                for arg in args:
                    if isinstance(arg, np.generic):
                        return function(*map(dtypes.number, args))
                return function(*args)
            return without_tensor_first(args, kwargs)
        except Exception as error:
            refuse_tensors_of_pytorch((*args, *kwargs.values()))
            _refuse_no_tensor(error, name, args, kwargs, function)
            raise

    def without_tensor_first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        misplaced = args and isinstance(args[0], int | float) and not number_first
        listed = args and isinstance(args[0], tuple | list)
        if args and (misplaced or not (listed or _any_tensor((*args, *kwargs.values())))):
            raise TypeError(
                f"{name}(): argument '{inspect.unwrap(function).__code__.co_varnames[0]}' (position 1) must be Tensor, "
                f"not {type(args[0]).__name__}. Make one with tinygrad_edu.tensor(…)."
            )
        args, kwargs = _arranged(function, args, kwargs)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = function.__qualname__ = name  # Python names it where arguments are missing
    return call


def _refuse_no_tensor(
    error: Exception, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], function: Callable[..., Any]
) -> None:
    """Say in PyTorch's words that one of the arguments is no tensor, where asking it for what a tensor has failed."""
    if not isinstance(error, AttributeError) or SMALL in str(error):
        return
    given = [type(x).__name__ for x in args] + [f"{key}={type(x).__name__}" for key, x in kwargs.items()]
    expected = inspect.Signature(
        [one.replace(annotation=one.empty) for one in inspect.signature(function).parameters.values()]
    )
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(given)}), but expected {expected}."
    ) from error


def _arranged(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Translate other argument names: NumPy's names for `dim` and `keepdim`, which PyTorch accepts too, and that of
    `*dims` or `*size`."""
    code = inspect.unwrap(function).__code__
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if code.co_flags & inspect.CO_VARARGS else None
    if rest in kwargs:
        first = (kwargs.pop("input"),) if "input" in kwargs else ()
        args = (*first, *args, kwargs.pop(rest))
    for numpys, name in (("axis", "dim"), ("keepdims", "keepdim")):
        if numpys in kwargs and name not in kwargs:
            kwargs[name] = kwargs.pop(numpys)
    return tuple(map(dtypes.number, args)), {name: dtypes.number(value) for name, value in kwargs.items()}


def _any_tensor(values: tuple[Any, ...]) -> bool:
    return any(
        isinstance(v, Tensor) or (isinstance(v, tuple | list) and any(isinstance(x, Tensor) for x in v)) for v in values
    )


def _writer(function: Callable[..., Any], op: Any) -> Callable[..., Any]:
    """The in-place form: it sorts the arguments of `function` into the inputs and the settings of `op`."""

    def write(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        names, defaults = _parameters_of(function)
        if len(args) > len(names):
            raise TypeError(f"{function.__name__}_() takes {len(names)} arguments, {len(args)} were given")
        given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        unknown = given.keys() - set(names)
        if unknown:
            raise TypeError(f"{function.__name__}_() got an unexpected keyword argument '{unknown.pop()}'")
        try:
            operands = [given.pop(name) for name in names if name in op._inputs]
        except KeyError as missing:
            raise TypeError(f"{function.__name__}_() missing argument {missing}") from None
        return op.apply_(self, *operands, **given)

    return write


@functools.cache
def _parameters_of(function: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of what follows the first argument, and the defaults."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return [p.name for p in parameters], {p.name: p.default for p in parameters if p.default is not p.empty}
