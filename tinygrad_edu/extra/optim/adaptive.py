"""Gradient descent that fits its rates to the gradients, in many ways. The comment above an update is its formula."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...array.tensor import wrap
from ...optim.optimizer import Optimizer, averaged, checked, counted, no_steps, number, zeros_like

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]


class Adadelta(Optimizer):
    """Divides the gradient by its root mean square, and multiplies it by the root mean square of the past steps.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Adadelta([w], lr=1.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item() < 1
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: Any = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        settings = checked(
            lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
            foreach=foreach, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, settings)

    # v ← ρ·v + (1 - ρ)·g²;  d = g·√(u + eps)/√(v + eps);  u ← ρ·u + (1 - ρ)·d²;  p ← p - lr·d
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), square_avg=zeros_like(p), acc_delta=zeros_like(p))
        counted(state)
        rho, eps = group["rho"], group["eps"]
        v, u = state["square_avg"]._data, state["acc_delta"]._data
        v *= rho
        v += (1 - rho) * (grad * grad)
        delta = np.sqrt(u + eps) / np.sqrt(v + eps) * grad
        u *= rho
        u += (1 - rho) * (delta * delta)
        p -= float(group["lr"]) * delta


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all its past squares.

    >>> import tinygrad_edu as T
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
        settings = checked(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
            differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, settings)
        for group in self.param_groups:
            for p in group["params"]:
                p.dim()  # refused where its shape is still unknown: the sum has that shape
                self._begin(p._data, self.state[p], group)

    @staticmethod
    def _begin(p: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        start = group["initial_accumulator_value"] * (1 + 1j if p.dtype.kind == "c" else 1)  # each part has its own sum
        state.update(step=no_steps(), sum=wrap(np.full_like(p, start)))

    # v ← v + g²;  p ← p - lr·g/(√v + eps)
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            self._begin(p, state, group)
        step, total = counted(state), state["sum"]._data
        total += grad * grad
        lr = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        p -= lr * (grad / (np.sqrt(total) + group["eps"]))


class Adamax(Optimizer):
    """Adam with the largest recent gradient instead of the root mean square.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = checked(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, settings)

    # m ← β₁·m + (1 - β₁)·g;  u ← max(β₂·u, |g| + eps);  p ← p - lr/(1 - β₁ᵗ)·m/u
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), exp_avg=zeros_like(p), exp_inf=zeros_like(p))
        step, (beta1, beta2) = counted(state), map(float, group["betas"])
        m, u = state["exp_avg"]._data, state["exp_inf"]._data
        averaged(m, grad, 1 - beta1)
        np.maximum(u * beta2, np.abs(grad) + group["eps"], out=u)
        p -= (float(group["lr"]) / (1 - beta1**step)) * (m / u)


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
        state["eta"]._data[...] = number(lr / (1 + lambd * lr * step) ** group["alpha"])._data
        state["mu"]._data[...] = number(1 / max(1, step - group["t0"]))._data


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
        averaged(m, grad, 1 - beta1)
        v *= beta2
        v += (1 - beta2) * (grad * grad)
        root = np.sqrt(v / (1 - beta2**step)) + group["eps"]
        lr = float(group["lr"])
        p -= (lr * (1 - now) / (1 - product)) * (grad / root)
        p -= (lr * ahead / (1 - product * ahead)) * (m / root)


class RAdam(Optimizer):
    """Adam that uses its mean of squares only once enough gradients have gone into it.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = checked(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, settings)

    # ρ = ρ∞ - 2·t·β₂ᵗ/(1 - β₂ᵗ);  p ← p - lr·m̂·r/√v̂ where ρ > 5, else p ← p - lr·m̂
    def _update(self, p: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state.update(step=no_steps(), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        step, (beta1, beta2) = counted(state), map(float, group["betas"])
        m, v = state["exp_avg"]._data, state["exp_avg_sq"]._data
        averaged(m, grad, 1 - beta1)
        v *= beta2
        v += (1 - beta2) * (grad * grad)
        correction = 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / correction
        move = m / (1 - beta1**step) * float(group["lr"])
        if length > 5:
            rectified = math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
            move = move * (math.sqrt(correction) / (np.sqrt(v) + group["eps"])) * rectified
        p -= move


class RMSprop(Optimizer):
    """Divides the gradient by the root of a running mean of its square.

    >>> import tinygrad_edu as T
    >>> w = T.tensor([1.0], requires_grad=True)
    >>> optimizer = T.optim.RMSprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([5.9605e-08], requires_grad=True)
    """

    _elementwise = True

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
        if not alpha >= 0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        settings = checked(
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
        p -= np.where(np.isnan(grad), 0, np.sign(grad)) * size  # as in `sign`: nan has none
        previous[...] = grad
