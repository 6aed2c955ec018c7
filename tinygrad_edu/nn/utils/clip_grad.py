"""Gradient clipping (PyTorch: `torch.nn.utils.clip_grad`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...modes import quiet

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters: Any) -> list[Tensor]:
    every = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p._grad for p in every if p._grad is not None]


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """Scale all gradients so that their total norm is at most `max_norm`. Returns the norm before scaling.

    Raises:
        RuntimeError: the norm is not finite, and `error_if_nonfinite` is True.

    >>> w = T.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> T.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)  # iterated twice
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def _norm(vector: np.ndarray, p: float) -> Any:
    if p == 2 and vector.dtype.kind == "f":
        return np.sqrt(vector.dot(vector))  # NumPy's own asks for five times as long what it was given
    return np.linalg.norm(vector, p)


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """The total norm of all tensors, as if they were one vector.

    >>> T.nn.utils.get_total_norm([T.tensor([3.0]), T.tensor([4.0])])
    tensor(5.)
    """
    every = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)  # it may be the string "inf"
    norms = np.array([_norm(t._data.reshape(-1), norm_type) for t in every] or [np.float64(0)])
    total = norms.max() if norm_type == math.inf else np.linalg.norm(norms, norm_type)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return wrap(np.asarray(total, every[0].value.dtype if every else np.float32))


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: Any = None) -> None:
    """Scale all gradients by `max_norm` / `total_norm`, if that is less than 1.

    >>> w = T.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> T.nn.utils.clip_grads_with_norm_([w], 1.0, T.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    factor = max_norm / (float(total_norm._data) + 1e-6)
    for g in _gradients(parameters):
        if not factor >= 1:
            quiet(np.multiply, g._data, g.value.dtype.type(factor), out=g._data)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Clamp each element of the gradients to ±`clip_value`.

    >>> w = T.tensor([3.0, 0.2], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> T.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([1.0000, 0.4000])
    """
    for g in _gradients(parameters):
        np.clip(g._data, -clip_value, clip_value, out=g._data)
