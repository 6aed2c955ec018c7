"""Powers, roots, exponentials, logarithms, and the functions of angles. The line above a rule is its formula."""

from __future__ import annotations

import math

import numpy as np

from .. import dtypes
from ..tensor import Tensor
from .binding import operator, public
from .creation import zeros_like
from .op import Op, elementwise
from .pointwise import where

# --- powers and roots ------------------------------------------------------------------------------------------------


class Pow(Op, name="PowBackward0"):
    """self ** exponent, for a number `exponent`."""

    def forward(self, *, exponent):
        if exponent == 2:
            return self * self
        if exponent == 1:
            return self.copy()
        if self.dtype.kind != "f":
            if isinstance(exponent, int) and exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            self = self.astype(dtypes.promote([self, exponent]), copy=False)
        return np.power(self, exponent)

    # d sᵉ/ds = e·sᵉ⁻¹, and 0 for e = 0 whatever s is
    def grad_self(grad, self, exponent):
        if exponent == 0:
            return zeros_like(grad)
        return grad * (pow(self, exponent - 1) * exponent)

    jvp = elementwise


class PowTensor(Op, name="PowBackward1"):
    promotes = True

    def forward(self, exponent):
        return np.power(self, exponent)

    # Where one factor of the other branch is 0 and another infinite, a second derivative is NaN, as in PyTorch.
    def grad_self(grad, self, exponent):
        return where(exponent == 0, 0.0, grad * (exponent * pow(self, exponent - 1)))

    # d sᵉ/de = sᵉ·ln s, and 0 where s is 0 and e is not negative
    def grad_exponent(grad, self, exponent, result):
        return grad * where((self == 0) & (exponent >= 0), 0.0, result * log(self))

    jvp = elementwise


class PowScalar(Op, name="PowBackward2"):
    """self ** exponent, for a number `self`."""

    def forward(exponent, *, self):
        common = dtypes.promote([self, exponent])
        return np.power(np.asarray(self, common), exponent.astype(common, copy=False))

    def grad_exponent(grad, self, exponent, result):
        if self == 0:
            return where(exponent >= 0, 0.0, grad * result * float("-inf"))
        return grad * (result * (math.log(self) if self > 0 else math.nan))

    jvp = elementwise


class _Float(Op):
    """What has a value for floats alone: integers are made floats first."""

    makes_float = True


class Sqrt(_Float):
    def forward(self):
        return np.sqrt(self)

    # d√s = 1/(2√s)
    def grad_self(grad, result):
        return grad / (2 * result)

    jvp = elementwise


class Rsqrt(_Float):
    def forward(self):
        return 1 / np.sqrt(self)

    # d s^-½ = -½·s^-³ᐟ²
    def grad_self(grad, result):
        return grad * (-0.5 * (result * result * result))

    jvp = elementwise


# --- exponentials and logarithms -------------------------------------------------------------------------------------


class Exp(_Float):
    def forward(self):
        return np.exp(self)

    def grad_self(grad, result):
        return grad * result

    jvp = elementwise


class Exp2(_Float):
    def forward(self):
        return np.exp2(self)

    def grad_self(grad, result):
        return grad * (result * math.log(2))

    jvp = elementwise


class Expm1(_Float):
    def forward(self):
        return np.expm1(self)

    def grad_self(grad, result):
        return grad * (result + 1)

    jvp = elementwise


class Log(_Float):
    def forward(self):
        return np.log(self)

    def grad_self(grad, self):
        return grad / self

    jvp = elementwise


class Log2(_Float):
    def forward(self):
        return np.log2(self)

    def grad_self(grad, self):
        return grad / (self * math.log(2))

    jvp = elementwise


class Log10(_Float):
    def forward(self):
        return np.log10(self)

    def grad_self(grad, self):
        return grad / (self * math.log(10))

    jvp = elementwise


class Log1p(_Float, name="Log1PBackward0"):
    def forward(self):
        return np.log1p(self)

    def grad_self(grad, self):
        return grad / (self + 1)

    jvp = elementwise


class Xlogy(_Float):
    """self·ln other, and 0 where self is 0."""

    promotes = True

    def forward(self, other):
        return np.where((self == 0) & ~np.isnan(other), self.dtype.type(0), self * np.log(other))

    def grad_self(grad, self, other):
        return where((self == 0) & (other <= 0), 0.0, grad * log(other))

    def grad_other(grad, self, other):
        return grad * (self / other)

    jvp = elementwise


class Logaddexp(_Float):
    """ln(e^self + e^other)"""

    promotes = True

    def forward(self, other):
        return np.logaddexp(self, other)

    def grad_self(grad, self, other):
        return grad * sigmoid(self - other)

    def grad_other(grad, self, other):
        return grad * sigmoid(other - self)

    jvp = elementwise


class Sigmoid(_Float):
    def forward(self):
        return 1 / (1 + np.exp(-self))

    # dσ = σ·(1 - σ)
    def grad_self(grad, result):
        return grad * ((1 - result) * result)

    jvp = elementwise


class Logit(_Float):
    """The inverse of the sigmoid; `eps` keeps its argument from 0 and 1."""

    def forward(self, *, eps=None):
        z = self if eps is None else np.clip(self, eps, 1 - eps)
        return np.log(z / (1 - z))

    def grad_self(grad, self, eps):
        slope = grad / (self * (1 - self))
        low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
        return where((self >= low) & (self <= high), slope, math.nan if eps is None else 0.0)

    jvp = elementwise


# --- the error function ----------------------------------------------------------------------------------------------

# Rational approximations of Cephes (Moshier, Methods and Programs for Mathematical Functions, 1989), highest power first.
_ERF = (
    (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
     5.55923013010394962768e4),
    (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
     4.92673942608635921086e4),
)  # fmt: skip
_ERFC_TO_8 = (
    (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0, 4.86371970985681366614e1,
     1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
     5.57535335369399327526e2),
    (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
     1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2),
)  # fmt: skip
_ERFC_FROM_8 = (
    (5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0, 6.16021097993053585195e0,
     7.40974269950448939160e0, 2.97886665372100240670e0),
    (1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1, 1.70814450747565897222e1,
     9.60896809063285878198e0, 3.36907645100081516050e0),
)  # fmt: skip


def _ratio(x, coefficients):
    """The quotient of two polynomials, by Horner's rule."""
    top, bottom = (np.full_like(x, c[0]) for c in coefficients)
    for c in coefficients[0][1:]:
        top *= x
        top += c
    for c in coefficients[1][1:]:
        bottom *= x
        bottom += c
    top /= bottom
    return top


def _erfc_of_large(x):
    """1 - erf(x), for x >= 1, without the loss of digits of a difference."""
    ratio = _ratio(np.minimum(x, 8.0), _ERFC_TO_8)
    if x.size and x.max() > 8:
        ratio = np.where(x > 8, _ratio(np.minimum(x, 30.0), _ERFC_FROM_8), ratio)
    return np.exp(-x * x) * ratio


def erf_of(x):
    """The error function of an array."""
    size = np.abs(x)
    small = np.minimum(size, 1.0)
    out = small * _ratio(small * small, _ERF)
    if size.size and not size.max() <= 1:
        out = np.where(size <= 1, out, 1 - _erfc_of_large(np.maximum(size, 1.0)))
    return np.copysign(out, x).astype(x.dtype, copy=False)


class Erf(_Float):
    def forward(self):
        return erf_of(self)

    # d erf = 2/√π·e^(-s²)
    def grad_self(grad, self):
        return grad * (exp(-(self * self)) * (2 / math.sqrt(math.pi)))

    jvp = elementwise


class Erfc(_Float):
    def forward(self):
        far = _erfc_of_large(np.maximum(np.abs(self), 1.0))
        out = np.where(np.abs(self) <= 1, 1 - erf_of(self), np.where(self > 0, far, 2 - far))
        return out.astype(self.dtype, copy=False)

    def grad_self(grad, self):
        return grad * (exp(-(self * self)) * (-2 / math.sqrt(math.pi)))

    jvp = elementwise


# --- angles ----------------------------------------------------------------------------------------------------------


class Sin(_Float):
    def forward(self):
        return np.sin(self)

    def grad_self(grad, self):
        return grad * cos(self)

    jvp = elementwise


class Cos(_Float):
    def forward(self):
        return np.cos(self)

    def grad_self(grad, self):
        return grad * -sin(self)

    jvp = elementwise


class Tan(_Float):
    def forward(self):
        return np.tan(self)

    # d tan = 1 + tan²
    def grad_self(grad, result):
        return grad * (result * result + 1)

    jvp = elementwise


class Asin(_Float):
    def forward(self):
        return np.arcsin(self)

    # d asin = 1/√(1 - s²)
    def grad_self(grad, self):
        return grad * rsqrt(1 - self * self)

    jvp = elementwise


class Acos(_Float):
    def forward(self):
        return np.arccos(self)

    def grad_self(grad, self):
        return grad * -rsqrt(1 - self * self)

    jvp = elementwise


class Atan(_Float):
    def forward(self):
        return np.arctan(self)

    # d atan = 1/(1 + s²)
    def grad_self(grad, self):
        return grad / (self * self + 1)

    jvp = elementwise


class Atan2(_Float):
    """The angle of the point (other, self)."""

    promotes = True

    def forward(self, other):
        return np.arctan2(self, other)

    # d atan2(s, o) = (o·ds - s·do)/(s² + o²), and 0 at the origin
    def grad_self(grad, self, other):
        return grad * _over_square(other, self, other)

    def grad_other(grad, self, other):
        return grad * _over_square(-self, self, other)

    jvp = elementwise


def _over_square(value, self, other):
    square = self * self + other * other
    origin = square == 0
    return where(origin, 0.0, value / where(origin, 1.0, square))


class Sinh(_Float):
    def forward(self):
        return np.sinh(self)

    def grad_self(grad, self):
        return grad * cosh(self)

    jvp = elementwise


class Cosh(_Float):
    def forward(self):
        return np.cosh(self)

    def grad_self(grad, self):
        return grad * sinh(self)

    jvp = elementwise


class Tanh(_Float):
    def forward(self):
        return np.tanh(self)

    # d tanh = 1 - tanh²
    def grad_self(grad, result):
        return grad * (1 - result * result)

    jvp = elementwise


class Asinh(_Float):
    def forward(self):
        return np.arcsinh(self)

    def grad_self(grad, self):
        return grad * rsqrt(self * self + 1)

    jvp = elementwise


class Acosh(_Float):
    def forward(self):
        return np.arccosh(self)

    def grad_self(grad, self):
        return grad * rsqrt(self * self - 1)

    jvp = elementwise


class Atanh(_Float):
    def forward(self):
        return np.arctanh(self)

    def grad_self(grad, self):
        return grad / (1 - self * self)

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


def _pow_(self, exponent):
    if isinstance(exponent, Tensor):
        return PowTensor.apply_(self, exponent)
    return Pow.apply_(self, exponent=exponent)


@public(inplace=_pow_, operators=("__pow__",))
def pow(input, exponent):
    """input ** exponent; either may be a number."""
    if isinstance(exponent, int | float):
        return Pow.apply(input, exponent=exponent)
    if isinstance(input, int | float):
        return PowScalar.apply(exponent, self=input)
    return PowTensor.apply(input, exponent)


@operator("__rpow__")
def __rpow__(self, other):
    return pow(other, self)


@public(inplace=lambda self: Pow.apply_(self, exponent=2))
def square(input):
    """input²."""
    return Pow.apply(input, exponent=2)


@public(inplace=Sqrt)
def sqrt(input):
    """The square root."""
    return Sqrt.apply(input)


@public(inplace=Rsqrt)
def rsqrt(input):
    """1 / √input."""
    return Rsqrt.apply(input)


@public(inplace=Exp)
def exp(input):
    """e to the power of input."""
    return Exp.apply(input)


@public(inplace=Exp2)
def exp2(input):
    """2 to the power of input."""
    return Exp2.apply(input)


@public(inplace=Expm1)
def expm1(input):
    """eˣ - 1, exact near 0."""
    return Expm1.apply(input)


@public(inplace=Log)
def log(input):
    """The natural logarithm."""
    return Log.apply(input)


@public(inplace=Log2)
def log2(input):
    """The logarithm to base 2."""
    return Log2.apply(input)


@public(inplace=Log10)
def log10(input):
    """The logarithm to base 10."""
    return Log10.apply(input)


@public(inplace=Log1p)
def log1p(input):
    """ln(1 + x), exact near 0."""
    return Log1p.apply(input)


@public(inplace=Xlogy)
def xlogy(input, other):
    """input * ln(other), and 0 where `input` is 0."""
    return Xlogy.apply(input, other)


@public()
def logaddexp(input, other):
    """ln(e^input + e^other), without overflow."""
    return Logaddexp.apply(input, other)


@public(inplace=Sigmoid)
def sigmoid(input):
    """1 / (1 + e⁻ˣ)."""
    return Sigmoid.apply(input)


@public(inplace=Logit)
def logit(input, eps=None):
    """ln(x / (1 - x)), the inverse of the sigmoid; `eps` keeps x within [eps, 1 - eps]."""
    return Logit.apply(input, eps=eps)


@public(inplace=Erf)
def erf(input):
    """The error function 2/√π·∫₀ˣ e^(-t²) dt."""
    return Erf.apply(input)


@public(inplace=Erfc)
def erfc(input):
    """1 - erf(x), exact for large x."""
    return Erfc.apply(input)


@public(inplace=Sin)
def sin(input):
    """The sine of an angle in radians."""
    return Sin.apply(input)


@public(inplace=Cos)
def cos(input):
    """The cosine of an angle in radians."""
    return Cos.apply(input)


@public(inplace=Tan)
def tan(input):
    """The tangent of an angle in radians."""
    return Tan.apply(input)


@public("arcsin", inplace=Asin)
def asin(input):
    """The angle in radians whose sine is `input`."""
    return Asin.apply(input)


@public("arccos", inplace=Acos)
def acos(input):
    """The angle in radians whose cosine is `input`."""
    return Acos.apply(input)


@public("arctan", inplace=Atan)
def atan(input):
    """The angle in radians whose tangent is `input`."""
    return Atan.apply(input)


@public("arctan2", inplace=Atan2)
def atan2(input, other):
    """The angle in radians of the point (other, input)."""
    return Atan2.apply(input, other)


@public(inplace=Sinh)
def sinh(input):
    """The hyperbolic sine."""
    return Sinh.apply(input)


@public(inplace=Cosh)
def cosh(input):
    """The hyperbolic cosine."""
    return Cosh.apply(input)


@public(inplace=Tanh)
def tanh(input):
    """The hyperbolic tangent."""
    return Tanh.apply(input)


@public("arcsinh", inplace=Asinh)
def asinh(input):
    """The inverse of sinh."""
    return Asinh.apply(input)


@public("arccosh", inplace=Acosh)
def acosh(input):
    """The inverse of cosh."""
    return Acosh.apply(input)


@public("arctanh", inplace=Atanh)
def atanh(input):
    """The inverse of tanh."""
    return Atanh.apply(input)
