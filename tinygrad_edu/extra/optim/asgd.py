"""`ASGD`. The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...optim.optimizer import Optimizer, checked, counted, no_steps, number, zeros_like

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """Averaged gradient descent: it also keeps the mean of the parameters so far, in `state[p]["ax"]`.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = checked(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, settings)

    # p ← (1 - λ·η)·p - η·g;  ax ← ax + μ·(p - ax);  η ← lr/(1 + λ·lr·t)^α;  μ ← 1/max(1, t - t₀)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, lambd = float(group["lr"]), group["lambd"]
        if not state:
            state.update(step=no_steps(), eta=number(lr), mu=number(1), ax=zeros_like(p))
        step, eta, mu = counted(state), float(state["eta"]._data), float(state["mu"]._data)
        p *= 1 - lambd * eta
        p -= eta * grad
        mean = state["ax"]._data
        mean[...] = mean + (p - mean) * mu if mu != 1 else p
        state["eta"]._data[...] = lr / (1 + lambd * lr * step) ** group["alpha"]
        state["mu"]._data[...] = 1 / max(1, step - group["t0"])
