"""Special functions, element by element: gamma, zeta, Bessel and others. Formulas from Abramowitz and Stegun, ch. 6, 7, 23."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor
from ...ops.binding import public
from ...ops.indexing.masking import where
from ...ops.op import Op, elementwise
from ...ops.pointwise.arithmetic import sign
from ...ops.pointwise.exponential import exp, log
from ...ops.pointwise.trigonometric import cos
from .error_function import erf_of

# B₂, B₄, … over (2k)!: the coefficients of the Euler-Maclaurin formula.
_BERNOULLI = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600]
_FROM = 10  # above this the series reach full precision


class FloatOp(Op):
    makes_float = True


def _lgamma(x):
    with np.errstate(all="ignore"):
        return np.asarray(np.frompyfunc(_one_lgamma, 1, 1)(x.astype(np.float64))).astype(x.dtype)


def _one_lgamma(x):
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _digamma(x):
    """ψ(x) = ln x - 1/(2x) - Σ B₂ₖ/(2k·x²ᵏ) for x ≥ 10; below that by ψ(x) = ψ(x + 1) - 1/x, and by reflection for x < 0."""
    given = x.astype(np.float64)
    whole = (given <= 0) & (given == np.floor(given))
    below = given < 0
    up = np.where(below, 1 - given, given)
    total = np.zeros_like(up)
    for _ in range(_FROM):
        low = up < _FROM
        total -= np.where(low, 1 / np.where(low, up, 1.0), 0.0)
        up = np.where(low, up + 1, up)
    square = 1 / (up * up)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132)))))
    result = total + np.log(up) - 0.5 / up - series
    mirrored = result - math.pi / np.tan(math.pi * np.where(whole, 0.5, given))
    result = np.where(below, mirrored, result)
    result = np.where(whole, np.where(given == 0, np.copysign(np.inf, -given), np.nan), result)
    return result.astype(x.dtype)


def _zeta(s, q):
    """The Hurwitz zeta function Σ 1/(q + k)^s for s > 1: the first terms, and the Euler-Maclaurin formula for the rest."""
    total = np.zeros_like(q)
    for k in range(_FROM):
        total += (q + k) ** -s
    at = q + _FROM
    total += at ** (1 - s) / (s - 1) + 0.5 * at**-s
    rising, power = s, at ** (-s - 1)
    for k, factor in enumerate(_BERNOULLI):
        total += factor * rising * power
        rising = rising * (s + 2 * k + 1) * (s + 2 * k + 2)
        power = power / (at * at)
    return total


def _polygamma(n, x):
    if n == 0:
        return _digamma(x)
    given = x.astype(np.float64)
    sign = 1 if n % 2 else -1
    if n == 1:
        # ψ′(1 - x) + ψ′(x) = (π/sin πx)²
        mirror = (math.pi / np.sin(math.pi * given)) ** 2 - _zeta(2, np.where(given < 0, 1 - given, 1.0))
        return np.where(given < 0, mirror, _zeta(2, np.where(given < 0, 1.0, given))).astype(x.dtype)
    # At infinity as in PyTorch, whose series gives nan there, and takes -∞ for a pole.
    infinite = np.where(given > 0, np.nan, np.inf)
    series = np.where(np.isinf(given), infinite, _zeta(n + 1, np.where(np.isinf(given), 1.0, given)))
    return (sign * math.factorial(n) * series).astype(x.dtype)


class Lgamma(FloatOp):
    def forward(self):
        return _lgamma(self)

    def grad_self(grad, self):
        return grad * digamma(self)

    jvp = elementwise


class Digamma(FloatOp):
    def forward(self):
        return _digamma(self)

    def grad_self(grad, self):
        return grad * polygamma(1, self)

    jvp = elementwise


class Polygamma(FloatOp):
    def forward(self, *, n):
        return _polygamma(n, self)

    def grad_self(grad, self, n):
        return grad * Polygamma.apply(self, n=n + 1)

    jvp = elementwise


class Erfinv(FloatOp):
    """The inverse of erf: a first approximation (Giles 2010), then Newton's method."""

    def forward(self):
        y = self.astype(np.float64)
        inside = np.abs(y) < 1
        safe = np.where(inside, y, 0.0)
        w = np.log1p(-safe * safe)
        a = 2 / (math.pi * 0.147) + w / 2
        x = np.copysign(np.sqrt(np.sqrt(a * a - w / 0.147) - a), safe)
        for _ in range(4):
            error = erf_of(x) - safe
            slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
            step = error / slope
            x = x - step / (1 + x * step)
        edge = np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan)
        return np.where(inside, x, edge).astype(self.dtype)

    # √π/2·e^(r²)
    def grad_self(grad, result):
        return grad * (exp(result * result) * (math.sqrt(math.pi) / 2))

    jvp = elementwise


class Sinc(FloatOp):
    """sin πs/(πs), 1 at 0."""

    def forward(self):
        return np.sinc(self).astype(self.dtype)

    # (cos πs - sinc s)/s, 0 at 0. The branch that is not taken divides by 0 there, so the second derivative is nan, as PyTorch's is
    def grad_self(grad, self):
        return grad * where(self == 0, 0.0, (cos(self * math.pi) - sinc(self)) / self)

    jvp = elementwise


class Entr(FloatOp):
    """-s·ln s, 0 at 0 and minus infinity below."""

    def forward(self):
        inside = np.where(self > 0, self, self.dtype.type(1))
        rest = np.where(self < 0, -np.inf, np.where(self == 0, 0.0, self))
        return np.where(self > 0, -self * np.log(inside), rest).astype(self.dtype)

    # -1 - ln s
    def grad_self(grad, self):
        return grad * (-1 - log(self))

    jvp = elementwise


def _scaled_bessel(order, x):
    """e^(-|x|)·Iₙ(x) for order 0 or 1: the power series, and for large x the asymptotic one."""
    size = np.abs(x.astype(np.float64))
    near = np.minimum(size, _FAR)
    term = total = (near / 2) ** order
    square = near * near / 4
    for k in range(1, 80):
        term = term * square / (k * (k + order))
        total = total + term
    far = np.maximum(size, _FAR)
    part = tail = np.ones_like(far)
    for k in range(1, 24):
        part = part * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * far)
        tail = tail + part
    scaled = np.where(size <= _FAR, total * np.exp(-near), tail / np.sqrt(2 * math.pi * far))
    return np.copysign(scaled, x) if order else scaled


_FAR = 30.0


class I0(FloatOp):
    """The modified Bessel function of the first kind, of order 0."""

    def forward(self):
        return (_scaled_bessel(0, self) * np.exp(np.abs(self.astype(np.float64)))).astype(self.dtype)

    def grad_self(grad, self):
        return grad * I1.apply(self)

    jvp = elementwise


class I0E(FloatOp, name="SpecialI0EBackward0"):
    """e^(-|s|)·I₀(s)"""

    def forward(self):
        return _scaled_bessel(0, self).astype(self.dtype)

    def grad_self(grad, self, result):
        return grad * (I1E.apply(self) - sign(self) * result)

    jvp = elementwise


class I1(FloatOp, name="SpecialI1Backward0"):
    """The modified Bessel function of the first kind, of order 1."""

    def forward(self):
        return (_scaled_bessel(1, self) * np.exp(np.abs(self.astype(np.float64)))).astype(self.dtype)

    # I₀(s) - I₁(s)/s, 1/2 at 0
    def grad_self(grad, self, result):
        safe = where(self == 0, 1.0, self)
        return grad * where(self == 0, 0.5, I0.apply(self) - result / safe)

    jvp = elementwise


class I1E(FloatOp, name="SpecialI1EBackward0"):
    """e^(-|s|)·I₁(s)"""

    def forward(self):
        return _scaled_bessel(1, self).astype(self.dtype)

    def grad_self(grad, self, result):
        safe = where(self == 0, 1.0, self)
        return grad * where(self == 0, 0.5, I0E.apply(self) - result * (sign(self) + 1 / safe))

    jvp = elementwise


# --- functions -------------------------------------------------------------------------------------------------------


@public(inplace=Lgamma)
def lgamma(input: Tensor) -> Tensor:
    """ln |Γ(input)|.

    >>> import tinygrad_edu as T
    >>> T.lgamma(T.tensor([1.0, 5.0]))
    tensor([0.0000, 3.1781])
    """
    return Lgamma.apply(input)


@public(inplace=Digamma)
def digamma(input: Tensor) -> Tensor:
    """ψ(input), the derivative of lgamma.

    >>> import tinygrad_edu as T
    >>> T.digamma(T.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """
    return Digamma.apply(input)


@public(number_first=True, method=False)
def polygamma(n, input) -> Tensor:
    """The n-th derivative of digamma.

    >>> import tinygrad_edu as T
    >>> T.polygamma(1, T.tensor(1.0))  # π²/6
    tensor(1.6449)
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return Polygamma.apply(input, n=n)


@public(inplace=Erfinv)
def erfinv(input: Tensor) -> Tensor:
    """The inverse of the error function; `input` lies between -1 and 1.

    >>> import tinygrad_edu as T
    >>> T.erfinv(T.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """
    return Erfinv.apply(input)


@public(inplace=Sinc)
def sinc(input: Tensor) -> Tensor:
    """sin(πx)/(πx), and 1 at 0.

    >>> import tinygrad_edu as T
    >>> T.sinc(T.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
    return Sinc.apply(input)


@public(inplace=I0)
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0.

    >>> import tinygrad_edu as T
    >>> T.i0(T.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return I0.apply(input)


def i0e(input):
    """e^(-|input|)·I₀(input); it does not overflow."""
    return I0E.apply(input)


def i1(input):
    """The modified Bessel function of the first kind, of order 1."""
    return I1.apply(input)


def i1e(input):
    """e^(-|input|)·I₁(input); it does not overflow."""
    return I1E.apply(input)


@public()
def mvlgamma(input: Tensor, p) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    >>> import tinygrad_edu as T
    >>> T.mvlgamma(T.tensor(2.0), p=1)  # ln Γ(2) = 0
    tensor(0.)
    """
    if (input.detach() <= (p - 1) / 2).any():
        raise RuntimeError("All elements must be greater than (p-1)/2")
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - j / 2)
    return total + p * (p - 1) / 4 * math.log(math.pi)
