"""Restores everything: weights, gradients, optimizers, modes, hooks and random numbers."""

from __future__ import annotations

import contextlib
import copy
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from viz.engines import Engine

DEEPEST = 3  # levels of lists, dicts and objects that are searched
WIDEST = 200  # things in each of them


@contextlib.contextmanager
def as_before(engine: Engine, things: list[Any]) -> Iterator[None]:
    """A context that restores the modules, optimizers and tensors among `things`, and all modes, at its end."""
    module = engine.module
    grad, dtype = module.is_grad_enabled(), module.get_default_dtype()
    anomaly = module.is_anomaly_enabled(), module.is_anomaly_check_nan_enabled()
    with contextlib.ExitStack() as stack:
        stack.enter_context(engine.same_randomness())
        for thing in things:
            stack.callback(_keep(engine, thing))
        try:
            yield
        finally:
            module.set_grad_enabled(grad)
            module.set_default_dtype(dtype)
            module.autograd.set_detect_anomaly(*anomaly)


def found_in(engine: Engine, function: Callable[..., Any]) -> list[Any]:
    """The modules, optimizers, tensors and schedulers that a function can reach by its closure, its globals and its object."""
    found: list[Any] = []
    met: set[int] = set()

    def look(thing: Any, depth: int) -> None:
        if id(thing) in met or thing is None or isinstance(thing, (int, float, str, bytes, type, types.ModuleType)):
            return
        met.add(id(thing))
        if engine.is_module(thing) or engine.is_tensor(thing) or _is_optimizer(thing, engine):
            found.append(thing)
            return
        if _has_state(thing) and not hasattr(thing, "parameters") and not hasattr(thing, "param_groups"):
            found.append(thing)
            return
        if depth > DEEPEST:
            return
        if isinstance(thing, types.MethodType):
            look(thing.__self__, depth)
            look(thing.__func__, depth)
        elif isinstance(thing, types.FunctionType):
            for cell in thing.__closure__ or ():
                with contextlib.suppress(ValueError):  # a cell that is still empty
                    look(cell.cell_contents, depth + 1)
            for name in thing.__code__.co_names:
                if name in thing.__globals__:
                    look(thing.__globals__[name], depth + 1)
            for default in (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()):
                look(default, depth + 1)
        elif isinstance(thing, dict):
            for one in list(thing.values())[:WIDEST]:
                look(one, depth + 1)
        elif isinstance(thing, (list, tuple, set)):
            for one in list(thing)[:WIDEST]:
                look(one, depth + 1)
        elif hasattr(thing, "func") and hasattr(thing, "args"):  # functools.partial
            look((thing.func, thing.args, getattr(thing, "keywords", {})), depth)
        elif hasattr(thing, "__dict__"):
            look(vars(thing), depth + 1)

    look(function, 0)
    return found


def _is_optimizer(thing: Any, engine: Engine) -> bool:
    return isinstance(thing, engine.module.optim.Optimizer)


def _has_state(thing: Any) -> bool:
    return callable(getattr(thing, "state_dict", None)) and callable(getattr(thing, "load_state_dict", None))


def _keep(engine: Engine, thing: Any) -> Callable[[], None]:
    if engine.is_module(thing):
        return _keep_module(engine, thing)
    if engine.is_tensor(thing):
        return _keep_tensor(engine, thing)
    if _is_optimizer(thing, engine):
        return _keep_optimizer(engine, thing)
    state = copy.deepcopy(thing.state_dict())
    return lambda: thing.load_state_dict(state)


def _keep_tensor(engine: Engine, tensor: Any) -> Callable[[], None]:
    if not tensor.is_leaf:  # part of a graph, which belongs to the program
        return lambda: None
    requires_grad, grad = tensor.requires_grad, tensor.grad
    with engine.quietly(), engine.module.no_grad():
        numbers = tensor.detach().clone()
        grad_numbers = None if grad is None else grad.detach().clone()

    def put_back() -> None:
        with engine.quietly(), engine.module.no_grad():
            if tensor.is_leaf and tensor.requires_grad != requires_grad:
                tensor.requires_grad_(requires_grad)
            _write(engine, tensor, numbers)
            if grad is not None:
                _write(engine, grad, grad_numbers)
            tensor.grad = grad

    return put_back


def _write(engine: Engine, tensor: Any, numbers: Any) -> None:
    """Write through `.data`, which counts no version, and only if something changed."""
    if tensor.shape == numbers.shape and (engine.array(tensor) == engine.array(numbers)).all():
        return
    if tensor.shape == numbers.shape:
        tensor.data.copy_(numbers)
    else:
        tensor.data = numbers


def _keep_module(engine: Engine, root: Any) -> Callable[[], None]:
    restore: list[Callable[[], None]] = []
    for module in root.modules():
        own = (*module.parameters(recurse=False), *module.buffers(recurse=False))
        restore += [_keep_tensor(engine, tensor) for tensor in own]
        restore.append(functools.partial(_put_back_tables, module, module.training, _tables(module)))

    def all_back() -> None:
        for each in reversed(restore):
            each()

    return all_back


def _tables(module: Any) -> dict[str, dict[Any, Any]]:
    """The hooks of a module, and what is registered in it."""
    names = ("_parameters", "_buffers", "_modules")
    tables = {name: one for name, one in vars(module).items() if name.endswith("hooks") or name in names}
    return {name: one.copy() for name, one in tables.items() if isinstance(one, dict)}


def _put_back_tables(module: Any, training: bool, tables: dict[str, dict[Any, Any]]) -> None:
    module.training = training
    for name, table in tables.items():
        now = vars(module)[name]
        if [(key, id(one)) for key, one in now.items()] != [(key, id(one)) for key, one in table.items()]:
            now.clear()
            now.update(table)


def _keep_optimizer(engine: Engine, optimizer: Any) -> Callable[[], None]:
    state = {key: _copied(engine, kept) for key, kept in optimizer.state.items()}
    groups = [
        {name: _copied(engine, item) if name != "params" else list(item) for name, item in group.items()}
        for group in optimizer.param_groups
    ]
    tensors = [_keep_tensor(engine, tensor) for group in optimizer.param_groups for tensor in group["params"]]

    def put_back() -> None:
        optimizer.state.clear()
        optimizer.state.update(state)
        for group, kept in zip(optimizer.param_groups, groups, strict=False):
            group.clear()
            group.update(kept)
        del optimizer.param_groups[len(groups) :]
        for each in tensors:
            each()

    return put_back


def _copied(engine: Engine, thing: Any) -> Any:
    with engine.quietly():
        if engine.is_tensor(thing):
            return thing.detach().clone()
        if isinstance(thing, dict):
            return {name: _copied(engine, item) for name, item in thing.items()}
        if isinstance(thing, list):
            return [_copied(engine, item) for item in thing]
    return thing
