"""What is put around the engine's functions while a program is watched. It is removed at the end."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from viz.diagnosis.watching.modules import Modules
from viz.diagnosis.watching.ops import Ops
from viz.diagnosis.watching.optimizers import Optimizers
from viz.diagnosis.watching.watch import Call, Hears, Noting, Watch


@contextmanager
def surrounded(watch: Watch, ops: Ops, modules: Modules, optimizers: Optimizers) -> Iterator[None]:
    """A context in which modules, optimizers, initialisers, custom Functions and `.data` are seen, and warnings are not shown."""
    engine = watch.engine
    nn, optim = engine.module.nn, engine.module.optim
    replaced = _Replaced()

    def heard(owner: Any, name: str, hears: Hears, **how: bool) -> None:
        replaced.put(owner, name, lambda function: _heard(watch, hears, function, **how))

    heard(nn.Module, "__call__", modules.runs)
    heard(nn.Module, "__init__", modules.made)
    heard(nn.Module, "train", modules.switched, hidden=True)
    heard(nn.Module, "state_dict", modules.state_taken)
    heard(nn.Module, "load_state_dict", modules.loaded)
    heard(nn.Module, "zero_grad", optimizers.zeroes, hidden=True, always=True)
    heard(optim.Optimizer, "zero_grad", optimizers.zeroes, hidden=True, always=True)
    heard(optim.Optimizer, "add_param_group", optimizers.takes, always=True)
    stepping: set[type] = set()

    def watch_steps(kind: type) -> None:
        for one in kind.__mro__:
            if "step" in vars(one) and one not in stepping:
                stepping.add(one)
                heard(one, "step", optimizers.steps, hidden=True, always=True)

    optimizers.met = watch_steps  # a class that the program defines, or that is imported on first use
    for kind in (optim.Optimizer, *_below(optim.Optimizer)):
        watch_steps(kind)
    schedulers = optim.lr_scheduler
    for scheduler in {schedulers.LRScheduler, schedulers.ReduceLROnPlateau}:  # the second calls no __init__ but its own
        heard(scheduler, "__init__", optimizers.scheduled)
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_") and callable(getattr(nn.init, name)):
            heard(nn.init, name, functools.partial(ops.writes.initialised, name), hidden=True)
    for name in ("manual_seed", "seed"):
        heard(engine.module, name, _seeded)
    if "__new__" in vars(nn.Parameter):
        make = _heard(watch, ops.values.by_hand, nn.Parameter.__new__)
        replaced.put(nn.Parameter, "__new__", lambda _: staticmethod(make))
    applied = inspect.getattr_static(engine.function_type, "apply")  # a classmethod, in Python or in C
    apply = _heard(watch, ops.applied, lambda kind, *args, **kwargs: applied.__get__(None, kind)(*args, **kwargs))
    replaced.put(engine.function_type, "apply", lambda shown: classmethod(functools.wraps(shown)(apply)))
    data, grad = vars(engine.tensor_type).get("data"), vars(engine.tensor_type).get("grad")
    if isinstance(data, property) and isinstance(grad, property):  # which the engine's mode does not show
        read = _heard(watch, functools.partial(ops.runs, "data"), data.fget, own=True)
        write = _heard(watch, ops.writes.set_data, data.fset)
        asked = _heard(watch, ops.asks, grad.fget, own=True)
        replaced.put(engine.tensor_type, "data", lambda _: property(read, write, data.fdel))
        replaced.put(engine.tensor_type, "grad", lambda _: property(asked, grad.fset, grad.fdel))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        replaced.undo()


def _heard(
    watch: Watch, hears: Hears, function: Any, hidden: bool = False, always: bool = False, own: bool = False
) -> Any:
    """A function of the engine whose calls are noted: `always`, or not while nobody looks; with `own` only those in a line of the program."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        unheard = not watch.active or watch.within or (watch.skipping and not always)
        if unheard or (own and not watch.places.source.owns(frame)):
            return function(*args, **kwargs)
        return watch.heard(hears, function, Call(watch, frame, args, kwargs), hidden)

    return wrapped


def _seeded(call: Call) -> Noting:
    """`manual_seed` and `seed` of the engine."""
    yield
    call.watch.moment("seed", call.stack)


class _Replaced:
    """Replaced attributes of classes and modules, until they are restored."""

    _ABSENT = object()

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace `owner.name` with the result of `make`."""
        self._before.append((owner, name, vars(owner).get(name, self._ABSENT)))
        setattr(owner, name, make(getattr(owner, name)))

    def undo(self) -> None:
        """Restore everything, the last replacement first."""
        for owner, name, before in reversed(self._before):
            if before is self._ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def _below(kind: type) -> list[type]:
    found: list[type] = []
    stack = [kind]
    while stack:
        one = stack.pop()
        if one not in found:
            found.append(one)
            stack += one.__subclasses__()
    return found
