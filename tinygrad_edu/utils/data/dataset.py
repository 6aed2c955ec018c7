"""Datasets: they have a length and return a sample for each index, or they are iterated from start to end."""

from __future__ import annotations

import bisect
import itertools
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...array.tensor import Tensor
from ...ops.creation import random

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "Subset", "TensorDataset", "random_split",
]  # fmt: skip


class Dataset:
    """The base class. Subclasses define `__getitem__(index)` and `__len__`.

    >>> import tinygrad_edu as T
    >>> class Squares(T.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> Squares()[3]
    9
    """

    # PyTorch's class is generic, for annotations such as `Dataset[int]`.
    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """The base of datasets that are read from start to end. Subclasses define `__iter__`.

    >>> import tinygrad_edu as T
    >>> class Countdown(T.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> list(T.utils.data.DataLoader(Countdown(), batch_size=2))
    [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors of equal length. A sample is the tuple of their slices along the first dimension.

    Example:
        >>> import tinygrad_edu as T
        >>> T.utils.data.TensorDataset(T.tensor([1.0, 2.0]), T.tensor([0, 1]))[1]
        (tensor(2.), tensor(1))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors: tuple[Any, ...] = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class ConcatDataset(Dataset):
    """Concatenates datasets.

    >>> import tinygrad_edu as T
    >>> T.utils.data.ConcatDataset(["ab", "cd"])[2]
    'c'
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset):
    """Concatenates iterable datasets.

    >>> import tinygrad_edu as T
    >>> class Count(T.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(T.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class Subset(Dataset):
    """The samples of a dataset at the given indices.

    >>> import tinygrad_edu as T
    >>> list(T.utils.data.Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Split a dataset at random into parts without overlap, of the given lengths, or of fractions that sum to 1.

    Raises:
        ValueError: the lengths do not add up to that of the dataset.

    >>> import tinygrad_edu as T
    >>> [len(part) for part in T.utils.data.random_split(range(10), [7, 3])]
    [7, 3]
    """
    sizes: list[Any] = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for i, fraction in enumerate(sizes):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(len(dataset) * fraction) for fraction in sizes]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if not size:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(sizes) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = random.randperm(sum(sizes), generator=generator).tolist()
    return [
        Subset(dataset, order[end - size : end]) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)
    ]


def __getattr__(name: str) -> Any:
    """What PyTorch's module of this name has as well."""
    return getattr(sys.modules[__package__], name)
