"""Records a program on an engine that somebody wrote to learn from: a student's own, micrograd, or any like them.

Such an engine has no hooks and no graph protocol. It must offer a `TeachingEngine`: where a tensor keeps its value, its
parents and its gradient, and a backward pass that says when a tensor is done. `docs/engines.md` shows how to write one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from viz.interrupts import interruptible, put_back_first
from viz.recording.graph import Array, Graph, Op, Saved, Value
from viz.recording.notation import name_values
from viz.recording.printed import Printed
from viz.recording.reader import ended, items_of, legible
from viz.recording.recording import Event, Gradient, Recording
from viz.recording.source import Loops, Source, variables_of
from viz.recording.summary import summarise

NODES = {  # PyTorch's nodes, by what teaching engines call their ops
    "+": "Add",
    "*": "Mul",
    "-": "Sub",
    "/": "Div",
    "@": "Mm",
    "neg": "Neg",
}


@runtime_checkable
class TeachingEngine(Protocol):
    """What an engine must offer so that its graphs can be drawn. A module, a class and an instance can all be one."""

    tensor_type: type

    def value(self, tensor: Any) -> Any:
        """The number or the array in a tensor."""

    def parents(self, tensor: Any) -> Sequence[Any]:
        """The tensors that a tensor was computed from, in order; empty for a leaf."""

    def gradient(self, tensor: Any) -> Any:
        """The gradient that a tensor holds, or None."""

    def backward(self, tensor: Any, done: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        """Run the engine's own backward pass, with the arguments that the program gave to it.

        It calls `done(one)` whenever a tensor has given gradients to its parents. An engine that does not keep these
        gradients in its tensors passes them on: `done(one, grad, [a gradient for each parent])`.
        """


def check(engine: Any) -> None:
    """Refuse an engine that lacks a part, and say which.

    Raises:
        TypeError: a part is missing.
    """
    parts = ("tensor_type", "value", "parents", "gradient", "backward")
    lacking = [part for part in parts if not hasattr(engine, part)]
    if lacking:
        raise TypeError(
            f"engine must be 'tinygrad_edu', 'torch' or an engine of your own, which has {', '.join(parts)}; "
            f"{name_of(engine)} lacks {', '.join(lacking)}. docs/engines.md says what each of them is"
        )
    if not callable(getattr(engine.tensor_type, "backward", None)):
        raise TypeError(f"the tensors of {name_of(engine)} have no method backward, so no program can start a pass")


def name_of(engine: Any) -> str:
    """What to call an engine: its `name`, or that of its module or class."""
    name = getattr(engine, "name", None) or getattr(engine, "__name__", None) or type(engine).__name__
    return str(name).rpartition(".")[2]


class TeachingRecorder:
    """One run of a program on a teaching engine.

    Args:
        engine: see `TeachingEngine`.
        source: the program.
        leaves: names of leaves that are in no variable of the program, by id.
    """

    def __init__(self, engine: Any, source: Source, leaves: Mapping[int, str] | None = None) -> None:
        check(engine)
        self._leaves = leaves or {}
        self.engine = engine
        self.source = source
        self.graph = Graph()
        self.events: list[Event] = []
        self._held: dict[int, tuple[Any, str]] = {}  # tensors by id, with the keys of their values
        self._made_by: dict[int, tuple[Any, str]] = {}  # nodes of the engine, by id, with their ops
        self._parents: dict[int, list[Any]] = {}
        self._op_of: dict[int, str] = {}
        self._final: dict[str, Any] = {}
        self._lines: dict[int, int] = {}
        self._loops: dict[int, Loops] = {}
        self._runs = iter(range(1, sys.maxsize))
        self._passes = 0
        self._grads: dict[int, np.ndarray | None] = {}  # what each tensor held when it was last looked at
        self._before: dict[int, np.ndarray | None] = {}  # and before the pass that runs
        self._added: set[int] = set()  # leaves that have their gradient of this pass
        self._failed: tuple[BaseException | None, str | None] = None, None  # what ended a pass, and at which node

    def run(self, inputs: dict[str, Any]) -> Recording:
        """Run the program once and return what happened."""
        engine, function = self.engine, self.source.function
        face = getattr(engine, "T", engine)
        output, raised = Printed(), None
        if function is None:
            namespace = {"__name__": "__main__", "T": face, **inputs}
            code = compile(self.source.text, self.source.filename, "exec", dont_inherit=True)
            start: Callable[[], Any] = lambda: exec(code, namespace)  # noqa: E731
        else:
            start = lambda: function(face, **inputs)  # noqa: E731
        before = sys.gettrace()
        with put_back_first(), contextlib.redirect_stdout(output), self._seeing_passes():
            sys.settrace(self._trace)
            try:
                interruptible(start)
            except (Exception, SystemExit) as error:
                raised = error
            finally:
                sys.settrace(before)
        about = None if raised is None else ended(raised, self.source, self.events, self._failed)
        tensors = {name: self._state(tensor) for name, tensor in self._final.items()}
        name_values(self.graph)
        if not self.graph.ops and about is None:
            self.graph.note = f"Nothing was recorded: the program ran no op of {name_of(engine)} on a tensor."
        lines = legible(self.source.text).splitlines()
        return Recording(
            name_of(engine), "cpu", lines, self.graph, self.events, tensors, legible(output.getvalue()), about
        )

    # the program's own frames: names, and what is new behind them

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._step if self.source.owns(frame) else None

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event in ("line", "return"):
            self._settle(frame, self._lines.get(id(frame)))
            if event == "line":
                now = self._lines[id(frame)] = frame.f_lineno - self.source.first + 1
                if self.source.loops:
                    self._loops.setdefault(id(frame), Loops(self._runs)).reach(now, self.source.loops)
            else:
                self._lines.pop(id(frame), None)
                self._loops.pop(id(frame), None)
        return self._step

    def _settle(self, frame: FrameType, line: int | None) -> None:
        tensors: dict[str, Any] = {}
        for name, thing in list(variables_of(frame).items()):
            if not name.startswith("__"):
                tensors.update((name + path, tensor) for path, tensor in self._tensors_in(thing))
        for name, tensor in tensors.items():
            key = self._meet(tensor, line, self._steps(frame), look=True)
            value = self.graph.values[key]
            if name not in value.names:
                value.names.append(name)
                value.name = value.name or name
        if frame.f_back is None or self.source.line(frame.f_back) is None:
            self._final = tensors

    def _tensors_in(self, thing: Any) -> Iterator[tuple[str, Any]]:
        kind = self.engine.tensor_type
        if isinstance(thing, kind):
            yield "", thing
        else:
            yield from ((f"[{key!r}]", item) for key, item in items_of(thing) if isinstance(item, kind))

    def _steps(self, frame: FrameType | None) -> list[list[int]]:
        return [[*loop] for loop in self._loops[id(frame)].inside] if id(frame) in self._loops else []

    # values

    def _array(self, thing: Any) -> Array | None:
        if thing is None:
            return None
        numbers = np.asarray(self.engine.value(thing) if isinstance(thing, self.engine.tensor_type) else thing)
        return summarise(numbers, str(numbers.dtype))

    def _numbers(self, tensor: Any) -> np.ndarray | None:
        """A copy of the gradient that a tensor holds."""
        held = self.engine.gradient(tensor)
        if held is None:
            return None
        return np.array(self.engine.value(held) if isinstance(held, self.engine.tensor_type) else held, dtype=float)

    def _asked(self, part: str, tensor: Any, otherwise: Any) -> Any:
        """What an optional part of the engine says of a tensor."""
        ask = getattr(self.engine, part, None)
        return otherwise if ask is None else ask(tensor)

    def _meet(self, tensor: Any, line: int | None, loops: list[list[int]], look: bool = False) -> str:
        """The key of a tensor as it is now; what is new behind it is read before, the earliest first."""
        waiting = [tensor]
        while waiting:
            entry = waiting[-1]
            if id(entry) in self._held:
                waiting.pop()
                continue
            unmet = [parent for parent in self.engine.parents(entry) if id(parent) not in self._held]
            if unmet:
                waiting += unmet[::-1]
            else:
                self._read(waiting.pop(), line, loops)
        if look:
            self._look_again(tensor, line, loops)
        return self._held[id(tensor)][1]

    def _read(self, tensor: Any, line: int | None, loops: list[list[int]]) -> None:
        """Add a new tensor to the graph, and the op that made it."""
        parents = self._parents[id(tensor)] = list(self.engine.parents(tensor))
        node = self._asked("node", tensor, None)
        if node is not None and id(node) in self._made_by:  # what a tensor was before it was written to
            maker = self._made_by[id(node)][1]
            self._held[id(tensor)] = tensor, self.graph.ops[maker].outputs[0]
            self._op_of[id(tensor)] = maker
            return
        wants = bool(self._asked("requires_grad", tensor, True))
        value = Value(f"v{len(self.graph.values)}", "value" if parents else "leaf" if wants else "input", line=line)
        self._fill(value, tensor, wants)
        if not parents:
            value.name = self._leaves.get(id(tensor), "")
            if wants:
                value.accumulate = f"a{value.key[1:]}"
            self.events.append(Event("create", line, values=[value.key]))
            return
        function = str(self._asked("op", tensor, "") or "op")
        op = Op(f"o{len(self.graph.ops)}", _node(function), function, outputs=[value.key], line=line, loops=loops)
        for parent in parents:
            key = self._held[id(parent)][1]
            op.inputs.append(key)
            op.next.append((self._op_of.get(id(parent)) or self.graph.values[key].accumulate, 0))
        if function.startswith("**"):
            op.constants = [function[2:]]
        op.sequence_nr = op.call = len(self.graph.ops)
        op.saved = [Saved(name, **self._kept(value)) for name, value in self._asked("saved", tensor, ())]
        value.op = self._op_of[id(tensor)] = op.key
        if node is not None:
            self._made_by[id(node)] = node, op.key
        self.graph.ops[op.key] = op
        self.events.append(Event("op", line, op.key, values=op.outputs))

    def _kept(self, thing: Any) -> dict[str, Any]:
        """A saved tensor: the value that it is, or its numbers as text."""
        if thing is None:
            return {"state": "freed"}
        if isinstance(thing, self.engine.tensor_type):
            self._meet(thing, None, [])
            value = self.graph.values[self._held[id(thing)][1]]
            return {"value": value.key, "shape": value.shape, "version": value.version}
        return {"text": str(thing), "shape": list(np.shape(thing))}

    def _fill(self, value: Value, tensor: Any, wants: bool) -> None:
        value.array = self._array(tensor)
        value.shape, value.dtype = (value.array.shape, value.array.dtype) if value.array is not None else ([], "")
        value.requires_grad = wants
        value.version = int(self._asked("version", tensor, 0))
        self.graph.values[value.key] = value
        self._held[id(tensor)] = tensor, value.key
        self._grads[id(tensor)] = self._numbers(tensor)

    def _look_again(self, tensor: Any, line: int | None, loops: list[list[int]]) -> None:
        """A tensor that was written to is another value in its memory: of a leaf, or of the op that wrote to it."""
        old = self.graph.values[self._held[id(tensor)][1]]
        was, now = self._parents[id(tensor)], list(self.engine.parents(tensor))
        if len(was) != len(now) or any(one is not other for one, other in zip(was, now, strict=True)):
            self._op_of.pop(id(tensor), None)
            for parent in now:
                self._meet(parent, line, loops)
            self._read(tensor, line, loops)
            new = self.graph.values[self._held[id(tensor)][1]]
        elif not was and repr(self._array(tensor)) != repr(old.array):
            new = dataclasses.replace(old, key=f"v{len(self.graph.values)}", line=line)
            self._fill(new, tensor, old.requires_grad)
            self.events.append(Event("create", line, values=[new.key]))
        else:
            return
        new.shares, new.how_shared, new.name, new.names = old.key, "in-place", old.name, list(old.names)

    # backward passes

    @contextlib.contextmanager
    def _seeing_passes(self) -> Iterator[None]:
        kind = self.engine.tensor_type
        original = kind.backward
        recorder, running = self, [False]

        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if running[0]:  # the engine's own pass goes on to its own method
                return original(tensor, *args, **kwargs)
            running[0] = True
            try:
                recorder._pass(tensor, args, kwargs)
            finally:
                running[0] = False

        kind.backward = backward
        try:
            yield
        finally:
            kind.backward = original

    def _pass(self, root: Any, args: Any, kwargs: Any) -> None:
        self._passes += 1
        line = self.source.line(sys._getframe(2))
        key = self._meet(root, line, [])
        self._look_at_gradients()
        self.events.append(Event("backward", line, values=[key], pass_nr=self._passes))
        running: list[str | None] = [self._op_of.get(id(root))]

        def done(tensor: Any, grad: Any = None, sent: Sequence[Any] | None = None) -> None:
            running[0] = self._ran(tensor, grad, sent, line)

        trace = sys.gettrace()
        sys.settrace(None)
        try:
            self.engine.backward(root, done, *args, **kwargs)
        except BaseException as error:
            self._failed = error, running[0]
            text = f"{type(error).__name__}: {legible(str(error))}"
            self.events.append(Event("raised", line, running[0], text=text, pass_nr=self._passes))
            raise
        finally:
            sys.settrace(trace)
        for number in self._held:
            if number not in self._op_of:
                self._leaf_has(number, line, told=False)
        self.events.append(Event("done", line, pass_nr=self._passes))

    def _look_at_gradients(self) -> None:
        self._added.clear()
        for number, (tensor, _) in self._held.items():
            self._grads[number] = self._before[number] = self._numbers(tensor)

    def _ran(self, tensor: Any, grad: Any, sent: Sequence[Any] | None, line: int | None) -> str | None:
        """A tensor has given gradients to its parents: returns the node that comes next to it in the graph."""
        key = self._op_of.get(id(tensor))
        if key is None:
            self._leaf_has(id(tensor), line, told=True)
            return None
        op, parents = self.graph.ops[key], self._parents[id(tensor)]
        arrived = self._array(self.engine.gradient(tensor) if grad is None else grad)
        self.graph.values[op.outputs[0]].retains_grad = self.engine.gradient(tensor) is not None
        incoming = [Gradient(key, op.outputs[0], 0, arrived)]
        self.events.append(Event("run", line, key, gradients=incoming, pass_nr=self._passes))
        if sent is None:
            sent = self._what_parents_got(parents)
        arrays = [None if gradient is None else self._array(gradient) for gradient in sent]
        outgoing = [
            Gradient(target, value, number, array)
            for (target, number), value, array in zip(op.next, op.inputs, arrays, strict=False)
            if target is not None
        ]
        self.events.append(Event("send", line, key, gradients=outgoing, pass_nr=self._passes))
        self._free(op, tensor, line)
        return key

    def _what_parents_got(self, parents: list[Any]) -> list[Any]:
        """The growth of each parent's gradient; a parent that stands twice has all of it at its first place."""
        sent: list[Any] = []
        seen: set[int] = set()
        for parent in parents:
            now, before = self._numbers(parent), self._grads.get(id(parent))
            sent.append(None if now is None or id(parent) in seen else now if before is None else now - before)
            self._grads[id(parent)] = now
            seen.add(id(parent))
        return sent

    def _free(self, op: Op, tensor: Any, line: int | None) -> None:
        now = [Saved(name, **self._kept(value)) for name, value in self._asked("saved", tensor, ())]
        if (
            op.saved
            and all(saved.state == "freed" for saved in now)
            and any(saved.state == "alive" for saved in op.saved)
        ):
            for kept in op.saved:
                kept.state = "freed"
            self.events.append(Event("freed", line, op.key, pass_nr=self._passes))

    def _leaf_has(self, number: int, line: int | None, told: bool) -> None:
        """A leaf's gradient is complete: record it if the pass changed it, or if the engine reports it (`told`)."""
        tensor, key = self._held[number]
        node, before, now = self.graph.values[key].accumulate, self._before.get(number), self._numbers(tensor)
        same = before is not None and now is not None and np.array_equal(before, now, equal_nan=True)
        if now is None or node is None or number in self._added or (same and not told):
            return
        self._added.add(number)
        got = now if before is None or before.shape != now.shape else now - before
        incoming = [Gradient(node, key, 0, summarise(got, str(got.dtype)))]
        self.events.append(Event("run", line, node, gradients=incoming, pass_nr=self._passes))
        total = summarise(now, str(now.dtype))
        self.events.append(Event("accumulate", line, node, values=[key], total=total, pass_nr=self._passes))

    # what the program ended with

    def _state(self, tensor: Any) -> dict[str, Any]:
        array, held = self._array(tensor), self._numbers(tensor)
        op = self._op_of.get(id(tensor))
        return {
            "shape": array.shape if array is not None else [],
            "dtype": None,  # such an engine has one kind of numbers
            "value": None if array is None else dataclasses.asdict(array),
            "grad": None if held is None else dataclasses.asdict(summarise(held, str(held.dtype))),
            "requires_grad": self._asked("requires_grad", tensor, None),
            "is_leaf": op is None,
            "grad_fn": None if op is None else self.graph.ops[op].name,
            "retains_grad": False,
            "version": int(self._asked("version", tensor, 0)),
            "grad_kept": held is not None,
            "key": self._held[id(tensor)][1],
        }


def _node(function: str) -> str:
    """The name of a node as PyTorch would have it: `MulBackward0` for `*`, `PowBackward0` for `**2`."""
    if function.startswith("**"):
        return "PowBackward0"
    plain = NODES.get(function, function)
    return f"{plain[:1].upper()}{plain[1:].lower() if plain.isupper() or plain == 'ReLU' else plain[1:]}Backward0"
