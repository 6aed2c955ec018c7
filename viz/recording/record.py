"""Runs a program under observation and records what autograd did, as plain data.

`watch` sees every op as it runs, and `passes` sees every node through its hooks. Values are copied as soon as they
exist. No object of the engine survives in the `Recording`.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import math
import re
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from tinygrad_edu.sandbox.quiet import Quiet
from viz import engines
from viz.engines import CORE, NAMES, TORCH, Engine
from viz.interrupts import interruptible, put_back_first
from viz.recording import own
from viz.recording.notation import name_values
from viz.recording.passes import ELSEWHERE
from viz.recording.printed import Printed
from viz.recording.reader import Reader, ended, legible, tensors_in
from viz.recording.recording import Recording
from viz.recording.source import Source
from viz.recording.teaching import TeachingRecorder
from viz.recording.unseen import Reading
from viz.recording.watch import Watch

STEPS = 2000  # of a cell or an explored program that are recorded; nobody steps through more


def record(
    program: str | Callable[..., Any],
    engine: str | Any = None,
    device: str = "cpu",
    inputs: dict[str, Any] | None = None,
    limit: int | None = None,
) -> Recording:
    """Run `program` on an engine and record every op, every gradient and every accumulation, in true order.

    Args:
        program: source text in which `T` (and `torch`) is the engine; a function that takes the engine first; or a
        function without arguments, such as a training step.
        engine: `"tinygrad_edu"` or `"torch"`; None: the program's own. That is PyTorch if it imports or names torch,
        or uses its tensors, modules or optimizers; ours if it only takes the engine as `T`. An engine of your own is an
        object with the parts of a `TeachingEngine` (docs/engines.md).
        device: where tensors are made when the program does not say; `"cuda"` for PyTorch on a GPU.
        inputs: further names for the program (arrays become tensors); for a function, its keyword arguments.
        limit: how many events to record (None: all); the rest runs unobserved, and `recording.cut` is the line.

    An exception in the program is not raised here: the recording ends with it, `recording.error` has it, and each view
    of the recording shows it. If nothing was recorded, `recording.graph.note` says why.

    Raises:
        TypeError: `program` is neither text nor a function to call like that, or an engine of your own lacks a part.
        ValueError: no such engine, or the device cannot be used here (the message says why).

    >>> import viz
    >>> rec = viz.record("x = T.tensor(3.0, requires_grad=True); (x * x).backward()", engine="torch")
    >>> rec.tensors["x"]["grad"]["data"]
    6.0
    """
    own.check(program, "viz.record")
    if engine is not None and not isinstance(engine, str):
        return TeachingRecorder(engine, Source(program)).run(inputs or {})
    chosen = own.engine_of(program, inputs or {}) if engine is None else engines.load(engine)
    return recorder(program, chosen, device, limit=limit).run(inputs or {})


def recorder(program: str | Callable[..., Any], engine: Engine, device: str = "cpu", **how: Any) -> Recorder:
    """What records a program on an engine. `how`: as for `Recorder`.

    Raises:
        ValueError: the device cannot be used here (the message says why).
    """
    reason = engine.devices().get(
        device.partition(":")[0], f"{device!r} is not a device that {engine.name} can use here."
    )
    if reason:
        raise ValueError(f"device={device!r}: {reason}")
    return Recorder(engine, Source(program), device, **how)


def record_backward(tensor: Any, names: dict[str, Any]) -> Recording:
    """Record the backward pass from `tensor` through the graph behind it. `.grad` and the graph stay as they are.

    `names` are the variables of the caller.
    """
    engine = engines.of(tensor)
    assert engine is not None
    reader = Reader(engine, keep=True, lazy=True)
    with engine.quietly():
        if not tensor.requires_grad:
            raise ValueError(
                "this tensor requires no grad, so there is no backward pass behind it: play the loss of your model"
            )
        reader.value(tensor)
        held = {
            name: thing
            for name, thing in names.items()
            if name.isidentifier() and name[0] != "_" and _holds(reader, thing)
        }
        name = next((name for name, value in held.items() if value is tensor), "loss")
        leaves = [(leaf, leaf.grad) for leaf, _ in reader.seen() if reader.is_leaf(leaf)]
        for leaf, _ in leaves:
            leaf.grad = None
    try:
        source = Source(f"{name}.backward(retain_graph=True)")
        return Recorder(engine, source, namespace={**held, name: tensor}).run({})
    finally:
        with engine.quietly():
            for leaf, grad in leaves:
                leaf.grad = grad


def _holds(reader: Reader, thing: Any) -> bool:
    """Whether a tensor of the graph that was read is in `thing`."""
    return any(reader.has(tensor) for _, tensor in tensors_in(thing, reader.engine))


SHOWS = ("matplotlib", "seaborn", "tqdm")
"""Modules that only show something: a program runs without them where they are not installed."""


def namespace_for(engine: Engine, inputs: dict[str, Any]) -> dict[str, Any]:
    """The namespace of source text: the engine is `T` and `torch`, and importing either engine returns this one."""

    def import_for_engine(
        name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] = (), level: int = 0
    ) -> ModuleType:
        top, _, rest = name.partition(".")
        if level == 0 and top in (TORCH, CORE) and top != engine.name:
            importlib.import_module(f"{engine.name}.{rest}" if rest else engine.name)
            name = f"{engine.name}.{rest}" if rest else engine.name
        try:
            return builtins.__import__(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            if top not in SHOWS or error.name is None or error.name.partition(".")[0] != top:
                raise
            return Quiet(name if fromlist else top)

    own = dict(vars(builtins), __import__=import_for_engine)
    return {"__name__": "__main__", "__builtins__": own, "T": engine.module, "torch": engine.module, **inputs}


class Recorder:
    """One run of a program under observation.

    Args:
        engine: the engine to run on.
        source: the program.
        device: where tensors are made when the program does not say.
        namespace: where source text runs; by default a new one with `T` and `torch`.
        names: look only at these variables; None for all.
        limit: how many events to record; after that the program runs unobserved. None for all.
        until: likewise how many lines of the program.
        shaken: move the data that the program makes by one unit in the last place, to see what rounding does to it.
    """

    def __init__(
        self,
        engine: Engine,
        source: Source,
        device: str = "cpu",
        namespace: dict[str, Any] | None = None,
        names: set[str] | None = None,
        limit: int | None = None,
        until: float = math.inf,
        shaken: bool = False,
    ) -> None:
        self.engine = engine
        self.source = source
        self.device = device
        self.raised: BaseException | None = None  # the exception that the program did not catch
        self.shown_in: Any = None  # a stream that shows what the program prints, as it runs
        self._left_out = ""  # what of the program did not run, and why
        self._namespace = namespace
        self._watch = Watch(engine, source, names, limit)
        self._watch.until = until
        self.shaken = self._watch.shaken = shaken

    @property
    def cut(self) -> int | None:
        """The line at which recording stopped because of the limit; None if everything was recorded."""
        return self._watch.cut

    def execute(self, namespace: dict[str, Any]) -> None:
        """Run the program's source text."""
        code = compile(self.source.text, self.source.filename, "exec", dont_inherit=True)
        interruptible(lambda: exec(code, namespace))

    def run(self, inputs: dict[str, Any]) -> Recording:
        """Run the program once and return what happened."""
        module = self.engine.module
        copies = {
            name: module.tensor(item, device=self.device) if isinstance(item, (np.ndarray, np.generic)) else item
            for name, item in inputs.items()
        }
        output = Printed(self.shown_in)
        outer: dict[str, Any] = {}
        before, of_threads = sys.gettrace(), threading.gettrace()
        with put_back_first(), contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(output))
            if self.device != "cpu":
                stack.enter_context(module.device(self.device))
            grad_was_on = module.is_grad_enabled()
            try:
                if self.source.function is None:
                    namespace = namespace_for(self.engine, copies) if self._namespace is None else self._namespace
                    start: Callable[[], Any] = lambda: self.execute(namespace)  # noqa: E731
                else:
                    namespace = copies
                    call = own.starter(self.source.function, self.engine, copies, "viz.record")
                    start = lambda: interruptible(call)  # noqa: E731
                with Reading(self.engine, self._watch.graph):
                    outer = own.outer_names(self.source.function or self.source.text, namespace)
                    self._watch.know(outer)
                threading.settrace(self._watch.leave_thread)
                sys.settrace(self._watch.trace)
                try:
                    self._watch.begin()
                    self._left_out = start() or ""
                except KeyboardInterrupt as stopped:
                    self.let_go(stopped)
                    raise
                finally:
                    sys.settrace(before)
                    threading.settrace(of_threads)
                    self._watch.end()
            except (Exception, SystemExit) as raised:
                self.raised = raised
            finally:
                # A cell sets it for the notebook. Stopped, it may have left it as the engine had it within a pass.
                if self._namespace is None or isinstance(self.raised, KeyboardInterrupt):
                    module.set_grad_enabled(grad_was_on)
        with Reading(self.engine, self._watch.graph):
            self._watch.name(outer)
        return self._finish(output.getvalue())

    def let_go(self, stopped: KeyboardInterrupt) -> None:
        """Clear the engine's frames that an interrupt stopped: then PyTorch puts back a mode that it lent out there."""
        for frame, _ in traceback.walk_tb(stopped.__traceback__):
            if not self.source.owns(frame):
                with contextlib.suppress(RuntimeError):  # it still runs: one of ours
                    frame.clear()

    def _named(self, stdout: str) -> str:
        """What a program printed, with the name by which it imports the engine: `torch.float32`."""
        name, other = self.engine.name, {CORE: TORCH, TORCH: CORE}.get(self.engine.name, "")
        if f"{name}." not in stdout or other not in own.imported(self.source.text):
            return stdout
        return re.sub(rf"\b{name}\.(?=\w)", f"{other}.", stdout)

    def _finish(self, stdout: str) -> Recording:
        watch = self._watch
        graph, events = watch.graph, watch.events
        about: dict[str, Any] | None = None
        if self.raised is not None:
            about = ended(self.raised, self.source, events, watch.passes.failed)
        tensors: dict[str, dict[str, Any]] = {}
        for name, tensor in watch.final.items():
            with Reading(self.engine, graph):
                tensors[name] = self._state(tensor)
        watch.close()
        named = {state["key"] for state in tensors.values()} | {key for key, t in graph.values.items() if t.names}
        graph.drop_unused(named | {saved.value for op in graph.ops.values() for saved in op.saved})
        events = [event for event in events if event.kind != "create" or event.values[0] in graph.values]
        ran = {op.module for op in graph.ops.values()}
        graph.modules = {
            path: about
            for path, about in graph.modules.items()
            if any(module == path or module.startswith(f"{path}.") for module in ran)
        }
        name_values(graph)
        graph.note = graph.note or self._left_out
        if not graph.ops and not graph.note:
            graph.note = self._why_nothing()
        source, printed = legible(self.source.text).splitlines(), self._named(legible(stdout))
        name = self.engine.name
        return Recording(
            name, self.device, source, graph, events, tensors, printed, about, cut=self.cut, ran=self._watch.ran
        )

    def _why_nothing(self) -> str:
        text, engine = self.source.text, self.engine.name
        other = next(name for name in NAMES if name != engine)
        if self.raised is not None:
            return f"Nothing was recorded before the error: {type(self.raised).__name__}: {self.raised}"
        if self._watch.left_thread:
            return f"Nothing was recorded: the program ran in {ELSEWHERE}"
        hint = f" It names {other}: pass engine={other!r}." if re.search(rf"\b{other}\b", text) else ""
        return f"Nothing was recorded: the program ran no op of {engine} on a tensor.{hint}"

    def _state(self, tensor: Any) -> dict[str, Any]:
        reader = self._watch.reader
        leaf = reader.is_leaf(tensor)
        kept = leaf or bool(tensor.retains_grad)
        grad = tensor.grad if kept else None
        node = reader.grad_fn(tensor)
        array = reader.copy(tensor)
        gradient = reader.copy(grad)
        return {
            "shape": self.engine.shape(tensor),
            "dtype": self.engine.dtype(tensor),
            "value": None if array is None else dict(vars(array)),
            "grad": None if gradient is None else dict(vars(gradient)),
            "requires_grad": bool(tensor.requires_grad),
            "is_leaf": leaf,
            "grad_fn": None if node is None else node.name(),
            "retains_grad": bool(tensor.retains_grad),
            "version": reader.version(tensor),
            "grad_kept": kept,
            "key": reader.value(tensor),
        }
