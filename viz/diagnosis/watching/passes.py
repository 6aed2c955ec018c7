"""The backward passes of a run: `backward()` and `grad()`, with their arguments and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from viz.diagnosis.observation import Through
from viz.diagnosis.watching.names import Names
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Enough, Noting, Watch
from viz.diagnosis.watching.writes import Writes


@dataclass
class Passes:
    """Sees the backward passes. The program's names are read before each."""

    watch: Watch
    values: Values
    writes: Writes
    names: Names

    def runs(self, name: str, call: Call) -> Noting:
        """A pass; `name` is `backward` or `grad`. While the program runs unwatched, only one that raises is noted."""
        watch, seen = self.watch, self.watch.seen
        watched, position = not watch.skipping, 3 if name == "grad" else 2
        if watched and watch.most is not None and len(seen.passes) >= watch.most:
            raise Enough
        if watched:
            self.names.harvest(call.frame)
        retain, create = bool(call.given(position, "retain_graph")), bool(call.given(position + 1, "create_graph"))
        order, nr = watch.following(), len(seen.passes) + 1
        current = Through(nr, name, call.stack, retain, create, len(seen.ops), order, seen.steps)
        roots = watch.tensors([call.given(0, "outputs", call.kwargs.get("tensors"))])
        if watched:
            self._begins(current, roots)
            if name == "backward":
                self.writes.before_pass(current)
        before, watch.passing = watch.passing, current if watched else watch.passing
        try:
            yield
        except BaseException as error:
            current.raised = f"{type(error).__name__}: {error}"
            if not watched:
                self._begins(current, roots)
            raise
        finally:
            watch.passing = before
        if watched:
            self._ends(name, current, call)
        else:
            seen.unwatched += 1
        if not seen.optimizers:
            watch.weigh()

    def _begins(self, current: Through, roots: list[Any]) -> None:
        """Note a pass, with the state at its start."""
        self.watch.seen.passes.append(current)
        current.roots = [self.values.value(tensor, current.line) for tensor in roots]
        if roots and roots[0].numel() == 1:
            current.loss = self.watch.extremes(roots[0])[1]

    def _ends(self, name: str, current: Through, call: Call) -> None:
        """Note whose gradients a pass has left."""
        current.done = True
        if name == "grad":
            self._handed_out(current, call.given(1, "inputs"), call.result)
        self.writes.after_pass(current)
        for leaf, tensor in self.values.leaves() if name == "backward" else ():
            if self.watch.is_leaf(tensor) and tensor.grad is not None:
                self._is_gradient(tensor.grad, leaf.nr)

    def _handed_out(self, current: Through, inputs: Any, result: Any) -> None:
        """`grad()` writes no `.grad`: its results are the leaves' gradients."""
        for tensor, gradient in zip(self.watch.tensors([inputs]), self.watch.tensors([result]), strict=False):
            if self.watch.is_leaf(tensor):
                nr = self.values.leaf(tensor)
                if (peak := self.watch.peak(gradient)) is not None:
                    current.got.setdefault(nr, peak)
                self._is_gradient(gradient, nr)

    def _is_gradient(self, gradient: Any, leaf: int) -> None:
        self.values.gradients[gradient] = leaf
        if (known := self.values.known(gradient)) is not None:
            self.watch.seen.values[known].of_grad = leaf
