"""The optimisers of a run: what they hold, when they step and zero, and how far a step goes."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from viz.diagnosis.observation import Held, Moment, Write
from viz.diagnosis.watching.names import Names
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Register, Watch
from viz.diagnosis.watching.writes import Writes

SAMPLE = 64  # numbers of a leaf that are looked at before and after a step
LARGEST_ROWS = 100_000  # numbers of a matrix whose rows are held beside each other


class Optimisers:
    """Knows the optimisers, and wraps the methods through which they go.

    Args:
        watch: the run.
        values: numbers of its values and leaves.
        writes: what was written into leaves.
        names: the program's names, which are learnt where an optimiser is made.
    """

    def __init__(self, watch: Watch, values: Values, writes: Writes, names: Names) -> None:
        self.watch = watch
        self.values = values
        self.writes = writes
        self.names = names
        self._numbers = Register()

    def held(self, optimizer: Any, line: int | None = None, made_here: bool = True) -> int:
        """The number of an optimiser, with the leaves that it holds now."""
        seen = self.watch.seen
        nr = self._numbers[optimizer]
        if nr is None:
            nr = self._numbers[optimizer] = len(seen.optimizers)
            seen.optimizers.append(Held(nr, type(optimizer).__name__, line, None, made_here=made_here))
        known = seen.optimizers[nr]
        with self.watch.aside():
            for group in optimizer.param_groups:
                rate = group.get("lr")
                known.rate = float(rate) if rate is not None else known.rate
                for tensor in group["params"]:
                    leaf = self.values.leaf(tensor)
                    if leaf not in known.leaves:
                        known.leaves.append(leaf)
                        seen.leaves[leaf].held.append(nr)
        return nr

    # what takes the place of their methods

    def around_group(self, add: Any) -> Any:
        """`add_param_group`, which making an optimiser calls too."""

        @functools.wraps(add)
        def add_param_group(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            result = add(optimizer, *args, **kwargs)
            if self.watch.looking:
                self.names.harvest(sys._getframe(1))
                self.held(optimizer, self.watch.line())
            return result

        return add_param_group

    def around_zero(self, zero: Any) -> Any:
        """`zero_grad()` of an optimiser or a module."""

        @functools.wraps(zero)
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.watch.looking:
                return zero(owner, *args, **kwargs)
            lines, seen = self.watch.stack(), self.watch.seen
            if self.watch.engine.is_module(owner):
                who, parameters = -1, list(owner.parameters())
            else:
                who, parameters = self.held(owner), _parameters(owner)
            with self.watch.aside():
                leaves = [self.values.leaf(one) for one in parameters]
            self.watch.within += 1
            try:
                result = zero(owner, *args, **kwargs)
            finally:
                self.watch.within -= 1
            for leaf in leaves:
                self.writes.emptied(leaf)
            line, order = next(iter(lines), None), self.watch.following()
            seen.moments.append(Moment("zero", line, order, who, passes=len(seen.passes), stack=lines))
            return result

        return zero_grad

    def around_step(self, step: Any) -> Any:
        """`step()` of an optimiser."""

        @functools.wraps(step)
        def wrapped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.watch.looking or args or kwargs.get("closure") is not None:
                return step(optimizer, *args, **kwargs)
            watch, seen, lines = self.watch, self.watch.seen, self.watch.stack()
            line = next(iter(lines), None)
            nr = self.held(optimizer)
            with watch.aside():
                parameters = _parameters(optimizer)
                leaves = [self.values.leaf(p) for p in parameters]
                empty = not any(p.grad is not None and watch.peak(p.grad) for p in parameters)
                before = [self._sample(p) for p in parameters]
            watch.within += 1
            try:
                result = step(optimizer, *args, **kwargs)
            finally:
                watch.within -= 1
            with watch.aside():
                order = watch.following()
                moved = self._moved(parameters, leaves, before, line, order)
            seen.steps += 1
            stale = self.writes.stale(leaves)
            seen.moments.append(Moment("step", line, order, nr, "", len(seen.passes), empty, stale, moved, lines))
            return result

        return wrapped

    def _moved(
        self, parameters: list[Any], leaves: list[int], before: list[np.ndarray], line: int | None, order: int
    ) -> float | None:
        """How far a step went, against the size of what it moved; noted for each leaf."""
        seen = self.watch.seen
        furthest, largest = 0.0, 0.0
        for p, nr, old in zip(parameters, leaves, before, strict=True):
            if p.grad is None:
                continue
            new = self._sample(p)
            far = float(np.abs(new - old).max()) if new.size else 0.0
            large = float(np.abs(old).max()) if old.size else 0.0
            furthest, largest = max(furthest, far), max(largest, large)
            leaf = seen.leaves[nr]
            leaf.writes.append(Write("step", "step", line, len(seen.passes), order, far / large if large else None))
            leaf.size = large
            if len(p.shape) == 2 and p.shape[0] > 1 and p.numel() <= LARGEST_ROWS:
                array = self.watch.engine.array(p)
                leaf.equal_rows.append(bool((array == array[:1]).all()))
            self.writes.stepped(nr)
        return furthest / largest if largest else None

    def _sample(self, tensor: Any) -> np.ndarray:
        flat = tensor.detach().reshape(-1)
        stride = max(1, flat.numel() // SAMPLE)
        return np.array(self.watch.engine.array(flat[::stride]), dtype=np.float64)


def _parameters(optimizer: Any) -> list[Any]:
    return [tensor for group in optimizer.param_groups for tensor in group["params"]]
