"""What the tests of an axis share: the long ring takes every case, the normal run a sample, always the same."""

import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from .parity import ENGINES, differences, run

PARTS = 8


def on_axis(cases: Iterable[Any], one_in: int, named: Callable[[Any], str] = str) -> Any:
    """Parametrize a test over lists of cases: one in so many of all in the normal run, the whole in the long ring."""
    every = list(cases)
    sample = [case for case in every if zlib.crc32(named(case).encode()) % one_in == 0]
    whole = [pytest.param(every[i::PARTS], marks=pytest.mark.long, id=f"all-{i}") for i in range(PARTS)]
    return pytest.mark.parametrize("cases", [pytest.param(sample, id="sample"), *whole])


def steps(t: Any) -> list[int]:
    """The strides of a tensor, where they lead from one element to another."""
    if not t.numel():
        return []
    return [stride for stride, size in zip(t.stride(), t.shape, strict=True) if size > 1]


def not_alike(
    cases: Sequence[Any],
    program: Callable[..., Any],
    ignored: tuple[str, ...] = (),
    excused: Callable[[Any, list[str]], bool] = lambda case, lines: False,
) -> list[str]:
    """Run `program(T, *case)` on both engines: a line for each case that differs, unless it is ignored or excused. A
    line for each is printed as well where TINYGRAD_EDU_AXES is set, for work on the axis."""
    found = []
    for case in cases:
        theirs, ours = (run(lambda T, case=case: program(T, *case), engine) for engine in ENGINES.values())
        theirs, ours = (seen["result"] if isinstance(seen, dict) else seen for seen in (theirs, ours))
        lines = [line for line in differences(theirs, ours) if not any(part in line for part in ignored)]
        if lines and not excused(case, lines):
            found.append(f"{case}: {lines[0][:400]}")
            if os.environ.get("TINYGRAD_EDU_AXES"):
                print(found[-1], flush=True)
    return found
