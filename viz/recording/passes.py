"""Records backward passes: each node's own pre- and post-hook reports it, so the order is truly the engine's."""

from __future__ import annotations

import functools
import threading
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz.engines import Engine
from viz.recording.graph import Array, Op
from viz.recording.reader import Reader, legible
from viz.recording.recording import Event, Gradient
from viz.recording.saved import is_freed
from viz.recording.summary import summarise
from viz.recording.unseen import Unseen

ELSEWHERE = "another thread, which viz does not follow. Run it in the thread that calls viz."


@dataclass
class Pass:
    """A backward pass in progress."""

    number: int
    line: int | None
    nodes: dict[str, Any] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    first: int = 0
    current: str | None = None
    raised: BaseException | None = None
    starts: list[tuple[int, str]] = field(default_factory=list)  # roots, and the number of events before each was added
    # Per node and output the sum of what was sent, and its summary if that was one gradient.
    arriving: dict[tuple[str, int], tuple[np.ndarray, Array | None]] = field(default_factory=dict)
    ended: str | None = None  # the node that ran last; its buffers may be freed by now


class Passes:
    """Records what every backward pass of a program does, as events.

    Args:
        engine: the engine of these passes.
        reader: knows every node and tensor of the program.
        events: the list to append to.
    """

    def __init__(self, engine: Engine, reader: Reader, events: list[Event]) -> None:
        self.engine = engine
        self.reader = reader
        self.graph = reader.graph
        self.events = events
        self.current: Pass | None = None
        # The exception that ended a pass, the last of them, and the node that raised it.
        self.failed: tuple[BaseException | None, str | None] = None, None
        self.active = True
        self.closed = False  # a node runs whose backward is no program of ops
        self._count = 0
        self._thread = threading.get_ident()
        self._handles: list[Any] = []
        self._accumulators: dict[int, Any] = {}

    def close(self) -> None:
        """Stop recording, and release every node."""
        self.active = False
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._accumulators.clear()

    def watch(self, op: Op, node: Any) -> None:
        """Observe the node of an op."""
        key = op.key
        self._handles.append(node.register_prehook(functools.partial(self._runs, key)))
        self._handles.append(node.register_hook(functools.partial(self._sent, key)))

    def forget(self, leaf: Any) -> None:
        """Keep no node of a leaf that is about to get another one."""
        self._accumulators = {key: node for key, node in self._accumulators.items() if node.variable is not leaf}

    def watch_leaf(self, node: Any) -> None:
        """Observe an AccumulateGrad node."""
        name = id(node)
        if name in self._accumulators:
            return
        self._accumulators[name] = node
        self._handles.append(node.register_prehook(functools.partial(self._leaf_runs, name)))
        self._handles.append(node.register_hook(functools.partial(self._leaf_sent, name)))

    def watched_hook(self, hook: Callable[[Any], Any], key: str, line: int | None) -> Callable[[Any], Any]:
        """Wrap a user's tensor hook: run it and record it."""

        def watched(gradient: Any) -> Any:
            result = hook(gradient)
            if self.active:
                with Unseen(self.engine, self.graph):
                    before = Gradient(None, key, 0, self.reader.copy(gradient))
                    after = Gradient(None, key, 0, self.reader.copy(gradient if result is None else result))
                    number = self.current.number if self.current is not None else 0
                    self.events.append(Event("hook", line, values=[key], gradients=[before, after], pass_nr=number))
            return result

        return watched

    def start(self, line: int | None, roots: list[Any], keys: list[str]) -> Pass:
        """A pass starts at the nodes `roots`; `keys` are the keys of their tensors."""
        self._count += 1
        current = Pass(self._count, line, first=len(self.events))
        self.reach(current, roots)
        self.current = current
        self._tell("backward", current, values=keys)
        return current

    def _tell(self, kind: str, current: Pass, node: str | None = None, **about: Any) -> None:
        self.events.append(Event(kind, current.line, node, pass_nr=current.number, **about))

    def reach(self, current: Pass, roots: list[Any]) -> None:
        """Keep references to the nodes that a pass may run, and count what each of them waits for."""
        stack = [root for root in roots if root is not None]
        current.starts += [(len(self.events), self.reader.key_of(root) or self.reader.node(root)) for root in stack]
        while stack:
            node = stack.pop()
            key = self.reader.key_of(node) or self.reader.node(node)
            if key in current.nodes:
                continue
            current.nodes[key] = node
            current.waiting.setdefault(key, 0)
            for slot, (behind, number) in enumerate(node.next_functions):
                if behind is not None:
                    behind_key = self.reader.key_of(behind) or self.reader.node(behind)
                    if key in self.graph.ops:  # a leaf that was written to since is now another value
                        self.graph.ops[key].next[slot] = behind_key, number
                    current.waiting[behind_key] = current.waiting.get(behind_key, 0) + 1
                    stack.append(behind)

    def end(self, current: Pass) -> None:
        self._check_freed()
        ran = {event.node: place for place, event in enumerate(self.events[current.first :]) if event.kind == "run"}

        def turn(key: str) -> tuple[int, int]:
            # The highest sequence number first; AccumulateGrad has the highest of all. Equal ones run as they arrived.
            return -current.nodes[key]._sequence_nr(), ran[key]

        left = dict(current.waiting)
        ready: list[str] = []
        starts = list(current.starts)
        for position, event in enumerate(self.events[current.first :], current.first):
            while starts and starts[0][0] <= position:
                root = starts.pop(0)[1]
                if left.get(root) == 0 and root in ran and root not in ready:
                    insort(ready, root, key=turn)
            if event.kind == "run" and event.node in ready:
                ready.remove(event.node)
            elif event.kind in ("send", "accumulate") and event.node is not None:
                targets = self.graph.ops[event.node].next if event.node in self.graph.ops else []
                for target, _ in targets:
                    if target in left:
                        left[target] -= 1
                        if left[target] == 0 and target in ran:
                            insort(ready, target, key=turn)
            event.ready = list(ready)
        self.current, self.closed = None, False
        if current.raised is not None:
            self.failed = current.raised, current.current
            text = f"{type(current.raised).__name__}: {legible(str(current.raised))}"
            self._tell("raised", current, current.current, text=text)
        else:
            self._tell("done", current)

    def _runs(self, key: str, gradients: Any) -> None:
        if not self.active or self.current is None:
            if self.active and threading.get_ident() != self._thread and not self.graph.note:
                self.graph.note = f"A backward pass ran in {ELSEWHERE}"
            return
        with Unseen(self.engine, self.graph):
            current = self.current
            self._check_freed()
            current.current = key
            self.closed = self.graph.ops[key].name in self.engine.closed_nodes
            incoming = []
            for number, array in enumerate(self._arrived(current, key, gradients)):
                value = self.reader.output(key, number) if gradients[number] is not None else None
                held = self.reader.retained(value) if value is not None else None
                incoming.append(Gradient(key, value, number, array, held))
            self._tell("run", current, key, gradients=incoming)

    def _sent(self, key: str, sent: Any, received: Any) -> None:
        if not self.active or self.current is None:
            return
        self.closed = False
        with Unseen(self.engine, self.graph):
            op = self.graph.ops[key]
            outgoing = []
            for slot, gradient in enumerate(sent):
                target, number = op.next[slot] if slot < len(op.next) else (None, 0)
                value = op.inputs[slot] if slot < len(op.inputs) else None
                if target is None:
                    continue
                numbers = self.reader.numbers(gradient)
                array = None if numbers is None else summarise(numbers, self.engine.dtype(gradient))
                outgoing.append(Gradient(target, value, number, array))
                if numbers is not None:
                    before, _ = self.current.arriving.get((target, number), (None, None))
                    with np.errstate(all="ignore"):  # the engine adds without a warning, too
                        arriving = (numbers.copy(), array) if before is None else (before + numbers, None)
                    self.current.arriving[target, number] = arriving
            self._tell("send", self.current, key, gradients=outgoing)
            self.current.ended = key
            self.current.current = None

    def _leaf_runs(self, name: int, gradients: Any) -> None:
        if not self.active or self.current is None:
            return
        with Unseen(self.engine, self.graph):
            leaf = self.graph.values[self.reader.value(self._accumulators[name].variable)]
            current = self.current
            self._check_freed()
            current.current = leaf.accumulate
            (array,) = self._arrived(current, leaf.accumulate or "", gradients)
            incoming = [Gradient(leaf.accumulate, leaf.key, 0, array)]
            self._tell("run", current, leaf.accumulate, gradients=incoming)

    def _leaf_sent(self, name: int, sent: Any, received: Any) -> None:
        if not self.active or self.current is None:
            return
        with Unseen(self.engine, self.graph):
            variable = self._accumulators[name].variable
            leaf = self.graph.values[self.reader.value(variable)]
            total = self.reader.copy(variable.grad)
            if variable.grad is not None and variable.grad.requires_grad:  # create_graph recorded this pass as well
                self.reader.value(variable.grad, self.current.line)
            self._tell("accumulate", self.current, leaf.accumulate, values=[leaf.key], total=total)
            self.current.current = None

    def _arrived(self, current: Pass, key: str, gradients: Any) -> list[Array | None]:
        """The gradients that a node is given. If one is not the sum of what was sent, a hook changed it on its way."""
        arrays: list[Array | None] = []
        for number, gradient in enumerate(gradients):
            sent, array = current.arriving.pop((key, number), (None, None))
            arrived = self.reader.numbers(gradient)
            alike = sent is not None and arrived is not None and sent.shape == arrived.shape
            same = alike and bool(np.all(sent == arrived))  # usually true, and quickly checked
            if arrived is not None and not (same and array is not None and array.dtype == self.engine.dtype(gradient)):
                array = summarise(arrived, self.engine.dtype(gradient))
            arrays.append(None if arrived is None else array)
            if sent is None or arrived is None or same:
                continue
            if alike and np.allclose(sent, arrived, rtol=1e-3, equal_nan=True):
                continue
            op = self.graph.ops.get(key)
            value = self.reader.output(key, number) if op is not None else self._leaf(key)
            if any(event.kind == "hook" and event.values == [value] for event in self.events[current.first :]):
                continue  # seen when it ran
            before = Gradient(None, value, 0, summarise(sent, str(sent.dtype)))
            after = Gradient(None, value, 0, array)
            self._tell("hook", current, values=[value], gradients=[before, after])
        return arrays

    def _leaf(self, accumulate: str) -> str:
        return next(value.key for value in self.graph.values.values() if value.accumulate == accumulate)

    def _check_freed(self) -> None:
        """The engine frees a node's buffers right after the node ran: check this when the next thing happens."""
        current = self.current
        if current is None or current.ended is None:
            return
        key, current.ended = current.ended, None
        op = self.graph.ops[key]
        node = current.nodes.get(key)
        if node is None or not op.saved or any(saved.state != "alive" for saved in op.saved):
            return
        if is_freed(self.engine, node, op.saved[0].name):  # either all of them are, or none
            for saved in op.saved:
                saved.state = "freed"
            self._tell("freed", current, key)
