"""The backward pass that runs now, for those who ask from inside it: hooks, anomaly mode, checkpointing."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from .node import Node

__all__ = [
    "GraphTask",
    "current",
    "current_graph_task_id",
    "current_node",
    "queue_callback",
    "runs_for_some_inputs",
    "will_execute",
]


class GraphTask:
    """One backward pass, for those who ask from inside it (multi-grad hooks, anomaly reports)."""

    _ids = itertools.count()

    def __init__(self, needed: set[Node] | None, waiting: dict[Node, int]) -> None:
        self.id = next(self._ids)
        self.needed = needed
        self.waiting = waiting
        self.node: Node | None = None
        self.callbacks: list[Callable[[], Any]] = []


class _Current(threading.local):
    task: GraphTask | None = None
    depth = 0  # passes inside one another in this thread,
    below = 0  # and in the threads that wait for it


current = _Current()


def current_graph_task_id() -> int:
    """The number of the backward pass that runs now in this thread; -1 outside one."""
    return current.task.id if current.task is not None else -1


def will_execute(node: Node) -> bool:
    """True if `node` takes part in the backward pass that runs now."""
    task = current.task
    if task is None:
        raise RuntimeError("will_execute may only be called during a backward pass")
    return node in task.needed if task.needed is not None else node in task.waiting


def runs_for_some_inputs() -> bool:
    """True in a backward pass that was asked for the gradients of certain inputs, and runs no other nodes."""
    return current.task is not None and current.task.needed is not None


def current_node() -> Node | None:
    """The node that runs now, if one does."""
    return current.task.node if current.task is not None else None


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` when the backward pass that runs now is done, after those that were queued before it."""
    if current.task is None:
        raise RuntimeError(
            "Final callbacks can only be installed during backward pass: queue them in a hook or in the backward of a Function."
        )
    current.task.callbacks.append(callback)
