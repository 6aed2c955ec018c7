"""`DataLoader`: reads a dataset in batches. Its workers run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...ops import functions
from ...ops.creation.factories import as_tensor, tensor
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert"]


class DataLoader:
    """Iterates over a dataset in batches. Samples are stacked along a new first dimension.

    From the same seed the order is PyTorch's. Everything is read in this process: `num_workers`, and what concerns
    them, has no effect.

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
        **of_workers: Any,
    ) -> None:
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.num_workers = sampler, batch_sampler, num_workers
        self.generator = generator
        batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)

    def __iter__(self) -> Iterator[Any]:
        # In PyTorch's order: a sampler may draw as it begins, then the workers' seed is drawn, even if there are none.
        numbers = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        drawn_seed(self.generator)
        return map(self._fetch, numbers)

    def _fetch(self, numbers: Any) -> Any:
        """The batch of these numbers, or the sample of one number."""
        dataset = self.dataset
        if self.batch_sampler is None:
            return self.collate_fn(dataset[numbers])
        at_once = getattr(dataset, "__getitems__", None)  # a dataset may read a whole batch at once
        return self.collate_fn(at_once(numbers) if at_once else [dataset[number] for number in numbers])

    def __len__(self) -> int:
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def default_collate(batch: Any) -> Any:
    """Combine samples into a batch: stack tensors, arrays and numbers, also inside tuples, lists and dictionaries.

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
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}. "
        "Pass a custom collate_fn."
    )


def default_convert(data: Any) -> Any:
    """A sample unchanged, except that arrays become tensors.

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
