"""The current value of a tensor, the leaf that it is, and the gradients that reach both."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

from viz.diagnosis.observation import Leaf, Ran, Seen
from viz.diagnosis.watching.watch import Call, Noting, Register, Watch
from viz.engines import ACCUMULATE

MOST_USES = 200  # ops that are noted for one leaf
MOST_NODES = 5_000  # nodes that are visited to find where a value came from
MOST_HANDLES = 20_000  # hooks on nodes; the older half belongs to graphs that no longer exist


@dataclass
class Values:
    """Gives a number to each value and each leaf, and listens for their gradients."""

    watch: Watch
    brought: dict[int, Any] = field(default_factory=dict)  # leaf: a sample of what a pass brought, before any hook
    gradients: Register[int] = field(default_factory=Register)  # each `.grad`: its leaf
    _leaves: Register[int] = field(default_factory=Register)
    _known: Register[tuple[int, int]] = field(default_factory=Register)  # each tensor: its value, and its version then
    _nodes: dict[tuple[int, str, int], int] = field(default_factory=dict)  # by number, name and output: the value
    _on_nodes: list[Any] = field(default_factory=list)
    _on_leaves: list[Any] = field(default_factory=list)
    _hooks_before: list[tuple[Any, Any]] = field(default_factory=list)

    def close(self) -> None:
        """Remove every hook."""
        for handle in (*self._on_nodes, *self._on_leaves):
            handle.remove()
        for tensor, hooks in self._hooks_before:
            if hooks is None and not getattr(tensor, "_backward_hooks", True):
                tensor._backward_hooks = None
        self.gradients, self._leaves, self._known = Register(), Register(), Register()

    def swapped(self, call: Call) -> Noting:
        """Two tensors are about to change their places: refer to neither."""
        for register in (self.gradients, self._leaves, self._known):
            register.forget(*call.args, *call.kwargs.values())
        yield

    def known(self, tensor: Any) -> int | None:
        """The number of a tensor's current value; None if it was changed since it was last seen, or never seen."""
        nr, version = self._known[tensor] or (None, 0)
        return nr if nr is None or version == self.watch.version(tensor) else None

    def value(self, tensor: Any, line: int | None = None, op: int | None = None, base: int | None = None) -> int:
        """The number of a tensor's current value; a new number if this value has not been seen."""
        seen = self.watch.seen
        if op is None and (nr := self.known(tensor)) is not None:
            value = seen.values[nr]
            if (now := self._requires_grad(tensor, value.op, value.base)) != value.requires_grad:
                value.requires_grad = now
                if value.requires_grad and self.watch.is_leaf(tensor) and value.leaf is None:
                    value.leaf = self.leaf(tensor, line)
            return nr
        nr, recorded = len(seen.values), self.watch.recorded(tensor)
        peak, low = self.watch.extremes(tensor)
        dtype = self.watch.engine.dtype(tensor)
        requires_grad = self._requires_grad(tensor, op, base)
        value = Seen(nr, op, tuple(tensor.shape), dtype, requires_grad, peak, low, line, base)
        seen.values.append(value)
        if (known := self._known[tensor]) is not None:  # from before it was changed
            before = seen.values[known[0]]
            value.name, value.line = before.name, line if op is not None else before.line
            value.base = before.base if op is not None or before.base is not None else before.nr  # the same memory
        if requires_grad and not recorded:
            value.leaf = self.leaf(tensor, line)
        elif op is None or not recorded:  # within a Function's forward its result looks like a leaf
            value.leaf = self._leaves[tensor]
        if value.leaf is not None:
            seen.leaves[value.leaf].values.append(nr)
        elif op is None:
            value.of_grad = self.gradients[tensor]
        self._known[tensor] = nr, self.watch.version(tensor)
        if op is None and recorded:
            self._unseen(tensor, value, line)
        elif op is None and value.leaf is None and value.of_grad is None:
            base = getattr(tensor, "_base", None)
            if base is not None and (whole := self.known(base)) is not None:  # as `.T` of what was made under no_grad
                self._ran_unseen(value, "view", line, [whole], False, grad_on=not base.requires_grad)
        return nr

    def _requires_grad(self, tensor: Any, op: int | None, base: int | None) -> bool:
        """Whether a tensor requires grad. A view made under no_grad of what does says so too, and is no leaf."""
        seen = self.watch.seen
        view = op is not None and base is not None and seen.values[base].requires_grad and not seen.ops[op].grad_on
        return bool(tensor.requires_grad) and not (view and not self.watch.recorded(tensor))

    def _unseen(self, tensor: Any, value: Seen, line: int | None) -> None:
        """A value whose history no call showed, such as a result of a fused layer: read its inputs from the graph."""
        if (node := self.watch.node(tensor)) is None:
            return
        unseen: list[int] = []
        met: set[Any] = set()
        stack = [node]
        while stack and len(met) < MOST_NODES:
            for behind, number in stack.pop().next_functions:
                if behind is None or (key := (behind._sequence_nr(), behind.name(), number)) in met:
                    continue
                met.add(key)
                if behind.name() == ACCUMULATE:
                    unseen.append(self.value(behind.variable, line))
                elif key in self._nodes:
                    unseen.append(self._nodes[key])
                else:
                    stack.append(behind)
        name = node.name().partition("Backward")[0].lower()
        self._ran_unseen(value, name, line, unseen, True, grad_on=True, node=node.name())
        self.hear_node(node, ((tensor.output_nr, value.nr),))

    def _ran_unseen(
        self, value: Seen, name: str, line: int | None, inputs: list[int], recorded: bool, **how: Any
    ) -> None:
        """Note the op behind a value that no call showed."""
        seen = self.watch.seen
        value.op = len(seen.ops)
        stack, taken = (line,) if line is not None else (), tuple(dict.fromkeys(inputs))
        how |= {"owner": next(reversed(self.watch.running), None), "step": seen.steps}
        seen.ops.append(Ran(value.op, name, stack, None, taken, (value.nr,), recorded, **how))
        self.used(seen.ops[-1])

    def used(self, op: Ran) -> None:
        """Note that an op took leaves; not if it takes only their shapes, or fills the first of them with numbers."""
        seen = self.watch.seen
        taken = () if op.name.endswith("_like") else op.inputs[op.in_place and not op.recorded :]
        for leaf in {seen.values[nr].leaf for nr in taken} - {None}:
            if leaf is not None and len(seen.leaves[leaf].used_by) < MOST_USES:
                seen.leaves[leaf].used_by.append(op.nr)

    # leaves

    def known_leaf(self, tensor: Any) -> Leaf | None:
        """The leaf that a tensor is; None if it has not been seen."""
        nr = self._leaves[tensor]
        return None if nr is None else self.watch.seen.leaves[nr]

    def leaf(self, tensor: Any, line: int | None = None) -> int:
        """The number of a leaf. Its gradients are observed from now on."""
        seen = self.watch.seen
        leaf = self.known_leaf(tensor)
        if leaf is None:
            parameter = isinstance(tensor, self.watch.module.nn.Parameter)
            leaf = Leaf(len(seen.leaves), "", tuple(tensor.shape), False, line, parameter)
            seen.leaves.append(leaf)
            self._leaves[tensor] = leaf.nr
            known = self.known(tensor)
            if known is not None and self.watch.is_leaf(tensor) and seen.values[known].leaf is None:
                seen.values[known].leaf = leaf.nr  # ops used it before it was known that it learns
                leaf.values.append(known)
        if tensor.requires_grad and not leaf.requires_grad:
            leaf.requires_grad = True
            if self.watch.is_leaf(tensor):
                self._hooks_before.append((tensor, getattr(tensor, "_backward_hooks", None)))
                self._on_leaves.append(tensor.register_hook(functools.partial(self._came_to_leaf, leaf.nr)))
        return leaf.nr

    def leaves(self) -> list[tuple[Leaf, Any]]:
        """The leaves that still exist, with their tensors."""
        return [(self.watch.seen.leaves[nr], tensor) for tensor, nr in self._leaves.alive()]

    def name(self, tensor: Any, name: str) -> None:
        """Give a leaf a name, if it has none."""
        leaf = self.watch.seen.leaves[self.leaf(tensor)]
        leaf.name = leaf.name or name

    def by_hand(self, call: Call) -> Noting:
        """`nn.Parameter(…)` in a line of the program, which no op shows."""
        yield
        if call.own and self.watch.engine.is_tensor(call.result):
            self.watch.seen.leaves[self.leaf(call.result, call.line)].by_hand = True

    # gradients

    def asked(self, tensor: Any, line: int | None) -> None:
        """Note that the program wants a tensor's `.grad`. A tensor that is not a leaf has none."""
        leaf, nr, seen = self.known_leaf(tensor), self.known(tensor), self.watch.seen
        if leaf is not None:
            leaf.asked = True
        elif nr is None or line is None:
            return
        elif not tensor.requires_grad and seen.passes:
            seen.asked_unrequired[nr] = line
        elif self.watch.recorded(tensor) and not tensor.retains_grad:
            seen.asked_in_vain.append((nr, line))

    def hear_node(self, node: Any, places: tuple[tuple[int, int], ...]) -> None:
        """Observe a node: `places` are its outputs, each with its value."""
        for number, nr in places:
            self._nodes[node._sequence_nr(), node.name(), number] = nr
        self._on_nodes.append(node.register_prehook(functools.partial(self._arrived, places)))
        if len(self._on_nodes) > MOST_HANDLES:
            del self._on_nodes[: MOST_HANDLES // 2]

    def _came_to_leaf(self, nr: int, gradient: Any) -> None:
        current = self.watch.passing
        if self.watch.skipping:
            self.watch.seen.leaves[nr].reached_unwatched = True
        if not self.watch.active or current is None:
            return
        with self.watch.aside:
            peak = 0.0 if gradient is None else self.watch.peak(gradient)
            if peak is None:  # it cannot be read
                self.watch.seen.leaves[nr].reached_unwatched = True
                return
            if gradient is not None:
                self.brought[nr] = self.watch.sample(gradient)
            current.got[nr] = math.nan if math.isnan(peak) else max(current.got.get(nr, 0.0), peak)

    def _arrived(self, places: tuple[tuple[int, int], ...], gradients: Any) -> None:
        """A node is about to run: the gradients of what its op made have arrived."""
        current = self.watch.passing
        if not self.watch.active or current is None:
            return
        with self.watch.aside:
            for number, nr in places:
                if number < len(gradients) and gradients[number] is not None:
                    self.watch.seen.values[nr].grad = peak = self.watch.peak(gradients[number])
                    current.reached += [(nr, peak)] if peak is not None else []
