"""`NAdam`. The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...optim.optimizer import Optimizer, checked, counted, no_steps, number, zeros_like

__all__ = ["NAdam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum: it looks one gradient ahead.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item() < 1
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = checked(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, settings)

    # μₜ = β₁·(1 - ½·0.96^(t·ψ));  p ← p - lr·((1 - μₜ)/(1 - Πμ)·g + μₜ₊₁/(1 - Πμ·μₜ₊₁)·m)/(√v̂ + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), mu_product=number(1), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        step, (beta1, beta2) = counted(state), map(float, group["betas"])
        now, ahead = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        state["mu_product"]._data *= now
        product = float(state["mu_product"]._data)
        m, v = state["exp_avg"]._data, state["exp_avg_sq"]._data
        m += (grad - m) * (1 - beta1)
        v *= beta2
        v += (1 - beta2) * (grad * grad)
        root = np.sqrt(v / (1 - beta2**step)) + group["eps"]
        lr = float(group["lr"])
        p -= (lr * (1 - now) / (1 - product)) * (grad / root)
        p -= (lr * ahead / (1 - product * ahead)) * (m / root)
