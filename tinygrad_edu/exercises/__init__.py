"""Exercises: `check("mul_backward", mul_backward)` says at once what is right, and which mistake was made."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import io
import os
import pkgutil
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .exercise import Exercise
    from .judging.judge import Verdict
    from .judging.report import Report

__all__ = ["all_exercises", "check", "counted", "get"]


_tries: dict[str, int] = {}  # how often each exercise was checked without success


def check(id: str, answer: object) -> Report:
    """Grade `answer` to exercise `id` at once. The report shows itself; from the third try on, it says and shows more.

    It never raises because of the answer, and it stops endless loops. Raises `KeyError` for an unknown `id`.

    >>> check("mul_backward", lambda grad_output, a, b: (grad_output * b, grad_output * a)).passed
    True
    """
    from ..sandbox.time_limit import TimeUp, backstop
    from .judging.judge import judge
    from .judging.report import ENOUGH, Report, ReportWithStage
    from .look import worked
    from .running.probe import prepare, probe
    from .written import as_last_written

    exercise = get(id)
    answer = as_last_written(answer)
    cases = [criterion.inputs(seed=0) for criterion in exercise.criteria]
    with warnings.catch_warnings(), contextlib.ExitStack() as quiet:
        warnings.simplefilter("ignore")
        if "NBGRADER_EXECUTION" in os.environ:  # nbgrader treats output on stderr as a failure
            quiet.enter_context(contextlib.redirect_stderr(io.StringIO()))
        probes = [c.probe for c in exercise.criteria]
        prepare(exercise.available)
        try:
            with backstop(exercise.seconds + 1):  # an answer may block the signal that ends it
                probed = probe(
                    probes, cases, answer, exercise.available, exercise.seconds, parameters=exercise.parameters
                )
        except TimeUp:
            probed = {"trouble": "too long"}
        verdict = judge(exercise, probed, seed=0)  # in the block: it also runs wrong answers
        if verdict.passed or verdict.trouble:
            return Report(verdict)
        _tries[id] = _tries.get(id, 0) + 1
        stage = None
        if _tries[id] >= ENOUGH and "NBGRADER_EXECUTION" not in os.environ:
            missed, failure = next((i, mark.failure) for i, mark in enumerate(verdict.marks) if mark.failure)
            stage = worked(exercise, exercise.criteria[missed], failure, answer)
        return Report(verdict, _tries[id]) if stage is None else ReportWithStage(verdict, _tries[id], stage)


def get(id: str) -> Exercise:
    """The exercise called `id`. Raises `KeyError` with the nearest names if there is none.

    >>> get("mul_backward").lesson
    1
    """
    exercises = all_exercises()
    if id in exercises:
        return exercises[id]
    near = difflib.get_close_matches(id, exercises, n=3)
    raise KeyError(f"no exercise is called {id!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


@functools.cache
def all_exercises() -> dict[str, Exercise]:
    """Every exercise of every lesson, by id, in the order of the course."""
    from . import answers
    from .exercise import Exercise

    modules = sorted(module.name for module in pkgutil.iter_modules(answers.__path__))
    loaded = [importlib.import_module(f"{answers.__name__}.{name}") for name in modules]
    found = [value for module in loaded for value in vars(module).values() if isinstance(value, Exercise)]
    return {exercise.id: exercise for exercise in sorted(found, key=lambda exercise: exercise.lesson)}


def counted(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those of a student's verdicts that count: of exercises to choose from, the one with the most points."""
    own = list(verdicts)
    best: dict[str, Verdict] = {}
    for verdict in own:
        choice = get(verdict.exercise).choice
        if choice and (choice not in best or verdict.points > best[choice].points):
            best[choice] = verdict
    return [v for v in own if best.get(get(v.exercise).choice, v) is v]
