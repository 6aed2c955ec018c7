"""Random numbers from a seed: `manual_seed`, `Generator`, and tensors filled with random numbers.

The numbers are PyTorch's: from the same seed both draw the same numbers in the same order. So a network starts from the same
weights and sees its data in the same order. (Apart from rounding, PyTorch's own numbers differ for float16 and, on Intel
processors, for `bernoulli_` and `exponential_`.)
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import companions, dtypes
from ...array.generator import Generator
from ...array.tensor import Tensor, bind
from ...overrides import overridable
from ...seam.later import later
from ..binding import functions
from ..op import Op, elementwise, row_by_row
from .factories import finish, plain, shape_of, zeros_like

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Restart the random numbers of this module from `seed`.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the random numbers from the system's entropy. Returns the seed.

    >>> import tinygrad_edu as T
    >>> T.seed() == T.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the random numbers started from.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(3)
    >>> T.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the random numbers: a tensor of bytes. `set_rng_state` restores it.

    >>> import tinygrad_edu as T
    >>> state = T.get_rng_state()
    >>> x = T.rand(2)
    >>> T.set_rng_state(state)
    >>> T.equal(T.rand(2), x)
    True
    """
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Restore a state that `get_rng_state` returned.

    >>> import tinygrad_edu as T
    >>> state = T.get_rng_state()
    >>> first = T.rand(2)
    >>> T.set_rng_state(state)
    >>> T.equal(T.rand(2), first)
    True
    """
    default_generator.set_state(state)


class fork_rng:
    """Restore the state of the random numbers at the end of a `with` block, or of the decorated function.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> with T.random.fork_rng():
    ...     _ = T.rand(100)
    >>> T.rand(2)
    tensor([0.4963, 0.7682])
    """

    def __init__(self, devices: Any = None, enabled: bool = True, *args: Any, **kwargs: Any) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.state = default_generator.get_state()

    def __exit__(self, *exception: object) -> None:
        if self.enabled:
            default_generator.set_state(self.state)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def forked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(enabled=self.enabled):
                return function(*args, **kwargs)

        return forked


class _Standing(threading.local):
    """What draws instead of a generator in this thread, while `vmap` runs."""

    instead: Any = None


standing = _Standing()


def source(generator: Generator | None) -> Generator:
    """`generator`, or the global one, which `manual_seed` sets."""
    own = default_generator if generator is None else generator
    return own if standing.instead is None else standing.instead(own)


def in_memory_order(draw: Callable[[tuple[int, ...]], np.ndarray], like: np.ndarray) -> np.ndarray:
    """What `draw` gives for the shape of `like`, with the numbers in the order of its elements in memory.

    So does PyTorch: of a transposed tensor the second number goes to the second row.
    """
    if like.flags.c_contiguous or 0 in like.strides:
        return draw(like.shape)
    axes = sorted(range(like.ndim), key=lambda axis: -abs(like.strides[axis]))
    return draw(tuple([like.shape[axis] for axis in axes])).transpose(np.argsort(axes))


def drawn(draw: Any, shape: tuple[int, ...], kind: np.dtype, *settings: float) -> np.ndarray:
    """What `draw` gives; for a complex dtype the real and the imaginary part of each number in turn."""
    if kind.kind != "c":
        return draw(shape, kind, *settings)
    return _whole(draw((*shape, 2), dtypes.real_of(kind), *settings), kind)


def _parts(like: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Room for the real and the imaginary parts of numbers of a complex type, in the memory order of `like`."""
    return np.empty_like(like, kind)[..., None].view(dtypes.real_of(kind))


def _whole(parts: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Real and imaginary parts along the last dimension as complex numbers."""
    return parts.view(kind)[..., 0]


def even_like(like: np.ndarray, dtype: Any, low: float, high: float, generator: Any = None) -> np.ndarray:
    """Numbers spread evenly over [low, high), in the shape and memory order of `like`."""
    kind, rng = np.dtype(dtype), source(generator)
    if kind.kind == "c":
        return _whole(even_like(_parts(like, kind), dtypes.real_of(kind), low, high, generator), kind)
    return in_memory_order(lambda shape: rng.uniform(shape, dtype, low, high), like)


def normal_like(like: np.ndarray, dtype: Any, mean: float, std: float, generator: Any = None) -> np.ndarray:
    """Numbers of the normal distribution, in the shape and memory order of `like`."""
    kind, rng = np.dtype(dtype), source(generator)
    if kind.kind == "c":
        # Both parts together have that variance.
        return _whole(
            normal_like(_parts(like, kind), dtypes.real_of(kind), mean, std * math.sqrt(0.5), generator), kind
        )
    if like.flags.c_contiguous:
        return rng.normal(like.shape, dtype, mean, std)
    # Not contiguous: drawn one by one, as fewer than sixteen are.
    each = (rng.each_normal(like.size) * std + mean).astype(dtype, copy=False)
    return in_memory_order(each.reshape, like)


# --- new tensors -----------------------------------------------------------------------------------------------------


def _kind(dtype: Any) -> np.dtype:
    return dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy_dtype(dtype)


def _real_kind(dtype: Any) -> np.dtype:
    kind = _kind(dtype)
    if kind.kind == "c":
        companions.refuse("this draw", "c")
    return kind


def _made(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    return finish(np.asarray(array), requires_grad)


def rand(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers from the uniform distribution over [0, 1).

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    return _made(drawn(source(generator).uniform, shape_of(size), _kind(dtype)), requires_grad)


def randn(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers from the normal distribution with mean 0 and variance 1.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    # Of a complex number both parts together have variance 1.
    kind = _kind(dtype)
    settings = (0.0, math.sqrt(0.5)) if kind.kind == "c" else ()
    return _made(drawn(source(generator).normal, shape_of(size), kind, *settings), requires_grad)


def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers from `low` (0 by default) up to but not including `high`.

    >>> import tinygrad_edu as T
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
    drawn = source(generator).integers(low, high, shape_of((tuple(size),)))
    return _made(drawn.astype(_real_kind(dtype or dtypes.int64), copy=False), requires_grad)


def _check_range(low: int, high: int) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")


def randperm(
    n: int, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0 to n - 1 in random order.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    return _made(source(generator).permutation(n).astype(_real_kind(dtype or dtypes.int64), copy=False), requires_grad)


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

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.normal(0.0, 1.0, (2,))
    tensor([ 1.5410, -0.2934])
    """
    mean, std = dtypes.number(mean), dtypes.number(std)
    if isinstance(std, Tensor):
        if (std._data < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if isinstance(mean, Tensor):
        op = NormalOfBoth if isinstance(std, Tensor) else NormalOfMean
        return op.apply(mean, std, generator=generator)
    if isinstance(std, Tensor):
        return NormalOfStd.apply(std, mean=mean, generator=generator)
    return _made(source(generator).normal(shape_of((size or (),)), _real_kind(dtype)) * std + mean, requires_grad)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probability given by `input` (or by `p`, in the shape of `input`), else 0.

    >>> import tinygrad_edu as T
    >>> T.bernoulli(T.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    return Bernoulli.apply(input, p=input._data if p is None else p, generator=generator)


def chance(like: np.ndarray, p: Any, generator: Any = None) -> np.ndarray:
    """1 with probability `p` (a number or an array), else 0, in the shape and dtype of `like`."""
    return (even_like(like, getattr(p, "dtype", np.float64), 0.0, 1.0, generator) < p).astype(like.dtype)


def exponential(like: np.ndarray, generator: Any = None) -> np.ndarray:
    """Numbers of the exponential distribution of rate 1, in the shape and memory order of `like`."""
    return -np.log1p(-even_like(like, np.float64, 0.0, 1.0, generator))


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with the weights in each row of `input`.

    >>> import tinygrad_edu as T
    >>> T.multinomial(T.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    weights = input._data
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype.kind not in "fV":
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {input.dtype.legacy_name}. Convert first: "
            "t.float()."
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if (weights < 0).any() or not np.isfinite(weights).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(axis=-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if num_samples > 1 and weights.dtype.kind == "V":
        companions.refuse("multinomial of several draws", "V")
    if replacement and num_samples > 1:
        reached = np.cumsum(weights, axis=-1)
        reached /= reached[..., -1:]
        even = source(generator).uniform((*weights.shape[:-1], num_samples))
        return _made((reached[..., None, :] < even[..., None]).sum(axis=-1))
    # Each index gets an exponential waiting time, and the shortest times win. So no index comes twice.
    rate = weights / exponential(weights, generator).astype(weights.dtype)
    return _made(np.argsort(-rate, axis=-1, kind="stable")[..., :num_samples])


def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """As `rand`, in the shape and dtype of `input`.

    >>> import tinygrad_edu as T
    >>> T.rand_like(T.zeros(2, 3)).shape
    tinygrad_edu.Size([2, 3])
    """
    return _made(even_like(input._data, _kind(dtype or input.dtype), 0.0, 1.0, generator), requires_grad)


def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """As `randn`, in the shape and dtype of `input`.

    >>> import tinygrad_edu as T
    >>> T.randn_like(T.zeros(2, 3)).shape
    tinygrad_edu.Size([2, 3])
    """
    return _made(normal_like(input._data, _kind(dtype or input.dtype), 0.0, 1.0, generator), requires_grad)


# --- filled in place -------------------------------------------------------------------------------------------------


class _Filled(Op):
    """New numbers that do not depend on the old ones, so their gradient is 0."""

    def grad_self(grad):
        return zeros_like(grad)

    jvp = elementwise


class Uniform(_Filled):
    def forward(self, *, low, high, generator):
        return even_like(self, self.dtype, low, high, generator)


class Normal(_Filled):
    def forward(self, *, mean, std, generator):
        return normal_like(self, self.dtype, mean, std, generator)


class NormalOfBoth(Op, name="NormalBackward3"):
    """A draw from a mean and a std, both tensors. No gradient flows through it."""

    def forward(mean, std, *, generator):
        kind = next(x.dtype for x in (mean, std) if isinstance(x, np.ndarray))
        shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
        return np.asarray(source(generator).normal(shape, kind) * std + mean, kind)

    def grad_mean(grad):
        return zeros_like(grad)

    def grad_std(grad):
        return zeros_like(grad)

    jvp = row_by_row


class NormalOfMean(NormalOfBoth, name="NormalBackward1"):
    forward = NormalOfBoth.forward


class NormalOfStd(_Filled, name="NormalBackward2"):
    def forward(self, *, mean, generator):
        return NormalOfBoth.forward(mean, self, generator=generator)

    jvp = row_by_row


class Bernoulli(_Filled):
    def forward(self, *, p, generator):
        # Unlike `bernoulli_`, PyTorch's function draws in the order of the indices.
        return chance(np.empty(self.shape, self.dtype), p, generator)

    jvp = row_by_row


class BernoulliOfTensor(_Filled, name="BernoulliBackward1"):
    def forward(self, *, p, generator):
        return chance(self, p, generator)


class BernoulliOfNumber(BernoulliOfTensor, name="BernoulliBackward2"):
    forward = BernoulliOfTensor.forward


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the uniform distribution over [from_, to)."""
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return Uniform.apply_(self, low=from_, high=to, generator=generator)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the normal distribution."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return Normal.apply_(self, mean=mean, std=std, generator=generator)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 with probability `p`, else 0."""
    if isinstance(p, Tensor):
        return BernoulliOfTensor.apply_(self, p=p._data, generator=generator)
    return BernoulliOfNumber.apply_(self, p=p, generator=generator)


for _function in (manual_seed, seed, initial_seed, bernoulli, multinomial, get_rng_state, set_rng_state):
    functions[_function.__name__] = overridable(_function)
for _make in (rand, randn, randint, randperm, normal, rand_like, randn_like):
    functions[_make.__name__] = overridable(plain(_make))
for _fill in (uniform_, normal_, bernoulli_):
    bind(_fill.__name__, overridable(_fill))
bind("multinomial", functions["multinomial"])
bind("bernoulli", functions["bernoulli"])

__getattr__ = later(__name__, "See manual_seed, get_rng_state and fork_rng.")
