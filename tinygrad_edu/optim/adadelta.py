"""Adadelta (PyTorch: `torch.optim.Adadelta`). The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .optimizer import Optimizer, checked, counted, no_steps, zeros_like

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Divides the gradient by its root mean square, and multiplies it by the root mean square of the past steps.

    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Adadelta([w], lr=1.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item() < 1
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: Any = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, checked(locals()))

    # v ← ρ·v + (1 - ρ)·g²;  d = g·√(u + eps)/√(v + eps);  u ← ρ·u + (1 - ρ)·d²;  p ← p - lr·d
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), square_avg=zeros_like(p), acc_delta=zeros_like(p))
        counted(state)
        rho, eps = group["rho"], group["eps"]
        v, u = state["square_avg"]._data, state["acc_delta"]._data
        v *= rho
        v += (1 - rho) * (grad * grad)
        delta = np.sqrt(u + eps) / np.sqrt(v + eps) * grad
        u *= rho
        u += (1 - rho) * (delta * delta)
        p -= float(group["lr"]) * delta
