"""Choosing by booleans: `where`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, bind, wrap
from ..arrays import choose
from ..binding import functions, public
from ..creation.factories import as_number, as_operand
from ..op import Op, by_mask
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

    jvp = by_mask


# --- functions -------------------------------------------------------------------------------------------------------


def where(condition, input, other):
    """input where `condition` is True, other elsewhere."""
    return Where.apply(input, other, condition=condition)


bind("where", lambda self, condition, other: functions["where"](condition, self, other))


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
