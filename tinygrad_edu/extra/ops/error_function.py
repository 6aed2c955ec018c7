"""The error function."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor
from ...ops.arrays import in_blocks
from ...ops.binding import public
from ...ops.op import by_mask
from ...ops.pointwise.exponential import FloatOp, exp

# Rational approximations of Cephes (Moshier, Methods and Programs for Mathematical Functions, 1989), highest power first.
_ERF = (
    (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
     5.55923013010394962768e4),
    (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
     4.92673942608635921086e4),
)  # fmt: skip


# For float32, with |x| <= 4: erf x = tanh(x·p(x²)). p is a least-squares fit to artanh(erf x)/x, weighted so that erf has
# an even relative error: below 1e-7, or 3e-7 with float32's rounding.
_ERF_SINGLE = (
    1.41854251e-07, -5.66850781e-06, 8.76375010e-05, -6.19785048e-04, -1.91830438e-04, 1.02769056e-01, 1.12837927e00,
)  # fmt: skip


# The same for erf(x/√2).
_CDF_SINGLE = tuple(c * 0.5 ** (power + 0.5) for power, c in zip(range(6, -1, -1), _ERF_SINGLE, strict=True))


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


def _polynomial(x, coefficients):
    """Evaluate a polynomial by Horner's rule."""
    out = x * coefficients[0]
    out += coefficients[1]
    for c in coefficients[2:]:
        out *= x
        out += c
    return out


def _ratio(x, coefficients):
    top, bottom = (_polynomial(x, c) for c in coefficients)
    top /= bottom
    return top


def _erfc_of_large(x):
    """1 - erf(x) for x >= 1, without cancellation."""
    ratio = _ratio(np.minimum(x, 8.0), _ERFC_TO_8)
    if x.size and x.max() > 8:
        ratio = np.where(x > 8, _ratio(np.minimum(x, 30.0), _ERFC_FROM_8), ratio)
    return np.exp(-x * x) * ratio


def _tanh_of(x, coefficients, most):
    """tanh(x·p(x²)), with x² limited to `most`; larger arguments return ±1."""
    squared = np.asarray(np.square(x, dtype=np.float32))
    np.minimum(squared, most, out=squared)
    out = np.asarray(_polynomial(squared, coefficients))
    out *= x
    return np.tanh(out, out=out)


def normal_cdf(x):
    """Φ(x) = (1 + erf(x/√2))/2 of an array: the cumulative distribution function of the normal distribution."""
    out = erf_of(x * math.sqrt(0.5)) if x.dtype == np.float64 else _tanh_of(x, _CDF_SINGLE, 32)
    out *= 0.5
    out += 0.5
    return out.astype(x.dtype, copy=False)


@in_blocks
def erf_of(x):
    """The error function of an array."""
    if x.dtype != np.float64:
        return _tanh_of(x, _ERF_SINGLE, 16).astype(x.dtype, copy=False)
    size = np.abs(x)
    small = np.minimum(size, 1.0)
    out = small * _ratio(small * small, _ERF)
    if size.size and not size.max() <= 1:
        out = np.where(size <= 1, out, 1 - _erfc_of_large(np.maximum(size, 1.0)))
    return np.copysign(out, x)


class Erf(FloatOp):
    def forward(self):
        return erf_of(self)

    # d erf = 2/√π·e^(-s²)
    def grad_self(grad, self):
        return grad * (exp(-(self * self)) * (2 / math.sqrt(math.pi)))

    jvp = by_mask


class Erfc(FloatOp):
    def forward(self):
        x = self.astype(np.float64, copy=False)
        far = _erfc_of_large(np.maximum(np.abs(x), 1.0))
        out = np.where(np.abs(x) <= 1, 1 - erf_of(x), np.where(x > 0, far, 2 - far))
        return out.astype(self.dtype, copy=False)

    def grad_self(grad, self):
        return grad * (exp(-(self * self)) * (-2 / math.sqrt(math.pi)))

    jvp = by_mask


@public(inplace=Erf)
def erf(input: Tensor) -> Tensor:
    """The error function 2/√π·∫₀ˣ e^(-t²) dt.

    >>> import tinygrad_edu as T
    >>> T.erf(T.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
    return Erf.apply(input)


@public(inplace=Erfc)
def erfc(input: Tensor) -> Tensor:
    """1 - erf(x), accurate for large x.

    >>> import tinygrad_edu as T
    >>> T.erfc(T.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """
    return Erfc.apply(input)
