"""`public`: a decorator above an op's function that defines its public names: function, method, operator, in-place form."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import absent, dtypes
from ..array.companions import GO_ON, companions
from ..array.tensor import Tensor, wrap
from ..array.tensor import bind as bind_to_tensor
from ..modes import thread
from ..overrides import explained_or_raised, overridable, refuse_switches, seen, switches_of
from ..seam.later import bring
from . import number_first as older
from .creation.factories import write_out
from .operands import refuse_write

__all__ = ["fft_functions", "functions", "linalg_functions", "nn_functions", "operator", "public"]


# The public functions by name: the contents of `tinygrad_edu`, `tinygrad_edu.linalg`, `tinygrad_edu.fft` and
# `tinygrad_edu.nn.functional`.
class _Functions(dict[str, Callable[..., Any]]):
    """Functions by name. A function of `extra/` joins its table when somebody asks for it."""

    def __init__(self, host: str) -> None:
        self.host = host

    def __missing__(self, name: str) -> Callable[..., Any]:
        if not bring(self.host, name) or name not in self:
            raise KeyError(name)
        return self[name]


functions, linalg_functions, fft_functions, nn_functions = map(_Functions, ("", "linalg", "fft", "nn.functional"))

# The operators that are an op of two tensors: the op, its function, and what answers to anything but two tensors.
between_two: dict[str, tuple[Any, Callable[..., Any], Callable[..., Any]]] = {}

# The module in which pickle finds the functions of each table: it stores a function by its name.
_HOMES = {
    id(functions): "tinygrad_edu",
    id(nn_functions): "tinygrad_edu.nn.functional",
    id(linalg_functions): "tinygrad_edu.linalg",
    id(fft_functions): "tinygrad_edu.fft",
}

_UNARY = ("__neg__", "__abs__", "__invert__")
_OPERANDS = (int, float, complex, np.ndarray, np.generic)


def public(
    *aliases: str,
    where: tuple[dict[str, Callable[..., Any]], ...] = (functions,),
    method: bool = True,
    inplace: Any = None,
    operators: tuple[str, ...] = (),
    of_two: Any = None,
    number_first: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Bind a function of `ops` under its own name and `aliases`, in each table of `where` and as a method of Tensor.

    A leading underscore is not part of the public name; it avoids a clash with another function of the module. The
    decorator returns the function unchanged: rules call it with arrays, which function modes do not see. `inplace` is the Op
    for the form with an underscore (or a function that does the same); the augmented forms of `operators` use it too.
    `of_two` is the Op of an operator between two tensors. `number_first` allows a number first, as in `pow(2, x)`.

    Example:
        @public("multiply", inplace=Mul, operators=("__mul__", "__rmul__"))
        def mul(input, other): ...
    """

    def bind(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.lstrip("_")
        for alias in (name, *aliases):
            call = _checked(function, alias, number_first)
            for table in where:
                table[alias] = call
                call.__module__ = _HOMES[id(table)]
            if method:
                bind_to_tensor(alias, call)
        for symbol in operators:
            # PyTorch gives a reflected sum the name of the sum.
            if symbol in _UNARY:
                bind_to_tensor(symbol, _checked(function, name))
            else:
                _bind_operator(symbol, function, name, of_two)
        if inplace is not None:
            write = inplace if inspect.isfunction(inplace) else _writer(function, inplace)
            for alias in (name, *aliases):
                call = overridable(_allowed(older.accept(write, f"{alias}_")), f"{alias}_")
                call.__doc__ = f"In-place version of `{alias}`."
                bind_to_tensor(f"{alias}_", call)
            if operators and operators[0] not in _UNARY:
                augmented = f"__i{operators[0].strip('_')}__"
                bind_to_tensor(augmented, getattr(Tensor, f"{name}_"))
        return function

    return bind


def _allowed(write: Callable[..., Any]) -> Callable[..., Any]:
    """An in-place form that, where it fails, first says what autograd has against the write: PyTorch asks this before it
    looks at shapes and types."""

    @functools.wraps(write)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return write(*args, **kwargs)
        except TypeError:
            raise
        except Exception:
            if args and isinstance(args[0], Tensor):
                refuse_write(*args, *kwargs.values())
            raise

    return call


def operator(symbol: str, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Bind a function to a single operator; function modes see it as `name`."""

    def bind(function: Callable[..., Any]) -> Callable[..., Any]:
        _bind_operator(symbol, function, name or symbol)
        return function

    return bind


def _bind_operator(symbol: str, function: Callable[..., Any], name: str, op: Any = None) -> None:
    if op is not None:
        otherwise = functools.partial(_unusual_operands, function)
        between_two[symbol] = op, function, otherwise
        bound = op._between(otherwise)
    else:

        def bound(self: Tensor, other: Any) -> Any:
            return _unusual_operands(function, call, self, other)

    call = functools.wraps(function)(bound)
    call.__name__ = call.__qualname__ = name
    bind_to_tensor(symbol, call)


def _unusual_operands(function: Callable[..., Any], call: Callable[..., Any], self: Tensor, other: Any) -> Any:
    """An operator with a number or an array on its other side, or under a function mode, which sees it as `call`."""
    modes = thread.state.modes
    if not isinstance(other, Tensor):
        if not isinstance(other, _OPERANDS):
            absent.refuse_tensors_of_pytorch((other,))
            return NotImplemented
        if isinstance(other, np.ndarray) and not modes:
            self, other = _as_numpy_has_them(self, other)
        elif isinstance(other, np.generic):
            other = dtypes.number(other)
        if isinstance(other, complex):
            dtypes.on_complex()
    if (companions or modes) and (result := seen(call, call.__name__, (self, other), {})) is not GO_ON:
        return result
    return function(self, other)


def _as_numpy_has_them(self: Tensor, other: np.ndarray) -> tuple[Tensor, Tensor]:
    """A tensor and an array in NumPy's common dtype, as in PyTorch, where NumPy computes them: float64 for float32 and a 0-d float64."""
    kind = np.result_type(self._data.dtype, other.dtype)
    if kind == self._data.dtype == other.dtype:
        return self, wrap(other)
    dtype = dtypes.from_numpy_dtype(kind)
    return self if kind == self._data.dtype else self.to(dtype), wrap(other.astype(kind))


def _checked(function: Callable[..., Any], name: str, number_first: bool = False) -> Callable[..., Any]:
    """Check that a user's call has a Tensor among its arguments: the functions of `ops` also accept arrays, for the rules."""

    parameters = inspect.signature(function).parameters.values()
    switches, first = switches_of(function)
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if (companions or thread.state.modes) and (result := seen(call, name, args, kwargs)) is not GO_ON:
            return result
        if kwargs and "out" in kwargs:
            out = kwargs.pop("out")
            if out is not None and name in ("sum", "prod", "cumsum", "cumprod", "nansum"):
                kwargs = {"dtype": out.dtype, **kwargs}
            result = call(*args, **kwargs)
            if out is None:
                return result
            return write_out(result, out, function.__name__.lstrip("_"), (*args, *kwargs.values()))
        try:
            if switches and (kwargs or len(args) > first):
                refuse_switches(name, function, switches, args, kwargs)
            if args and isinstance(args[0], Tensor):
                if kwargs:
                    args, kwargs = _arranged(args, kwargs, rest)
                    return function(*args, **kwargs)
                for arg in args:
                    if isinstance(arg, np.generic):
                        return function(*map(dtypes.number, args))
                return function(*args)
            return without_tensor_first(args, kwargs)
        except Exception as error:
            if not kwargs and (again := older.newer(name, args)) is not None:
                return function(*again[0], **again[1])
            return explained_or_raised(error, name, function, args, kwargs)

    def without_tensor_first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        misplaced = args and isinstance(args[0], int | float) and not number_first
        if misplaced or not (_any_tensor((*args, *kwargs.values())) or (args and isinstance(args[0], tuple | list))):
            given = type(args[0]).__name__ if args else "nothing"
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {given}. Make one with "
                "tinygrad_edu.tensor(…)."
            )
        args, kwargs = _arranged(args, kwargs, rest)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def _arranged(
    args: tuple[Any, ...], kwargs: dict[str, Any], rest: str | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Translate other argument names: NumPy's names for `dim` and `keepdim`, which PyTorch accepts too, and that of `*dims` or
    `*size`, called `rest`."""
    if rest is not None and rest in kwargs:
        first = (kwargs.pop("input"),) if "input" in kwargs else ()
        args = (*first, *args, kwargs.pop(rest))
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    if "keepdims" in kwargs:
        kwargs["keepdim"] = kwargs.pop("keepdims")
    return tuple(map(dtypes.number, args)), {name: dtypes.number(value) for name, value in kwargs.items()}


def _any_tensor(values: tuple[Any, ...]) -> bool:
    return any(
        isinstance(v, Tensor) or (isinstance(v, tuple | list) and any(isinstance(x, Tensor) for x in v)) for v in values
    )


def _writer(function: Callable[..., Any], op: Any) -> Callable[..., Any]:
    """The in-place form: it sorts the arguments of `function` into the inputs and the settings of `op`."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    names = [p.name for p in parameters]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    inputs = [name for name in names if name in op._inputs]

    def write(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if len(args) > len(names):
            raise TypeError(f"{function.__name__}_() takes {len(names)} arguments, {len(args)} were given")
        given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        unknown = given.keys() - set(names)
        if unknown:
            raise TypeError(f"{function.__name__}_() got an unexpected keyword argument '{unknown.pop()}'")
        try:
            operands = [given.pop(name) for name in inputs]
        except KeyError as missing:
            raise TypeError(f"{function.__name__}_() missing argument {missing}") from None
        return op.apply_(self, *operands, **given)

    return write
