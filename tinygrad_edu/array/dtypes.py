"""The element types of a Tensor, and PyTorch's rules for mixing them.

A `dtype` wraps a NumPy dtype under PyTorch's name. NumPy and PyTorch agree on the result type of two *arrays* of equal
rank. They differ where a Python number, or a 0-d tensor, meets an array: in PyTorch it can change the *category* (bool,
integer, floating point) of the result, but never the width within a category. `result_type` implements this rule.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from . import absent


class dtype:
    """The element type of a Tensor: `float32`, `int64`, `bool`, …. Compare two with `is` or `==`.

    >>> T.zeros(1).dtype is T.float32, T.float32.itemsize
    (True, 4)
    """

    __slots__ = ("is_floating_point", "itemsize", "legacy_name", "name", "numpy")

    name: str
    is_complex = False

    def __init__(self, name: str, numpy: Any, legacy_name: str) -> None:
        self.name = name
        self.numpy = np.dtype(numpy)
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = self.numpy.kind == "f"
        # PyTorch's messages call a tensor of this type by its older name: torch.FloatTensor.
        self.legacy_name = legacy_name

    @property
    def is_signed(self) -> bool:
        """True for types that can hold negative numbers."""
        return self.numpy.kind in "fi"

    def __repr__(self) -> str:
        return f"tinygrad_edu.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # where users find it: `tinygrad_edu.bool`


class _Named(dtype):
    """A type that a program may mention, for example in a table of choices, but that no tensor can have."""

    __slots__ = ("is_signed",)

    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize, self.legacy_name = name, itemsize, name
        self.is_signed = not name.startswith("uint")  # type: ignore[misc]
        self.is_floating_point = "float" in name

    @property
    def numpy(self) -> Any:  # type: ignore[override]
        raise NotImplementedError(absent.sentence(self.name))


float64: Final = dtype("float64", np.float64, "Double")
float32: Final = dtype("float32", np.float32, "Float")
float16: Final = dtype("float16", np.float16, "Half")
int64: Final = dtype("int64", np.int64, "Long")
int32: Final = dtype("int32", np.intc, "Int")
int16: Final = dtype("int16", np.int16, "Short")
int8: Final = dtype("int8", np.int8, "Char")
uint8: Final = dtype("uint8", np.uint8, "Byte")
bool_: Final = dtype("bool", np.bool_, "Bool")

bfloat16: Final = _Named("bfloat16", 2)
complex64: Final = _Named("complex64", 8)
complex128: Final = _Named("complex128", 16)
float8_e4m3fn: Final = _Named("float8_e4m3fn", 1)
float8_e5m2: Final = _Named("float8_e5m2", 1)
uint16: Final = _Named("uint16", 2)
uint32: Final = _Named("uint32", 4)
uint64: Final = _Named("uint64", 8)

_BY_NUMPY: Final[dict[Any, dtype]] = {
    t.numpy: t for t in (float64, float32, float16, int64, int32, int16, int8, uint8, bool_)
}
_BY_PYTHON: Final = {float: float64, int: int64, bool: bool_}

_default = float32


def get_default_dtype() -> dtype:
    """The dtype of a tensor made from Python floats: `float32` unless `set_default_dtype` changed it.

    >>> T.get_default_dtype()
    tinygrad_edu.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Make `d`, a floating-point type, the dtype of tensors made from Python floats.

    >>> T.set_default_dtype(T.float64)
    >>> T.tensor(1.5).dtype
    tinygrad_edu.float64
    >>> T.set_default_dtype(T.float32)
    """
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(
            f"only floating-point types are supported as the default type, got {d!r}. Use float64, float32 or float16."
        )
    _default = d if d.numpy else _default


def from_numpy_dtype(d: np.dtype) -> dtype:
    """The `dtype` of a NumPy array's elements. Raises a TypeError for types that no Tensor can hold."""
    try:
        return _BY_NUMPY[d]
    except KeyError:
        if d.kind == "c":
            raise NotImplementedError(absent.sentence("complex64")) from None
        raise TypeError(
            f"can't convert np.ndarray of type {d}. The only supported types are: float64, float32, float16, int64, "
            "int32, int16, int8, uint8, and bool."
        ) from None


_DEFAULT_INTEGER = np.dtype(np.intp).char


def of_outside(d: np.dtype) -> np.dtype:
    """The dtype of a tensor that is made from an array of `d`.

    NumPy's default integer has 32 bits in a browser, and becomes int64 as it would on a computer. An int32 that was
    asked for is another type there, `intc`, and stays.
    """
    return int64.numpy if d.char == _DEFAULT_INTEGER else d


# The dtypes of older names, such as "torch.FloatTensor".
LEGACY: dict[Any, dtype] = {
    f"torch.{t.legacy_name}Tensor": t for t in (float64, float32, float16, int64, int32, int16, int8, uint8, bool_)
}


def to_numpy_dtype(d: Any) -> np.dtype:
    """The NumPy dtype behind `d`: a `dtype`, or Python's float, int or bool."""
    if isinstance(d, dtype):
        return d.numpy
    if d in _BY_PYTHON:
        return _BY_PYTHON[d].numpy
    if d is complex:
        raise NotImplementedError(absent.sentence("complex64"))
    raise TypeError(
        f"dtype must be a tinygrad_edu dtype such as tinygrad_edu.float32, got {d!r}"
        + (f". {absent.sentence(name)}" if (name := str(d).rpartition(".")[2]) in absent.NAMES else "")
    )


def refuse_kind(d: np.dtype, kernel: str, kinds: str) -> None:
    """Refuse a dtype of these kinds, which PyTorch's `kernel` does not compute with."""
    if d.kind in kinds:
        cure = "t.float()" if "i" in kinds else "t.long()"
        kind = from_numpy_dtype(d).legacy_name
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'. Convert first: {cure}.")


_CATEGORIES: Final = {"b": 0, "i": 1, "u": 1, "f": 2}


def category(d: np.dtype) -> int:
    """0 for booleans, 1 for integers, 2 for floating-point numbers. No result is written into a lower category."""
    return _CATEGORIES[d.kind]


def number(x: Any) -> Any:
    """A NumPy scalar as a Python number: PyTorch treats it as one, so its type does not widen a tensor's."""
    return x if not isinstance(x, np.generic) else float(x) if isinstance(x, np.bool_) else x.item()


def promote(operands: tuple[Any, ...] | list[Any]) -> np.dtype:
    """The NumPy dtype in which PyTorch computes an op on arrays and Python numbers.

    Arrays with dimensions decide. A 0-d array counts only if its category is higher than theirs, and a Python number
    only if its category is higher than that of all arrays.
    """
    dimensioned: np.dtype | None = None
    zero_dim: np.dtype | None = None
    wrapped: np.dtype | None = None
    for x in operands:
        if x is None:
            continue
        if isinstance(x, np.ndarray | np.generic):
            if x.ndim:
                dimensioned = x.dtype if dimensioned is None else np.promote_types(dimensioned, x.dtype)
            else:
                zero_dim = x.dtype if zero_dim is None else np.promote_types(zero_dim, x.dtype)
        else:
            if isinstance(x, complex):
                raise NotImplementedError(absent.sentence("complex64"))
            d = _BY_PYTHON[bool if isinstance(x, bool) else int if isinstance(x, int) else float].numpy
            if d.kind == "f":
                d = _default.numpy
            wrapped = d if wrapped is None else np.promote_types(wrapped, d)
    result: np.dtype | None = None
    for candidate in (dimensioned, zero_dim, wrapped):
        if candidate is not None and (result is None or category(candidate) > category(result)):
            result = candidate
    if result is None:
        raise TypeError("an op needs at least one tensor or number")
    # NumPy widens float16 with int32 to float64; PyTorch never lets an integer widen a float.
    return _float_only(operands, result) if result.kind == "f" else result


def _float_only(operands: tuple[Any, ...] | list[Any], result: np.dtype) -> np.dtype:
    """Promote only the floating-point operands of the rank that decides."""
    for rank in (lambda x: x.ndim > 0, lambda x: x.ndim == 0):
        floats = [
            x.dtype for x in operands if isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f" and rank(x)
        ]
        if floats:
            return functools.reduce(np.promote_types, floats)
    return result


def common(kinds: list[Any]) -> np.dtype:
    """The dtype of a list whose elements have these Python or NumPy types. The highest category decides."""
    each = [_BY_PYTHON[kind].numpy if kind in _BY_PYTHON else np.dtype(kind) for kind in kinds]
    each = [_default.numpy if kind is float else d for kind, d in zip(kinds, each, strict=True)]
    if any(d.kind == "c" for d in each):
        raise NotImplementedError(absent.sentence("complex64"))
    highest = max(map(category, each))
    return functools.reduce(np.promote_types, [d for d in each if category(d) == highest])


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an op's result on two tensors or numbers, by PyTorch's rules.

    >>> T.result_type(T.tensor([1, 2]), 0.5)
    tinygrad_edu.float32
    """
    operands = [getattr(t, "_data", t) for t in (tensor1, tensor2)]
    if not any(isinstance(x, np.ndarray | np.generic) for x in operands):
        return from_numpy_dtype(common([type(x) for x in operands]))
    return from_numpy_dtype(promote(operands))


class finfo:
    """Machine limits of a floating-point type: `bits`, `eps`, `max`, `min`, `tiny`, `smallest_normal`, `resolution`.

    >>> T.finfo(T.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: dtype | None = None) -> None:
        self.dtype = (type or _default).name
        info = np.finfo((type or _default).numpy)
        self.bits = int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in names)}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer type: `bits`, `max`, `min`.

    >>> T.iinfo(T.int8).max
    127
    """

    def __init__(self, type: dtype) -> None:
        info = np.iinfo(type.numpy)
        self.dtype = type.name
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
