"""Learning rates that change from epoch to epoch (PyTorch: `torch.optim.lr_scheduler`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .optimizer import Optimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR",
    "MultiStepLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip


class LRScheduler:
    """The base: subclasses write `_rate(epoch, base, number)`, a group's learning rate after so many steps."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def _rate(self, epoch: int, base: float, number: int) -> float:
        raise NotImplementedError

    def step(self) -> None:
        """Go on by one epoch: called after the optimiser's own step."""
        self.last_epoch += 1
        self._apply()

    def _apply(self) -> None:
        groups = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        for number, (group, base) in enumerate(groups):
            group["lr"] = self._rate(self.last_epoch, base, number)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All but the optimiser and functions."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas", "_schedulers")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.__dict__.update(state_dict)


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times `gamma` at each of the given epochs."""

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        return base * self.gamma ** sum(epoch >= m for m in self.milestones)


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        return base * self.gamma**epoch


class CosineAnnealingLR(LRScheduler):
    """Half a wave of the cosine, from the first rate to `eta_min` in `T_max` epochs, and back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LambdaLR(LRScheduler):
    """The first rate times what a function of the epoch gives; one function, or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        n = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * n
        )
        if len(self.lr_lambdas) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        return base * self.lr_lambdas[number](epoch)


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` epochs."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        return base * (self.factor if epoch < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """Times a factor that goes along a line from `start_factor` to `end_factor` in `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        share = min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


class PolynomialLR(LRScheduler):
    """Down to 0 in `total_iters` epochs, along a power of what is left of them."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        return base * (1 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a wave of the cosine, begun again after `T_0` epochs, each wave `T_mult` times as long as the one before."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or T_mult < 1:
            raise ValueError(f"Expected positive integer T_0 and T_mult >= 1, but got {T_0} and {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def _rate(self, epoch: int, base: float, number: int) -> float:
        length = self.T_0
        while epoch >= length:
            epoch -= length
            length *= self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / length)) / 2


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and far down again in `total_steps` steps; the momentum goes the other way.

    Raises:
        ValueError: neither `total_steps` nor `epochs` and `steps_per_epoch` are given; a step beyond the last.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(
                    "You must define either total_steps OR (epochs AND steps_per_epoch): how many steps there will be."
                )
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps, self.anneal_strategy, self.cycle_momentum = total_steps, anneal_strategy, cycle_momentum
        peaks = max_lr if isinstance(max_lr, list | tuple) else [max_lr] * len(optimizer.param_groups)
        self._low_high = [(peak / div_factor, peak, peak / div_factor / final_div_factor) for peak in peaks]
        self._momenta = (max_momentum, base_momentum, max_momentum)
        up = pct_start * total_steps - 1
        # Where each phase ends, and between which of the three values it goes.
        if three_phase:
            self._phases = [(up, 0, 1), (2 * up, 1, 0), (total_steps - 1, 0, 2)]
        else:
            self._phases = [(up, 0, 1), (total_steps - 1, 1, 2)]
        for group, (low, _, _) in zip(optimizer.param_groups, self._low_high, strict=True):
            group["initial_lr"] = low
        super().__init__(optimizer, last_epoch)

    def _between(self, epoch: int, values: tuple[float, float, float]) -> float:
        which = sum(epoch > end for end, _, _ in self._phases[:-1])
        begin = self._phases[which - 1][0] if which else 0.0
        end, start, stop = self._phases[which]
        share = (epoch - begin) / (end - begin)
        if self.anneal_strategy == "linear":
            return values[start] + (values[stop] - values[start]) * share
        return values[stop] + (values[start] - values[stop]) / 2 * (1 + math.cos(math.pi * share))

    def _rate(self, epoch: int, base: float, number: int) -> float:
        if epoch > self.total_steps:
            raise ValueError(f"Tried to step {epoch} times. The specified number of total steps is {self.total_steps}")
        if self.cycle_momentum:
            group = self.optimizer.param_groups[number]
            momentum = self._between(epoch, self._momenta)
            if "betas" in group:
                group["betas"] = (momentum, *group["betas"][1:])
            else:
                group["momentum"] = momentum
        return self._between(epoch, self._low_high[number])


class SequentialLR(LRScheduler):
    """Schedulers one after the other: each begins at its milestone."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = last_epoch + 1
        # Each has set its own first rate as it was made; the first of them holds.
        for scheduler in schedulers:
            scheduler.last_epoch = 0
        schedulers[0]._apply()
        self._last_lr = schedulers[0]._last_lr

    def step(self) -> None:
        self.last_epoch += 1
        which = sum(self.last_epoch >= m for m in self._milestones)
        scheduler = self._schedulers[which]
        if which and self.last_epoch == self._milestones[which - 1]:
            scheduler.last_epoch = 0
            scheduler._apply()
        else:
            scheduler.step()
        self._last_lr = scheduler._last_lr


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when what is measured has not become better for more than `patience` epochs.

    Example:
        >>> import tinygrad_edu as T
        >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        n = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * n
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = self.last_epoch = 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def _is_better(self, value: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = sign * self.threshold
        bound = self.best * (1 + margin) if self.threshold_mode == "rel" else self.best + margin
        return value > bound if self.mode == "max" else value < bound

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Go on by one epoch, in which `metrics` was measured."""
        self.last_epoch += 1
        if self._is_better(float(metrics)):
            self.best, self.num_bad_epochs = float(metrics), 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                rate = max(group["lr"] * self.factor, least)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]
