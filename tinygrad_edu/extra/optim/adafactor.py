"""Adafactor (PyTorch: `torch.optim.Adafactor`). The comment above the update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...array.tensor import wrap
from ...optim.optimizer import Optimizer, check_size, counted, no_steps

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adam with squares stored only per row and column, and steps scaled by the parameter's size (Shazeer and Stern 2018).

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _own_decay = True

    _accepts_complex = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: Any = None,
        maximize: bool = False,
    ) -> None:
        check_size(lr)
        for wrong, message in (
            (not lr >= 0, f"Learning rate should be >= 0 but is: {lr}"),
            (not beta2_decay <= 0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is not None and not eps[0] >= 0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (not eps[1] >= 0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (not d >= 1, f"Clipping threshold d should be >= 1 but is: {d}"),
            (not weight_decay >= 0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if wrong:
                raise ValueError(message)
        settings = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, settings)

    # p ← p·(1 - lr·weight_decay);  V ← V + t^β·(g² - V), of which only row and column means are stored;
    # u = g/√V;  p ← p - max(eps₂, rms p)·min(lr, 1/√t)·u/max(1, rms u/d)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        matrix = grad.ndim > 1
        if not state:
            state["step"] = no_steps()
            if matrix:
                state["row_var"] = wrap(np.zeros((*grad.shape[:-1], 1), grad.dtype))
                state["col_var"] = wrap(np.zeros((*grad.shape[:-2], 1, grad.shape[-1]), grad.dtype))
            else:
                state["variance"] = wrap(np.zeros_like(grad))
        step, lr = counted(state), float(group["lr"])
        eps1, eps2 = group["eps"]
        eps1 = float(np.finfo(p.dtype).eps) if eps1 is None else eps1
        new = step ** group["beta2_decay"]
        size = max(eps2, float(np.linalg.norm(p)) / p.size**0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"]:
            p *= 1 - lr * group["weight_decay"]
        if matrix:
            row, col = state["row_var"]._data, state["col_var"]._data
            row += new * ((grad * grad).mean(-1, keepdims=True) - row)
            col += new * ((grad * grad).mean(-2, keepdims=True) - col)
            variance = row @ col / np.maximum(row.mean(-2, keepdims=True), eps1)
        else:
            variance = state["variance"]._data
            variance += new * (grad * grad - variance)
        update = grad / np.sqrt(np.maximum(variance, eps1 * eps1))
        p -= (size / max(1.0, float(np.linalg.norm(update)) / (update.size**0.5 * group["d"]))) * update
