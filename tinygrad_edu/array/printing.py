"""How a tensor prints: PyTorch's layout of the numbers, followed by `requires_grad` or `grad_fn`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..autograd import forward_ad
from ..overrides import overridable
from . import dtypes
from .tensor import Tensor, bind

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]


class _Options:
    precision = 4
    threshold = 1000.0
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


options = _Options()

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000.0, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000.0, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print from now on.

    Args:
        precision: digits after the decimal point. Default 4.
        threshold: the number of elements above which only the edges are shown. Default 1000.
        edgeitems: how many elements an edge has along each dimension. Default 3.
        linewidth: the width of a line in characters. Default 80.
        profile: "default", "short" or "full" sets all of the above; an option given as well overrides it.
        sci_mode: True always prints numbers such as `1.0000e+00`, False never does; None decides by the numbers.

    Example:
        >>> import tinygrad_edu as T
        >>> T.set_printoptions(precision=2)
        >>> T.tensor([1.12345])
        tensor([1.12])
        >>> T.set_printoptions(profile="default")
    """
    chosen: dict[str, Any] = dict(_PROFILES.get(profile or "", {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for `set_printoptions`."""
    return {name: getattr(options, name) for name in (*_PROFILES["default"], "sci_mode")}


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Inside `with`, tensors print with these options. Takes the arguments of `set_printoptions`."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Format:
    """One format for all numbers of a tensor, chosen as in PyTorch: by the largest, the smallest and their ratio."""

    def __init__(self, values: np.ndarray) -> None:
        self.floating = values.dtype.kind in "fV"
        # All numbers are whole: print `2.` instead of `2.0000`.
        self.whole = True
        self.scientific = False
        self.width = 1
        if not self.floating:
            self.width = max((len(str(v)) for v in values.reshape(-1).tolist()), default=1)
            return
        # Zeros, infinities and NaN do not influence the format, not even its width.
        speaking = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        if not speaking.size:
            return
        size = np.abs(speaking)
        low, high = float(size.min()), float(size.max())
        self.whole = bool(np.all(speaking == np.ceil(speaking)))
        spread = low == 0 or high / low > 1000.0
        wanted = options.sci_mode
        self.scientific = (spread or high > 1.0e8 or low < 1.0e-4) if wanted is None else wanted
        self.width = max(self.width, *(len(self._text(v)) for v in speaking.tolist()))

    def _text(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.whole:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{options.precision}f}"

    def __call__(self, value: Any) -> str:
        return (self._text(value) if self.floating else str(value)).rjust(self.width)


class _ComplexFormat:
    """One format for the real parts of all numbers, another for the imaginary parts."""

    def __init__(self, values: np.ndarray) -> None:
        self.real, self.imag = _Format(values.real), _Format(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip() + "j"
        return self.real(value.real) + (imag if imag[0] in "+-" else "+" + imag)


def _edges(array: np.ndarray) -> np.ndarray:
    """The edges of a large array: the part that is printed and that decides the format."""
    edge = options.edgeitems
    if not edge and array.ndim > 1:
        return array[:0]
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            array = np.take(array, [*range(edge), *range(n - edge, n)], axis=axis)
    return array


def _nested(array: np.ndarray, form: _Format | _ComplexFormat, indent: int, summarise: bool) -> str:
    # The depth of this recursion is the tensor's rank.
    if array.ndim == 0:
        return form(array.item())
    n, edge = array.shape[0], options.edgeitems
    rows: list[int | None] = [*range(n)]
    if summarise and n > 2 * edge:
        rows = [*range(edge), None, *range(n - edge, n)]
    if array.ndim == 1:
        if summarise and not edge:
            return "[...]"
        per_line = max(1, (options.linewidth - indent) // (form.width + 2))
        items = [" ..." if i is None else form(array[i].item()) for i in rows]
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = ["..." if i is None else _nested(array[i], form, indent + 1, summarise) for i in rows]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def numbers(array: np.ndarray, indent: int) -> str:
    if not array.size:
        return "[]"
    summarise = array.size > options.threshold
    kind = _ComplexFormat if array.dtype.kind == "c" else _Format
    return _nested(array, kind(_edges(array) if summarise else array), indent, summarise)


def with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """Append what follows the numbers, on a new line where it does not fit."""
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def tensor_repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The printed form of a tensor, as in PyTorch: `tensor([2., 4.], grad_fn=<MulBackward0>)`."""
    kind = type(self)
    # A plain Parameter prints as the tensor it holds, under its own heading.
    plain = kind is Tensor or getattr(kind, "_prints_as_tensor", False)
    prefix = "tensor(" if plain else f"{kind.__name__}("
    array, dtype, default = self._data, self.dtype, dtypes.get_default_dtype()
    defaults = (default, dtypes.complex128 if default is dtypes.float64 else dtypes.complex64)
    suffixes = []
    if array.size == 0:
        # With no elements to print, say the shape and the dtype.
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        if dtype is not default:
            suffixes.append(f"dtype={dtype!r}")
    else:
        if not options.edgeitems:
            suffixes.append(f"size={tuple(array.shape)}")
        if dtype not in (*defaults, dtypes.int64, dtypes.bool_):
            suffixes.append(f"dtype={dtype!r}")
    try:
        node = self.grad_fn
        name = node.name().rpartition("::")[2] if node is not None else None
    except RuntimeError:
        # A view made under no_grad whose base was then changed in place has no grad_fn to print.
        name = "Invalid"
    if name is not None:
        suffixes.append(f"grad_fn=<{name}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    tangent = forward_ad.tangent_of(self)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    body = numbers(array, len(prefix)) if tensor_contents is None else tensor_contents
    return with_suffixes(prefix + body, suffixes, len(prefix))


bind("__repr__", overridable(tensor_repr, "__repr__"))
