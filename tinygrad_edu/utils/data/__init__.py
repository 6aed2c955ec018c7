"""Data in batches: datasets, samplers and the loader (PyTorch: `torch.utils.data`)."""

from __future__ import annotations

from ...array.absent import answer
from .dataloader import DataLoader, default_collate, default_convert
from .dataset import Dataset, Subset, TensorDataset, random_split
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = ["BatchSampler", "DataLoader", "Dataset", "RandomSampler", "Sampler", "SequentialSampler", "Subset"]
__all__ += ["SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "default_convert"]
__all__ += ["random_split"]

__getattr__ = answer(__name__)
