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
    """Sees one run of a program.

    Args:
        engine: whose ops to see.
        places: the program's text.
        most: the backward passes after which the program is stopped; None: it runs to its end.
    """

    def __init__(self, engine: Engine, places: Places, most: int | None = None) -> None:
        self._watch = Watch(engine, places)
        self._watch.most = most
        self._values = Values(self._watch)
        self._writes = Writes(self._watch, self._values)
        self._modules = Modules(self._watch, self._values)
        self._names = Names(self._watch, self._values, self._modules)
        self._optimizers = Optimizers(self._watch, self._values, self._writes, self._names)
        self._ops = Ops(
            self._watch, self._values, self._writes, Passes(self._watch, self._values, self._writes, self._names)
        )

    @property
    def seen(self) -> Observation:
        """Everything that was seen so far."""
        return self._watch.seen

    def taken(self) -> tuple[float, float]:
        """Seconds of processor time that the program took itself, and that watching it took."""
        return self._watch.taken()

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

    def learn(self, variables: dict[str, Any]) -> None:
        """Learn the values behind the names of a frame or a namespace, and what they keep alive."""
        self._names.learn(variables)
