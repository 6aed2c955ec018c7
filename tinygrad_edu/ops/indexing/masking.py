"""Choosing by booleans: `where`, `masked_fill`, `masked_select`, `nonzero`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..arrays import as_index, choose, row_major
from ..binding import both_forms, functions, method, public
from ..creation.factories import as_number, as_operand, finish
from ..op import LinearOp, Op, by_mask, row_by_row
from ..operands import need_tensor, refuse_mismatch


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

    jvp = by_mask


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
    """The same with a 0-d tensor as the value, which may need a gradient."""

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


class MaskedSelect(LinearOp):
    """The elements where `mask` is True, as a vector."""

    without_gradient = ("mask",)

    def forward(self, *, mask):
        both = np.broadcast_arrays(self, mask)
        return both[0][both[1]]

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, mask):
        return MaskedPlace.apply(grad, size=np.broadcast_shapes(self.shape, mask.shape), mask=mask)


class MaskedPlace(LinearOp, name="MaskedScatterBackward1"):
    """Zeros with the elements of `self`, in order, where `mask` is True."""

    without_gradient = ("mask",)

    def forward(self, *, size, mask):
        out = np.zeros(size, self.dtype)
        out[np.broadcast_to(mask, size)] = self
        return out

    def grad_self(grad, mask):
        return MaskedSelect.apply(grad, mask=mask)


def where(condition: Any, input: Any, other: Any) -> Any:
    """input where `condition` is True, other elsewhere."""
    return Where.apply(input, other, condition=condition)


@public()
def _where(condition, input=None, other=None) -> Any:
    """`input` where `condition` is True, `other` elsewhere. With `condition` alone: the indices where it is True.

    >>> x = T.tensor([-1.0, 2.0])
    >>> T.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    need_tensor("where", condition, "condition", 1)
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition.value.dtype != np.bool_:
        kind = condition.dtype.name
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind}")
    input, other = dtypes.number(input), dtypes.number(other)
    for name, x in (("input", input), ("other", other)):
        if not isinstance(x, Tensor | int | float):
            raise TypeError(f"where(): argument '{name}' must be Tensor or Number, not {type(x).__name__}")
    # A number promotes as a number: it does not widen a tensor's dtype.
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = as_operand(input)
    for x, tensor in ((input, other), (other, input)):
        if isinstance(x, int) and tensor.value.dtype.kind in "iu":
            as_number(x, tensor._data)  # raises for a number that would wrap around
    refuse_mismatch([x.value.shape for x in (condition, input, other) if isinstance(x, Tensor)])
    return where(condition, input, other)


def _masked_fill(form, input, mask, value):
    if mask.value.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}")
    refuse_mismatch([mask.shape, input.shape])
    if isinstance(value, Tensor) and value.ndim:
        told = f"but got tensor with {value.ndim} dimension(s)"
        raise RuntimeError(f"masked_fill only supports a 0-dimensional value tensor, {told}.")
    if isinstance(value, Tensor):
        return getattr(MaskedFillTensor, form)(input, value, mask=mask)
    return getattr(MaskedFill, form)(input, mask=mask, value=value)


def _masked_fill_(self, mask, value):
    return _masked_fill("apply_", self, mask, value)


@public()
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy of `input` with `value` where `mask` is True."""
    return _masked_fill("apply", input, mask, value)


@public()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is True, as a vector.

    >>> T.masked_select(T.tensor([1, 2, 3]), T.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask.value.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    refuse_mismatch([mask.shape, input.shape])
    return MaskedSelect.apply(input, mask=mask)


@public()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements, one per row; with `as_tuple`, one vector per dimension.

    >>> T.nonzero(T.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    found = np.nonzero(np.atleast_1d(input._data))
    if as_tuple:
        return tuple(finish(as_index(i)) for i in found)
    return finish(as_index(np.stack(found, axis=1)[:, : input.ndim]))


@public()
def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements, one per row."""
    return nonzero(input)


class MaskingMethods:
    """The methods of Tensor that are defined here."""

    masked_fill, masked_fill_ = both_forms(masked_fill, _masked_fill_)
    masked_select = method(masked_select)
    nonzero = method(nonzero)
    argwhere = method(argwhere)

    def where(self, condition: Any, other: Any) -> Any:
        """`self` where `condition` is true, else `other`."""
        return functions["where"](condition, self, other)
