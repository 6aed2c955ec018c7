"""Reading and writing elements by index tensors: `gather`, `scatter`, `index_select`, `index_add`, `take` and others."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor
from ..arrays import flat_places, row_major
from ..binding import public
from ..op import Op, linear
from ..shapes.shape import axis_of


class Gather(Op):
    """result[…, i, …] = self[…, index[…, i, …], …]"""

    without_gradient = ("index",)

    def forward(self, *, dim, index):
        return self.reshape(-1)[row_major(flat_places(index, dim, self.shape))]

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, dim, index):
        return put_along(grad, self.shape, dim, index)

    jvp = linear


class PutAlong(Op, name="ScatterAddBackward0"):
    """Zeros of shape `size` with `self` added at `index` along `dim`: the transpose of Gather."""

    without_gradient = ("index",)

    def forward(self, *, size, dim, index):
        out = np.zeros(math.prod(size), self.dtype)
        np.add.at(out, flat_places(index, dim, size).reshape(-1), self.reshape(-1))
        return out.reshape(size)

    def grad_self(grad, dim, index):
        return take_along(grad, dim, index)

    jvp = linear


# --- functions -------------------------------------------------------------------------------------------------------


def take_along(value, dim, index):
    """value[…, index[…, i, …], …] along `dim`."""
    return Gather.apply(value, dim=dim, index=index)


def put_along(value, size, dim, index):
    """Zeros of shape `size` with `value` added at `index` along `dim`."""
    return PutAlong.apply(value, size=tuple(size), dim=dim, index=index)


def checked_index(name, index, ndim=None, size=None, dim=None):
    """The array of an index tensor, after checking that each index is within `size` and not negative."""
    if not isinstance(index, Tensor) or (index._data.dtype not in (np.int64, np.int32) and index._data.size):
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index. Convert first: index.long().")
    array = index._data
    if size is not None and array.size and not (array.min() >= 0 and array.max() < size):
        bad = array[(array < 0) | (array >= size)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size}")
    if ndim is not None and max(array.ndim, 1) != max(ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    return array


@public()
def gather(input, dim, index, *, sparse_grad: bool = False) -> Tensor:
    """Pick elements along `dim` by index: for dim = 1, result[i][j] = input[i][index[i][j]].

    >>> import tinygrad_edu as T
    >>> T.gather(T.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, T.tensor([[1], [0]]))
    tensor([[2.],
            [3.]])
    """
    axis = axis_of(dim, input.ndim)
    if isinstance(index, Tensor) and not index.numel():
        return Gather.apply(input, dim=axis, index=index)
    array = checked_index("gather", index, input.ndim, input.shape[axis] if input.ndim else 1, axis)
    for d, (n, m) in enumerate(zip(array.shape, input.shape, strict=False)):
        if d != axis and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(array.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {axis}"
            )
    return Gather.apply(input, dim=axis, index=index)
