"""Rejection sampling, one number at a time, using the random numbers in PyTorch's order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array.generator import Generator
from ...array.tensor import Tensor, wrap
from ...ops.creation import random
from ...ops.op import Op
from ..ops.special import digamma

__all__ = ["StandardGamma", "binomial", "binomial_draws", "gamma_draws", "poisson", "poisson_draws"]


def _each(
    kind: np.dtype, shape: Any, draw: Callable[..., float], *parameters: np.ndarray, generator: Any = None
) -> Any:
    """Call `draw(even, normal, *parameters)` for each element; `even()` and `normal()` return the next random number."""
    source: Generator = random.source(generator)
    spread = [np.broadcast_to(p, tuple(shape)).ravel().tolist() for p in parameters]
    draws = [
        draw(lambda: float(source.uniform((1,))[0]), lambda: float(source.each_normal(1)[0]), *each)
        for each in zip(*spread, strict=True)
    ]
    return wrap(np.array(draws, kind).reshape(tuple(shape)))


def gamma_draws(concentration: np.ndarray, shape: Any) -> Any:
    """Draws from the gamma distribution with rate 1 (Marsaglia and Tsang 2000)."""

    def draw(even: Any, normal: Any, a: float) -> float:
        scale = 1.0
        if a < 1:
            scale = (1 - even()) ** (1 / a)
            a += 1
        d = a - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = normal()
            y = 1 + c * x
            if y <= 0:
                continue
            v = y * y * y
            u = 1 - even()
            if u < 1 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
                return scale * d * v

    drawn = _each(concentration.dtype, shape, draw, concentration)
    np.maximum(drawn._data, np.finfo(concentration.dtype).tiny, out=drawn._data)
    return drawn


class StandardGamma(Op):
    """Draws from the gamma distribution with rate 1. A draw moves with the concentration so that its quantile stays the same."""

    def forward(self):
        return gamma_draws(self, self.shape)._data

    def grad_self(grad, self, result):
        return grad * StandardGammaGrad.apply(self, result)


class StandardGammaGrad(Op):
    """How far a draw moves when the concentration does."""

    def forward(self, output):
        return _gamma_slope(self, output).astype(self.dtype)

    def grad_self(grad):
        raise NotImplementedError(
            "the derivative for '_standard_gamma_grad' is not implemented: samples have one gradient."
        )

    grad_output = grad_self


def _gamma_slope(concentration: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """dx/da = -(dP/da)/(dP/dx) for the regularized incomplete gamma function P(a, x), in double precision.

    Source: Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients" (2018). P comes from its series for x < a + 1, from
    Legendre's continued fraction beyond, with the derivative of each term carried along.
    """
    a, x = (np.array(v, np.float64).ravel() for v in np.broadcast_arrays(concentration, draws))
    out, low = np.empty_like(a), x < a + 1
    with np.errstate(all="ignore"):
        out[low] = _slope_by_series(a[low], x[low])
        out[~low] = _slope_by_fraction(a[~low], x[~low])
    return out.reshape(np.shape(draws))


# So many terms are enough for a concentration of a million.
_TERMS = 20_000


def _slope_by_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    # P = xᵃe⁻ˣ/Γ(a + 1)·Σ tₙ with tₙ = xⁿ/((a + 1)…(a + n))
    term, total = np.ones_like(x), np.ones_like(x)
    slope, harmonic = np.zeros_like(x), np.zeros_like(x)
    for n in range(1, _TERMS):
        term = term * (x / (a + n))
        harmonic += 1 / (a + n)
        total += term
        slope -= term * harmonic
        if (term * harmonic <= 1e-17 * np.abs(slope)).all():
            break
    return -(x / a) * ((np.log(x) - digamma(a + 1)) * total + slope)


def _slope_by_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    # 1 - P = xᵃe⁻ˣ/Γ(a)·f, where f is the fraction 1/(x + 1 - a - 1·(1 - a)/(x + 3 - a - …)), by Lentz's method
    b = x + 1 - a
    d, c = 1 / b, np.full_like(x, 1e30)
    d_slope, c_slope = d * d, np.zeros_like(x)
    f, slope = d.copy(), d_slope.copy()
    for n in range(1, _TERMS):
        step, b = n * (a - n), b + 2
        below = step * d + b
        d_slope = -(n * d + step * d_slope - 1) / (below * below)
        d = 1 / below
        c, c_slope = b + step / c, n / c - step * c_slope / (c * c) - 1
        ratio, ratio_slope = c * d, c_slope * d + c * d_slope
        slope = slope * ratio + f * ratio_slope
        f = f * ratio
        if (np.abs(ratio - 1) <= 4e-16).all() and (np.abs(ratio_slope * f) <= 4e-16 * np.abs(slope)).all():
            break
    return x * ((np.log(x) - digamma(a)) * f + slope)


def poisson_draws(rate: np.ndarray, shape: Any, generator: Any = None) -> Any:
    """Draws from the Poisson distribution: by products of uniform numbers for small rates, else by Hörmann's method (1993)."""

    def draw(even: Any, normal: Any, rate: float) -> float:
        if rate < 10:
            count, product, limit = -1, 1.0, math.exp(-rate)
            while product > limit or count < 0:
                product *= even() if rate else 0.0
                count += 1
            return count
        log_rate, b = math.log(rate), 0.931 + 2.53 * math.sqrt(rate)
        a, inverse, ratio = -0.059 + 0.02483 * b, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
        while True:
            u, v = even() - 0.5, even()
            us = 0.5 - abs(u)
            k = math.floor((2 * a / us + b) * u + rate + 0.43)
            if us >= 0.07 and v <= ratio:
                return k
            if k < 0 or (us < 0.013 and v > us):
                continue
            if math.log(v) + math.log(inverse) - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(
                k + 1
            ):
                return k

    return _each(rate.dtype, shape, draw, rate, generator=generator)


def binomial_draws(count: np.ndarray, probability: np.ndarray, shape: Any, generator: Any = None) -> Any:
    """Draws from the binomial distribution: by waiting times for few successes, else by Hörmann's method (1993)."""

    def draw(even: Any, normal: Any, n: float, p: float) -> float:
        if n <= 0 or p <= 0:
            return 0.0
        if p >= 1:
            return n
        if p > 0.5:
            return n - (_by_rejection if n * (1 - p) >= 10 else _by_waits)(even, n, 1 - p)
        return (_by_rejection if n * p >= 10 else _by_waits)(even, n, p)

    return _each(probability.dtype, shape, draw, count, probability, generator=generator)


def _by_waits(even: Any, n: float, p: float) -> float:
    waited, successes, per = 0.0, 0, math.log1p(-p)
    while True:
        waited += math.ceil(math.log(even()) / per)
        if waited > n:
            return successes
        successes += 1


def _tail(k: float) -> float:
    """The error of Stirling's formula for ln k!."""
    if k <= 9:
        return math.lgamma(k + 1) - (0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1))
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _by_rejection(even: Any, n: float, p: float) -> float:
    deviation = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a, c, ratio = -0.0873 + 0.0248 * b + 0.01 * p, n * p + 0.5, 0.92 - 4.2 / b
    odds, alpha, m = p / (1 - p), (2.83 + 5.1 / b) * deviation, math.floor((n + 1) * p)
    while True:
        u, v = even() - 0.5, even()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= ratio:
            return k
        if k < 0 or k > n:
            continue
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (n - m + 1)))
            + (n + 1) * math.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _tail(m) + _tail(n - m) - _tail(k) - _tail(n - k)
        )  # fmt: skip
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """For each element, a draw from the Poisson distribution with that mean."""
    return poisson_draws(input._data, input.shape, generator)


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """For each element of `count`, the number of successes in that many trials of probability `prob`."""
    shape = np.broadcast_shapes(tuple(count.shape), tuple(prob.shape))
    return binomial_draws(count._data, prob._data, shape, generator)
