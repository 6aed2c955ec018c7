"""Gradient descent with momentum (PyTorch: `torch.optim.SGD`). The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..array.tensor import wrap
from .optimizer import Optimizer, checked

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent, with optional momentum.

    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, checked(locals()))

    # b ← momentum·b + (1 - dampening)·g;  p ← p - lr·b
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["momentum"]:
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = wrap(grad.astype(p.dtype))
                buffer = state["momentum_buffer"]._data
            else:
                buffer = state["momentum_buffer"]._data
                buffer *= group["momentum"]
                buffer += (1 - group["dampening"]) * grad
            grad = (grad + group["momentum"] * buffer).astype(p.dtype, copy=False) if group["nesterov"] else buffer
        p -= float(group["lr"]) * grad
