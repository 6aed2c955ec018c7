"""The code that the toggles of an explorer stand for, as a complete cell to copy, for either engine."""

from __future__ import annotations

import functools
import io
import tokenize
from typing import Any

from viz.engines import CORE, TORCH
from viz.experiments.program import Program

_SEEDED = {"random": "import random; random.seed({})", "numpy": "import numpy; numpy.random.seed({})"}
_PLAIN = (int, float, bool, str, type(None))  # types whose repr makes an equal value


def codes(
    source: str, program: Program, state: dict[str, Any], seeds: dict[str, int] | None = None
) -> dict[str, dict[str, list[str]]]:
    """For each engine, and as `viz` takes it: the lines that go before the program, and the program's own lines.

    Args:
        source: the program after its edits.
        program: the program that was edited.
        state: the toggles; those that concern only PyTorch become lines before the program.
        seeds: the seeds of `random`, `numpy` and the engines, for those that the program draws from.
    """
    seeds = seeds or {}
    options = [
        f"{name} = {value!r}" if isinstance(value, _PLAIN) else f"# {name} is taken from your notebook"
        for name, value in program.namespace.items()
    ]
    others = [line.format(seeds[name]) for name, line in _SEEDED.items() if name in seeds]
    by_engine = {"T": {"before": options, "lines": source.splitlines()}}
    for engine in (CORE, TORCH):
        lines = renamed(source, program.engine_name, engine).splitlines()
        before = []
        if engine == TORCH:
            if state.get("default_dtype"):
                before.append(f"torch.set_default_dtype(torch.{state['default_dtype']})")
            if state.get("device", "cpu") != "cpu":
                before.append(f"torch.set_default_device({state['device']!r})")
        before += others
        if engine in seeds:
            before.append(f"{engine}.manual_seed({seeds[engine]})")
        if before or f"import {engine}" not in lines:  # these lines need it before the program's own import
            before.insert(0, f"import {engine}")
        by_engine[engine] = {"before": [*before, *options, ""] if before or options else [], "lines": lines}
    return by_engine


@functools.lru_cache(maxsize=64)
def renamed(source: str, name: str, other: str) -> str:
    """`source` with a name replaced wherever it is a name: not in a string, a comment or after a dot.

    >>> renamed("T.ones(2)  # T.ones", "T", "torch")
    'torch.ones(2)  # T.ones'
    """
    rows = source.splitlines(keepends=True)
    behind = ""
    places = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.string == name and behind != ".":
            places.append(token.start)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            behind = token.string
    for row, column in reversed(places):
        text = rows[row - 1]
        rows[row - 1] = text[:column] + other + text[column + len(name) :]
    return "".join(rows)
