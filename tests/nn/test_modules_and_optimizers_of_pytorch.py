"""PyTorch's own samples of its modules and optimizers (torch.testing): both engines give the same results."""

import functools
import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from support.pytorchs_own import pytorchs_own

import tinygrad_edu as tg

pytestmark = pytest.mark.outer(start=1)
EACH = 3  # of the samples of a module, spread over all of them: some have hundreds


def shared(place: str, base: str) -> set[str]:
    """The names of the classes that both engines have there."""
    theirs, ours = getattr(torch, place), getattr(tg, place)
    kinds = {name: kind for name, kind in vars(theirs).items() if isinstance(kind, type) and hasattr(ours, name)}
    return {name for name, kind in kinds.items() if issubclass(kind, getattr(theirs, base))}


# The samples are loaded by the first test that asks, with PyTorch's compiler, for seconds; so all names here are tried.
MODULES = shared("nn", "Module")
OPTIMIZERS = shared("optim", "Optimizer") - {"Optimizer"}


@functools.cache
def infos_of_modules() -> dict[str, Any]:
    return {info.module_cls.__name__: info for info in pytorchs_own("common_modules").module_db}


@functools.cache
def infos_of_optimizers() -> dict[str, Any]:
    return {info.optim_cls.__name__: info for info in pytorchs_own("common_optimizers").optim_db}


def ours(value: Any) -> Any:
    """What a sample holds, for this engine."""
    if isinstance(value, torch.Tensor):
        made = tg.tensor(value.detach().numpy().copy())
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, torch.dtype):
        return getattr(tg, str(value).partition(".")[2])
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return pytest.skip("a layer that is given to another one")
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(map(ours, value))
    if isinstance(value, dict):
        return {key: ours(v) for key, v in value.items()}
    name = getattr(value, "__name__", "")
    return getattr(tg.nn.functional, name) if callable(value) and hasattr(tg.nn.functional, name) else value


def leaves(value: Any) -> Any:
    """The same with tensors that are leaves, so that both passes can be looked at."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(map(leaves, value))
    return {key: leaves(v) for key, v in value.items()} if isinstance(value, dict) else value


def tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor | tg.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [t for v in values for t in tensors(v)]


def same(theirs: Any, mine: Any, what: str) -> None:
    assert (theirs is None) == (mine is None), what
    if theirs is not None:
        a, b = theirs.detach().numpy(), mine.detach().numpy()
        assert a.dtype == b.dtype, what
        # Both add up many small numbers in float32, in orders of their own.
        np.testing.assert_allclose(b, a, rtol=3e-3, atol=1e-4 if what.startswith("CTCLoss") else 1e-5, err_msg=what)


def samples(info: Any, training: bool) -> list[Any]:
    given = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
    given = [s for s in given if s.forward_input is not None]
    return given[:: max(1, len(given) // EACH)]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_gives_what_it_gives_in_pytorch(name: str) -> None:
    info = infos_of_modules().get(name)
    # PyTorch has a hundred samples of a Transformer, and makes all of them each time.
    for training in (True,) if name.startswith("Transformer") else (True, False):
        for sample in samples(info, training) if info and not name.startswith(("Lazy", "FractionalMaxPool")) else ():
            compare(info.module_cls, sample, training)


def compare(kind: Any, sample: Any, training: bool) -> None:
    given, what = sample.constructor_input, f"{kind.__name__} {sample.desc}"
    if any(isinstance(a, torch.nn.Module) for a in given.args):
        return  # a layer that is given to another one: the layer itself is compared
    dtype = {"dtype": torch.float32} if "dtype" in inspect.signature(kind).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = kind(*given.args, **given.kwargs, **dtype).train(training)
        mine = getattr(tg.nn, kind.__name__)(*ours(given.args), **ours(given.kwargs)).train(training)
        mine.load_state_dict(theirs.state_dict())
        args, kwargs = leaves(sample.forward_input.args), leaves(sample.forward_input.kwargs)
        own_args, own_kwargs = ours(args), ours(kwargs)
        torch.manual_seed(1)
        tg.manual_seed(1)
        expected, found = tensors(theirs(*args, **kwargs)), tensors(mine(*own_args, **own_kwargs))
    assert len(expected) == len(found), what
    for a, b in zip(expected, found, strict=True):
        same(a, b, what)
    if any(t.requires_grad for t in expected):
        sum(t.sum() for t in expected if t.requires_grad).backward()
        sum(t.sum() for t in found if t.requires_grad).backward()
    for a, b in zip(tensors([args, kwargs]), tensors([own_args, own_kwargs]), strict=True):
        same(a.grad, b.grad, f"{what}: the gradient of an input")
    for (path, a), (_, b) in zip(theirs.named_parameters(), mine.named_parameters(), strict=True):
        same(a.grad, b.grad, f"{what}: the gradient of {path}")
    for (path, a), (_, b) in zip(theirs.named_buffers(), mine.named_buffers(), strict=True):
        same(a, b, f"{what}: {path}")
    assert repr(mine).replace("tinygrad_edu", "torch") == repr(theirs), what


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_an_optimizer_takes_pytorchs_steps(name: str) -> None:
    for sample in infos_of_optimizers()[name].optim_inputs_func(device="cpu"):
        settings = sample.kwargs
        if not (settings.get("capturable") or settings.get("differentiable")):
            # In float64: LBFGS takes another way as soon as a digit is rounded differently.
            (theirs, expected), (mine, found) = (trained(engine, name, settings) for engine in (torch, tg))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=f"{sample.desc} {settings}")
            assert repr(mine) == repr(theirs)


def trained(engine: Any, name: str, settings: dict[str, Any]) -> tuple[Any, Any]:
    """The optimizer, and the weights after some steps of a small regression."""
    rng = np.random.default_rng(0)
    x, weight, bias = (engine.tensor(rng.standard_normal(size)) for size in ((5, 4), (3, 4), (1, 3)))
    params = [engine.nn.Parameter(weight), engine.nn.Parameter(bias)]
    optimizer = getattr(engine.optim, name)(params, **(settings if engine is torch else ours(settings)))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((x @ params[0].T + params[1]) ** 2).mean()
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    return optimizer, np.concatenate([p.detach().numpy().ravel() for p in params])


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_an_optimizer_refuses_what_pytorch_refuses(name: str) -> None:
    for case in infos_of_optimizers()[name].optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = case.optimizer_error_input
        simple = isinstance(given.params, torch.Tensor) or not given.params or given.kwargs
        # Tensors as settings are what foreach decides on.
        plain = given.desc == "Tensor lr must be 1-element" or not tensors(list(given.kwargs.values()))
        mixed = given.desc == "betas must be either both floats or both Tensors"
        if case.error_on.name == "CONSTRUCTION_ERROR" and simple and plain and not mixed:
            with pytest.raises(case.error_type, match=case.error_regex):
                getattr(tg.optim, name)(ours(given.params), **ours(given.kwargs))
