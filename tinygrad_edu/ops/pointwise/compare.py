"""Comparisons and tests, element by element. Results are booleans and have no gradient."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor
from ...overrides import overridable
from ..binding import method, operator, public
from ..op import Op
from ..operands import need_tensor


class _Compare(Op):
    promotes = True


def _comparison(name, compare):
    return type(name, (_Compare,), {"forward": lambda self, other: compare(self, other)})


Eq, Ne = _comparison("Eq", np.equal), _comparison("Ne", np.not_equal)
Lt, Le = _comparison("Lt", np.less), _comparison("Le", np.less_equal)
Gt, Ge = _comparison("Gt", np.greater), _comparison("Ge", np.greater_equal)


class _Test(Op):
    def forward(self, *, holds):
        return holds(self)


class Isclose(Op):
    def forward(self, other, *, rtol, atol, equal_nan):
        return np.isclose(self, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@public()
def eq(input: Tensor, other: Tensor | float) -> Tensor:
    """True where input == other."""
    return Eq.apply(input, other)


@public("not_equal")
def ne(input: Tensor, other: Tensor | float) -> Tensor:
    """True where input != other."""
    return Ne.apply(input, other)


@public("less")
def lt(input: Tensor, other: Tensor | float) -> Tensor:
    """True where input < other."""
    return Lt.apply(input, other)


@public("less_equal")
def le(input: Tensor, other: Tensor | float) -> Tensor:
    """True where input <= other."""
    return Le.apply(input, other)


@public("greater")
def gt(input: Tensor, other: Tensor | float) -> Tensor:
    """True where input > other."""
    return Gt.apply(input, other)


@public("greater_equal")
def ge(input: Tensor, other: Tensor | float) -> Tensor:
    """True where input >= other."""
    return Ge.apply(input, other)


@public()
def isnan(input: Tensor) -> Tensor:
    """True where input is nan."""
    return _Test.apply(input, holds=np.isnan)


@public()
def isinf(input: Tensor) -> Tensor:
    """True where input is infinite."""
    return _Test.apply(input, holds=np.isinf)


@public()
def isfinite(input: Tensor) -> Tensor:
    """True where input is neither infinite nor nan."""
    return _Test.apply(input, holds=np.isfinite)


@public()
def equal(input: Tensor, other: Tensor) -> bool:
    """True if both tensors have the same shape and the same elements."""
    return input.value.shape == other.value.shape and bool(np.array_equal(input._data, other._data))


@public()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """True where |input - other| <= atol + rtol * |other|.

    >>> T.isclose(T.tensor([1.0, 2.0]), T.tensor([1.0 + 1e-9, 2.1]))
    tensor([ True, False])
    """
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    if need_tensor("isclose", other).dtype is not input.dtype:
        names = f"{input.dtype.legacy_name} did not match {other.dtype.legacy_name}"
        raise RuntimeError(f"{names}. Convert one of the two, as in other.to({input.dtype}).")
    return Isclose.apply(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@public()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if |input - other| <= atol + rtol * |other| everywhere."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._data.all())


@public()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True if both tensors have the same shape."""
    return input.shape == other.shape


@public()
def is_nonzero(input: Tensor) -> bool:
    """True if the only element is not 0."""
    return bool(input)


def __contains__(self, element) -> bool:
    """True if an element equals `element`, a number or a tensor."""
    if not isinstance(element, Tensor | int | float | np.generic):
        told = f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        raise RuntimeError(told)
    return bool((self == element)._data.any())


class CompareMethods:
    """The methods of Tensor that are defined here."""

    __eq__ = operator(eq, name="__eq__")
    __ne__ = operator(ne)
    __lt__ = operator(lt)
    __le__ = operator(le)
    __gt__ = operator(gt)
    __ge__ = operator(ge)
    eq = method(eq)
    ne = not_equal = method(ne)
    lt = less = method(lt)
    le = less_equal = method(le)
    gt = greater = method(gt)
    ge = greater_equal = method(ge)
    isnan = method(isnan)
    isinf = method(isinf)
    isfinite = method(isfinite)
    equal = method(equal)
    isclose = method(isclose)
    is_same_size = method(is_same_size)
    is_nonzero = method(is_nonzero)
    __contains__ = overridable(__contains__)
    allclose = method(allclose)
