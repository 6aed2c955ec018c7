"""`RAdam`. The comment above the update is its formula."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...optim.optimizer import Optimizer, checked, counted, no_steps, zeros_like

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """Adam that uses its mean of squares only once enough gradients have gone into it.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = checked(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, settings)

    # ρ = ρ∞ - 2·t·β₂ᵗ/(1 - β₂ᵗ);  p ← p - lr·m̂·r/√v̂ where ρ > 5, else p ← p - lr·m̂
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        step, (beta1, beta2) = counted(state), map(float, group["betas"])
        m, v = state["exp_avg"]._data, state["exp_avg_sq"]._data
        m += (grad - m) * (1 - beta1)
        v *= beta2
        v += (1 - beta2) * (grad * grad)
        correction = 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / correction
        move = m / (1 - beta1**step) * float(group["lr"])
        if length > 5:
            rectified = math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
            move = move * (math.sqrt(correction) / (np.sqrt(v) + group["eps"])) * rectified
        p -= move
