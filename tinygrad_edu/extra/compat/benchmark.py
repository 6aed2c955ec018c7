"""Timing a statement (PyTorch: `torch.utils.benchmark`), with Python's own `timeit`."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Compare", "Measurement", "Timer"]

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (0.0, "ns"))


@dataclass
class Measurement:
    """The times of repeated runs of a statement, in seconds. Each of `raw_times` covers `number_per_run` runs."""

    number_per_run: int
    raw_times: list[float]
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    stmt: str = ""
    setup: str = ""
    num_threads: int = 1
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> list[float]:
        """The seconds per run, for each measurement."""
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the seconds per run."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median of the seconds per run."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range of the seconds per run."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    @property
    def title(self) -> str:
        """A label of the measurement."""
        return f"{self.label or self.stmt}{f': {self.sub_label}' if self.sub_label else ''}"

    def __repr__(self) -> str:
        unit, name = _unit(self.median)
        runs = f"{len(self.raw_times)} measurement{'s' * (len(self.raw_times) > 1)}, {self.number_per_run} runs"
        middle = f"{'Median: ' if len(self.raw_times) > 1 else ''}{self.median / unit:.2f} {name}"
        each = " per measurement" if len(self.raw_times) > 1 else ""
        return f"{self.title}\n  {middle}\n  {runs}{each}, {self.num_threads} thread{'s' * (self.num_threads > 1)}"


class Timer:
    """Times `stmt`, Python source that may use the names in `globals` and those that `setup` defines.

    Example:
        >>> import tinygrad_edu as T
        >>> timer = T.utils.benchmark.Timer("x.exp()", globals={"x": T.ones(3)})
        >>> timer.timeit(10).median < 1
        True
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "py",
    ) -> None:
        if global_setup or str(language).lower() not in ("py", "python", "language.python"):
            raise NotImplementedError("Timer: statements in C++ are not built here. Pass Python source.")
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))
        self._told: dict[str, Any] = {
            "label": label, "sub_label": sub_label, "description": description, "env": env, "stmt": stmt, "setup": setup,
            "num_threads": num_threads,
        }  # fmt: skip

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement `number` times, after a short warm-up."""
        self._timer.timeit(max(number // 100, 2))
        return self._measured(number, [self._timer.timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> Measurement:
        """Refused, as in PyTorch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Measure for `min_run_time` seconds in total, in blocks that are long enough for the clock."""
        number = 1
        while (block := self._timer.timeit(number)) < min_run_time / 1000:
            number *= 10
        raw = [block]
        while sum(raw) < min_run_time:
            raw.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, raw[-1])
        return self._measured(number, raw)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Measure until the quartiles lie within `threshold` of the median, or `max_run_time` seconds have passed."""
        found = self.blocked_autorange(callback, min_run_time)
        while found.iqr > threshold * found.median and sum(found.raw_times) < max_run_time:
            found.raw_times.append(self._timer.timeit(found.number_per_run))
        return found

    def collect_callgrind(self, *args: Any, **settings: Any) -> Any:
        """Refused: it would count instructions, which is not built."""
        raise NotImplementedError(
            "collect_callgrind: instructions are not counted here. Use timeit or blocked_autorange."
        )

    def _measured(self, number: int, raw: list[float]) -> Measurement:
        return Measurement(number, raw, **self._told)


class Compare:
    """A table of measurements: one row per `sub_label`, one column per `description`."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Has no effect: three digits are always shown."""

    def colorize(self, rowwise: bool = False) -> None:
        """Has no effect: the table is plain text."""

    highlight_warnings = trim_significant_figures

    def print(self) -> None:
        """Print the table."""
        print(self)

    def __str__(self) -> str:
        tables = []
        for label in dict.fromkeys(m.label for m in self._results):
            mine = [m for m in self._results if m.label == label]
            unit, name = _unit(min(m.median for m in mine))
            columns = list(dict.fromkeys(m.description or m.stmt for m in mine))
            cells = [["", *columns]]
            for threads, row in dict.fromkeys((m.num_threads, m.sub_label or m.stmt) for m in mine):
                at = {
                    m.description or m.stmt: m for m in mine if (m.num_threads, m.sub_label or m.stmt) == (threads, row)
                }
                figures = [f"{at[c].median / unit:.3g}" if c in at else "" for c in columns]
                cells.append([f"{threads} thread{'s' * (threads > 1)}: {row}", *figures])
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines = ["  |  ".join(f"{cell:>{w}}" for cell, w in zip(line, widths, strict=True)) for line in cells]
            tables.append("\n".join([str(label or ""), *lines, f"Times are in {name}."]))
        return "\n\n".join(tables)


def _unit(seconds: float) -> tuple[float, str]:
    size, name = next(u for u in _UNITS if seconds >= u[0])
    return size or 1e-9, name
