"""Optimizers and schedules beside PyTorch's, step by step."""

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch
from support.training_loops import steps

import tinygrad_edu

ENGINES = (tinygrad_edu, torch)

OPTIMIZERS = """SGD(params, lr=0.1); SGD(params, lr=0.1, momentum=0.9);
SGD(params, lr=0.1, momentum=0.9, nesterov=True); SGD(params, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1);
SGD(params, lr=0.1, maximize=True); SGD(params, lr=T.tensor(0.1), momentum=0.9, weight_decay=0.1); Adam(params, lr=0.1);
Adam(params, lr=0.1, betas=(0.5, 0.9), eps=1e-3, weight_decay=0.1); Adam(params, lr=0.1, amsgrad=True);
AdamW(params, lr=0.1); AdamW(params, lr=T.tensor(0.1, dtype=T.float64), amsgrad=True);
RMSprop(params, lr=T.tensor(0.1)); RMSprop(params, lr=0.1, momentum=0.5, centered=True, weight_decay=0.1);
Adagrad(params, lr=0.1, lr_decay=0.1, weight_decay=0.1);
Adagrad(params, lr=T.tensor(0.1), initial_accumulator_value=0.5); Adadelta(params, lr=0.5, rho=0.8, weight_decay=0.1);
Adadelta(params, maximize=True); SGD([{'params': params[:1]}, {'params': params[1:], 'lr': 0.01}], lr=0.1)"""
OPTIMIZERS = OPTIMIZERS.replace("\n", " ").split("; ")


def _problem(T: Any) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(0)
    params = [T.tensor(rng.standard_normal(s), requires_grad=True) for s in [(3, 2), (2,)]]
    x = T.tensor(rng.standard_normal((5, 3)))

    def loss() -> Any:
        return ((x @ params[0] + params[1]).tanh() - 0.5).square().mean()

    return params, loss


def _as_torch(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_torch(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_torch(item) for item in value]
    return torch.from_numpy(value.numpy().copy()) if isinstance(value, tinygrad_edu.Tensor) else value


@pytest.mark.parametrize("code", OPTIMIZERS)
def test_an_optimizer_takes_the_steps_of_pytorchs_also_from_a_saved_state_of_either(code: str) -> None:
    losses, params, states, last = [], [], [], []
    for T in ENGINES:
        weights, loss = _problem(T)
        first, second, third = (eval(f"T.optim.{code}", {"params": weights, "T": T}) for _ in range(3))
        losses.append(steps(first, loss, 3))
        second.load_state_dict(first.state_dict())
        losses[-1] += steps(second, loss, 3)
        params.append(weights)
        states.append(second.state_dict())
        last.append((third, loss))
    _assert_same_state(*states)
    whole, loss = _problem(tinygrad_edu)
    alone = eval(f"T.optim.{code}", {"params": whole, "T": tinygrad_edu})
    assert steps(alone, loss, 6) == losses[0], "a saved state changes no bit"
    for (third, loss), seen, state in zip(last, losses, (states[1], _as_torch(states[0])), strict=True):
        third.load_state_dict(state)
        seen += steps(third, loss, 4)
    assert repr(last[0][0]) == repr(last[1][0])
    np.testing.assert_allclose(*losses, rtol=1e-7)
    for a, b in zip(*params, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-7)


def _assert_same_state(ours: Any, theirs: Any) -> None:
    """The same settings, and tensors of one shape, dtype and value."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            _assert_same_state(ours[key], theirs[key])
    elif isinstance(theirs, list):
        for a, b in zip(ours, theirs, strict=True):
            _assert_same_state(a, b)
    elif isinstance(theirs, torch.Tensor):
        assert isinstance(ours, tinygrad_edu.Tensor) and ours.numpy().dtype == theirs.numpy().dtype
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-7)
    else:
        assert ours == theirs


SCHEDULES = """StepLR(o, 3, gamma=0.5); MultiStepLR(o, [5, 2, 5]);
ExponentialLR(o, 0.9); CosineAnnealingLR(o, 10, eta_min=0.01); LambdaLR(o, lambda e: 1 / (1 + e));
LinearLR(o, 0.1, 0.9, 6); SequentialLR(o, [LinearLR(o, 0.1), CosineAnnealingLR(o, 8)], [5]);
SequentialLR(o, [LinearLR(o, 0.1), StepLR(o, 2), ExponentialLR(o, 0.9)], [3, 8]); Own(o);
[ExponentialLR(o, 0.9), MultiStepLR(o, [3, 8])]; [CosineAnnealingLR(o, 4), LinearLR(o, 0.1)]"""
SCHEDULES = SCHEDULES.replace("\n", " ").split("; ")  # several at once: each goes on from the rate that the others left


def _scheduled(T: Any, code: str) -> tuple[Any, list[Any]]:
    """An optimizer that has gradients, and the schedulers that act on it."""

    class Own(T.optim.lr_scheduler._LRScheduler):
        def get_lr(self) -> list[float]:
            return [base / (1 + self.last_epoch) + self._step_count / 10 for base in self.base_lrs]

    params, loss = _problem(T)
    optimizer = T.optim.SGD(params, lr=0.1, momentum=0.5)
    loss().backward()
    schedulers = T.optim.lr_scheduler
    named = {name: getattr(schedulers, name) for name in re.findall(r"\b[A-Z]\w+", code) if hasattr(schedulers, name)}
    made = eval(code, {**named, "o": optimizer, "Own": Own})
    return optimizer, made if isinstance(made, list) else [made]


def _rates(optimizer: Any, schedulers: list[Any], epochs: int) -> list[Any]:
    seen = []
    for _ in range(epochs):
        group = optimizer.param_groups[0]
        seen.append(([s.get_last_lr()[0] for s in schedulers], group["lr"], group["momentum"]))
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    return [np.hstack(row) for row in seen]


@pytest.mark.parametrize("code", SCHEDULES)
def test_a_schedule_has_the_rates_of_pytorchs(code: str) -> None:
    ours, theirs = (_rates(*_scheduled(T, code), 15) for T in ENGINES)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("code", [code for code in SCHEDULES if code[0] != "["])
def test_a_schedule_continues_from_a_state_of_either_engine_and_from_a_rate_set_by_hand(code: str) -> None:
    for first in ENGINES:
        rest = []
        for T in ENGINES:
            optimizer, (scheduler,) = _scheduled(first, code)
            _rates(optimizer, [scheduler], 4)
            optimizer.param_groups[0]["lr"] = 0.7
            on, (loaded,) = _scheduled(T, code)
            loaded.load_state_dict(scheduler.state_dict())
            for group, saved in zip(on.param_groups, optimizer.param_groups, strict=True):
                group.update({name: value for name, value in saved.items() if name != "params"})
            rest.append(_rates(on, [loaded], 8))
        np.testing.assert_allclose(rest[0], rest[1], rtol=1e-9, atol=1e-15)


PLATEAUS = """(o); (o, patience=1); (o, 'max', patience=2, factor=0.5); (o, patience=0, cooldown=2);
(o, patience=0, min_lr=0.03); (o, patience=1, threshold=0.2);
(o, 'max', patience=1, threshold=0.2, threshold_mode='abs'); (o, 'min', 0.5, 0, eps=0.04)"""


@pytest.mark.parametrize("code", PLATEAUS.replace("\n", " ").split("; "))
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


REFUSED = """SGD(params[0], lr=0.1); SGD([], lr=0.1); SGD(params, lr=-1); SGD([1.0], lr=0.1);
SGD([params[0] * 2], lr=0.1); SGD(params, lr=0.1, nesterov=True); Adam(params, betas=(1.0, 0.9));
SGD([{'params': params}, {'params': params}], lr=0.1); SGD([set(params)]); SGD({'params': params});
SGD([{'params': set(params)}]); SGD(params, lr=T.tensor([0.1, 0.2])); RMSprop(params, momentun=0.9);
Adagrad(params, lr_decay=-1); lr_scheduler.StepLR(params, 2); lr_scheduler.StepLR(SGD(params), 2, last_epoch=3);
lr_scheduler.LRScheduler(SGD(params)); lr_scheduler.LambdaLR(SGD(params), [float, float]);
lr_scheduler.ReduceLROnPlateau(SGD(params), min_lr=[1, 2]); lr_scheduler.SequentialLR(SGD(params), [], [])"""


@pytest.mark.parametrize("code", REFUSED.replace("\n", " ").split("; "))
def test_an_optimizer_refuses_what_pytorchs_refuses(code: str) -> None:
    kinds = []
    for T in ENGINES:
        params, _ = _problem(T)
        with pytest.raises((TypeError, ValueError, KeyError, NotImplementedError)) as error:
            eval(code, {**vars(T.optim), "params": params, "T": T})
        kinds.append(error.type)
    assert kinds[0] is kinds[1]


def _runs_of_many(T: Any, code: str) -> list[np.ndarray]:
    """Six parameters after each of ten steps, between which a user does everything that is allowed there."""
    rng = np.random.default_rng(0)
    sizes = [(3, 2), (2,), (4,), (), (2, 2), (5,)]
    params = [T.tensor(rng.standard_normal(s), requires_grad=True) for s in sizes]
    optimizer = eval(f"T.optim.{code}", {"T": T, "params": params})
    seen = []
    for step in range(10):
        optimizer.zero_grad()
        for i, p in enumerate(params):
            if step != 3 or i != 2:  # once a parameter is not reached
                ((p * (i + 1)).sin() * (step + 1)).sum().backward()
        if step == 5:
            params[0].data = T.tensor(rng.standard_normal((3, 2)))
        if step == 6:
            optimizer.load_state_dict(optimizer.state_dict())
        if step == 7:
            params[4].data = params[4].data.t()
        if step == 8:
            for state in optimizer.state.values():
                for name in state:
                    if name != "step":
                        state[name] = state[name] * 0.5
        optimizer.step()
        seen += [p.detach().numpy().copy() for p in params]
    for state in optimizer.state_dict()["state"].values():
        seen += [value.detach().numpy() for value in state.values()]
    return seen


MANY = """AdamW(params, lr=0.05); Adam(params, lr=0.05, amsgrad=True, weight_decay=0.1); Adagrad(params, lr=0.05);
Adam([{'params': params[:5]}, {'params': params[5:], 'lr': 0.01}], maximize=True); SGD(params, lr=0.05, momentum=0.9);
RMSprop(params, lr=0.05, momentum=0.5, centered=True)"""


@pytest.mark.parametrize("code", MANY.replace("\n", " ").split("; "))
def test_many_parameters_that_are_changed_as_one_go_the_way_of_pytorchs(code: str) -> None:
    ours, theirs = (_runs_of_many(T, code) for T in ENGINES)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)


def test_a_state_that_is_part_of_a_long_array_is_copied_and_saved_by_itself() -> None:
    T = tinygrad_edu
    params = [T.ones(3, requires_grad=True) for _ in range(6)]
    optimizer = T.optim.Adam(params, lr=0.1)
    for _ in range(4):
        for p in params:
            p.grad = T.ones_like(p)
        optimizer.step()
    again = copy.deepcopy(optimizer)
    kept = [state["exp_avg"].numpy().copy() for state in again.state.values()]
    optimizer.step()
    for state, before in zip(again.state.values(), kept, strict=True):
        np.testing.assert_array_equal(state["exp_avg"].numpy(), before)
    assert [float(state["step"]) for state in optimizer.state.values()] == [5.0] * 6
    assert [float(state["step"]) for state in again.state.values()] == [4.0] * 6
    assert len(pickle.dumps(optimizer.state[params[0]]["exp_avg"])) < len(pickle.dumps(T.zeros(3))) + 20


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_a_model_converted_after_its_first_step_is_refused(name: str) -> None:
    for T in (torch, tinygrad_edu):
        net = T.nn.Linear(2, 1)
        optimizer = getattr(T.optim, name)(net.parameters())
        net(T.ones(1, 2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        net.double()(T.ones(1, 2, dtype=T.float64)).sum().backward()
        with pytest.raises(RuntimeError, match="expected dtype float"):
            optimizer.step()
