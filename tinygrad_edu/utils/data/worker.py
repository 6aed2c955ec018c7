"""A worker of a `DataLoader`. It runs in this process, with the random numbers that a worker process of PyTorch draws."""

from __future__ import annotations

import copy
import random as of_python
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...array.generator import Generator
from ...ops.creation.random import default_generator

__all__ = ["Worker", "WorkerInfo", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """What `get_worker_info()` returns in a worker: its number, how many there are, its seed, and its copy of the dataset.

    >>> import tinygrad_edu as T
    >>> class Numbers(T.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         worker = T.utils.data.get_worker_info()
    ...         return iter([(worker.id, worker.num_workers)])
    >>> list(T.utils.data.DataLoader(Numbers(), batch_size=None, num_workers=2))
    [[0, 2], [1, 2]]
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What is known of the worker that this runs in; None outside of workers.

    >>> import tinygrad_edu as T
    >>> T.utils.data.get_worker_info() is None
    True
    """
    return _current


class Worker:
    """The worker `number` of `count`. `call` runs a function with the random numbers and the dataset of the worker."""

    def __init__(self, dataset: Any, number: int, count: int, base_seed: int) -> None:
        seed = base_seed + number
        self.info = WorkerInfo(number, count, seed, _own(dataset))
        words = np.random.SeedSequence([number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4)
        self._drawn = (
            vars(Generator().manual_seed(seed)),
            of_python.Random(seed).getstate(),
            np.random.RandomState(words).get_state(),
        )

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(*args)` in the worker."""
        with self._inside():
            return function(*args)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        global _current
        outside, _current = _current, self.info
        main = _exchanged(self._drawn)
        try:
            yield
        finally:
            self._drawn = _exchanged(main)
            _current = outside


def _exchanged(states: Any) -> Any:
    """Give the three sources of random numbers these states; returns those they had."""
    before = dict(vars(default_generator)), of_python.getstate(), np.random.get_state()
    vars(default_generator).update(states[0])
    of_python.setstate(states[1])
    np.random.set_state(states[2])
    return before


def _own(dataset: Any) -> Any:
    """A copy, so that attributes that one worker sets are its own; what cannot be copied is shared."""
    try:
        return copy.copy(dataset)
    except Exception:
        return dataset
