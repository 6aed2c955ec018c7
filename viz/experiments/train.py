"""Training runs of one program: its loss, parameters and gradients at each step, side by side for several settings."""

from __future__ import annotations

import inspect
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, GeneratorType
from typing import Any, ClassVar

import numpy as np

from viz import engines
from viz.engines import CORE, Engine
from viz.experiments.surface import Point, Surface, surface
from viz.picture.chart import short
from viz.progress import Bar
from viz.recording import own
from viz.telling.explain import explain

CONTRACT = (
    "write `def program(T, lr=0.1): … while True: …; loss().backward(); yield loss, {'w': w}; …`: a yield once a step, "
    "after backward() and before the parameters move"
)
KEPT = 100  # numbers per parameter that are stored for each step; for a larger one only its norm is
Numbers = dict[str, list[float]]


@dataclass
class Step:
    """The state of a run: the loss, and the numbers of each parameter and its gradient (None if there is none).

    `values` and `gradients` leave out parameters with more than 100 numbers; `norms` and `gradient_norms` have all.
    """

    loss: float
    values: Numbers
    gradients: dict[str, list[float] | None]
    norms: dict[str, float]
    gradient_norms: dict[str, float | None]


@dataclass
class Run:
    """One training run, which can continue from its current step."""

    label: str
    settings: dict[str, Any]
    steps: list[Step] = field(default_factory=list)
    ended: str = ""  # why it cannot continue
    _generator: GeneratorType[Any, Any, Any] | None = field(default=None, repr=False)
    _last: Any = field(default=None, repr=False)


class Training:
    """The result of `viz.train`: `runs`, the program's own first. `run(steps)` continues, `add(lr=…)` adds a run."""

    _ipython_display_: ClassVar[Callable[..., None]]  # bound by `viz/show.py`

    def __init__(self, program: Callable[..., Any], engine: str, progress: bool) -> None:
        if not callable(program):
            raise TypeError(f"train needs a function that takes the engine, not {type(program).__name__}: {CONTRACT}")
        self.program = program
        self.engine: Engine = engines.load(engine)
        self.progress = progress
        self.runs: list[Run] = []
        self.settings = _settings_of(program)
        self._stopped = False
        self._stepping = False

    def add(self, **settings: Any) -> Run:
        """Add a run with other settings, and run it up to the step of the others.

        Raises:
            TypeError: the program has no such argument; the message lists its arguments.
        """
        run = self.begin(**settings)
        self.run(0)
        return run

    def begin(self, **settings: Any) -> Run:
        """As `add`, but the new run takes its first step only when `run` or `slices` continues."""
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
        return run

    def run(self, steps: int) -> None:
        """Take `steps` more steps in all runs. An interrupt stops between two steps; call `run` again to continue.

        Raises:
            ValueError: `steps` is negative.
        """
        if steps < 0:
            raise ValueError(f"steps must not be negative, but it is {steps}")
        with self._steadily():
            bar: Bar | None = None
            for done, total in self._advance(steps):
                bar = bar or Bar(total, "steps", self.progress)
                bar.show(done)
            if bar is not None:
                bar.close()

    def stop(self) -> None:
        """End `run` after the current step."""
        self._stopped = True

    def slices(self, steps: int, seconds: Callable[[], float]) -> Iterator[tuple[int, int]]:
        """As `run`, but yields after each slice of so many seconds, with the number of steps taken and their total.

        For widgets, whose kernel has other work too. An interrupt stops this run as well.
        """
        with self._steadily() as listen:
            end = time.monotonic() + seconds()
            for done in self._advance(steps):
                if time.monotonic() > end:
                    yield done
                    listen()  # a kernel sets its own handlers around each message
                    end = time.monotonic() + seconds()

    def _advance(self, steps: int) -> Iterator[tuple[int, int]]:
        """Bring all runs, in turn, to `steps` beyond the longest one; yields how many are taken, and the total."""
        target = max((len(run.steps) for run in self.runs), default=0) + steps
        total = sum(target - len(run.steps) for run in self.runs if not run.ended)
        done = 0
        while not self._stopped:
            behind = [run for run in self.runs if len(run.steps) < target and not run.ended]
            if not behind:
                return
            run = min(behind, key=lambda run: len(run.steps))
            recorded = self.engine.module.is_grad_enabled()
            try:
                self._stepping = True
                self._step(run)
            except StopIteration:
                run.ended = f"the program ends after {len(run.steps)} steps"
            except KeyboardInterrupt:
                self.engine.module.set_grad_enabled(recorded)  # it may have fallen into our no_grad, or the program's
                run.ended = f"it was interrupted during step {len(run.steps)}"
                raise
            except Exception as error:
                if not run.steps:  # a run that cannot start does not count
                    self.runs = [known for known in self.runs if known is not run]
                    raise
                sentence = explain(type(error).__name__, str(error))
                run.ended = f"step {len(run.steps)} raises {type(error).__name__}: {error} {sentence}".strip()
            finally:
                self._stepping = False
            done += 1
            yield done, total

    def _step(self, run: Run) -> None:
        assert run._generator is not None
        try:
            yielded = next(run._generator)
        except StopIteration:
            if not run.steps:
                raise ValueError(f"the program ends before its first yield: {CONTRACT}") from None
            raise
        waiting = run._generator.gi_frame
        assert waiting is not None  # it has yielded
        loss, parameters = _pair(yielded, self.engine, waiting)
        with self.engine.module.no_grad():
            number = _number(loss() if _is_function(loss, self.engine) else loss, self.engine)
        run._last = (loss, parameters)
        step = Step(number, {}, {}, {}, {})
        for name, parameter in parameters.items():
            array = self.engine.array(parameter)
            gradient = None if parameter.grad is None else self.engine.array(parameter.grad)
            step.norms[name] = _norm(array)
            step.gradient_norms[name] = None if gradient is None else _norm(gradient)
            if array.size <= KEPT:
                step.values[name] = _flat(array)
                step.gradients[name] = None if gradient is None else _flat(gradient)
        run.steps.append(step)

    @contextmanager
    def _steadily(self) -> Iterator[Callable[[], Any]]:
        """Delay an interrupt until the end of the step, so that the run can continue; a second one is not delayed.

        Yields a function that installs the handlers again, if others have replaced them meanwhile.
        """
        self._stopped = False
        if threading.current_thread() is not threading.main_thread():
            yield lambda: None
            return
        before = signal.getsignal(signal.SIGINT)
        running = True

        def interrupted(number: int, frame: Any) -> None:
            if not running:  # someone replaced this handler and restored it too late
                signal.signal(signal.SIGINT, before)
                signal.raise_signal(signal.SIGINT)
            elif self._stopped and self._stepping:  # between two steps there is nothing to interrupt
                raise KeyboardInterrupt
            self._stopped = True

        def listen() -> None:
            signal.signal(signal.SIGINT, interrupted)

        listen()
        try:
            yield listen
        finally:
            running = False
            if signal.getsignal(signal.SIGINT) is interrupted:
                signal.signal(signal.SIGINT, before)

    def surface(self) -> Surface | None:
        """The loss over the program's parameters, if they are one or two numbers, around all paths; else None.

        The program must yield its loss as a function. It is called with other values in the parameters, which are then
        restored. A loss that raises for some of them has no map.
        """
        if not self.runs or self.runs[0]._last is None:
            return None
        first = self.runs[0]
        loss, parameters = first._last
        names = _entries(first.steps[0])
        on_cpu = all(self.engine.device(each) == "cpu" for each in parameters.values())
        if not 1 <= len(names) <= 2 or not _is_function(loss, self.engine) or not on_cpu:
            return None
        # A run whose loss grows leaves the picture; scaling to it would shrink the others to a dot.
        calm = [run for run in self.runs[1:] if run.steps and run.steps[-1].loss <= 2 * run.steps[0].loss]
        paths = [[point(step) for step in run.steps] for run in (first, *calm)]

        def height() -> float:
            with self.engine.module.no_grad():
                return _number(loss(), self.engine)

        return surface(height, [self.engine.array(each) for each in parameters.values()], names, paths)

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
        for name, size in at.norms.items():
            values, gradient, steepness = at.values.get(name, []), at.gradients.get(name), at.gradient_norms[name]
            if len(values) == 1:
                told.append(f"{name} = {short(values[0])}, {name}.grad = {short(gradient[0]) if gradient else 'None'}")
            else:
                slope = "None" if steepness is None else short(steepness)
                told.append(f"{name}: norm {short(size)}, of its grad {slope}")
        astray = "" if math.isfinite(at.loss) else " The steps were too large: training cannot go on from this number."
        end = f" Here it ends: {run.ended}." if run.ended and step == len(run.steps) - 1 else ""
        return f"Step {step}: loss = {short(at.loss)}. {'; '.join(told)}.{astray}{end}"

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
        steps: how many steps to take now; `run` takes more.
        engine: `"tinygrad_edu"` or `"torch"`.
        beside: further runs, each with the arguments that differ: `[{"zero_grad": False}]`.
        progress: whether a bar is shown while it runs.

    Raises:
        TypeError: the program does not yield, or yields something else; the message says what it should.
        ValueError: the loss has several elements, or a parameter does not require grad.

    >>> viz.train(program, beside=[{"zero_grad": False}])  # doctest: +SKIP
    """
    if engines.of(program) is not None or not own.wanted(program, {}, "viz.train"):
        raise TypeError(
            f"viz.train takes a function that takes the engine and yields once a step, as in `def program(T, lr=0.1): "
            f"…; yield loss, model`; got {getattr(program, '__name__', type(program).__name__)}. A step that is "
            "already written is played by viz.play(step)"
        )
    training = Training(program, engine, progress)
    training.add()
    for settings in beside:
        training.add(**settings)
    training.run(steps)
    return training


def point(step: Step) -> Point:
    """The numbers of all parameters in a row: the position of a step on the surface."""
    return [number for numbers in step.values.values() for number in numbers]


def _settings_of(program: Callable[..., Any]) -> dict[str, Any]:
    """The arguments whose default is a number or a boolean: they can be set from outside."""
    parameters = list(inspect.signature(program).parameters.values())
    return {p.name: p.default for p in parameters[1:] if isinstance(p.default, (bool, int, float))}


def _is_function(loss: Any, engine: Engine) -> bool:
    return callable(loss) and not engine.is_tensor(loss)


def _pair(yielded: Any, engine: Engine, frame: FrameType) -> tuple[Any, dict[str, Any]]:
    """Check what the program, which waits in `frame`, yielded: the loss, and the parameters by the program's names."""
    if not isinstance(yielded, tuple) or len(yielded) != 2:
        raise TypeError(f"the program yields {type(yielded).__name__}, not (loss, parameters): {CONTRACT}")
    loss, parameters = yielded
    if engine.is_module(parameters):
        prefix = own.name_of(parameters, frame.f_locals, frame.f_globals) or type(parameters).__name__
        parameters = {f"{prefix}.{path}": each for path, each in parameters.named_parameters()}
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
        raise ValueError(f"the loss should be one number, but it has shape {list(array.shape)}: sum or average it")
    return float(array.reshape(-1)[0])


def _flat(array: np.ndarray) -> list[float]:
    return [float(number) for number in array.reshape(-1)]


def _norm(array: np.ndarray) -> float:
    """The norm of a parameter or a gradient; NaN if it is not finite."""
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(array.astype(np.float64)))
    return length if math.isfinite(length) else math.nan


def _entries(step: Step) -> list[str]:
    """A name for each number of the parameters; none if some are too large to be stored."""
    if len(step.values) < len(step.norms):
        return []
    return [
        name if len(numbers) == 1 else f"{name}[{i}]"
        for name, numbers in step.values.items()
        for i in range(len(numbers))
    ]
