"""Training runs of one program: its loss, parameters and gradients at each step, with other settings beside it."""

from __future__ import annotations

import inspect
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz import engines
from viz.engines import CORE, Engine
from viz.picture.axis import short

CONTRACT = (
    "write `def program(T, lr=0.1): … while True: …; loss().backward(); yield loss, {'w': w}; …`: a yield once a step, "
    "after backward() and before the parameters move"
)
COLUMNS, ROWS = 40, 28
MAP_SECONDS = 2.0  # a loss that is slow to compute gets a coarser map
Numbers = dict[str, list[float]]


@dataclass
class Step:
    """Where a run is: the loss, and of each parameter its numbers and its gradient's (None where there is none)."""

    loss: float
    values: Numbers
    gradients: dict[str, list[float] | None]


@dataclass
class Surface:
    """The loss over one or two numbers of the parameters: `heights[row][column]`, rows from high to low."""

    names: list[str]
    window: tuple[float, float, float, float]  # left, right, bottom, top
    heights: list[list[float]]


@dataclass
class Run:
    """One training run, which can go on from where it is."""

    label: str
    settings: dict[str, Any]
    steps: list[Step] = field(default_factory=list)
    ended: str = ""  # why it cannot go on
    _generator: Iterator[Any] | None = field(default=None, repr=False)
    _last: Any = field(default=None, repr=False)


class Training:
    """What `viz.train` gives: `runs`, the program's own first; `run(steps)` goes on, `add(lr=…)` puts another beside it."""

    def __init__(self, program: Callable[..., Any], engine: str, progress: bool) -> None:
        if not callable(program):
            raise TypeError(f"train needs a function that takes the engine, not {type(program).__name__}: {CONTRACT}")
        self.program = program
        self.engine: Engine = engines.load(engine)
        self.progress = progress
        self.runs: list[Run] = []
        self.settings = _settings_of(program)
        self._stopped = False

    def add(self, **settings: Any) -> Run:
        """Another run with other settings, brought to where the others are.

        Raises:
            TypeError: the program takes no such argument; the message says which it takes.
        """
        unknown = sorted(set(settings) - set(self.settings))
        if unknown:
            known = ", ".join(self.settings) or "none: give it keyword arguments with a default, such as lr=0.1"
            raise TypeError(f"the program takes no argument {unknown[0]!r}; its settings are {known}")
        label = ", ".join(f"{name}={value}" for name, value in settings.items()) or "as written"
        run = Run(label, {**self.settings, **settings})
        generator = self.program(self.engine.module, **settings)
        if not inspect.isgenerator(generator):
            raise TypeError(f"the program yields nothing, it returns {type(generator).__name__}: {CONTRACT}")
        run._generator = generator
        self.runs = [*self.runs, run]
        longest = max((len(other.steps) for other in self.runs), default=0)
        with self._steadily():
            for _ in self._advance([run], longest):
                pass
        return run

    def run(self, steps: int) -> None:
        """Go on for `steps` more steps, all runs together; an interrupt stops between two steps, and `run` goes on.

        Raises:
            ValueError: `steps` is negative.
        """
        if steps < 0:
            raise ValueError(f"steps must not be negative, and {steps} is")
        target = max((len(run.steps) for run in self.runs), default=0) + steps
        with self._steadily():
            bar = _Bar(steps * len(self.runs), self.progress)
            for done in self._advance(self.runs, target):
                bar.show(done)
            bar.close()

    def stop(self) -> None:
        """End `run` after the step under way."""
        self._stopped = True

    def slices(self, steps: int, seconds: float) -> Iterator[None]:
        """As `run`, but gives way after each slice of so many seconds: for a widget, whose kernel has more to do."""
        self._stopped = False
        target = max((len(run.steps) for run in self.runs), default=0) + steps
        end = time.monotonic() + seconds
        for _ in self._advance(self.runs, target):
            if time.monotonic() > end:
                yield
                end = time.monotonic() + seconds

    def _advance(self, runs: Sequence[Run], target: int) -> Iterator[int]:
        """Bring runs to `target` steps, in turn, so that they stay beside each other; yields how many were taken."""
        done = 0
        while not self._stopped:
            behind = [run for run in runs if len(run.steps) < target and not run.ended]
            if not behind:
                return
            run = min(behind, key=lambda one: len(one.steps))
            self._step(run)
            done += 1
            yield done

    def _step(self, run: Run) -> None:
        assert run._generator is not None
        try:
            yielded = next(run._generator)
        except StopIteration:
            run.ended = f"the program ends after {len(run.steps)} steps"
            if not run.steps:
                raise ValueError(f"the program ends before its first yield: {CONTRACT}") from None
            return
        except Exception as error:
            from viz.widgets.explain import explain

            if not run.steps:
                raise
            sentence = explain(type(error).__name__, str(error))
            run.ended = f"step {len(run.steps)} raises {type(error).__name__}: {error} {sentence}".strip()
            return
        loss, parameters = _pair(yielded, self.engine)
        with self.engine.module.no_grad():
            number = _number(loss() if _is_function(loss, self.engine) else loss, self.engine)
        run._last = (loss, parameters)
        values = {name: _flat(self.engine.array(each)) for name, each in parameters.items()}
        gradients = {
            name: None if each.grad is None else _flat(self.engine.array(each.grad))
            for name, each in parameters.items()
        }
        run.steps.append(Step(number, values, gradients))

    @contextmanager
    def _steadily(self) -> Iterator[None]:
        """An interrupt waits for the end of the step, so that the run can go on; a second one does not wait."""
        self._stopped = False
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def interrupted(number: int, frame: Any) -> None:
            if self._stopped:
                raise KeyboardInterrupt
            self._stopped = True

        signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def surface(self, columns: int = COLUMNS, rows: int = ROWS) -> Surface | None:
        """The loss over the program's parameters where they are one or two numbers, around all paths; else None.

        The program must yield its loss as a function: that is called with other numbers in the parameters, which are
        put back afterwards. A loss that raises for some of them has no map.
        """
        if not self.runs or self.runs[0]._last is None:
            return None
        loss, parameters = self.runs[0]._last
        names = _entries(self.runs[0].steps[0].values)
        if not 1 <= len(names) <= 2 or not _is_function(loss, self.engine) or self.engine.device(next(iter(parameters.values()))) != "cpu":  # fmt: skip
            return None
        # A run whose loss grows leaves the picture; it would make the others a dot.
        calm = [run for run in self.runs[1:] if run.steps and run.steps[-1].loss <= 2 * run.steps[0].loss]
        window = _window([_point(step) for run in [self.runs[0], *calm] for step in run.steps])
        arrays = [self.engine.array(each) for each in parameters.values()]
        kept = [array.copy() for array in arrays]
        began = time.perf_counter()

        def at(*point: float) -> float:
            left = list(point)
            for array in arrays:
                flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
                for index in range(array.size):
                    flat[index] = left.pop(0)
            with self.engine.module.no_grad():
                return _number(loss(), self.engine)

        try:
            at(*_point(self.runs[0].steps[0]))
            cost = time.perf_counter() - began
            if len(names) == 1:
                wide = np.linspace(window[0], window[1], 4 * columns + 1)
                return Surface(names, window, [[at(float(x)) for x in wide]])
            shrink = min(1.0, math.sqrt(MAP_SECONDS / (cost * columns * rows)))
            columns, rows = max(8, int(columns * shrink)), max(6, int(rows * shrink))
            left, right, bottom, top = window
            heights = [
                [at(left + (c + 0.5) * (right - left) / columns, top - (r + 0.5) * (top - bottom) / rows) for c in range(columns)]
                for r in range(rows)
            ]  # fmt: skip
            return Surface(names, window, heights)
        except Exception:
            return None
        finally:
            for array, before in zip(arrays, kept, strict=True):
                array[...] = before

    def sentence(self, run: Run, step: int) -> str:
        """One step of a run in words.

        >>> import viz
        >>> def program(T, lr=0.25):
        ...     w = T.tensor(2.0, requires_grad=True)
        ...     while True:
        ...         (w * w).backward()
        ...         yield lambda: w * w, {"w": w}
        ...         with T.no_grad():
        ...             w -= lr * w.grad
        ...         w.grad = None
        >>> t = viz.train(program, steps=2, progress=False)
        >>> t.sentence(t.runs[0], 1)
        'Step 1: loss = 1. w = 1, w.grad = 2.'
        """
        at = run.steps[step]
        told = []
        for name, values in at.values.items():
            gradient = at.gradients[name]
            if len(values) == 1:
                told.append(
                    f"{name} = {short(values[0])}, {name}.grad = {'None' if gradient is None else short(gradient[0])}"
                )
            else:
                told.append(f"{name}: norm {short(norm(values))}, of its grad {'None' if gradient is None else short(norm(gradient))}")  # fmt: skip
        end = f" Here it ends: {run.ended}." if run.ended and step == len(run.steps) - 1 else ""
        return f"Step {step}: loss = {short(at.loss)}. {'; '.join(told)}.{end}"

    def _ipython_display_(self) -> None:
        from viz.widgets.training import TrainingView

        TrainingView(self)._ipython_display_()

    def __repr__(self) -> str:
        return "\n".join(f"{run.label}: {self.sentence(run, len(run.steps) - 1)}" for run in self.runs if run.steps)


def train(
    program: Callable[..., Any],
    steps: int = 40,
    engine: str = CORE,
    beside: Sequence[Mapping[str, Any]] = (),
    progress: bool = True,
) -> Training:
    """Run a training loop and show where it goes: the loss, its surface with the path, every parameter's gradient.

    Args:
        program: a generator function that takes the engine first and yields `(loss, parameters)` once a step, after
            `backward()` and before the parameters move. `loss` is a function without arguments that computes the loss
            (with it the surface can be drawn), or a tensor of one element; `parameters` is a dict of tensors, or a
            module. Its keyword arguments with a default, such as `lr=0.1, zero_grad=True`, become controls.
        steps: how many to take now; `run` takes more.
        engine: `"tinygrad_edu"` or `"torch"`.
        beside: further runs, each with the arguments that are other there: `[{"zero_grad": False}]`.
        progress: whether a bar is shown while it runs.

    Raises:
        TypeError: the program does not yield, or yields something else; the message says what it should.
        ValueError: the loss has several elements, or a parameter does not require grad.

    >>> viz.train(program, beside=[{"zero_grad": False}])  # doctest: +SKIP
    """
    training = Training(program, engine, progress)
    training.add()
    for settings in beside:
        training.add(**settings)
    training.run(steps)
    return training


def norm(numbers: Sequence[float]) -> float:
    """The length of a parameter or a gradient as a vector."""
    return math.sqrt(sum(number * number for number in numbers)) if all(map(math.isfinite, numbers)) else math.nan


def _settings_of(program: Callable[..., Any]) -> dict[str, Any]:
    """The arguments with a number or a switch as default: what can be set from outside."""
    parameters = list(inspect.signature(program).parameters.values())
    return {one.name: one.default for one in parameters[1:] if isinstance(one.default, (bool, int, float))}


def _is_function(loss: Any, engine: Engine) -> bool:
    return callable(loss) and not engine.is_tensor(loss)


def _pair(yielded: Any, engine: Engine) -> tuple[Any, dict[str, Any]]:
    """What the program yielded, checked: the loss, and the parameters by name."""
    if not isinstance(yielded, tuple) or len(yielded) != 2:
        raise TypeError(f"the program yields {type(yielded).__name__}, not (loss, parameters): {CONTRACT}")
    loss, parameters = yielded
    if engine.is_module(parameters):
        parameters = dict(parameters.named_parameters())
    if not isinstance(parameters, Mapping) or not parameters:
        raise TypeError(f"parameters should be a dict of tensors or a module, not {type(parameters).__name__}")
    for name, each in parameters.items():
        if not engine.is_tensor(each):
            raise TypeError(f"parameter {name!r} is {type(each).__name__}, not a tensor of {engine.name}")
        if not each.requires_grad:
            raise ValueError(f"parameter {name!r} does not require grad, so there is no gradient to show")
    if not (engine.is_tensor(loss) or callable(loss)):
        raise TypeError(f"the loss should be a tensor or a function that computes it, not {type(loss).__name__}")
    return loss, dict(parameters)


def _number(loss: Any, engine: Engine) -> float:
    if not engine.is_tensor(loss):
        raise TypeError(f"the loss should be a tensor of {engine.name}, not {type(loss).__name__}")
    array = engine.array(loss)
    if array.size != 1:
        raise ValueError(
            f"the loss should be one number, and this one has shape {list(array.shape)}: sum or average it"
        )
    return float(array.reshape(-1)[0])


def _flat(array: np.ndarray) -> list[float]:
    return [float(number) for number in array.reshape(-1)]


def _entries(values: Numbers) -> list[str]:
    """A name for each number of the parameters."""
    return [
        name if len(numbers) == 1 else f"{name}[{i}]" for name, numbers in values.items() for i in range(len(numbers))
    ]


def _point(step: Step) -> list[float]:
    return [number for numbers in step.values.values() for number in numbers]


def _window(points: list[list[float]]) -> tuple[float, float, float, float]:
    """Around the points; those that went astray (past ten times the spread of the others) do not count."""
    sides: list[float] = []
    for axis in range(2):
        numbers = sorted(point[axis] for point in points if len(point) > axis and math.isfinite(point[axis]))
        if not numbers:
            sides += [-1.0, 1.0]
            continue
        low, high = numbers[0], numbers[-1]
        start = points[0][axis]
        calm = [n for n in numbers if abs(n - numbers[len(numbers) // 2]) <= 4 * (numbers[(3 * len(numbers)) // 4] - numbers[len(numbers) // 4] or 1.0)]  # fmt: skip
        low, high = min([*calm, start]), max([*calm, start])
        room = 0.25 * (high - low) or 1.0
        sides += [low - room, high + room]
    return sides[0], sides[1], sides[2], sides[3]


class _Bar:
    """How far a run is, in a terminal or under a cell; nothing where it takes under half a second, or goes to a file."""

    def __init__(self, total: int, wanted: bool) -> None:
        self.total = total
        notebook = sys.stdout if "ipykernel" in sys.modules else None
        self.stream = sys.stderr if sys.stderr.isatty() else notebook
        self.wanted = wanted and total > 0 and self.stream is not None
        self.began = self.last = time.monotonic()
        self.shown = False

    def show(self, done: int) -> None:
        now = time.monotonic()
        if not self.wanted or now - self.began < 0.5 or now - self.last < 0.1:
            return
        self.last, self.shown = now, True
        full = min(20, 20 * done // self.total)
        self._write(f"\r{'█' * full}{'░' * (20 - full)} {done} of {self.total} steps")

    def close(self) -> None:
        if self.shown:
            self._write("\r" + " " * 60 + "\r")

    def _write(self, text: str) -> None:
        assert self.stream is not None
        self.stream.write(text)
        self.stream.flush()
