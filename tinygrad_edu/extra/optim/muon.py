"""`Muon`. The comment above the update is its formula."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...optim.optimizer import Optimizer, check_size, checked, zeros_like

__all__ = ["Muon"]


class Muon(Optimizer):
    """Momentum, replaced by a nearby matrix with almost orthonormal rows. Only for matrices.

    Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024), https://kellerjordan.github.io/posts/muon.

    >>> import tinygrad_edu as T
    >>> w = T.eye(2).requires_grad_()
    >>> optimizer = T.optim.Muon([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.trace().item() < 2
    True
    """

    _own_decay = True

    _accepts_complex = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_size(lr)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        settings = checked(
            lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients, eps=eps,
            ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn,
        )  # fmt: skip
        super().__init__(params, settings)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}"
                    )

    # m ← m + (1 - μ)·(g - m);  p ← (1 - lr·λ)·p - lr·√max(1, rows/columns)·orthogonal(g + μ·(m - g))
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["momentum_buffer"] = zeros_like(p)
        m, mu, lr = state["momentum_buffer"]._data, group["momentum"], float(group["lr"])
        m += (grad - m) * p.dtype.type(1 - mu)
        # As in `lerp`: interpolate from the nearer end.
        update = (
            (m - (m - grad) * p.dtype.type(1 - mu) if mu >= 0.5 else grad + (m - grad) * mu) if group["nesterov"] else m
        )
        update = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        matched = group["adjust_lr_fn"] == "match_rms_adamw"
        rate = lr * (0.2 * math.sqrt(max(rows, columns)) if matched else math.sqrt(max(1, rows / columns)))
        p *= 1 - lr * group["weight_decay"]
        p -= update.astype(p.dtype) * p.dtype.type(rate)


def orthogonalized(grad: np.ndarray, coefficients: tuple[float, float, float], steps: int, eps: float) -> np.ndarray:
    """`grad` with its singular values moved close to 1, by Newton-Schulz iterations, rounded to bfloat16 after each."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = (np.float32(x) for x in coefficients)
    x = _rounded(grad.astype(np.float32))
    if grad.shape[0] > grad.shape[1]:
        x = x.T
    norm = _rounded(np.sqrt(np.sum(x * x, dtype=np.float32)))
    x = _rounded(x / np.maximum(norm, _rounded(np.float32(eps))))
    for _ in range(steps):
        gram = _rounded(x @ x.T)
        turned = _rounded(b * gram + c * (gram @ gram))
        x = _rounded(a * x + turned @ x)
    return x.T if grad.shape[0] > grad.shape[1] else x


def _rounded(value: Any) -> Any:
    """Round float32 numbers to the 8 significant bits of bfloat16, ties to even."""
    bits = np.asarray(value, np.float32).view(np.uint32)
    kept = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(value), value, kept.view(np.float32))
