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
from viz.diagnosis.watching.watch import Register, Watch
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
            line = next(iter(stack), None)
            numbers = {key: one for key, one in optimizer.defaults.items() if isinstance(one, (int, float, tuple))}
            seen.optimizers.append(
                Held(
                    nr,
                    type(optimizer).__name__,
                    line,
                    None,
                    made_here=made_here,
                    parts=len(seen.parts),
                    stack=stack,
                    settings=numbers,
                )
            )
        known = seen.optimizers[nr]
        with self.watch.aside():
            for group in optimizer.param_groups:
                rate = group.get("lr")
                known.maximises = known.maximises or bool(group.get("maximize"))
                known.rate = float(rate) if rate is not None else known.rate
                known.decay = max(known.decay, float(group.get("weight_decay") or 0.0))
                for tensor in group["params"]:
                    leaf = self.values.leaf(tensor)
                    if leaf not in known.leaves:
                        known.leaves.append(leaf)
                        seen.leaves[leaf].held.append(nr)
        known.known = known.known or len(seen.leaves)
        return nr

    # the replacements of their methods

    def around_group(self, add: Any) -> Any:
        """`add_param_group`, which making an optimizer calls too."""

        @functools.wraps(add)
        def add_param_group(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                result = add(optimizer, *args, **kwargs)
            except ValueError:
                self._refused(args)
                raise
            if self.watch.active:
                self.met(type(optimizer))
            if self.watch.looking:
                self.names.harvest(sys._getframe(1))
                self.held(optimizer, self.watch.stack())
            return result

        return add_param_group

    def _refused(self, args: Any) -> None:
        """Note that an optimizer refused a tensor: one that is not a leaf has no `.grad` to use."""
        line = self.watch.line()
        with self.watch.aside():
            for tensor in self.watch.tensors(args):
                nr = self.values.known(tensor)
                if nr is not None and line is not None and tensor.requires_grad and not self.watch.is_leaf(tensor):
                    self.watch.seen.asked_in_vain.append((nr, line))

    def around_zero(self, zero: Any) -> Any:
        """`zero_grad()` of an optimizer or a module."""

        @functools.wraps(zero)
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.watch.looking:
                result = zero(owner, *args, **kwargs)
                if self.watch.unwatched:
                    for one in owner.parameters() if self.watch.engine.is_module(owner) else _parameters(owner):
                        if (known := self.values.known_leaf(one)) is not None:
                            self.writes.emptied(known.nr)
                return result
            lines, seen = self.watch.stack(), self.watch.seen
            if self.watch.engine.is_module(owner):
                who, parameters = -1, list(owner.parameters())
            else:
                who, parameters = self.held(owner), _parameters(owner)
            leaves: list[int] = []
            with self.watch.aside():
                leaves = [self.values.leaf(one) for one in parameters]
            self.watch.within += 1
            try:
                result = zero(owner, *args, **kwargs)
            finally:
                self.watch.within -= 1
            thrown = self.writes.thrown_away(leaves)
            for leaf in leaves:
                self.writes.emptied(leaf)
            line, order = next(iter(lines), None), self.watch.following()
            seen.moments.append(Moment("zero", line, order, who, passes=len(seen.passes), stack=lines, thrown=thrown))
            return result

        return zero_grad

    def around_step(self, step: Any) -> Any:
        """`step()` of an optimizer; a closure that it is given is the program's, and is seen as such."""

        @functools.wraps(step)
        def wrapped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self.watch.unwatched:
                return self._unwatched(step, optimizer, args, kwargs)
            if not self.watch.looking:
                return step(optimizer, *args, **kwargs)
            run = _Step(self.watch.stack(), self.held(optimizer))
            self._before(run, optimizer)
            closure = args[0] if args else kwargs.get("closure")
            if callable(closure):
                args, kwargs = (self._around_closure(run, closure, optimizer), *args[1:]), {}
            self.watch.within += 1
            try:
                result = step(optimizer, *args, **kwargs)
            finally:
                self.watch.within -= 1
            self._after(run, optimizer)
            return result

        return wrapped

    def _unwatched(self, step: Any, optimizer: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Take a step while the program is not watched: only which gradients it has used is noted."""
        self.watch.within += 1
        try:
            result = step(optimizer, *args, **kwargs)
        finally:
            self.watch.within -= 1
        for one in _parameters(optimizer):
            leaf = self.values.known_leaf(one) if one.grad is not None else None
            if leaf is not None:
                self.writes.stepped(leaf.nr)
        self.watch.seen.steps += 1
        self.watch.weigh()
        return result

    def _around_closure(self, run: _Step, closure: Any, optimizer: Any) -> Any:
        def observed(*args: Any, **kwargs: Any) -> Any:
            within, self.watch.within = self.watch.within, 0
            try:
                return closure(*args, **kwargs)
            finally:
                self.watch.within = within
                self._used(run, optimizer)

        return observed

    def _before(self, run: _Step, optimizer: Any) -> None:
        with self.watch.aside():
            run.parameters = _parameters(optimizer)
            run.before = [self.watch.sample(p) for p in run.parameters]
            run.leaves = [self.values.leaf(p) for p in run.parameters]
            self._used(run, optimizer)

    def _used(self, run: _Step, optimizer: Any) -> None:
        """The contents of `.grad` that the step finds, now or after one more call of its closure."""
        with self.watch.aside():
            run.empty = not any(p.grad is not None and self.watch.peak(p.grad) for p in run.parameters)
            run.stale |= set(self.writes.stale(run.leaves))
            hooked = dict(self.watch.seen.hooks)
            for p, nr in zip(run.parameters, run.leaves, strict=True):
                if p.grad is not None:
                    self.writes.stepped(nr)
                    if nr in hooked and (brought := self.values.brought.get(nr)) is not None:
                        self.watch.seen.clipped.append(
                            (hooked[nr], float(np.abs(brought).max()), self.watch.peak(p.grad) or 0.0)
                        )

    def _after(self, run: _Step, optimizer: Any) -> None:
        seen, line = self.watch.seen, next(iter(run.lines), None)
        with self.watch.aside():
            order = self.watch.following()
            uphill = self._uphill(run)
            moved = self._moved(run.parameters, run.leaves, run.before, line, order)
            rates = [float(group["lr"]) for group in optimizer.param_groups if group.get("lr") is not None]
            stale, rate = tuple(sorted(run.stale)), max(rates, default=None)
            seen.moments.append(
                Moment(
                    "step",
                    line,
                    order,
                    run.held,
                    "",
                    len(seen.passes),
                    run.empty,
                    stale,
                    moved,
                    run.lines,
                    rate=rate,
                    uphill=uphill,
                )
            )
        seen.steps += 1
        self.watch.weigh()

    def _uphill(self, run: _Step) -> bool | None:
        """True if the step went along the gradients of the last pass, False if against them, None if neither."""
        along = 0.0
        for p, nr, old in zip(run.parameters, run.leaves, run.before, strict=True):
            brought = self.values.brought.pop(nr, None)
            if brought is not None and brought.shape == old.shape:
                along += float(np.dot(self.watch.sample(p) - old, brought))
        return along > 0 if along and np.isfinite(along) else None

    def around_schedule(self, init: Any) -> Any:
        """Note the class of a new learning-rate scheduler, and the line that makes it."""

        @functools.wraps(init)
        def __init__(scheduler: Any, *args: Any, **kwargs: Any) -> None:
            if self.watch.looking:
                known = type(scheduler).__name__, self.watch.line()
                if known not in self.watch.seen.schedules:
                    self.watch.seen.schedules.append(known)
            init(scheduler, *args, **kwargs)

        return __init__

    def _moved(
        self, parameters: list[Any], leaves: list[int], before: list[np.ndarray], line: int | None, order: int
    ) -> float | None:
        """Note for each leaf how far a step moved it, relative to its size."""
        seen = self.watch.seen
        furthest, largest = 0.0, 0.0
        for p, nr, old in zip(parameters, leaves, before, strict=True):
            if p.grad is None:
                continue
            new = self.watch.sample(p)
            far = float(np.abs(new - old).max()) if new.size else 0.0
            large = float(np.abs(old).max()) if old.size else 0.0
            furthest, largest = max(furthest, far), max(largest, large)
            leaf = seen.leaves[nr]
            leaf.writes.append(Write("step", "step", line, len(seen.passes), order, far / large if large else None))
            leaf.size = large
            leaf.began = leaf.began or large
        return furthest / largest if largest else None


def _parameters(optimizer: Any) -> list[Any]:
    return [tensor for group in optimizer.param_groups for tensor in group["params"]]
