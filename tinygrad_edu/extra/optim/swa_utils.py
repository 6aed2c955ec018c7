"""Averages of a model's weights during training (PyTorch: `torch.optim.swa_utils`)."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from ...autograd.grad_mode import no_grad
from ...nn.module import Module
from ...nn.norms import BatchNorm1d, BatchNorm2d
from ...ops import functions
from ...optim.lr_scheduler import LRScheduler, _for_each_group
from ...optim.optimizer import Optimizer
from ..nn.norms import BatchNorm3d

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """An exponential moving average: decay·average + (1 - decay)·new.

    >>> import tinygrad_edu as T
    >>> average = T.optim.swa_utils.get_ema_avg_fn(decay=0.75)
    >>> average(T.tensor(0.0), T.tensor(4.0), 1)
    tensor(1.)
    """
    _check_decay(decay)

    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return no_grad()(ema_update)


def get_swa_avg_fn() -> Callable[..., Any]:
    """An equal average: average + (new - average)/(n + 1).

    >>> import tinygrad_edu as T
    >>> average = T.optim.swa_utils.get_swa_avg_fn()
    >>> average(T.tensor(1.0), T.tensor(4.0), 2)  # the mean of 1, 1 and 4
    tensor(2.)
    """

    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return no_grad()(swa_update)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """`get_ema_avg_fn` for lists of parameters; it updates the first list in place.

    >>> import tinygrad_edu as T
    >>> averages = [T.tensor([0.0])]
    >>> T.optim.swa_utils.get_ema_multi_avg_fn(decay=0.75)(averages, [T.tensor([4.0])], 1)
    >>> averages
    [tensor([1.])]
    """
    return _for_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """`get_swa_avg_fn` for lists of parameters; it updates the first list in place.

    >>> import tinygrad_edu as T
    >>> averages = [T.tensor([1.0])]
    >>> T.optim.swa_utils.get_swa_multi_avg_fn()(averages, [T.tensor([4.0])], T.tensor(2))
    >>> averages
    [tensor([2.])]
    """
    return _for_lists(get_swa_avg_fn())


def _check_decay(decay: float) -> None:
    if decay < 0 or decay > 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _for_lists(mean: Callable[..., Any]) -> Callable[..., None]:
    def update(averages: Any, current: Any, num_averaged: Any) -> None:
        for average, new in zip(averages, current, strict=True):
            average.copy_(mean(average, new, num_averaged))

    return no_grad()(update)


class AveragedModel(Module):
    """A copy of `model` whose parameters are averages. Call `update_parameters(model)` after each step or epoch.

    >>> import tinygrad_edu as T
    >>> model = T.nn.Linear(1, 1)
    >>> average = T.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = model.weight.data.fill_(value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item()
    2.0
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", functions["tensor"](0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the parameters of `model` to the averages. The first call copies them."""
        own, new = self.module.parameters(), model.parameters()
        if self.use_buffers:
            averaged = [t.detach() for t in itertools.chain(own, self.module.buffers())]
            current = [t.detach() for t in itertools.chain(new, model.buffers())]
        else:
            averaged, current = [p.detach() for p in own], [p.detach() for p in new]
        if self.n_averaged == 0:
            for average, value in zip(averaged, current, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averaged, current, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for buffer, value in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(value.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the statistics of all batch norms in `model` with one pass over the inputs of `loader`.

    >>> import tinygrad_edu as T
    >>> model = T.nn.BatchNorm1d(1)
    >>> T.optim.swa_utils.update_bn([T.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, BatchNorm1d | BatchNorm2d | BatchNorm3d):
            module.reset_running_stats()
            momenta[module] = module.momentum
            module.momentum = None
    if not momenta:
        return
    was_training = model.training
    model.train()
    with no_grad():
        for batch in loader:
            input = batch[0] if isinstance(batch, list | tuple) else batch
            model(input if device is None else input.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Moves the rates from their current values to `swa_lr` in `anneal_epochs` epochs, linearly or by a cosine; then constant.

    >>> import tinygrad_edu as T
    >>> optimizer = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = T.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(scheduler.get_last_lr()[0])
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, _for_each_group("swa_lr", swa_lr, optimizer), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: float) -> float:
        """The fraction of the way to `swa_lr` at a step."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
