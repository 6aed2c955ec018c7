"""Helpers to write distributions: broadcasting parameters, probabilities and logits (PyTorch: `distributions.utils`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...autograd.grad_mode import enable_grad
from ...ops import functions as F
from ...ops import nn_functions
from ...ops.creation import random
from .distribution import together

__all__ = ["broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits"]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> Any:
    """Broadcast to one shape; numbers become tensors in the dtype of the others.

    Raises:
        ValueError: a value is neither a tensor nor a number.
    """
    if not all(isinstance(v, Tensor | int | float) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    return tuple(together(*values))


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to exclude 0 and 1."""
    eps = float(np.finfo(probs._data.dtype).eps)
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """ln p, or ln p - ln(1 - p) if `is_binary`."""
    bounded = clamp_probs(probs)
    return bounded.log() - (-bounded).log1p() if is_binary else bounded.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The softmax along the last dimension, or the sigmoid if `is_binary`."""
    return F["sigmoid"](logits) if is_binary else nn_functions["softmax"](logits, -1)


def _standard_normal(shape: Any, dtype: Any, device: Any = None) -> Tensor:
    return wrap(random.source(None).normal(tuple(shape), dtype.numpy))


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[: value.ndim - dim], -1)).sum(-1)


class lazy_property:
    """A property that is computed once, in the graph, and then stored as an attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value
