"""Functions of each element: signs, powers of two, divisors, comparisons that handle nan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.return_types import named
from ...array.tensor import Tensor, wrap
from ...ops.binding import functions, public
from ...ops.creation.copies import overwrite
from ...ops.creation.factories import finish, zeros_like
from ...ops.indexing.masking import where
from ...ops.op import Op, elementwise
from ...ops.operands import need_float, need_tensor, promoted, refuse_kinds, refuse_mismatch
from ...ops.pointwise.arithmetic import mul
from ...ops.pointwise.compare import check_same_dtype
from ...ops.pointwise.powers import pow


class Nextafter(Op):
    promotes = True
    refuses = ("nextafter_cpu", "biu")

    def forward(self, other):
        return np.nextafter(self, other)

    # A step function does not change with self; where both are equal, PyTorch returns 0
    def grad_self(grad, self, other):
        return where(self != other, grad, 0.0)

    def jvp(self_tangent, other_tangent, self, other):
        return where(self != other, self_tangent, 0.0)


def _operand(value, like):
    return value if isinstance(value, Tensor) else wrap(np.asarray(value, like._data.dtype))


class Copysign(Op):
    promotes = makes_float = True

    def forward(self, other):
        return np.copysign(self, other)

    def grad_self(grad, self, result):
        return grad * where(self == 0, 0.0, result / self)

    def grad_other(grad):
        return zeros_like(grad)

    def jvp(self_tangent, other_tangent, self, result):
        return self_tangent * where(self == 0, 0.0, result / self)


@public(inplace=Copysign)
def copysign(input, other) -> Tensor:
    """The magnitude of `input` with the sign of `other`.

    >>> import tinygrad_edu as T
    >>> T.copysign(T.tensor([1.0, 2.0]), T.tensor([-1.0, 1.0]))
    tensor([-1.,  2.])
    """
    return Copysign.apply(input, other)


@public()
def fmax(input, other) -> Tensor:
    """The elementwise maximum. Where one element is nan, the result is the other.

    >>> import tinygrad_edu as T
    >>> T.fmax(T.tensor([1.0, T.nan]), T.tensor([0.0, 2.0]))
    tensor([1., 2.])
    """
    need_tensor("fmax", other)
    return where((input >= other) | (other != other), input, other)


@public()
def fmin(input, other) -> Tensor:
    """The elementwise minimum. Where one element is nan, the result is the other.

    >>> import tinygrad_edu as T
    >>> T.fmin(T.tensor([1.0, T.nan]), T.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """
    need_tensor("fmin", other)
    return where((input <= other) | (other != other), input, other)


@public()
def logaddexp2(input, other) -> Tensor:
    """log₂(2^input + 2^other).

    >>> import tinygrad_edu as T
    >>> T.logaddexp2(T.tensor([1.0]), T.tensor([1.0]))
    tensor([2.])
    """
    factor = math.log(2)
    common = dtypes.result_type(input, need_tensor("logaddexp2", other))
    input, other = input.to(common), other.to(common)
    need_float(input._data, "logaddexp2_cpu")
    return functions["logaddexp"](input * factor, other * factor) / factor


@public(inplace=lambda self, other: overwrite(self, ldexp(self, other)))
def ldexp(input, other) -> Tensor:
    """input·2^other.

    >>> import tinygrad_edu as T
    >>> T.ldexp(T.tensor([1.0, 3.0]), T.tensor([2, 1]))
    tensor([4., 6.])
    """
    if need_tensor("ldexp", other)._data.dtype.kind != "f" and input.is_floating_point():
        refuse_kinds((other._data,), "ldexp_cpu_exp", "b")
        other = other.to(input.dtype)
    return mul(input, pow(2.0, other))


class Heaviside(Op, name="torch::autograd::NotImplemented"):
    def forward(self, values):
        return np.where(self == 0, values, self > 0).astype(self.dtype)

    def gradients(grad, needs_input_grad):
        raise RuntimeError(
            "derivative for aten::heaviside is not implemented. It is 0 wherever it exists: use detach()."
        )


@public()
def heaviside(input, values) -> Tensor:
    """The Heaviside step function: 0 for negative elements, 1 for positive ones, `values` at 0.

    >>> import tinygrad_edu as T
    >>> T.heaviside(T.tensor([-1.0, 0.0, 2.0]), T.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    need_tensor("heaviside", values)
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    refuse_mismatch([input._data.shape, values._data.shape])
    return Heaviside.apply(input, values)


@public(inplace=lambda self, other: overwrite(self, gcd(self, other)))
def gcd(input, other) -> Tensor:
    """The greatest common divisor, element by element.

    >>> import tinygrad_edu as T
    >>> T.gcd(T.tensor([12, 18]), T.tensor(8))
    tensor([4, 2])
    """
    arrays = promoted([input._data, need_tensor("gcd", other)._data], False)
    refuse_kinds(arrays, "gcd_cpu", "bf")
    return finish(np.gcd(*arrays))


@public(inplace=lambda self, other: overwrite(self, lcm(self, other)))
def lcm(input, other) -> Tensor:
    """The least common multiple, element by element.

    >>> import tinygrad_edu as T
    >>> T.lcm(T.tensor([4, 6]), T.tensor(10))
    tensor([20, 30])
    """
    arrays = promoted([input._data, need_tensor("lcm", other)._data], False)
    refuse_kinds(arrays, "lcm_cpu", "bf")
    return finish(np.lcm(*arrays))


@public(inplace=lambda self, other: Nextafter.apply_(self, need_tensor("nextafter_", other)))
def nextafter(input, other) -> Tensor:
    """The next representable number after `input`, in the direction of `other`.

    >>> import tinygrad_edu as T
    >>> T.nextafter(T.tensor(1.0), T.tensor(2.0)) - 1
    tensor(1.1921e-07)
    """
    return Nextafter.apply(input, need_tensor("nextafter", other))


@public()
def frexp(input) -> Any:
    """Split numbers into mantissa and exponent: input = mantissa·2^exponent.

    >>> import tinygrad_edu as T
    >>> T.frexp(T.tensor([8.0, 3.0]))
    tinygrad_edu.return_types.frexp(
    mantissa=tensor([0.5000, 0.7500]),
    exponent=tensor([4, 2], dtype=tinygrad_edu.int32))
    """
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    exponent = np.frexp(input._data)[1].astype(np.int32)
    # In two steps, because 2 to the full exponent may overflow.
    one, half = np.ones((), input._data.dtype), exponent // 2
    mantissa = input * wrap(np.ldexp(one, -half)) * wrap(np.ldexp(one, half - exponent))
    return named("frexp", "mantissa", "exponent")((mantissa, finish(exponent)))


@public()
def isneginf(input) -> Tensor:
    """True where an element is -inf.

    >>> import tinygrad_edu as T
    >>> T.isneginf(T.tensor([1.0, T.inf, -T.inf]))
    tensor([False, False,  True])
    """
    return input == -math.inf


@public()
def isposinf(input) -> Tensor:
    """True where an element is inf.

    >>> import tinygrad_edu as T
    >>> T.isposinf(T.tensor([1.0, T.inf, -T.inf]))
    tensor([False,  True, False])
    """
    return input == math.inf


class NanToNum(Op):
    def forward(self, *, nan=None, posinf=None, neginf=None):
        return np.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)

    def grad_self(grad, self):
        return where(isfinite(self), grad, 0.0)

    jvp = elementwise


def isfinite(input):
    """True where `input` is neither infinite nor nan, as an array to use as a mask."""
    return np.isfinite(getattr(input, "_data", input))


@public(inplace=NanToNum)
def nan_to_num(input, nan=None, posinf=None, neginf=None) -> Tensor:
    """Replace nan by `nan` (0), and the infinities by `posinf` and `neginf` (the finite extremes of the dtype).

    >>> import tinygrad_edu as T
    >>> T.nan_to_num(T.tensor([1.0, T.nan]))
    tensor([1., 0.])
    """
    return NanToNum.apply(input, nan=nan, posinf=posinf, neginf=neginf)


class Isclose(Op):
    def forward(self, other, *, rtol, atol, equal_nan):
        return np.isclose(self, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@public()
def isclose(input, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """True where |input - other| <= atol + rtol * |other|.

    >>> import tinygrad_edu as T
    >>> T.isclose(T.tensor([1.0, 2.0]), T.tensor([1.0 + 1e-9, 2.1]))
    tensor([ True, False])
    """
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    check_same_dtype(input, other)
    return Isclose.apply(input, need_tensor("isclose", other), rtol=rtol, atol=atol, equal_nan=equal_nan)
