"""AdamW (PyTorch: `torch.optim.AdamW`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay: it shrinks the weights directly, not through the gradients.

    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8500], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **settings, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # whatever saved them
            group["decoupled_weight_decay"] = True
