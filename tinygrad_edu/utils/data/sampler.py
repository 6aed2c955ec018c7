"""Samplers: the order in which a dataset's samples are read. From the same seed it is PyTorch's order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...array.generator import Generator
from ...array.tensor import wrap
from ...ops.creation import random


class Sampler:
    """The base class. Subclasses define `__iter__`, which yields the indices of samples, and `__len__`.

    >>> class Backwards(T.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return reversed(range(3))
    >>> list(T.utils.data.DataLoader([10, 20, 30], sampler=Backwards(), batch_size=None))
    [30, 20, 10]
    """

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


def drawn_seed(generator: Generator | None = None) -> int:
    """A seed of 63 bits, drawn from `generator` or the global random numbers."""
    return int(random.source(generator).words(1, 64)[0]) % 2**63


class SequentialSampler(Sampler):
    """0, 1, 2, …

    >>> list(T.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All indices in random order; with `replacement`, `num_samples` independent draws.

    >>> sorted(T.utils.data.RandomSampler("abcd"))
    [0, 1, 2, 3]
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of draws; by default the size of the dataset."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        source = Generator().manual_seed(drawn_seed()) if self.generator is None else self.generator
        if self.replacement:
            # In small portions, as in PyTorch: there may be billions.
            for start in range(0, self.num_samples, 32):
                yield from source.integers(0, n, (min(32, self.num_samples - start),)).tolist()
            return
        for _ in range(self.num_samples // n):
            yield from source.permutation(n).tolist()
        # PyTorch draws one more order, also where nothing of it is left to give: the next epoch goes on after it.
        yield from source.permutation(n).tolist()[: self.num_samples % n]

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Groups another sampler's indices into lists of `batch_size`. The last one is shorter, or dropped.

    >>> from tinygrad_edu.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.sampler: Any = sampler
        self.batch_size, self.drop_last = batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


class SubsetRandomSampler(Sampler):
    """The given indices in random order.

    >>> sorted(T.utils.data.SubsetRandomSampler([7, 2, 5]))
    [2, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in random.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with probabilities proportional to their weights.

    >>> list(T.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        self.weights = wrap(np.asarray(weights, np.float64))
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from random.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        ).tolist()

    def __len__(self) -> int:
        return self.num_samples
