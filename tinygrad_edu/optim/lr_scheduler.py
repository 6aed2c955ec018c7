"""Learning rate schedulers: they change the rates from epoch to epoch (PyTorch: `torch.optim.lr_scheduler`)."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..seam.later import later, names_of
from .optimizer import Optimizer

__all__ = ["LRScheduler", "ReduceLROnPlateau", *names_of("optim.lr_scheduler")]

_EPOCH_IS_COUNTED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated. Call step() without it."
)


class LRScheduler:
    """The base class. Subclasses define `get_lr()`, which returns the rate of each group for the epoch `self.last_epoch`.

    `self.base_lrs` holds the initial rates of the groups.

    Example:
        >>> import tinygrad_edu as T
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
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0. "
                    "Load the optimizer's state first."
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
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: otherwise the "
                "first value of the learning rate schedule is skipped.",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(_EPOCH_IS_COUNTED, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        rates = self.get_lr() if epoch is None else self._get_closed_form_lr()
        self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._rates()

    def _warn_outside_step(self) -> None:
        if not self.__dict__.get("_get_lr_called_within_step"):
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", stacklevel=3
            )

    def _rates(self) -> list[Any]:
        return [_own(group["lr"]) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Any]:
        """The current learning rate of each group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """The scheduler's attributes, without the optimizer and functions."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}

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
        _check(optimizer)
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        several = isinstance(min_lr, list | tuple)
        if several and len(min_lr) != len(optimizer.param_groups):
            raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if several else min_lr
        self.min_lrs = _for_each_group("min_lrs", min_lr, optimizer)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = self._rates()
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """True in the epochs after a reduction in which bad epochs are not counted."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = sign * self.threshold
        bound = best * (1 + margin) if self.threshold_mode == "rel" else best + margin
        return a > bound if self.mode == "max" else a < bound

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when `ReduceLROnPlateau` was "
                    f"initialized ({len(self.min_lrs)}). Set `min_lrs` to one for each group."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                set_rate(group, rate)

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Advance by one epoch, with the `metrics` measured in it."""
        if epoch is not None:
            warnings.warn(_EPOCH_IS_COUNTED, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(float(metrics), self.best):
            self.best, self.num_bad_epochs = float(metrics), 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()


__getattr__ = later(__name__, "Write it as a custom LRScheduler: its get_lr() returns the rate of each group.")
