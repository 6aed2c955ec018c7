"""Watches a running program: every op, pass, step and mode of either engine, as light summaries.

A function mode sees ops, hooks on nodes and leaves see gradients, and replaced methods of base classes, put back
afterwards, see modules and optimizers. Nothing is copied: of a tensor its shape and its largest magnitude are kept.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from types import FrameType
from typing import Any, cast

from viz.diagnosis.observation import Observation
from viz.diagnosis.places import Places
from viz.diagnosis.watching.modules import Modules
from viz.diagnosis.watching.names import Names
from viz.diagnosis.watching.ops import Ops
from viz.diagnosis.watching.optimizers import Optimizers
from viz.diagnosis.watching.passes import Passes
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Hears, Noting, Watch
from viz.diagnosis.watching.writes import Writes
from viz.engines import Engine
from viz.recording.unseen import warnings_in_place


class Observer:
    """Sees one run of a program; it is stopped after `most` backward passes."""

    def __init__(self, engine: Engine, places: Places, most: int | None = None) -> None:
        self._watch = watch = Watch(engine, places, most)
        self._replaced = _Replaced()
        self._values = values = Values(watch)
        self._writes = writes = Writes(watch, values)
        self._modules = Modules(watch, values, writes)
        names = Names(watch, values, self._modules)
        self._optimizers = Optimizers(watch, values, writes, names, self._meet)
        self._ops = Ops(watch, values, writes, Passes(watch, values, writes, names))
        self._mode = self._ops.mode()
        self._met: set[type] = set()  # classes whose `step` is heard
        self.seen: Observation = watch.seen
        self.taken = watch.taken
        self.learn = names.learn

    def introduce(self, thing: Any, name: str = "") -> None:
        """Register an existing module or optimizer; `name` is its name in the program."""
        with self._watch.aside:
            if self._watch.engine.is_module(thing):
                self._modules.know(thing, name)
            elif hasattr(thing, "param_groups"):
                self._optimizers.held(thing)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """A context that observes everything and shows no warnings. At its end it removes what it installed."""
        of_threads, filters = threading.gettrace(), cast("list[Any]", warnings.filters)
        threading.settrace(self._leave_thread)
        try:
            self._surround()
            with warnings_in_place(), warnings.catch_warnings(), self._mode:
                warnings.simplefilter("ignore")
                warnings.filterwarnings(
                    "default", "(divide by zero|invalid value|overflow) encountered", RuntimeWarning
                )
                warnings.showwarning, ours = self._warned, list(warnings.filters)
                self._watch.active = True
                try:
                    yield
                finally:  # those that the program has added stay
                    added = [rule for rule in warnings.filters if not any(rule is known for known in ours)]
                    filters[:0] = [rule for rule in added if rule not in filters]
        finally:
            threading.settrace(of_threads)
            self._replaced.undo()
            self._watch.active = False
            self._values.close()

    def _leave_thread(self, frame: FrameType, event: str, argument: Any) -> None:
        """Do not watch a thread that starts: a mode holds for one thread alone."""
        sys.settrace(None)
        self.seen.left_thread = True

    def _warned(self, message: Any, *how: Any, **more: Any) -> None:
        """What NumPy says of numbers that are not finite."""
        frame = sys._getframe(3)  # past the module of warnings, and who places them
        if self._watch.places.source.owns(frame):
            self.seen.warned.append((str(message), Call(self._watch, frame, (), {}).line))

    def _surround(self) -> None:
        """Hear of modules, optimizers, initialisers, custom Functions and `.data`."""
        engine, ops, modules, optimizers = self._watch.engine, self._ops, self._modules, self._optimizers
        nn, optim = engine.module.nn, engine.module.optim
        self._hear(nn.Module, "__call__", self._runs)
        self._hear(nn.Module, "__init__", modules.made)
        self._hear(nn.Module, "train", modules.switched, hidden=True, always=True)
        self._hear(nn.Module, "state_dict", modules.state_taken, always=True)
        self._hear(nn.Module, "load_state_dict", modules.loaded, always=True)
        for owner in (nn.Module, optim.Optimizer):
            self._hear(owner, "zero_grad", optimizers.zeroes, hidden=True, always=True)
        self._hear(optim.Optimizer, "add_param_group", optimizers.takes, always=True)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self._hear(nn.utils, name, optimizers.clips)
        self._meet(optim.Optimizer)
        if engine.swaps is not None:
            self._hear(engine.module.utils, "swap_tensors", self._values.swapped, hidden=True, always=True)
        for name in dir(nn.init):
            if name.endswith("_") and not name.startswith("_") and callable(getattr(nn.init, name)):
                self._hear(nn.init, name, functools.partial(self._writes.initialised, name), hidden=True)
        if "__new__" in vars(nn.Parameter):
            make = self._heard(self._values.by_hand, nn.Parameter.__new__)
            self._replaced.put(nn.Parameter, "__new__", lambda _: staticmethod(make))
        applied = inspect.getattr_static(engine.function_type, "apply")  # a classmethod, in Python or in C
        # Without a frame of ours around it: what it raises is the program's.
        apply = self._heard(ops.applied, getattr(applied, "__func__", applied))
        self._replaced.put(engine.function_type, "apply", lambda shown: classmethod(functools.wraps(shown)(apply)))
        data, grad = (inspect.getattr_static(engine.tensor_type, name) for name in ("data", "grad"))
        if isinstance(data, property) and isinstance(grad, property):  # which the engine's mode does not show
            read = self._heard(functools.partial(ops.runs, "data"), data.fget, own=True)
            write, asked = self._heard(self._writes.set_data, data.fset), self._heard(ops.asks, grad.fget, own=True)
            self._replaced.put(engine.tensor_type, "data", lambda _: property(read, write, data.fdel))
            self._replaced.put(engine.tensor_type, "grad", lambda _: property(asked, grad.fset, grad.fdel))

    def _runs(self, call: Call) -> Noting:
        """`module(…)`. One that the engine may run as a whole is one op, which runs without our mode, as without us."""
        watch, module, given = self._watch, call.args[0], call.args[1:]
        noting, own, above = [self._modules.runs(call)], call, None
        if fused := watch.engine.is_fused(module, (given, call.kwargs)):
            own = dataclasses.replace(call, args=(*given, *watch.engine.parameters(module)))
            noting.append(self._ops.runs(type(module).__name__, own))
            above = watch.engine.take_off(self._mode)
        for note in noting:
            next(note)
        watch.within += fused
        try:
            yield
        finally:
            watch.within -= fused
            if above is not None:
                watch.engine.put_on(self._mode, above)
            own.result = call.result
            for note in noting:
                next(note, None)

    def _meet(self, kind: type) -> None:
        """Hear of the steps of optimizers of a class and of its bases; the program may define or import it."""
        for base in kind.__mro__:
            if "step" in vars(base) and base not in self._met:
                self._met.add(base)
                self._hear(base, "step", self._optimizers.steps, hidden=True, always=True)
        derived: type
        for derived in kind.__subclasses__():
            self._meet(derived)

    def _hear(self, owner: Any, name: str, hears: Hears, **how: bool) -> None:
        self._replaced.put(owner, name, lambda function: self._heard(hears, function, **how))

    def _heard(self, hears: Hears, function: Any, hidden: bool = False, always: bool = False, own: bool = False) -> Any:
        """Wrap an engine function to note its calls: `always`, or while watching; `own`: only from program lines."""
        watch, is_traced = self._watch, self._watch.engine.is_traced

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if is_traced():  # first: a compiler that reads this function would stop at what follows
                return function(*args, **kwargs)
            frame = sys._getframe(1)
            unheard = not watch.active or watch.within or (watch.skipping and not always) or get_ident() != watch.thread
            if unheard or (own and not watch.places.source.owns(frame)):
                return function(*args, **kwargs)
            return watch.heard(hears, function, Call(watch, frame, args, kwargs), hidden)

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
