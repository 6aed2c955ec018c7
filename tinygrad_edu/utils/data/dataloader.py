"""`DataLoader`: reads a dataset in batches. Its workers run in this process."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...ops import functions
from ...ops.creation.factories import as_tensor, tensor
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from .worker import Worker

__all__ = ["DataLoader", "default_collate", "default_convert"]

_FIXED = (
    "batch_size",
    "batch_sampler",
    "sampler",
    "drop_last",
    "dataset",
    "persistent_workers",
)  # once a loader is made


class DataLoader:
    """Iterates over a dataset in batches. Samples are stacked along a new first dimension.

    From the same seed the order is PyTorch's, and so are the random numbers that the dataset draws in its `num_workers`
    workers, which run in turn in this process.

    Example:
        >>> import tinygrad_edu as T
        >>> data = T.utils.data.TensorDataset(T.arange(5), T.arange(5) * 10)
        >>> for x, y in T.utils.data.DataLoader(data, batch_size=2):
        ...     print(x, y)
        tensor([0, 1]) tensor([ 0, 10])
        tensor([2, 3]) tensor([20, 30])
        tensor([4]) tensor([40])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if not num_workers and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and not num_workers:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if multiprocessing_context is not None and not num_workers:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={num_workers}"
            )
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler option: the "
                "dataset itself says in which order it is read."
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None and not self._iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and not self._iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last, self.generator = dataset, batch_size, drop_last, generator
        self.sampler, self.batch_sampler, self.num_workers = sampler, batch_sampler, num_workers
        self.pin_memory, self.pin_memory_device, self.timeout, self.in_order = (
            pin_memory,
            pin_memory_device,
            timeout,
            in_order,
        )
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self.prefetch_factor: Any = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self._workers: list[Worker] = []  # those that last from one run to the next
        batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_made"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        # In PyTorch's order: a sampler may draw as it begins, then a seed is drawn for the workers, even if there are none.
        numbers = self._numbers()
        if self.num_workers:
            return _Batches(self, self._of_workers(numbers))
        drawn_seed(self.generator)
        if numbers is None:
            return _Batches(self, self._read(iter(self.dataset)))
        return _Batches(self, map(functools.partial(self._fetch, self.dataset), numbers))

    def _numbers(self) -> Iterator[Any] | None:
        return None if self._iterable else iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _fetch(self, dataset: Any, numbers: Any) -> Any:
        """The batch of these numbers, or the sample of one number."""
        if self.batch_sampler is None:
            return self.collate_fn(dataset[numbers])
        at_once = getattr(dataset, "__getitems__", None)  # a dataset may read a whole batch at once
        return self.collate_fn(at_once(numbers) if at_once else [dataset[number] for number in numbers])

    def _read(self, samples: Iterator[Any]) -> Iterator[Any]:
        """The batches of an iterable dataset."""
        if self.batch_size is None:
            yield from map(self.collate_fn, samples)
            return
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def _of_workers(self, numbers: Iterator[Any] | None) -> Iterator[Any]:
        workers = self._workers
        if not workers:
            workers = self._new_workers()
            numbers = self._numbers()  # a sampler begins twice, as in PyTorch
        if self.persistent_workers:
            self._workers = workers
        if numbers is None:
            return _in_turn([(w, w.call(lambda w=w: self._read(iter(w.info.dataset)))) for w in workers])
        # The numbers of some batches are asked for ahead.
        return self._in_turn(workers, numbers, deque(itertools.islice(numbers, self.prefetch_factor * len(workers))))

    def _new_workers(self) -> list[Worker]:
        seed, count = drawn_seed(self.generator), self.num_workers
        workers = [Worker(self.dataset, number, count, seed) for number in range(count)]
        if self.worker_init_fn is not None:
            for worker in workers:
                worker.call(self.worker_init_fn, worker.info.id)
        return workers

    def _in_turn(self, workers: list[Worker], numbers: Iterator[Any], ahead: deque[Any]) -> Iterator[Any]:
        for worker in itertools.cycle(workers):
            if not ahead:
                return
            batch = worker.call(self._fetch, worker.info.dataset, ahead.popleft())
            ahead.extend(itertools.islice(numbers, 1))
            yield batch

    def __len__(self) -> int:
        if self._iterable and self.batch_size is not None:
            whole, rest = divmod(len(self.dataset), self.batch_size)
            return whole + (rest > 0 and not self.drop_last)
        return len(
            self.dataset if self._iterable else self.sampler if self.batch_sampler is None else self.batch_sampler
        )


class _Batches:
    """One run over the batches of a loader."""

    def __init__(self, loader: DataLoader, batches: Iterator[Any]) -> None:
        self._loader, self._left = loader, batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._left)

    def __len__(self) -> int:
        return len(self._loader)


def _in_turn(parts: list[tuple[Worker, Iterator[Any]]]) -> Iterator[Any]:
    """A batch of each worker in turn, until none has one left."""
    while parts:
        for part in list(parts):
            worker, batches = part
            batch = worker.call(next, batches, _END)
            if batch is _END:
                parts.remove(part)
            else:
                yield batch


_END = object()


def default_collate(batch: Any) -> Any:
    """Combine samples into a batch: stack tensors, arrays and numbers, also inside tuples, lists and dictionaries.

    Raises:
        TypeError: the samples hold something else.

    >>> import tinygrad_edu as T
    >>> T.utils.data.default_collate([(1.0, "a"), (2.0, "b")])
    [tensor([1., 2.], dtype=tinygrad_edu.float64), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return functions["stack"](list(batch), 0)
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return functions["stack"]([as_tensor(sample) for sample in batch], 0)
    if isinstance(first, float):
        return tensor(batch, dtype=dtypes.float64)
    if isinstance(first, np.generic):
        return as_tensor(np.array(batch))
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, str | bytes):
        return batch
    # The recursion is as deep as the nesting of one sample.
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}. Pass a "
        "custom collate_fn."
    )


def default_convert(data: Any) -> Any:
    """A sample unchanged, except that arrays become tensors.

    >>> import tinygrad_edu as T
    >>> import numpy as np
    >>> T.utils.data.default_convert({"x": np.array([1.0, 2.0], "f"), "name": "a"})
    {'x': tensor([1., 2.]), 'name': 'a'}
    """
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    return [default_convert(value) for value in data] if isinstance(data, tuple | list) else data


def __getattr__(name: str) -> Any:
    """What PyTorch's module of this name has as well."""
    return getattr(sys.modules[__package__], name)
