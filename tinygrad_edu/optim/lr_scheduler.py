"""Learning rate schedulers: they change the rates from epoch to epoch (PyTorch: `torch.optim.lr_scheduler`)."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..array.absent import answer
from .optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR"]
__all__ += ["ReduceLROnPlateau", "SequentialLR", "StepLR"]


class LRScheduler:
    """The base class. Subclasses define `get_lr()`, which returns each group's rate for the epoch `self.last_epoch`.

    `self.base_lrs` holds the initial rates of the groups.

    >>> class Warmup(T.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base * min(1.0, (self.last_epoch + 1) / 4) for base in self.base_lrs]
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> Warmup(optimizer).get_last_lr()
    [0.25]
    """

    # True while the constructor sets the rates for the first time.
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0. Load the optimizer's state first."
                )
        self.base_lrs = [_own(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rate of each group for the epoch `self.last_epoch`, from `base_lrs` or from the current rates."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[Any]:
        """The same from `base_lrs` alone, for a jump to an epoch."""
        return self.get_lr()

    def step(self, epoch: int | None = None) -> None:
        """Advance by one epoch. Call it after the optimizer's own step."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                "otherwise the first value of the learning rate schedule is skipped.",
                stacklevel=2,
            )
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = self.get_lr() if epoch is None else self._get_closed_form_lr()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        return [_own(group["lr"]) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Any]:
        """The current learning rate of each group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """The scheduler's attributes, without the optimizer and functions."""
        saved = {k: v for k, v in self.__dict__.items() if k != "optimizer"}
        return saved | ({"lr_lambdas": [None] * len(saved["lr_lambdas"])} if "lr_lambdas" in saved else {})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a saved state."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})


_LRScheduler = LRScheduler  # its name until PyTorch 2.0


def _check(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _own(rate: Any) -> Any:
    """A rate that no write to another one changes: it may be a tensor."""
    return rate.clone() if hasattr(rate, "clone") else rate


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Set the rate of a group. One that is a tensor is written to, so that all who hold it see it."""
    if hasattr(group["lr"], "fill_"):
        group["lr"].fill_(float(rate))
    else:
        group["lr"] = rate


def _for_each_group(name: str, given: Any, optimizer: Optimizer) -> list[Any]:
    """One value per group, from a list or from a single value."""
    n = len(optimizer.param_groups)
    values = [_own(x) for x in (given if isinstance(given, list | tuple) else [given] * n)]
    if len(values) != n:
        raise ValueError(f"Expected {n} {name}, but got {len(values)}")
    return values


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by `factor` when a metric has not improved for more than `patience` epochs.

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
        _check(optimizer)
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = _for_each_group("min_lrs", min_lr, optimizer)
        self.best = math.inf if mode == "min" else -math.inf
        self.last_epoch = self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = sign * self.threshold
        bound = best * (1 + margin) if self.threshold_mode == "rel" else best + margin
        return a > bound if self.mode == "max" else a < bound

    def _reduce_lr(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                set_rate(group, rate)

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Advance by one epoch, with the `metrics` measured in it."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(float(metrics), self.best):
            self.best, self.num_bad_epochs = float(metrics), 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()


class _ByFactors(LRScheduler):
    """Multiplies the current rates by `_factor(epoch, …)` each epoch, so that several schedulers can be combined."""

    def _factor(self, epoch: int, first: bool) -> float:
        """`first` is True for the rates that are set as the scheduler is made."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        factor = self._factor(self.last_epoch, self._is_initial)
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = math.prod(self._factor(epoch, epoch == 0) for epoch in range(self.last_epoch + 1))
        return [base * factor for base in self.base_lrs]


class StepLR(_ByFactors):
    """Multiplies the rates by `gamma` every `step_size` epochs.

    >>> optimizer = T.optim.SGD([T.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = T.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.1]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        return self.gamma if epoch and epoch % self.step_size == 0 else 1.0


class MultiStepLR(_ByFactors):
    """Multiplies the rates by `gamma` at each of the given epochs."""

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        return self.gamma ** self.milestones[epoch]


class ExponentialLR(_ByFactors):
    """Multiplies the rates by `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        return 1.0 if first else self.gamma


class LinearLR(_ByFactors):
    """Multiplies the first rates by a factor from `start_factor` to `end_factor`, linearly in `total_iters` epochs."""

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
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        if epoch == 0:
            return self.start_factor
        if first or epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)


class LambdaLR(LRScheduler):
    """Multiplies the initial rates by a function of the epoch: one function for all groups, or one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Callable[[int], float]] = _for_each_group("lr_lambdas", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class CosineAnnealingLR(LRScheduler):
    """Follows half a cosine wave from the initial rates to `eta_min` in `T_max` epochs, and then back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._rates()
        epoch, low = self.last_epoch, self.eta_min
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the lowest point the rate cannot be computed by multiplication.
            rise = 1 - self._height(1)
            return [rate + (base - low) * rise for rate, base in zip(self._rates(), self.base_lrs, strict=True)]
        factor = self._height(epoch) / self._height(epoch - 1)
        return [low + factor * (rate - low) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) for base in self.base_lrs]


class SequentialLR(LRScheduler):
    """Runs schedulers one after the other. Each starts at its milestone.

    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> S = T.optim.lr_scheduler
    >>> parts = [S.LinearLR(optimizer, 0.1, total_iters=2), S.ExponentialLR(optimizer, 0.5)]
    >>> S.SequentialLR(optimizer, parts, milestones=[2]).get_last_lr()
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1 or len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("SequentialLR expects all schedulers to belong to the same optimizer.")
        self.optimizer, self._schedulers = optimizer, schedulers
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        # Each scheduler set initial rates in its constructor. Undo that; the one that starts then sets its own.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[which]
        if which and self._milestones[which - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


__getattr__ = answer(__name__)
