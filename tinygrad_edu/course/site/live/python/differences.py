"""Everything that differs when Python runs in a page: layouts, integers, the clock of a check, random numbers, PyTorch.

`put_in_place` is called once, before the first cell. No other file of the project asks where it runs.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import later
import tape

_TOOL = 4  # a tool number of `sys.monitoring` that is not reserved for a kind of tool


def put_in_place() -> None:
    """Make the packages of this project work here."""
    _graphviz()
    integers()
    later.when_imported["tinygrad_edu.sandbox.time_limit"] = _clock
    later.when_imported["viz.diagnosis.trial"] = _trials
    _random_numbers()
    _engines()


def _graphviz() -> None:
    """Lay out every graph in this process: a page can start no other."""
    from viz.picture import layout

    layout.IN_PROCESS = sys.maxsize


def integers() -> None:
    """Let the int32 that a program asks for be another type than NumPy's default integer: see `dtypes.of_outside`."""
    import numpy as np

    before = types.ModuleType("numpy")
    vars(before).update(vars(np))
    np.int32 = np.sctypeDict["int32"] = np.intc  # type: ignore[misc]
    # What is drawn without a dtype is of the default type.
    for name in ("numpy.random.mtrand", "numpy.random._bounded_integers"):
        later.when_imported[name] = lambda module: module.__dict__.update(np=before)


def _clock(limits: Any) -> None:
    """Let a check end an endless loop at its next jump: a page has neither signals nor threads."""
    used = Used()
    limits._clock_of_this_thread = lambda: used.seconds
    limits.time_limit = _time_limit(limits.TimeUp, used)
    limits.backstop = contextlib.nullcontext  # no signal ends an answer here, so none can be blocked


class Used:
    """The processor time of an answer, which a page cannot ask for: the time between its steps.

    Between two steps that are further apart than `GAP`, the machine did something else: on a busy one, a correct answer
    was taken for an endless loop.
    """

    GAP = 0.01  # seconds

    def __init__(self) -> None:
        self._used, self._last = 0.0, time.monotonic()

    def tick(self) -> None:
        """A step was made."""
        now = time.monotonic()
        self._used += min(now - self._last, self.GAP)
        self._last = now

    def seconds(self) -> float:
        """Up to the last step."""
        return self._used


def _time_limit(time_up: type[BaseException], used: Used) -> Callable[[Any], contextlib.AbstractContextManager[None]]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # since Python 3.12; the browser's is newer
    events = monitoring.events.JUMP | monitoring.events.PY_START | monitoring.events.BRANCH_LEFT

    @contextlib.contextmanager
    def time_limit(budget: Any) -> Iterator[None]:
        if budget.left <= 0:
            raise time_up
        if budget.left == math.inf or monitoring.get_tool(_TOOL) is not None:
            yield
            return

        def look(code: Any, *where: int) -> None:
            # The way out of the check must not be interrupted: this file, and the context managers that lead to it.
            used.tick()
            own = code.co_filename.endswith(("differences.py", "probe.py", "time_limit.py", "contextlib.py"))
            if not own and budget.left <= 0:
                raise time_up

        core = sys.modules["tinygrad_edu"]
        was_on = core.is_grad_enabled()
        monitoring.use_tool_id(_TOOL, "time limit")
        for event in (monitoring.events.JUMP, monitoring.events.PY_START, monitoring.events.BRANCH_LEFT):
            monitoring.register_callback(_TOOL, event, look)
        monitoring.set_events(_TOOL, events)
        try:
            yield
        finally:
            monitoring.set_events(_TOOL, 0)
            monitoring.free_tool_id(_TOOL)
            core.set_grad_enabled(was_on)  # the end may have come as a `no_grad` was about to put it back

    return time_limit


def _trials(trial: Any) -> None:
    """Try a change of a program where no process can be forked: its source runs in a fresh namespace each time. A cell
    changes what was there before it, so it is not run twice."""

    class Here(trial.Place):  # type: ignore[misc]
        def __init__(self, engine: Any, again: Callable[[Any], Any], early: bool) -> None:
            super().__init__(engine, again, early=False)
            if not early:
                self._refused = ""

        def _forked(self, question: Any) -> Any:
            try:
                return self._again(question)
            except Exception as error:
                return trial.Trial(None, f"{type(error).__name__}: {error}")

    trial.Place = Here


def _random_numbers() -> None:
    """Load NumPy's random numbers when a program asks for them, and seed them as the run has seeded all others."""
    from viz import engines

    of_numpy, begun = engines._of_numpy, 0

    def loaded() -> Any:
        return sys.modules.get("numpy.random")

    def begin(seed: int) -> None:
        nonlocal begun
        begun = seed
        if loaded() is not None:
            loaded().seed(seed)

    def seed_what_was_loaded(random: Any) -> None:
        random.seed(begun)
        engines._first_drawn["numpy", begun] = random.random_sample()
        random.seed(begun)

    def waiting() -> Any:
        if loaded() is not None:
            return of_numpy()
        draw = lambda: loaded() and loaded().random_sample()  # noqa: E731
        return engines._Random(lambda: None, lambda state: loaded() and loaded().seed(), begin, draw)

    later.when_imported["numpy.random"] = seed_what_was_loaded
    engines._of_numpy = waiting


def _engines() -> None:
    """Let the tape stand in for PyTorch: it holds what PyTorch did when the site was built."""
    from viz import engines
    from viz.recording import record as recording

    load = engines.load

    def made(cls: type, *given: Any, **options: Any) -> Any:
        torch = next((one for one in given if isinstance(one, tape.PyTorch)), None)
        if torch is None:
            return object.__new__(cls)
        if cls is not recording.Recorder:
            torch.same_randomness()  # raises: a cell below a magic is on no tape
        _, source, *others = given
        return tape.Player(source, *others)

    recording.Recorder.__new__ = made  # type: ignore[method-assign,assignment]
    engines.load = lambda name: tape.PyTorch() if name == engines.TORCH else load(name)
