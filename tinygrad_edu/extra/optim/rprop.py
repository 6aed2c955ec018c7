"""`Rprop`. The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...array.tensor import wrap
from ...optim.optimizer import Optimizer, checked, counted, no_steps, zeros_like

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Uses only the sign of the gradient: steps grow while the sign stays the same, and shrink when it changes.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        settings = checked(
            lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, settings)

    # s ← s·η⁺ where g·g′ > 0, s·η⁻ where g·g′ < 0 (and g ← 0 there), within bounds;  p ← p - s·sign(g)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), prev=zeros_like(p), step_size=wrap(np.full_like(grad, float(group["lr"]))))
        counted(state)
        shorter, longer = group["etas"]
        previous, size = state["prev"]._data, state["step_size"]._data
        agreement = grad * previous
        size *= np.where(agreement > 0, longer, np.where(agreement < 0, shorter, 1)).astype(size.dtype)
        np.clip(size, *group["step_sizes"], out=size)
        grad = np.where(agreement < 0, 0, grad)
        p -= np.sign(grad) * size
        previous[...] = grad
