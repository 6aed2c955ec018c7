"""The backward pass that runs now, for code that asks from inside it: hooks, anomaly mode, checkpointing."""

from __future__ import annotations

from ..core.graph import Node
from ..modes import thread

__all__ = ["current_graph_task_id", "current_node", "runs_for_some_inputs"]


def current_graph_task_id() -> int:
    """The number of the backward pass that runs now in this thread; -1 outside one."""
    task = thread.state.task
    return task.id if task is not None else -1


def runs_for_some_inputs() -> bool:
    """True in a backward pass that computes the gradients of certain inputs only, and runs no other nodes."""
    task = thread.state.task
    return task is not None and task.is_partial


def current_node() -> Node | None:
    """The node that runs now, if one does."""
    task = thread.state.task
    return task.node if task is not None else None
