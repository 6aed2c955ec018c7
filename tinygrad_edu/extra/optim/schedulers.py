"""Rates in cycles, in turns, and by formulas that few programs use."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from typing import Any

from ...optim.lr_scheduler import LRScheduler, ReduceLROnPlateau, _check, _for_each_group, set_rate
from ...optim.optimizer import Optimizer

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "SequentialLR",
    "StepLR",
]  # fmt: skip


class _ByFactors(LRScheduler):
    """Multiplies the current rates by `_factor(epoch, …)` each epoch, so that several schedulers can be combined."""

    def _factor(self, epoch: int, first: bool) -> float:
        """`first` is True for the rates that are set as the scheduler is made."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        factor = self._factor(self.last_epoch, self._is_initial)
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = math.prod(self._factor(epoch, epoch == 0) for epoch in range(self.last_epoch + 1))
        return [base * factor for base in self.base_lrs]


class StepLR(_ByFactors):
    """Multiplies the rates by `gamma` every `step_size` epochs.

    >>> import tinygrad_edu as T
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


class LambdaLR(LRScheduler):
    """Multiplies the initial rates by a function of the epoch: one function for all groups, or one per group.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.333, 0.25]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Callable[[int], float]] = _for_each_group("lr_lambdas", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        # A plain function is not saved; of a callable object, its attributes are saved.
        kept = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return super().state_dict() | {"lr_lambdas": kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        for f, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if kept is not None:
                f.__dict__.update(kept)


class ConstantLR(_ByFactors):
    """Multiplies the rates by `factor` during the first `total_iters` epochs.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> T.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2).get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        if epoch == 0:
            return self.factor
        return 1 / self.factor if epoch == self.total_iters else 1.0


class PolynomialLR(_ByFactors):
    """Decays the rates to 0 in `total_iters` epochs, as a power of the remaining fraction.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        if first or epoch > self.total_iters:
            return 1.0
        return ((1 - epoch / self.total_iters) / (1 - (epoch - 1) / self.total_iters)) ** self.power


class MultiplicativeLR(LambdaLR):
    """Multiplies the current rates by a function of the epoch.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates.append(scheduler.get_last_lr()[0])
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self._rates(), strict=True)]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine wave that restarts after `T_0` epochs; each wave is `T_mult` times as long as the previous one.

    `step(epoch)` also accepts fractions of an epoch: `step(epoch + i / len(loader))`.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> scheduler.step(1)
    >>> round(scheduler.get_last_lr()[0], 3)
    0.5
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to the given one."""
        if epoch is not None and epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            # T_cur epochs into a wave of length T_i: subtract the earlier waves one by one.
            epoch = 0 if epoch is None else epoch
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self._update_lr(math.floor(epoch))


class CyclicLR(LRScheduler):
    """Cycles from `base_lr` up to `max_lr` in `step_size_up` steps and down again. The momentum moves the opposite way.

    Raises:
        ValueError: `mode` is none of "triangular", "triangular2", "exp_range", and there is no `scale_fn`.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2, cycle_momentum=False)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _check(optimizer)
        base_lrs = _for_each_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_rate(group, rate)
        self.max_lrs = _for_each_group("max_lr", max_lr, optimizer)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = "betas" in optimizer.defaults
            if not self.use_beta1 and "momentum" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.base_momentums = _for_each_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = _for_each_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for group, low, high in zip(
                    optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
                ):
                    self._set_momentum(group, high)
                    group.update(max_momentum=high, base_momentum=low)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        group.update({"betas": (momentum, *group["betas"][1:])} if self.use_beta1 else {"momentum": momentum})

    def scale_fn(self, x: float) -> float:
        """The height of a cycle (or of a step, by `scale_mode`): 1 means the full height."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, least, most in bounds:
                self._set_momentum(group, most - (most - least) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The scheduler's attributes. A custom function is not saved."""
        fn = self._scale_fn_custom
        kept = None if fn is None or isinstance(fn, types.FunctionType) else dict(fn.__dict__)
        return super().state_dict() | {"_scale_fn_custom": kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a saved state."""
        kept = state_dict.get("_scale_fn_custom")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if kept is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(kept)


class OneCycleLR(LRScheduler):
    """One cycle in `total_steps` steps: up to `max_lr`, then far down. The momentum moves the opposite way.

    Raises:
        ValueError: neither `total_steps` nor `epochs` and `steps_per_epoch` are given, or a step goes beyond the last one.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.04, 0.812, 0.283, 0.0]
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
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _check(optimizer)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(
                    "You must define either total_steps OR (epochs AND steps_per_epoch), so that the number of steps is known."
                )
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        if not (isinstance(pct_start, float) and 0 <= pct_start <= 1):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps, self._anneal_func_type, self.cycle_momentum = total_steps, anneal_strategy, cycle_momentum
        # For each phase: where it ends, and the rates and momenta of a group that it moves between.
        rise, last = float(pct_start * total_steps), total_steps - 1
        rows: list[tuple[float, str, str, str, str]] = [
            (rise - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
            (last, "max_lr", "min_lr", "base_momentum", "max_momentum"),
        ]
        if three_phase:
            rows[1:] = [
                (2 * rise - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows]
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, _for_each_group("values", max_lr, optimizer), strict=True):
                low = peak / div_factor
                group.update(initial_lr=low, max_lr=peak, min_lr=low / final_div_factor)
        if cycle_momentum:
            self.use_beta1 = "betas" in optimizer.defaults
            if not self.use_beta1 and "momentum" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            given = (_for_each_group("values", x, optimizer) for x in (base_momentum, max_momentum))
            for group, least, most in zip(optimizer.param_groups, *given, strict=True):
                if last_epoch == -1:
                    group.update(max_momentum=most, base_momentum=least)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        phases = self._schedule_phases
        which = sum(self.last_epoch > phase["end_step"] for phase in phases[:-1])
        begin, phase = (phases[which - 1]["end_step"] if which else 0.0), phases[which]
        share = (self.last_epoch - begin) / (phase["end_step"] - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                momentum = self._between(group, phase, "momentum", share)
                group.update({"betas": (momentum, *group["betas"][1:])} if self.use_beta1 else {"momentum": momentum})
        return [self._between(group, phase, "lr", share) for group in self.optimizer.param_groups]

    def _between(self, group: dict[str, Any], phase: dict[str, Any], what: str, share: float) -> float:
        start, stop = group[phase[f"start_{what}"]], group[phase[f"end_{what}"]]
        if self._anneal_func_type == "linear":
            return start + (stop - start) * share
        return stop + (start - stop) / 2 * (1 + math.cos(math.pi * share))


class _OfSchedulers(LRScheduler):
    """The base of schedulers that combine others."""

    _schedulers: list[Any]

    def _take(self, optimizer: Any, schedulers: list[Any]) -> None:
        for i, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{type(self).__name__} does not support `ReduceLROnPlateau` scheduler, whose step() is given what was "
                    f"measured, but got one at index {i} in the given schedulers sequence."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but that of scheduler "
                    f"{type(scheduler).__name__} at index {i} is another."
                )
        self.optimizer, self._schedulers = optimizer, schedulers

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_OfSchedulers):
    """Runs schedulers one after the other. Each starts at its milestone.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> S = T.optim.lr_scheduler
    >>> parts = [S.ConstantLR(optimizer, 0.1, total_iters=2), S.ExponentialLR(optimizer, 0.5)]
    >>> scheduler = S.SequentialLR(optimizer, parts, milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(scheduler.get_last_lr()[0])
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        self._take(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        # Each scheduler set initial rates in its constructor. Undo that; the one that starts then sets its own.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        inner = list(schedulers)
        while inner:
            scheduler = inner.pop()
            if hasattr(scheduler, "_schedulers"):
                inner.extend(scheduler._schedulers)
            else:
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


class ChainedScheduler(_OfSchedulers):
    """Applies several schedulers at the same time, each to the rates that the previous one has set.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> S = T.optim.lr_scheduler
    >>> scheduler = S.ChainedScheduler([S.ExponentialLR(optimizer, 0.5), S.ConstantLR(optimizer, 0.1, total_iters=2)])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.1, 0.05, 0.25, 0.125]
    """

    def __init__(self, schedulers: list[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self._take(optimizer or schedulers[0].optimizer, schedulers)
        self._last_lr = self._rates()

    def step(self) -> None:  # type: ignore[override]
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


class MultiStepLR(_ByFactors):
    """Multiplies the rates by `gamma` at each of the given epochs.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        return self.gamma ** self.milestones[epoch]


class ExponentialLR(_ByFactors):
    """Multiplies the rates by `gamma` every epoch.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int, first: bool) -> float:
        return 1.0 if first else self.gamma


class LinearLR(_ByFactors):
    """Multiplies the initial rates by a factor that changes linearly from `start_factor` to `end_factor` in `total_iters` epochs.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.25, 0.5, 0.75, 1.0]
    """

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

    def _factor(self, epoch: int, first: bool) -> float:
        if epoch == 0:
            return self.start_factor
        if first or epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)


class CosineAnnealingLR(LRScheduler):
    """Follows half a cosine wave from the initial rates to `eta_min` in `T_max` epochs, and then back.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(scheduler.get_last_lr()[0], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
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
