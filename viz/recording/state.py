"""Puts a model back to what it was before it ran: its tensors, and what it keeps as Python objects."""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from viz.engines import Engine
from viz.recording.graph import Graph
from viz.recording.unseen import Reading

LOOKED_AT = 20_000  # objects; a model that holds more, such as its data, is put back as far as these go
SIMPLE = {int, float, bool, str, bytes, type(None), type, range, FunctionType, ModuleType}  # hold nothing that changes
GENERATORS = (("get_state", "set_state"), ("getstate", "setstate"))  # of PyTorch, of Python


@contextlib.contextmanager
def as_before(engine: Engine, model: Any, given: Any, graph: Graph) -> Iterator[None]:
    """A context that puts the model and what it is given back at its end: buffers, attributes, lists, generators, the grad mode.

    Parameters are too large to copy. If `forward` writes to one, the graph says so.
    """
    grad_was_on = engine.module.is_grad_enabled()
    kept = _Kept(engine, model, given, graph)
    try:
        yield
    finally:
        engine.module.set_grad_enabled(grad_was_on)
        with engine.module.no_grad():
            kept.put_back()
        if written := [path for path, one, version in kept.parameters if _version(one) != version]:
            graph.note = f"{graph.note} forward wrote to {written[0]}, which stays as it is now.".strip()


class _Kept:
    """What is reachable from a model, and how it was."""

    def __init__(self, engine: Engine, model: Any, given: Any, graph: Graph) -> None:
        self._engine, self._graph = engine, graph
        self.parameters = [(path, one, _version(one)) for path, one in model.named_parameters()]
        self._tensors: list[tuple[Any, Any, int]] = []
        self._containers: list[tuple[Any, list[Any]]] = []
        self._generators: list[tuple[Callable[[Any], Any], Any]] = []
        known = {id(one) for _, one, _ in self.parameters}
        stack = [model, *model.buffers(), given]
        while stack and len(known) < LOOKED_AT:
            with Reading(engine, graph):  # and go on after a thing that cannot be read
                self._look(stack, known)

    def _look(self, stack: list[Any], known: set[int]) -> None:
        while stack and len(known) < LOOKED_AT:
            thing = stack.pop()
            if type(thing) not in SIMPLE and id(thing) not in known:
                known.add(id(thing))
                stack += self._keep(thing)

    def _keep(self, thing: Any) -> Iterable[Any]:
        """Note how a thing is, and return what it holds."""
        if isinstance(thing, dict):
            self._containers.append((thing, list(thing.items())))
            return thing.values()
        if self._engine.is_module(thing):
            return [vars(thing)]
        if self._engine.is_tensor(thing):
            if self._engine.is_ready(thing):
                self._tensors.append((thing, thing.detach().clone(), _version(thing)))
            return ()
        if isinstance(thing, (list, deque, set)):
            self._containers.append((thing, list(thing)))
            return thing
        if isinstance(thing, (tuple, frozenset)):
            return thing
        if isinstance(thing, np.random.Generator):
            source = thing.bit_generator
            self._generators.append((functools.partial(setattr, source, "state"), source.state))
        for get, put in GENERATORS:
            if callable(getattr(type(thing), get, None)) and callable(getattr(type(thing), put, None)):
                self._generators.append((getattr(thing, put), getattr(thing, get)()))
                return ()
        of_engine = type(thing).__module__.partition(".")[0] == self._engine.module.__name__
        return [vars(thing)] if hasattr(thing, "__dict__") and not of_engine and not isinstance(thing, type) else ()

    def put_back(self) -> None:
        """Put back whatever has changed."""
        for thing, before in self._containers:
            now = thing.items() if isinstance(thing, dict) else thing
            if (now or before) and (len(now) != len(before) or not all(map(_same, now, before))):
                thing.clear()
                (thing.extend if isinstance(thing, (list, deque)) else thing.update)(before)
        for put, state in self._generators:
            put(state)
        for tensor, before, version in self._tensors:
            with Reading(self._engine, self._graph):
                self._put_back(tensor, before, version)

    def _put_back(self, tensor: Any, before: Any, version: int) -> None:
        same_shape = tensor.shape == before.shape
        if _version(tensor) == version and same_shape and self._engine.module.equal(tensor, before):
            return
        if not same_shape:
            tensor.resize_(before.shape)
        tensor.data.copy_(before)  # of a graph that saved this tensor, no version may count
        if _version(tensor) != version:
            self._engine.set_version(tensor, version)


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, tuple) and isinstance(before, tuple) and len(now) == 2 == len(before):
        return now[0] is before[0] and now[1] is before[1]  # an item of a dict
    return now is before


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # inference tensors have no version
        return 0
