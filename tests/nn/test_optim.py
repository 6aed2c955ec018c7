"""Optimisers and schedules beside PyTorch's, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

ENGINES = (tinygrad_edu, torch)

OPTIMIZERS = [
    "SGD(params, lr=0.1)",
    "SGD(params, lr=0.1, momentum=0.9)",
    "SGD(params, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1)",
    "SGD(params, lr=0.1, momentum=0.9, nesterov=True)",
    "SGD(params, lr=0.1, maximize=True)",
    "Adam(params, lr=0.1)",
    "Adam(params, lr=0.1, betas=(0.5, 0.9), eps=1e-3, weight_decay=0.1)",
    "Adam(params, lr=0.1, amsgrad=True)",
    "AdamW(params, lr=0.1)",
    "RMSprop(params, lr=0.1)",
    "RMSprop(params, lr=0.1, momentum=0.5, centered=True, weight_decay=0.1)",
    "Adagrad(params, lr=0.1, lr_decay=0.1, weight_decay=0.1)",
    "SGD([{'params': params[:1]}, {'params': params[1:], 'lr': 0.01}], lr=0.1)",
]


def _problem(T: Any) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(0)
    params = [T.tensor(rng.standard_normal(s), requires_grad=True) for s in [(3, 2), (2,)]]
    x = T.tensor(rng.standard_normal((5, 3)))

    def loss() -> Any:
        return ((x @ params[0] + params[1]).tanh() - 0.5).square().mean()

    return params, loss


def _train(T: Any, optimizer: Any, loss: Any, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


@pytest.mark.parametrize("code", OPTIMIZERS)
def test_an_optimizer_takes_the_steps_of_pytorchs(code: str) -> None:
    runs = []
    for T in ENGINES:
        params, loss = _problem(T)
        optimizer = eval(code, {**vars(T.optim), "params": params})
        losses = _train(T, optimizer, loss, 10)
        runs.append((losses, [p.detach().numpy() for p in params]))
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-9)
    for a, b in zip(runs[0][1], runs[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("code", ["SGD(params, lr=0.1, momentum=0.9)", "Adam(params, lr=0.1)"])
def test_a_saved_state_goes_on_where_it_stopped(code: str) -> None:
    T = tinygrad_edu
    params, loss = _problem(T)
    optimizer = eval(code, {**vars(T.optim), "params": params})
    whole = _train(T, optimizer, loss, 6)
    params, loss = _problem(T)
    first = eval(code, {**vars(T.optim), "params": params})
    start = _train(T, first, loss, 3)
    second = eval(code, {**vars(T.optim), "params": params})
    second.load_state_dict(first.state_dict())
    assert start + _train(T, second, loss, 3) == whole


SCHEDULES = [
    "StepLR(o, 3, gamma=0.5)",
    "MultiStepLR(o, [2, 5])",
    "ExponentialLR(o, 0.9)",
    "CosineAnnealingLR(o, 10, eta_min=0.01)",
    "LambdaLR(o, lambda e: 1 / (1 + e))",
    "ConstantLR(o, 0.5, 4)",
    "LinearLR(o, 0.1, 0.9, 6)",
    "PolynomialLR(o, 6, 2.0)",
    "CosineAnnealingWarmRestarts(o, 3, 2, eta_min=0.01)",
    "OneCycleLR(o, 0.5, 15)",
    "OneCycleLR(o, max_lr=[0.5], epochs=4, steps_per_epoch=4, three_phase=True, anneal_strategy='linear')",
    "OneCycleLR(o, 0.5, total_steps=20, cycle_momentum=False, pct_start=0.5)",
    "SequentialLR(o, [LinearLR(o, 0.1), CosineAnnealingLR(o, 8)], [5])",
    "SequentialLR(o, [ConstantLR(o, 0.1), StepLR(o, 2), ExponentialLR(o, 0.9)], [3, 8])",
]


@pytest.mark.parametrize("code", SCHEDULES)
def test_a_schedule_has_the_rates_of_pytorchs(code: str) -> None:
    rates = []
    for T in ENGINES:
        params, _ = _problem(T)
        optimizer = T.optim.SGD(params, lr=0.1, momentum=0.5)
        scheduler = eval(code, {**vars(T.optim.lr_scheduler), "o": optimizer})
        seen = []
        for _ in range(15):
            seen.append(
                (scheduler.get_last_lr()[0], optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"])
            )
            optimizer.step()
            scheduler.step()
        rates.append(seen)
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-9)


PLATEAUS = [
    "(o)", "(o, patience=1)", "(o, 'max', patience=2, factor=0.5)", "(o, patience=0, cooldown=2)", "(o, patience=0, min_lr=0.03)",
    "(o, patience=1, threshold=0.2)", "(o, 'max', patience=1, threshold=0.2, threshold_mode='abs')", "(o, 'min', 0.5, 0, eps=0.04)",
]  # fmt: skip


@pytest.mark.parametrize("code", PLATEAUS)
def test_a_rate_falls_where_nothing_becomes_better_as_in_pytorch(code: str) -> None:
    measured = np.round(np.random.default_rng(0).standard_normal(40).cumsum() / 3 + 1, 1)
    rates = []
    for T in ENGINES:
        params, _ = _problem(T)
        optimizer = T.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.7}], lr=0.1)
        scheduler = eval("S" + code, {"S": T.optim.lr_scheduler.ReduceLROnPlateau, "o": optimizer})
        seen = []
        for value in measured:
            scheduler.step(T.tensor(value))
            seen.append((*scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.best))
        rates.append(seen)
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-12)


@pytest.mark.parametrize(
    "code",
    [
        "SGD(params[0], lr=0.1)", "SGD([], lr=0.1)", "SGD(params, lr=-1)", "SGD([1.0], lr=0.1)", "SGD([params[0] * 2], lr=0.1)",
        "SGD(params, lr=0.1, nesterov=True)", "Adam(params, betas=(1.0, 0.9))", "SGD([{'params': params}, {'params': params}], lr=0.1)",
    ],
)  # fmt: skip
def test_an_optimizer_refuses_what_pytorchs_refuses(code: str) -> None:
    for T in ENGINES:
        params, _ = _problem(T)
        kinds = (TypeError, ValueError)
        with pytest.raises(kinds) as error:
            eval(code, {**vars(T.optim), "params": params})
        if T is tinygrad_edu:
            ours = error.type
    assert ours is error.type


STATEFUL = {"SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {}, "AdamW": {}, "RMSprop": {"momentum": 0.5}, "Adagrad": {}}


@pytest.mark.parametrize("name", STATEFUL)
def test_the_state_of_either_engine_goes_on_in_the_other(name: str) -> None:
    def start(T: Any) -> tuple[Any, Any]:
        p = T.nn.Parameter(T.tensor([1.0, -2.0]))
        return p, getattr(T.optim, name)([p], **STATEFUL[name])

    def steps(p: Any, optimizer: Any, count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()

    def as_torch(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: as_torch(item) for key, item in value.items()}
        return torch.from_numpy(value.numpy().copy()) if isinstance(value, tinygrad_edu.Tensor) else value

    (ours, our_optimizer), (theirs, their_optimizer) = start(tinygrad_edu), start(torch)
    steps(ours, our_optimizer, 3)
    steps(theirs, their_optimizer, 3)
    from_theirs = getattr(tinygrad_edu.optim, name)([ours], **STATEFUL[name])
    from_theirs.load_state_dict(their_optimizer.state_dict())
    from_ours = getattr(torch.optim, name)([theirs], **STATEFUL[name])
    from_ours.load_state_dict(as_torch(our_optimizer.state_dict()))
    steps(ours, from_theirs, 2)
    steps(theirs, from_ours, 2)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)


def test_a_step_counts_as_a_write() -> None:
    for T in ENGINES:
        w = T.ones(2, requires_grad=True)
        y = (w * w).sum()
        w.grad = T.ones(2)
        T.optim.SGD([w], lr=0.1).step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
