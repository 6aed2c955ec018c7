"""Comparisons and logic. Results are booleans and have no gradient."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor, bind
from ...overrides import overridable
from ..binding import operator, public
from ..creation.factories import zeros_like
from ..op import Op, elementwise


class _Compare(Op):
    promotes = True


def _comparison(name, compare):
    return type(name, (_Compare,), {"forward": lambda self, other: compare(self, other)})


Eq, Ne = _comparison("Eq", np.equal), _comparison("Ne", np.not_equal)
Lt, Le = _comparison("Lt", np.less), _comparison("Le", np.less_equal)
Gt, Ge = _comparison("Gt", np.greater), _comparison("Ge", np.greater_equal)


class _Written(Op):
    """1 or 0 in place of the old values, as `lt_` writes them. No gradient flows back."""

    mixes = True

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


def _in_place(compare: type[Op], *names: str) -> None:
    """Bind the in-place form of a comparison. PyTorch has one node for numbers and one for tensors."""
    kind = names[0].title()

    class WithNumber(_Written, name=f"{kind}Backward0"):
        def forward(self, *, other):
            return compare.forward(self, other).astype(self.dtype)

    class WithTensor(_Written, name=f"{kind}Backward1"):
        def forward(self, other):
            return compare.forward(self, other).astype(self.dtype)

        def grad_other(grad):
            return zeros_like(grad)

    def write(self, other):
        return WithTensor.apply_(self, other) if isinstance(other, Tensor) else WithNumber.apply_(self, other=other)

    write.__doc__ = f"In-place version of `{names[0]}`: writes 1 and 0."
    for name in names:
        bind(f"{name}_", overridable(write, f"{name}_"))


class LogicalNot(Op):
    def forward(self):
        return np.logical_not(self)


class _Test(Op):
    """A test of each element."""

    def forward(self, *, holds):
        return holds(self)


@operator("__eq__")
@public()
def eq(input, other) -> Tensor:
    """True where input == other.

    >>> import tinygrad_edu as T
    >>> T.eq(T.tensor([1, 2]), T.tensor([1, 3]))
    tensor([ True, False])
    """
    return Eq.apply(input, other)


@public("not_equal", operators=("__ne__",))
def ne(input, other) -> Tensor:
    """True where input != other.

    >>> import tinygrad_edu as T
    >>> T.ne(T.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return Ne.apply(input, other)


@public("less", operators=("__lt__",))
def lt(input, other) -> Tensor:
    """True where input < other.

    >>> import tinygrad_edu as T
    >>> T.lt(T.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
    return Lt.apply(input, other)


@public("less_equal", operators=("__le__",))
def le(input, other) -> Tensor:
    """True where input <= other.

    >>> import tinygrad_edu as T
    >>> T.le(T.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return Le.apply(input, other)


@public("greater", operators=("__gt__",))
def gt(input, other) -> Tensor:
    """True where input > other.

    >>> import tinygrad_edu as T
    >>> T.gt(T.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return Gt.apply(input, other)


@public("greater_equal", operators=("__ge__",))
def ge(input, other) -> Tensor:
    """True where input >= other.

    >>> import tinygrad_edu as T
    >>> T.ge(T.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return Ge.apply(input, other)


@public(inplace=LogicalNot)
def logical_not(input) -> Tensor:
    """True where input is 0.

    >>> import tinygrad_edu as T
    >>> T.logical_not(T.tensor([True, False]))
    tensor([False,  True])
    """
    return LogicalNot.apply(input)


for _compare, *_names in (
    (Eq, "eq"), (Ne, "ne", "not_equal"), (Lt, "lt", "less"), (Le, "le", "less_equal"), (Gt, "gt", "greater"),
    (Ge, "ge", "greater_equal"),
):  # fmt: skip
    _in_place(_compare, *_names)


@public()
def isnan(input) -> Tensor:
    """True where input is nan.

    >>> import tinygrad_edu as T
    >>> T.isnan(T.tensor([1.0, T.nan]))
    tensor([False,  True])
    """
    return _Test.apply(input, holds=np.isnan)


@public()
def isinf(input) -> Tensor:
    """True where input is infinite.

    >>> import tinygrad_edu as T
    >>> T.isinf(T.tensor([1.0, T.inf]))
    tensor([False,  True])
    """
    return _Test.apply(input, holds=np.isinf)


@public()
def isfinite(input) -> Tensor:
    """True where input is neither infinite nor nan.

    >>> import tinygrad_edu as T
    >>> T.isfinite(T.tensor([1.0, T.inf]))
    tensor([ True, False])
    """
    return _Test.apply(input, holds=np.isfinite)


@public()
def equal(input, other) -> bool:
    """True if both tensors have the same shape and the same elements.

    >>> import tinygrad_edu as T
    >>> T.equal(T.tensor([1, 2]), T.tensor([1, 2]))
    True
    """
    return input._data.shape == other._data.shape and bool(np.array_equal(input._data, other._data))


def check_same_dtype(input, other):
    if isinstance(other, Tensor) and other._data.dtype != input._data.dtype:
        raise RuntimeError(
            f"{input.dtype.legacy_name} did not match {other.dtype.legacy_name}. Convert one of the two, as in "
            f"other.to({input.dtype})."
        )


@public()
def allclose(input, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if |input - other| <= atol + rtol * |other| everywhere.

    >>> import tinygrad_edu as T
    >>> T.allclose(T.tensor([0.1 + 0.2]), T.tensor([0.3]))
    True
    """
    check_same_dtype(input, other)
    return bool(np.allclose(input._data, other._data, rtol=rtol, atol=atol, equal_nan=equal_nan))
