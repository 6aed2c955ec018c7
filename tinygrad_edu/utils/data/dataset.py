"""Datasets: they have a length, and return a sample for each index."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ...array.absent import answer
from ...array.tensor import Tensor
from ...ops.creation import random

__all__ = ["Dataset", "Subset", "TensorDataset", "random_split"]

__getattr__ = answer(__name__)


class Dataset:
    """The base class. Subclasses define `__getitem__(index)` and `__len__`.

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


class TensorDataset(Dataset):
    """Tensors of equal length. A sample is the tuple of their slices along the first dimension.

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


class Subset(Dataset):
    """The samples of a dataset at the given indices.

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

    >>> [len(part) for part in T.utils.data.random_split(range(10), [7, 3])]
    [7, 3]
    """
    sizes: list[Any] = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        sizes = [math.floor(len(dataset) * fraction) for fraction in sizes]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
    if sum(sizes) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = random.randperm(sum(sizes), generator=generator).tolist()
    return [
        Subset(dataset, order[end - size : end]) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)
    ]
