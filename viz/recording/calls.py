"""Runs a model once under its own forward hooks: every call of a module, and every op inside it, as plain data."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from viz.engines import Engine
from viz.recording.graph import Array, Graph, Op
from viz.recording.notation import name_values
from viz.recording.reader import Reader, about_module, nested_tensors
from viz.recording.saved import saved_tensors
from viz.recording.source import Source
from viz.recording.summary import summarise
from viz.recording.unseen import Reading
from viz.recording.watch import Watch
from viz.recording.work import products, products_of

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One call of a module.

    `path` is its name in `named_modules()`; the model itself has the path "". `inputs` and `outputs` are the shapes of all
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
    results: dict[int, Array] = field(default_factory=dict)  # of what a call returned, by its number in `graph.calls`
    loss: Array | None = None
    parameters: int = 0
    flops: int = 0
    kept: int = 0  # bytes that the graph keeps for backward, without parameters


class _Plain(Reader):
    """A reader that looks at shapes alone: the numbers of a large model are not copied."""

    def copy(self, tensor: Any) -> Array | None:
        return Array(list(tensor.shape), self.engine.dtype(tensor))


class _Inside(Watch):
    """Observes the ops of one run of a model, and knows in which calls each of them ran."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, _NOWHERE, reader=_Plain)
        self.running: list[int] = []  # the calls that have begun, outermost first
        self.flops = 0
        self.counted = False  # inside a module whose work is counted as a whole
        self.kept: dict[int, int] = {}  # bytes of each storage that is kept for backward
        self.passes.watch_leaf = lambda node: None  # type: ignore[method-assign]

    def _module(self, frame: FrameType | None) -> str:
        return self.graph.calls[self.running[-1]]["path"] if self.running else ""

    def _met_op(self, op: Op, node: Any) -> None:
        op.function = (self._call or ("", None))[0]
        op.module, op.calls = self._module(None), list(self.running)
        self._met.append(op)
        for _, saved in saved_tensors(self.engine, node):
            if self.engine.is_tensor(saved) and (place := self.engine.storage(saved)):
                self.kept[place] = math.prod(saved.shape) * saved.element_size()

    def _unrecorded(self, name: str, line: int | None, inputs: list[str], output: str, arguments: Any) -> None:
        super()._unrecorded(name, line, inputs, output, arguments)
        self.graph.ops[self.graph.values[output].op or ""].calls = list(self.running)

    def _through(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        result = super()._through(func, args, kwargs)
        if not self.counted:
            with Reading(self.engine, self.graph):
                self.flops += 2 * products(getattr(func, "__name__", ""), args, kwargs, result)
        return result

    def passed(self, inputs: list[Any], path: str) -> None:
        """A call in which nothing ran, such as that of an `Identity`, still has a box."""
        op = Op(f"o{len(self.graph.ops)}", "identity", "identity", False, module=path, calls=list(self.running))
        op.inputs = [self.reader.value(one) for one in inputs]
        self.graph.ops[op.key] = op


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

    Buffers, `.grad` and random numbers are as before at the end. `name` is the model's own name in the picture. The loss
    is that of `loss(output)`, or the output's own `loss`, or the output itself if it is a scalar.

    Raises:
        TypeError: `loss` returns no scalar.
        Whatever the model raises, with a note that tells in which module.
    """
    watch = _Inside(engine)
    paths = {id(module): path for path, module in model.named_modules()}
    made = Run(watch.graph, parameters=about_module(model)["parameters"])
    results: dict[int, tuple[Any, int]] = {}
    watch.graph.modules = {_joined(name, path): about_module(module) for path, module in model.named_modules()}
    with contextlib.ExitStack() as stack:
        stack.enter_context(engine.same_randomness())
        stack.enter_context(_buffers_as_before(engine, model))
        stack.enter_context(_hooks(watch, model, paths, name, made, results))
        with engine.quietly():
            for path, parameter in model.named_parameters(remove_duplicate=False):
                watch.reader.bind(_joined(name, path), parameter)
            for path, buffer in model.named_buffers(remove_duplicate=False):
                watch.reader.bind(_joined(name, path), buffer)
            for path, tensor in _given(model, args, kwargs, engine):
                watch.reader.bind(path, tensor)
        try:
            watch.mode.__enter__()
            output = model(*args, **kwargs)
            end = _loss(engine, output, loss)
        except Exception as error:
            _tell_where(error, watch, name)
            raise
        finally:
            engine.take_off(watch.mode)
            watch.passes.close()
        with engine.quietly():
            for path, tensor in nested_tensors(output, engine):
                key = watch.reader.bind(f"output{path}" if end is not output else "loss", tensor)
                watch.graph.roots.append(key)
            if end is not None and end is not output:
                watch.graph.roots.append(watch.reader.bind("loss", end))
            _gradients(engine, model, end, made, results)
            own = {engine.storage(one) for one in model.parameters()}
    if end is not None:
        made.loss = watch.graph.values[watch.graph.roots[-1]].array = summarise(engine.array(end), engine.dtype(end))
    made.flops, made.kept = watch.flops, sum(size for place, size in watch.kept.items() if place not in own)
    _forget_unused(watch.graph)
    name_values(watch.graph)
    return made


def _joined(name: str, path: str) -> str:
    return f"{name}.{path}" if path else name


@contextlib.contextmanager
def _buffers_as_before(engine: Engine, model: Any) -> Iterator[None]:
    """Running statistics and counters are put back at the end."""
    with engine.quietly():
        before = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with engine.quietly(), engine.module.no_grad():
            for buffer, value in before:
                if not engine.module.equal(buffer, value):
                    buffer.copy_(value)


@contextlib.contextmanager
def _hooks(
    watch: _Inside, model: Any, paths: dict[int, str], name: str, made: Run, results: dict[int, tuple[Any, int]]
) -> Iterator[None]:
    """Forward hooks on every module of the model, which tell what was called, with what, and what came of it."""
    engine, calls = watch.engine, watch.graph.calls
    wholes = engine.whole_modules()

    def begins(module: Any, args: Any, kwargs: Any) -> None:
        calls.append({"path": _joined(name, paths[id(module)]), "inputs": [], "outputs": []})
        watch.running.append(len(calls) - 1)
        with Reading(engine, watch.graph):
            calls[-1]["inputs"] = [list(one.shape) for _, one in nested_tensors([args, kwargs], engine)]
        if isinstance(module, wholes) and not watch.counted:
            watch.counted = calls[-1]["whole"] = True

    def ends(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        number = watch.running[-1]
        with Reading(engine, watch.graph):
            given = [one for _, one in nested_tensors([args, kwargs], engine)]
            if not any(number in op.calls for op in list(watch.graph.ops.values())[-OPS_LOOKED_AT:]):
                if engine.is_tensor(output) and any(output is one for one in given):
                    before = watch.reader.value(output)
                    watch._unrecorded("identity", None, [before], watch.reader.passed_on(output), [])
                else:
                    watch.passed(given, calls[number]["path"])
            tensors = [one for _, one in nested_tensors(output, engine)]
            calls[number]["outputs"] = [list(one.shape) for one in tensors]
            shapes = [[tuple(one) for one in calls[number][way]] for way in ("inputs", "outputs")]
            made.calls.append(Call(paths[id(module)], type(module).__name__, *shapes))
            tensor = next((one for one in tensors if one.requires_grad and not watch.reader.is_leaf(one)), None)
            if tensor is not None:
                results[number] = tensor, tensor._version
            if calls[number].get("whole"):
                watch.flops += 2 * products_of(module, [tuple(one.shape) for one in given])
        if calls[number].pop("whole", False):
            watch.counted = False
        watch.running.pop()

    handles = []
    for _, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(begins, with_kwargs=True))
        handles.append(module.register_forward_hook(ends, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


OPS_LOOKED_AT = 64


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
    own: Any = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    scalars = [one for one in (own, output) if engine.is_tensor(one) and not one.shape and one.requires_grad]
    return scalars[0] if scalars else None


def _gradients(engine: Engine, model: Any, end: Any, made: Run, results: dict[int, tuple[Any, int]]) -> None:
    """The gradients of parameters and of what each call returned; `.grad` stays as it is."""
    if end is None or not end.requires_grad:
        return
    named = [(path, one) for path, one in model.named_parameters(remove_duplicate=False) if one.requires_grad]
    # A result that was changed in place afterwards is no longer what the call returned.
    kept = [(number, one) for number, (one, version) in results.items() if one._version == version]
    wanted = [one for _, one in (*named, *kept)]
    found = engine.module.autograd.grad(end, wanted, allow_unused=True)
    for (place, _), gradient in zip((*named, *kept), found, strict=True):
        if gradient is not None:
            array = summarise(engine.array(gradient), engine.dtype(gradient))
            (made.gradients if isinstance(place, str) else made.results)[place] = array  # type: ignore[index]


def _tell_where(error: Exception, watch: _Inside, name: str) -> None:
    if watch.running:
        call = watch.graph.calls[watch.running[-1]]
        kind = watch.graph.modules.get(call["path"], {}).get("class", "module")
        shapes = ", ".join(str(tuple(shape)) for shape in call["inputs"])
        error.add_note(f"viz.draw ran the model: this happened in {call['path']} ({kind}), which was given {shapes}")


def _forget_unused(graph: Graph) -> None:
    used = {key for op in graph.ops.values() for key in (*op.inputs, *op.outputs)} | {*graph.roots}
    graph.values = {key: value for key, value in graph.values.items() if key in used}
    for value in graph.values.values():
        if value.shares not in graph.values:
            value.shares, value.how_shared = None, ""
