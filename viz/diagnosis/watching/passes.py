"""The backward passes of a run: `backward()` and `grad()`, with their arguments and results."""

from __future__ import annotations

import sys
from typing import Any

from viz.diagnosis.observation import Through
from viz.diagnosis.watching.names import Names
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Enough, Watch
from viz.diagnosis.watching.writes import Writes


class Passes:
    """Sees the backward passes.

    Args:
        watch: the run.
        values: numbers of its values and leaves.
        writes: what was written into leaves.
        names: the program's names, which are read before a pass.
    """

    def __init__(self, watch: Watch, values: Values, writes: Writes, names: Names) -> None:
        self.watch = watch
        self.values = values
        self.writes = writes
        self.names = names

    def run(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a pass, and note it; `name` is `backward` or `grad`."""
        watch = self.watch
        if watch.most is not None and len(watch.seen.passes) >= watch.most:
            raise Enough
        frame = sys._getframe(1)
        self.names.harvest(frame)
        given = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
        current = self._begun(name, args, kwargs, watch.places.stack(frame)[0])
        watch.seen.passes.append(current)
        with watch.aside():
            self._take(current, watch.tensors([given]))
            current.given = self._sign(name, args, kwargs)
            if name == "backward":
                self.writes.before_pass(current)
        before, watch.passing = watch.passing, current
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            current.raised = f"{type(error).__name__}: {error}"
            raise
        finally:
            watch.passing = before
        with watch.aside():
            current.done = True
            if name == "grad":
                self._handed_out(current, args[1] if len(args) > 1 else kwargs.get("inputs"), result)
            self.writes.after_pass(current)
            if name == "backward":
                for leaf, tensor in self.values.leaves():
                    if self.watch.is_leaf(tensor) and tensor.grad is not None:
                        self._is_gradient(tensor.grad, leaf.nr)
        if not watch.seen.optimizers:
            watch.weigh()
        return result

    def unwatched(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a pass while the program is not watched: only what it raises is noted."""
        watch = self.watch
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            current = self._begun(name, args, kwargs, watch.places.stack(sys._getframe(1))[0])
            current.raised = f"{type(error).__name__}: {error}"
            watch.seen.passes.append(current)
            with watch.aside():
                self._take(current, watch.tensors([args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))]))
            raise
        watch.seen.unwatched += 1
        if not watch.seen.optimizers:
            watch.weigh()
        return result

    def _begun(self, name: str, args: Any, kwargs: dict[str, Any], lines: tuple[int, ...]) -> Through:
        seen = self.watch.seen
        place = 3 if name == "grad" else 2
        retain = args[place] if len(args) > place else kwargs.get("retain_graph")
        create = args[place + 1] if len(args) > place + 1 else kwargs.get("create_graph")
        line = lines[0] if lines else None
        return Through(
            len(seen.passes) + 1, name, line, lines, [], bool(retain), bool(create), len(seen.ops),
            self.watch.following(), step=seen.steps,
        )  # fmt: skip

    def _take(self, current: Through, tensors: list[Any]) -> None:
        """Note the state at the start of the pass."""
        current.roots = [self.values.value(tensor, current.line) for tensor in tensors]
        if tensors and tensors[0].numel() == 1:
            current.loss = float(tensors[0].detach().item())

    def _sign(self, name: str, args: Any, kwargs: dict[str, Any]) -> int | None:
        """Which way the gradient that a pass is given points: `loss.backward(-one)` makes the loss larger."""
        place, words = (1, ("gradient", "grad_tensors")) if name == "backward" else (2, ("grad_outputs",))
        given = args[place] if len(args) > place else next((kwargs[word] for word in words if word in kwargs), None)
        numbers = [self.watch.engine.array(tensor.detach()) for tensor in self.watch.tensors([given])]
        if not numbers:
            return None
        if all((one >= 0).all() for one in numbers):
            return 1
        return -1 if all((one <= 0).all() for one in numbers) else 0

    def _handed_out(self, current: Through, given: Any, result: Any) -> None:
        """`grad()` writes no `.grad`: its results are the leaves' gradients."""
        for tensor, gradient in zip(self.watch.tensors([given]), self.watch.tensors([result]), strict=False):
            if self.watch.is_leaf(tensor):
                nr = self.values.leaf(tensor)
                current.got.setdefault(nr, self.watch.peak(gradient) or 0.0)
                self._is_gradient(gradient, nr)

    def _is_gradient(self, gradient: Any, leaf: int) -> None:
        self.values.gradients[gradient] = leaf
        if (known := self.values.known(gradient)) is not None:
            self.watch.seen.values[known].of_grad = leaf
