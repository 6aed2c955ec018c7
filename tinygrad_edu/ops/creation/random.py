"""Random numbers from a seed: `manual_seed`, `Generator`, and tensors filled with random numbers.

The numbers are PyTorch's: from the same seed both draw the same numbers in the same order. So a network starts from the
same weights and sees its data in the same order. (Apart from rounding, PyTorch's own numbers differ for float16 and, on
Intel processors, for `bernoulli_` and `exponential_`.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.absent import answer
from ...array.generator import Generator
from ...array.tensor import Tensor
from ...overrides import overridable
from ..arrays import as_index
from ..binding import functions, method, public
from ..op import Op, row_by_row
from ..operands import need_float
from .copies import FlatOp
from .factories import finish, plain, shape_of

__all__ = ["default_generator", "fork_rng", "get_rng_state", "manual_seed", "set_rng_state"]

default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Restart the random numbers of this module from `seed`."""
    return default_generator.manual_seed(seed)


def get_rng_state() -> Any:
    """The state of the random numbers: a tensor of bytes. `set_rng_state` restores it."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Restore a state that `get_rng_state` returned, as its example shows."""
    default_generator.set_state(state)


@contextlib.contextmanager
def fork_rng(*ignored: Any, **settings: Any) -> Iterator[None]:
    """Restore the random numbers at the end of a `with`: what is drawn inside changes nothing outside.

    >>> with T.random.fork_rng():
    ...     x = T.rand(2)
    """
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def source(generator: Generator | None) -> Generator:
    """`generator`, or the global one, which `manual_seed` sets."""
    return default_generator if generator is None else generator


def in_memory_order(draw: Callable[[tuple[int, ...]], np.ndarray], like: np.ndarray) -> np.ndarray:
    """What `draw` gives for the shape of `like`, with the numbers in the order of its elements in memory.

    So does PyTorch: of a transposed tensor the second number goes to the second row.
    """
    if like.flags.c_contiguous or 0 in like.strides:
        return draw(like.shape)
    axes = sorted(range(like.ndim), key=lambda axis: -abs(like.strides[axis]))
    return draw(tuple([like.shape[axis] for axis in axes])).transpose(np.argsort(axes))


def even_like(like: np.ndarray, dtype: Any, low: float, high: float, generator: Any = None) -> np.ndarray:
    """Numbers spread evenly over [low, high), in the shape and memory order of `like`."""
    rng = source(generator)
    return in_memory_order(lambda shape: rng.uniform(shape, dtype, low, high), like)


def normal_like(like: np.ndarray, dtype: Any, mean: float, std: float, generator: Any = None) -> np.ndarray:
    """Numbers of the normal distribution, in the shape and memory order of `like`."""
    rng = source(generator)
    if like.flags.c_contiguous:
        return rng.normal(like.shape, dtype, mean, std)
    # Not contiguous: drawn one by one, as fewer than sixteen are.
    each = (rng.each_normal(like.size) * std + mean).astype(dtype, copy=False)
    return in_memory_order(each.reshape, like)


def chance(like: np.ndarray, p: Any, generator: Any = None) -> np.ndarray:
    """1 with probability `p` (a number or an array), else 0, in the shape and dtype of `like`."""
    need_float(p, "bernoulli_tensor_cpu_p_")
    return (even_like(like, getattr(p, "dtype", np.float64), 0.0, 1.0, generator) < p).astype(like.dtype)


def exponential(like: np.ndarray, generator: Any = None) -> np.ndarray:
    """Numbers of the exponential distribution of rate 1, in the shape and memory order of `like`."""
    if like.dtype.kind != "f":
        kind = dtypes.from_numpy_dtype(like.dtype).legacy_name
        told = "Exponential distribution is a continuous probability distribution. dtype must be a floating point"
        raise RuntimeError(f"{told} but you specified {kind}. Use t.float().")
    return -np.log1p(-even_like(like, np.float64, 0.0, 1.0, generator))


# --- new tensors -----------------------------------------------------------------------------------------------------


def _kind(dtype: Any) -> np.dtype:
    return dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy_dtype(dtype)


def rand(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers from the uniform distribution over [0, 1)."""
    return finish(source(generator).uniform(shape_of(size), _kind(dtype)), requires_grad)


def randn(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers from the normal distribution with mean 0 and variance 1."""
    return finish(source(generator).normal(shape_of(size), _kind(dtype)), requires_grad)


def randint(low: int = 0, high: Any = None, size: Any = None, *, generator: Any = None, **settings: Any) -> Tensor:
    """Integers from `low` (0 by default) up to but not including `high`.

    >>> _ = T.manual_seed(0)
    >>> T.randint(0, 10, (4,))
    tensor([4, 9, 3, 0])
    """
    if size is None and isinstance(high, tuple | list):
        low, high, size = 0, low, high
    if high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint() missing the argument 'size': the shape, as in randint(10, (2, 3))")
    _check_range(low, high)
    return _whole(source(generator).integers(low, high, shape_of((tuple(size),))), **settings)


def _check_range(low: int, high: int) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")


def _whole(drawn: np.ndarray, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return finish(drawn.astype(_kind(dtype or dtypes.int64), copy=False), requires_grad)


def randperm(n: int, *, generator: Any = None, **settings: Any) -> Tensor:
    """0 to n - 1 in random order."""
    return _whole(source(generator).permutation(n), **settings)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from normal distributions. `mean` and `std` are numbers or tensors.

    No gradient flows through a draw: a mean or a std that requires grad gets zeros.

    >>> _ = T.manual_seed(0)
    >>> T.normal(0.0, 1.0, (2,))
    tensor([ 1.5410, -0.2934])
    """
    mean, std = dtypes.number(mean), dtypes.number(std)
    if isinstance(std, Tensor):
        if (std._data < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
        if isinstance(mean, Tensor):
            return NormalOfBoth.apply(mean, std, generator=generator)
        return NormalOfStd.apply(std, mean=mean, generator=generator)
    _check_std(std)
    if isinstance(mean, Tensor):
        return NormalOfMean.apply(mean, std, generator=generator)
    if size is None:
        raise TypeError('normal() of two numbers is missing 1 required positional argument: "size"')
    return finish(np.asarray(source(generator).normal(shape_of((size,)), _kind(dtype)) * std + mean), requires_grad)


def _check_std(std: float) -> None:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


@public()
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probability given by `input` (or by `p`, in the shape of `input`), else 0."""
    return Bernoulli.apply(input, p=input._data if p is None else p, generator=generator)


@public()
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with the weights in each row of `input`.

    >>> T.multinomial(T.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    weights = input._data
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype.kind != "f":
        kind = input.dtype.legacy_name
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {kind}. Use t.float().")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if (weights < 0).any() or not np.isfinite(weights).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(axis=-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if replacement and num_samples > 1:
        reached = np.cumsum(weights, axis=-1)
        reached /= reached[..., -1:]
        even = source(generator).uniform((*weights.shape[:-1], num_samples))
        return finish(as_index((reached[..., None, :] < even[..., None]).sum(axis=-1)))
    # Each index gets an exponential waiting time, and the shortest times win. So no index comes twice.
    rate = weights / exponential(weights, generator).astype(weights.dtype)
    return finish(as_index(np.argsort(-rate, axis=-1, kind="stable")[..., :num_samples]))


def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """As `rand`, in the shape and dtype of `input`."""
    return finish(even_like(input._data, _kind(dtype or input.dtype), 0.0, 1.0, generator), requires_grad)


def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """As `randn`, in the shape and dtype of `input`."""
    return finish(normal_like(input._data, _kind(dtype or input.dtype), 0.0, 1.0, generator), requires_grad)


# --- draws from tensors, and draws in place ---------------------------------------------------------------------------


class NormalOfBoth(Op, name="NormalBackward3"):
    """A draw from a mean and a std, both tensors. No gradient flows through it."""

    def forward(mean, std, *, generator):
        kind = next(x.dtype for x in (mean, std) if isinstance(x, np.ndarray))
        shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
        return np.asarray(source(generator).normal(shape, kind) * std + mean, kind)

    grad_mean = grad_std = FlatOp.grad_self
    jvp = row_by_row


class NormalOfMean(NormalOfBoth, name="NormalBackward1"):
    forward = NormalOfBoth.forward


class NormalOfStd(FlatOp, name="NormalBackward2"):
    def forward(self, *, mean, generator):
        return NormalOfBoth.forward(mean, self, generator=generator)

    jvp = row_by_row


class Bernoulli(FlatOp):
    def forward(self, *, p, generator):
        # Unlike `bernoulli_`, PyTorch's function draws in the order of the indices.
        return chance(np.empty(self.shape, self.dtype), p, generator)

    jvp = row_by_row


class BernoulliOfTensor(FlatOp, name="BernoulliBackward1"):
    def forward(self, *, p, generator):
        return chance(self, p, generator)


class BernoulliOfNumber(BernoulliOfTensor, name="BernoulliBackward2"):
    forward = BernoulliOfTensor.forward


class Uniform(FlatOp):
    def forward(self, *, low, high, generator):
        return even_like(self, self.dtype, low, high, generator)


class Normal(FlatOp):
    def forward(self, *, mean, std, generator):
        return normal_like(self, self.dtype, mean, std, generator)


class Exponential(FlatOp):
    def forward(self, *, lambd, generator):
        return (exponential(self, generator) / lambd).astype(self.dtype)


class Random(FlatOp):
    def forward(self, *, low, high, generator):
        if low is not None:
            rng = source(generator)
            return in_memory_order(lambda shape: rng.integers(low, high, shape), self).astype(self.dtype)
        # All integers, counted from 0, that the dtype represents exactly.
        kind = self.dtype
        count = (
            2 ** (np.finfo(kind).nmant + 1) + 1
            if kind.kind == "f"
            else 2
            if kind.kind == "b"
            else np.iinfo(kind).max + 1
        )
        words = source(generator).words(self.size, 64 if self.itemsize == 8 else 32)
        return in_memory_order((words % np.uint64(count)).astype(kind).reshape, self)


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the uniform distribution over [from_, to)."""
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return Uniform.apply_(self, low=from_, high=to, generator=generator)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the normal distribution."""
    _check_std(std)
    return Normal.apply_(self, mean=mean, std=std, generator=generator)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 with probability `p`, else 0."""
    if isinstance(p, Tensor):
        return BernoulliOfTensor.apply_(self, p=p._data, generator=generator)
    return BernoulliOfNumber.apply_(self, p=p, generator=generator)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the exponential distribution with rate `lambd`."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return Exponential.apply_(self, lambd=lambd, generator=generator)


def random_(self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill with integers from `from_` up to but not including `to`; from 0 for one bound; all that fit for none."""
    if to is None and from_ is not None:
        from_, to = 0, from_
    if from_ is not None and to is not None:
        _check_range(from_, to)
    return Random.apply_(self, low=from_, high=to, generator=generator)


for _function in (manual_seed, get_rng_state, set_rng_state):
    functions[_function.__name__] = overridable(_function)
for _make in (rand, randn, randint, randperm, normal, rand_like, randn_like):
    functions[_make.__name__] = overridable(plain(_make))


class RandomMethods:
    """The methods of Tensor that are defined here."""

    uniform_ = overridable(uniform_)
    normal_ = overridable(normal_)
    bernoulli_ = overridable(bernoulli_)
    exponential_ = overridable(exponential_)
    random_ = overridable(random_)
    multinomial = method(multinomial)
    bernoulli = method(bernoulli)


__getattr__ = answer(__name__)
