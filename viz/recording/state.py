"""Puts back what a run changes: modules, optimizers and tensors, what they keep as Python objects, and settings."""

from __future__ import annotations

import contextlib
import copyreg
import functools
import itertools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from viz.engines import Engine
from viz.recording.graph import Graph
from viz.recording.own import named
from viz.recording.reader import Reader
from viz.recording.unseen import Reading

DEEPEST = 4  # levels of lists, dicts and objects that are searched for modules, optimizers and tensors
WIDEST = 200  # things in each of them
LOOKED_AT = 20_000  # objects; a model that holds more, such as its data, is put back as far as these go
SIMPLE = {int, float, bool, str, bytes, type(None), type, range, FunctionType, ModuleType}  # hold nothing that changes
GENERATORS = (("get_state", "set_state"), ("getstate", "setstate"))  # of PyTorch, of Python
HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")  # of a tensor, as PyTorch calls them


@contextlib.contextmanager
def as_before(engine: Engine, things: list[Any], graph: Graph | None = None) -> Iterator[Kept]:
    """A context that puts back modules, optimizers and tensors, with all that they hold, random numbers, and settings.

    With a graph it is for one call of a model: few settings change, and parameters are too large to copy before they
    change. `about_to_write` copies them then. Where code that Python does not see writes to one, the graph says so.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(engine.same_randomness())
        stack.enter_context(engine.unchanged() if graph is None else contextlib.nullcontext())
        stack.callback(engine.module.set_grad_enabled, engine.module.is_grad_enabled())
        kept = Kept(engine, things, graph)
        stack.callback(kept.put_back)
        yield kept


def found_in(engine: Engine, holder: Any) -> list[Any]:
    """What has a state and is held by something: by a function in its closure, its globals, its object."""
    containers: list[Any] = []
    met: set[int] = set()

    def look(thing: Any, depth: int) -> None:
        if id(thing) in met or thing is None or isinstance(thing, (int, float, str, bytes, type, ModuleType)):
            return
        met.add(id(thing))
        if engine.is_module(thing) or engine.is_tensor(thing) or _has_state(engine, thing) or _draws(thing):
            containers.append(thing)
        elif depth <= DEEPEST:
            for part in itertools.islice(_parts(thing), WIDEST):
                look(part, depth + 1)

    look(holder, 0)
    return containers


def _parts(thing: Any) -> Iterable[Any]:
    """What a thing holds."""
    if isinstance(thing, MethodType):
        return thing.__self__, thing.__func__
    if isinstance(thing, FunctionType):
        return [module for _, module in named(thing)]
    if isinstance(thing, functools.partial):
        return thing.func, *thing.args, *thing.keywords.values()
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, (list, tuple, set)):
        return list(thing)
    return list(getattr(thing, "__dict__", {}).values())


def _has_state(engine: Engine, thing: Any) -> bool:
    """Whether it keeps a state, as an optimizer or scheduler does; a module or optimizer of another engine does not."""
    keeps = all(callable(getattr(thing, name, None)) for name in ("state_dict", "load_state_dict"))
    others = hasattr(thing, "parameters") or hasattr(thing, "param_groups")
    return keeps and (not others or isinstance(thing, engine.module.optim.Optimizer))


def _draws(thing: Any) -> tuple[str, str] | None:
    """The methods that read and set the state of a source of random numbers; None of anything else."""
    pairs = (pair for pair in GENERATORS if all(callable(getattr(type(thing), name, None)) for name in pair))
    return next(pairs, None)


class Kept:
    """What is reachable from some things, and how it was."""

    def __init__(self, engine: Engine, things: list[Any], graph: Graph | None) -> None:
        self._engine, self._graph, self._late = engine, graph or Graph(), graph is not None
        self._tensors: dict[int, _Tensor] = {}
        self._containers: list[tuple[Any, list[Any]]] = []
        self._settings: list[tuple[Callable[[Any], Any], Any]] = []
        modules = [thing for thing in things if engine.is_module(thing)]
        parameters = [pair for module in modules for pair in engine.held(module)]
        self._paths = {id(parameter): path for path, parameter in parameters}
        known: set[int] = set()
        # The last first: tensors before what may hold very much.
        stack = [
            *things,
            *(buffer for module in modules for _, buffer in engine.held(module, "_buffers")),
            *(parameter for _, parameter in parameters),
        ]
        while stack and len(known) < LOOKED_AT:
            with Reading(engine, self._graph):  # and go on after a thing that cannot be read
                self._look(stack, known)

    def about_to_write(self, name: str, tensors: list[Any]) -> None:
        """A call begins: copy the parameters that it is about to write to, or the gradients that a pass adds to."""
        places = {self._engine.storage(tensor) for tensor in tensors} - {0}
        for kept in self._tensors.values():
            if kept.is_gradient if name == "backward" else kept.place in places:
                kept.copy()

    def _look(self, stack: list[Any], known: set[int]) -> None:
        while stack and len(known) < LOOKED_AT:
            thing = stack.pop()
            if id(thing) not in known:
                known.add(id(thing))
                stack += [part for part in self._keep(thing) if type(part) not in SIMPLE]

    def _keep(self, thing: Any) -> Iterable[Any]:
        """Note how a thing is, and return what it holds."""
        if isinstance(thing, (dict, list, deque, set)):
            self._containers.append((thing, _items(thing)))
            return thing.values() if isinstance(thing, dict) else thing
        if self._engine.is_module(thing):
            put = functools.partial(object.__setattr__, thing, "__class__")  # a lazy one changes it
            self._settings.append((put, type(thing)))
            return [vars(thing)]
        if self._engine.is_tensor(thing):
            if self._engine.is_ready(thing):
                self._keep_tensor(thing, self._paths.get(id(thing)))
            else:
                data = "_data" if hasattr(thing, "_data") else "data"  # of a lazy tensor ours refuses `data`
                before = {"grad": None, data: getattr(thing, data), "__class__": type(thing)}
                self._settings += [(functools.partial(setattr, thing, name), value) for name, value in before.items()]
                self._settings.append((functools.partial(self._engine.set_version, thing), Reader.version(thing)))
            return ()
        if isinstance(thing, (tuple, frozenset)):
            return thing
        if isinstance(thing, np.random.Generator):
            source = thing.bit_generator
            self._settings.append((functools.partial(setattr, source, "state"), source.state))
        if isinstance(thing, np.ndarray) and thing.flags.writeable:
            self._settings.append((functools.partial(np.copyto, thing), thing.copy()))
        if names := _draws(thing):
            get, put = (getattr(thing, name) for name in names)
            self._settings.append((put, get()))
            return ()
        of_engine = type(thing).__module__.partition(".")[0] == self._engine.module.__name__
        closed = isinstance(thing, type) or (of_engine and not _has_state(self._engine, thing))
        return () if closed else self._attributes(thing)

    def _attributes(self, thing: Any) -> list[Any]:
        """What an object holds, in its dict and in its slots."""
        slots = {
            slot: getattr(thing, slot)
            for slot in copyreg._slotnames(type(thing))  # type: ignore[attr-defined]
            if hasattr(thing, slot)
        }
        self._settings += [(functools.partial(object.__setattr__, thing, slot), value) for slot, value in slots.items()]
        return [*slots.values(), *([vars(thing)] if hasattr(thing, "__dict__") else [])]

    def _keep_tensor(self, tensor: Any, path: str | None, is_gradient: bool = False) -> None:
        """Note the state of a tensor and its gradient; copy their numbers, except of parameters that may stay as is."""
        if id(tensor) in self._tensors:
            return
        kept = self._tensors[id(tensor)] = _Tensor(self._engine, tensor, path, is_gradient)
        if kept.grad is not None:
            self._keep_tensor(kept.grad, path and f"{path}.grad", True)
        if not self._late or path is None:
            kept.copy()

    def put_back(self) -> None:
        """Put back whatever has changed."""
        for thing, before in self._containers:
            now = _items(thing)
            if len(now) != len(before) or not all(map(operator.is_, now, before)):
                thing.clear()
                if isinstance(thing, dict):
                    thing.update(zip(before[: len(before) // 2], before[len(before) // 2 :], strict=True))
                else:
                    (thing.update if isinstance(thing, set) else thing.extend)(before)
        for put, state in self._settings:
            put(state)
        for kept in self._tensors.values():
            with Reading(self._engine, self._graph), self._engine.module.no_grad():
                kept.put_back()
        written = [
            tensor.path
            for tensor in self._tensors.values()
            if tensor.path and Reader.version(tensor.tensor) != tensor.version
        ]
        if written:
            self._graph.note = f"{self._graph.note} forward wrote to {written[0]}, which stays as it is now.".strip()


class _Tensor:
    """A tensor as it was: where its numbers are, its gradient and hooks, and, once copied, the numbers themselves."""

    def __init__(self, engine: Engine, tensor: Any, path: str | None, is_gradient: bool) -> None:
        self._engine, self.tensor, self.path, self.is_gradient = engine, tensor, path, is_gradient
        self.version, self.data, self.place = Reader.version(tensor), tensor.data, engine.storage(tensor)
        self._leaf, self._requires_grad = tensor.is_leaf, tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else None
        self._hooks = {name: dict(getattr(tensor, name, None) or {}) for name in HOOKS}
        self._numbers: Any = None

    def copy(self) -> None:
        """Copy the numbers, if there are some to read; on meta a version alone."""
        engine, tensor = self._engine, self.tensor
        if self._numbers is None and (engine.device(tensor) == "meta" or not engine.why_unreadable(tensor)):
            self._numbers = self.tensor.detach().clone()

    def put_back(self) -> None:
        """Put back what has changed; through `.data`, which counts no version for a graph that saved this tensor."""
        tensor = self.tensor
        for name, before in self._hooks.items():
            table = getattr(tensor, name, None)
            if table is not None and dict(table) != before:
                table.clear()
                table.update(before)
        if self._engine.storage(tensor) != self.place or self._engine.shape(tensor) != self._engine.shape(self.data):
            tensor.data = self.data
        if self._leaf and tensor.is_leaf:
            if tensor.requires_grad != self._requires_grad:
                tensor.requires_grad_(self._requires_grad)
            if tensor.grad is not self.grad:
                tensor.grad = self.grad
        if self._numbers is None:
            return
        if self._engine.is_freed(tensor):
            tensor.untyped_storage().resize_(self._numbers.untyped_storage().nbytes())
        if not self._same():
            tensor.data.copy_(self._numbers)
        if Reader.version(tensor) != self.version:
            self._engine.set_version(tensor, self.version)

    def _same(self) -> bool:
        with contextlib.suppress(NotImplementedError):  # of a sparse tensor
            return bool(self._engine.module.equal(self.tensor, self._numbers))
        return False


def writes(name: str) -> bool:
    """Whether a call of this name writes: `backward` to gradients; `add_`, `__setitem__` and `__iadd__` to a tensor."""
    return name == "backward" or (name.endswith("_") and (name[-2:-1] != "_" or name.startswith(("__i", "__set"))))


def _items(thing: Any) -> list[Any]:
    """What a container holds, to be compared by identity: of a dict its keys, then its values."""
    return [*thing, *thing.values()] if isinstance(thing, dict) else list(thing)
