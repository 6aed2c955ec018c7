"""How long a program takes on each engine. Nothing is recorded while the clock runs."""

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
from viz.recording import own
from viz.recording.record import namespace_for

RUNS = 7  # after a warm-up run
LONGEST = 2.0  # seconds for all runs together
MEANING = (
    "Both ran {runs} times; this is the median. A teaching program is so small that this time goes into starting each "
    "op, not into computing it. A GPU is also started op by op from Python, and waits most of the time. It pays off "
    "when one op has some hundred thousand numbers."
)


@dataclass
class Timing:
    """The median seconds on each engine, and a note on what they do and do not mean."""

    ours: float
    theirs: float
    device: str
    runs: int

    @property
    def meaning(self) -> str:
        """The meaning of the two numbers, in a sentence or two."""
        return MEANING.format(runs=self.runs)

    def __str__(self) -> str:
        times = f"{CORE} on the CPU: {self.ours * 1000:.3g} ms, PyTorch on {self.device}: {self.theirs * 1000:.3g} ms"
        return f"{times}. {self.meaning}"


def timed(program: str | Callable[..., Any], engine: str, device: str, inputs: dict[str, Any]) -> tuple[float, int]:
    """The median seconds of a run, and the number of runs counted. The program's output is dropped."""
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
                own.starter(program, chosen, inputs, "viz.compare")()  # type: ignore[arg-type]
            else:
                exec(code, namespace_for(chosen, dict(inputs)))
            finish()  # wait for the GPU, which computes asynchronously
            times.append(time.perf_counter() - start)
    return statistics.median(times[1:]), len(times) - 1


def time_both(program: str | Callable[..., Any], device: str, inputs: dict[str, dict[str, Any]]) -> Timing:
    """Time our engine on the CPU, and PyTorch on `device`; `inputs` has the inputs for each engine."""
    ours, _ = timed(program, CORE, "cpu", inputs[CORE])
    theirs, runs = timed(program, TORCH, device, inputs[TORCH])
    return Timing(ours, theirs, device.upper(), runs)
