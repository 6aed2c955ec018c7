"""RMSprop (PyTorch: `torch.optim.RMSprop`). The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .optimizer import Optimizer, checked, counted, no_steps, zeros_like

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """Divides the gradient by the root of a running mean of its square.

    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.RMSprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([5.9605e-08], requires_grad=True)
    """

    _elementwise = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not alpha >= 0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        super().__init__(params, checked(locals()))

    # v ← α·v + (1 - α)·g²;  p ← p - lr·g/(√v + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), square_avg=zeros_like(p))
            if group["momentum"]:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)
        counted(state)
        alpha, v = group["alpha"], state["square_avg"]._data
        v *= alpha
        v += (1 - alpha) * (grad * grad)
        if group["centered"]:
            mean = state["grad_avg"]._data
            mean += (grad - mean) * (1 - alpha)
            root = np.sqrt(v - mean * mean)
        else:
            root = np.sqrt(v)
        move = grad / (root + group["eps"])
        if group["momentum"]:
            buffer = state["momentum_buffer"]._data
            buffer *= group["momentum"]
            buffer += move
            move = buffer
        p -= float(group["lr"]) * move
