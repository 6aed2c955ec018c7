"""How long a program takes on each engine, run as it is: nothing is recorded while the clock runs."""

from __future__ import annotations

import contextlib
import io
import statistics
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz import engines
from viz.engines import CORE, TORCH
from viz.recording.record import namespace_for

RUNS = 7  # after one that is not counted
LONGEST = 2.0  # seconds for all of them
MEANING = (
    "Both ran {runs} times; this is the median. A teaching program is so small that this time goes into starting each "
    "op, not into computing it. A GPU is also started op by op from Python, and waits most of the time. It pays off "
    "when one op has some hundred thousand numbers."
)


@dataclass
class Timing:
    """Median seconds of each engine, and what they do and do not mean."""

    ours: float
    theirs: float
    device: str
    runs: int

    @property
    def meaning(self) -> str:
        """What the two numbers say, in a sentence or two."""
        return MEANING.format(runs=self.runs)

    def __str__(self) -> str:
        times = f"{CORE} on the CPU: {self.ours * 1000:.3g} ms, PyTorch on {self.device}: {self.theirs * 1000:.3g} ms"
        return f"{times}. {self.meaning}"


def timed(program: str | Callable[..., Any], engine: str, device: str, inputs: dict[str, Any]) -> tuple[float, int]:
    """Median seconds of a run, and how many were counted. What the program prints is dropped."""
    chosen = engines.load(engine)
    module = chosen.module
    code = compile(textwrap.dedent(program), "<program>", "exec") if isinstance(program, str) else None
    finish = module.cuda.synchronize if device.startswith("cuda") else lambda: None
    times: list[float] = []
    end = time.monotonic() + LONGEST
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        if device != "cpu":
            stack.enter_context(module.device(device))
        while len(times) <= RUNS and (len(times) < 2 or time.monotonic() < end):
            start = time.perf_counter()
            if code is None:
                program(module, **inputs)  # type: ignore[operator]
            else:
                exec(code, namespace_for(chosen, dict(inputs)))
            finish()  # a GPU is still computing when Python goes on
            times.append(time.perf_counter() - start)
    return statistics.median(times[1:]), len(times) - 1


def time_both(program: str | Callable[..., Any], device: str, inputs: dict[str, dict[str, Any]]) -> Timing:
    """Time ours on the CPU, and PyTorch on `device`; `inputs` has those of each engine."""
    ours, _ = timed(program, CORE, "cpu", inputs[CORE])
    theirs, runs = timed(program, TORCH, device, inputs[TORCH])
    return Timing(ours, theirs, device.upper(), runs)
