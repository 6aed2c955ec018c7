"""`DataLoader`: reads a dataset in batches. It works in this process, without workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...ops import functions
from ...ops.creation.factories import as_tensor, tensor
from ...tensor import Tensor
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


class DataLoader:
    """Iterates over a dataset in batches. Samples are stacked along a new first dimension.

    From the same seed the order is PyTorch's. `num_workers` and related arguments are accepted and have no effect.

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
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)

    def __iter__(self) -> Iterator[Any]:
        # PyTorch draws a seed for its workers even if there are none. Doing the same keeps the following numbers equal.
        drawn_seed(self.generator)
        return map(self.collate_fn, self._batches())

    def _batches(self) -> Iterator[Any]:
        if self._iterable:
            samples = iter(self.dataset)
            if self.batch_size is None:
                yield from samples
                return
            while batch := list(itertools.islice(samples, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield batch
        elif self.batch_sampler is None:
            for number in self.sampler:
                yield self.dataset[number]
        else:
            at_once = getattr(self.dataset, "__getitems__", None)  # a dataset may read a whole batch at once
            for numbers in self.batch_sampler:
                yield at_once(numbers) if at_once else [self.dataset[number] for number in numbers]

    def __len__(self) -> int:
        if self._iterable and self.batch_size is not None:
            whole, rest = divmod(len(self.dataset), self.batch_size)
            return whole + (rest > 0 and not self.drop_last)
        return len(
            self.dataset if self._iterable else self.sampler if self.batch_sampler is None else self.batch_sampler
        )


def default_collate(batch: Any) -> Any:
    """Combine samples into a batch: stack tensors, arrays and numbers, also inside tuples, lists and dictionaries.

    Raises:
        TypeError: the samples hold something else.
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
    """A sample unchanged, except that arrays become tensors."""
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    return [default_convert(value) for value in data] if isinstance(data, tuple | list) else data


def get_worker_info() -> None:
    """None: the data is loaded in the main process."""
