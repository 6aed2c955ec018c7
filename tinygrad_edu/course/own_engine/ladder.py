"""Climbs the ladder with a student's engine: which rungs stand, and which piece breaks the first that does not.

The cause is found by trying: the course's piece takes the place of the student's, one after the other. The piece with
which the rung stands is the one that is wrong.
"""

from __future__ import annotations

import html
import linecache
import time
import traceback
from dataclasses import dataclass, field
from functools import cache
from textwrap import shorten
from types import ModuleType
from typing import Any

import numpy as np

from ...exercises.judging.report import BAD, GOOD, marked
from ...sandbox.time_limit import Budget, TimeUp, time_limit
from . import FRAME, PIECES, OwnEngine, borrowed
from .rungs import MOON_STEPS, RUNGS, Rung, two_moons

SECONDS = 20  # for one rung on one engine
NEAR = 1e-4
LONGEST = 160  # characters of an error


@dataclass(frozen=True)
class Outcome:
    """What a rung gave on an engine: values and gradients by name, or an error and the line that raised it."""

    numbers: dict[str, np.ndarray | None]
    error: str = ""
    line: int | None = None
    code: str = ""

    def _end(self) -> str:
        place = f" in `{self.code}`" if self.code else ""
        return (
            f"stops{place} with {shorten(self.error, LONGEST, placeholder=' …')}" if self.error else "runs to its end"
        )

    def difference(self, other: Outcome) -> str:
        """In what this outcome differs from PyTorch's; empty if in nothing."""
        if self.error or other.error:
            if (self.error.partition(":")[0], self.line) == (other.error.partition(":")[0], other.line):
                return ""
            return f"your engine {self._end()}; PyTorch {other._end()}"
        for name, theirs in other.numbers.items():
            mine = self.numbers.get(name)
            if theirs is None and (mine is None or not np.any(mine)):
                continue
            if (
                mine is None
                or theirs is None
                or mine.shape != theirs.shape
                or not np.allclose(mine, theirs, NEAR, NEAR)
            ):
                return f"{name} is {_said(mine)}; in PyTorch {_said(theirs)}"
        return ""


@dataclass(frozen=True)
class Step:
    """One rung with a student's engine. `agrees` is None where the ladder has not come so far."""

    rung: Rung
    agrees: bool | None
    difference: str = ""
    blame: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, repr=False)
class Ladder:
    """How far a student's engine climbs. Shows itself in a notebook and in a terminal."""

    engine: OwnEngine
    steps: tuple[Step, ...]
    beside: str
    speeds: dict[str, float] = field(default_factory=dict)  # milliseconds of a training step by engine, at the top

    @property
    def height(self) -> int:
        """The number of rungs that stand, from the ground."""
        return sum(step.agrees is True for step in self.steps)

    @property
    def verdict(self) -> str:
        """How far it goes, in a sentence."""
        pieces = f"{len(self.engine.mine)} of {len(PIECES)} pieces are mine"
        if self.height == len(self.steps):
            told = ", ".join(f"{name} {time:.2g} ms" for name, time in self.speeds.items())
            speed = f" A step of the network on two moons takes {told}." if told else ""
            return f"Your engine agrees with {self.beside} on all {self.height} rungs; {pieces}.{speed}"
        return f"Your engine stands on {self.height} of {len(self.steps)} rungs; {pieces}."

    def __repr__(self) -> str:
        lines = [self.verdict]
        for number, step in enumerate(self.steps, 1):
            sign = {True: "✓", False: "✗", None: "·"}[step.agrees]
            lines.append(f"{sign} {number:2}. {step.rung.name}: {step.rung.asks}")
            lines += [f"      {text}" for text in (step.difference, step.hint) if text]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for number, step in enumerate(self.steps, 1):
            sign, colour, word = {
                True: ("✓", GOOD, "stands"),
                False: ("✗", BAD, "breaks"),
                None: ("·", "inherit", "not reached"),
            }[step.agrees]
            told = "".join(f"<div>{marked(text)}</div>" for text in (step.difference, step.hint) if text)
            rows.append(
                '<tr style="background:none"><td>'
                f'<b style="color:{colour}" role="img" aria-label="{word}">{sign}</b></td>'
                f'<td style="text-align:left;white-space:nowrap">{number}. {html.escape(step.rung.name)}</td>'
                f'<td style="text-align:left">{html.escape(step.rung.asks)}{told}</td></tr>'
            )
        return (
            f'<div style="color:var(--jp-ui-font-color1,inherit)"><b>{html.escape(self.verdict)}</b>'
            f"<table>{''.join(rows)}</table></div>"
        )


def climb(engine: OwnEngine) -> Ladder:
    """Try each rung with an engine and with PyTorch (without it: with ours), up to the first that breaks."""
    other, beside = other_engine()
    steps: list[Step] = []
    for rung in RUNGS:
        if steps and steps[-1].agrees is not True:
            steps.append(Step(rung, None))
            continue
        wanted = _wanted(rung)
        difference = tried(rung, engine).difference(wanted)
        if not difference:
            steps.append(Step(rung, True))
            continue
        blame = to_blame(rung, engine, wanted)
        steps.append(Step(rung, False, difference, blame, _hint(engine, blame)))
    stands = steps[-1].agrees is True
    return Ladder(engine, tuple(steps), beside, _speeds(engine, other, beside) if stands else {})


def _speeds(engine: OwnEngine, other: Any, beside: str) -> dict[str, float]:
    import tinygrad_edu

    engines = {"your engine": engine.module(), "tinygrad_edu": tinygrad_edu, beside.partition(",")[0]: other}
    times: dict[str, float] = {}
    for name, T in engines.items():
        start = time.perf_counter()
        two_moons(T)
        times[name] = (time.perf_counter() - start) / MOON_STEPS * 1000
    return times


def standing(engine: OwnEngine) -> int:
    """The number of rungs that stand, from the ground; nothing is said of why the next one breaks."""
    heights = (n for n, rung in enumerate(RUNGS) if tried(rung, engine).difference(_wanted(rung)))
    return next(heights, len(RUNGS))


@cache
def _wanted(rung: Rung) -> Outcome:
    """What PyTorch gives, or ours where it is not installed."""
    other, beside = other_engine()
    found = outcome(rung, other)
    if found.error and found.line is None:
        raise RuntimeError(f"{beside} cannot run the rung {rung.name!r}: {found.error}")
    return found


def tried(rung: Rung, engine: OwnEngine) -> Outcome:
    """A rung on a student's engine; what its own code raises as it is read is the outcome, too."""
    try:
        module = engine.module()
    except Exception as error:
        return Outcome({}, f"{type(error).__name__}: {error}")
    return outcome(rung, module)


def outcome(rung: Rung, T: ModuleType | Any) -> Outcome:
    """Run a rung on an engine."""
    code = rung.program.__code__
    try:
        with time_limit(Budget(SECONDS)):
            made = rung.program(T)
    except TimeUp:
        return Outcome({}, f"TimeUp: it still ran after {SECONDS} s")
    except Exception as error:
        lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code is code]
        said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        text = linecache.getline(code.co_filename, lines[0]).strip() if lines else ""
        return Outcome({}, said, lines[0] if lines else None, text)
    numbers: dict[str, np.ndarray | None] = {}
    for name, tensor in made.items():
        numbers[name] = _array(tensor)
        if getattr(tensor, "is_leaf", False):
            numbers[f"{name}.grad"] = None if tensor.grad is None else _array(tensor.grad)
    return Outcome(numbers)


def to_blame(rung: Rung, engine: OwnEngine, wanted: Outcome) -> tuple[str, ...]:
    """The piece whose exchange makes a rung stand; if it takes several, the fewest from the front; or none."""
    others = [piece for name, piece in engine.pieces.items() if piece.source.strip() != borrowed(name).source.strip()]
    for piece in others:
        if not tried(rung, engine.with_piece(borrowed(piece.name))).difference(wanted):
            return (piece.name,)
    changed: list[str] = []
    for piece in others:
        engine = engine.with_piece(borrowed(piece.name))
        changed.append(piece.name)
        if not tried(rung, engine).difference(wanted):
            return tuple(changed)
    return ()


def _hint(engine: OwnEngine, blame: tuple[str, ...]) -> str:
    if not blame:
        return "No piece alone is the cause: not even the course's pieces in place of all of yours make it stand."
    named = " and ".join(f"`{name}`" for name in blame)
    if blame == (FRAME,):
        return f"With the course's frame in place of yours it stands: {_changed(engine)} is the cause."
    lessons = ", ".join(f"lesson {borrowed(name).lesson}" for name in blame if name != FRAME)
    said = (
        f"With the course's {named} in place of yours it stands: {'that is' if len(blame) == 1 else 'these are'} "
        f"the cause ({lessons})."
    )
    return " ".join([said, *filter(None, (_of_exercise(engine, name) for name in blame if name != FRAME))])


def _of_exercise(engine: OwnEngine, name: str) -> str:
    """What the check of its exercise says of a piece."""
    from ...exercises import all_exercises
    from ...exercises.exercise import PROGRAM, unit_of
    from ...exercises.judging.judge import judge
    from ...sandbox.outside import Sandbox

    exercise = all_exercises()[name]
    with Sandbox(PROGRAM, set(exercise.engines)) as sandbox:
        verdict = judge(exercise, sandbox.run(unit_of(exercise, engine.pieces[name].source, ["import numpy as np"])))
    failures = [mark.failure for mark in verdict.marks if mark.failure is not None]
    said = next((one.hint for one in failures if one.hint), failures[0].message if failures else "")
    return f"Its check says: {verdict.trouble or said}" if verdict.trouble or said else ""


def _changed(engine: OwnEngine) -> str:
    """The functions of the frame that differ from the course's."""
    import ast

    def functions(source: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for node in ast.parse(source).body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            for one in inner:
                if isinstance(one, ast.FunctionDef):
                    place = f"{node.name}.{one.name}" if isinstance(node, ast.ClassDef) else one.name
                    found[place] = ast.dump(one)
        return found

    try:
        mine, theirs = functions(engine.pieces[FRAME].source), functions(borrowed(FRAME).source)
    except SyntaxError:
        return "the frame"
    names = [name for name in {**theirs, **mine} if mine.get(name) != theirs.get(name)]
    return f"what you changed in {', '.join(f'`{name}`' for name in names)}" if names else "what you changed in it"


def other_engine() -> tuple[Any, str]:
    """PyTorch, or our engine where it is not installed, and its name."""
    try:
        import torch

        return torch, f"PyTorch {'.'.join(torch.__version__.split('.')[:2])}"
    except ModuleNotFoundError:
        import tinygrad_edu

        return tinygrad_edu, "tinygrad_edu, as PyTorch is not installed"


def _array(tensor: Any) -> np.ndarray:
    held = tensor.detach() if hasattr(tensor, "detach") else tensor
    return np.array(held.data if isinstance(held.data, np.ndarray) else held.numpy(), dtype=float)


def _said(numbers: np.ndarray | None) -> str:
    if numbers is None:
        return "None"
    text = np.array2string(numbers, precision=4, threshold=8, separator=", ").replace("\n", "")
    return text if numbers.ndim == 0 else f"{text}, of shape {numbers.shape}"
