"""Data in batches: datasets, samplers and the loader (PyTorch: `torch.utils.data`)."""

from __future__ import annotations

from ...seam.later import later, names_of
from .dataloader import DataLoader, default_collate, default_convert
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler",
    "Sampler", "SequentialSampler", "Subset", "TensorDataset", "WorkerInfo", "default_collate", "default_convert",
    "get_worker_info", "random_split", *names_of("utils.data"),
]  # fmt: skip

__getattr__ = later(__name__, "Write it as a custom Dataset or Sampler.")
