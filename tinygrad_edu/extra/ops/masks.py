"""What a mask selects, fills and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import choose, row_major
from ...ops.binding import public
from ...ops.creation.factories import as_number, finish
from ...ops.indexing.masking import where
from ...ops.op import Op, linear, row_by_row
from ...ops.operands import refuse_mismatch


class MaskedFill(Op):
    """`value`, a number, where `mask` is True; self elsewhere."""

    without_gradient = ("mask",)

    def forward(self, *, mask, value):
        # The result keeps the dtype, so the value is converted to it: 5.5 becomes 5 among integers.
        return choose(mask, np.asarray(as_number(value, self)).astype(self.dtype), self)

    def grad_self(grad, mask):
        return where(mask, 0.0, grad)

    jvp = row_by_row


class MaskedFillTensor(Op, name="MaskedFillBackward1"):
    """As MaskedFill, with a 0-d tensor as the value, which may need a gradient."""

    without_gradient = ("mask",)
    mixes = True

    def forward(self, value, *, mask):
        return row_major(choose(mask, value, self).astype(self.dtype, copy=False))

    def grad_self(grad, mask):
        return where(mask, 0.0, grad)

    def grad_value(grad, mask):
        return where(mask, grad, 0.0).sum()

    def jvp(tangent, value_tangent, mask):
        return where(mask, value_tangent, tangent)


class MaskedSelect(Op):
    """The elements where `mask` is True, as a vector."""

    without_gradient = ("mask",)

    def forward(self, *, mask):
        both = np.broadcast_arrays(self, mask)
        return both[0][both[1]]

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, mask):
        return MaskedPlace.apply(grad, size=np.broadcast_shapes(self.shape, mask.shape), mask=mask)

    jvp = linear


class MaskedPlace(Op, name="MaskedScatterBackward1"):
    """Zeros with the elements of `self`, in order, where `mask` is True."""

    without_gradient = ("mask",)

    def forward(self, *, size, mask):
        out = np.zeros(size, self.dtype)
        out[np.broadcast_to(mask, size)] = self
        return out

    def grad_self(grad, mask):
        return MaskedSelect.apply(grad, mask=mask)

    jvp = linear


def _check_mask(mask):
    if mask._data.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}")


def _masked_fill_(self, mask, value):
    _check_mask(mask)
    if isinstance(value, Tensor):
        return MaskedFillTensor.apply_(self, value, mask=mask)
    return MaskedFill.apply_(self, mask=mask, value=value)


@public(inplace=_masked_fill_)
def masked_fill(input, mask, value) -> Tensor:
    """A copy of `input` with `value` where `mask` is True.

    >>> import tinygrad_edu as T
    >>> T.ones(3).masked_fill(T.tensor([True, False, True]), 0.0)
    tensor([0., 1., 0.])
    """
    _check_mask(mask)
    refuse_mismatch([mask.shape, input.shape])
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            )
        return MaskedFillTensor.apply(input, value, mask=mask)
    return MaskedFill.apply(input, mask=mask, value=value)


@public()
def masked_select(input, mask) -> Tensor:
    """The elements where `mask` is True, as a vector.

    >>> import tinygrad_edu as T
    >>> T.masked_select(T.tensor([1, 2, 3]), T.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask._data.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    return MaskedSelect.apply(input, mask=mask)


@public()
def nonzero(input, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements, one per row; with `as_tuple`, one vector per dimension.

    >>> import tinygrad_edu as T
    >>> T.nonzero(T.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    found = np.nonzero(np.atleast_1d(input._data))
    if as_tuple:
        return tuple(finish(i) for i in found)
    rows = np.stack(found, axis=1)
    return finish(rows if input.ndim else rows[:, :0])
