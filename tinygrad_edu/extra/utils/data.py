""""""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...array.generator import Generator
from ...array.tensor import wrap
from ...ops import functions
from ...ops.creation import random
from ...utils.data.dataset import Dataset
from ...utils.data.sampler import Sampler, _check_flag

__all__ = ["DistributedSampler", "StackDataset", "SubsetRandomSampler", "WeightedRandomSampler"]


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index, starting at `rank`, in an order that changes with each `set_epoch(epoch)`.

    If the samples cannot be divided equally, the first ones are used again, or with `drop_last` the last ones are dropped.

    Raises:
        ValueError: `num_replicas` or `rank` is not given, or `rank` is out of range. There is no process group here.

    >>> from tinygrad_edu.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group. There are no "
                "process groups here: give num_replicas and rank."
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        if self.shuffle:
            order = functions["randperm"](
                len(self.dataset), generator=Generator().manual_seed(self.seed + self.epoch)
            )._data
        else:
            order = np.arange(len(self.dataset))
        return iter(np.resize(order, self.total_size)[self.rank :: self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Use the order of this epoch from now on."""
        self.epoch = epoch


class StackDataset(Dataset):
    """Datasets of equal length side by side. A sample is a tuple, or a dictionary, of their samples.

    >>> import tinygrad_edu as T
    >>> T.utils.data.StackDataset(letter="abc", number=[1, 2, 3])[1]
    {'letter': 'b', 'number': 2}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are "
                "given."
            )
        self.datasets: Any = args or kwargs
        parts = list(args or kwargs.values())
        if not parts:
            raise ValueError("At least one dataset should be passed")
        self._length = len(parts[0])
        if any(len(d) != self._length for d in parts):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


class SubsetRandomSampler(Sampler):
    """The given indices in random order.

    >>> import tinygrad_edu as T
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

    >>> import tinygrad_edu as T
    >>> list(T.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        if not isinstance(num_samples, int) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        _check_flag("replacement", replacement)
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
