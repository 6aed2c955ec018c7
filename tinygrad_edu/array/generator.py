"""`Generator`: the source of random numbers. It draws the same numbers as PyTorch from the same seed.

It is a Mersenne Twister. This file knows in which order its bits become numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .dtypes import refuse_kind
from .tensor import check_device, wrap

__all__ = ["Generator"]

_WORDS = 624  # the size of the Mersenne Twister's state
# The state as PyTorch lays it out in memory.
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "normal_waits"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _WORDS), "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040],
        "itemsize": 5056,
    }
)


class Generator:
    """A source of random numbers with its own state.

    >>> g = T.Generator().manual_seed(0)
    >>> T.equal(T.rand(3, generator=g), T.rand(3, generator=g.manual_seed(0)))
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Restart the sequence from `seed`."""
        self._seed = int(seed) % 2**64
        self._twister: Any = None
        # Normal numbers are made in pairs: this holds the second of a pair.
        self._next_normal: float | None = None
        return self

    def seed(self) -> int:
        """Seed the generator from the system's entropy. Returns the seed."""
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that this generator started from."""
        return self._seed

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been drawn since it was seeded."""
        return self._twister is None

    def get_state(self) -> Any:
        """The generator's state: a tensor of bytes, in PyTorch's layout."""
        fresh, twister = self._twister is None, self._source().state["state"]
        state = np.zeros((), _STATE)
        state["seed"], state["seeded"], state["words"] = self._seed, 1, twister["key"]
        state["left"] = _WORDS + 1 - twister["pos"]
        state["next"] = 0 if fresh else twister["pos"]
        if self._next_normal is not None:
            state["normal"], state["normal_waits"] = self._next_normal, 1
        return wrap(np.frombuffer(state.tobytes(), np.uint8).copy())

    def set_state(self, state: Any) -> None:
        """Restore a state that `get_state` returned, here or in PyTorch."""
        taken = np.asarray(getattr(state, "_data", state))
        if taken.dtype != np.uint8 or taken.size != _STATE.itemsize:
            raise TypeError("RNG state must be a torch.ByteTensor: use the result of get_state() or get_rng_state().")
        read = np.frombuffer(taken.tobytes(), _STATE)[0]
        self._seed = int(read["seed"])
        self._next_normal = float(read["normal"]) if read["normal_waits"] else None
        key, place = read["words"].astype(np.uint32), _WORDS + 1 - int(read["left"])
        self._source().state = {"bit_generator": "MT19937", "state": {"key": key, "pos": place}}

    def _source(self) -> Any:
        """The Mersenne Twister, made at its first use: NumPy loads its random module only on demand."""
        if self._twister is None:
            self._twister = np.random.MT19937()
            self._twister.state = np.random.RandomState(self._seed % 2**32).get_state(legacy=False)
        return self._twister

    def words(self, n: int, bits: int) -> np.ndarray:
        """`n` random integers of 32 or 64 bits."""
        if bits == 32:
            return self._source().random_raw(n)
        pairs = self._source().random_raw(2 * n)
        return pairs[0::2] << np.uint64(32) | pairs[1::2]

    def integers(self, low: int, high: int, shape: Any) -> np.ndarray:
        """Integers from `low` up to but not including `high`."""
        words = self.words(math.prod(shape), 32 if high - low < 2**28 else 64)
        return (words % np.uint64(high - low)).astype(np.int64).reshape(shape) + low

    def uniform(self, shape: Any, dtype: Any = np.float64, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Numbers from the uniform distribution over [low, high)."""
        refuse_kind(np.dtype(dtype), "check_uniform_bounds", "biu")
        bits = max(np.finfo(dtype).nmant + 1, 24)
        words = self.words(math.prod(shape), 64 if bits > 32 else 32) & np.uint64(2**bits - 1)
        even = (words * 2.0**-bits).astype(dtype, copy=False).reshape(shape)
        even *= high - low
        even += low
        return even

    def normal(self, shape: Any, dtype: Any = np.float64, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
        """Numbers from the normal distribution, by the Box-Muller method."""
        refuse_kind(np.dtype(dtype), "normal_kernel_cpu", "biu")
        n = math.prod(shape)
        if n < 16:
            out = self.each_normal(n)
        else:
            kind = np.float64 if dtype == np.float64 else np.float32
            # PyTorch draws the last sixteen again, so that their number is a whole block. Of the types of two bytes it
            # does not draw an incomplete block before.
            first = n - n % 16 if np.dtype(dtype).itemsize == 2 else n
            out = np.empty(n, kind)
            out[:first] = _box_muller(self.uniform((first,), kind))
            if n % 16:
                out[-16:] = _box_muller(self.uniform((16,), kind))
        out *= std
        out += mean
        return out.astype(dtype, copy=False).reshape(shape)

    def each_normal(self, n: int) -> np.ndarray:
        """As `normal`, but one by one and in double precision. PyTorch does this for fewer than sixteen numbers."""
        drawn = [] if self._next_normal is None or not n else [self._next_normal]
        # With `math`, not NumPy, whose last bit may differ: the state shows the number that waits.
        for angle, even in self.uniform(((n - len(drawn) + 1) // 2, 2)).tolist():
            radius = math.sqrt(-2 * math.log1p(-even))
            drawn += [radius * math.cos(2 * math.pi * angle), radius * math.sin(2 * math.pi * angle)]
        if n:
            self._next_normal = drawn.pop() if len(drawn) > n else None
        return np.array(drawn)

    def permutation(self, n: int) -> np.ndarray:
        """0 to n - 1 in random order, by the Fisher-Yates shuffle."""
        order = list(range(n))
        left = np.arange(n, 1, -1, dtype=np.uint64)
        for i, step in enumerate((self.words(len(left), 32) % left).tolist()):
            order[i], order[i + step] = order[i + step], order[i]
        return np.array(order, np.int64)


def _box_muller(even: np.ndarray) -> np.ndarray:
    """Normal numbers from uniform ones, in blocks of eight radii and eight angles. An incomplete one stays."""
    whole = even[: even.size - even.size % 16].reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log(1 - whole[:, 0]))
    angle = whole[:, 1] * even.dtype.type(2 * math.pi)
    np.multiply(radius, np.cos(angle), out=whole[:, 0])
    np.multiply(radius, np.sin(angle), out=whole[:, 1])
    return even
