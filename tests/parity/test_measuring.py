"""Measuring a program: the profiler and the timer accept what PyTorch's accept, and count what ran.

PyTorch's own profiler is not run here: a second one in a process can end it. What it counts was looked at.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

import tinygrad_edu as T

pytestmark = pytest.mark.outer(start=1)


def test_a_profile_counts_the_calls_of_a_program() -> None:
    x = T.ones(3, requires_grad=True)
    with T.profiler.profile(activities=[T.profiler.ProfilerActivity.CPU], record_shapes=True) as prof:
        with T.profiler.record_function("forward"):
            y = (x.exp() * x).exp()
        y.sum()
    found = {event.key: event.count for event in prof.key_averages()}
    assert {key: found[key] for key in ("forward", "aten::exp", "aten::mul", "aten::sum")} == {
        "forward": 1, "aten::exp": 2, "aten::mul": 1, "aten::sum": 1
    }  # fmt: skip
    table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=2)
    assert "# of Calls" in table and "Self CPU time total" in table
    assert next(event for event in prof.events() if event.name == "aten::exp").input_shapes == [[3]]
    outer = next(event for event in prof.key_averages() if event.key == "forward")
    assert 0 <= outer.self_cpu_time_total < outer.cpu_time_total


def test_a_schedule_chooses_the_steps_that_are_recorded(tmp_path: Path) -> None:
    profiler, told = T.profiler, []

    def ready(prof: Any) -> None:
        told.append(sum(event.name == "aten::exp" for event in prof.events()))
        prof.export_chrome_trace(str(tmp_path / "trace.json"))

    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready) as prof:
        for _ in range(12):
            T.ones(2).exp()
            prof.step()
    assert told == [2, 2]
    assert any(
        event["name"] == "aten::exp" for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    )
    theirs = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [plan(step).name for step in range(14)] == [theirs(step).name for step in range(14)]


@pytest.mark.parametrize("engine", ["torch", "tinygrad_edu"])
def test_a_timer_runs_a_statement_and_compares(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = importlib.import_module(f"{engine}.utils.benchmark")
    timers = [
        benchmark.Timer(
            "f(x)", "f = lambda v: v + v", globals={"x": 2}, label="sums", sub_label="two", description=text
        )
        for text in ("first", "second")
    ]
    found = [timer.timeit(20) for timer in timers]
    assert all(0 < each.median < 1 and each.number_per_run == 20 and each.mean > 0 for each in found)
    assert timers[0].blocked_autorange(min_run_time=0.01).times
    benchmark.Compare(found).print()
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("sums", "two", "first", "second"))
