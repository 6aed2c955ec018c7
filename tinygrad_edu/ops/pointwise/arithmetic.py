"""Sums and products, element by element. The line above a rule is its formula."""

from __future__ import annotations

import operator as operators
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, wrap
from ...core.tensor import Add, Mul, Neg, Rsub, Sub
from ...modes import warn_once
from ...overrides import behind_core
from ..binding import both_forms, in_place, method, operator, public
from ..op import ElementwiseOp, Op
from ..operands import checks, promoted
from .rounding import sign


# What PyTorch's own code does with a number is a node of another name than what a program does with one.
def _with_number(name, compute, rule):
    forward = {"forward": lambda self, *, other: compute(self, other)}
    return type(f"{name}Number", (ElementwiseOp,), {**forward, "grad_self": rule}, name=f"{name}Backward1")


AddNumber = _with_number("Add", operators.add, lambda grad: grad)
MulNumber: type[Op] = _with_number("Mul", operators.mul, lambda grad, other: MulNumber.apply(grad, other=other))
DivNumber: type[Op] = _with_number("Div", operators.truediv, lambda grad, other: DivNumber.apply(grad, other=other))


class Abs(ElementwiseOp):
    def forward(self):
        if isinstance(self, np.ndarray) and self.dtype.kind == "b":
            raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'. Convert first: t.long().")
        return np.abs(self)

    # The gradient at the kink is 0.
    def grad_self(grad, self):
        return grad * sign(self)


def _today(name, other, rest, alpha):
    """The operand and its factor, also from the old form `p.add_(-lr, grad)`, of which PyTorch warns as well."""
    if not rest:
        return other, alpha
    if len(rest) > 1 or isinstance(other, Tensor):
        raise TypeError(f"{name}() takes one tensor or number, and alpha=… by its name")
    warn_once(f"This overload of {name} is deprecated. Write {name}(other, alpha=…).", stacklevel=5)
    return rest[0], other


def _add_(self, other, *rest, alpha=1):
    other, alpha = _today("add_", other, rest, alpha)
    return Add.apply_(self, other, alpha=alpha)


@public(number_first=True)
def add(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """input + alpha * other, with broadcasting.

    >>> T.add(T.ones(2), T.ones(2), alpha=2)
    tensor([3., 3.])
    """
    if type(alpha) is int and alpha == 1:
        return Add.apply(input, other)
    return Add.apply(input, other, alpha=alpha)


def _whole(values, settings):
    """The factor `alpha` of whole numbers is one, of the type in which they are added."""
    alpha, common = settings.get("alpha", 1), dtypes.promote([dtypes.number(v) for v in values])
    if alpha == 1 or common.kind == "f":
        return settings
    if isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    # As in PyTorch, a number that does not fit into an integer type wraps around.
    return {**settings, "alpha": np.asarray(alpha).astype(common)}


def _no_booleans(values, settings):
    refuse_booleans(*values)
    return _whole(values, settings)


def _no_boolean(values, settings):
    if values[0].dtype.kind == "b":
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. To invert a mask, use `~`.")
    return settings


checks |= {Add: _whole, Sub: _no_booleans, Neg: _no_boolean}


def refuse_booleans(*operands: Any) -> None:
    """Raise if an operand is boolean: NumPy computes `True - False`, but PyTorch refuses it."""
    kinds = [getattr(getattr(x, "value", x), "dtype", np.dtype(type(x))).name for x in operands]
    if "bool" in kinds:
        what = "two bool tensors" if kinds == ["bool", "bool"] else "a bool tensor"
        raise RuntimeError(f"Subtraction, the `-` operator, with {what} is not supported. Use `^` or `~` instead.")


def _sub_(self, other, *rest, alpha=1):
    other, alpha = _today("sub_", other, rest, alpha)
    refuse_booleans(self, other)
    return Sub.apply_(self, other, alpha=alpha)


@public("subtract", number_first=True)
def sub(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """input - alpha * other, with broadcasting.

    >>> T.sub(T.tensor([5.0, 6.0]), T.tensor([1.0, 2.0]), alpha=2)
    tensor([3., 2.])
    """
    refuse_booleans(input, other)
    return Sub.apply(input, other, alpha=alpha)


def __rsub__(self, other) -> Tensor:
    """other - self, for a number `other`."""
    refuse_booleans(self, other)
    if self.value.dtype.kind == "f" and isinstance(other, int | float):
        return Rsub.apply(self, other=other, alpha=1)
    # An integer takes the tensor's type; a float makes an integer tensor's result the default float type.
    return Sub.apply(wrap(promoted([self._data, other], False)[1]), self)


@public("multiply", number_first=True)
def mul(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input * other, with broadcasting."""
    return Mul.apply(input, other)


@public("negative")
def neg(input: Tensor) -> Tensor:
    """-input."""
    return Neg.apply(input)


@public("absolute")
def abs(input: Tensor) -> Tensor:
    """The absolute value. Its gradient at 0 is 0."""
    return Abs.apply(input)


class ArithmeticMethods:
    """The methods of Tensor that are defined here."""

    __abs__ = method(abs)
    add_ = __iadd__ = in_place(add, _add_)
    add = method(add)
    subtract_ = in_place(sub, _sub_)
    sub = subtract = method(sub)
    mul_ = multiply_ = __imul__ = in_place(mul, Mul)
    mul = multiply = method(mul)
    neg, neg_ = negative, negative_ = both_forms(neg, Neg)
    abs, abs_ = absolute, absolute_ = both_forms(abs, Abs)


behind_core |= {
    "__add__": operator(add),
    "__sub__": operator(sub),
    "__rsub__": operator(__rsub__, name="rsub"),
    "__mul__": operator(mul),
    "__neg__": method(neg),
    "sub_": ArithmeticMethods.subtract_,
}
