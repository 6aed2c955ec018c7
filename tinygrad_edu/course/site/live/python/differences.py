"""All that differs where Python runs in a page: how long a layout may take, the clock of a check, random numbers, PyTorch.

`put_in_place` is called once, before any cell. No other file of the project asks where it runs.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import later
import tape

_TOOL = 4  # of the numbers that `sys.monitoring` has for tools, one that no tool has by name


def put_in_place() -> None:
    """Make the packages of this project work here."""
    _graphviz()
    later.when_imported["tinygrad_edu.exercises.running.probe"] = _clock
    _random_numbers()
    _engines()


def _graphviz() -> None:
    """No other process can be started: each graph is laid out in this one."""
    from viz.picture import layout

    layout.IN_PROCESS = sys.maxsize


def _clock(probe: Any) -> None:
    """There are no signals and no threads: a check ends an endless loop at its next jump."""
    probe._clock_of_this_thread = lambda: time.monotonic  # the worker does nothing else meanwhile
    probe.time_limit = _time_limit(probe.TimeUp)


def _time_limit(time_up: type[BaseException]) -> Callable[[Any], contextlib.AbstractContextManager[None]]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # as of Python 3.12, and a browser's is later
    events = monitoring.events.JUMP | monitoring.events.PY_START | monitoring.events.BRANCH_LEFT

    @contextlib.contextmanager
    def time_limit(budget: Any) -> Iterator[None]:
        if budget.left <= 0:
            raise time_up
        if budget.left == math.inf or monitoring.get_tool(_TOOL) is not None:
            yield
            return

        def look(code: Any, *where: int) -> None:
            # Its own way out must not be ended: neither this file, nor the context managers on the way to it.
            own = code.co_filename.endswith(("differences.py", "probe.py", "contextlib.py"))
            if not own and budget.left <= 0:
                raise time_up

        monitoring.use_tool_id(_TOOL, "time limit")
        for event in (monitoring.events.JUMP, monitoring.events.PY_START, monitoring.events.BRANCH_LEFT):
            monitoring.register_callback(_TOOL, event, look)
        monitoring.set_events(_TOOL, events)
        try:
            yield
        finally:
            monitoring.set_events(_TOOL, 0)
            monitoring.free_tool_id(_TOOL)

    return time_limit


def _random_numbers() -> None:
    """NumPy's are loaded when a program asks for them, and then begin where its run has begun all others."""
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
    """PyTorch is what it did when the site was built."""
    from viz import engines
    from viz.recording import record as recording

    load = engines.load

    def made(cls: type, *given: Any, **options: Any) -> Any:
        torch = next((one for one in given if isinstance(one, tape.PyTorch)), None)
        if torch is None:
            return object.__new__(cls)
        if cls is not recording.Recorder:
            torch.same_randomness()  # a cell below a magic is on no tape: this says so
        _, source, *others = given
        return tape.Player(source, *others)

    recording.Recorder.__new__ = made  # type: ignore[method-assign,assignment]
    engines.load = lambda name: tape.PyTorch() if name == engines.TORCH else load(name)
