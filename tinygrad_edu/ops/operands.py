"""The arrays that an op computes on: taken out of tensors, promoted; misfits are refused in PyTorch's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array import dtypes
from ..array.memory import cast
from ..array.promotion import promoted, refuse_mismatch
from ..array.tensor import Tensor
from ..autograd.inplace import check_inplace
from ..modes import thread

__all__ = ["adapted", "promoted", "refuse_mismatch"]  # from array.promotion, for those who ask for the rest here


# By op: what is to be said of operands that are not all floats of one type; and the settings to compute with.
checks: dict[Any, Callable[[list[Any], dict[str, Any]], dict[str, Any]]] = {}


def adapted(op: Any, values: list[Any], settings: dict[str, Any], are_alike: bool) -> tuple[list[Any], dict[str, Any]]:
    """What `forward` of `op` computes on: operands in one dtype, and settings that are numbers and arrays."""
    settings = dict(settings)
    for name, value in settings.items():
        if isinstance(value, Tensor) and name not in op.without_gradient:
            settings[name] = as_number(op._name.partition("Backward")[0].lower(), name, value)
    if settings and op.without_gradient:
        settings = as_arrays(op, settings)
    if are_alike:
        return values, settings
    if op in checks:
        settings = checks[op](values, settings)
    values = [np.asarray(v) if isinstance(v, np.generic) else v for v in values]
    if op.counts is not None:
        values = [cast(v, dtypes.promote([v, settings[op.counts]]), copy=False) for v in values]
    elif op.promotes or op.makes_float:
        values = promoted(values, op.makes_float)
    elif not op.mixes and len(values) > 1:
        refuse_mixture(values)
    refuse_kinds(values, *op.refuses)
    return values, settings


def cannot_compute(op: Any, arrays: Sequence[Any], error: Exception) -> Exception:
    """What PyTorch raises where NumPy refuses to compute: sizes that do not fit, a dimension that is not there."""
    shapes = [np.shape(a) for a in arrays]
    if op.promotes:
        refuse_mismatch(shapes)
    if isinstance(error, np.exceptions.AxisError):
        n = max(error.ndim or 1, 1)
        return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {error.axis})")
    if isinstance(error, TypeError):
        return TypeError(f"{op._name}: received an invalid combination of arguments: {error}")
    return RuntimeError(f"{op._name}: cannot compute with shapes {', '.join(str(list(s)) for s in shapes)}: {error}")


def as_arrays(op: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that `forward` of `op` receives: tensors among those without a gradient become arrays."""
    given = dict(settings)
    for name in op.without_gradient:
        value = given.get(name)
        if isinstance(value, Tensor):
            if value.requires_grad and thread.state.recording:
                function = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub(r"Backward\d$", "", op._name)).lower()
                raise RuntimeError(
                    f"The function {function!r} is not differentiable with respect to argument {name!r}. This input "
                    f"cannot have requires_grad True. Use {name}.detach()."
                )
            given[name] = value._data
        elif type(value) is tuple:
            given[name] = tuple([v._data if isinstance(v, Tensor) else v for v in value])
    return given


def as_number(function: str, argument: str, value: Tensor) -> Any:
    """The number in a tensor that is given for a number: no gradient flows into it."""
    if value.ndim or value.requires_grad:
        raise TypeError(f"{function}(): argument '{argument}' must be Number, not Tensor. Use {argument}.item().")
    return value.item()


def need_tensor(name: str, value: Any, argument: str = "other", position: int = 2) -> Any:
    """`value`, an argument of a function that does not accept a number for it.

    Raises:
        TypeError: it is neither a tensor nor (inside a rule) an array.
    """
    if not isinstance(value, Tensor | np.ndarray | np.generic):
        told = f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
        raise TypeError(f"{told}. Make one with tensor(…).")
    return value


def need_float(array: Any, kernel: str) -> None:
    """Refuse integers and booleans, which PyTorch's `kernel` does not compute with.

    Raises:
        NotImplementedError: `array` holds these.
    """
    refuse_kinds((array,), kernel, "biu")


def refuse_kinds(arrays: Sequence[Any], kernel: str, kinds: str) -> None:
    """Refuse operands that are all of these kinds, which PyTorch's `kernel` does not compute with."""
    given = {a.dtype for a in arrays if isinstance(a, np.ndarray | np.generic)} if kinds else ()
    if given and all(d.kind in kinds for d in given):
        dtypes.refuse_kind(given.pop(), kernel, kinds)


def refuse_mixture(arrays: Sequence[Any]) -> None:
    """Raise if the operands of an op that converts none of them have different dtypes."""
    kinds = [a.dtype for a in arrays if isinstance(a, np.ndarray)]
    for kind in kinds:
        if kind != kinds[0]:
            names = [dtypes.from_numpy_dtype(d).legacy_name for d in (kinds[0], kind)]
            raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}. Convert one: t.to(other.dtype).")


def refuse_write(target: Any, *others: Any) -> None:
    """Raise if autograd does not allow a write to `target`: PyTorch asks this before it looks at shapes and types."""
    inputs = (target, *others)
    check_inplace(target, thread.state.recording and any(isinstance(x, Tensor) and x.requires_grad for x in inputs))


def check_writable(target: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise if a result of shape `shape` cannot be written into a tensor of shape `target`."""
    if shape != target:
        refuse_mismatch([target, shape])
        result = np.broadcast_shapes(target, shape)
        if result != target:
            told = f"output with shape {list(target)} doesn't match the broadcast shape {list(result)}"
            raise RuntimeError(f"{told}. In place, a tensor keeps its shape: use the op without the underscore.")


def check_expandable(array: np.ndarray, size: tuple[int, ...]) -> None:
    """Raise if `array` cannot be expanded to the shape `size`."""
    shape = array.shape
    if len(size) < len(shape):
        told = f"the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions"
        kind = dtypes.from_numpy_dtype(array.dtype).legacy_name
        raise RuntimeError(
            f"expand(torch.{kind}Tensor{{{list(shape)}}}, size={list(size)}): {told} in the tensor ({len(shape)})"
        )
    for d, (n, own) in enumerate(zip(size[len(size) - len(shape) :], shape, strict=True), len(size) - len(shape)):
        if own not in (1, n):
            told = (
                f"The expanded size of the tensor ({n}) must match the existing size ({own}) at non-singleton dimension"
            )
            raise RuntimeError(f"{told} {d}. Target sizes: {list(size)}. Tensor sizes: {list(shape)}")


def check_fits(target: Tensor, result: np.ndarray) -> None:
    check_writable(target.value.shape, result.shape)
    refuse_cast(result, dtypes.from_numpy_dtype(target.value.dtype))


def refuse_cast(result: Any, dtype: dtypes.dtype) -> Any:
    """`result`, unless it is of a wider kind than `dtype`, the type of the tensor that it goes into."""
    kind = result.dtype if isinstance(result, Tensor) else dtypes.from_numpy_dtype(result.dtype)
    if dtypes.category(kind.numpy) > dtypes.category(dtype.numpy):
        told = f"result type {kind.legacy_name} can't be cast to the desired output type {dtype.legacy_name}"
        raise RuntimeError(f"{told}. Convert one: t.float().")
    return result
