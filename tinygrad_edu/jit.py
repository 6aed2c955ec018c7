"""A static graph, to compare with the dynamic one: `trace` runs a function once, records its ops, and replays them.

The trace does not contain what Python decided on the way (an `if`, a loop, a number read from a tensor): these are
frozen. `torch.jit.trace` does the same, and warns about it. Nothing here is optimised or compiled.
"""

from __future__ import annotations

import gc
import inspect
import reprlib
import sys
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .array.absent import answer
from .array.tensor import Tensor
from .autograd.function import Function
from .nn.module import Module
from .overrides import FunctionMode

_HERE = str(Path(__file__).parent)


class TracerWarning(Warning):
    """A value was frozen into a trace. It can be wrong for other inputs."""


@dataclass(frozen=True)
class Slot:
    """A tensor of a trace, by its number: first the inputs, then the results in the order of the ops."""

    number: int


@dataclass
class Step:
    """One op of a trace. A `Slot` replaces each tensor in `args`, `kwargs` and `outputs`."""

    function: Callable[..., Any]
    args: Any
    kwargs: Any
    outputs: Any

    @property
    def name(self) -> str:
        """The function's name, such as `mul`."""
        return self.function.__name__


@dataclass
class Frozen:
    """A value that Python read from a tensor during the trace. Replays use it and do not read again."""

    what: str  # boolean | float | integer | index | number | list | NumPy array | length | number of rows
    slot: Slot
    value: Any
    line: int | None  # in the file that read it
    after: int  # how many steps had run by then


@dataclass
class Traced:
    """The result of `trace`: call it like the function that was traced.

    `steps`, `frozen`, `constants` and `code` describe what it does.

    >>> traced = T.jit.trace(lambda x: x * 2 + 1, T.tensor([1.0]))
    >>> traced(T.tensor([3.0])), len(traced.steps)
    (tensor([7.]), 2)
    """

    name: str
    inputs: list[str]
    made: list[tuple[tuple[int, ...], Any]]  # the shape and dtype of each slot's tensor at the time of the trace
    steps: list[Step] = field(default_factory=list)
    frozen: list[Frozen] = field(default_factory=list)
    constants: dict[int, Tensor] = field(default_factory=dict)  # by slot number
    output: Any = None

    def __call__(self, *inputs: Tensor) -> Any:
        """Run the steps on other inputs, of the same shapes and dtypes. Gradients flow as through any program."""
        if len(inputs) != len(self.inputs):
            raise TypeError(f"{self.name}() takes {len(self.inputs)} input(s), as it was traced, but got {len(inputs)}")
        for name, given, (shape, dtype) in zip(self.inputs, inputs, self.made, strict=False):
            if not isinstance(given, Tensor):
                raise TypeError(f"{self.name}(): {name} must be a Tensor, not {type(given).__name__}")
            if tuple(given.shape) != shape or given.dtype != dtype:
                raise RuntimeError(
                    f"{name} has shape {tuple(given.shape)} and {given.dtype}, but the trace was made with shape "
                    f"{shape} and {dtype}. What Python did with the sizes is frozen in the trace: trace again with "
                    "such an input."
                )
        values: dict[int, Any] = {**dict(enumerate(inputs)), **self.constants}
        for step in self.steps:
            result = step.function(*_filled(step.args, values), **_filled(step.kwargs, values))
            _keep(step.outputs, result, values)
        return _filled(self.output, values)

    @property
    def code(self) -> str:
        """The trace as Python source, with a comment at each decision that is frozen.

        >>> print(T.jit.trace(lambda x: x * 2 + 1, T.tensor(3.0)).code)
        def traced(x):
            v1 = mul(x, 2)
            v2 = add(v1, 1)
            return v2
        """
        lines = [f"def {self.name}({', '.join(self.inputs)}):"]
        for number, value in self.constants.items():
            text = repr(value) if not value.shape else f"<{type(value).__name__} of shape {tuple(value.shape)}>"
            lines.append(f"    {self.label(Slot(number))} = {text}  # a constant, not an input")
        waiting = deque(self.frozen)
        for position, step in enumerate([*self.steps, None]):
            while waiting and waiting[0].after == position:
                frozen = waiting.popleft()
                answer = reprlib.repr(frozen.value)
                lines.append(f"    # the {frozen.what} of {self.label(frozen.slot)} was {answer}: frozen")
            if step is not None:
                given = [self._text(each) for each in step.args]
                given += [f"{name}={self._text(each)}" for name, each in step.kwargs.items()]
                call = f"{step.name}({', '.join(given)})"
                lines.append(f"    {call if step.outputs is None else f'{self._text(step.outputs)} = {call}'}")
        return "\n".join([*lines, f"    return {self._text(self.output)}"])

    def label(self, slot: Slot) -> str:
        """The name of a tensor in `code`."""
        if slot.number < len(self.inputs):
            return self.inputs[slot.number]
        constants = sorted(self.constants)
        if slot.number in self.constants:
            return f"c{constants.index(slot.number) + 1}"
        return f"v{slot.number - len(self.inputs) + 1 - sum(number < slot.number for number in constants)}"

    def _text(self, thing: Any) -> str:
        if isinstance(thing, Slot):
            return self.label(thing)
        if isinstance(thing, (tuple, list)):
            inside = ", ".join(self._text(each) for each in thing)
            return f"({inside},)" if len(thing) == 1 else f"({inside})"
        return thing.__name__ if callable(thing) and hasattr(thing, "__name__") else repr(thing)

    def __repr__(self) -> str:
        return f"<traced function {self.name}: {len(self.steps)} ops, {len(self.frozen)} frozen values>"


def trace(func: Callable[..., Any], example_inputs: Tensor | tuple[Tensor, ...]) -> Traced:
    """Run `func` once on `example_inputs` and return the ops that ran as a new function: a static graph.

    Only tensor ops are recorded. A value that Python reads on the way (`if x > 0`, `x.item()`, `len(x)`) is frozen,
    with a `TracerWarning`. A random op runs again at each replay.

    `func` is a function or a module that returns a tensor, or a tuple or list of tensors. A RuntimeError says what
    cannot be replayed.

    >>> doubled = trace(lambda x: x * 2, T.tensor(3.0))
    >>> doubled(T.tensor(5.0))
    tensor(10.)
    """
    if not callable(func):
        raise TypeError(f"trace needs a function or a module, not {type(func).__name__}")
    examples = (example_inputs,) if isinstance(example_inputs, Tensor) else example_inputs
    if not isinstance(examples, (tuple, list)) or not all(isinstance(each, Tensor) for each in examples):
        raise TypeError(
            f"Type {type(examples).__name__!r} cannot be traced. Only Tensors and tuples of Tensors can be: a number "
            "would be frozen as a constant, so make it a tensor or put it into the function"
        )
    tracer = _Tracer(func, tuple(examples))
    with tracer:
        result = func(*examples)
    return tracer.finish(result)


def _inside_function() -> bool:
    """Whether the `forward` of a custom Function is running in this trace: its `apply` bypasses modes."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code is not trace.__code__:
        if frame.f_code is _APPLY:
            return True
        frame = frame.f_back
    return False


_APPLY = Function.apply.__func__.__code__  # type: ignore[attr-defined]


class _Tracer(FunctionMode):
    """Records the ops that run while it is the active mode."""

    def __init__(self, func: Callable[..., Any], examples: tuple[Tensor, ...]) -> None:
        name = getattr(func, "__name__", type(func).__name__)
        self.traced = Traced(name if name.isidentifier() else "traced", _names(func, len(examples)), [])
        self.slots: dict[int, int] = {}
        self.alive: list[Tensor] = []  # keeps the tensors alive, so that no id is used twice
        for each in examples:
            self.add(each)
        # A tensor whose creation was not seen is a constant if older than the trace. Else nothing can make it again.
        self.before = {id(each): each for each in gc.get_objects() if issubclass(type(each), Tensor)}
        self.lent = {id(each) for each in (*func.parameters(), *func.buffers())} if isinstance(func, Module) else set()

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ == "__iter__":
            count = args[0].shape[0]
            self.freeze("__iter__", args[0], count)
            return iter([self.run(type(args[0]).__getitem__, (args[0], i), {}) for i in range(count)])
        return self.run(func, args, kwargs or {})

    def run(self, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op and record it, with a slot for each tensor."""
        if _inside_function():
            raise RuntimeError(
                "A custom Function cannot be replayed: a replay would run its ops, with their gradients instead of its "
                "backward. Trace the parts before and after it."
            )
        given, named = self.with_slots(args), self.with_slots(kwargs)
        result = func(*args, **kwargs)
        if result is not None and not _tensors(result):
            first = next(iter(_tensors((args, kwargs))), None)
            if first is not None and not isinstance(result, str):
                self.freeze(func.__name__, first, result)
            return result
        for each in _tensors(result):
            if id(each) not in self.slots:
                self.add(each)
        self.traced.steps.append(Step(func, given, named, None if result is None else self.with_slots(result)))
        return result

    def add(self, tensor: Tensor) -> int:
        """A new slot for a tensor."""
        self.slots[id(tensor)] = len(self.alive)
        self.alive.append(tensor)
        self.traced.made.append((tuple(tensor.shape), tensor.dtype))
        return len(self.alive) - 1

    def with_slots(self, thing: Any) -> Any:
        """`thing` with a slot in place of each tensor."""
        return _mapped(thing, Tensor, self.slot)

    def slot(self, tensor: Tensor) -> Slot:
        """The slot of a tensor. A tensor that existed before the trace becomes a constant."""
        if id(tensor) not in self.slots:
            if id(tensor) not in self.before:
                raise RuntimeError(
                    "A tensor entered the traced function in a way that the trace does not record, such as .data or "
                    ".grad, so a replay cannot make it. Compute it with tensor ops."
                )
            if tensor.requires_grad and id(tensor) not in self.lent:
                raise RuntimeError(
                    "Cannot insert a Tensor that requires grad as a constant: its current value would be frozen. Make "
                    "it an input of the function, or detach it."
                )
            self.traced.constants[self.add(tensor)] = tensor
        return Slot(self.slots[id(tensor)])

    def freeze(self, what: str, tensor: Tensor, value: Any) -> None:
        """Note that Python read `value` from `tensor`, and warn at the line that read it."""
        what = _READS.get(what, what)
        frame: Any = sys._getframe(1)
        depth = 2
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
            frame, depth = frame.f_back, depth + 1
        self.traced.frozen.append(Frozen(what, self.slot(tensor), value, frame.f_lineno, len(self.traced.steps)))
        known = _KNOWN.get(what, f"Converting a tensor to a Python {what}")
        warnings.warn(
            f"{known} might cause the trace to be incorrect. We can't record the data flow of Python values: "
            f"{value!r} is the value for this input, and it is now frozen for every other input.",
            TracerWarning,
            stacklevel=depth,
        )

    def finish(self, result: Any) -> Traced:
        """Build the trace, once the function has returned `result`."""
        if result is None:
            raise RuntimeError(
                "The traced function didn't return any values! Side-effects are not captured in traces, so it would be "
                "a no-op. Return the tensor that you want."
            )
        tensors = list(result) if isinstance(result, (tuple, list)) else [result]
        if not tensors or not all(isinstance(each, Tensor) for each in tensors):
            raise RuntimeError(
                "Only tensors, lists, tuples of tensors can be output from traced functions: anything else is a "
                f"Python value, which would be frozen. This one returned {type(result).__name__}."
            )
        self.traced.output = self.with_slots(result)
        return self.traced


_READS = {"__bool__": "boolean", "__contains__": "boolean", "__float__": "float", "__int__": "integer"}
_READS |= {"__index__": "index", "__len__": "length", "__iter__": "number of rows", "item": "number"}
_READS |= {"tolist": "list", "numpy": "NumPy array"}


_KNOWN = {
    "length": "Using len to get tensor shape",
    "number of rows": "Iterating over a tensor",
    "NumPy array": "Converting a tensor to a NumPy array",
}


def _names(func: Callable[..., Any], count: int) -> list[str]:
    try:
        called = func.forward if isinstance(func, Module) else func
        known = [
            name
            for name, parameter in inspect.signature(called).parameters.items()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        known = []
    return (known + [f"input{n + 1}" for n in range(len(known), count)])[:count]


def _mapped(thing: Any, kind: type, replace: Callable[[Any], Any]) -> Any:
    """`thing` with every object of type `kind` replaced, inside tuples, lists, dicts and slices."""
    if isinstance(thing, kind):
        return replace(thing)
    if isinstance(thing, (tuple, list)):
        inside = [_mapped(each, kind, replace) for each in thing]
        return type(thing)(*inside) if hasattr(thing, "_fields") else type(thing)(inside)
    if isinstance(thing, dict):
        return {name: _mapped(each, kind, replace) for name, each in thing.items()}
    if isinstance(thing, slice):
        return slice(*(_mapped(each, kind, replace) for each in (thing.start, thing.stop, thing.step)))
    return thing


def _tensors(thing: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _mapped(thing, Tensor, found.append)
    return found


def _filled(thing: Any, values: dict[int, Any]) -> Any:
    """`thing` with each slot replaced by its tensor."""
    return _mapped(thing, Slot, lambda slot: values[slot.number])


def _keep(outputs: Any, result: Any, values: dict[int, Any]) -> None:
    """Store each tensor of `result` under its slot in `outputs`."""
    slots: list[Slot] = []
    _mapped(outputs, Slot, slots.append)
    values.update(zip((slot.number for slot in slots), _tensors(result), strict=True))


__getattr__ = answer(__name__)
