"""Places in a sorted row, members of a set."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import linalg_functions, nn_functions, public
from ...ops.creation.factories import finish

_NN, _LINALG = (nn_functions,), (linalg_functions,)


@public(method=False)
def searchsorted(
    sorted_sequence, values, *, out_int32: bool = False, right: bool = False, side=None, sorter=None
) -> Tensor:
    """The indices at which to insert `values` so that the sequence stays sorted (`sorter` sorts an unsorted one).

    >>> import tinygrad_edu as T
    >>> T.searchsorted(T.tensor([1.0, 2.0, 3.0]), T.tensor([0.5, 2.5]))
    tensor([0, 2])
    """
    if not isinstance(values, Tensor | int | float):
        raise TypeError(f"searchsorted(): argument 'values' (position 2) must be Tensor, not {type(values).__name__}")
    where_: Literal["left", "right"] = "right" if right or side == "right" else "left"
    rows, wanted = sorted_sequence._data, np.asarray(getattr(values, "_data", values))
    if rows.ndim != 1 and rows.shape[:-1] != wanted.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input value tensor "
            f"{list(wanted.shape)}"
        )
    if sorter is not None:
        rows = np.take_along_axis(rows, sorter._data, -1)
    found = _places(rows, wanted, np.greater if where_ == "right" else np.greater_equal)
    return finish(np.asarray(found, np.int32 if out_int32 else np.int64))


def _places(rows, wanted, is_behind):
    """By halves, so that nan, and rows that are not sorted, give what they give in PyTorch."""
    low, high = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, rows.shape[-1])
    for _ in range(rows.shape[-1].bit_length()):
        middle, open_ = (low + high) // 2, low < high
        near = np.minimum(middle, rows.shape[-1] - 1)
        behind = is_behind(rows[near] if rows.ndim == 1 else np.take_along_axis(rows, near, -1), wanted)
        low, high = np.where(open_ & ~behind, middle + 1, low), np.where(open_ & behind, middle, high)
    return low


@public(method=False, number_first=True)
def bucketize(input, boundaries, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The index of the interval between `boundaries` that each element falls into.

    >>> import tinygrad_edu as T
    >>> T.bucketize(T.tensor([0.5, 2.5]), T.tensor([1.0, 2.0, 3.0]))
    tensor([0, 2])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public(method=False, number_first=True)
def isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """True where an element is one of `test_elements`.

    >>> import tinygrad_edu as T
    >>> T.isin(T.tensor([1, 2, 3]), T.tensor([2, 5]))
    tensor([False,  True, False])
    """
    for name, x in (("elements", elements), ("test_elements", test_elements)):
        if not isinstance(x, Tensor | int | float):
            raise TypeError(f"isin(): argument '{name}' must be Tensor or Number, not {type(x).__name__}")
    among = np.asarray(getattr(test_elements, "_data", test_elements))
    if any(isinstance(t, Tensor) and t._data.dtype.kind == "b" for t in (elements, test_elements)):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool. Convert first: t.long().")
    return finish(np.asarray(np.isin(getattr(elements, "_data", elements), among, invert=invert)))


@public()
def argwhere(input) -> Tensor:
    """The indices of the nonzero elements, one per row.

    >>> import tinygrad_edu as T
    >>> T.argwhere(T.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return input.nonzero()
