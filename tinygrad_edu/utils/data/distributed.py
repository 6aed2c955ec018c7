"""A sampler for training in several processes (PyTorch: `torch.utils.data.distributed`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...array.generator import Generator
from ...ops import functions
from .sampler import Sampler

__all__ = ["DistributedSampler"]


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
