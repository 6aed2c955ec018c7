"""`Adamax`. The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...optim.optimizer import Optimizer, checked, counted, no_steps, zeros_like

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adam with the largest recent gradient instead of the root mean square.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = checked(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, settings)

    # m ← β₁·m + (1 - β₁)·g;  u ← max(β₂·u, |g| + eps);  p ← p - lr/(1 - β₁ᵗ)·m/u
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), exp_avg=zeros_like(p), exp_inf=zeros_like(p))
        step, (beta1, beta2) = counted(state), map(float, group["betas"])
        m, u = state["exp_avg"]._data, state["exp_inf"]._data
        m += (grad - m) * (1 - beta1)
        np.maximum(u * beta2, np.abs(grad) + group["eps"], out=u)
        p -= (float(group["lr"]) / (1 - beta1**step)) * (m / u)
