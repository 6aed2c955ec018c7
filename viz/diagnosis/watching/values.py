"""The current value of a tensor, the leaf that it is, and the gradients that reach both."""

from __future__ import annotations

import functools
import math
from typing import Any

from viz.diagnosis.observation import Leaf, Ran, Seen
from viz.diagnosis.watching.watch import Register, Watch, weak
from viz.engines import ACCUMULATE

MOST_USES = 200  # ops that are noted for one leaf
MOST_NODES = 5_000  # nodes that are visited to find where a value came from
MOST_HANDLES = 20_000  # hooks on nodes; the older half belongs to graphs that no longer exist


class Values:
    """Gives a number to each value and each leaf, and listens for their gradients.

    Args:
        watch: the run.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.brought: dict[
            int, Any
        ] = {}  # leaf: a sample of the last gradient, as the pass brought it, before any hook
        self.gradients = Register()  # each `.grad`: its leaf
        self._leaves = Register()
        self._tensor: dict[int, tuple[Any, int, int]] = {}  # id -> weak reference, value, version
        self._nodes: dict[tuple[int, str, int], int] = {}  # by sequence number, name and output: the value
        self._on_nodes: list[Any] = []
        self._on_leaves: list[Any] = []
        self._hooks_before: list[tuple[Any, Any]] = []

    def close(self) -> None:
        """Remove every hook."""
        for handle in (*self._on_nodes, *self._on_leaves):
            handle.remove()
        for tensor, hooks in self._hooks_before:
            if hooks is None and not getattr(tensor, "_backward_hooks", True):
                tensor._backward_hooks = None
        self._on_nodes.clear()
        self._on_leaves.clear()
        self._hooks_before.clear()

    def known(self, tensor: Any) -> int | None:
        """The number of a tensor's current value; None if it was changed since it was last seen, or never seen."""
        reference, nr, version = self._tensor.get(id(tensor), (None, 0, 0))
        if reference is None or reference() is not tensor:
            return None
        return nr if version == self.watch.version(tensor) else None

    def last(self, tensor: Any) -> Seen | None:
        """The value of a tensor when it was last seen, even if it was changed since."""
        reference, nr, _ = self._tensor.get(id(tensor), (None, 0, 0))
        return self.watch.seen.values[nr] if reference is not None and reference() is tensor else None

    def value(self, tensor: Any, line: int | None = None, op: int | None = None, base: int | None = None) -> int:
        """The number of a tensor's current value; a new number if this value has not been seen."""
        seen = self.watch.seen
        if op is None and (nr := self.known(tensor)) is not None:
            value = seen.values[nr]
            if tensor.requires_grad != value.requires_grad:
                value.requires_grad = bool(tensor.requires_grad)
                if value.requires_grad and self.watch.is_leaf(tensor) and value.leaf is None:
                    value.leaf = self.leaf(tensor, line)
            return nr
        nr = len(seen.values)
        peak, low = self.watch.extremes(tensor)
        dtype = self.watch.engine.dtype(tensor)
        value = Seen(nr, op, tuple(tensor.shape), dtype, bool(tensor.requires_grad), peak, line, low=low, base=base)
        seen.values.append(value)
        before = self.last(tensor)
        if before is not None:
            value.name = before.name
            value.line = value.line if op is not None else before.line
        recorded = op is not None and tensor.requires_grad and not self.watch.is_leaf(tensor)
        value.leaf = (
            None if recorded else self._leaves[tensor]
        )  # inside a Function's forward its result looks like a leaf
        if value.leaf is None and tensor.requires_grad and self.watch.is_leaf(tensor):
            value.leaf = self.leaf(tensor, line)
        if value.leaf is not None:
            seen.leaves[value.leaf].values.append(nr)
        elif op is None:
            value.of_grad = self.gradients[tensor]
        self._tensor[id(tensor)] = weak(tensor), nr, self.watch.version(tensor)
        if op is None and tensor.requires_grad and not self.watch.is_leaf(tensor):
            self._unseen(tensor, value, line)
        elif op is None and value.leaf is None and value.of_grad is None:
            self._unseen_view(tensor, value, line)
        return nr

    def _unseen_view(self, tensor: Any, value: Seen, line: int | None) -> None:
        """A view without a history that no call showed, as `.T` of what was computed under no_grad: it comes from its base."""
        base = getattr(tensor, "_base", None)
        nr = self.known(base) if base is not None else None
        if nr is not None and base is not None:
            off = bool(base.requires_grad)  # and its view has no history
            self._ran_unseen(value, "view", line, (nr,), recorded=False, grad_on=not off)

    def _unseen(self, tensor: Any, value: Seen, line: int | None) -> None:
        """A value with a history that no call showed, as what a fused layer computes: its inputs are read from the graph."""
        try:
            node = tensor.grad_fn
        except RuntimeError:  # a view whose history an in-place change made unreadable
            return
        found: list[int] = []
        met: set[Any] = set()
        stack = [node]
        while stack and len(met) < MOST_NODES:
            one = stack.pop()
            for behind, number in one.next_functions:
                if behind is None or (key := (behind._sequence_nr(), behind.name(), number)) in met:
                    continue
                met.add(key)
                if behind.name() == ACCUMULATE:
                    found.append(self.value(behind.variable, line))
                elif key in self._nodes:
                    found.append(self._nodes[key])
                else:
                    stack.append(behind)
        name = node.name().partition("Backward")[0].lower()
        made = self._ran_unseen(value, name, line, tuple(dict.fromkeys(found)))
        made.node = node.name()
        self.hear_node(node, ((tensor.output_nr, value.nr),))

    def _ran_unseen(
        self,
        value: Seen,
        name: str,
        line: int | None,
        inputs: tuple[int, ...],
        recorded: bool = True,
        grad_on: bool = True,
    ) -> Ran:
        """Note the op behind a value that no call showed."""
        seen, running = self.watch.seen, self.watch.running
        module = seen.parts[running[-1]].path if running else ""
        lines = (line,) if line is not None else ()
        value.op = len(seen.ops)
        made = Ran(
            value.op, name, line, lines, None, module, inputs, (value.nr,), recorded, grad_on, False, step=seen.steps
        )
        seen.ops.append(made)
        for leaf in {one for nr in inputs if (one := seen.values[nr].leaf) is not None}:
            if len(seen.leaves[leaf].used_by) < MOST_USES:
                seen.leaves[leaf].used_by.append(made.nr)
        return made

    # leaves

    def known_leaf(self, tensor: Any) -> Leaf | None:
        """The leaf that a tensor is; None if it has not been seen."""
        nr = self._leaves[tensor]
        return None if nr is None else self.watch.seen.leaves[nr]

    def leaf(self, tensor: Any, line: int | None = None) -> int:
        """The number of a leaf. Its gradients are observed from now on."""
        seen = self.watch.seen
        leaf = self.known_leaf(tensor)
        if leaf is not None:
            if tensor.requires_grad and not leaf.requires_grad:
                leaf.requires_grad = True
                self._listen(tensor, leaf.nr)
            return leaf.nr
        nr = len(seen.leaves)
        parameter = isinstance(tensor, self.watch.module.nn.Parameter)
        seen.leaves.append(Leaf(nr, "", tuple(tensor.shape), bool(tensor.requires_grad), line, parameter))
        self._leaves[tensor] = nr
        self._listen(tensor, nr)
        if (known := self.known(tensor)) is not None and self.watch.is_leaf(tensor) and seen.values[known].leaf is None:
            seen.values[known].leaf = nr  # ops used it before it was known that it learns
            seen.leaves[nr].values.append(known)
        return nr

    def leaves(self) -> list[tuple[Leaf, Any]]:
        """The leaves that still exist, with their tensors."""
        return [(self.watch.seen.leaves[nr], tensor) for tensor, nr in self._leaves.alive()]

    # gradients

    def hear_node(self, node: Any, places: tuple[tuple[int, int], ...]) -> None:
        """Observe a node: `places` are its outputs, each with its value."""
        for number, nr in places:
            self._nodes[node._sequence_nr(), node.name(), number] = nr
        self._on_nodes.append(node.register_prehook(functools.partial(self._arrived, places)))
        if len(self._on_nodes) > MOST_HANDLES:
            del self._on_nodes[: MOST_HANDLES // 2]

    def _listen(self, tensor: Any, nr: int) -> None:
        if not (tensor.requires_grad and self.watch.is_leaf(tensor)):
            return
        self._hooks_before.append((tensor, getattr(tensor, "_backward_hooks", None)))
        self._on_leaves.append(tensor.register_hook(lambda gradient: self._came_to_leaf(nr, gradient)))

    def _came_to_leaf(self, nr: int, gradient: Any) -> None:
        current = self.watch.passing
        if self.watch.unwatched:
            self.watch.seen.leaves[nr].reached_unwatched = True
        if not self.watch.active or current is None:
            return
        with self.watch.aside():
            peak = self.watch.peak(gradient) or 0.0
            if gradient is not None:
                self.brought[nr] = self.watch.sample(gradient)
            before = current.got.get(nr, 0.0)
            current.got[nr] = math.nan if math.isnan(peak) else max(before, peak)

    def _arrived(self, places: tuple[tuple[int, int], ...], gradients: Any) -> None:
        """A node is about to run: the gradients of what its op made have arrived."""
        current = self.watch.passing
        if not self.watch.active or current is None:
            return
        with self.watch.aside():
            for number, nr in places:
                gradient = gradients[number] if number < len(gradients) else None
                if gradient is None:
                    continue
                peak = self.watch.peak(gradient)
                value = self.watch.seen.values[nr]
                value.grad = peak
                if peak is not None:
                    current.reached.append((nr, peak))
