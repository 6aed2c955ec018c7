"""Watches a running program: every op, pass, step and mode of either engine, as light summaries.

Ops are seen by a function mode, gradients by hooks on nodes and leaves, modules and optimizers by their base classes' own
methods, which are put back afterwards. Nothing is copied: of a tensor its shape and its largest magnitude are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from viz.diagnosis.observation import Observation
from viz.diagnosis.places import Places
from viz.diagnosis.watching.modules import Modules
from viz.diagnosis.watching.names import Names
from viz.diagnosis.watching.ops import Ops
from viz.diagnosis.watching.optimizers import Optimizers
from viz.diagnosis.watching.passes import Passes
from viz.diagnosis.watching.surroundings import surrounded
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Watch
from viz.diagnosis.watching.writes import Writes
from viz.engines import Engine


class Observer:
    """Sees one run of a program; it is stopped after `most` backward passes."""

    def __init__(self, engine: Engine, places: Places, most: int | None = None) -> None:
        self._watch = watch = Watch(engine, places, most)
        self._values = values = Values(watch)
        writes = Writes(watch, values)
        self._modules = Modules(watch, values, writes)
        self._names = Names(watch, values, self._modules)
        self._optimizers = Optimizers(watch, values, writes, self._names)
        self._ops = Ops(watch, values, writes, Passes(watch, values, writes, self._names))
        self.seen: Observation = watch.seen
        self.taken = watch.taken
        self.learn = self._names.learn

    @contextmanager
    def watching(self) -> Iterator[Observer]:
        """A context in which everything is observed. At its end it removes what it installed."""
        with ExitStack() as stack:
            stack.callback(self._close)
            stack.enter_context(surrounded(self._watch, self._ops, self._modules, self._optimizers))
            stack.enter_context(self._ops.mode())
            self._watch.active = True
            yield self

    def _close(self) -> None:
        self._watch.active = False
        self._values.close()

    def introduce(self, thing: Any, name: str = "") -> None:
        """Register an existing module or optimizer; `name` is its name in the program."""
        if self._watch.engine.is_module(thing):
            self._modules.know(thing, name)
        elif hasattr(thing, "param_groups"):
            self._optimizers.held(thing, made_here=False)
