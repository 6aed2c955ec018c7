"""The optimizers of a run: what they hold, when they call step and zero_grad, and which way a step goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz.diagnosis.observation import Held
from viz.diagnosis.watching.names import Names
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Noting, Register, Watch
from viz.diagnosis.watching.writes import Writes


@dataclass
class _Step:
    """A running call of `step()`: what the optimizer holds, each with its leaf and some of its numbers before."""

    held: list[tuple[Any, int, np.ndarray]]
    empty: bool = False
    stale: set[int] = field(default_factory=set)


@dataclass
class Optimizers:
    """Keeps track of the optimizers, and hears of their methods."""

    watch: Watch
    values: Values
    writes: Writes
    names: Names
    met: Callable[[type], None]  # hears of the class of each
    _numbers: Register[int] = field(default_factory=Register)

    def held(self, optimizer: Any, stack: tuple[int, ...] = ()) -> int:
        """The number of an optimizer, with the leaves that it holds now."""
        seen = self.watch.seen
        if (nr := self._numbers[optimizer]) is None:
            nr = self._numbers[optimizer] = len(seen.optimizers)
            kind = type(optimizer).__name__
            first, last = seen.places.defined(kind, "__init__") or (0, -1)
            # what makes one of the program's own class is further out
            outside = tuple(line for line in stack if not first <= line <= last)
            seen.optimizers.append(Held(nr, kind, outside))
        known = seen.optimizers[nr]
        for group in optimizer.param_groups:
            known.maximises = known.maximises or bool(group.get("maximize"))
            for leaf in map(self.values.leaf, group["params"]):
                if leaf not in known.leaves:
                    known.leaves.append(leaf)
                    seen.leaves[leaf].held.append(nr)
        known.known = known.known or len(seen.leaves)
        return nr

    # their methods

    def takes(self, call: Call) -> Noting:
        """`add_param_group`, which making an optimizer calls too."""
        self.met(type(call.args[0]))
        if self._numbers[call.args[0]] is None:
            self.watch.begins_anew()
        for tensor in self.watch.tensors(call.args[1:]):
            if not self.watch.is_leaf(tensor):  # it is refused, for it has no `.grad` to use
                self.values.asked(tensor, call.line)
        yield
        if not self.watch.skipping:
            self.names.harvest(call.frame)
            self.held(call.args[0], call.stack)

    def zeroes(self, call: Call) -> Noting:
        """`zero_grad()` of an optimizer or a module."""
        owner, watch = call.args[0], self.watch
        module = watch.engine.is_module(owner)
        leaves = [self.values.leaf(p) for p in (watch.engine.parameters(owner) if module else _parameters(owner))]
        who = -1 if module or watch.skipping else self.held(owner)
        thrown = self.writes.thrown_away(leaves)
        yield
        for leaf in leaves:
            self.writes.emptied(leaf)
        if not watch.skipping:
            watch.moment("zero", call.stack, who=who, thrown=thrown)

    def clips(self, call: Call) -> Noting:
        """`clip_grad_norm_(…)`, and whether it was given any gradient."""
        given = call.given(0, "parameters")
        if isinstance(given, Iterator):  # which can be gone through once
            given = list(given)
            call.args, call.kwargs = (given, *call.args[1:]), {**call.kwargs}
            call.kwargs.pop("parameters", None)
        empty = not any(tensor.grad is not None for tensor in self.watch.tensors([given]))
        yield
        gradients = (tensor.grad for tensor in self.watch.tensors([given]) if tensor.grad is not None)
        left = max((self.watch.peak(gradient) or 0.0 for gradient in gradients), default=None)
        self.watch.moment("clip", call.stack, empty=empty, left=left)

    def steps(self, call: Call) -> Noting:
        """`step()` of an optimizer; a closure that it is given is the program's, and is seen as such."""
        watch, optimizer = self.watch, call.args[0]
        looking = not watch.skipping
        who = self.held(optimizer) if looking else -1
        parameters = _parameters(optimizer)
        before = [watch.sample(p) if looking else np.zeros(0) for p in parameters]
        run = _Step(list(zip(parameters, map(self.values.leaf, parameters), before, strict=True)))
        self._used(run)
        closure = call.given(1, "closure")
        if callable(closure):
            call.args, call.kwargs = (optimizer, self._around_closure(run, closure), *call.args[2:]), {}
        yield
        watch.seen.steps += 1
        watch.weigh()
        if looking:
            order = watch.following()
            uphill = self._moved(run, call.line, order)
            stale = tuple(sorted(run.stale))
            watch.moment("step", call.stack, order, who=who, empty=run.empty, stale=stale, uphill=uphill)

    def _around_closure(self, run: _Step, closure: Any) -> Any:
        def observed(*args: Any, **kwargs: Any) -> Any:
            within, self.watch.within = self.watch.within, 0
            try:
                return closure(*args, **kwargs)
            finally:
                self.watch.within = within
                with self.watch.aside:
                    self._used(run)

        return observed

    def _used(self, run: _Step) -> None:
        """The contents of `.grad` that the step finds, now or after one more call of its closure."""
        got = [(leaf, p.grad) for p, leaf, _ in run.held if p.grad is not None]
        run.empty = not self.watch.skipping and all(self.watch.peak(grad) == 0.0 for _, grad in got)
        run.stale |= set(self.writes.stale([leaf for _, leaf, _ in run.held]))
        for nr, grad in got:
            self.writes.stepped(nr)
            leaf = self.watch.seen.leaves[nr]
            if not leaf.gradients and not leaf.reached_unwatched:  # the program put it there by hand
                leaf.reached_unwatched = bool(self.watch.peak(grad))

    def _moved(self, run: _Step, line: int | None, order: int) -> bool | None:
        """Whether a step moved what it holds along the gradients of the last pass; None where neither tells."""
        along = 0.0
        for p, nr, old in run.held:
            brought = self.values.brought.pop(nr, None)
            new = self.watch.sample(p)
            if brought is not None and brought.shape == old.shape:
                along += float(np.dot(new - old, brought))
            if p.grad is not None:
                self.writes.note(nr, "step", "step", line, order)
        return along > 0 if along and np.isfinite(along) else None


def _parameters(optimizer: Any) -> list[Any]:
    return [tensor for group in optimizer.param_groups for tensor in group["params"]]
