"""What is put around the engine's functions while a program is watched. It is removed at the end."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from viz.diagnosis.functions import check_function
from viz.diagnosis.observation import Moment, Write
from viz.diagnosis.watching.modules import Modules
from viz.diagnosis.watching.ops import Ops
from viz.diagnosis.watching.optimizers import Optimizers
from viz.diagnosis.watching.watch import Call, Watch


@contextmanager
def surrounded(watch: Watch, ops: Ops, modules: Modules, optimizers: Optimizers) -> Iterator[None]:
    """A context in which modules, optimizers, initialisers, custom Functions and `.data` are seen, and warnings are not shown."""
    engine = watch.engine
    nn, optim = engine.module.nn, engine.module.optim
    replaced = _Replaced()

    def heard(owner: Any, name: str, then: Callable[[Call], None], first: Any = None, inside: bool = True) -> None:
        replaced.put(owner, name, functools.partial(_heard, watch, then, first, inside))

    replaced.put(nn.Module, "__call__", modules.around_call)
    heard(nn.Module, "__init__", modules.made)
    heard(nn.Module, "train", modules.switched, inside=False)
    heard(nn.Module, "state_dict", modules.state_taken)
    heard(nn.Module, "load_state_dict", modules.loaded, first=modules.loads)
    replaced.put(nn.Module, "zero_grad", optimizers.around_zero)
    replaced.put(optim.Optimizer, "zero_grad", optimizers.around_zero)
    replaced.put(optim.Optimizer, "add_param_group", optimizers.around_group)
    stepping: set[type] = set()

    def watch_steps(kind: type) -> None:
        for one in kind.__mro__:
            if "step" in vars(one) and one not in stepping:
                stepping.add(one)
                replaced.put(one, "step", optimizers.around_step)

    optimizers.met = watch_steps  # a class that the program defines, or that is imported on first use
    for kind in (optim.Optimizer, *_below(optim.Optimizer)):
        watch_steps(kind)
    schedulers = optim.lr_scheduler
    for scheduler in {schedulers.LRScheduler, schedulers.ReduceLROnPlateau}:  # the second calls no __init__ but its own
        heard(scheduler, "__init__", optimizers.scheduled)
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_") and callable(getattr(nn.init, name)):
            heard(nn.init, name, functools.partial(_initialised, watch, ops, name), inside=False)
    for name in ("manual_seed", "seed"):
        heard(engine.module, name, functools.partial(_seeded, watch))
    if "__new__" in vars(nn.Parameter):
        made = functools.partial(_by_hand, watch, ops)
        replaced.put(nn.Parameter, "__new__", lambda make: staticmethod(_heard(watch, made, None, True, make)))
    applied = inspect.getattr_static(engine.function_type, "apply")
    replaced.put(engine.function_type, "apply", lambda shown: classmethod(_applied(watch, ops, shown, applied)))
    _properties(watch, ops, engine.tensor_type, replaced)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        replaced.undo()


def _heard(watch: Watch, then: Callable[[Call], None], first: Any, inside: bool, function: Any) -> Any:
    """A function of the engine whose calls are noted by `then`, and by `first` before they run; what runs inside is seen if `inside`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not watch.looking:
            return function(*args, **kwargs)
        call = Call(watch, sys._getframe(1), args, kwargs)
        if first is not None:
            with watch.aside():
                first(call)
        watch.within += not inside
        try:
            call.result = function(*args, **kwargs)
        finally:
            watch.within -= not inside
        with watch.aside():
            then(call)
        return call.result

    return wrapped


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


def _seeded(watch: Watch, call: Call) -> None:
    """`manual_seed` and `seed` of the engine."""
    watch.seen.moments.append(Moment("seed", call.line, watch.following()))


def _initialised(watch: Watch, ops: Ops, name: str, call: Call) -> None:
    """`nn.init.…_` in a line of the program."""
    values = ops.values
    tensor: Any = (*call.args, call.kwargs.get("tensor"))[0]
    known = watch.engine.is_tensor(tensor) and (tensor.requires_grad or values.known_leaf(tensor) is not None)
    if call.own and known:
        leaf = watch.seen.leaves[values.leaf(tensor)]
        leaf.writes.append(Write("init", name, call.line, len(watch.seen.passes), watch.following()))


def _by_hand(watch: Watch, ops: Ops, call: Call) -> None:
    """`nn.Parameter(…)` in a line of the program, which no op shows."""
    if call.own and watch.engine.is_tensor(call.result):
        watch.seen.leaves[ops.values.leaf(call.result, call.line)].by_hand = True


def _applied(watch: Watch, ops: Ops, shown: Any, applied: Any) -> Any:
    """`Function.apply`, which the mode does not show: it counts as one op, whatever ran inside.

    `applied` is the class's own descriptor: a classmethod, which PyTorch writes in Python up to 2.13 and in C since.
    """
    checked: set[type] = set()

    @functools.wraps(shown)
    def wrapped(kind: Any, *args: Any, **kwargs: Any) -> Any:
        seen, apply = watch.seen, applied.__get__(None, kind)
        if not watch.looking:
            return apply(*args, **kwargs)
        lines, where = watch.places.stack(sys._getframe(1))
        tensors = watch.tensors(args)
        inputs, versions = ops.before(tensors, lines)
        first, known = len(seen.ops), len(seen.values)
        result = apply(*args, **kwargs)
        with watch.aside():
            del seen.ops[first:]
            for leaf in seen.leaves:
                while leaf.used_by and leaf.used_by[-1] >= first:
                    leaf.used_by.pop()
            for value in seen.values[known:]:
                value.op = None
            ops.ran(f"{kind.__name__}.apply", lines, where, inputs, tensors, versions, result, args, kwargs)
            own = kind.__module__.partition(".")[0] not in (watch.engine.name, "viz")
            if kind not in checked and watch.module.is_grad_enabled() and own:
                checked.add(kind)
                found = check_function(watch.engine, kind, args, watch.places, next(iter(lines), None))
                seen.functions += [found] if found is not None else []
        return result

    return wrapped


def _properties(watch: Watch, ops: Ops, kind: Any, replaced: _Replaced) -> None:
    """`.data` and `.grad` of an engine whose mode does not show them: they are Python's properties."""
    data, grad = vars(kind).get("data"), vars(kind).get("grad")

    def read(tensor: Any) -> Any:
        """`tensor.data`."""
        if watch.looking and watch.places.source.owns(sys._getframe(1)):
            return ops.called(_named_data, (tensor,), {})
        return data.fget(tensor)  # type: ignore[union-attr]

    def _named_data(tensor: Any) -> Any:
        return data.fget(tensor)  # type: ignore[union-attr]

    _named_data.__name__ = "data"

    def write(tensor: Any, new: Any) -> None:
        """`tensor.data = …`."""
        if watch.looking and watch.engine.is_tensor(new):
            ops.writes.set_data(lambda: data.fset(tensor, new), tensor, new)  # type: ignore[union-attr]
        else:
            data.fset(tensor, new)  # type: ignore[union-attr]

    def asked(tensor: Any) -> Any:
        """`tensor.grad`."""
        if watch.looking and watch.places.source.owns(sys._getframe(1)):
            ops.asked(tensor)
        return grad.fget(tensor)  # type: ignore[union-attr]

    if isinstance(data, property):
        replaced.put(kind, "data", lambda _: property(read, write, data.fdel))
    if isinstance(grad, property):
        replaced.put(kind, "grad", lambda _: property(asked, grad.fset, grad.fdel))


def _below(kind: type) -> list[type]:
    found: list[type] = []
    stack = [kind]
    while stack:
        one = stack.pop()
        if one not in found:
            found.append(one)
            stack += one.__subclasses__()
    return found
