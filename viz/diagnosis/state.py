"""Restores everything: weights, gradients, optimizers, modes, hooks and random numbers."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from viz.engines import Engine

DEEPEST = 4  # levels of lists, dicts and objects that are searched
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


def around(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables of the places around a function that it names; none of what is no function."""
    code, scope = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    if code is None:
        return {}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    outer = {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}  # some are still empty
    return {name: scope[name] for name in code.co_names if name in scope} | outer


def found_in(engine: Engine, function: Callable[..., Any]) -> list[Any]:
    """The modules, optimizers, tensors and schedulers that a function can reach by its closure, its globals and its object."""
    found: list[Any] = []
    met: set[int] = set()

    def look(thing: Any, depth: int) -> None:
        if id(thing) in met or thing is None or isinstance(thing, (int, float, str, bytes, type, types.ModuleType)):
            return
        met.add(id(thing))
        if engine.is_module(thing) or engine.is_tensor(thing) or _is_optimizer(thing, engine) or _has_state(thing):
            found.append(thing)
        elif depth <= DEEPEST:
            for one in itertools.islice(_parts(thing), WIDEST):
                look(one, depth + 1)

    look(function, 0)
    return found


def _parts(thing: Any) -> Iterable[Any]:
    """What a thing holds."""
    if isinstance(thing, types.MethodType):
        return thing.__self__, thing.__func__
    if isinstance(thing, types.FunctionType):
        return *around(thing).values(), *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()
    if isinstance(thing, functools.partial):
        return thing.func, *thing.args, *thing.keywords.values()
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, (list, tuple, set)):
        return list(thing)
    return list(getattr(thing, "__dict__", {}).values())


def _is_optimizer(thing: Any, engine: Engine) -> bool:
    return isinstance(thing, engine.module.optim.Optimizer)


def _has_state(thing: Any) -> bool:
    """Whether it is a scheduler, or what else keeps a state: neither a module nor an optimizer of another engine."""
    keeps = all(callable(getattr(thing, name, None)) for name in ("state_dict", "load_state_dict"))
    return keeps and not hasattr(thing, "parameters") and not hasattr(thing, "param_groups")


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
    kept = contextlib.ExitStack()  # it puts back what was kept last first
    for module in root.modules():
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            kept.callback(_keep_tensor(engine, tensor))
        kept.callback(_put_back_tables, module, module.training, _tables(module))
    return kept.close


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
