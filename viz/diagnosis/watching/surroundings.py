"""Wrappers around the engine while a program is watched. They are removed at the end."""

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
from viz.diagnosis.watching.watch import Watch


@contextmanager
def surrounded(watch: Watch, ops: Ops, modules: Modules, optimizers: Optimizers) -> Iterator[None]:
    """A context in which modules, optimizers, initialisers, seeds, custom Functions and warnings are seen."""
    engine = watch.engine
    nn, optim = engine.module.nn, engine.module.optim
    around = _Around(watch, ops)
    replaced = _Replaced()
    replaced.put(nn.Module, "__call__", modules.around_call)
    replaced.put(nn.Module, "__init__", modules.around_init)
    replaced.put(nn.Module, "train", modules.around_train)
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
        replaced.put(scheduler, "__init__", optimizers.around_schedule)
    applied = inspect.getattr_static(engine.function_type, "apply")
    replaced.put(engine.function_type, "apply", lambda apply: classmethod(around.apply(apply, applied)))
    tensor_type: Any = engine.tensor_type
    data = vars(tensor_type).get("data")
    if isinstance(data, property) and data.fget is not None:  # this engine's mode does not show it
        shown = property(around.read(data.fget), around.write(data.fset), data.fdel)
        replaced.put(tensor_type, "data", lambda _: shown)
    grad = vars(tensor_type).get("grad")
    if isinstance(grad, property) and grad.fget is not None:
        asked = property(around.grad(grad.fget), grad.fset, grad.fdel)
        replaced.put(tensor_type, "grad", lambda _: asked)
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_") and callable(getattr(nn.init, name)):
            replaced.put(nn.init, name, functools.partial(around.initialiser, name))
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        replaced.put(nn.utils, name, around.clip)
    if "__new__" in vars(nn.Parameter):
        replaced.put(nn.Parameter, "__new__", lambda make: staticmethod(around.parameter(make)))
    replaced.put(nn.Parameter, "__deepcopy__", around.copying)
    replaced.put(nn.Module, "state_dict", modules.around_state)
    replaced.put(nn.Module, "load_state_dict", modules.around_load)
    for name in ("manual_seed", "seed"):
        replaced.put(engine.module, name, around.seed)
    try:
        with _hearing(watch):
            yield
    finally:
        replaced.undo()


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


@contextmanager
def _hearing(watch: Watch) -> Iterator[None]:
    """Collect the warnings that the program gets, each with its line."""

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        if not watch.within:
            watch.seen.warnings.append((str(message), watch.line()))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


class _Around:
    """The replacements of initialisers, seeds, `Function.apply` and `.data`."""

    def __init__(self, watch: Watch, ops: Ops) -> None:
        self.watch = watch
        self.ops = ops
        self._checked: set[type] = set()

    def initialiser(self, name: str, initialise: Any) -> Any:
        """`nn.init.…_`."""

        @functools.wraps(initialise)
        def wrapped(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            watch = self.watch
            if not watch.looking or not watch.engine.is_tensor(tensor):
                return initialise(tensor, *args, **kwargs)
            lines = watch.stack()
            own = bool(lines) and watch.places.source.owns(sys._getframe(1))
            watch.within += 1
            try:
                result = initialise(tensor, *args, **kwargs)
            finally:
                watch.within -= 1
            values = self.ops.values
            if own and (tensor.requires_grad or values.known_leaf(tensor) is not None):
                leaf = watch.seen.leaves[values.leaf(tensor)]
                leaf.writes.append(Write("init", name, lines[0], len(watch.seen.passes), watch.following()))
            return result

        return wrapped

    def seed(self, seed: Any) -> Any:
        """`manual_seed` and `seed` of the engine."""

        @functools.wraps(seed)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if self.watch.active:
                moment = Moment("seed", self.watch.line(), self.watch.following(), text=self.watch.engine.name)
                self.watch.seen.moments.append(moment)
            return seed(*args, **kwargs)

        return wrapped

    def clip(self, clip: Any) -> Any:
        """`clip_grad_norm_` and `clip_grad_value_`: how large the gradients are before and after."""

        @functools.wraps(clip)
        def wrapped(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            watch = self.watch
            if not watch.looking:
                return clip(parameters, *args, **kwargs)
            parameters = [parameters] if watch.engine.is_tensor(parameters) else list(parameters)
            line, before = watch.line(), self._largest(parameters)
            result = clip(parameters, *args, **kwargs)
            watch.seen.clipped.append((line, before, self._largest(parameters)))
            return result

        return wrapped

    def _largest(self, parameters: list[Any]) -> float:
        with self.watch.aside():
            return max((self.watch.peak(p.grad) or 0.0 for p in parameters if p.grad is not None), default=0.0)
        return 0.0

    def parameter(self, make: Any) -> Any:
        """`nn.Parameter(…)` in a line of the program, which no op shows."""

        @functools.wraps(make)
        def __new__(kind: type, *args: Any, **kwargs: Any) -> Any:
            made = make(kind, *args, **kwargs)
            watch = self.watch
            if watch.looking and watch.places.source.owns(sys._getframe(1)) and watch.engine.is_tensor(made):
                line = watch.line()
                with watch.aside():
                    leaf = watch.seen.leaves[self.ops.values.leaf(made, line)]
                    leaf.by_hand = True
                    given = args[0] if args else kwargs.get("data")
                    if (
                        given is not None
                        and watch.engine.is_tensor(given)
                        and given.requires_grad
                        and not watch.is_leaf(given)
                    ):
                        leaf.made_of = self.ops.values.known(given)
            return made

        return __new__

    def copying(self, copy: Any) -> Any:
        """`copy.deepcopy` of a parameter, as of a whole model: which line copied it, and from which."""

        @functools.wraps(copy)
        def __deepcopy__(tensor: Any, memo: Any) -> Any:
            made = copy(tensor, memo)
            watch, values = self.watch, self.ops.values
            if watch.looking and (original := values.known_leaf(tensor)) is not None and made is not tensor:
                line = watch.line()
                with watch.aside():
                    leaf = watch.seen.leaves[values.leaf(made, line)]
                    leaf.copied, leaf.copied_at = original.nr, watch.following()
                    leaf.copied_in = line
            return made

        return __deepcopy__

    def apply(self, shown: Any, applied: Any) -> Any:
        """`Function.apply`, which the mode does not show: it counts as one op, whatever ran inside.

        `applied` is the class's own descriptor: a classmethod, which PyTorch writes in Python up to 2.13 and in C since.
        """

        @functools.wraps(shown)
        def wrapped(kind: Any, *args: Any, **kwargs: Any) -> Any:
            watch, seen = self.watch, self.watch.seen
            apply = applied.__get__(None, kind)
            if not watch.looking:
                return apply(*args, **kwargs)
            lines, where = watch.places.stack(sys._getframe(1))
            tensors = watch.tensors(args)
            inputs, versions = self.ops.before(tensors, lines)
            ops = len(seen.ops)
            result = apply(*args, **kwargs)
            with watch.aside():
                del seen.ops[ops:]
                for leaf in seen.leaves:
                    while leaf.used_by and leaf.used_by[-1] >= ops:
                        leaf.used_by.pop()
                for value in seen.values:
                    if value.op is not None and value.op >= ops:
                        value.op = None
                name = f"{kind.__name__}.apply"
                self.ops.ran(name, lines, where, inputs, tensors, versions, result, args, kwargs)
                if kind not in self._checked and watch.module.is_grad_enabled() and self._is_own(kind):
                    self._checked.add(kind)
                    found = check_function(watch.engine, kind, args, watch.places, next(iter(lines), None))
                    if found is not None:
                        seen.functions.append(found)
            return result

        return wrapped

    def _is_own(self, kind: type) -> bool:
        return kind.__module__.partition(".")[0] not in (self.watch.engine.name, "viz")

    def read(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`tensor.data`."""

        def data(tensor: Any) -> Any:
            if self.watch.looking and self.watch.places.source.owns(sys._getframe(1)):
                return self.ops.called(_Named("data", read), (tensor,), {})
            return read(tensor)

        return data

    def grad(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`tensor.grad`."""

        def grad(tensor: Any) -> Any:
            if self.watch.looking and self.watch.places.source.owns(sys._getframe(1)):
                self.ops.asked(tensor)
            return read(tensor)

        return grad

    def write(self, write: Callable[[Any, Any], Any] | None) -> Any:
        """`tensor.data = …`."""
        if write is None:
            return None

        def data(tensor: Any, new: Any) -> None:
            if self.watch.looking and self.watch.engine.is_tensor(new):
                self.ops.writes.set_data(lambda: write(tensor, new), tensor, new)
            else:
                write(tensor, new)

        return data


class _Named:
    """A function under another name."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def _below(kind: type) -> list[type]:
    found: list[type] = []
    stack = [kind]
    while stack:
        one = stack.pop()
        if one not in found:
            found.append(one)
            stack += one.__subclasses__()
    return found
