"""The judge: read what the probe observed, and say what is right, what is not, and which mistake it was.

It sees plain data alone. What a right answer gives, and what each misconception gives, it finds with the same probe on
its own copies. An answer that does, on every input of a criterion, what a misconception does has made that mistake.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from .. import plain
from ..exercise import Criterion, Exercise, Misconception
from ..plain import Data
from ..running.probe import kind_of_answer, probe

Where = tuple[str, int, int]  # engine, criterion, case
Observed = dict[Where, Data]


@dataclass(frozen=True)
class Failure:
    """Why a criterion was missed, on the smallest input that shows it."""

    message: str
    input: str
    expected: str
    got: str
    engine: str
    case: Data
    misconception: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Mark:
    """One criterion of one answer: its points, and the failure if they were not earned."""

    statement: str
    points: int
    out_of: int
    failure: Failure | None = None


@dataclass(frozen=True)
class Verdict:
    """The grade of one answer; `trouble` is a sentence on what kept it from being run, if anything did."""

    exercise: str
    marks: tuple[Mark, ...]
    trouble: str = ""

    @property
    def points(self) -> int:
        """What was earned, the sum over the criteria."""
        return sum(mark.points for mark in self.marks)

    @property
    def out_of(self) -> int:
        """What could be earned."""
        return sum(mark.out_of for mark in self.marks)

    @property
    def passed(self) -> bool:
        """Whether nothing is left to mend."""
        return self.points == self.out_of


def judge(exercise: Exercise, probed: Data, seed: int = 0) -> Verdict:
    """Grade what `probe` brought back for `exercise`; `seed` is the one its random cases were drawn with.

    `probed` may also be `{"trouble": sentence}` when the answer could not be run at all. It comes from a process that
    is not trusted: what is malformed in it counts as a wrong answer, never as an error here.
    """
    trouble = _trouble(exercise, probed)
    if trouble:
        return Verdict(exercise.id, tuple(Mark(c.statement, 0, c.points) for c in exercise.criteria), trouble)
    cases, right, wrongs = known(exercise, seed, exercise.available)
    got = {where: _at(probed["observed"], where) for where in right}
    if all(_is_stub(data) or _is_blank(exercise, data) for data in got.values()):
        return judge(exercise, {"trouble": "Not answered yet."}, seed)

    def measured(data: Data, where: Where) -> Data:
        _, i, j = where
        return _measured(exercise.criteria[i], cases[i][j], data)

    def agrees(observed: Observed, where: Where) -> bool:
        return plain.same(measured(got[where], where), measured(observed[where], where), exercise.rtol)

    def alike(observed: Observed, where: Where) -> bool:
        return agrees(observed, where) and _same_error(got[where], observed[where])

    missed = [where for where in got if not agrees(right, where)]
    suspects = sorted(wrongs, key=lambda suspect: -sum(agrees(suspect[1], where) for where in got)) if missed else []
    marks = []
    for i, criterion in enumerate(exercise.criteria):
        telling = [where for where in missed if where[1] == i]
        if not telling:
            marks.append(Mark(criterion.statement, criterion.points, criterion.points))
            continue
        asked = [where for where in got if where[1] == i]
        made = next((wrong for wrong, observed in suspects if all(alike(observed, where) for where in asked)), None)
        where = min(telling, key=lambda where: plain.size(cases[i][where[2]]))
        failure = _failure(exercise, criterion, cases[i][where[2]], where[0], right[where], got[where], made)
        marks.append(Mark(criterion.statement, 0, criterion.points, failure))
    return Verdict(exercise.id, tuple(marks))


@functools.lru_cache(maxsize=512)
def known(
    exercise: Exercise, seed: int, engines: tuple[str, ...]
) -> tuple[list[list[Data]], Observed, list[tuple[Misconception, Observed]]]:
    """The cases of `exercise`, what its reference gives on them, and what each misconception gives."""
    cases = [criterion.inputs(seed) for criterion in exercise.criteria]
    probes = [criterion.probe for criterion in exercise.criteria]
    everywhere = [(e, i, j) for e in engines for i, inputs in enumerate(cases) for j in range(len(inputs))]

    def observe(answer: object) -> Observed:
        rows = probe(probes, cases, answer, engines, math.inf)["observed"]
        return {where: _at(rows, where) for where in everywhere}

    return cases, observe(exercise.rights[0]), [(wrong, observe(wrong.answer)) for wrong in exercise.wrongs]


def _at(rows: Data, where: Where) -> Data:
    engine, i, j = where
    try:
        return plain.checked(rows[engine][i][j])
    except (KeyError, IndexError, TypeError):
        return {"object": "no result", "text": "no result"}


def _measured(criterion: Criterion, case: Data, data: Data) -> Data:
    if criterion.measure is None or (isinstance(data, dict) and ("raised" in data or "stopped" in data)):
        return data
    try:
        return plain.encode(criterion.measure(plain.decode(data), *plain.decode(case)))
    except Exception:  # the answer is of a kind that cannot be measured: it agrees with nothing but its like
        return {"object": plain.kind_of(data), "text": plain.show(data)}


def _same_error(a: Data, b: Data) -> bool:
    """Whether two observations that agree are, if they are errors, the same one: the engine has one sentence for each."""
    if not (isinstance(a, dict) and isinstance(b, dict) and "raised" in a and "raised" in b):
        return True
    if not (a["beneath"] and b["beneath"]):  # raised by the answers: in words of their own
        return bool(a["beneath"] == b["beneath"])
    return bool(a["message"][:20] == b["message"][:20])


def _is_stub(data: Data) -> bool:
    return isinstance(data, dict) and data.get("raised") == "NotImplementedError"


def _is_blank(exercise: Exercise, data: Data) -> bool:
    """Whether this is a None that the answer was handed out with, to be replaced by a prediction."""
    return data is None and not callable(exercise.rights[0])


def _is_the_answer(exercise: Exercise, criterion: Criterion) -> bool:
    """Whether what a criterion expects would be the solution itself: a value that is asked for whole."""
    return not callable(exercise.rights[0]) and not criterion.parameters


def _trouble(exercise: Exercise, probed: Data) -> str:
    """A sentence on why there is nothing to grade, or ""."""
    if isinstance(probed, dict) and probed.get("trouble"):
        return plain.readable(str(probed["trouble"]))
    if not isinstance(probed, dict) or not isinstance(probed.get("observed"), dict):
        return "The answer gave no result that can be read."
    wanted, given = kind_of_answer(exercise.rights[0]), plain.readable(str(probed.get("answer")))
    if given in ("of type NoneType", "of type ellipsis"):
        return "Not answered yet."
    if given != wanted:
        return f"Wrong type: `{exercise.name}` should be {wanted}, and it is {given}."
    return ""


def _failure(
    exercise: Exercise,
    criterion: Criterion,
    case: Data,
    engine: str,
    expected: Data,
    got: Data,
    made: Misconception | None,
) -> Failure:
    names, values = criterion.parameters, case["tuple"]
    blank = _is_blank(exercise, got)  # what is right is not told to who has not tried
    message = "Not answered yet." if blank else difference(expected, got)
    if criterion.measure is not None and plain.kind_of(got) not in ("an error", "no end", "None"):
        # There may be other right answers than the one expected.
        message = f"{'On this input it' if names else 'It'} is not so."
    if "raised TypeError" in message and "argument" in message and not got["line"]:
        message += f" It is called as {exercise.signature}."
    return Failure(
        message=message,
        input=", ".join(f"{name} = {plain.show(value)}" for name, value in zip(names, values, strict=True))
        + (" (with T = torch)" if engine == "torch" else ""),
        expected="" if blank or _is_the_answer(exercise, criterion) else plain.show(expected),
        got="" if blank else plain.show(got),
        engine=engine,
        case=case,
        misconception=made.name if made else "",
        hint=made.hint if made else "",
    )


def difference(expected: Data, got: Data) -> str:
    """One sentence on how `got` differs from `expected`, the first thing to know about it.

    >>> difference({"tuple": [1.0, 2.0]}, {"tuple": [1.0]})
    'Wrong shape: 2 values should come back, and 1 did.'
    """
    ours, theirs = plain.kind_of(expected), plain.kind_of(got)
    if theirs == "no end" != ours:
        return "Endless loop? It was still running when its time was up, and was stopped."
    if theirs == "an error":
        line = f" in line {got['line']} of your answer" if got.get("line") else ""
        where = f"It raised {plain.show(got).rstrip('.')}{line}."
        return where if ours != "an error" else f"{where} The error should be another one: {expected['raised']}."
    if ours == "an error":
        return f"It should raise {expected['raised']} here, and it did not."
    if got is None and ours == "a tensor":
        return "None came for a tensor. Is a `return` missing, or did no gradient arrive?"
    if got is None:
        return "It returned nothing (None). Is a `return` missing?"
    xs, ys = plain.sequence(expected), plain.sequence(got)
    if xs is not None and ys is not None:
        if len(xs) != len(ys):
            return f"Wrong shape: {_count(len(xs))} should come back, and {len(ys)} did."
        index = next((i for i, (x, y) in enumerate(zip(xs, ys, strict=True)) if not plain.same(x, y)), 0)
        return f"Value {index + 1} of {len(xs)}: {difference(xs[index], ys[index])}" if xs else "The values differ."
    if theirs == ours == "a dict":
        return _difference_of_dicts(dict(map(_named, expected["dict"])), dict(map(_named, got["dict"])))
    if xs is not None and theirs != ours:
        return f"Wrong type: {_count(len(xs))} should come back, and {theirs} did."
    if theirs != ours:
        return f"Wrong type: {ours} was expected, and {theirs} came."
    if plain.shape_of(expected) != plain.shape_of(got):
        return f"Wrong shape: {_shape(expected)} was expected, and {_shape(got)} came."
    if any(x != x for x in plain.numbers(got) or []) and not any(x != x for x in plain.numbers(expected) or []):
        return "There is NaN (not a number) in the result. Where is 0 / 0, inf - inf or 0 · inf computed?"
    return "The numbers differ." if plain.numbers(got) is not None else "The answers differ."


def _named(item: list[Data]) -> tuple[str, Data]:
    return plain.show(item[0]), item[1]


def _difference_of_dicts(expected: dict[str, Data], got: dict[str, Data]) -> str:
    missing, foreign = (
        [name for name in one if name not in other] for one, other in ((expected, got), (got, expected))
    )
    if missing:
        return f"There is no entry for {', '.join(missing)}."
    if foreign:
        return f"Nobody asked for {', '.join(foreign)}."
    name = next((name for name in expected if not plain.same(expected[name], got[name])), None)
    return "The answers differ." if name is None else f"At {name}: {difference(expected[name], got[name])}"


def _count(n: int) -> str:
    return "1 value" if n == 1 else f"{n} values"


def _shape(data: Data) -> str:
    return f"shape {tuple(plain.shape_of(data))}"
