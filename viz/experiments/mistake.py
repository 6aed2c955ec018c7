"""A common mistake, run on both engines: what they report, where it goes wrong, and what each fix changes."""

from __future__ import annotations

import difflib
import html
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from viz.engines import CORE, NAMES, TORCH
from viz.recording.graph import Graph
from viz.recording.record import record
from viz.recording.recording import Recording
from viz.telling.account import array, gradient
from viz.telling.common_mistakes import FIXES, MISTAKES, TELLS, WRONG, Fix, Mistake, recognise

SIGNS = {FIXES: "✓", TELLS: "!", WRONG: "✗"}
TITLES = {CORE: CORE, TORCH: "PyTorch"}
_LONGEST = 600  # the most characters of a message that are shown


@dataclass
class Outcome:
    """One run of a program on an engine: its recording and its warnings, or why it could not run."""

    recording: Recording | None
    warned: list[str] = field(default_factory=list)
    missing: str = ""

    @property
    def said(self) -> str:
        """The engine's own words: the error, and the warnings before it; empty if there are none."""
        if self.recording is None:
            return self.missing
        told = list(self.warned)
        error = self.recording.error
        if error is not None:
            told.append(f"{error['type']}: {error['message']}")
        return "\n".join(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in told)

    @property
    def place(self) -> str:
        """Where it was raised, such as `line 5, MulBackward0`; empty if nothing was raised."""
        if self.recording is None or self.recording.error is None:
            return ""
        error = self.recording.error
        op = self.recording.graph.ops.get(error["node"] or "")
        return f"line {error['line']}" + (f", {op.name}" if op is not None else "")


@dataclass(frozen=True)
class Change:
    """One change that a fix makes: its subject, before and after."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} → {self.after}"


class MistakeLesson:
    """A mistake that can be run, told and shown: the result of `viz.mistake`.

    Attributes:
        mistake: the program, what is wrong with it, and the fixes, as data.
    """

    _ipython_display_: ClassVar[Callable[..., None]]  # bound by `viz/show.py`

    def __init__(self, mistake: Mistake) -> None:
        self.mistake = mistake
        self._ran: dict[tuple[int, str], Outcome] = {}

    @property
    def name(self) -> str:
        """The name by which `viz.mistake` finds it."""
        return self.mistake.name

    def fix(self, position: int) -> Fix | None:
        """The fix at `position`; None for -1, which means the mistake itself."""
        return None if position < 0 else self.mistake.fixes[position]

    def program(self, position: int = -1) -> str:
        """The program with the fix at `position`; by default the mistake itself."""
        return self.mistake.fixed(self.fix(position))

    def outcome(self, position: int = -1, engine: str = CORE) -> Outcome:
        """The result of running `program(position)` on `engine`. Each program runs only once."""
        key = (position, engine)
        if key not in self._ran:
            try:
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    recording = record(self.program(position), engine)
            except ModuleNotFoundError as error:
                self._ran[key] = Outcome(None, missing=str(error))
            else:
                told = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in warned)
                self._ran[key] = Outcome(recording, list(told))
        return self._ran[key]

    def changes(self, position: int, engine: str = CORE) -> list[Change]:
        """What the fix at `position` changes: the error, the output, and each tensor's value, node and `.grad`."""
        before, after = self.outcome(-1, engine).recording, self.outcome(position, engine).recording
        if before is None or after is None:
            return []
        pairs = [("raises", _error(before), _error(after)), ("prints", before.stdout.strip(), after.stdout.strip())]
        for name in dict.fromkeys([*before.tensors, *after.tensors]):
            for (what, old), (_, new) in zip(_facts(name, before), _facts(name, after), strict=True):
                pairs.append((what, old, new))
        return [Change(what, old or "nothing", new or "nothing") for what, old, new in pairs if old != new]

    def marked(self, recording: Recording) -> str | None:
        """The op or leaf where the mistake goes wrong: as the engine reports it, else as we marked it."""
        if recording.error is not None and recording.error["node"] in recording.graph.ops:
            return str(recording.error["node"])
        return _named(recording.graph, self.mistake.mark)

    def play(self, position: int = -1, engine: str = CORE) -> Any:
        """A player for `program(position)`."""
        recording = self.outcome(position, engine).recording
        if recording is None:
            raise ModuleNotFoundError(self.outcome(position, engine).missing)
        return recording.play()

    def __repr__(self) -> str:
        told = self.mistake
        lines = [f"{told.number}. {told.title}", ""]
        for number, line in enumerate(told.program.splitlines(), 1):
            lines.append(f"{'→' if number == told.line else ' '} {number:2} {line}")
        lines += ["", *self._said(-1)]
        lines += ["", f"Why: {told.why}"]
        for position, fix in enumerate(told.fixes):
            lines += ["", f"{SIGNS[fix.kind]} {fix.label}: {fix.why}"]
            lines += [f"    {change}" for change in self.changes(position)]
        return "\n".join(lines)

    def _said(self, position: int) -> list[str]:
        lines = []
        for engine in NAMES:
            outcome = self.outcome(position, engine)
            where = f" ({outcome.place})" if outcome.place else ""
            lines.append(f"{TITLES[engine]}{where}: {outcome.said or 'raises no error: a silent mistake'}")
        return lines


class Mistakes(list[MistakeLesson]):
    """The common mistakes in order. Shows itself as a table."""

    def __repr__(self) -> str:
        return "\n".join(
            f"{outcome.mistake.number:2}. {outcome.name!r}: {outcome.mistake.title}{_mute(outcome)}" for outcome in self
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{outcome.mistake.number}</td>"
            f"<td style='text-align: left'>{html.escape(outcome.mistake.title)}{_mute(outcome)}</td>"
            f'<td style="text-align: left"><code>viz.mistake("{html.escape(outcome.name)}")</code></td></tr>'
            for outcome in self
        )
        head = "<th></th><th style='text-align: left'>mistake</th><th style='text-align: left'>to see it</th>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def mistake(name: str | int) -> MistakeLesson:
    """One of the common mistakes: run on both engines, with where it goes wrong, why, and what each fix changes.

    Args:
        name: a name of `viz.mistakes()`, a number (its first), or an error message of either engine, traceback and all.

    Raises:
        ValueError: there is no such mistake; the message names the nearest.

    >>> import viz
    >>> viz.mistake("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn").name
    'does not require grad'
    >>> viz.mistake("wrong None").changes(0)
    [Change(what='b.grad', before='None: no gradient has arrived', after='3')]
    """
    for known in MISTAKES:
        if name in (known.name, known.number):
            return MistakeLesson(known)
    recognised = recognise(str(name))
    if recognised is not None:
        return MistakeLesson(recognised)
    if len(str(name)) > _LONGEST // 6:  # a message, not a misspelt name
        raise ValueError("this message does not match any of the common mistakes; viz.mistakes() lists them")
    names = [known.name for known in MISTAKES]
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.3) or names
    raise ValueError(f"no mistake is called {name!r}; there is {', '.join(map(repr, near))} (all: viz.mistakes())")


def mistakes() -> Mistakes:
    """All of the common mistakes, most frequent first.

    >>> import viz
    >>> viz.mistakes()[0].name
    'second backward'
    """
    return Mistakes(MistakeLesson(known) for known in MISTAKES)


def _mute(lesson: MistakeLesson) -> str:
    return " (silent)" if lesson.mistake.silent else ""


def _error(recording: Recording) -> str:
    return "" if recording.error is None else f"{recording.error['type']} in line {recording.error['line']}"


def _facts(name: str, recording: Recording) -> list[tuple[str, str]]:
    """The properties of a tensor that are compared; empty strings if the program has no such tensor."""
    tensor = recording.tensors.get(name)
    if tensor is None:
        return [(name, ""), (f"{name}.grad_fn", ""), (f"{name}.grad", "")]
    node = tensor["grad_fn"] or ("None: a leaf" if tensor["requires_grad"] else "None")
    return [(name, array(tensor["value"])), (f"{name}.grad_fn", node), (f"{name}.grad", gradient(tensor))]


def _named(graph: Graph, name: str) -> str | None:
    """The latest op with that node name; else the latest tensor of that name: its op, or the leaf."""
    for op in reversed(graph.ops.values()):
        if op.name == name:
            return op.key
    for value in reversed(graph.values.values()):
        if name and name in (value.name, *value.names) and (value.op is None or graph.ops[value.op].recorded):
            return value.op or value.key
    return None
