"""Adam (PyTorch: `torch.optim.Adam`). The comment above the update is its formula."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .optimizer import Optimizer, averaged, checked, counted, no_steps, zeros_like

__all__ = ["Adam"]


class Adam(Optimizer):
    """Divides a running mean of the gradients by the root of that of their squares: steps have about the size of lr.

    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _elementwise = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: Any = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    # m ← β₁·m + (1 - β₁)·g;  v ← β₂·v + (1 - β₂)·g²;  p ← p - lr·m̂/(√v̂ + eps), m̂ and v̂ corrected for starting at 0
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        step = counted(state)
        lr, beta1, beta2 = map(float, (group["lr"], *group["betas"]))
        m, v = state["exp_avg"]._data, state["exp_avg_sq"]._data
        averaged(m, grad, 1 - beta1)
        v *= beta2
        v += (1 - beta2) * (grad * grad)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]._data
            v = np.maximum(largest, v, out=largest)
        root = np.sqrt(v)
        root /= math.sqrt(1 - beta2**step)
        root += group["eps"]
        p -= (lr / (1 - beta1**step)) * (m / root)
