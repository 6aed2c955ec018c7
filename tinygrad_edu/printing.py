"""How a tensor prints: PyTorch's layout of the numbers, and what autograd knows of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .tensor import Tensor

__all__ = ["set_printoptions"]


class _Options:
    precision = 4
    threshold = 1000
    edgeitems = 3
    linewidth = 80


options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
) -> None:
    """Set the digits after the point, the size past which a tensor is summarised, and the width of a line."""
    for name, value in locals().copy().items():
        if value is not None:
            setattr(options, name, value)


class _Format:
    """One format for all numbers of a tensor, chosen as PyTorch does: by the largest, the smallest and their ratio."""

    def __init__(self, values: np.ndarray) -> None:
        self.floating = values.dtype.kind == "f"
        self.int_mode = self.scientific = False
        self.width = 1
        flat = values.reshape(-1)
        if not self.floating:
            self.width = max((len(str(v)) for v in flat.tolist()), default=1)
            return
        finite = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
        if finite.size:
            size = np.abs(finite)
            low, high = size.min(), size.max()
            self.int_mode = bool(np.all(finite == np.ceil(finite)))
            if self.int_mode:
                self.scientific = bool(high / low > 1000.0 or high > 1e8)
            else:
                self.scientific = bool(high / low > 1000.0 or high > 1e8 or low < 1e-4)
        else:
            self.int_mode = True
        self.width = max((len(self._plain(v)) for v in flat.tolist()), default=1)

    def _plain(self, value: float) -> str:
        if not np.isfinite(value):
            return str(value)
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.int_mode:
            return f"{value:.0f}."
        return f"{value:.{options.precision}f}"

    def __call__(self, value: Any) -> str:
        return (self._plain(value) if self.floating else str(value)).rjust(self.width)


def _summarised(array: np.ndarray) -> np.ndarray:
    """The edges of a large array: what is printed, and what decides the format."""
    for axis, n in enumerate(array.shape):
        if n > 2 * options.edgeitems:
            index = list(range(options.edgeitems)) + list(range(n - options.edgeitems, n))
            array = np.take(array, index, axis=axis)
    return array


def _nested(array: np.ndarray, form: _Format, indent: int, summarise: bool) -> str:
    # Depth is the rank of the tensor, so this recursion is bounded by it.
    if array.ndim == 0:
        return form(array.item())
    n, edge = array.shape[0], options.edgeitems
    cut = summarise and n > 2 * edge
    rows = [*range(edge), None, *range(n - edge, n)] if cut else list(range(n))
    if array.ndim == 1:
        per_line = max(1, (options.linewidth - indent) // (form.width + 2))
        items = [" ..." if i is None else form(array[i].item()) for i in rows]
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)] or [""]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = ["..." if i is None else _nested(array[i], form, indent + 1, summarise) for i in rows]
    separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


def tensor_repr(self: Tensor) -> str:
    """PyTorch's text for a tensor, such as `tensor([2., 4.], grad_fn=<MulBackward0>)`."""
    array = self._data
    prefix = "tensor(" if type(self) is Tensor else f"{type(self).__name__} containing:\ntensor("
    suffixes = []
    summarise = array.size > options.threshold
    if array.size == 0:
        body = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
    else:
        form = _Format(_summarised(array) if summarise else array)
        # A number alone, or a boolean, has nothing to be aligned with.
        if array.ndim == 0:
            form.width = 0
        body = _nested(array, form, len("tensor("), summarise)
    kind = self.dtype
    usual = kind in (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_)
    if not usual or (array.size == 0 and kind is not dtypes.get_default_dtype()):
        suffixes.append(f"dtype={kind!r}")
    if self.grad_fn is not None:
        suffixes.append(f"grad_fn=<{self.grad_fn.name().rpartition('::')[2]}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    return prefix + ", ".join([body, *suffixes]) + ")"


Tensor.__repr__ = tensor_repr  # type: ignore[method-assign]
