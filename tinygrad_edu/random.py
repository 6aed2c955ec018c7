"""Random numbers from a seed: `manual_seed`, `Generator`, and tensors filled by them.

The numbers are NumPy's (PCG64), not PyTorch's: the same seed gives the same numbers here on each run and machine, but
other ones than in PyTorch. For one start on both engines, make the numbers with NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .ops.binding import functions
from .ops.creation import check_device, plain, zeros_like
from .ops.op import Op, elementwise
from .overrides import overridable
from .tensor import Tensor, bind, wrap

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


class Generator:
    """A source of random numbers with a state of its own.

    Example:
        >>> import tinygrad_edu as T
        >>> g = T.Generator().manual_seed(0)
        >>> T.equal(T.rand(3, generator=g), T.rand(3, generator=g.manual_seed(0)))
        True
    """

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Begin again from `seed`."""
        self._seed = int(seed)
        self._numpy: np.random.Generator | None = None
        return self

    @property
    def numpy(self) -> np.random.Generator:
        """NumPy's generator; made at its first use, since NumPy loads that part of itself when it is asked for."""
        if self._numpy is None:
            self._numpy = np.random.Generator(np.random.PCG64(self._seed % 2**64))
        return self._numpy

    def seed(self) -> int:
        """Begin from a seed that the system's entropy gives; returns it."""
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that this generator began from."""
        return self._seed

    def get_state(self) -> Any:
        """Where in its sequence the generator is."""
        return self.numpy.bit_generator.state

    def set_state(self, state: Any) -> None:
        """Go on from where `get_state` was called."""
        self.numpy.bit_generator.state = state


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Begin the random numbers of this module again from `seed`."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Begin from a seed that the system's entropy gives; returns it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the random numbers began from."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """Where in their sequence the random numbers are."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Go on from where `get_rng_state` was called."""
    default_generator.set_state(state)


def numpy_generator(generator: Generator | None) -> np.random.Generator:
    """NumPy's generator behind `generator`, or behind the one that `manual_seed` sets."""
    return (default_generator if generator is None else generator).numpy


# --- new tensors -----------------------------------------------------------------------------------------------------


def _made(array: Any, dtype: Any, requires_grad: bool) -> Tensor:
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy_dtype(dtype)
    out = wrap(np.asarray(array).astype(kind, copy=False))
    return out.requires_grad_() if requires_grad else out


def _size(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], tuple | list) else size


def rand(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers spread evenly over [0, 1)."""
    return _made(numpy_generator(generator).random(_size(size)), dtype, requires_grad)


def randn(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1."""
    return _made(numpy_generator(generator).standard_normal(_size(size)), dtype, requires_grad)


def randint(
    low: int,
    high: Any,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers from `low` (0) up to but not including `high`."""
    if size is None:
        low, high, size = 0, low, high
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _made(numpy_generator(generator).integers(low, high, tuple(size)), dtype or dtypes.int64, requires_grad)


def randperm(
    n: int, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0 to n - 1 in random order."""
    return _made(numpy_generator(generator).permutation(n), dtype or dtypes.int64, requires_grad)


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """Numbers of normal distributions with the given means and deviations, numbers or tensors."""
    mean, std = (getattr(x, "_data", x) for x in (mean, std))
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std)) if size is None else tuple(size)
    return _made(mean + std * numpy_generator(generator).standard_normal(shape), dtype, False)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probability that `input` gives (or `p`, in the shape of `input`), else 0."""
    chance = input._data if p is None else p
    return _made(numpy_generator(generator).random(input._data.shape) < chance, input.dtype, False)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with the weights in each row of `input`."""
    rows = np.atleast_2d(input._data).astype(np.float64)
    rng = numpy_generator(generator)
    if not replacement and (rows > 0).sum(axis=1).min() < num_samples:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    drawn = [rng.choice(len(p), num_samples, replacement, p / p.sum()) for p in rows]
    return wrap(np.asarray(drawn[0] if input.ndim == 1 else drawn, np.int64))


def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """As `rand`, in the shape and dtype of `input`."""
    return rand(input._data.shape, generator=generator, dtype=dtype or input.dtype, requires_grad=requires_grad)


def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """As `randn`, in the shape and dtype of `input`."""
    return randn(input._data.shape, generator=generator, dtype=dtype or input.dtype, requires_grad=requires_grad)


def randint_like(
    input: Tensor, low: int, high: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """As `randint`, in the shape and dtype of `input`."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input._data.shape, generator=generator, dtype=dtype or input.dtype)


# --- filled in place -------------------------------------------------------------------------------------------------


class _Filled(Op):
    """New numbers whatever was there before: no gradient goes back."""

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


class Uniform(_Filled):
    def forward(self, *, low, high, generator):
        return numpy_generator(generator).uniform(low, high, self.shape).astype(self.dtype)


class Normal(_Filled):
    def forward(self, *, mean, std, generator):
        return numpy_generator(generator).normal(mean, std, self.shape).astype(self.dtype)


class Bernoulli(_Filled):
    def forward(self, *, p, generator):
        return (numpy_generator(generator).random(self.shape) < p).astype(self.dtype)


class Exponential(_Filled):
    def forward(self, *, lambd, generator):
        return numpy_generator(generator).exponential(1 / lambd, self.shape).astype(self.dtype)


class LogNormal(_Filled):
    def forward(self, *, mean, std, generator):
        return numpy_generator(generator).lognormal(mean, std, self.shape).astype(self.dtype)


class Geometric(_Filled):
    def forward(self, *, p, generator):
        return numpy_generator(generator).geometric(p, self.shape).astype(self.dtype)


class Cauchy(_Filled):
    def forward(self, *, median, sigma, generator):
        return (median + sigma * numpy_generator(generator).standard_cauchy(self.shape)).astype(self.dtype)


class Random(_Filled):
    def forward(self, *, low, high, generator):
        return numpy_generator(generator).integers(low, high, self.shape).astype(self.dtype)


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers spread evenly over [from_, to)."""
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return Uniform.apply_(self, low=from_, high=to, generator=generator)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the normal distribution."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return Normal.apply_(self, mean=mean, std=std, generator=generator)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1, with probability `p`, and 0."""
    return Bernoulli.apply_(self, p=getattr(p, "_data", p), generator=generator)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the exponential distribution of rate `lambd`."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return Exponential.apply_(self, lambd=lambd, generator=generator)


def random_(self: Tensor, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill with integers from `from_` up to but not including `to`; with one bound, from 0."""
    if to is None:
        from_, to = 0, from_ or (2**24 if self.is_floating_point() else dtypes.iinfo(self.dtype).max)
    return Random.apply_(self, low=from_, high=to, generator=generator)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers whose logarithms are of the normal distribution."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return LogNormal.apply_(self, mean=mean, std=std, generator=generator)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of tries until one of probability `p` succeeds."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return Geometric.apply_(self, p=p, generator=generator)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the Cauchy distribution."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return Cauchy.apply_(self, median=median, sigma=sigma, generator=generator)


for _function in (manual_seed, seed, initial_seed, bernoulli, multinomial, get_rng_state, set_rng_state):
    functions[_function.__name__] = overridable(_function)
for _make in (rand, randn, randint, randperm, normal, rand_like, randn_like, randint_like):
    functions[_make.__name__] = overridable(plain(_make))
for _fill in (uniform_, normal_, bernoulli_, exponential_, random_, log_normal_, geometric_, cauchy_):
    bind(_fill.__name__, overridable(_fill))
bind("multinomial", functions["multinomial"])
bind("bernoulli", functions["bernoulli"])
