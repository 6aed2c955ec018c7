"""Tensors filled with numbers of rarer distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor, bind
from ...ops.binding import functions
from ...ops.creation.factories import plain
from ...ops.creation.random import (
    _check_range,
    _Filled,
    _made,
    _real_kind,
    even_like,
    exponential,
    in_memory_order,
    source,
)
from ...overrides import overridable


def randint_like(
    input: Tensor, low: int = 0, high: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """As `randint`, in the shape and dtype of `input`.

    >>> import tinygrad_edu as T
    >>> T.randint_like(T.zeros(2, 3), 10).shape
    tinygrad_edu.Size([2, 3])
    """
    low, high = (0, low) if high is None else (low, high)
    _check_range(low, high)
    kind, rng = _real_kind(dtype or input.dtype), source(generator)
    return _made(in_memory_order(lambda shape: rng.integers(low, high, shape), input._data).astype(kind, copy=False))


class Exponential(_Filled):
    def forward(self, *, lambd, generator):
        return (exponential(self, generator) / lambd).astype(self.dtype)


class LogNormal(_Filled):
    def forward(self, *, mean, std, generator):
        drawn = np.exp(source(generator).each_normal(self.size) * std + mean).astype(self.dtype)
        return in_memory_order(drawn.reshape, self)


class Geometric(_Filled):
    def forward(self, *, p, generator):
        return np.ceil(np.log(even_like(self, np.float64, 0.0, 1.0, generator)) / math.log1p(-p)).astype(self.dtype)


class Cauchy(_Filled):
    def forward(self, *, median, sigma, generator):
        angle = math.pi * (even_like(self, np.float64, 0.0, 1.0, generator) - 0.5)
        return (median + sigma * np.tan(angle)).astype(self.dtype)


class Random(_Filled):
    def forward(self, *, low, high, generator):
        if low is not None:
            rng = source(generator)
            return in_memory_order(lambda shape: rng.integers(low, high, shape), self).astype(self.dtype)
        words = source(generator).words(self.size, 64 if self.itemsize == 8 else 32)
        return in_memory_order((words % np.uint64(_range_of(self.dtype))).astype(self.dtype).reshape, self)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the exponential distribution with rate `lambd`."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return Exponential.apply_(self, lambd=lambd, generator=generator)


def random_(self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill with integers from `from_` up to but not including `to`. One bound means from 0; no bound means all that fit."""
    if to is None and from_ is not None:
        from_, to = 0, from_
    if from_ is not None and to is not None:
        _check_range(from_, to)
    return Random.apply_(self, low=from_, high=to, generator=generator)


def _range_of(kind: np.dtype) -> int:
    """How many integers, counted from 0, a dtype represents exactly."""
    if kind.kind == "f":
        return 2 ** int(np.finfo(kind).nmant + 1) + 1
    return 2 if kind.kind == "b" else int(np.iinfo(kind).max) + 1


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers whose logarithms are normally distributed."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return LogNormal.apply_(self, mean=mean, std=std, generator=generator)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of trials up to the first success, each with probability `p`."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return Geometric.apply_(self, p=p, generator=generator)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the Cauchy distribution."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return Cauchy.apply_(self, median=median, sigma=sigma, generator=generator)


functions["randint_like"] = overridable(plain(randint_like))
for _fill in (exponential_, random_, log_normal_, geometric_, cauchy_):
    bind(_fill.__name__, overridable(_fill))
