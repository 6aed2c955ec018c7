"""Checks everything that comes out of the process that runs a student's code. Anything malformed is stopped here."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...sandbox.trouble import TOLD_INSIDE, TOLD_OUTSIDE
from .. import plain
from ..exercise import Exercise
from ..plain import Data
from ..running.state import is_name

Where = tuple[str, int, int]  # engine, criterion, case
Observed = dict[Where, Data]
Changed = dict[Where, frozenset[str]]  # the arguments that an answer changed, such as "x" or "x.grad"


@dataclass(frozen=True)
class Trouble:
    """Why there is nothing to judge: a sentence for the student, which may quote their own error, and the teacher's.

    The teacher's sentence contains no word from the submission.
    """

    student: str
    teacher: str


@dataclass(frozen=True)
class Probed:
    """What was observed of an answer, limited in size and of a known structure."""

    kind: str
    observed: Observed = field(default_factory=dict)
    changed: Changed = field(default_factory=dict)


def read(exercise: Exercise, places: list[Where], probed: Data) -> Probed | Trouble:
    """The probe's result for `exercise` on `places`, or why it cannot be used. Never raises."""
    if not isinstance(probed, dict):
        return told("unreadable")
    if probed.get("trouble"):
        return _trouble(exercise, probed)
    rows, kind = probed.get("observed"), probed.get("answer")
    if not isinstance(rows, dict) or not isinstance(kind, str):
        return told("unreadable")
    observed = {where: _at(rows, where) for where in places}
    return Probed(plain.readable(kind), observed, changes(exercise, places, probed.get("changed")))


def changes(exercise: Exercise, places: list[Where], changed: Data) -> Changed:
    """What an answer changed of its arguments, without what the exercise allows."""
    found = {}
    for engine, i, j in places:
        try:
            names = changed[engine][i][j]
        except (KeyError, IndexError, TypeError):
            names = []
        names = [name for name in names if is_name(name, exercise.parameters)] if isinstance(names, list) else []
        allowed = {name + aspect for name in exercise.may_change for aspect in ("", "._version")}
        found[engine, i, j] = frozenset(names) - allowed
    return found


def told(kind: str) -> Trouble:
    """The trouble of a kind that has no details."""
    sentence = f"{TOLD_OUTSIDE[kind]}."
    return Trouble(sentence, sentence)


def _trouble(exercise: Exercise, probed: Data) -> Trouble:
    kind, line = probed["trouble"], probed.get("line")
    where = f" in line {line}" if type(line) is int and 0 < line < 10**6 else ""
    message, name = (_text(probed.get(key)) for key in ("message", "type"))
    if not isinstance(kind, str) or kind not in TOLD_INSIDE | TOLD_OUTSIDE:
        return told("unreadable")
    if kind in TOLD_OUTSIDE:
        return told(kind)
    teacher = TOLD_INSIDE[kind] + (where if kind == "raised" else where and f",{where}") + "."
    if kind == "syntax":
        return Trouble(f"The cell is not valid Python{where and f',{where}'}: {message}.", teacher)
    if kind == "raised":
        return Trouble(f"The cell raised {name}{where}: {message.rstrip('.')}.", teacher)
    if kind == "absent":
        teacher = f"The cell defines no `{exercise.name}`."
    return Trouble(teacher, teacher)


def _text(data: Data) -> str:
    return plain.readable(data) if isinstance(data, str) else ""


def _at(rows: Data, where: Where) -> Data:
    engine, i, j = where
    try:
        return plain.checked(rows[engine][i][j])
    except (KeyError, IndexError, TypeError):
        return {"object": "no result", "text": "no result"}
