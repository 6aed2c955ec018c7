"""What a watch hangs on an engine, and takes off again: backward passes, steps of optimizers, calls of modules.

All of it is the engine's own means, and none is attached to a model: copies of it, its saved file and the fast paths
of layers that look for hooks stay as they are. Only what runs `backward` is replaced, by a function that calls it.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from viz.engines import Engine, load


class Listener(Protocol):
    """What is told of a training."""

    def pass_begins(self, roots: Any) -> None:
        """`backward` is called on `roots`."""

    def pass_ended(self) -> None:
        """It has returned."""

    def step_begins(self, optimizer: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """An optimizer's `step` is called; with a closure (`has_closure`), the passes come inside it."""

    def step_ended(self, optimizer: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """It has returned."""


class _Passes:
    """The replacements of what runs one engine's `backward`, there while somebody listens.

    A GradScaler multiplies the loss before `backward`; a listener is told of the loss as it was.
    """

    def __init__(self, engine: Engine) -> None:
        self.listeners: list[Listener] = []
        self._engine = engine
        self._places: list[tuple[Any, str]] = []
        self._before: list[tuple[Any, Any]] = []
        self._unscaled: list[tuple[Any, Any]] = []  # what a scaler made since the last pass, and what from
        self._depth = 0  # the one calls the other, and a pass may run inside a pass

    def add(self, listener: Listener) -> None:
        if not self.listeners:
            self._places = self._engine.backwards()
            # It is loaded when a program first asks for it.
            scaling = sys.modules.get(f"{self._engine.module.__name__}.amp")
            if scaling is not None:
                self._places.append((scaling.GradScaler, "scale"))
            for owner, name in self._places:
                original = getattr(owner, name)
                ours = self._scaling(original) if name == "scale" else self._around(original)
                self._before.append((original, ours))
                setattr(owner, name, ours)
        self.listeners = [*self.listeners, listener]

    def remove(self, listener: Listener) -> None:
        self.listeners = [known for known in self.listeners if known is not listener]
        if not self.listeners:
            for (owner, name), (original, ours) in zip(self._places, self._before, strict=True):
                if getattr(owner, name) is ours:  # otherwise somebody else has put theirs around it
                    setattr(owner, name, original)
            self._before, self._unscaled = [], []

    def _scaling(self, scale: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(scale)
        def kept(scaler: Any, outputs: Any) -> Any:
            result = scale(scaler, outputs)
            if result is not outputs:  # a scaler that is off gives back what it got
                self._unscaled = [(result, outputs), *self._unscaled[:2]]
            return result

        return kept

    def _around(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(backward)
        def told(*args: Any, **kwargs: Any) -> Any:
            if self._depth or not self.listeners or not kwargs.get("accumulate_grad", True):  # that is grad()
                return backward(*args, **kwargs)
            listeners, roots = self.listeners, args[0] if args else kwargs.get("tensors")
            pairs, self._unscaled = self._unscaled, []
            roots = list(roots) if isinstance(roots, (list, tuple)) else [roots]
            roots = [next((before for scaled, before in pairs if scaled is root), root) for root in roots]
            for listener in listeners:
                listener.pass_begins(roots)
            self._depth += 1
            try:
                result = backward(*args, **kwargs)
            finally:
                self._depth -= 1
            for listener in listeners:
                listener.pass_ended()
            return result

        return told


@functools.cache
def _passes(name: str) -> _Passes:
    return _Passes(load(name))


@contextmanager
def listening(engine: Engine, listener: Listener) -> Iterator[None]:
    """A context in which `listener` is told of every backward pass and of every optimizer's step."""
    home = importlib.import_module(f"{engine.module.__name__}.optim.optimizer")
    passes = _passes(engine.name)

    handles = [
        home.register_optimizer_step_pre_hook(listener.step_begins),
        home.register_optimizer_step_post_hook(listener.step_ended),
    ]
    passes.add(listener)
    try:
        yield
    finally:
        passes.remove(listener)
        for handle in handles:
            handle.remove()


def has_closure(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether an optimizer's `step` was given a closure."""
    return callable(args[1] if len(args) > 1 else kwargs.get("closure"))
