"""How long each function of a program takes (PyTorch: `torch.profiler`, `torch.autograd.profiler`).

It measures what a program calls: public functions, methods of tensors, and the parts that `record_function` names. The
backward pass is one entry. PyTorch also lists the kernels behind each function, which do not exist here.
"""

from __future__ import annotations

import enum
import functools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...array.tensor import Tensor
from ...overrides import FunctionMode

__all__ = [
    "EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerAction", "ProfilerActivity", "emit_nvtx", "profile",
    "record_function", "schedule", "tensorboard_trace_handler",
]  # fmt: skip

_UNITS = ((1e6, "s"), (1e3, "ms"), (0.0, "us"))
_COLUMNS = ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")


class ProfilerActivity(enum.Enum):
    """What PyTorch's profiler can watch. Here it watches only the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class ProfilerAction(enum.Enum):
    """The action of a `schedule` at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


@dataclass
class FunctionEvent:
    """One call: its name, its start and end in microseconds, and the shapes of its tensors."""

    name: str
    start: float
    end: float = 0.0
    input_shapes: list[list[int]] = field(default_factory=list)
    children: float = 0.0  # the time of the calls inside it

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from start to end."""
        return self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without the calls inside it."""
        return self.cpu_time_total - self.children


@dataclass
class FunctionEventAvg:
    """All calls of one name (`key`). Times are in microseconds. Times of other devices, and memory, are not measured: 0."""

    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0

    key: str
    input_shapes: list[list[int]]
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """The mean microseconds per call."""
        return self.cpu_time_total / self.count

    def add(self, event: FunctionEvent) -> None:
        """Count one more call."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total


class EventList(list[Any]):
    """A list of events, or of averages, that prints as a table."""

    @property
    def self_cpu_time_total(self) -> float:
        """Total microseconds; nested calls are counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The calls summed by name, and by shapes if `group_by_input_shape`."""
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            groups.setdefault((event.name, str(shapes)), FunctionEventAvg(event.name, shapes)).add(event)
        return EventList(groups.values())

    def total_average(self) -> FunctionEventAvg:
        """All calls as one entry."""
        total = FunctionEventAvg("Total", [])
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **settings: Any) -> str:
        """The averages as text, sorted by `sort_by`, such as "cpu_time_total" or "self_cpu_time_total".

        Raises:
            AttributeError: there is no such column.
        """
        rows = self if all(isinstance(row, FunctionEventAvg) for row in self) else self.key_averages()
        if sort_by is not None:
            rows = EventList(sorted(rows, key=lambda row: getattr(row, sort_by), reverse=True))
        whole = self.self_cpu_time_total or 1.0
        cells = [("Name", *_COLUMNS)]
        for row in rows[: row_limit if row_limit >= 0 else None]:
            own, total = row.self_cpu_time_total, row.cpu_time_total
            shares = (f"{own / whole:.2%}", _time(own), f"{total / whole:.2%}", _time(total), _time(row.cpu_time))
            cells.append((row.key, *shares, str(row.count)))
        widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
        rule = "  ".join("-" * width for width in widths)
        first, *others = ("  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True)) for line in cells)
        return "\n".join(
            [rule, first, rule, *others, rule, f"Self CPU time total: {_time(self.self_cpu_time_total)}", ""]
        )

    __str__ = table

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to `path`, for Chrome's chrome://tracing."""
        events = [
            {"ph": "X", "name": e.name, "ts": e.start, "dur": e.cpu_time_total, "pid": 0, "tid": 0, "cat": "cpu_op"}
            for e in self
        ]
        Path(path).write_text(json.dumps({"traceEvents": events}))


class profile(FunctionMode):
    """Inside `with`, measure every function that the program calls on the thread that created it.

    With a `schedule`, `step()` ends a step, and `on_trace_ready(self)` is called after each cycle.

    Example:
        >>> import tinygrad_edu as T
        >>> with T.profiler.profile() as prof:
        ...     y = T.ones(3).exp().sum()
        >>> [(event.key, event.count) for event in prof.key_averages()]
        [('aten::ones', 1), ('aten::exp', 1), ('aten::sum', 1)]
    """

    def __init__(
        self,
        *args: Any,
        enabled: bool = True,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        **settings: Any,
    ) -> None:
        self.enabled, self.on_trace_ready, self.record_shapes = enabled, on_trace_ready, record_shapes
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._events = EventList()
        self._open: list[FunctionEvent] = []
        self.step_num = 0

    def __enter__(self) -> profile:
        if self.enabled:
            _running.stack.append(self)
            super().__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.enabled:
            super().__exit__(*exception)
            _running.stack.remove(self)
            if self.on_trace_ready is not None and self._schedule(self.step_num) in _RECORDING:
                self.on_trace_ready(self)

    def start(self) -> None:
        """Start measuring, as `with` does."""
        self.__enter__()

    def stop(self) -> None:
        """Stop measuring, as `with` does."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """End a step of the program."""
        if self._schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
            self._events = EventList()
        self.step_num += 1

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self._measured(f"aten::{func.__name__.strip('_')}", args):
            return func(*args, **(kwargs or {}))

    @contextmanager
    def _measured(self, name: str, args: Any = ()) -> Iterator[None]:
        if self._schedule(self.step_num) not in _RECORDING:
            yield
            return
        shapes = [list(a.shape) for a in args if isinstance(a, Tensor)] if self.record_shapes else []
        event = FunctionEvent(name, time.perf_counter() * 1e6, input_shapes=shapes)
        self._events.append(event)
        self._open.append(event)
        try:
            yield
        finally:
            event.end = time.perf_counter() * 1e6
            self._open.pop()
            if self._open:
                self._open[-1].children += event.cpu_time_total

    def events(self) -> EventList:
        """All calls, in order of their start."""
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The calls summed by name."""
        return self._events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All calls as one entry."""
        return self._events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **settings: Any) -> str:
        """The averages as text."""
        return self.key_averages().table(sort_by, row_limit)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to `path`, for Chrome's chrome://tracing."""
        self._events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """Total microseconds of all calls; nested calls are counted once."""
        return self._events.self_cpu_time_total

    def __str__(self) -> str:
        return self.table()


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class _Running(threading.local):
    """The active profilers of each thread."""

    def __init__(self) -> None:
        self.stack: list[profile] = []


_running = _Running()


class record_function:
    """Names a `with` block or a function, so that a surrounding `profile` lists it."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._open: list[Any] = []

    def __enter__(self) -> record_function:
        self._open = [each._measured(self.name) for each in _running.stack]
        for each in self._open:
            each.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        for each in reversed(self._open):
            each.__exit__(None, None, None)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return call


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, **settings: Any
) -> Callable[[int], ProfilerAction]:
    """The action at each step: skip `skip_first` steps, then wait, warm up and record in turn, `repeat` times (0: until the end)."""
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        cycle, at = divmod(step - skip_first, length)
        if step < skip_first or (repeat and cycle >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == length - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Any:
    """A callback for `on_trace_ready` that writes each trace into the folder `dir_name`."""

    def write(prof: profile) -> None:
        Path(dir_name).mkdir(parents=True, exist_ok=True)
        prof.export_chrome_trace(f"{dir_name}/{worker_name or 'cpu'}.{prof.step_num}.pt.trace.json")

    return write


def emit_nvtx(*args: Any, **kwargs: Any) -> Any:
    """Refused: it marks ranges for a GPU profiler."""
    raise NotImplementedError(
        "emit_nvtx: marks for a GPU's profiler are not built here. Use profile(), or leave it out."
    )


def _time(microseconds: float) -> str:
    size, unit = next(u for u in _UNITS if microseconds >= u[0])
    return f"{microseconds / (size or 1.0):.3f}{unit}"
