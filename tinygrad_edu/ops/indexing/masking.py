"""Selecting by booleans: `where`, `masked_fill`, `masked_select`, `nonzero`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, bind, wrap
from ..arrays import choose, row_major
from ..binding import functions, public
from ..creation.factories import as_number, as_operand, finish
from ..op import Op, elementwise, linear
from ..operands import refuse_mismatch


class Where(Op):
    """Elements of self where `condition` is True, of other elsewhere."""

    promotes = True
    without_gradient = ("condition",)

    def forward(self, other, *, condition):
        return choose(condition, self, other)

    def grad_self(grad, condition):
        return where(condition, grad, 0.0)

    def grad_other(grad, condition):
        return where(condition, 0.0, grad)

    jvp = elementwise


class MaskedFill(Op):
    """`value`, a number, where `mask` is True; self elsewhere."""

    without_gradient = ("mask",)

    def forward(self, *, mask, value):
        # The result keeps the dtype, so the value is converted to it: 5.5 becomes 5 among integers.
        return row_major(choose(mask, np.asarray(as_number(value, self)).astype(self.dtype), self))

    def grad_self(grad, mask):
        return where(mask, 0.0, grad)

    jvp = elementwise


class MaskedFillTensor(Op, name="MaskedFillBackward1"):
    """As MaskedFill, with a 0-d tensor as the value, which may need a gradient."""

    without_gradient = ("mask",)

    mixes = True

    def forward(self, value, *, mask):
        return choose(mask, value, self).astype(self.dtype, copy=False)

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


# --- functions -------------------------------------------------------------------------------------------------------


def where(condition, input, other):
    """input where `condition` is True, other elsewhere."""
    return Where.apply(input, other, condition=condition)


@public(method=False)
def _where(condition, input=None, other=None) -> Any:
    """`input` where `condition` is True, `other` elsewhere. With `condition` alone: the indices where it is True.

    >>> import tinygrad_edu as T
    >>> x = T.tensor([-1.0, 2.0])
    >>> T.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    if input is None and other is None:
        return tuple(wrap(i) for i in np.nonzero(condition._data))
    if condition._data.dtype == np.uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version "
            "of PyTorch. Use a boolean condition instead.",
            UserWarning,
            stacklevel=3,
        )
        condition = condition.bool()
    if condition._data.dtype != np.bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.name}"
        )
    input, other = dtypes.number(input), dtypes.number(other)
    for name, x in (("input", input), ("other", other)):
        if not isinstance(x, Tensor | int | float | complex):
            raise TypeError(f"where(): argument '{name}' must be Tensor or Number, not {type(x).__name__}")
    # A number promotes as a number: it does not widen a tensor's dtype.
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = as_operand(input)
    for x, tensor in ((input, other), (other, input)):
        if isinstance(x, int) and tensor._data.dtype.kind in "iu":
            as_number(x, tensor._data)  # raises for a number that would wrap around
    refuse_mismatch([x._data.shape for x in (condition, input, other) if isinstance(x, Tensor)])
    return where(condition, input, other)


bind("where", lambda self, condition, other: functions["where"](condition, self, other))


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
