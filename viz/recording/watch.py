"""Observes every op as it runs, and every name that the program assigns. `passes` observes the backward passes."""

from __future__ import annotations

import itertools
import math
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from viz.engines import OF_C, PARTS_OF_FUNCTION, Engine
from viz.recording.graph import Argument, Op, Value
from viz.recording.notation import base_name, called
from viz.recording.passes import ELSEWHERE, Pass, Passes
from viz.recording.reader import Reader, about_module, legible, tensors_in
from viz.recording.recording import Event
from viz.recording.source import Loops, Source, variables_of
from viz.recording.unseen import Reading, Unseen, is_ours, note, warnings_in_place

SIGNS = {"mul", "add", "sub", "rsub", "div", "pow", "remainder", "mm", "bmm", "mv", "dot"}  # accept tensors of any kind
ALIASES = {"square": "pow", "multiply": "mul", "subtract": "sub"}
ALIASES |= dict.fromkeys(("true_divide", "truediv", "divide"), "div")
NAMED = ("alpha", "beta", "rounding_mode")  # keywords that are settings, not operands
PLAIN = {int, float, bool, str, type(None), range, type, FunctionType, ModuleType}  # these contain no tensor
OF_OTHERS = ("from_numpy", "as_tensor", "asarray", "frombuffer")  # make tensors whose memory others use
DRAWS = ("uniform_", "normal_")  # fill a tensor with random numbers, such as the weights of a new layer
UNCOUNTED = ("batch_norm", "instance_norm")  # write running statistics, and no version tells so
LONGEST_WORD = 20  # characters of a string argument
IDLE = 5_000  # lines in a row that do not call the engine, after which lines are not looked at until one does


class Watch:
    """Records what a program does while it runs, as a graph and as events.

    Args:
        engine: the engine whose ops to observe.
        source: the program.
        names: look only at these variables; None for all.
        limit: how many events to record; None for all.
        reader: what reads the tensors.
    """

    def __init__(
        self,
        engine: Engine,
        source: Source,
        names: set[str] | None = None,
        limit: int | None = None,
        reader: type[Reader] = Reader,
    ) -> None:
        self.engine, self._tensors = engine, engine.tensors
        self.source = source
        self.events: list[Event] = []
        self.final: dict[str, Any] = {}  # tensors by name, as last seen in the program's outermost frame
        self.reader = reader(
            engine,
            keep=False,
            on_op=self._met_op,
            on_accumulate=lambda node: self.passes.watch_leaf(node),
            unused=self._still_made,
        )
        self.graph = self.reader.graph
        self.passes = Passes(engine, self.reader, self.events)
        self.shaken = False  # whether the program's data are moved by one unit in the last place
        self.cut: int | None = None  # the line from which on nothing is recorded
        self._limit = limit
        self.ran, self.until = 0, math.inf  # lines of the program that have run, and with which recording stops
        self._names = names
        self._in_order = None if names is None else sorted(names, key=lambda name: (_place(name, source.text), name))
        self._call: tuple[str, int | None] | None = None
        self._met: list[Op] = []  # ops recorded by the current call
        self._lines: dict[int, int] = {}
        self._loops: dict[int, Loops] = {}  # of each frame
        self._runs = itertools.count()
        self._created: dict[str, Event] = {}
        self._entries = engine.entries()
        # Code of the program, and the custom Function that it belongs to.
        self._functions: dict[CodeType, str | None] = {}
        self._used: set[str] = set()
        self._parameters: set[str] = set()  # keys of the tensors that modules hold
        self._whole_calls, self._compiles = engine.whole_calls(), engine.compiles()
        # Code that is neither the program's nor in the two above, by id: a hash of it takes long.
        self._of_no_interest: dict[int, CodeType] = {}
        self._closed: list[Any] = []  # the compiled or scripted module whose call is being recorded
        self._whole = False  # inside a library function that counts as one op
        # Each nn.Module seen, by id: a weak reference, its path, whether a function that the program calls named it.
        self._modules: dict[int, tuple[Any, str, bool]] = {}
        self._places: dict[str, dict[int, int]] = {}  # of each module, from where it was called
        self._nameless: dict[int, str] = {}  # modules without a variable, by their class
        self._bound: dict[str, tuple[str | None, int, bool, bool]] = {}  # what each name is bound to, and its state
        self._count = 0  # calls that made something
        self._calls = 0  # our calls that PyTorch runs without function modes
        self._idle = 0  # lines of the program since the engine was last called
        self.left_thread = False  # whether the program has started a thread
        self._written = False  # whether memory was written to since the names were read
        self.mode = self._reporting()

    def _still_made(self, key: str) -> bool:
        """Whether a parameter, or an unnamed tensor, has not been used yet: writing to it still counts as making it."""
        return key not in self._used and (key in self._parameters or not self.graph.values[key].names)

    def begin(self) -> None:
        """See every op from now on."""
        self._as_it_was = self.engine.quietly()
        with self._as_it_was:
            pass  # which notes what else sees the ops
        self._placing = warnings_in_place()
        self._placing.__enter__()
        self.mode.__enter__()

    def end(self) -> None:
        """See no more ops; others do as before. An interrupt may have stopped a `Reading` half way."""
        self._as_it_was.__exit__(None, None, None)
        self._placing.__exit__(None, None, None)
        self.engine.take_off(self.mode)

    def close(self) -> None:
        """Stop observing, and release every tensor."""
        self.passes.close()
        self.reader.close()
        self.final.clear()

    def _reporting(self) -> Any:
        """A function mode of the engine that reports every op to this object."""
        watch = self

        class Mode(self.engine.mode_type):  # type: ignore[name-defined]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                __tracebackhide__ = True  # IPython hides this frame in tracebacks, as no student called it
                return watch._called(func, args, kwargs or {})

        return Mode()

    # the program's own frames: names, and values that no op call showed

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The function for `sys.settrace`: sees the program's own frames, and the engine's entry points."""
        code = frame.f_code
        if code is self.engine.swaps:
            return self._let_go(frame)
        if self._whole or id(code) in self._of_no_interest:
            return None
        try:
            return self._begins(frame, code)
        except Exception as error:
            if not is_ours(error):
                raise
            note(self.graph, error)
            return None

    def _begins(self, frame: FrameType, code: CodeType) -> Any:
        """A function begins: the program's, or one of the engine's that may matter."""
        entry = self._entries.get(code)
        if entry is not None:
            return self._enter(frame, entry)
        if self.engine.compiles() and not self._compiles:  # the program has just loaded its compiler
            self._compiles, self._whole_calls = True, self.engine.whole_calls()
        kind = self._whole_calls.get(code)
        if kind is not None and self.passes.active:
            return self._enter_closed(frame) if kind == "closed" else self._enter_whole(frame, kind)
        if not self.source.owns(frame):
            if kind is None:
                self._of_no_interest[id(code)] = code
            return None
        frame.f_trace_lines = self._idle <= IDLE
        return self._step

    def _let_go(self, frame: FrameType) -> None:
        """Two tensors are about to change their places: refer to neither."""
        with Reading(self.engine, self.graph):
            for tensor in (frame.f_locals["t1"], frame.f_locals["t2"]):
                self.passes.forget(tensor)
                self.reader.forget(tensor)

    def leave_thread(self, frame: FrameType, event: str, argument: Any) -> None:
        """The function for `threading.settrace`: a new thread is not watched, since a mode holds for one thread."""
        sys.settrace(None)
        self.left_thread = True

    def _look_again(self, frame: FrameType | None) -> None:
        """The engine is called after many lines without it: see each line of the frames that run again.

        The steps that a loop made in between are not counted.
        """
        while frame is not None:
            if self.source.owns(frame) and not frame.f_trace_lines:
                frame.f_trace_lines = True
                now = self._lines[id(frame)] = frame.f_lineno - self.source.first + 1
                self._loops.setdefault(id(frame), Loops(self._runs)).find(now, self.source.loops)
            frame = frame.f_back

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event in ("line", "return"):
            line = self._lines.get(id(frame))
            now = self._lines[id(frame)] = frame.f_lineno - self.source.first + 1
            with Reading(self.engine, self.graph):
                if not self.engine.is_traced():
                    self._settle(frame, line)
                if event == "line" and self.source.loops:
                    self._loops.setdefault(id(frame), Loops(self._runs)).reach(now, self.source.loops)
            if event == "line":
                self._idle, self.ran = self._idle + 1, self.ran + 1
                frame.f_trace_lines = self._idle <= IDLE
            else:
                self._lines.pop(id(frame), None)
                self._loops.pop(id(frame), None)
        return self._step

    def _settle(self, frame: FrameType, line: int | None) -> None:
        outermost = frame.f_back is None or self.source.line(frame.f_back) is None
        tensors: dict[str, Any] = {}
        written, self._written = self._written, False
        self._call = "", line  # a custom Function's node is only met here, after its line
        there = variables_of(frame)
        # A notebook holds hundreds of names, and this runs for each line: look up only those of the cell.
        for name in list(there) if self._in_order is None else self._in_order:
            thing = there.get(name)
            if type(thing) in PLAIN or name.startswith("__") or name in ("T", "torch", "self", "ctx"):
                continue
            if self._names is not None and name not in self._names:
                continue
            of_module = self.engine.is_module(thing)
            if of_module and "_parameters" not in vars(thing):  # its `__init__` has not started yet
                continue
            if of_module:
                self._know_modules(name, thing, inside=not outermost)
                name = self._modules[id(thing)][1]  # a block in a loop variable is still `model.h.0`
                self._name_buffers(name, thing)
            for path, tensor in tensors_in(thing, self.engine):
                tensors[name + path] = tensor
                # A line changes few of a program's variables: unchanged bindings need no second look.
                known = self.reader.known(tensor)
                now = known, self.reader.version(tensor), tensor.requires_grad, tensor.retains_grad
                if known is None or self._bound.get(name + path) != now or (written and self.reader.is_leaf(tensor)):
                    inside = of_module and not outermost
                    key = self.reader.bind(name + path, tensor, line, look=written, inside=inside)
                    self._create(key, line)
                    self._bound[name + path] = (key, *now[1:])
                    if of_module:
                        self._parameters.add(key)
        self._call = None
        if outermost:
            self.final = tensors

    def _know_modules(self, name: str, root: Any, inside: bool = False) -> None:
        """Remember the path of a module and of those inside it. The first name that the program itself gives stays."""
        if self._is_known(root, inside):
            return
        for path, module in self.engine.modules(root, name):
            if not self._is_known(module, inside):
                self._modules[id(module)] = weakref.ref(module), path, inside
                self.graph.modules[path] = about_module(self.engine, module)

    def know(self, outer: dict[str, Any]) -> None:
        """Take the names of modules that the program has not made itself: its globals, and what it closes over."""
        for name, thing in outer.items():
            if self.engine.is_module(thing):
                self._know_modules(name, thing)

    def name(self, outer: dict[str, Any]) -> None:
        """Take the names of tensors that the program has not made itself, where it has used them, whatever version."""
        for name, thing in outer.items():
            for path, tensor in tensors_in(thing, self.engine):
                if self.reader.known(tensor) is not None:
                    self._bind_all(name + path, tensor)

    def _bind_all(self, name: str, tensor: Any) -> None:
        """Give a tensor a name, also in earlier versions that have none."""
        values = self.graph.values
        value = values[self.reader.bind(name, tensor)]
        while value.how_shared == "in-place" and not (before := values[value.shares or ""]).name:
            before.name, before.names, value = value.name, [value.name], before

    def _is_known(self, module: Any, inside: bool) -> bool:
        known = self._modules.get(id(module))
        return known is not None and known[0]() is module and (inside or not known[2])

    def _name_buffers(self, name: str, module: Any) -> None:
        """Name buffers that an op used or wrote by their path; what only the library counts is not part of it."""
        for path, buffer in self.engine.held(module, "_buffers", name):
            known = self.reader.known(buffer)
            if known in self._used or (known is not None and self.graph.values[known].op is not None):
                self._bind_all(path, buffer)

    def _module(self, frame: FrameType | None) -> str:
        """The path of the innermost module whose `forward` is running, or an empty string."""
        inner = [*self._closed, *(module for _, module in self._forwards(frame))]
        if not inner:
            return ""
        if id(inner[-1]) not in self._modules:  # a module without a variable gets its class name
            self._nameless[id(inner[-1])] = type(inner[-1]).__name__
            self._know_modules(type(inner[-1]).__name__, inner[-1])
        if id(inner[-1]) in self._nameless:  # and its parameters as they are used
            self.name({self._nameless[id(inner[-1])]: inner[-1]})
        paths = (self._modules.get(id(module)) for module in inner)
        return next(known[1] for known in paths if known is not None)

    def _turns(self, frame: FrameType | None) -> dict[str, int]:
        """Which call it is of each module whose `forward` runs, by path.

        A call from another place in the program, or in another step of a loop, counts as another one.
        """
        running = {id(call): self._modules.get(id(module)) for call, module in self._forwards(frame)}
        frames: list[FrameType] = []
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        turns_of: dict[str, int] = {}
        place = 0
        for outer in reversed(frames):
            known = running.get(id(outer))
            if known is not None:
                turns = self._places.setdefault(known[1], {})
                turns_of[known[1]] = turns.setdefault(place, len(turns))
            steps = self._loops[id(outer)].inside if id(outer) in self._loops else ()
            place = hash((place, outer.f_lasti, *map(tuple, steps)))
        return turns_of

    def _forwards(self, frame: FrameType | None) -> Iterator[tuple[FrameType, Any]]:
        """The calls of modules' `forward` that are running, innermost first, and their modules."""
        while frame is not None:
            if frame.f_code.co_name == "forward" and frame.f_code.co_argcount:
                module = frame.f_locals.get(frame.f_code.co_varnames[0])  # mostly, but not always, `self`
                if self.engine.is_module(module):
                    yield frame, module
            frame = frame.f_back

    def _settle_in(self, key: str, tensor: Any, frame: FrameType | None) -> None:
        """Note where a leaf that is used for the first time comes from: not from a module that it was given to."""
        value = self.graph.values[key]
        if value.op is not None or value.kind not in ("leaf", "input"):
            return
        for running, module in self._forwards(frame):
            code = running.f_code
            count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
            arguments = [running.f_locals.get(name) for name in code.co_varnames[1:count]]
            if not any(known is tensor for known in self._tensors(arguments)):
                known = self._modules.get(id(module))
                value.home = known[1] if known else None
                return
        value.home = ""

    def _steps(self, frame: FrameType | None) -> list[list[int]]:
        """The loops of the program that are running, and the step of each."""
        steps: list[list[int]] = []
        while frame is not None and self._loops:
            if id(frame) in self._loops:
                steps = [*([*loop] for loop in self._loops[id(frame)].inside), *steps]
            frame = frame.f_back
        return steps

    def _create(self, key: str, line: int | None) -> None:
        """Record that a tensor is there which no op has made, if nothing has told so yet."""
        value = self.graph.values[key]
        if value.op is not None or key in self._created:
            return
        if self.passes.current is not None:
            value.scope = "backward"
        self._created[key] = Event("create", line, values=[key])
        self.events.append(self._created[key])

    def _enter(self, frame: FrameType, entry: str) -> Any:
        """A function of the engine is entered: a pass starts, or, for `run`, ops inside it must be observed too."""
        if entry == "run":
            if self._calls == 0 or self.passes.current is None:
                return None
            self.mode.__enter__()  # PyTorch passed this call to us without modes
            calls, self._calls = self._calls, 0

            def leave(frame: FrameType, event: str, argument: Any) -> None:
                if event == "return":
                    self._calls = calls
                    self.mode.__exit__(None, None, None)

            frame.f_trace_lines = False
            return leave
        if entry == "apply":
            return self._after(frame, self._applied)
        current: Pass | None = None
        with Reading(self.engine, self.graph):
            given = frame.f_locals.get("tensors", frame.f_locals.get("outputs"))
            roots = self._tensors([given])
            if self.passes.current is not None:  # a pass inside a node's backward belongs to the outer pass
                self.passes.reach(self.passes.current, [self.engine.node(root) for root in roots])
            else:
                line = self.source.line(frame)
                keys = [self.reader.value(root, line) for root in roots]
                current = self.passes.start(line, [self.engine.node(root) for root in roots], keys)
        if current is None:
            return None

        def end(frame: FrameType, event: str, argument: Any) -> None:
            if event == "exception":
                current.raised = argument[1]
            elif event == "return":
                with Reading(self.engine, self.graph):
                    for gradient in self._tensors([argument]):
                        if gradient.requires_grad:
                            self.reader.value(gradient, current.line)
                    self.passes.end(current)
                self.passes.current = None

        frame.f_trace_lines = False
        return end

    def _after(self, frame: FrameType, then: Callable[[FrameType, Any], None]) -> Any:
        """Call `then(frame, result)` when a frame of the engine returns."""

        def leave(frame: FrameType, event: str, argument: Any) -> None:
            if event == "return" and argument is not None:
                with Unseen(self.engine, self.graph):
                    then(frame, argument)

        frame.f_trace_lines = False
        return leave

    def _applied(self, frame: FrameType, result: Any) -> None:
        """A custom Function has returned: its node belongs here, not to the op that uses the result."""
        line, self._call, self._met = self.source.line(frame), None, []
        for tensor in self._tensors((result,)):
            self.reader.value(tensor, line)
        for op in [op for op in self._met if op.custom]:
            self._complete(op, self._given(frame.f_locals["args"], {}, line)[1], op.arguments, alone=True)

    def _enter_whole(self, frame: FrameType, kind: str) -> Any:
        """A library function that counts as one op begins: ignore the ops inside it."""
        if kind == "step" and frame.f_locals.get("closure") is not None:  # it runs the program's own forward pass
            return None
        label = frame.f_code.co_name
        if kind == "step":
            label = f"{type(frame.f_locals.get('self')).__name__}.step"
        line, before = self.source.line(frame), {}
        with Reading(self.engine, self.graph):
            before = {
                key: (tensor, self.reader.version(tensor), self._gradient(tensor, kind))
                for tensor, key in self.reader.seen()
                if self.reader.is_leaf(tensor)
            }
        self._whole = True

        def leave(frame: FrameType, event: str, argument: Any) -> None:
            if event == "return":
                self._whole = False
                with Reading(self.engine, self.graph):
                    given = self._tensors([frame.f_locals.get("parameters")])
                    self._did_whole(label, kind, line, self._steps(frame), before, given)
                if self.shaken and kind == "init":
                    filled = frame.f_locals.get(frame.f_code.co_varnames[0])
                    self._shake([*filled.parameters()] if isinstance(filled, self.engine.module_type) else filled)

        frame.f_trace_lines = False
        return leave

    def _enter_closed(self, frame: FrameType) -> Any:
        """A compiled function or a scripted module is called: one op, which runs as without us.

        A compiler would take our mode for a part of the program.
        """
        called = self.engine.closed_call(frame)
        if called is None:
            return None
        args, kwargs = frame.f_locals["args"], frame.f_locals["kwargs"]
        line, known, self._whole = self.source.line(frame), None, True
        with Unseen(self.engine, self.graph):
            known = self._given(args, kwargs, line)
        self._closed_begins(called[0], args, kwargs)
        above = self.engine.take_off(self.mode)
        raised: list[BaseException] = []

        def leave(frame: FrameType, event: str, argument: Any) -> None:
            if event == "exception":
                raised[:] = [argument[1]]
            elif event == "return":
                self._whole = False
                with Unseen(self.engine, self.graph):
                    self.engine.put_on(self.mode, above)
                    self._closed = [called[0]] if self.engine.is_module(called[0]) else []
                    if known is not None:
                        self._came(called[1], line, known, argument)
                self._closed = []
                self._closed_ends(called[0], args, kwargs, argument, raised[0] if raised and argument is None else None)

        frame.f_trace_lines = False
        return leave

    def _closed_begins(self, called: Any, args: Any, kwargs: Any) -> None:
        """What `called` is, such as a compiled module, begins."""

    def _closed_ends(self, called: Any, args: Any, kwargs: Any, output: Any, error: BaseException | None) -> None:
        """It has returned, or raised."""

    def _gradient(self, tensor: Any, kind: str) -> Any:
        """A copy of the numbers of `.grad`, if they may be about to change."""
        numbers = self.reader.numbers(tensor.grad) if kind == "clip" else None
        return None if numbers is None else numbers.copy()

    def _has_gradient(self, tensor: Any, numbers: Any) -> bool:
        """Whether `.grad` still has these numbers."""
        now = self.reader.numbers(tensor.grad)
        return now is not None and np.array_equal(now, numbers, equal_nan=True)

    def _did_whole(
        self,
        label: str,
        kind: str,
        line: int | None,
        loops: list[list[int]],
        before: dict[str, tuple[Any, int, Any]],
        given: list[Any],
    ) -> None:
        """Record as one op what a library function has changed: the parameters, or the gradients of those `given`."""
        values = self.graph.values
        moved = [key for key, (tensor, version, _) in before.items() if self.reader.version(tensor) != version]
        graded = {key: (tensor, grad) for key, (tensor, _, grad) in before.items() if grad is not None}
        changed = {key for key, (tensor, grad) in graded.items() if not self._has_gradient(tensor, grad)}
        scaled = [key for key, (tensor, _) in graded.items() if key in changed or any(tensor is one for one in given)]
        outputs = dict.fromkeys(self.reader.value(before[key][0], line) for key in moved)
        if kind == "init":  # a tensor that is being made has no history: it is filled
            outputs = {key: None for key in outputs if values[key].how_shared == "in-place"}
        inputs = moved or scaled
        if (kind == "init" and not outputs) or not inputs:
            return
        op = Op(f"o{len(self.graph.ops)}", label, label, recorded=False, line=line, loops=loops, whole=label)
        op.inputs, op.outputs, op.idle = list(inputs), list(outputs), not (moved or changed)
        self.graph.ops[op.key] = op
        for key in outputs:
            values[key].op = None  # a parameter is still a leaf
            if key not in self._created:
                self._created[key] = Event("op", line, op.key, values=[key])
            self._parameters.add(key)
        self._used.update(inputs)
        self.events.append(Event("op", line, op.key, values=op.outputs))

    # ops as they run

    def _called(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        if self.engine.is_traced():  # first: a compiler that reads this function would stop at what follows
            return func(*args, **kwargs)
        frame = sys._getframe(2)
        if self.engine.looks_up and not isinstance(func, OF_C):
            with Reading(self.engine, self.graph):
                func = self.engine.as_written(func, frame)
        if self._idle > IDLE:
            with Reading(self.engine, self.graph):
                self._look_again(frame)
        self._idle = 0
        if not self.passes.active or self._whole or self.passes.closed:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        full = self.ran >= self.until or (self._limit is not None and len(self.events) >= self._limit)
        if full and self.passes.current is None:
            self.cut, self.passes.active = 0, False
            with Reading(self.engine, self.graph):
                self.cut = self.source.line(frame) or 0
            sys.settrace(None)
            return func(*args, **kwargs)
        # PyTorch makes a view of what a Function, or a hook on a module, returns as it was given.
        if name in ("__set__", "__delete__") or self._entries.get(frame.f_code) == "apply":
            return func(*args, **kwargs)
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name not in ("T", "mT", "H", "mH", "data", "real", "imag"):
                return func(*args, **kwargs)
            fills = False
            if name == "data":
                with Reading(self.engine, self.graph):
                    fills = self._is_filled_by_data(args[0])
            if fills:
                return func(*args, **kwargs)
        if name in ("backward", "grad"):
            return self._through(func, args, kwargs)
        if name == "register_hook" and len(args) == 2 and callable(args[1]):
            hook = args[1]
            with Unseen(self.engine, self.graph):
                hook = self.passes.watched_hook(hook, self.reader.value(args[0]), self.source.line(frame))
            return func(args[0], hook)
        known = line = None
        with Unseen(self.engine, self.graph):  # of a copy, what else was copied is no input
            line = self.source.line(frame)
            known = self._given(args[:1] if name == "__deepcopy__" else args, kwargs, line)
        result = self._through(func, args, kwargs)
        if known is None:
            return result
        if self.shaken and (name in DRAWS if known[0] else name not in OF_OTHERS):
            self._shake(result)
        with Unseen(self.engine, self.graph):
            self._came(name, line, known, result)
        return result

    def _given(
        self, args: Any, kwargs: dict[str, Any], line: int | None
    ) -> tuple[list[Any], list[str], list[int], list[Argument]]:
        """The tensors that a call is given, their keys and versions, and all arguments, which the call may change."""
        tensors: list[Any] = []
        inputs: list[str] = []
        versions: list[int] = []
        arguments: list[Argument] = []
        for keyword, item in [*zip(itertools.repeat(""), args), *kwargs.items()]:
            held = self._tensors((item,))
            for tensor in held:
                tensors.append(tensor)
                inputs.append(self.reader.value(tensor, look=True))
                versions.append(self.reader.version(tensor))
                arguments.append(Argument(inputs[-1], "", keyword))
            if not held and (text := _constant(item)):
                arguments.append(Argument(None, text, keyword))
            elif keyword and isinstance(item, str):
                arguments.append(Argument(None, legible(item)[:LONGEST_WORD], keyword))
        for key in inputs:
            self._create(key, line)
        return tensors, inputs, versions, arguments

    def _shake(self, result: Any) -> None:
        """Move what the program makes from nothing by one unit in the last place."""
        with Unseen(self.engine, self.graph):
            for tensor in self._tensors((result,)):
                if tensor.is_floating_point():
                    up = self.engine.module.full_like(tensor.data, float("inf"))
                    tensor.data.copy_(self.engine.module.nextafter(tensor.data, up))

    def _through(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        self._calls += 1
        try:
            return func(*args, **kwargs)
        finally:
            self._calls -= 1

    def _came(self, name: str, line: int | None, given: Any, result: Any) -> None:
        """A call has returned: record what it made, and what it changed."""
        tensors, inputs, versions, arguments = given
        changed = []
        for tensor, version in zip(tensors, versions, strict=True):
            if self.reader.version(tensor) != version:
                self._written = True
                if not self._filled(tensor):
                    changed.append(tensor)
        unchanged = {*map(id, tensors)} - {*map(id, changed)}
        results = {
            id(tensor): tensor for tensor in (*self._tensors((result,)), *changed) if id(tensor) not in unchanged
        }
        fresh = []
        if results:  # asking for a shape is not a use
            fresh = [(key, tensor) for key, tensor in zip(inputs, tensors, strict=True) if key not in self._used]
            self._used.update(inputs)
        known = len(self.graph.values)  # the values of this call come after these
        self._call = (name, line)
        self._count += 1
        self._met = []
        keys = dict.fromkeys([self.reader.value(tensor, line, made=bool(tensors)) for tensor in results.values()])
        self._call = None
        recorded = self._met
        for op in recorded:
            self._complete(op, inputs, arguments, alone=len(recorded) == 1)
        if len(recorded) > 1:
            told = {key for op in recorded for key in op.inputs}
            left = [key for key in inputs if key not in told and not self.graph.values[key].requires_grad]
            if base_name(recorded[-1]) in ("index", "gather", "nll_loss2d"):  # after a view, as in a[1:, i]
                recorded[-1].inputs += dict.fromkeys(left)
            else:
                self._reshaped(recorded, left)
        orphans = [
            value
            for key in keys
            if (value := self.graph.values[key]).op is None and (value.array is None or int(key[1:]) >= known)
        ]
        if recorded and not recorded[-1].custom:
            for value in orphans:  # such as the indices of a maximum
                self.reader.adopt(recorded[-1].key, value.key)
        elif orphans and inputs:
            self._unrecorded(name, line, inputs, orphans, arguments)
        else:
            for value in orphans:
                self._create(value.key, line)
        for key, tensor in fresh:
            self._settle_in(key, tensor, sys._getframe(1))
        for key, tensor in zip(inputs, tensors, strict=True) if name in UNCOUNTED else ():
            if not tensor.requires_grad and (now := self.reader.value(tensor, line, look=True)) != key:
                self._create(now, line)
                self._used.add(now)  # the call is done with it: a later write changes it

    def _complete(self, op: Op, inputs: list[str], arguments: list[Argument], alone: bool) -> None:
        """Record what the engine's graph leaves out: inputs that get no gradient, and numbers.

        If one call records several ops, only what an op saves shows which of the call's inputs belong to it.
        """
        values = self.graph.values
        name = base_name(op)
        sign = name in SIGNS
        own = set(inputs) if alone else {saved.value for saved in op.saved if saved.value in inputs}
        rest = [key for key in dict.fromkeys(inputs) if key in own and not values[key].requires_grad]
        rest = [key for key in rest if key not in op.inputs]
        # A slot is for inputs that could get a gradient: not for a mask or an index, but for a mask that is a factor.
        open_slots = [slot for slot, key in enumerate(op.inputs) if key is None]
        for slot, key in zip(open_slots, [key for key in rest if sign or "float" in values[key].dtype], strict=False):
            op.inputs[slot] = key
        op.inputs += [key for key in rest if key not in op.inputs]
        function = called(op)
        same = ALIASES.get(function, function) == name
        if alone and (same or op.custom):
            op.arguments = arguments
        if (alone and same) or (sign and op.function.strip("_") in ("rdiv", "rtruediv")):
            numbers = [arg.text for arg in arguments if arg.value is None and arg.keyword not in NAMED]
            op.constants = op.constants or numbers

    def _reshaped(self, recorded: list[Op], left: list[str]) -> None:
        """`linear` saves its input in another shape: the input that no op of the call has fills the slot."""
        for op in recorded:
            for saved in op.saved:
                size = math.prod(saved.shape or ())
                same = [key for key in left if math.prod(self.graph.values[key].shape or ()) == size]
                if saved.value is None and saved.shape and None in op.inputs and same:
                    op.inputs[op.inputs.index(None)] = same[0]
                    left.remove(same[0])

    def _filled(self, tensor: Any) -> bool:
        """Writing to a tensor that has neither been named nor used yet counts as making it, as with parameters."""
        key = self.reader.known(tensor)
        value = None if key is None else self.graph.values[key]
        if value is None or value.names or value.op is not None or value.key in self._used:
            return False
        if value.how_shared == "in-place" or self._is_updated(tensor):
            return False
        value.version = self.reader.version(tensor)
        value.array = self.reader.copy(tensor)
        return True

    def _is_updated(self, tensor: Any) -> bool:
        """Whether a `forward` of the program runs whose module holds this tensor, as `self.calls += 1` counts."""
        return any(
            tensor is held
            for frame, module in self._forwards(sys._getframe(1))
            if self.source.owns(frame)
            for held in (*module._buffers.values(), *module._parameters.values())
        )

    def _is_filled_by_data(self, tensor: Any) -> bool:
        """Whether `.data` is read before a parameter is used: a write to it then counts as making the parameter."""
        key = self.reader.known(tensor)
        return key is None or self._still_made(key)

    def _unrecorded(
        self, name: str, line: int | None, inputs: list[str], outputs: list[Value], arguments: list[Argument]
    ) -> None:
        op = Op(f"o{len(self.graph.ops)}", name, name, recorded=False, line=line, arguments=arguments)
        op.constants = [arg.text for arg in arguments if arg.value is None and arg.keyword not in NAMED]
        frame = sys._getframe(1)
        op.scope = self._inside(frame)
        self._locate(op, frame, self._module(frame))
        op.inputs = list(dict.fromkeys(inputs))
        op.outputs = [value.key for value in outputs]
        if op.scope or op.during == "backward":
            op.called = self._local_names(frame, op.inputs)
        self.graph.ops[op.key] = op
        self.events.append(Event("op", line, op.key, values=list(op.outputs)))
        for place, value in enumerate(outputs):
            value.op, value.output_nr = op.key, place
            if value.kind == "input":
                value.kind = "result"
            self._created[value.key] = self.events[-1]

    def _locate(self, op: Op, frame: FrameType | None, module: str) -> None:
        """Note of an op in which module it runs, in which steps of which loops, and whether in a pass."""
        op.loops, op.module = self._steps(frame), module
        op.turns = self._turns(frame) if module else {}
        op.during = "backward" if self.passes.current is not None else "forward"

    def _inside(self, frame: FrameType | None) -> str:
        """`Double.forward` if the caller runs inside that custom Function, else an empty string."""
        while frame is not None:
            code = frame.f_code
            if code.co_name in PARTS_OF_FUNCTION:
                if code not in self._functions:
                    self._functions[code] = self.engine.function_of(code)
                if (function := self._functions[code]) is not None:
                    return function
            frame = frame.f_back
        return ""

    def _local_names(self, frame: FrameType | None, keys: list[str | None]) -> dict[str, str]:
        """The names of these values in the function of the program that is running."""
        while frame is not None and not self.source.owns(frame):
            frame = frame.f_back
        names: dict[str, str] = {}
        for name, thing in variables_of(frame).items() if frame is not None else ():
            key = self.reader.known(thing) if self.engine.is_tensor(thing) else None
            if key is not None and key in keys:
                names.setdefault(key, name)
        return names

    def _is_of_another_thread(self, op: Op) -> None:
        """Say that a part is missing, if nobody saw the call of an op and the program has started a thread."""
        if self.left_thread and not op.function and not op.custom and not self.graph.note:
            self.graph.note = f"A part of the program ran in {ELSEWHERE}"

    def _met_op(self, op: Op, node: Any) -> None:
        """A new node: record the call that made it, and observe it."""
        function, line = self._call or ("", self.source.line(sys._getframe(1)))
        op.line = op.line or line
        op.function = function
        op.call = self._count
        self._locate(op, sys._getframe(1), self._module(sys._getframe(1)) if self.passes.current is None else "")
        self._met.append(op)
        self._is_of_another_thread(op)
        for saved in () if function else op.saved:  # nobody saw its inputs: it shows those that it saved
            value = self.graph.values.get(saved.value or "")
            if value is not None and value.op is None and value.key not in op.inputs and None in op.inputs:
                op.inputs[op.inputs.index(None)] = value.key
        self.passes.watch(op, node)
        self.events.append(Event("op", op.line, op.key, values=op.outputs))


def _place(name: str, text: str) -> int:
    """The line where a program first assigns a name."""
    match = re.search(rf"\b{re.escape(name)}\b", text)
    return match.start() if match is not None else len(text)


def _constant(item: Any) -> str:
    if isinstance(item, bool) or item is None:
        return ""
    if isinstance(item, (int, float)):
        return f"{item:.6g}"
    return ""
