"""Logic of truth values, and the bits of integers. Results have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ..binding import both_forms, in_place, method, operator, public
from ..op import Op
from ..operands import need_tensor, refuse_kinds


class LogicalNot(Op):
    def forward(self):
        return np.logical_not(self)


class BitwiseNot(Op):
    def forward(self):
        refuse_kinds((self,), "bitwise_not_cpu", "f")
        return np.invert(self)


def _logical(name, compute):
    return type(name, (Op,), {"forward": lambda self, other: compute(self, other), "mixes": True})


def _bitwise(name, compute):
    def forward(self, other):
        kind = np.result_type(self, other)
        if kind.kind == "f":
            what = f"\"{compute.__name__}_cpu\" not implemented for '{dtypes.from_numpy_dtype(kind).legacy_name}'"
            raise NotImplementedError(
                f"{what}: only integers and booleans have bits. Compare first: (x > 0) & (x < 1)."
            )
        return compute(self, other)

    return type(name, (Op,), {"forward": forward, "promotes": True})


LogicalAnd, LogicalOr = _logical("LogicalAnd", np.logical_and), _logical("LogicalOr", np.logical_or)
LogicalXor = _logical("LogicalXor", np.logical_xor)
BitwiseAnd, BitwiseOr = _bitwise("BitwiseAnd", np.bitwise_and), _bitwise("BitwiseOr", np.bitwise_or)
BitwiseXor = _bitwise("BitwiseXor", np.bitwise_xor)


@public()
def logical_not(input: Tensor) -> Tensor:
    """True where input is 0."""
    return LogicalNot.apply(input)


@public()
def logical_and(input: Tensor, other: Tensor | float) -> Tensor:
    """True where both are nonzero."""
    return LogicalAnd.apply(input, need_tensor("logical_and", other))


@public()
def logical_or(input: Tensor, other: Tensor | float) -> Tensor:
    """True where at least one is nonzero."""
    return LogicalOr.apply(input, need_tensor("logical_or", other))


@public()
def logical_xor(input: Tensor, other: Tensor | float) -> Tensor:
    """True where exactly one is nonzero."""
    return LogicalXor.apply(input, need_tensor("logical_xor", other))


@public()
def bitwise_not(input: Tensor) -> Tensor:
    """~input: inverts the bits of integers, and the value of booleans."""
    return BitwiseNot.apply(input)


def __invert__(self) -> Any:
    if self.dtype.is_floating_point:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


@public(number_first=True)
def bitwise_and(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input & other."""
    return BitwiseAnd.apply(input, other)


@public(number_first=True)
def bitwise_or(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input | other."""
    return BitwiseOr.apply(input, other)


@public(number_first=True)
def bitwise_xor(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input ^ other."""
    return BitwiseXor.apply(input, other)


class LogicMethods:
    """The methods of Tensor that are defined here."""

    __and__ = operator(bitwise_and)
    __rand__ = operator(bitwise_and)
    __or__ = operator(bitwise_or)
    __ror__ = operator(bitwise_or)
    __xor__ = operator(bitwise_xor)
    __rxor__ = operator(bitwise_xor)
    logical_not, logical_not_ = both_forms(logical_not, LogicalNot)
    logical_and, logical_and_ = both_forms(logical_and, LogicalAnd)
    logical_or, logical_or_ = both_forms(logical_or, LogicalOr)
    logical_xor, logical_xor_ = both_forms(logical_xor, LogicalXor)
    bitwise_not, bitwise_not_ = both_forms(bitwise_not, BitwiseNot)
    __invert__ = __invert__
    bitwise_and_ = __iand__ = in_place(bitwise_and, BitwiseAnd)
    bitwise_and = method(bitwise_and)
    bitwise_or_ = __ior__ = in_place(bitwise_or, BitwiseOr)
    bitwise_or = method(bitwise_or)
    bitwise_xor_ = __ixor__ = in_place(bitwise_xor, BitwiseXor)
    bitwise_xor = method(bitwise_xor)
