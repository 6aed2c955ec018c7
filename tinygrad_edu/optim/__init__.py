"""Optimisers: how parameters follow their gradients (PyTorch: `torch.optim`). The line above an update is its formula."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import absent
from ..tensor import wrap
from . import lr_scheduler
from .optimizer import Optimizer, at_least_zero, check_rate, counted, no_steps, refuse, zeros_like

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
        check_rate(lr)
        at_least_zero(momentum=momentum, weight_decay=weight_decay)
        refuse(differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        settings = dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
            maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, settings)

    # b ← momentum·b + (1 - dampening)·g;  p ← p - lr·b
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["momentum"]:
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = wrap(grad.copy())
                buffer = state["momentum_buffer"]._data
            else:
                buffer = state["momentum_buffer"]._data
                buffer *= group["momentum"]
                buffer += (1 - group["dampening"]) * grad
            grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
        p -= float(group["lr"]) * grad


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
        check_rate(lr)
        at_least_zero(eps=eps, weight_decay=weight_decay)
        refuse(differentiable=differentiable, capturable=capturable)
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        settings = dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach,
            capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip
        super().__init__(params, settings)

    # m ← β₁·m + (1 - β₁)·g;  v ← β₂·v + (1 - β₂)·g²;  p ← p - lr·m̂/(√v̂ + eps), m̂ and v̂ freed of their start at 0
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        step = counted(state)
        lr, beta1, beta2 = map(float, (group["lr"], *group["betas"]))
        m, v = state["exp_avg"]._data, state["exp_avg_sq"]._data
        m += (grad - m) * (1 - beta1)
        v *= beta2
        v += (1 - beta2) * (grad * grad)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]._data
            v = np.maximum(largest, v, out=largest)
        root = np.sqrt(v)
        root /= math.sqrt(1 - beta2**step)
        root += group["eps"]
        p -= (lr / (1 - beta1**step)) * (m / root)


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
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
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
        capturable: bool = False,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        refuse(differentiable=differentiable, capturable=capturable)
        settings = dict(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
            capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, settings)

    # v ← α·v + (1 - α)·g²;  p ← p - lr·g/(√v + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), square_avg=zeros_like(p))
            if group["momentum"]:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)
        counted(state)
        alpha, v = group["alpha"], state["square_avg"]._data
        v *= alpha
        v += (1 - alpha) * (grad * grad)
        if group["centered"]:
            mean = state["grad_avg"]._data
            mean += (grad - mean) * (1 - alpha)
            root = np.sqrt(v - mean * mean)
        else:
            root = np.sqrt(v)
        move = grad / (root + group["eps"])
        if group["momentum"]:
            buffer = state["momentum_buffer"]._data
            buffer *= group["momentum"]
            buffer += move
            move = buffer
        p -= float(group["lr"]) * move


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
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        check_rate(lr)
        at_least_zero(lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)
        at_least_zero(initial_accumulator_value=initial_accumulator_value)
        refuse(differentiable=differentiable)
        settings = dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
            differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, settings)

    # v ← v + g²;  p ← p - lr·g/(√v + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), sum=wrap(np.full_like(p, group["initial_accumulator_value"])))
        step, total = counted(state), state["sum"]._data
        total += grad * grad
        lr = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        p -= lr * (grad / (np.sqrt(total) + group["eps"]))


def __getattr__(name: str) -> Any:
    raise AttributeError(
        absent.sentence(name)
        or f"tinygrad_edu.optim has no {name!r}. Write it as an Optimizer of your own, from one that is here."
    )
