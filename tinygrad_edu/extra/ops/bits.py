"""Bits of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, bind
from ...ops.binding import operator, public
from ...ops.op import Op
from ...ops.operands import need_tensor
from ...ops.pointwise.compare import _Compare, _Test


def _whole(name, self, other):
    """The operands, if both hold integers or booleans: only these have bits."""
    kind = np.result_type(self, other)
    if kind.kind == "f":
        raise NotImplementedError(f'"{name}_cpu" not implemented for {dtypes.from_numpy_dtype(kind).legacy_name!r}')
    return self, other


class LogicalAnd(Op):
    mixes = True

    def forward(self, other):
        return np.logical_and(self, need_tensor("logical_and", other))


class LogicalOr(Op):
    mixes = True

    def forward(self, other):
        return np.logical_or(self, need_tensor("logical_or", other))


class LogicalXor(Op):
    mixes = True

    def forward(self, other):
        return np.logical_xor(self, need_tensor("logical_xor", other))


class BitwiseAnd(_Compare):
    def forward(self, other):
        return np.bitwise_and(*_whole("bitwise_and", self, other))


class BitwiseOr(_Compare):
    def forward(self, other):
        return np.bitwise_or(*_whole("bitwise_or", self, other))


class BitwiseXor(_Compare):
    def forward(self, other):
        return np.bitwise_xor(*_whole("bitwise_xor", self, other))


class BitwiseLeftShift(_Compare):
    refuses = ("lshift_cpu", "b")

    def forward(self, other):
        return np.left_shift(*_whole("lshift", self, other))


class BitwiseRightShift(_Compare):
    refuses = ("rshift_cpu", "b")

    def forward(self, other):
        return np.right_shift(*_whole("rshift", self, other))


class BitwiseNot(Op):
    refuses = ("bitwise_not_cpu", "f")

    def forward(self):
        return np.invert(self)


@public(inplace=BitwiseAnd, operators=("__and__", "__rand__"), number_first=True)
def bitwise_and(input, other) -> Tensor:
    """input & other.

    >>> import tinygrad_edu as T
    >>> T.bitwise_and(T.tensor([6, 5]), 3)
    tensor([2, 1])
    """
    return BitwiseAnd.apply(input, other)


@public(inplace=BitwiseOr, operators=("__or__", "__ror__"), number_first=True)
def bitwise_or(input, other) -> Tensor:
    """input | other.

    >>> import tinygrad_edu as T
    >>> T.bitwise_or(T.tensor([6, 5]), 3)
    tensor([7, 7])
    """
    return BitwiseOr.apply(input, other)


@public(inplace=BitwiseXor, operators=("__xor__", "__rxor__"), number_first=True)
def bitwise_xor(input, other) -> Tensor:
    """input ^ other.

    >>> import tinygrad_edu as T
    >>> T.bitwise_xor(T.tensor([6, 5]), 3)
    tensor([5, 6])
    """
    return BitwiseXor.apply(input, other)


@public(inplace=BitwiseLeftShift, operators=("__lshift__",), number_first=True)
def bitwise_left_shift(input, other) -> Tensor:
    """input << other: multiply by 2 to the power of other.

    >>> import tinygrad_edu as T
    >>> T.bitwise_left_shift(T.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """
    return BitwiseLeftShift.apply(input, other)


@public(inplace=BitwiseRightShift, operators=("__rshift__",), number_first=True)
def bitwise_right_shift(input, other) -> Tensor:
    """input >> other: divide by 2 to the power of other, and round down.

    >>> import tinygrad_edu as T
    >>> T.bitwise_right_shift(T.tensor([4, 13]), 2)
    tensor([1, 3])
    """
    return BitwiseRightShift.apply(input, other)


@operator("__rlshift__")
def __rlshift__(self, other) -> Any:
    return bitwise_left_shift(other, self)


@operator("__rrshift__")
def __rrshift__(self, other) -> Any:
    return bitwise_right_shift(other, self)


@public(inplace=BitwiseNot)
def bitwise_not(input) -> Tensor:
    """~input: inverts the bits of integers, and the value of booleans.

    >>> import tinygrad_edu as T
    >>> T.bitwise_not(T.tensor([0, 5]))
    tensor([-1, -6])
    """
    return BitwiseNot.apply(input)


def __invert__(self) -> Any:
    if self.dtype.is_floating_point:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


bind("__invert__", __invert__)


@public()
def signbit(input) -> Tensor:
    """True where input is negative.

    >>> import tinygrad_edu as T
    >>> T.signbit(T.tensor([-3.0, 2.0]))
    tensor([ True, False])
    """
    return _Test.apply(input, holds=np.signbit)


@public(inplace=LogicalAnd)
def logical_and(input, other) -> Tensor:
    """True where both are nonzero.

    >>> import tinygrad_edu as T
    >>> T.logical_and(T.tensor([True, False]), T.tensor([True, True]))
    tensor([ True, False])
    """
    return LogicalAnd.apply(input, other)


@public(inplace=LogicalOr)
def logical_or(input, other) -> Tensor:
    """True where at least one is nonzero.

    >>> import tinygrad_edu as T
    >>> T.logical_or(T.tensor([True, False]), T.tensor([False, False]))
    tensor([ True, False])
    """
    return LogicalOr.apply(input, other)


@public(inplace=LogicalXor)
def logical_xor(input, other) -> Tensor:
    """True where exactly one is nonzero.

    >>> import tinygrad_edu as T
    >>> T.logical_xor(T.tensor([True, False]), T.tensor([True, True]))
    tensor([False,  True])
    """
    return LogicalXor.apply(input, other)
