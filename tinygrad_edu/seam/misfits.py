"""What a call that failed was given: NumPy's and Python's own errors become PyTorch's types, with the arguments and the signature."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..array import dtypes
from ..array.promotion import refuse_mismatch
from ..array.tensor import Tensor
from ..overrides import is_switch

__all__ = ["explained"]

# What Python and NumPy ask of an object themselves: PyTorch's errors are theirs too.
_PROTOCOLS = {"__array__", "__format__"}
# What Python and NumPy raise of arguments; RuntimeError where a tensor stands for a setting.
_RETOLD = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def explained(
    error: Exception, name: str, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """The result with numbers in place of the tensors of one number among the settings, if that is what failed.

    Raises:
        TypeError, IndexError, RuntimeError, NotImplementedError: an error that is no sentence of ours, told again.
    """
    left_alone = isinstance(error, NotImplementedError | RecursionError) or not isinstance(error, _RETOLD)
    left_alone |= name in _PROTOCOLS or "read-only" in str(error)  # of an array that the program itself made so
    if left_alone or (raw := _is_raw(error)) is None:
        return NotImplemented
    parameters = inspect.signature(function).parameters
    given = dict(zip(parameters, args, strict=False)) | dict(named)
    unfit = raw or (isinstance(error, TypeError) and isinstance(next(iter(given.values()), None), Tensor))
    if unfit and len(args) <= len(parameters) and (numbers := _numbers(parameters, given)):
        try:
            return function(**given | numbers)
        except Exception:  # the first error says what the user wrote
            pass
    if raw:
        got = ", ".join([*map(_described, args), *(f"{each}={_described(x)}" for each, x in named.items())])
        _retell(error, name, f"({got})", inspect.signature(function), (*args, *named.values()))
    return NotImplemented


def _numbers(parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, which follow the first argument and are declared no tensors, given as tensors of one number."""
    return {
        each: x._data.item()
        for each, x in list(given.items())[1:]
        if isinstance(x, Tensor) and not x.ndim and not x.requires_grad
        if each not in parameters or not (parameters[each].annotation == "Tensor" or is_switch(parameters[each]))
    }


def _is_raw(error: Exception) -> bool | None:
    """True for an error that NumPy or Python raises in our code, False for one of our sentences, None for one of the user's code.

    The instruction at which the last frame of ours stopped says which: a sentence of ours is the work of a `raise`.
    """
    callers, trace = "", error.__traceback__
    while trace is not None:
        package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        callers, last, trace = callers if package == "numpy" else package, trace, trace.tb_next
    if callers != __name__.partition(".")[0]:
        return None
    return package == "numpy" or last.tb_frame.f_code.co_code[last.tb_lasti] != dis.opmap["RAISE_VARARGS"]


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{dtypes.from_numpy_dtype(value._data.dtype).name} Tensor of shape {list(value.shape)}"
    if isinstance(value, tuple | list) and len(value) < 5:
        return f"{type(value).__name__} of ({', '.join(map(_described, value))})"
    return f"{type(value).__name__} {value!r}" if isinstance(value, int | float | str) else type(value).__name__


def _required(wanted: inspect.Signature) -> int:
    return sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in wanted.parameters.values())


def _retell(error: Exception, name: str, got: str, wanted: inspect.Signature, values: Sequence[Any]) -> None:
    tensors = [x for x in values if isinstance(x, Tensor)]
    of_types = isinstance(error, AttributeError | TypeError | RuntimeError)
    if isinstance(error, TypeError) and len(tensors) == len(values) >= _required(wanted):
        raise RuntimeError(
            f"{name}() is not implemented for these types: got {got}. Convert first: t.float() or t.long()."
        ) from error
    if of_types or (isinstance(error, ValueError) and any(isinstance(x, str) for x in values)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got {got}, but expected {wanted}."
        ) from error
    if isinstance(error, LookupError):
        raise IndexError(f"Dimension or index out of range: {name}() got {got}.") from error
    if any(not x.numel() for x in tensors):
        raise NotImplementedError(
            f"{name}() is not built for tensors without elements: got {got}. Leave such a tensor out."
        ) from error
    if isinstance(error, ValueError):
        refuse_mismatch([x.shape for x in tensors])
    raise RuntimeError(f"{name}() cannot compute this: got {got}, its parameters are {wanted}.") from error
