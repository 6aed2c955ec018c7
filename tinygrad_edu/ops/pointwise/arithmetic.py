"""Sums and products, element by element. The line above a rule is its formula."""

from __future__ import annotations

import numpy as np

from ...array.tensor import Tensor, wrap
from ...modes import thread
from ..binding import operator, public
from ..op import Op, elementwise, linear
from ..operands import promoted
from ..tangents import Elementwise
from .rounding import sign


class Arithmetic(Op):
    """An op of two tensors that has an operator."""

    promotes = True

    @classmethod
    def _between(cls, otherwise):
        """A method of Tensor for the operator: the op of two tensors that are alike, or `otherwise(method, self, other)`."""
        apply = super(Op, cls).apply

        def method(self, other):
            if isinstance(other, Tensor) and self._view is other._view is None and not thread.state.unusual:
                a, b = self._data, other._data
                alike = type(a) is type(b) is np.ndarray and (a.dtype, a.shape) == (b.dtype, b.shape)
                if alike and a.dtype.kind == "f" and a.flags.c_contiguous:
                    return apply(self, other)
            return otherwise(method, self, other)

        return method


class Add(Arithmetic):
    def forward(self, other, *, alpha=1):
        if alpha == 1:
            return self + other
        return self + _scaled(alpha, other)

    def grad_self(grad):
        return grad

    def grad_other(grad, alpha):
        return grad if alpha == 1 else grad * alpha

    jvp = elementwise


class Sub(Arithmetic):
    def forward(self, other, *, alpha=1):
        return self - (other if alpha == 1 else _scaled(alpha, other))

    def grad_self(grad):
        return grad

    def grad_other(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    jvp = elementwise


class Rsub(Op, name="RsubBackward1"):
    """other - self, for a number `other`."""

    promotes = True

    def forward(self, *, other, alpha=1):
        return other - (self if alpha == 1 else _scaled(alpha, self))

    def grad_self(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    jvp = elementwise


class RsubTensor(Op, name="RsubBackward0"):
    promotes = True

    def forward(self, other, *, alpha=1):
        return other - (self if alpha == 1 else _scaled(alpha, self))

    def grad_self(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    def grad_other(grad):
        return grad

    jvp = Elementwise(forward=-1)


class Mul(Arithmetic):
    def forward(self, other):
        return self * other

    def grad_self(grad, other):
        return grad * other

    def grad_other(grad, self):
        return grad * self

    jvp = elementwise


# What PyTorch's own code does with a number is a node of another name than what a program does with one.


class AddNumber(Op, name="AddBackward1"):
    def forward(self, *, other):
        return self + other

    def grad_self(grad):
        return grad

    jvp = elementwise


class MulNumber(Op, name="MulBackward1"):
    def forward(self, *, other):
        return self * other

    def grad_self(grad, other):
        return MulNumber.apply(grad, other=other)

    jvp = elementwise


class DivNumber(Op, name="DivBackward1"):
    def forward(self, *, other):
        return self / other

    def grad_self(grad, other):
        return DivNumber.apply(grad, other=other)

    jvp = elementwise


class Neg(Op):
    def forward(self):
        if self.dtype.kind == "b":
            raise RuntimeError(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
                "the `~` or `logical_not()` operator instead."
            )
        return -self

    def grad_self(grad):
        return -grad

    jvp = linear


class Abs(Op):
    def forward(self):
        if isinstance(self, np.ndarray) and self.dtype.kind == "b":
            raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'. Convert first: t.long().")
        return np.abs(self)

    # The gradient at the kink is 0.
    def grad_self(grad, self):
        return grad * sign(self)

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


def _number(name, alpha, *operands):
    """`alpha` as a number; it may be a tensor with one element."""
    if isinstance(alpha, bool) and any(x.dtype.name != "bool" for x in operands if isinstance(x, Tensor)):
        raise RuntimeError("Boolean alpha only supported for Boolean results. Give a number: alpha=1.")
    if isinstance(alpha, Tensor):
        if alpha.ndim or alpha.requires_grad:
            raise TypeError(f"{name}(): argument 'alpha' must be Number, not Tensor. Use alpha.item().")
        return alpha.item()
    return alpha


def _add_(self, other, *, alpha=1):
    return Add.apply_(self, other, alpha=_number("add", alpha, self, other))


@public(inplace=_add_, operators=("__add__", "__radd__"), of_two=Add, number_first=True)
def add(input, other, *, alpha=1) -> Tensor:
    """input + alpha * other, with broadcasting.

    >>> import tinygrad_edu as T
    >>> T.add(T.ones(2), T.ones(2), alpha=2)
    tensor([3., 3.])
    """
    if type(alpha) is int and alpha == 1:
        return Add.apply(input, other)
    return Add.apply(input, other, alpha=_number("add", alpha, input, other))


def _scaled(alpha, array):
    if isinstance(alpha, complex) and getattr(array, "dtype", np.dtype(float)).kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if isinstance(alpha, float) and isinstance(array, np.ndarray) and array.dtype.kind in "iu":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(array, np.ndarray):
        # As in PyTorch, a number that does not fit into an integer type wraps around.
        alpha = np.asarray(alpha).astype(array.dtype)
    return alpha * array


def refuse_booleans(*operands):
    """Raise if an operand is boolean: NumPy computes `True - False`, but PyTorch refuses it."""
    kinds = [x.dtype.name if isinstance(x, Tensor) else type(x).__name__ for x in operands]
    if "bool" in kinds:
        what = "two bool tensors" if kinds == ["bool", "bool"] else "a bool tensor"
        raise RuntimeError(
            f"Subtraction, the `-` operator, with {what} is not supported. Use the `^`, `~` or `logical_xor()` operator "
            "instead."
        )


def _sub_(self, other, *, alpha=1):
    refuse_booleans(self, other)
    return Sub.apply_(self, other, alpha=_number("sub", alpha, self))


@public("subtract", inplace=_sub_, operators=("__sub__",), of_two=Sub, number_first=True)
def sub(input, other, *, alpha=1) -> Tensor:
    """input - alpha * other, with broadcasting.

    >>> import tinygrad_edu as T
    >>> T.sub(T.tensor([5.0, 6.0]), T.tensor([1.0, 2.0]), alpha=2)
    tensor([3., 2.])
    """
    refuse_booleans(input, other)
    return Sub.apply(input, other, alpha=_number("sub", alpha, input))


@operator("__rsub__")
@public(method=False)
def rsub(input, other, *, alpha=1) -> Tensor:
    """other - alpha * input.

    >>> import tinygrad_edu as T
    >>> T.rsub(T.tensor([1.0, 2.0]), 10)
    tensor([9., 8.])
    """
    refuse_booleans(input, other)
    alpha = _number("rsub", alpha, input)
    if isinstance(other, int | float | complex):
        if input._data.dtype.kind in "fcV":
            return Rsub.apply(input, other=other, alpha=alpha)
        # An integer takes the tensor's type; a float makes an integer tensor's result the default float type.
        other = wrap(promoted([input._data, other], False)[1])
    return RsubTensor.apply(input, other, alpha=alpha)


@public("multiply", inplace=Mul, operators=("__mul__", "__rmul__"), of_two=Mul, number_first=True)
def mul(input, other) -> Tensor:
    """input * other, with broadcasting.

    >>> import tinygrad_edu as T
    >>> T.mul(T.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """
    return Mul.apply(input, other)


@public("negative", inplace=Neg, operators=("__neg__",))
def neg(input) -> Tensor:
    """-input.

    >>> import tinygrad_edu as T
    >>> T.neg(T.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """
    return Neg.apply(input)


@public("absolute", inplace=Abs, operators=("__abs__",))
def abs(input) -> Tensor:
    """The absolute value. Its gradient at 0 is 0.

    >>> import tinygrad_edu as T
    >>> T.abs(T.tensor([-1.0, 2.0]))
    tensor([1., 2.])
    """
    return Abs.apply(input)
