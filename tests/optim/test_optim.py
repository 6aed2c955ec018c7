"""Optimizers and schedules beside PyTorch's, step by step."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

from ..support.both import attempt, same_on_both

ENGINES = (tinygrad_edu, torch)

OPTIMIZERS = [
    "SGD(params, lr=0.1)",
    "SGD(params, lr=0.1, momentum=0.9)",
    "SGD(params, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1)",
    "SGD(params, lr=0.1, momentum=0.9, nesterov=True)",
    "SGD(params, lr=0.1, maximize=True)",
    "SGD(params, lr=T.tensor(0.1), momentum=0.9, weight_decay=0.1)",
    "SGD([('weight', params[0]), ('bias', params[1])], lr=0.1)",
    "Adam(params, lr=0.1)",
    "Adam(params, lr=0.1, betas=(0.5, 0.9), eps=1e-3, weight_decay=0.1)",
    "Adam(params, lr=0.1, amsgrad=True)",
    "AdamW(params, lr=0.1)",
    "AdamW(params, lr=T.tensor(0.1, dtype=T.float64), amsgrad=True)",
    "RMSprop(params, lr=T.tensor(0.1))",
    "RMSprop(params, lr=0.1, momentum=0.5, centered=True, weight_decay=0.1)",
    "Adagrad(params, lr=0.1, lr_decay=0.1, weight_decay=0.1)",
    "Adagrad(params, lr=T.tensor(0.1), initial_accumulator_value=0.5)",
    "Adadelta(params, lr=0.5, rho=0.8, weight_decay=0.1)",
    "Adadelta(params, maximize=True)",
    "Adamax(params, lr=0.1, weight_decay=0.1)",
    "NAdam(params, lr=0.1)",
    "NAdam(params, lr=0.1, momentum_decay=0.1, weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam(params, lr=0.1)",
    "RAdam(params, lr=0.1, betas=(0.5, 0.8), weight_decay=0.1)",
    "RAdam(params, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)",
    "ASGD(params, lr=0.1, t0=3, lambd=0.1)",
    "ASGD(params, lr=0.1, weight_decay=0.1)",
    "Rprop(params, lr=0.1)",
    "Rprop(params, lr=0.1, etas=(0.3, 1.5), step_sizes=(1e-3, 0.2), maximize=True)",
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
        optimizer = eval(f"T.optim.{code}", {"params": params, "T": T})
        losses = _train(T, optimizer, loss, 10)
        runs.append((losses, [p.detach().numpy() for p in params], optimizer.state_dict(), repr(optimizer)))
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-7)
    for a, b in zip(runs[0][1], runs[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)
    assert runs[0][3] == runs[1][3]
    _assert_same_state(runs[0][2], runs[1][2])


def _assert_same_state(ours: Any, theirs: Any) -> None:
    """The same settings in the same order, and tensors of one shape, dtype and value."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
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


@pytest.mark.parametrize("code", OPTIMIZERS)
def test_a_saved_state_continues_where_it_stopped(code: str) -> None:
    runs = []
    for T in ENGINES:
        params, loss = _problem(T)
        first, second = (eval(f"T.optim.{code}", {"params": params, "T": T}) for _ in range(2))
        losses = _train(T, first, loss, 3)
        second.load_state_dict(first.state_dict())
        runs.append((losses + _train(T, second, loss, 4), [p.detach().numpy() for p in params]))
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-12)
    for a, b in zip(runs[0][1], runs[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


# A load gives NAdam's product another dtype, in PyTorch too.
@pytest.mark.parametrize("code", [code for code in OPTIMIZERS if not code.startswith("NAdam")])
def test_a_saved_state_changes_no_bit_of_what_follows(code: str) -> None:
    T = tinygrad_edu
    params, loss = _problem(T)
    whole = _train(T, eval(f"T.optim.{code}", {"params": params, "T": T}), loss, 6)
    params, loss = _problem(T)
    first, second = (eval(f"T.optim.{code}", {"params": params, "T": T}) for _ in range(2))
    start = _train(T, first, loss, 3)
    second.load_state_dict(first.state_dict())
    assert start + _train(T, second, loss, 3) == whole


SCHEDULES = [
    "StepLR(o, 3, gamma=0.5)",
    "MultiStepLR(o, [5, 2, 5])",
    "MultiplicativeLR(o, lambda e: 1 - e / 20)",
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
    "ChainedScheduler([ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9)])",
    # Several at once: each goes on from the rate that the others left.
    "[ExponentialLR(o, 0.9), MultiStepLR(o, [3, 8])]",
    "[CosineAnnealingLR(o, 4), LinearLR(o, 0.1), PolynomialLR(o, 9)]",
    "Own(o)",
]


def _scheduled(T: Any, code: str) -> tuple[Any, list[Any]]:
    """An optimizer that has gradients, and the schedulers that act on it."""

    class Own(T.optim.lr_scheduler._LRScheduler):  # type: ignore[misc]
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
@pytest.mark.parametrize("first", ENGINES, ids=["ours", "torch's"])
def test_a_schedule_continues_from_a_state_of_either_engine_and_from_a_rate_set_by_hand(first: Any, code: str) -> None:
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


def test_a_wave_with_restarts_may_be_followed_within_an_epoch() -> None:
    rates: list[list[float]] = []
    for T in ENGINES:
        _, (scheduler,) = _scheduled(T, "CosineAnnealingWarmRestarts(o, 3, 2)")
        rates.append([])
        for epoch in (*np.arange(0, 12, 0.25), 26, None, 0):
            scheduler.step(epoch)
            rates[-1] += [*scheduler.get_last_lr(), scheduler.last_epoch]
    np.testing.assert_allclose(*rates, rtol=1e-7)


def test_a_scheduler_that_steps_before_its_optimizer_warns() -> None:
    for T in ENGINES:
        for before, expected in ((False, 1), (True, 0)):
            optimizer, (scheduler,) = _scheduled(T, "StepLR(o, 2)")
            if before:
                optimizer.step()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                scheduler.step()
            assert ["before `optimizer.step()`" in str(w.message) for w in caught] == [True] * expected


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
        "SGD([('a', params[0]), params[1]])", "SGD([{'params': params[:1]}, {'params': [('a', params[1])]}])", "SGD([set(params)])",
        "SGD({'params': params})", "SGD([{'params': set(params)}])", "SGD(params, lr=T.tensor([0.1, 0.2]))",
        "RMSprop(params, momentun=0.9)", "Adagrad(params, lr_decay=-1)",
        "lr_scheduler.StepLR(params, 2)", "lr_scheduler.StepLR(SGD(params), 2, last_epoch=3)", "lr_scheduler.LRScheduler(SGD(params))",
        "lr_scheduler.LambdaLR(SGD(params), [float, float])", "lr_scheduler.ReduceLROnPlateau(SGD(params), min_lr=[1, 2])",
        "lr_scheduler.OneCycleLR(Adagrad(params), 0.1, 10)", "lr_scheduler.OneCycleLR(SGD(params), 0.1, 10, pct_start=2.0)",
        "lr_scheduler.SequentialLR(SGD(params), [], [])", "lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(SGD(params))])",
    ],
)  # fmt: skip
def test_an_optimizer_refuses_what_pytorchs_refuses(code: str) -> None:
    for T in ENGINES:
        params, _ = _problem(T)
        kinds = (TypeError, ValueError, KeyError, NotImplementedError)
        with pytest.raises(kinds) as error:
            eval(code, {**vars(T.optim), "params": params, "T": T})
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


def test_zeros_are_written_into_the_gradient_that_somebody_holds() -> None:
    def program(T: Any) -> Any:
        layer = T.nn.Linear(2, 1)
        optimizer = T.optim.SGD(layer.parameters())
        seen = []
        for clear in (optimizer.zero_grad, layer.zero_grad):
            layer(T.ones(1, 2)).sum().backward()
            held = layer.weight.grad.requires_grad_()
            clear(set_to_none=False)
            seen.append((held is layer.weight.grad, held.tolist(), held.requires_grad, held._version))
            clear()
            seen.append(layer.weight.grad)
        return seen

    assert program(tinygrad_edu) == program(torch)


@pytest.mark.parametrize(
    "settings",
    [
        "lr=0.5",
        "lr=0.1, history_size=2, max_iter=4",
        "line_search_fn='strong_wolfe'",
        "lr=0.8, line_search_fn='strong_wolfe', history_size=3, max_iter=7",
        "line_search_fn='strong_wolfe', max_eval=3",
    ],
)
def test_lbfgs_takes_the_steps_of_pytorchs(settings: str) -> None:
    runs = []
    for T in ENGINES:
        params, loss = _problem(T)
        optimizer = eval(f"T.optim.LBFGS(params, {settings})", {"params": params, "T": T})

        def closure(optimizer: Any = optimizer, loss: Any = loss) -> Any:
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        losses = [optimizer.step(closure).item() for _ in range(4)]
        again = type(optimizer)(params)
        again.load_state_dict(optimizer.state_dict())
        losses += [again.step(closure).item() for _ in range(2)]
        state = optimizer.state_dict()["state"][0]
        runs.append((losses, [p.detach().numpy() for p in params], state["n_iter"], state["func_evals"]))
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-6)
    for a, b in zip(runs[0][1], runs[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert runs[0][2:] == runs[1][2:]


def test_hooks_of_an_optimizer_are_called_as_pytorch_calls_them() -> None:
    def seen(T: Any) -> list[Any]:
        params, loss = _problem(T)
        optimizer, log = T.optim.SGD(params, lr=0.1), []
        optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append(("pre", o is optimizer, len(args), kwargs)))
        handle = optimizer.register_step_post_hook(lambda o, args, kwargs: log.append(("post", len(args))))
        base = importlib.import_module(f"{T.__name__}.optim.optimizer")
        everywhere = base.register_optimizer_step_post_hook(lambda o, args, kwargs: log.append("everywhere"))
        optimizer.register_state_dict_pre_hook(lambda o: log.append("state pre"))
        optimizer.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1})
        optimizer.register_load_state_dict_pre_hook(lambda o, s: log.append(sorted(s)))
        optimizer.register_load_state_dict_post_hook(lambda o: log.append("loaded"), prepend=True)
        _train(T, optimizer, loss, 1)
        handle.remove()
        optimizer.step(lambda: loss())
        everywhere.remove()
        optimizer.step()
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
        try:
            optimizer.step()
        except RuntimeError as error:
            log.append("must return None or a tuple" in str(error))
        return log

    assert seen(tinygrad_edu) == seen(torch)


def test_a_state_whose_step_is_a_number_is_loaded_as_pytorch_loads_it() -> None:
    def after(T: Any) -> list[Any]:
        params, loss = _problem(T)
        first = T.optim.Adam(params, lr=0.1)
        _train(T, first, loss, 3)
        state = first.state_dict()
        for kept in state["state"].values():
            kept["step"] = int(kept["step"])
        second = T.optim.Adam(params, lr=0.1)
        second.load_state_dict(state)
        losses = _train(T, second, loss, 3)
        return [losses, [float(kept["step"]) for kept in second.state_dict()["state"].values()]]

    ours, theirs = (after(T) for T in ENGINES)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7)
    assert ours[1] == theirs[1] == [6.0, 6.0]


def test_an_optimizer_of_a_program_keeps_its_own_kind_of_state() -> None:
    def after(T: Any) -> Any:
        class Counting(T.optim.Optimizer):
            def __init__(self, params: Any, lr: float) -> None:
                super().__init__(params, {"lr": lr})

            def step(self, closure: Any = None) -> None:
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        state["step"] = state.get("step", 0) + 1
                        p.data.add_(p.grad.data, alpha=-group["lr"] / state["step"])
                self.state["calls"] = self.state.get("calls", 0) + 1

        params, loss = _problem(T)
        optimizer = Counting(params, 0.1)
        losses = _train(T, optimizer, loss, 3)
        other = Counting(params, 0.1)
        other.load_state_dict(optimizer.state_dict())
        return losses, other.state_dict()["state"]

    ours, theirs = (after(T) for T in ENGINES)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7)
    assert ours[1] == theirs[1]


CYCLES = [
    "CyclicLR(o, 0.1, 1.0, step_size_up=3)",
    "CyclicLR(o, 0.1, 1.0, step_size_up=2, step_size_down=4, mode='triangular2')",
    "CyclicLR(o, 0.1, 1.0, step_size_up=2, mode='exp_range', gamma=0.9, base_momentum=0.5)",
    "CyclicLR(o, 0.1, 1.0, step_size_up=2, scale_fn=lambda x: 0.5 ** x, scale_mode='iterations', cycle_momentum=False)",
]


@pytest.mark.parametrize("code", CYCLES)
def test_a_cycle_of_rates_and_momenta_is_pytorchs(code: str) -> None:
    def rates(T: Any) -> list[Any]:
        o = T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
        scheduler = eval(f"S.{code}", {"S": T.optim.lr_scheduler, "o": o})
        out = []
        for _ in range(9):
            out.append((o.param_groups[0]["lr"], o.param_groups[0]["momentum"]))
            o.step()
            scheduler.step()
        saved = scheduler.state_dict()
        scheduler.load_state_dict(saved)
        return out

    np.testing.assert_allclose(rates(tinygrad_edu), rates(torch), rtol=1e-12)


def test_weights_are_averaged_as_pytorch_averages_them() -> None:
    def program(T: Any) -> Any:
        swa = T.optim.swa_utils
        rng = np.random.default_rng(0)
        x = T.tensor(rng.standard_normal((8, 3)))
        net = T.nn.Sequential(T.nn.Linear(3, 2), T.nn.BatchNorm1d(2)).double()
        for i, p in enumerate(net.parameters()):
            p.data = T.tensor(rng.standard_normal(tuple(p.shape))) + i
        means = [
            swa.AveragedModel(net), swa.AveragedModel(net, avg_fn=swa.get_ema_avg_fn(0.9)),
            swa.AveragedModel(net, multi_avg_fn=swa.get_ema_multi_avg_fn(0.8), use_buffers=True),
        ]  # fmt: skip
        optimizer = T.optim.SGD(net.parameters(), lr=0.1)
        scheduler = swa.SWALR(optimizer, swa_lr=0.5, anneal_epochs=3)
        rates = []
        for _ in range(5):
            optimizer.zero_grad()
            net(x).square().sum().backward()
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr()[0])
            for mean in means:
                mean.update_parameters(net)
        swa.update_bn([(x[:4], 0), (x[4:], 0)], means[0])
        state = [v.numpy().tolist() for mean in means for v in mean.state_dict().values()]
        return rates, [list(mean.state_dict()) for mean in means], state

    ours, theirs = (program(T) for T in ENGINES)
    np.testing.assert_allclose(ours[0], theirs[0])
    assert ours[1] == theirs[1]
    for a, b in zip(ours[2], theirs[2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)


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


@pytest.mark.parametrize(
    "code",
    [
        "AdamW(params, lr=0.05)",
        "Adam(params, lr=0.05, amsgrad=True, weight_decay=0.1)",
        "Adam([{'params': params[:5]}, {'params': params[5:], 'lr': 0.01}], maximize=True)",
        "RMSprop(params, lr=0.05, momentum=0.5, centered=True)",
        "Adagrad(params, lr=0.05)",
        "SGD(params, lr=0.05, momentum=0.9)",
    ],
)
def test_many_parameters_that_are_changed_as_one_go_the_way_of_pytorchs(code: str) -> None:
    ours, theirs = (_runs_of_many(T, code) for T in ENGINES)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)


def test_parameters_on_one_storage_are_changed_one_after_the_other() -> None:
    after = []
    for T in ENGINES:
        shared = T.ones(4)
        params = [T.tensor(1.0, requires_grad=True) for _ in range(4)] + [
            T.nn.Parameter(shared),
            T.nn.Parameter(shared),
        ]
        optimizer = T.optim.Adam(params, lr=0.1)
        for _ in range(4):
            for p in params:
                p.grad = T.ones_like(p)
            optimizer.step()
        after.append(shared.numpy())
    np.testing.assert_allclose(*after, rtol=1e-5)


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


@pytest.mark.parametrize(
    "made",
    [
        "S.StepLR(o, 1, 0.5)", "S.LambdaLR(o, lambda e: 0.5**e)", "S.CosineAnnealingLR(o, 4)", "S.ExponentialLR(o, 0.9)",
        "S.OneCycleLR(o, lr, total_steps=5)", "S.CyclicLR(o, 0.01, lr, 2)", "T.optim.swa_utils.SWALR(o, lr)",
        "S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [2])", "S.LinearLR(o)",
    ],
)  # fmt: skip
def test_a_rate_that_is_a_tensor_is_written_to_and_the_first_rates_stay(made: str) -> None:
    seen = []
    for T in (torch, tinygrad_edu):
        lr = T.tensor(0.1)
        o = T.optim.SGD([T.nn.Parameter(T.ones(1))], lr=lr, momentum=0.9)
        scheduler = eval(made, {"T": T, "S": T.optim.lr_scheduler, "o": o, "lr": lr})
        for _ in range(3):
            o.step()
            scheduler.step()
        lr.mul_(2)
        group = o.param_groups[0]
        rates = [lr, group["lr"], group["initial_lr"], group.get("max_lr"), getattr(scheduler, "max_lrs", [None])[0]]
        rates += [*getattr(scheduler, "base_lrs", []), *scheduler.get_last_lr()]
        seen.append([None if rate is None else round(float(rate), 6) for rate in rates])
    assert seen[0] == seen[1]


@same_on_both
def test_a_gradient_of_nan_leaves_a_number_where_it_is_under_rprop(T: Any) -> Any:
    w = T.tensor([1.0, 2.0], requires_grad=True)
    optimizer = T.optim.Rprop([w], lr=0.1)
    for slopes in ([float("nan"), 1.0], [0.5, float("nan")], [0.5, 1.0]):
        w.grad = T.tensor(slopes)
        optimizer.step()
    return w


@pytest.mark.parametrize("name", ["Adam", "NAdam", "ASGD", "Adagrad", "Adadelta"])
def test_steps_are_counted_in_float64_where_that_is_the_default(name: str) -> None:
    kinds = []
    for E in (torch, tinygrad_edu):
        E.set_default_dtype(E.float64)
        try:
            w = E.tensor([1.0], requires_grad=True)
            optimizer = getattr(E.optim, name)([w])
            (w * w).sum().backward()
            optimizer.step()
            kinds.append({key: str(value.dtype).split(".")[1] for key, value in optimizer.state[w].items()})
        finally:
            E.set_default_dtype(E.float32)
    assert kinds[0] == kinds[1]


@same_on_both
def test_a_cleared_state_begins_again(T: Any) -> Any:
    T.manual_seed(0)
    model = T.nn.Sequential(*[T.nn.Linear(2, 2) for _ in range(4)])
    optimizer = T.optim.AdamW(model.parameters(), lr=0.1)
    for step in range(5):
        if step in (1, 3):
            optimizer.state.clear()
        optimizer.zero_grad()
        model(T.ones(1, 2)).sum().backward()
        optimizer.step()
    return list(model.parameters()), optimizer.state_dict()["state"]


@same_on_both
def test_a_cycle_of_an_optimizer_without_momentum_has_set_its_rates_when_it_is_refused(T: Any) -> Any:
    optimizer = T.optim.Rprop([T.ones(1, requires_grad=True)], lr=0.1)
    refused = attempt(lambda: T.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=4))
    group = optimizer.param_groups[0]
    return refused, [group[name] for name in ("lr", "initial_lr", "max_lr", "min_lr")]


@pytest.mark.parametrize("settings", [{"max_iter": 0}, {"max_iter": -1}, {"history_size": 0}, {"history_size": 1}])
def test_lbfgs_with_odd_settings_is_pytorchs(settings: dict[str, int]) -> None:
    outcomes: list[Any] = []
    for engine in (torch, tinygrad_edu):
        weight = engine.nn.Parameter(engine.tensor([1.0, -2.0], dtype=engine.float64))
        optimizer = engine.optim.LBFGS([weight], **settings)

        def closure(weight: Any = weight, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = (weight**4).sum() + weight[0] * weight[1]
            loss.backward()
            return loss

        try:
            optimizer.step(closure)
        except IndexError as error:
            outcomes.append(str(error))
            continue
        kept = {name: value is None for name, value in optimizer.state[weight].items()}
        outcomes.append([*weight.detach().numpy().round(9).tolist(), kept])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax"])
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
