"""Puts a model back to what it was before it ran: its tensors, and what it keeps as Python objects."""

from __future__ import annotations

import contextlib
import copyreg
import functools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from viz.engines import Engine
from viz.recording.graph import Graph
from viz.recording.reader import Reader
from viz.recording.unseen import Reading

LOOKED_AT = 20_000  # objects; a model that holds more, such as its data, is put back as far as these go
SIMPLE = {int, float, bool, str, bytes, type(None), type, range, FunctionType, ModuleType}  # hold nothing that changes
GENERATORS = (("get_state", "set_state"), ("getstate", "setstate"))  # of PyTorch, of Python


@contextlib.contextmanager
def as_before(engine: Engine, model: Any, given: Any, graph: Graph) -> Iterator[Kept]:
    """A context that puts the model and what it is given back at its end: buffers, attributes, lists, generators, the grad mode.

    Parameters and their gradients are too large to copy before it is known that they change: `about_to_write` does then. Where
    code that Python does not see writes to a parameter, the graph says so.
    """
    grad_was_on = engine.module.is_grad_enabled()
    kept = Kept(engine, model, given, graph)
    try:
        yield kept
    finally:
        engine.module.set_grad_enabled(grad_was_on)
        kept.put_back()


class Kept:
    """What is reachable from a model, and how it was."""

    def __init__(self, engine: Engine, model: Any, given: Any, graph: Graph) -> None:
        self._engine, self._graph = engine, graph
        self._parameters = [_Parameter(path, one, engine) for path, one in model.named_parameters()]
        self._tensors: dict[int, tuple[Any, Any, int]] = {}  # those that are copied
        self._containers: list[tuple[Any, list[Any]]] = []
        self._settings: list[tuple[Callable[[Any], Any], Any]] = []
        known = {id(one.tensor) for one in self._parameters}
        stack = [model, *model.buffers(), given]
        while stack and len(known) < LOOKED_AT:
            with Reading(engine, graph):  # and go on after a thing that cannot be read
                self._look(stack, known)

    def about_to_write(self, name: str, tensors: list[Any]) -> None:
        """A call begins: copy the parameters that it is about to write to, and the gradients that a pass adds to."""
        if name == "backward":
            for one in self._parameters:
                if one.grad is not None:
                    self._copy(one.grad)
        else:
            places = {self._engine.storage(one) for one in tensors} - {0}
            for one in self._parameters:
                if one.place in places:
                    self._copy(one.tensor)

    def _look(self, stack: list[Any], known: set[int]) -> None:
        while stack and len(known) < LOOKED_AT:
            thing = stack.pop()
            if id(thing) not in known:
                known.add(id(thing))
                stack += [one for one in self._keep(thing) if type(one) not in SIMPLE]

    def _keep(self, thing: Any) -> Iterable[Any]:
        """Note how a thing is, and return what it holds."""
        if isinstance(thing, (dict, list, deque, set)):
            self._containers.append((thing, _items(thing)))
            return thing.values() if isinstance(thing, dict) else thing
        if self._engine.is_module(thing):
            return [vars(thing)]
        if self._engine.is_tensor(thing):
            if self._engine.is_ready(thing):
                self._copy(thing)
            return ()
        if isinstance(thing, (tuple, frozenset)):
            return thing
        if isinstance(thing, np.random.Generator):
            source = thing.bit_generator
            self._settings.append((functools.partial(setattr, source, "state"), source.state))
        for get, put in GENERATORS:
            if callable(getattr(type(thing), get, None)) and callable(getattr(type(thing), put, None)):
                self._settings.append((getattr(thing, put), getattr(thing, get)()))
                return ()
        of_engine = type(thing).__module__.partition(".")[0] == self._engine.module.__name__
        return () if of_engine or isinstance(thing, type) else self._attributes(thing)

    def _attributes(self, thing: Any) -> list[Any]:
        """What an object holds, in its dict and in its slots."""
        slots = {slot: getattr(thing, slot) for slot in copyreg._slotnames(type(thing)) if hasattr(thing, slot)}  # type: ignore[attr-defined]
        self._settings += [(functools.partial(object.__setattr__, thing, slot), one) for slot, one in slots.items()]
        return [*slots.values(), *([vars(thing)] if hasattr(thing, "__dict__") else [])]

    def _copy(self, tensor: Any) -> None:
        if id(tensor) not in self._tensors:
            self._tensors[id(tensor)] = tensor, tensor.detach().clone(), Reader.version(tensor)

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
        for one in self._parameters:
            one.put_back(self._engine)
        for tensor, before, version in self._tensors.values():
            with Reading(self._engine, self._graph), self._engine.module.no_grad():
                self._put_back(tensor, before, version)
        written = [one.path for one in self._parameters if Reader.version(one.tensor) != one.version]
        if written:
            self._graph.note = f"{self._graph.note} forward wrote to {written[0]}, which stays as it is now.".strip()

    def _put_back(self, tensor: Any, before: Any, version: int) -> None:
        same_shape = tensor.shape == before.shape
        if Reader.version(tensor) == version and same_shape and self._engine.module.equal(tensor, before):
            return
        if not same_shape:
            tensor.resize_(before.shape)
        tensor.data.copy_(before)  # of a graph that saved this tensor, no version may count
        if Reader.version(tensor) != version:
            self._engine.set_version(tensor, version)


class _Parameter:
    """A parameter: where its numbers are, and its gradient."""

    def __init__(self, path: str, tensor: Any, engine: Engine) -> None:
        self.path, self.tensor, self.version = path, tensor, Reader.version(tensor)
        self.grad, self.data, self.place = tensor.grad, tensor.data, engine.storage(tensor)

    def put_back(self, engine: Engine) -> None:
        if engine.storage(self.tensor) != self.place:
            self.tensor.data = self.data
        if self.tensor.grad is not self.grad:
            self.tensor.grad = self.grad


def writes(name: str) -> bool:
    """Whether a call of this name writes: `backward` to gradients; `add_`, `__setitem__` and `__iadd__` to a tensor."""
    return name == "backward" or (name.endswith("_") and (name[-2:-1] != "_" or name.startswith(("__i", "__set"))))


def _items(thing: Any) -> list[Any]:
    """What a container holds, to be compared by identity: of a dict its keys, then its values."""
    return [*thing, *thing.values()] if isinstance(thing, dict) else list(thing)
