"""What a call that failed got wrong, in PyTorch's words: arguments of another type, and what NumPy or Python say of misfits."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..array import dtypes
from ..array.promotion import refuse_mismatch
from ..array.tensor import Tensor

__all__ = ["explained"]

# What parameters take, by their names; of others the annotation or the default says whether it is a bool or a number.
_TAKES = {
    name: kind
    for kind, names in {
        "Tensor": "input self other target weight bias index src x1 x2 input1 input2 mat1 mat2 mat vec vec1 vec2 batch1 "
        "batch2 tensor1 tensor2 mask A B LU_data LU_pivots LU pivots pos_weight log_probs targets "
        "anchor positive negative grid theta attn_mask boundaries sorted_sequence tensor y _random_samples",
        "Number": "alpha beta p eps ord threshold scale nan posinf neginf norm_type maxnorm tau rcond fill_value",
        "int or tuple of ints": "dim dims dim0 dim1 dim2 start_dim end_dim kernel_size stride padding dilation output_padding size "
        "sizes k n diagonal offset shifts groups chunks steps num_classes output_size normalized_shape num_groups decimals "
        "upscale_factor downscale_factor correction storage_offset ignore_index n_fft blank repeats",
    }.items()
    for name in names.split()
}
_NUMBER = (int, float, complex, np.generic)
_PLAIN = {
    "Number": _NUMBER,
    "bool": (bool, int, np.generic),
    "Tensor": (Tensor, np.ndarray, tuple, list, *_NUMBER),
    "int or tuple of ints": (int, np.integer, tuple, list),
}


def explained(
    error: Exception, name: str, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """The result with numbers in place of the tensors of one number among the settings, if that is what failed.

    Raises:
        TypeError: an argument is of another type than its parameter, or than the code expects.
        IndexError, RuntimeError, NotImplementedError: NumPy's own errors, in PyTorch's words.
    """
    if isinstance(error, NotImplementedError | RecursionError | Warning) or (raw := _is_raw(error)) is None:
        return NotImplemented
    of_types = raw and isinstance(error, AttributeError | TypeError)
    parameters = inspect.signature(function).parameters
    given = dict(zip(parameters, args, strict=False)) | dict(named)
    numbers = {}
    for place, (each, value) in enumerate(given.items(), 1):
        parameter = parameters.get(each)
        if parameter is None or parameter.kind is parameter.VAR_POSITIONAL:
            break
        takes = None if each == "dim" and name in ("max", "min") else _takes(parameter)  # of two tensors, or along one
        if takes in (None, "Tensor") and (takes is None or not of_types or isinstance(value, Tensor)):
            plain: Any = object if takes is None else _PLAIN[takes]
        elif isinstance(value, Tensor) and not value.ndim and not value.requires_grad:
            numbers[each], plain = value._data.item(), object
        else:
            plain = Tensor if takes == "Tensor" else _PLAIN[takes]
        if raw and not isinstance(value, plain) and not (value is None and parameter.default is None):
            told = f"argument '{each}' (position {place}) must be {takes}, not {type(value).__name__}"
            raise TypeError(f"{name}(): {told}.") from error
    if numbers and len(args) <= len(parameters):
        return function(**given | numbers)
    if raw:
        _retell(error, name, given, ", ".join(parameters))
    return NotImplemented


def _takes(parameter: inspect.Parameter) -> str | None:
    if isinstance(parameter.default, bool) or parameter.annotation == "bool":
        return "bool"
    return _TAKES.get(parameter.name) or ("Number" if isinstance(parameter.default, int | float) else None)


def _is_text(said: str) -> bool:
    return "invalid literal" in said or "could not convert string" in said


def _is_raw(error: Exception) -> bool | None:
    """True for an error that NumPy or Python raises in our code, False for one of our sentences, None for one of the user's code."""
    callers, trace = "", error.__traceback__
    while trace is not None:
        package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        callers, last, trace = callers if package == "numpy" else package, trace, trace.tb_next
    if callers != __name__.partition(".")[0]:
        return None
    if package == "numpy":
        return True
    return last.tb_frame.f_code.co_code[last.tb_lasti] != dis.opmap["RAISE_VARARGS"]


# How NumPy, or Python, says that sizes do not fit.
_OF_SIZES = (
    "broadcast", "shape mismatch", "matmul: ", "cannot reshape", "axes don't match", "zip() argument", "negative dimensions",
    "empty sequence", "input array", "at least one array", "repeats may not",
)  # fmt: skip


def _retell(error: Exception, name: str, given: Mapping[str, Any], wanted: str) -> None:
    said, arrays = str(error), [x._data for x in given.values() if isinstance(x, Tensor)]
    shapes = ", ".join(str(list(a.shape)) for a in arrays)
    of_types = any(words in said for words in ("ufunc", "numpy boolean"))
    if (isinstance(error, AttributeError | TypeError) and not of_types) or _is_text(said):
        kinds = ", ".join(type(x).__name__ for x in given.values())
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({kinds}), but expected ({wanted})."
        ) from error
    if "indexing arrays" in said:
        raise IndexError(said.replace("arrays", "tensors")) from error
    if isinstance(error, OverflowError):
        raise RuntimeError(f"value cannot be converted to this type without overflow: {said}.") from error
    if isinstance(error, IndexError | np.exceptions.AxisError) or "values to unpack" in said:
        raise IndexError(
            f"Dimension out of range: {name}() got tensors of shapes {shapes}, too small for this."
        ) from error
    if isinstance(error, ZeroDivisionError) or "zero-size array to reduction" in said or "empty sequence" in said:
        raise NotImplementedError(
            f"{name}() is not built for tensors without elements; the shapes are {shapes}. Leave such a tensor out."
        ) from error
    if isinstance(error, TypeError):
        types = ", ".join(dtypes.from_numpy_dtype(a.dtype).name for a in arrays)
        raise RuntimeError(f"not implemented for these types: {types}. Convert booleans first: t.long().") from error
    if isinstance(error, ValueError) and any(words in said for words in _OF_SIZES):
        refuse_mismatch([a.shape for a in arrays])
        raise RuntimeError(f"The sizes of the tensors do not fit together: they have the shapes {shapes}.") from error
