"""The second run of a checkpointed function: the places it fills, and the checks against the first run.

In the non-reentrant form an empty place replaces each tensor that a node would save. When the backward pass reaches the
first one, the function runs again under hooks that catch its tensors in the same order, until all places are filled.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from ..array.tensor import Tensor
from ..autograd import grad_mode, graph_task
from ..autograd.saved_tensor import SavedTensor, saved_tensors_hooks

__all__ = ["DETERMINISM_CHECKS", "CheckpointError", "Frame"]


class CheckpointError(RuntimeError):
    """Raised when the second run of the function does not save the same tensors as the first."""


def _shape_and_dtype(t: Tensor) -> Any:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


DETERMINISM_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _shape_and_dtype, "none": lambda t: None}


class _StopRecomputation(Exception):
    """The second run has saved everything that is needed."""


class _Place:
    """Replaces a saved tensor in a node. The second run fills it, once per backward pass."""

    __slots__ = ("__weakref__", "filled")

    def __init__(self) -> None:
        self.filled: dict[int, Tensor | None] = {}


class Frame:
    """One checkpointed call: its inputs, the places of its saved tensors, and how to fill them."""

    _passes = itertools.count(-2, -1)  # ids for unpacking outside a backward pass

    def __init__(self, run_again: Callable[..., None], args: tuple[Any, ...], facts: Callable[[Tensor], Any]) -> None:
        self.run_again = run_again
        self.facts = facts
        # Saved like a node's inputs: with their version, and through the hooks in force.
        self.args = [SavedTensor(a) if isinstance(a, Tensor) else a for a in args]
        # Weak references: a place lives only as long as its node keeps it.
        self.places: list[weakref.ref[_Place]] = []
        self.first_facts: list[Any] = []
        self.counts: dict[int, int] = {}
        self.done: set[int] = set()
        self.forward_completed = False
        self.ignore_mismatch = False

    def hooks(self) -> saved_tensors_hooks:
        """The hooks for the first run."""

        def pack(t: Tensor) -> _Place:
            place = _Place()
            self.places.append(weakref.ref(place))
            self.first_facts.append(self.facts(t))
            return place

        return saved_tensors_hooks(pack, self.unpack)

    def unpack(self, place: _Place) -> Tensor:
        """The tensor that a node gets back for its place."""
        task = graph_task.current_graph_task_id()
        if task == -1:
            task = next(self._passes)
        if task not in self.done:
            self.fill(task)
        found = place.filled.get(task)
        if found is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                "are calling ctx.saved_tensors in backward, make sure to do so only once."
            )
        # Free it at once: keeping it would use the memory that checkpointing has saved.
        place.filled[task] = None
        return found

    def fill(self, task: int) -> None:
        """Run the function again, and put what its nodes save into the places, in the same order."""
        frame = weakref.ref(self)

        def pack(t: Tensor) -> Tensor:
            self_ = frame()
            assert self_ is not None
            return self_.take(task, t.detach() if t.requires_grad else t)

        inputs = [a.tensor() if isinstance(a, SavedTensor) else a for a in self.args]
        try:
            with saved_tensors_hooks(pack, lambda t: t), grad_mode.enable_grad():
                self.run_again(*inputs)
        except _StopRecomputation:
            pass
        self.done.add(task)
        self.compare(task)

    def take(self, task: int, t: Tensor) -> Tensor:
        position = self.counts.get(task, 0)
        self.counts[task] = position + 1
        if position >= len(self.places):
            if not self.forward_completed:
                # A backward pass inside the function: what comes after it has not been saved yet.
                self.ignore_mismatch = True
                return t
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                f"forward pass.\n{_WHY}"
            )
        place = self.places[position]()
        if place is not None:
            place.filled[task] = t
        if position + 1 == len(self.places):
            raise _StopRecomputation
        return t

    def compare(self, task: int) -> None:
        if self.ignore_mismatch:
            return
        if len(self.places) != self.counts.get(task, 0):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\nNumber of tensors saved "
                f"during recomputation: {self.counts.get(task, 0)}.\n{_WHY}"
            )
        differing = ""
        for position, (reference, first) in enumerate(zip(self.places, self.first_facts, strict=True)):
            place = reference()
            again = place.filled.get(task) if place is not None else None
            if again is not None and self.facts(again) != first:
                differing += (
                    f"tensor at position {position}:\nsaved metadata: {first}\n"
                    f"recomputed metadata: {self.facts(again)}\n"
                )
        if differing:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{differing}.\n{_WHY}"
            )


_WHY = (
    "The function did not do the same when it ran again. Does it read something that has changed in between: a flag, a "
    "counter, a random number drawn elsewhere, the grad mode?"
)
