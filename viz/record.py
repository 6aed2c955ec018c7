"""Runs a program under observation and writes down what autograd did, as plain data.

Every op is seen as it runs (function mode), every node by its own pre- and post-hook, so the order of a backward pass
is the engine's, not a guess of ours. Values are copied when they exist. No object of the engine survives in the
`Recording`.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import importlib
import inspect
import io
import itertools
import json
import linecache
import os
import sys
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from viz import engines
from viz.engines import ACCUMULATE, CORE, TORCH, Engine
from viz.graph import Array, Graph, Op, Saved, Value
from viz.reader import Reader, legible, saved_tensors, summarise, tensors_in

if TYPE_CHECKING:
    from viz.draw import Picture

SCHEMA = 1
_programs = itertools.count(1)
KEPT_PROGRAMS = 32
PRINTED = 100_000  # characters of a program's output that are kept


class _Printed(io.StringIO):
    """What a program prints, up to a bound: one that prints a gigabyte is recorded all the same."""

    def write(self, text: str) -> int:
        room = PRINTED - self.tell()
        if 0 < room < len(text):
            super().write(text[:room])
            super().write(f"\n… what was printed past {PRINTED:,} characters is not kept\n")
        elif room > 0:
            super().write(text)
        return len(text)


@dataclass
class Gradient:
    """A gradient on its way: into slot `output_nr` of `node`, which is the gradient of `value`."""

    node: str | None
    value: str | None
    output_nr: int = 0
    array: Array | None = None  # None: the engine sent none


@dataclass
class Event:
    """One thing that happened, in the order in which it did.

    Kinds: `create` (a tensor from nothing), `op`, `backward` (a pass starts), `run` (a node starts, with the summed
    gradients of its outputs), `send` (it is done, with the gradient for each input), `hook` (a tensor hook ran),
    `accumulate` (a leaf's `.grad` changed), `freed` (a node's saved tensors are gone), `done` (the pass is over),
    `raised` (the pass ended in an exception that the program caught), `error` (one that it did not catch).
    """

    kind: str
    line: int | None = None
    node: str | None = None  # key of the op or AccumulateGrad node
    values: list[str] = field(default_factory=list)
    gradients: list[Gradient] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)  # nodes that have all their gradients and wait to run
    total: Array | None = None  # accumulate: `.grad` afterwards
    text: str = ""
    pass_nr: int = 0


@dataclass
class Recording:
    """What a program did, as data: its source, its graph, every event, and the tensors it ended with."""

    engine: str
    device: str
    source: list[str]
    graph: Graph
    events: list[Event]
    tensors: dict[str, dict[str, Any]]
    stdout: str = ""
    error: dict[str, Any] | None = None
    schema: int = SCHEMA

    def to_json(self) -> str:
        """The recording as JSON text; `viz.load` reads it back."""
        return json.dumps(finite(dataclasses.asdict(self)), ensure_ascii=False, separators=(",", ":"))

    def play(self, **options: Any) -> Any:
        """A player for this recording; shows itself in Jupyter."""
        from viz.widgets.player import Player

        return Player(self.scene(**options))

    def save(self, path: str | os.PathLike[str], step: int | None = None, **options: Any) -> Path:
        """Write the recording, or the picture of one step of it, in the format that the suffix of `path` names."""
        from viz.export import save_recording

        return save_recording(self, path, step=step, **options)

    def picture(self, step: int | None = None, view: str = "values", theme: str = "auto") -> Picture:
        """One step as a picture that shows and saves itself; the last step when none is given.

        Raises:
            IndexError: there is no such step.
        """
        from viz.export import Frames

        return Frames(self, view).picture(step, theme)

    def scene(self, **options: Any) -> dict[str, Any]:
        """The pictures, patches and sentences that the player shows."""
        from viz.scene import scene

        return scene(self, **options)


def finite(thing: Any) -> Any:
    """`thing` with infinities and NaN as the strings that `float` reads back: JSON has no word for them."""
    if isinstance(thing, float) and thing - thing != 0:
        return repr(thing)
    if isinstance(thing, dict):
        return {key: finite(item) for key, item in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [finite(item) for item in thing]
    return thing


def record(
    program: str | Callable[..., Any],
    engine: str = CORE,
    device: str = "cpu",
    inputs: dict[str, Any] | None = None,
) -> Recording:
    """Run `program` on an engine and record every op, every gradient and every accumulation, in true order.

    Args:
        program: source text in which `T` (and `torch`) is the engine, or a function that takes the engine first.
        engine: `"tinygrad_edu"` or `"torch"`.
        device: where tensors are made when the program does not say; `"cuda"` for PyTorch on a GPU.
        inputs: further names for the program (arrays become tensors); for a function, its keyword arguments.

    An exception in the program is no exception here: the recording ends with it, and `recording.error` tells it.

    Raises:
        TypeError: `program` is neither text nor callable.
        ValueError: no such engine, or the device cannot be used here (the message says why).

    >>> import viz
    >>> rec = viz.record("x = T.tensor(3.0, requires_grad=True); (x * x).backward()", engine="torch")
    >>> rec.tensors["x"]["grad"]["data"]
    6.0
    """
    if not (isinstance(program, str) or callable(program)):
        raise TypeError(
            f"program must be source text or a function that takes the engine, not {type(program).__name__}"
        )
    chosen = engines.load(engine)
    reason = chosen.devices().get(device.partition(":")[0], f"{device!r} is not a device that {engine} can use here.")
    if reason:
        raise ValueError(f"device={device!r}: {reason}")
    return _Recorder(chosen, device, _Program(program)).run(inputs or {})


class _Program:
    """Source text or function: where its lines are, and how to call it."""

    def __init__(self, program: str | Callable[..., Any]) -> None:
        self.function = None if isinstance(program, str) else program
        self.first = 1
        self.codes: set[CodeType] = set()  # of a function, and of all that is defined in it
        if isinstance(program, str):
            text = textwrap.dedent(program).strip("\n")
            self.filename = f"<program {next(_programs)}>"
            linecache.cache[self.filename] = (len(text), None, text.splitlines(keepends=True), self.filename)
            # Tracebacks read the lines from here; only the latest programs keep theirs, or a slider would fill memory.
            linecache.cache.pop(f"<program {int(self.filename.split()[1][:-1]) - KEPT_PROGRAMS}>", None)
            self.text = text
        else:
            target = inspect.unwrap(program)
            code = getattr(target, "__code__", None) or getattr(type(target).__call__, "__code__", None)
            self.filename = code.co_filename if code is not None else ""
            inside = [code] if code is not None else []
            while inside:
                one = inside.pop()
                self.codes.add(one)
                inside += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
            try:
                lines, self.first = inspect.getsourcelines(target)
            except (OSError, TypeError):
                lines = []
            if not lines and code is not None:
                self.first = code.co_firstlineno
            self.first = max(self.first, 1)
            self.text = textwrap.dedent("".join(lines)).rstrip("\n")

    def owns(self, frame: FrameType) -> bool:
        """Whether `frame` runs a line of this program."""
        # By code, not by line: a cell's own frame starts at line 1, as a function does that opens the cell.
        code = frame.f_code
        return code.co_filename == self.filename if self.function is None else code in self.codes

    def line(self, frame: FrameType | None) -> int | None:
        """The program's line that `frame`, or whoever called it, is at; counted from 1."""
        while frame is not None:
            if self.owns(frame) and frame.f_lineno is not None:
                return frame.f_lineno - self.first + 1
            frame = frame.f_back
        return None


@dataclass
class _Pass:
    """A backward pass under way."""

    number: int
    line: int | None
    nodes: dict[str, Any] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    first: int = 0
    current: str | None = None
    raised: BaseException | None = None
    starts: list[tuple[int, str]] = field(default_factory=list)  # roots, and after how many events each was given
    arriving: dict[tuple[str, int], Any] = field(default_factory=dict)  # sums of what was sent, per node and output
    ended: str | None = None  # node that just ran, whose buffers may be gone by now


class _Recorder:
    def __init__(self, engine: Engine, device: str, program: _Program) -> None:
        self.engine = engine
        self.device = device
        self.program = program
        self.reader = Reader(engine, keep=False, on_op=self._met_op, on_accumulate=self._met_accumulate)
        self.graph = self.reader.graph
        self.events: list[Event] = []
        self.pass_: _Pass | None = None
        self.passes = 0
        self.active = True
        self._call: tuple[str, int | None, list[Any], list[str]] | None = None
        self._handles: list[Any] = []
        self._accumulators: dict[int, Any] = {}
        self._lines: dict[int, int] = {}
        self._final: dict[str, Any] = {}
        self._created: dict[str, Event] = {}
        self._entries = engine.entries()
        self._apply = engine.apply_code()
        self._used: set[str] = set()
        self._calls = 0  # of ours that PyTorch runs with function modes set aside
        self._failed: _Pass | None = None

    # running

    def run(self, inputs: dict[str, Any]) -> Recording:
        module = self.engine.module
        given = {
            name: module.tensor(item) if isinstance(item, (np.ndarray, np.generic)) else item
            for name, item in inputs.items()
        }
        output = _Printed()
        error: BaseException | None = None
        mode = self._mode()
        before = sys.gettrace()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(output))
            if self.device != "cpu":
                stack.enter_context(module.device(self.device))
            grad_was_on = module.is_grad_enabled()
            try:
                if self.program.function is None:
                    code = compile(self.program.text, self.program.filename, "exec")
                    namespace = self._namespace(given)
                    start: Callable[[], Any] = lambda: exec(code, namespace)  # noqa: E731
                else:
                    function = self.program.function
                    start = lambda: function(module, **given)  # noqa: E731
                sys.settrace(self._trace)
                try:
                    with mode:
                        start()
                finally:
                    sys.settrace(before)
            except (Exception, SystemExit) as raised:
                error = raised
            finally:
                module.set_grad_enabled(grad_was_on)
        return self._finish(output.getvalue(), error)

    def _namespace(self, given: dict[str, Any]) -> dict[str, Any]:
        engine = self.engine

        def import_for_engine(name: str, globals=None, locals=None, fromlist=(), level=0):
            top, _, rest = name.partition(".")
            if level == 0 and top in (TORCH, CORE) and top != engine.name:
                importlib.import_module(f"{engine.name}.{rest}" if rest else engine.name)
                name = f"{engine.name}.{rest}" if rest else engine.name
            return builtins.__import__(name, globals, locals, fromlist, level)

        own = dict(vars(builtins), __import__=import_for_engine)
        return {"__name__": "__main__", "__builtins__": own, "T": engine.module, "torch": engine.module, **given}

    def _mode(self) -> Any:
        recorder = self

        class Watch(self.engine.mode_type):  # type: ignore[name-defined, misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return recorder._called(func, args, kwargs or {})

        return Watch()

    def _finish(self, stdout: str, error: BaseException | None) -> Recording:
        about: dict[str, Any] | None = None
        if error is not None:
            about = self._describe(error)
            if self.events and self.events[-1].kind == "raised":  # nobody caught it
                self.events.pop()
            self.events.append(
                Event("error", about["line"], about["node"], text=f"{about['type']}: {about['message']}")
            )
        self.active = False
        for handle in self._handles:
            handle.remove()
        self._states = tensors = {name: self._state(tensor) for name, tensor in self._final.items()}
        self._forget_unused()
        self._name_intermediates()
        recording = Recording(
            self.engine.name,
            self.device,
            legible(self.program.text).splitlines(),
            self.graph,
            self.events,
            tensors,
            legible(stdout),
            about,
        )
        self._final.clear()
        self._accumulators.clear()
        self._handles.clear()
        return recording

    def _describe(self, error: BaseException) -> dict[str, Any]:
        line = None
        if isinstance(error, SyntaxError) and error.filename == self.program.filename:
            line = error.lineno
        for frame, number in traceback.walk_tb(error.__traceback__):
            if self.program.owns(frame):
                line = number - self.program.first + 1
        running = self._failed if self._failed is not None and self._failed.raised is error else None
        return {
            "type": type(error).__name__,
            "message": legible(str(error)),
            "line": line,
            "phase": "backward" if running is not None else "forward",
            "node": running.current if running is not None else None,
        }

    def _state(self, tensor: Any) -> dict[str, Any]:
        leaf = bool(tensor.is_leaf)
        kept = leaf or bool(tensor.retains_grad)
        grad = tensor.grad if kept else None
        node = self.reader.grad_fn(tensor)
        array = self.reader.copy(tensor)
        gradient = None if grad is None else self.reader.copy(grad)
        return {
            "shape": list(tensor.shape),
            "dtype": self.engine.dtype(tensor),
            "value": None if array is None else dataclasses.asdict(array),
            "grad": None if gradient is None else dataclasses.asdict(gradient),
            "requires_grad": bool(tensor.requires_grad),
            "is_leaf": leaf,
            "grad_fn": None if node is None else node.name(),
            "retains_grad": bool(tensor.retains_grad),
            "version": self.reader.version(tensor),
            "grad_kept": kept,
            "key": self.reader.value(tensor),
        }

    def _forget_unused(self) -> None:
        """Leave out tensors that the program neither named nor used, such as what a parameter was made from."""
        graph = self.graph
        used = {key for op in graph.ops.values() for key in (*op.inputs, *op.outputs)}
        used |= {saved.value for op in graph.ops.values() for saved in op.saved}
        used |= {state["key"] for state in self._states.values()}
        unused = {key for key, value in graph.values.items() if not value.names and key not in used}
        for key in unused:
            del graph.values[key]
        for value in graph.values.values():
            if value.shares in unused:
                value.shares = None
        self.events = [event for event in self.events if event.kind != "create" or event.values[0] not in unused]

    def _name_intermediates(self) -> None:
        from viz.notation import name_values

        name_values(self.graph)

    # the program's own frames: names, and values that no op call showed

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        entry = self._entries.get(frame.f_code)
        if entry is not None:
            return self._enter(frame, entry)
        return self._step if self.program.owns(frame) else None

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event in ("line", "return"):
            line = self._lines.get(id(frame))
            with self.engine.quietly():
                self._settle(frame, line)
            if event == "line":
                self._lines[id(frame)] = frame.f_lineno - self.program.first + 1
            else:
                self._lines.pop(id(frame), None)
        return self._step

    def _settle(self, frame: FrameType, line: int | None) -> None:
        outermost = frame.f_back is None or self.program.line(frame.f_back) is None
        found: dict[str, Any] = {}
        for name, thing in list(frame.f_locals.items()):
            if name.startswith("__") or name in ("T", "torch", "self", "ctx"):
                continue
            for path, tensor in tensors_in(thing, self.engine):
                found[name + path] = tensor
                self._create_or_bind(name + path, tensor, line)
        if outermost:
            self._final = found

    def _create_or_bind(self, name: str, tensor: Any, line: int | None) -> None:
        key = self.reader.bind(name, tensor, line)
        value = self.graph.values[key]
        if value.op is None and key not in self._created:
            self._create(key, line)

    def _create(self, key: str, line: int | None) -> None:
        if self.pass_ is not None:
            self.graph.values[key].scope = "backward"
        event = Event("create", line, values=[key])
        self._created[key] = event
        self.events.append(event)

    # ops as they run

    def _called(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if not self.active:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        frame = sys._getframe(2)
        line = self.program.line(frame)
        if name in ("__set__", "__delete__"):
            return func(*args, **kwargs)
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name not in ("T", "mT", "H", "mH", "data", "real", "imag"):
                return func(*args, **kwargs)
        tensors = self._tensors(args) + self._tensors(kwargs.values())
        if name in ("backward", "grad"):
            return self._through(func, args, kwargs)
        if name == "register_hook" and len(args) == 2 and callable(args[1]):
            with self.engine.quietly():
                key = self.reader.value(tensors[0])
            return func(args[0], self._watched_hook(args[1], key, line))
        with self.engine.quietly():
            inputs = [self.reader.value(tensor) for tensor in tensors]
            for key, _tensor in zip(inputs, tensors, strict=True):
                value = self.graph.values[key]
                if value.op is None and key not in self._created:
                    self._create(key, line)
            versions = [self.reader.version(tensor) for tensor in tensors]
        result = self._through(func, args, kwargs)
        with self.engine.quietly():
            changed = [
                tensor
                for tensor, version in zip(tensors, versions, strict=True)
                if self.reader.version(tensor) != version
            ]
            self._ran(name, line, args, kwargs, inputs, tensors, self._tensors((result,)), changed)
        return result

    def _through(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        self._calls += 1
        try:
            return func(*args, **kwargs)
        finally:
            self._calls -= 1

    def _tensors(self, things: Any) -> list[Any]:
        found = []
        stack = list(things)[::-1]
        while stack:
            thing = stack.pop()
            if self.engine.is_tensor(thing):
                found.append(thing)
            elif isinstance(thing, (list, tuple)):
                stack.extend(reversed(thing))
            elif isinstance(thing, dict):
                stack.extend(reversed(list(thing.values())))
        return found

    def _ran(
        self,
        name: str,
        line: int | None,
        args: Any,
        kwargs: dict[str, Any],
        inputs: list[str],
        tensors: list[Any],
        results: list[Any],
        changed: list[Any],
    ) -> None:
        changed = [tensor for tensor in changed if not self._filled(tensor)]
        self._used.update(inputs)
        constants = [_constant(item) for item in (*args, *kwargs.values()) if not self._tensors((item,))]
        constants = [text for text in constants if text]
        made = [
            tensor
            for tensor in results
            if not any(tensor is one for one in tensors) or any(tensor is one for one in changed)
        ]
        made += [tensor for tensor in changed if not any(tensor is one for one in made)]
        before = len(self.graph.ops)
        known = set(self.graph.values)
        self._call = (name, line, inputs, constants)
        keys = [self.reader.value(tensor, line, made=bool(tensors)) for tensor in made]
        self._call = None
        fresh = [key for key in dict.fromkeys(keys) if key not in known or self.graph.values[key].array is None]
        recorded = list(self.graph.ops.values())[before:]
        for key in dict.fromkeys(keys):
            value = self.graph.values[key]
            if value.op is None and key in fresh:
                if recorded and not recorded[-1].custom:  # such as the indices beside a maximum
                    value.op, value.kind, value.output_nr = recorded[-1].key, "result", len(recorded[-1].outputs)
                    recorded[-1].outputs.append(key)
                elif inputs:
                    self._unrecorded(name, line, inputs, key, constants)
                elif key not in self._created:
                    self._create(key, line)

    def _filled(self, tensor: Any) -> bool:
        """A tensor that nobody has named or used yet and that is written to is being made, as parameters are."""
        key = self.reader.known(tensor)
        value = None if key is None else self.graph.values[key]
        if value is None or value.names or value.op is not None or value.key in self._used:
            return False
        value.version = self.reader.version(tensor)
        value.array = self.reader.copy(tensor)
        return True

    def _unrecorded(self, name: str, line: int | None, inputs: list[str], output: str, constants: list[str]) -> None:
        op = Op(f"o{len(self.graph.ops)}", name, name, recorded=False, line=line, constants=constants)
        op.scope = self._inside(sys._getframe(1))
        op.during = "backward" if self.pass_ is not None else "forward"
        op.inputs = list(dict.fromkeys(inputs))
        op.outputs = [output]
        self.graph.ops[op.key] = op
        value = self.graph.values[output]
        value.op = op.key
        if value.kind == "input":
            value.kind = "result"
        self._created[output] = Event("op", line, op.key, values=[output])
        self.events.append(self._created[output])

    def _inside(self, frame: FrameType | None) -> str:
        """`Double.forward` when the caller runs inside that custom Function, else nothing."""
        below: FrameType | None = None
        while frame is not None:
            if frame.f_code is self._apply:
                kind = frame.f_locals.get("cls")
                return f"{getattr(kind, '__name__', 'Function')}.{below.f_code.co_name if below else 'forward'}"
            if self.program.owns(frame):
                below = frame
            frame = frame.f_back
        return ""

    def _met_op(self, op: Op, node: Any) -> None:
        """A node that is new: note the call that made it, and listen to it."""
        function, line, inputs, constants = self._call or ("", self.program.line(sys._getframe(1)), [], [])
        op.line = op.line or line
        op.function = function
        op.constants = op.constants or constants
        op.during = "backward" if self.pass_ is not None else "forward"
        open_slots = [slot for slot, key in enumerate(op.inputs) if key is None]
        rest = list(inputs)
        for key in op.inputs:
            if key in rest:
                rest.remove(key)
        unrecorded = [key for key in rest if not self.graph.values[key].requires_grad]
        for slot, key in zip(open_slots, unrecorded, strict=False):
            op.inputs[slot] = key
        key = op.key
        self._handles.append(node.register_prehook(lambda gradients: self._runs(key, gradients)))
        self._handles.append(node.register_hook(lambda sent, received: self._sent(key, sent, received)))
        self.events.append(Event("op", op.line, op.key, values=op.outputs))

    def _met_accumulate(self, node: Any) -> None:
        if id(node) in self._accumulators:
            return
        self._accumulators[id(node)] = node
        name = id(node)
        self._handles.append(node.register_prehook(lambda gradients: self._leaf_runs(name, gradients)))
        self._handles.append(node.register_hook(lambda sent, received: self._leaf_sent(name)))

    # backward

    def _enter(self, frame: FrameType, entry: str) -> Any:
        """The engine's own functions are entered: a pass starts, or, for `run`, ops inside it are to be seen too."""
        if entry == "run":
            if self._calls == 0 or self.pass_ is None:
                return None
            mode = self._mode()  # PyTorch handed this call to ours with modes set aside
            mode.__enter__()
            calls, self._calls = self._calls, 0

            def leave(frame: FrameType, event: str, argument: Any) -> Any:
                if event == "return":
                    self._calls = calls
                    mode.__exit__(None, None, None)
                return leave

            frame.f_trace_lines = False
            return leave
        if self.pass_ is not None:  # a pass inside a node's backward is part of the pass around it
            with self.engine.quietly():
                given = frame.f_locals.get("tensors", frame.f_locals.get("outputs"))
                self._reach(self.pass_, [self.reader.grad_fn(root) for root in self._tensors([given])])
            return None
        with self.engine.quietly():
            given = frame.f_locals.get("tensors", frame.f_locals.get("outputs"))
            roots = self._tensors([given])
            line = self.program.line(frame)
            keys = [self.reader.value(root, line) for root in roots]
            current = self._start(line, [self.reader.grad_fn(root) for root in roots], keys)

        def end(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "exception":
                current.raised = argument[1]
            elif event == "return":
                with self.engine.quietly():
                    for gradient in self._tensors([argument]):
                        if gradient.requires_grad:
                            self.reader.value(gradient, current.line)
                    self._end(current)
            return end

        frame.f_trace_lines = False
        return end

    def _start(self, line: int | None, roots: list[Any], keys: list[str]) -> _Pass:
        self.passes += 1
        current = _Pass(self.passes, line, first=len(self.events))
        self._reach(current, roots)
        self.pass_ = current
        self.events.append(Event("backward", line, values=keys, pass_nr=current.number))
        return current

    def _reach(self, current: _Pass, roots: list[Any]) -> None:
        """Hold on to the nodes that a pass may run, and count what each of them waits for."""
        stack = [root for root in roots if root is not None]
        current.starts += [(len(self.events), self.reader.key_of(root) or self.reader.node(root)) for root in stack]
        while stack:
            node = stack.pop()
            key = self.reader.key_of(node)
            if key is None:
                key = self.reader.node(node)
            if key in current.nodes:
                continue
            current.nodes[key] = node
            current.waiting.setdefault(key, 0)
            for behind, _ in node.next_functions:
                if behind is not None:
                    behind_key = self.reader.key_of(behind)
                    if behind_key is None:
                        behind_key = self.reader.node(behind)
                    current.waiting[behind_key] = current.waiting.get(behind_key, 0) + 1
                    stack.append(behind)

    def _end(self, current: _Pass) -> None:
        self._check_freed()
        ran = {event.node for event in self.events[current.first :] if event.kind == "run"}
        left = dict(current.waiting)
        ready: list[str] = []
        starts = list(current.starts)
        for position, event in enumerate(self.events[current.first :], current.first):
            while starts and starts[0][0] <= position:
                root = starts.pop(0)[1]
                if left.get(root) == 0 and root in ran and root not in ready:
                    ready.append(root)
            if event.kind == "run" and event.node in ready:
                ready.remove(event.node)
            elif event.kind in ("send", "accumulate") and event.node is not None:
                targets = self.graph.ops[event.node].next if event.node in self.graph.ops else []
                for target, _ in targets:
                    if target in left:
                        left[target] -= 1
                        if left[target] == 0 and target in ran:
                            ready.append(target)
            event.ready = list(ready)
        self.pass_ = None
        if current.raised is not None:
            self._failed = current
            text = f"{type(current.raised).__name__}: {legible(str(current.raised))}"
            self.events.append(Event("raised", current.line, current.current, text=text, pass_nr=current.number))
        else:
            self.events.append(Event("done", current.line, pass_nr=current.number))

    def _runs(self, key: str, gradients: Any) -> None:
        if not self.active or self.pass_ is None:
            return
        with self.engine.quietly():
            current = self.pass_
            self._check_freed()
            current.current = key
            self._look_for_hooks(current, key, gradients)
            incoming = []
            for number, gradient in enumerate(gradients):
                array = None if gradient is None else self.reader.copy(gradient)
                value = self.reader.output(key, number) if gradient is not None else None
                incoming.append(Gradient(key, value, number, array))
            self.events.append(Event("run", current.line, key, gradients=incoming, pass_nr=current.number))

    def _sent(self, key: str, sent: Any, received: Any) -> None:
        if not self.active or self.pass_ is None:
            return
        with self.engine.quietly():
            op = self.graph.ops[key]
            outgoing = []
            for slot, gradient in enumerate(sent):
                target, number = op.next[slot] if slot < len(op.next) else (None, 0)
                value = op.inputs[slot] if slot < len(op.inputs) else None
                if target is None:
                    continue
                array = None if gradient is None else self.reader.copy(gradient)
                outgoing.append(Gradient(target, value, number, array))
                if gradient is not None:
                    numbers = self.engine.array(gradient)
                    before = self.pass_.arriving.get((target, number))
                    self.pass_.arriving[target, number] = numbers.copy() if before is None else before + numbers
            self.events.append(Event("send", self.pass_.line, key, gradients=outgoing, pass_nr=self.pass_.number))
            self.pass_.ended = key
            self.pass_.current = None

    def _leaf_runs(self, name: int, gradients: Any) -> None:
        if not self.active or self.pass_ is None:
            return
        with self.engine.quietly():
            leaf = self.graph.values[self.reader.value(self._accumulators[name].variable)]
            current = self.pass_
            self._check_freed()
            current.current = leaf.accumulate
            self._look_for_hooks(current, leaf.accumulate or "", gradients)
            array = None if gradients[0] is None else self.reader.copy(gradients[0])
            incoming = [Gradient(leaf.accumulate, leaf.key, 0, array)]
            self.events.append(Event("run", current.line, leaf.accumulate, gradients=incoming, pass_nr=current.number))

    def _leaf_sent(self, name: int) -> None:
        if not self.active or self.pass_ is None:
            return
        with self.engine.quietly():
            variable = self._accumulators[name].variable
            leaf = self.graph.values[self.reader.value(variable)]
            total = None if variable.grad is None else self.reader.copy(variable.grad)
            if variable.grad is not None and variable.grad.requires_grad:  # create_graph recorded this pass, too
                self.reader.value(variable.grad, self.pass_.line)
            self.events.append(
                Event(
                    "accumulate",
                    self.pass_.line,
                    leaf.accumulate,
                    values=[leaf.key],
                    total=total,
                    pass_nr=self.pass_.number,
                )
            )
            self.pass_.current = None

    def _look_for_hooks(self, current: _Pass, key: str, gradients: Any) -> None:
        """A gradient that is not the sum of what was sent was changed on its way by a hook."""
        for number, gradient in enumerate(gradients):
            sent = current.arriving.pop((key, number), None)
            if sent is None or gradient is None:
                continue
            arrived = self.engine.array(gradient)
            if sent.shape == arrived.shape and np.allclose(sent, arrived, rtol=1e-3, equal_nan=True):
                continue
            op = self.graph.ops.get(key)
            value = self.reader.output(key, number) if op is not None else self._leaf(key)
            if any(event.kind == "hook" and event.values == [value] for event in self.events[current.first :]):
                continue  # seen when it ran
            before = Gradient(None, value, 0, summarise(sent, str(sent.dtype)))
            after = Gradient(None, value, 0, self.reader.copy(gradient))
            self.events.append(Event("hook", current.line, values=[value], gradients=[before, after]))

    def _leaf(self, accumulate: str) -> str:
        return next(value.key for value in self.graph.values.values() if value.accumulate == accumulate)

    def _check_freed(self) -> None:
        """The engine lets go of a node's buffers right after it ran: look, when the next thing happens."""
        current = self.pass_
        if current is None or current.ended is None:
            return
        key, current.ended = current.ended, None
        op = self.graph.ops[key]
        node = current.nodes.get(key)
        if node is None or not op.saved or any(saved.state != "alive" for saved in op.saved):
            return
        if any(isinstance(saved, str) and saved == "freed" for _, saved in saved_tensors(node)):
            for saved in op.saved:
                saved.state = "freed"
            self.events.append(Event("freed", current.line, key, pass_nr=current.number))

    def _watched_hook(self, hook: Callable[[Any], Any], key: str, line: int | None) -> Callable[[Any], Any]:
        def watched(gradient: Any) -> Any:
            result = hook(gradient)
            if self.active:
                with self.engine.quietly():
                    before = Gradient(None, key, 0, self.reader.copy(gradient))
                    after = Gradient(None, key, 0, self.reader.copy(gradient if result is None else result))
                    self.events.append(Event("hook", line, values=[key], gradients=[before, after]))
            return result

        return watched


def _constant(item: Any) -> str:
    if isinstance(item, bool) or item is None:
        return ""
    if isinstance(item, (int, float)):
        return f"{item:.6g}"
    return ""


def load(path: str | os.PathLike[str]) -> Recording:
    """Read back a recording saved as JSON; reads data, runs nothing.

    Raises:
        ValueError: the file is no recording, is damaged, or was written by a newer version.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a recording: it is not JSON ({error})") from None
    return from_data(data, str(path))


def from_data(data: Any, where: str = "data") -> Recording:
    """A recording from what `json.loads` gave.

    Raises:
        ValueError: it does not have the form of a recording; the message names the first thing that is wrong.
    """
    if not isinstance(data, dict) or "schema" not in data or "events" not in data:
        raise ValueError(f"{where} is not a recording: it lacks 'schema' and 'events'")
    if data["schema"] != SCHEMA:
        raise ValueError(f"{where} has schema {data['schema']!r}; this version of viz reads schema {SCHEMA}")
    return _build(Recording, data, where)


_NESTED: dict[tuple[type, str], tuple[str, type]] = {
    (Recording, "graph"): ("one", Graph),
    (Recording, "events"): ("list", Event),
    (Graph, "values"): ("dict", Value),
    (Graph, "ops"): ("dict", Op),
    (Value, "array"): ("one", Array),
    (Value, "grad"): ("one", Array),
    (Op, "saved"): ("list", Saved),
    (Event, "gradients"): ("list", Gradient),
    (Event, "total"): ("one", Array),
    (Gradient, "array"): ("one", Array),
}


def _build(kind: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{where} should be an object, not {type(data).__name__}")
    names = {item.name: item for item in dataclasses.fields(kind)}
    unknown = sorted(set(data) - set(names))
    if unknown:
        raise ValueError(f"{where} has an unknown entry {unknown[0]!r}")
    built: dict[str, Any] = {}
    for name, item in data.items():
        how, nested = _NESTED.get((kind, name), ("", object))
        place = f"{where}.{name}"
        if how == "one":
            built[name] = None if item is None else _build(nested, item, place)
        elif how == "list":
            if not isinstance(item, list):
                raise ValueError(f"{place} should be a list, not {type(item).__name__}")
            built[name] = [_build(nested, entry, f"{place}[{position}]") for position, entry in enumerate(item)]
        elif how == "dict":
            if not isinstance(item, dict):
                raise ValueError(f"{place} should be an object, not {type(item).__name__}")
            built[name] = {key: _build(nested, entry, f"{place}[{key!r}]") for key, entry in item.items()}
        else:
            built[name] = item
    try:
        return kind(**built)
    except TypeError as error:
        raise ValueError(f"{where} is damaged: {error}") from None


__all__ = ["ACCUMULATE", "Event", "Gradient", "Recording", "load", "record"]
