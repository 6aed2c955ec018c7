"""Runs a model once under its own forward hooks: every call of a module, and every op inside it, as plain data."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import io
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType, MappingProxyType
from typing import Any

from viz.engines import Engine
from viz.recording.graph import Array, Graph, Op, Value
from viz.recording.notation import name_values
from viz.recording.reader import Reader, about_module, nested_tensors
from viz.recording.saved import saved_tensors
from viz.recording.source import Source
from viz.recording.state import Kept, as_before, writes
from viz.recording.summary import measured, summarise
from viz.recording.unseen import Unseen
from viz.recording.watch import Watch
from viz.recording.work import products, products_of

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One call of a module.

    `path` is its name in `named_modules()`, "" for the model itself. `inputs` and `outputs` are the shapes of all
    tensors that it was given and that it returned, in order, also of those inside tuples, lists and dicts.
    """

    path: str
    kind: str  # the name of its class
    inputs: list[Shape]
    outputs: list[Shape]


@dataclass
class Run:
    """What one run of a model showed."""

    graph: Graph
    calls: list[Call] = field(default_factory=list)  # in the order in which they ended, as forward hooks see them
    gradients: dict[str, Array] = field(default_factory=dict)  # of parameters, by their path below the model
    loss: Array | None = None
    parameters: int = 0
    flops: int = 0
    kept: int = 0  # bytes that the graph keeps for backward, without parameters


class _Plain(Reader):
    """A reader that looks at shapes alone: the numbers of a large model are not copied."""

    def copy(self, tensor: Any) -> Array | None:
        shape = self.engine.shape(tensor)
        return None if shape is None else Array(shape, self.engine.dtype(tensor))


class _Inside(Watch):
    """Observes the ops of one run of a model, and knows in which calls each of them ran."""

    def __init__(self, engine: Engine, model: Any, name: str) -> None:
        super().__init__(engine, _NOWHERE, reader=_Plain)
        open_ones = engine.modules(model, name, closed=True)
        self.parts = {id(engine.written(module)): (path, module) for path, module in open_ones}
        self.running: list[int] = []  # the calls that have begun, outermost first
        self.ended: list[Call] = []
        # The last error that a call raised, and the innermost call.
        self.failed: tuple[BaseException | None, int] = (None, 0)
        self.flops = 0
        self._wholes = engine.whole_modules()
        self.counted = False  # inside a module whose work is counted as a whole
        self.state: Kept | None = None  # what is put back
        self.kept: dict[int, int] = {}  # bytes of each storage that is kept for backward
        self.passes.watch_leaf = lambda node: None  # type: ignore[method-assign]

    def _module(self, frame: FrameType | None) -> str:
        return self.graph.calls[self.running[-1]]["path"] if self.running else ""

    def _met_op(self, op: Op, node: Any) -> None:
        op.function = (self._call or ("", None))[0]
        op.module, op.calls, op.call = self._module(None), list(self.running), self._count
        self._met.append(op)
        self._is_of_another_thread(op)
        for _, saved in saved_tensors(self.engine, node):
            if self.engine.is_tensor(saved) and (place := self.engine.storage(saved)):
                self.kept[place] = saved.numel() * saved.element_size()

    def _unrecorded(self, name: str, line: int | None, inputs: list[str], outputs: list[Value], arguments: Any) -> None:
        super()._unrecorded(name, line, inputs, outputs, arguments)
        op = self.graph.ops[outputs[0].op or ""]
        op.calls, op.call = list(self.running), self._count

    def _through(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = getattr(func, "__name__", "")
        with Unseen(self.engine, self.graph):
            if self.state is not None and (writes(name) or "out" in kwargs):
                self.state.about_to_write(name, self._tensors((*args, *kwargs.values())))
        result = super()._through(func, args, kwargs)
        if not self.counted:
            with Unseen(self.engine, self.graph):
                if not self.engine.is_tensor(result) or self.engine.shape(result) is not None:
                    self.flops += 2 * products(name, args, kwargs, result)
        return result

    def begins(self, module: Any, args: Any, kwargs: Any) -> None:
        """A module is called. What it is given was made outside of it."""
        shapes = []
        with Unseen(self.engine, self.graph):
            given = [tensor for _, tensor in nested_tensors([args, kwargs], self.engine)]
            shapes = self._shapes(given)
            self._read(given)
        self.graph.calls.append({"path": self.parts[id(module)][0], "inputs": shapes, "outputs": []})
        self.running.append(len(self.graph.calls) - 1)
        if isinstance(module, self._wholes) and not self.counted:
            self.counted = self.graph.calls[-1]["whole"] = True

    def ends(self, module: Any, args: Any, kwargs: Any, output: Any, error: BaseException | None = None) -> None:
        """A module returned or raised. Outputs that no op call showed count as its own, such as a custom Function's."""
        number = self.running[-1]
        call = self.graph.calls[number]
        with Unseen(self.engine, self.graph):
            error = sys.exc_info()[1] if error is None and output is None else error
            if error is not None and error is not self.failed[0]:
                self.failed = error, number
            arguments = [tensor for _, tensor in nested_tensors([args, kwargs], self.engine)]
            tensors = [tensor for _, tensor in nested_tensors(output, self.engine)]
            fresh = [tensor for tensor in tensors if self.reader.known(tensor) is None]
            self._read(tensors)
            if not any(number in op.calls for op in list(self.graph.ops.values())[-OPS_LOOKED_AT:]):
                self._passed(arguments, output, fresh, self.engine.kind(module))
            call["outputs"] = self._shapes(tensors)
            shapes = [[tuple(shape) for shape in call[way]] for way in ("inputs", "outputs")]
            path = call["path"].removeprefix(self.graph.calls[0]["path"]).lstrip(".")
            self.ended.append(Call(path, self.engine.kind(module), *shapes))
            if call.get("whole"):
                self.flops += 2 * products_of(module, [tuple(tensor.shape) for tensor in arguments])
        if call.pop("whole", False):
            self.counted = False
        self.running.pop()

    def _shapes(self, tensors: list[Any]) -> list[list[int]]:
        return [shape for tensor in tensors if (shape := self.engine.shape(tensor)) is not None]

    def _read(self, tensors: list[Any]) -> None:
        """Read tensors that no op call may have shown. Of a custom Function's result, its ops have made the numbers."""
        for tensor in tensors:
            before, key = self.reader.known(tensor), self.reader.value(tensor)
            op = self.graph.ops.get(self.graph.values[key].op or "")
            if before not in (None, key) and op is not None and before not in op.inputs:
                op.inputs.append(before)

    def _passed(self, given: list[Any], output: Any, fresh: list[Any], kind: str) -> None:
        """A call in which nothing ran that can be seen, such as that of an `Identity`, still has a box."""
        inputs: list[Any] = [self.reader.value(tensor) for tensor in given]
        if fresh:
            self._unrecorded(kind, None, inputs, [self.graph.values[self.reader.value(tensor)] for tensor in fresh], [])
        elif self.engine.is_tensor(output) and any(output is tensor for tensor in given):
            before = self.reader.value(output)
            self._unrecorded("identity", None, [before], [self.graph.values[self.reader.passed_on(output)]], [])
        else:
            op = Op(f"o{len(self.graph.ops)}", "identity", "identity", False, module=self._module(None))
            op.inputs, op.calls = inputs, list(self.running)
            self.graph.ops[op.key] = op

    def _enter_closed(self, frame: FrameType) -> Any:
        """Open modules have our hooks, and so PyTorch runs none of them as a whole."""
        called = self.engine.closed_call(frame)
        part = None if called is None else self.parts.get(id(called[0]))
        return None if part is not None and not self.engine.why_closed(part[1]) else super()._enter_closed(frame)

    def _closed_begins(self, called: Any, args: Any, kwargs: Any) -> None:
        if id(called) in self.parts:
            self.begins(called, args, kwargs)

    def _closed_ends(self, called: Any, args: Any, kwargs: Any, output: Any, error: BaseException | None) -> None:
        if id(called) in self.parts:
            self.ends(called, args, kwargs, output, error)


class _Nowhere(Source):
    """The source of a program of which no line is known."""

    def owns(self, frame: FrameType) -> bool:
        return False

    def line(self, frame: FrameType | None) -> int | None:
        return None


_NOWHERE = _Nowhere("")


def run(
    engine: Engine,
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    loss: Callable[[Any], Any] | None,
    name: str,
) -> Run:
    """Call `model(*args, **kwargs)` once under forward hooks, and differentiate its loss.

    Buffers, `.grad` and random numbers are restored at the end. `name` is the model's own name in the picture. The loss
    is that of `loss(output)`, or the output's own `loss`, or the output itself if it is a scalar.

    Raises:
        TypeError: `loss` returns no scalar.
        Whatever the model raises, with a note that tells in which module.
    """
    watch = _Inside(engine, model, name)
    made = Run(watch.graph, watch.ended)
    closed = [f"{path} is one box: {why}." for path, part in watch.parts.values() if (why := engine.why_closed(part))]
    watch.graph.note = " ".join(closed[:CLOSED_NAMED])
    with contextlib.ExitStack() as stack:
        stack.callback(watch.close)
        watch.state = stack.enter_context(as_before(engine, [model, args, kwargs], watch.graph))
        if not all(engine.is_ready(t) for kind in ("_parameters", "_buffers") for _, t in engine.held(model, kind)):
            with engine.module.no_grad(), contextlib.redirect_stdout(io.StringIO()):
                model(*args, **kwargs)
        about = {path: about_module(engine, module) for path, module in watch.parts.values()}
        watch.graph.modules, made.parameters = about, about[name]["parameters"]
        with engine.quietly():
            for kind in ("_parameters", "_buffers"):
                for path, held in engine.held(model, kind, name, again=True):
                    watch.reader.bind(path, held)
            for path, tensor in _given(model, args, kwargs, engine):
                watch.reader.bind(path, tensor)
        try:
            with _watching(watch):
                output = contextvars.copy_context().run(model, *args, **kwargs)
                end = _loss(engine, output, loss)
        except Exception as error:
            _tell_where(error, watch)
            raise
        with engine.quietly():
            for path, tensor in nested_tensors(output, engine):
                key = watch.reader.bind(f"output{path}" if end is not output else "loss", tensor)
                watch.graph.roots.append(key)
            if end is not None and end is not output:
                watch.graph.roots.append(watch.reader.bind("loss", end))
            _gradients(engine, model, end, made)
            own = {engine.storage(parameter) for parameter in engine.parameters(model)}
    if end is not None:
        made.loss = watch.graph.values[watch.graph.roots[-1]].array = summarise(engine.array(end), engine.dtype(end))
    made.flops = 0 if closed or watch.left_thread else watch.flops  # nobody counts those that were not seen
    made.kept = sum(size for place, size in watch.kept.items() if place not in own)
    watch.graph.drop_unused({*watch.graph.roots})
    name_values(watch.graph)
    return made


class _Hook:
    """A hook on a module of the model. In the program's copies of it, in a trace, in another thread it does nothing."""

    def __init__(
        self,
        parts: Mapping[int, Any] = MappingProxyType({}),
        run: Callable[..., None] = print,
        is_traced: Callable[[], Any] = bool,
    ) -> None:
        self._parts, self._run, self._is_traced, self._thread = parts, run, is_traced, threading.get_ident()

    def __call__(self, module: Any, *args: Any) -> None:
        if not self._is_traced() and id(module) in self._parts and threading.get_ident() == self._thread:
            self._run(module, *args)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return _Hook, ()


@contextlib.contextmanager
def _watching(watch: _Inside) -> Iterator[None]:
    """The context in which the model runs: with forward hooks on its open modules, and a mode that sees every op."""
    engine, handles, closed = watch.engine, [], False

    for _, module in watch.parts.values():
        if engine.why_closed(module):
            closed = True  # and takes no hook: the trace function sees its calls
        else:
            begins, ends = (_Hook(watch.parts, hook, engine.is_traced) for hook in (watch.begins, watch.ends))
            kind = engine.module_type  # the module may have methods of its own
            handles.append(kind.register_forward_pre_hook(module, begins, with_kwargs=True))
            handles.append(kind.register_forward_hook(module, ends, with_kwargs=True, always_call=True))
    before, of_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(watch.leave_thread)
    if closed or engine.compiles():
        sys.settrace(watch.trace)
    watch.begin()
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(of_threads)
        watch.end()
        watch.passes.close()
        for handle in handles:
            handle.remove()


OPS_LOOKED_AT = 64
CLOSED_NAMED = 3


def _given(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], engine: Engine) -> Iterator[tuple[str, Any]]:
    """The tensors that the model is given, by the names that its `forward` has for them."""
    try:
        bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # the call itself will say what is wrong
        bound = {"input": args, **kwargs}
    for name, thing in bound.items():
        for path, tensor in nested_tensors(thing, engine):
            yield f"{name}{path}", tensor


def _loss(engine: Engine, output: Any, loss: Callable[[Any], Any] | None) -> Any:
    """The scalar to differentiate; None if there is none."""
    if loss is not None:
        end = loss(output)
        if not engine.is_tensor(end) or math.prod(end.shape) != 1:
            said = f"a tensor of shape {tuple(end.shape)}" if engine.is_tensor(end) else f"a {type(end).__name__}"
            raise TypeError(
                f"loss= is a function that turns the model's output into a scalar, such as "
                f"`loss=lambda output: F.cross_entropy(output, target)`; this one returned {said}"
            )
        return end
    with engine.quietly():
        own: Any = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        scalars = [tensor for tensor in (own, output) if engine.is_tensor(tensor) and engine.shape(tensor) == []]
        return next((scalar for scalar in scalars if scalar.requires_grad), None)


def _gradients(engine: Engine, model: Any, end: Any, run: Run) -> None:
    """The gradients of parameters; `.grad` stays as it is."""
    graph = run.graph
    named = {path: parameter for path, parameter in engine.held(model, again=True) if parameter.requires_grad}
    if end is None or not end.requires_grad or not named:
        return
    if any(op.name == engine.given_by_backward for op in graph.ops.values()):
        graph.note = (
            graph.note or "viz could not read the gradients: a reentrant checkpoint gives them to backward() alone"
        )
        return
    gradients = engine.module.autograd.grad(end, list(named.values()), allow_unused=True)
    for path, gradient in zip(named, gradients, strict=True):
        if gradient is not None:
            run.gradients[path] = measured(engine.array(gradient), engine.dtype(gradient))


def _tell_where(error: Exception, watch: _Inside) -> None:
    raised, number = watch.failed
    if raised is error:
        call = watch.graph.calls[number]
        kind = watch.graph.modules.get(call["path"], {}).get("class", "module")
        shapes = ", ".join(str(tuple(shape)) for shape in call["inputs"])
        error.add_note(f"viz.draw ran the model: this happened in {call['path']} ({kind}), which was given {shapes}")
