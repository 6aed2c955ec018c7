"""Restores everything: weights, gradients, optimizers, modes, hooks and random numbers."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from viz.engines import Engine
from viz.recording.graph import Graph
from viz.recording.own import named
from viz.recording.state import Kept

DEEPEST = 4  # levels of lists, dicts and objects that are searched
WIDEST = 200  # things in each of them
HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")  # of a tensor, as PyTorch calls them


@contextlib.contextmanager
def as_before(engine: Engine, things: list[Any]) -> Iterator[None]:
    """A context that restores the modules, optimizers and tensors among `things`, and all settings, at its end."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(engine.same_randomness())
        stack.enter_context(engine.unchanged())
        for thing in things:
            stack.callback(_keep(engine, thing))
        yield


def found_in(engine: Engine, holder: Any) -> list[Any]:
    """The modules, optimizers, tensors and schedulers that something holds; a function by its closure, its globals, its object."""
    found: list[Any] = []
    met: set[int] = set()

    def look(thing: Any, depth: int) -> None:
        if id(thing) in met or thing is None or isinstance(thing, (int, float, str, bytes, type, types.ModuleType)):
            return
        met.add(id(thing))
        if engine.is_module(thing) or engine.is_tensor(thing) or _has_state(engine, thing):
            found.append(thing)
        elif depth <= DEEPEST:
            for one in itertools.islice(_parts(thing), WIDEST):
                look(one, depth + 1)

    look(holder, 0)
    return found


def _parts(thing: Any) -> Iterable[Any]:
    """What a thing holds."""
    if isinstance(thing, types.MethodType):
        return thing.__self__, thing.__func__
    if isinstance(thing, types.FunctionType):
        return [one for _, one in named(thing)]
    if isinstance(thing, functools.partial):
        return thing.func, *thing.args, *thing.keywords.values()
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, (list, tuple, set)):
        return list(thing)
    return list(getattr(thing, "__dict__", {}).values())


def _has_state(engine: Engine, thing: Any) -> bool:
    """Whether it is an optimizer, a scheduler, or what else keeps a state; but no module or optimizer of another engine."""
    keeps = all(callable(getattr(thing, name, None)) for name in ("state_dict", "load_state_dict"))
    others = hasattr(thing, "parameters") or hasattr(thing, "param_groups")
    return keeps and (not others or isinstance(thing, engine.module.optim.Optimizer))


def _keep(engine: Engine, thing: Any) -> Callable[[], None]:
    """A call that puts a module, a tensor, an optimizer or a scheduler back as it is now."""
    kept = contextlib.ExitStack()  # it puts back what was kept last first
    if engine.is_tensor(thing):
        _keep_tensor(engine, thing, kept)
    elif engine.is_module(thing):
        for tensor in thing.parameters():
            _keep_tensor(engine, tensor, kept)
        kept.callback(Kept(engine, thing, None, Graph()).put_back)  # buffers, modes, hooks, and what forward remembers
    elif isinstance(thing, engine.module.optim.Optimizer):
        for group in thing.param_groups:
            for tensor in group["params"]:
                _keep_tensor(engine, tensor, kept)
            kept.callback(operator.setitem, group["params"], slice(None), list(group["params"]))
            copied = {name: one if name == "params" else _copied(engine, one) for name, one in group.items()}
            kept.callback(_fill, group, copied)
        kept.callback(_fill, thing.state, {key: _copied(engine, item) for key, item in thing.state.items()})
        kept.callback(operator.setitem, thing.param_groups, slice(None), list(thing.param_groups))
        kept.callback(_fill, vars(thing), vars(thing).copy())
    else:
        kept.callback(thing.load_state_dict, copy.deepcopy(thing.state_dict()))
    return kept.close


def _keep_tensor(engine: Engine, tensor: Any, kept: contextlib.ExitStack) -> None:
    if not tensor.is_leaf:  # part of a graph, which belongs to the program
        return
    requires_grad, grad = tensor.requires_grad, tensor.grad
    numbers, grad_numbers = _copied(engine, tensor), _copied(engine, grad)
    version = None if tensor.is_inference() else tensor._version
    hooks = {name: dict(getattr(tensor, name, None) or {}) for name in HOOKS}

    def put_back() -> None:
        # A tensor on "meta" has no numbers to put back.
        with engine.quietly(), engine.module.no_grad(), contextlib.suppress(NotImplementedError):
            if tensor.is_leaf and tensor.requires_grad != requires_grad:
                tensor.requires_grad_(requires_grad)
            _write(engine, tensor, numbers)
            if grad is not None:
                _write(engine, grad, grad_numbers)
            tensor.grad = grad
            if version is not None and tensor._version != version:
                engine.set_version(tensor, version)
        for name, before in hooks.items():
            if (table := getattr(tensor, name, None)) is not None:
                _fill(table, before)

    kept.callback(put_back)


def _write(engine: Engine, tensor: Any, numbers: Any) -> None:
    """Write through `.data`, which counts no version, and only if something changed."""
    if tensor.shape != numbers.shape:
        tensor.data = numbers
    elif not (engine.array(tensor) == engine.array(numbers)).all():
        tensor.data.copy_(numbers)


def _fill(table: dict[Any, Any], kept: dict[Any, Any]) -> None:
    """Put back what stood in a dict."""
    if [(key, id(one)) for key, one in table.items()] != [(key, id(one)) for key, one in kept.items()]:
        table.clear()
        table.update(kept)


def _copied(engine: Engine, thing: Any) -> Any:
    with engine.quietly():
        if engine.is_tensor(thing):
            return thing.detach().clone()
        if isinstance(thing, dict):
            return {name: _copied(engine, item) for name, item in thing.items()}
        return [_copied(engine, item) for item in thing] if isinstance(thing, list) else thing
