"""What a layer around the core replaces, in one place: here these methods do nothing. And `no_grad`, the core's own mode."""

from __future__ import annotations

import threading
from typing import Any


class State:
    """The modes of a thread. `unusual`: some mode of a layer is on. `task`: the pass that runs."""

    recording, unusual = True, False
    task: AroundPass | None = None


class Thread(threading.local):
    """The thread that runs. Each starts with a `state` of this `kind`, whatever the one that started it had set."""

    kind: type[State] = State

    def __init__(self) -> None:
        self.state = self.kind()


thread = Thread()
Open: Any = object  # the type checker lets layers give more attributes to what extends it


class no_grad:
    """`with no_grad():` ops inside are computed and not recorded."""

    def __enter__(self) -> None:
        self.before, thread.state.recording = thread.state.recording, False

    def __exit__(self, *exception: object) -> None:
        thread.state.recording = self.before


class AroundOp:
    _orders: Any = None  # a layer's: how gradients lie in memory, which then gets those that do not lie row by row

    def _release(self) -> None:
        """Free part of what a node keeps: it has run, and will not run again."""


class AroundPass(Open):
    visits_all = False  # every node is left to `visit`

    def visit(self, node: Any, grads: list[Any]) -> None:
        """Run a node that has something `_around`."""
