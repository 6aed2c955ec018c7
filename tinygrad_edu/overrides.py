"""`FunctionMode`: intercept every function call, recorded or not (PyTorch: `torch.overrides.TorchFunctionMode`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .array.absent import refuse_tensors_of_pytorch
from .array.companions import GO_ON, asked, companions
from .array.tensor import Tensor
from .modes import thread
from .seam.later import later

__all__ = [
    "FunctionMode", "TorchFunctionMode", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "overridable",
]  # fmt: skip


class FunctionMode:
    """Inside `with`, each public function and method of tensors goes through the `__torch_function__` of a subclass.

    Example:
        >>> import tinygrad_edu as T
        >>> class Names(FunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     y = T.ones(2).exp()
        ones
        exp
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called instead of `func`. Return the result, usually by calling `func`."""
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> Any:
        thread.state.modes = (*thread.state.modes, self)
        return self

    def __exit__(self, *exception: object) -> None:
        # An interrupt between two lines of `dispatch` may already have removed it.
        modes = list(thread.state.modes)
        place = next((at for at, mode in enumerate(reversed(modes), start=1) if mode is self), None)
        if place is not None:
            del modes[-place]
            thread.state.modes = modes


# PyTorch's name, so that a program written for PyTorch runs when only the import changes.
TorchFunctionMode = FunctionMode


def dispatch(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pass a call to the innermost mode. If that calls `func`, the next outer mode sees it."""
    state = thread.state
    *outer, mode = state.modes
    state.modes = outer
    try:
        types = tuple({type(a) for a in args if isinstance(a, Tensor)})
        return mode.__torch_function__(function, types, args, kwargs)
    finally:
        state.modes = (*state.modes, mode)


def seen(call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function mode gives for a public call, or a companion whose operands or mode these are; else `GO_ON`."""
    state = thread.state
    if state.modes:
        return dispatch(call, args, kwargs)
    ordinary = not state.watched and all(map(_is_ordinary, args)) and all(map(_is_ordinary, kwargs.values()))
    return GO_ON if ordinary else asked(call, name, args, kwargs)


def _is_ordinary(value: Any) -> bool:
    """True for a tensor of NumPy's own real types and no subclass, and for a number or a name: no companion is asked about it."""
    if isinstance(value, Tensor):
        return not value._follows and not value.is_sparse and value._data.dtype.kind not in "cV"
    return value is None or type(value) in (int, float, bool, str)


def explained_or_raised(
    error: Exception, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Raise the error of a public function in PyTorch's words; or its result, if it was only to read numbers out of tensors."""
    from .seam.misfits import explained  # only when a program is about to stop

    refuse_tensors_of_pytorch((*args, *kwargs.values()))
    result = explained(error, name, function, args, kwargs)
    if result is NotImplemented:
        raise error
    return result


# Switches that PyTorch reads in Python, where everything is true or false.
_IN_PYTHON = ("inplace", "return_indices", "antialias", "hard", "full")


def is_switch(parameter: inspect.Parameter) -> bool:
    """True if the parameter takes True and False alone (or its default None): it is declared so, or its default is one of them."""
    declared = isinstance(parameter.default, bool) or str(parameter.annotation).removesuffix(" | None") == "bool"
    return declared and parameter.name not in _IN_PYTHON


def switches_of(function: Callable[..., Any]) -> tuple[dict[str, int], int]:
    """The switches of a function with their places among its arguments (99 for a keyword), and the first place."""
    parameters = enumerate(inspect.signature(function).parameters.values())
    places = {p.name: 99 if p.kind is p.KEYWORD_ONLY else i for i, p in parameters if is_switch(p)}
    return places, min(places.values(), default=99)


def refuse_switches(
    name: str, function: Callable[..., Any], switches: dict[str, int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise TypeError if a switch is given anything else."""
    for switch, place in switches.items():
        given = kwargs.get(switch, args[place] if place < len(args) else True)
        if type(given) is not bool:
            parameter = inspect.signature(function).parameters[switch]
            of_factory = switch == "requires_grad" and parameter.kind is parameter.KEYWORD_ONLY
            if given is None and (parameter.default is None or of_factory):
                continue
            position = "" if switch in kwargs else f" (position {place + 1})"
            raise TypeError(f"{name}(): argument '{switch}'{position} must be bool, not {type(given).__name__}")


def overridable(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Make a function visible to function modes, and check its switches."""
    switches, first = switches_of(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if (companions or thread.state.modes) and (result := seen(call, call.__name__, args, kwargs)) is not GO_ON:
            return result
        try:
            if switches and (kwargs or len(args) > first):
                refuse_switches(call.__name__, function, switches, args, kwargs)
            return function(*args, **kwargs)
        except Exception as error:
            return explained_or_raised(error, call.__name__, function, args, kwargs)

    if name is not None:
        call.__name__ = call.__qualname__ = name
    return call


# Modes also see what hands a value to Python, or asks for a gradient. PyTorch's modes see sizes and flags too.
def _overrides(value: Any) -> bool:
    """True if the class of `value`, other than a plain Tensor or Parameter, has a `__torch_function__`."""
    kind = type(value)
    if issubclass(kind, Tensor):
        return bool(kind._follows)
    return hasattr(kind, "__torch_function__")


def has_torch_function(relevant_args: Any) -> bool:
    """True if an argument is of a class that overrides functions by `__torch_function__`.

    >>> import tinygrad_edu as T
    >>> T.overrides.has_torch_function([T.ones(1), 2.0])
    False
    """
    return any(map(_overrides, relevant_args))


def has_torch_function_unary(x: Any) -> bool:
    """`has_torch_function` of one argument."""
    return _overrides(x)


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments."""
    return has_torch_function(args)


def is_tensor_like(inp: Any) -> bool:
    """True for a Tensor, and for whatever overrides functions as if it were one.

    >>> import tinygrad_edu as T
    >>> T.overrides.is_tensor_like(T.ones(1)), T.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Hand a call to the `__torch_function__` of its arguments, those of derived classes first.

    Raises:
        TypeError: each of them returned NotImplemented.
    """
    kinds: list[type] = []
    for value in relevant_args:
        if _overrides(value) and type(value) not in kinds:
            place = next((i for i, kind in enumerate(kinds) if issubclass(type(value), kind)), len(kinds))
            kinds.insert(place, type(value))
    for kind in kinds:
        result = kind.__torch_function__(public_api, tuple(kinds), args, kwargs)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for {name!r} on types that implement __torch_function__: {kinds}")


for _name in (
    "__array__", "__bool__", "__float__", "__format__", "__index__", "__int__", "__len__", "item", "numpy", "requires_grad_",
    "tolist",
):  # fmt: skip
    setattr(Tensor, _name, overridable(getattr(Tensor, _name)))


__getattr__ = later(__name__, "It is not built here: run the program on PyTorch.")
