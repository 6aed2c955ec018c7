"""The optimizers of a run: what they hold, when they call step and zero_grad, and how far a step goes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz.diagnosis.observation import Held, Moment, Write
from viz.diagnosis.watching.names import Names
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Register, Watch
from viz.diagnosis.watching.writes import Writes


@dataclass
class _Step:
    """A running call of `step()`."""

    lines: tuple[int, ...]
    held: int
    parameters: list[Any] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    before: list[np.ndarray] = field(default_factory=list)
    empty: bool = False
    stale: set[int] = field(default_factory=set)


class Optimizers:
    """Keeps track of the optimizers, and wraps their methods.

    Args:
        watch: the run.
        values: numbers of its values and leaves.
        writes: what was written into leaves.
        names: the program's names, which are read when an optimizer is made.
    """

    def __init__(self, watch: Watch, values: Values, writes: Writes, names: Names) -> None:
        self.watch = watch
        self.values = values
        self.writes = writes
        self.names = names
        self.met: Callable[[type], None] = lambda kind: None
        self._numbers = Register()

    def held(self, optimizer: Any, stack: tuple[int, ...] = (), made_here: bool = True) -> int:
        """The number of an optimizer, with the leaves that it holds now."""
        seen = self.watch.seen
        nr = self._numbers[optimizer]
        if nr is None:
            nr = self._numbers[optimizer] = len(seen.optimizers)
            numbers = {key: one for key, one in optimizer.defaults.items() if isinstance(one, (int, float, tuple))}
            kind = type(optimizer).__name__
            own = seen.places.defined(kind, "__init__") or (
                0,
                -1,
            )  # of an optimizer of the program: what makes it is further out
            stack = tuple(line for line in stack if not own[0] <= line <= own[1])
            line = next(iter(stack), None)
            seen.optimizers.append(Held(nr, kind, line, None, [], made_here, stack=stack, settings=numbers))
        known = seen.optimizers[nr]
        with self.watch.aside():
            for group in optimizer.param_groups:
                rate = group.get("lr")
                known.maximises = known.maximises or bool(group.get("maximize"))
                known.rate = float(rate) if rate is not None else known.rate
                for tensor in group["params"]:
                    leaf = self.values.leaf(tensor)
                    if leaf not in known.leaves:
                        known.leaves.append(leaf)
                        seen.leaves[leaf].held.append(nr)
        known.known, known.parts = known.known or len(seen.leaves), known.parts or len(seen.parts)
        return nr

    # the replacements of their methods

    def around_group(self, add: Any) -> Any:
        """`add_param_group`, which making an optimizer calls too."""

        @functools.wraps(add)
        def add_param_group(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                result = add(optimizer, *args, **kwargs)
            except ValueError:
                for tensor in self.watch.tensors(args):  # one that is not a leaf has no `.grad` to use
                    self.watch.asked_in_vain(tensor, self.values.known(tensor))
                raise
            if self.watch.active:
                self.met(type(optimizer))
            if self.watch.looking:
                self.names.harvest(sys._getframe(1))
                self.held(optimizer, self.watch.stack())
            return result

        return add_param_group

    def around_zero(self, zero: Any) -> Any:
        """`zero_grad()` of an optimizer or a module."""

        @functools.wraps(zero)
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.watch.active or self.watch.within:
                return zero(owner, *args, **kwargs)
            looking, lines, seen = self.watch.looking, self.watch.stack(), self.watch.seen
            module = self.watch.engine.is_module(owner)
            leaves: list[int] = []
            with self.watch.aside():
                leaves = [self.values.leaf(one) for one in (owner.parameters() if module else _parameters(owner))]
            who = self.held(owner) if looking and not module else -1
            result = self._inside(zero, owner, args, kwargs)
            thrown = self.writes.thrown_away(leaves)
            for leaf in leaves:
                self.writes.emptied(leaf)
            if looking:
                line, order = next(iter(lines), None), self.watch.following()
                moment = Moment("zero", line, order, who, passes=len(seen.passes), stack=lines, thrown=thrown)
                seen.moments.append(moment)
            return result

        return zero_grad

    def _inside(self, call: Any, owner: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a method of an optimizer; what it does itself is not the program's."""
        self.watch.within += 1
        try:
            return call(owner, *args, **kwargs)
        finally:
            self.watch.within -= 1

    def around_step(self, step: Any) -> Any:
        """`step()` of an optimizer; a closure that it is given is the program's, and is seen as such."""

        @functools.wraps(step)
        def wrapped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.watch.active or self.watch.within:
                return step(optimizer, *args, **kwargs)
            looking = self.watch.looking
            run = _Step(self.watch.stack(), self.held(optimizer) if looking else -1, _parameters(optimizer))
            with self.watch.aside():
                run.leaves = [self.values.leaf(p) for p in run.parameters]
                run.before = [self.watch.sample(p) for p in run.parameters] if looking else []
            self._used(run)
            closure = args[0] if args else kwargs.get("closure")
            if callable(closure):
                args, kwargs = (self._around_closure(run, closure), *args[1:]), {}
            result = self._inside(step, optimizer, args, kwargs)
            if looking:
                self._after(run, optimizer)
            self.watch.seen.steps += 1
            self.watch.weigh()
            return result

        return wrapped

    def _around_closure(self, run: _Step, closure: Any) -> Any:
        def observed(*args: Any, **kwargs: Any) -> Any:
            within, self.watch.within = self.watch.within, 0
            try:
                return closure(*args, **kwargs)
            finally:
                self.watch.within = within
                self._used(run)

        return observed

    def _used(self, run: _Step) -> None:
        """The contents of `.grad` that the step finds, now or after one more call of its closure."""
        with self.watch.aside():
            got = [(nr, p.grad) for p, nr in zip(run.parameters, run.leaves, strict=True) if p.grad is not None]
            run.empty = not self.watch.skipping and not any(self.watch.peak(grad) for _, grad in got)
            run.stale |= set(self.writes.stale(run.leaves))
            for nr, _ in got:
                self.writes.stepped(nr)

    def _after(self, run: _Step, optimizer: Any) -> None:
        seen, line = self.watch.seen, next(iter(run.lines), None)
        with self.watch.aside():
            order, uphill = self.watch.following(), self._uphill(run)
            moved = self._moved(run, line, order)
            rate = max((float(one["lr"]) for one in optimizer.param_groups if one.get("lr") is not None), default=None)
            seen.moments.append(
                Moment(
                    "step", line, order, run.held, len(seen.passes), run.empty, tuple(sorted(run.stale)), moved, run.lines,
                    rate, uphill,
                )
            )  # fmt: skip

    def _uphill(self, run: _Step) -> bool | None:
        """True if the step went along the gradients of the last pass, False if against them, None if neither."""
        along = 0.0
        for p, nr, old in zip(run.parameters, run.leaves, run.before, strict=True):
            brought = self.values.brought.pop(nr, None)
            if brought is not None and brought.shape == old.shape:
                along += float(np.dot(self.watch.sample(p) - old, brought))
        return along > 0 if along and np.isfinite(along) else None

    def _moved(self, run: _Step, line: int | None, order: int) -> float | None:
        """How far a step moved all that it holds, relative to its size; noted at each leaf."""
        furthest, largest = 0.0, 0.0
        for p, nr, old in zip(run.parameters, run.leaves, run.before, strict=True):
            if p.grad is None:
                continue
            new, leaf = self.watch.sample(p), self.watch.seen.leaves[nr]
            furthest = max(furthest, float(np.abs(new - old).max()) if new.size else 0.0)
            leaf.size = float(np.abs(old).max()) if old.size else 0.0
            leaf.began, largest = leaf.began or leaf.size, max(largest, leaf.size)
            leaf.writes.append(Write("step", "step", line, len(self.watch.seen.passes), order))
        return furthest / largest if largest else None

    def scheduled(self, call: Call) -> None:
        """Note the class of a new learning-rate scheduler, and the line that makes it."""
        known = type(call.args[0]).__name__, call.line
        if known not in self.watch.seen.schedules:
            self.watch.seen.schedules.append(known)


def _parameters(optimizer: Any) -> list[Any]:
    return [tensor for group in optimizer.param_groups for tensor in group["params"]]
