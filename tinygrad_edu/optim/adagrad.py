"""Adagrad (PyTorch: `torch.optim.Adagrad`). The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..array.tensor import wrap
from .optimizer import Optimizer, checked, counted, no_steps

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all its past squares.

    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _elementwise = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        super().__init__(params, checked(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                p.dim()  # refused where its shape is still unknown: the sum has that shape
                self._begin(p._data, self.state[p], group)

    @staticmethod
    def _begin(p: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        start = group["initial_accumulator_value"]
        state.update(step=no_steps(), sum=wrap(np.full_like(p, start)))

    # v ← v + g²;  p ← p - lr·g/(√v + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            self._begin(p, state, group)
        step, total = counted(state), state["sum"]._data
        total += grad * grad
        lr = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        p -= lr * (grad / (np.sqrt(total) + group["eps"]))
