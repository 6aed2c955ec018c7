"""Optimisers: how parameters follow their gradients (PyTorch: `torch.optim`). The line above an update is its formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import absent
from . import lr_scheduler
from .optimizer import Optimizer, at_least_zero, refuse

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for.

    Example:
        >>> import tinygrad_edu as T
        >>> w = T.tensor([1.0], requires_grad=True)
        >>> optimizer = T.optim.SGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        at_least_zero(lr=lr, momentum=momentum, weight_decay=weight_decay)
        refuse(differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        settings = {"dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize}
        super().__init__(params, {"lr": lr, "momentum": momentum, **settings})

    # b ← momentum·b + (1 - dampening)·g;  p ← p - lr·b
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["momentum"]:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.copy()
            else:
                buffer *= group["momentum"]
                buffer += (1 - group["dampening"]) * grad
            grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
        p -= group["lr"] * grad


class Adam(Optimizer):
    """Steps of about one learning rate each: the mean of the gradients over the root of the mean of their squares."""

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
        at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        refuse(differentiable=differentiable, capturable=capturable)
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        settings = {"eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize}
        decoupled = {"decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, {"lr": lr, "betas": tuple(betas), **settings, **decoupled})

    # m ← β₁·m + (1 - β₁)·g;  v ← β₂·v + (1 - β₂)·g²;  p ← p - lr·m̂/(√v̂ + eps), m̂ and v̂ freed of their start at 0
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=0, exp_avg=np.zeros_like(p), exp_avg_sq=np.zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = np.zeros_like(p)
        state["step"] += 1
        lr, (beta1, beta2) = group["lr"], group["betas"]
        m, v = state["exp_avg"], state["exp_avg_sq"]
        m += (grad - m) * (1 - beta1)
        v *= beta2
        v += (1 - beta2) * (grad * grad)
        if group["amsgrad"]:
            v = np.maximum(state["max_exp_avg_sq"], v, out=state["max_exp_avg_sq"])
        root = np.sqrt(v)
        root /= float(np.sqrt(1 - beta2 ** state["step"]))
        root += group["eps"]
        p -= (lr / (1 - beta1 ** state["step"])) * (m / root)


class AdamW(Adam):
    """Adam with a weight decay that acts on the weights alone, not through the gradients."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, capturable=capturable,
            differentiable=differentiable, decoupled_weight_decay=True,
        )  # fmt: skip


class RMSprop(Optimizer):
    """The gradient over the root of the running mean of its square."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        maximize: bool = False,
        **settings: Any,
    ) -> None:
        at_least_zero(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, {"lr": lr, "momentum": momentum, **defaults})

    # v ← α·v + (1 - α)·g²;  p ← p - lr·g/(√v + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=0, square_avg=np.zeros_like(p))
        state["step"] += 1
        alpha, v = group["alpha"], state["square_avg"]
        v *= alpha
        v += (1 - alpha) * (grad * grad)
        if group["centered"]:
            mean = state.setdefault("grad_avg", np.zeros_like(p))
            mean += (grad - mean) * (1 - alpha)
            root = np.sqrt(v - mean * mean)
        else:
            root = np.sqrt(v)
        move = grad / (root + group["eps"])
        if group["momentum"]:
            buffer = state.setdefault("momentum_buffer", np.zeros_like(p))
            buffer *= group["momentum"]
            buffer += move
            move = buffer
        p -= group["lr"] * move


class Adagrad(Optimizer):
    """The gradient over the root of the sum of all its squares so far."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        **settings: Any,
    ) -> None:
        at_least_zero(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)
        at_least_zero(initial_accumulator_value=initial_accumulator_value)
        defaults = {"lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, {"lr": lr, "initial_accumulator_value": initial_accumulator_value, **defaults})

    # v ← v + g²;  p ← p - lr·g/(√v + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=0, sum=np.full_like(p, group["initial_accumulator_value"]))
        state["step"] += 1
        state["sum"] += grad * grad
        lr = group["lr"] / (1 + (state["step"] - 1) * group["lr_decay"])
        p -= lr * (grad / (np.sqrt(state["sum"]) + group["eps"]))


def __getattr__(name: str) -> Any:
    raise AttributeError(
        absent.sentence(name)
        or f"tinygrad_edu.optim has no {name!r}. Write it as an Optimizer of your own, from one that is here."
    )
