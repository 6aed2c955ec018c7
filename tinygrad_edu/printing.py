"""How a tensor prints: PyTorch's layout of the numbers, followed by `requires_grad` or `grad_fn`."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from .array import dtypes
from .array.tensor import Tensor
from .autograd import forward_ad
from .overrides import overridable

__all__ = ["set_printoptions"]


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000.0, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000.0, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
options = SimpleNamespace(**_PROFILES["default"], sci_mode=None)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print from now on.

    `precision`: digits after the decimal point; `threshold`: the number of elements above which only the edges, of
    `edgeitems` elements, are shown; `linewidth`: of a line, in characters; `sci_mode`: `1.0000e+00` always or never;
    None decides by the numbers; `profile`: "default", "short" or "full" sets them all at once.

    >>> T.set_printoptions(precision=2)
    >>> T.tensor([1.12345])
    tensor([1.12])
    >>> T.set_printoptions(profile="default")
    """
    chosen = dict(_PROFILES.get(profile or "", {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


class _Format:
    """One format for all numbers of a tensor, chosen as in PyTorch: by the largest, the smallest and their ratio."""

    def __init__(self, values: np.ndarray) -> None:
        self.floating = values.dtype.kind == "f"
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


def _edges(array: np.ndarray) -> np.ndarray:
    """The edges of a large array: the part that is printed and that decides the format."""
    edge = options.edgeitems
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            array = np.take(array, [*range(edge), *range(n - edge, n)], axis=axis)
    return array


def _nested(array: np.ndarray, form: _Format, indent: int, summarise: bool) -> str:
    # The depth of this recursion is the tensor's rank.
    if array.ndim == 0:
        return form(array.item())
    n, edge = array.shape[0], options.edgeitems
    rows: list[int | None] = [*range(n)]
    if summarise and n > 2 * edge:
        rows = [*range(edge), None, *range(n - edge, n)]
    if array.ndim == 1:
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
    return _nested(array, _Format(_edges(array) if summarise else array), indent, summarise)


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
    plain = "_prints_as_tensor" in vars(kind)
    prefix = "tensor(" if plain else f"{kind.__name__}("
    array, dtype, default = self._data, self.dtype, dtypes.get_default_dtype()
    suffixes = []
    if array.size == 0:
        # With no elements to print, say the shape and the dtype.
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        if dtype is not default:
            suffixes.append(f"dtype={dtype!r}")
    else:
        if dtype not in (default, dtypes.int64, dtypes.bool_):
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


class PrintingMethods:
    """The printed form of a tensor."""

    __repr__ = overridable(tensor_repr, "__repr__")
