"""Element by element: arithmetic, powers, exponentials, activations. The line above a rule is its formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from .creation import zeros_like
from .op import Op, elementwise, linear

# --- arithmetic ------------------------------------------------------------------------------------------------------


class Add(Op):
    promotes = True

    def forward(self, other, *, alpha=1):
        if alpha == 1:
            return self + other
        return self + alpha * other

    def grad_self(grad):
        return grad

    def grad_other(grad, alpha):
        return grad if alpha == 1 else grad * alpha

    jvp = elementwise


class Sub(Op):
    promotes = True

    def forward(self, other, *, alpha=1):
        if isinstance(self, np.ndarray) and self.dtype.kind == "b":
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                "operator instead."
            )
        return self - (other if alpha == 1 else alpha * other)

    def grad_self(grad):
        return grad

    def grad_other(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    jvp = elementwise


class Rsub(Op, name="RsubBackward1"):
    """other - self, for a number `other`."""

    promotes = True

    def forward(self, *, other, alpha=1):
        return other - alpha * self

    def grad_self(grad, alpha):
        return -grad if alpha == 1 else grad * -alpha

    jvp = elementwise


class Mul(Op):
    promotes = True

    def forward(self, other):
        return self * other

    def grad_self(grad, other):
        return grad * other

    def grad_other(grad, self):
        return grad * self

    jvp = elementwise


class Div(Op):
    promotes = True

    def forward(self, other):
        with np.errstate(divide="ignore", invalid="ignore"):
            return self / other

    def grad_self(grad, other):
        return grad / other

    # d(s/o)/do = -s/o²
    def grad_other(grad, self, other):
        return -grad * ((self / other) / other)

    jvp = elementwise


class Neg(Op):
    def forward(self):
        return -self

    def grad_self(grad):
        return -grad

    jvp = linear


class Abs(Op):
    def forward(self):
        return np.abs(self)

    # The slope at the kink is 0.
    def grad_self(grad, self):
        return grad * sign(self)

    jvp = elementwise


class Sign(Op):
    def forward(self):
        return np.sign(self)

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


class Reciprocal(Op):
    makes_float = True

    def forward(self):
        return 1 / self

    # d(1/s) = -1/s²
    def grad_self(grad, result):
        return -grad * (result * result)

    jvp = elementwise


# --- powers, exponentials ----------------------------------------------------------------------------------------------


class Pow(Op, name="PowBackward0"):
    """self ** exponent, for a number `exponent`."""

    def forward(self, *, exponent):
        return np.power(self, exponent)

    # d sᵉ/ds = e·sᵉ⁻¹, and 0 for e = 0 whatever s is
    def grad_self(grad, self, exponent):
        if exponent == 0:
            return zeros_like(grad)
        return grad * (exponent * pow(self, exponent - 1))

    jvp = elementwise


class PowTensor(Op, name="PowBackward1"):
    promotes = True

    def forward(self, exponent):
        return np.power(self, exponent)

    def grad_self(grad, self, exponent):
        zero = exponent == 0
        return grad * where(zero, 0.0, exponent * pow(self, where(zero, 1.0, exponent - 1)))

    # d sᵉ/de = sᵉ·ln s, and 0 where s is 0 and e is not negative
    def grad_exponent(grad, self, exponent, result):
        kink = (self == 0) & (exponent >= 0)
        return grad * where(kink, 0.0, result * log(where(kink, 1.0, self)))

    jvp = elementwise


class PowScalar(Op, name="PowBackward2"):
    """self ** exponent, for a number `self`."""

    promotes = True

    def forward(exponent, *, self):
        return np.power(np.asarray(self, dtype=exponent.dtype), exponent)

    def grad_exponent(grad, self, exponent, result):
        if self == 0:
            return where(exponent >= 0, 0.0, grad * result * float("-inf"))
        return grad * (result * float(np.log(self)))

    jvp = elementwise


class Sqrt(Op):
    makes_float = True

    def forward(self):
        with np.errstate(invalid="ignore"):
            return np.sqrt(self)

    # d√s = 1/(2√s)
    def grad_self(grad, result):
        return grad / (2 * result)

    jvp = elementwise


class Exp(Op):
    makes_float = True

    def forward(self):
        with np.errstate(over="ignore"):
            return np.exp(self)

    def grad_self(grad, result):
        return grad * result

    jvp = elementwise


class Log(Op):
    makes_float = True

    def forward(self):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self)

    def grad_self(grad, self):
        return grad / self

    jvp = elementwise


class Sin(Op):
    makes_float = True

    def forward(self):
        return np.sin(self)

    def grad_self(grad, self):
        return grad * cos(self)

    jvp = elementwise


class Cos(Op):
    makes_float = True

    def forward(self):
        return np.cos(self)

    def grad_self(grad, self):
        return grad * -sin(self)

    jvp = elementwise


# --- activations ---------------------------------------------------------------------------------------------------------


class Tanh(Op):
    makes_float = True

    def forward(self):
        return np.tanh(self)

    # d tanh = 1 - tanh²
    def grad_self(grad, result):
        return grad * (1 - result * result)

    jvp = elementwise


class Sigmoid(Op):
    makes_float = True

    def forward(self):
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-self))

    # d σ = σ·(1 - σ)
    def grad_self(grad, result):
        return grad * ((1 - result) * result)

    jvp = elementwise


class Relu(Op):
    def forward(self):
        return np.maximum(self, 0)

    # The slope at the kink is 0.
    def grad_self(grad, result):
        return where(result > 0, grad, 0.0)

    jvp = elementwise


class Clamp(Op, name="ClampBackward1"):
    def forward(self, *, min=None, max=None):
        return np.clip(self, min, max)

    # The bounds themselves let the gradient pass.
    def grad_self(grad, self, min, max):
        inside = self == self
        if min is not None:
            inside = inside & (self >= min)
        if max is not None:
            inside = inside & (self <= max)
        return where(inside, grad, 0.0)

    jvp = elementwise


class Maximum(Op):
    promotes = True

    def forward(self, other):
        return np.maximum(self, other)

    # At a tie both take half.
    def grad_self(grad, self, other):
        return where(self == other, grad / 2, where(self > other, grad, 0.0))

    def grad_other(grad, self, other):
        return where(self == other, grad / 2, where(other > self, grad, 0.0))

    jvp = elementwise


class Minimum(Op):
    promotes = True

    def forward(self, other):
        return np.minimum(self, other)

    def grad_self(grad, self, other):
        return where(self == other, grad / 2, where(self < other, grad, 0.0))

    def grad_other(grad, self, other):
        return where(self == other, grad / 2, where(other < self, grad, 0.0))

    jvp = elementwise


class Where(Op):
    """self where `condition` holds, other elsewhere."""

    promotes = True

    def forward(self, other, *, condition):
        return np.where(condition, self, other)

    def grad_self(grad, condition):
        return where(condition, grad, 0.0)

    def grad_other(grad, condition):
        return where(condition, 0.0, grad)

    jvp = elementwise


class Clone(Op):
    def forward(self):
        return self.copy()

    def grad_self(grad):
        return grad

    jvp = linear


class ToCopy(Op):
    """A copy in another dtype; the engine brings the gradient back to the dtype of the input."""

    def forward(self, *, dtype):
        return self.astype(dtype)

    def grad_self(grad):
        return grad

    jvp = linear


# --- functions -----------------------------------------------------------------------------------------------------------


def add(input, other, *, alpha=1):
    """input + alpha * other, broadcast."""
    return Add.apply(input, other, alpha=alpha)


def sub(input, other, *, alpha=1):
    """input - alpha * other, broadcast."""
    return Sub.apply(input, other, alpha=alpha)


def rsub(input, other, *, alpha=1):
    """other - alpha * input."""
    if isinstance(other, int | float):
        return Rsub.apply(input, other=other, alpha=alpha)
    return Sub.apply(other, input, alpha=alpha)


def mul(input, other):
    """input * other, broadcast."""
    return Mul.apply(input, other)


def div(input, other):
    """input / other, broadcast; integers give floats."""
    return Div.apply(input, other)


def neg(input):
    """-input."""
    return Neg.apply(input)


def abs(input):
    """The absolute value; its slope at 0 is 0."""
    return Abs.apply(input)


def sign(input):
    """-1, 0 or 1."""
    return Sign.apply(input)


def reciprocal(input):
    """1 / input."""
    return Reciprocal.apply(input)


def pow(input, exponent):
    """input ** exponent; either may be a number."""
    if isinstance(exponent, int | float):
        return Pow.apply(input, exponent=exponent)
    if isinstance(input, int | float):
        return PowScalar.apply(exponent, self=input)
    return PowTensor.apply(input, exponent)


def sqrt(input):
    """The square root."""
    return Sqrt.apply(input)


def square(input):
    """input²."""
    return pow(input, 2)


def exp(input):
    """e to the power of input."""
    return Exp.apply(input)


def log(input):
    """The natural logarithm."""
    return Log.apply(input)


def sin(input):
    """The sine of an angle in radians."""
    return Sin.apply(input)


def cos(input):
    """The cosine of an angle in radians."""
    return Cos.apply(input)


def tanh(input):
    """The hyperbolic tangent."""
    return Tanh.apply(input)


def sigmoid(input):
    """1 / (1 + e⁻ˣ)."""
    return Sigmoid.apply(input)


def relu(input):
    """max(input, 0); its slope at 0 is 0."""
    return Relu.apply(input)


def clamp(input, min=None, max=None):
    """input kept between `min` and `max`."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return Clamp.apply(input, min=min, max=max)


def maximum(input, other):
    """The larger of two, element by element; at a tie both get half of the gradient."""
    return Maximum.apply(input, other)


def minimum(input, other):
    """The smaller of two, element by element; at a tie both get half of the gradient."""
    return Minimum.apply(input, other)


def where(condition, input, other):
    """input where `condition` holds, other elsewhere."""
    return Where.apply(input, other, condition=getattr(condition, "_data", condition))


def clone(input):
    """A copy with storage of its own, in the graph."""
    return Clone.apply(input)


def to_copy(input: Any, dtype: np.dtype) -> Any:
    """A copy in another dtype."""
    return ToCopy.apply(input, dtype=dtype)
