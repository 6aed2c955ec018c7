"""The judge: reads what the probe observed, and decides what is right, what is not, and which mistake it was.

It sees only plain data. It runs the same probe on the reference and on each misconception. An answer that behaves like
a misconception on every input of a criterion has made that mistake.
"""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...sandbox.time_limit import Budget, TimeUp, time_limit
from .. import plain
from ..exercise import Criterion, Exercise, Misconception
from ..plain import Data, decode
from ..running.probe import kind_of_answer, probe
from . import schema
from .relation import Row, measured_fault, relation
from .schema import Observed, Trouble, Where

SECONDS = 2.0  # processor time for the judge itself, whatever it has to read
UNTOLD = ("The numbers differ.", "The answers differ.", "The values differ.", "does not hold.")
BLANK = "Not answered yet."
LONGEST = 600  # the most characters of a value or message that a report shows


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
    further: str = ""  # what may be said to who has tried often


@dataclass(frozen=True)
class Mark:
    """One criterion of one answer: its points, and the failure if they were not earned."""

    statement: str
    points: int
    out_of: int
    failure: Failure | None = None


@dataclass(frozen=True)
class Verdict:
    """The grade of one answer.

    `trouble` is a sentence on what prevented it from running, if anything did. `reason` says the same to the teacher,
    without any word from the submission.
    """

    exercise: str
    marks: tuple[Mark, ...]
    trouble: str = ""
    reason: str = ""

    @property
    def points(self) -> int:
        """The points earned: the sum over the criteria."""
        return sum(mark.points for mark in self.marks)

    @property
    def out_of(self) -> int:
        """The points that could be earned."""
        return sum(mark.out_of for mark in self.marks)

    @property
    def passed(self) -> bool:
        """Whether nothing is left to fix."""
        return self.points == self.out_of


def judge(exercise: Exercise, probed: Data, seed: int = 0) -> Verdict:
    """Grade the probe's result for `exercise`; `seed` is the seed of its random cases.

    `probed` may also be `{"trouble": kind}` if the answer could not run at all. It comes from an untrusted process:
    anything malformed in it counts as a wrong answer, never as an error here, and takes no time.
    """
    beside = known(exercise, seed, exercise.available)  # its first call runs PyTorch: not the answer's time
    try:
        with time_limit(Budget(SECONDS)):
            read = schema.read(exercise, list(beside.right), probed)
            trouble = read if isinstance(read, Trouble) else _trouble(exercise, read)
            if trouble is None and isinstance(read, schema.Probed):
                seen = {where: beside.measured(exercise, where, data) for where, data in read.observed.items()}
                missed = _missed(exercise, beside, seen, read.changed)
        if trouble is None and isinstance(read, schema.Probed):
            wrongs = beside.wrongs if missed else []  # likewise
            with time_limit(Budget(SECONDS)):
                return _judged(exercise, beside, read, seen, missed, wrongs)
    except TimeUp:
        trouble = schema.told("judge's time")
    assert trouble is not None
    marks = tuple(Mark(c.statement, 0, c.points) for c in exercise.criteria)
    return Verdict(exercise.id, marks, trouble.student, trouble.teacher)


def _missed(exercise: Exercise, beside: Known, seen: Observed, changed: schema.Changed) -> list[Where]:
    """Where the observations are not the right ones. A changed argument costs only the first criterion that saw it."""
    first = min((where[1] for where in seen if changed[where]), default=None)
    return [
        where
        for where in seen
        if not plain.same(seen[where], beside.seen[where], exercise.rtol) or (changed[where] and where[1] == first)
    ]


def _judged(
    exercise: Exercise,
    beside: Known,
    read: schema.Probed,
    seen: Observed,
    missed: list[Where],
    wrongs: list[tuple[Misconception, Seen]],
) -> Verdict:
    got, changed = read.observed, read.changed
    suspects = []
    for wrong, observed in wrongs:
        agreed = {where for where in got if plain.same(seen[where], observed.seen[where], exercise.rtol)}
        alike = {
            where
            for where in agreed
            if _same_error(got[where], observed.data[where]) and changed[where] == observed.changed[where]
        }
        suspects.append((wrong, alike))
    suspects.sort(key=lambda suspect: -len(suspect[1]))
    made = _explained(missed, suspects, got)
    marks = []
    for i, criterion in enumerate(exercise.criteria):
        telling = [where for where in missed if where[1] == i]
        if not telling:
            marks.append(Mark(criterion.statement, criterion.points, criterion.points))
            continue
        where = min(telling, key=lambda where: plain.size(beside.cases[i][where[2]]))
        case = beside.cases[i][where[2]]
        failure = _failure(exercise, criterion, case, where[0], beside.right[where], got[where], made.get(i))
        if changed[where]:
            failure = _told_of_change(failure, changed[where])
        elif failure.message.endswith(UNTOLD):
            failure = _related(exercise, beside, seen, missed, where, failure)
        asked = sum(at[1] == i for at in got)
        shares = f"Your answer is right on {asked - len(telling)} of the {asked} inputs that were tried."
        failure = replace(failure, further=_further(failure, shares))
        marks.append(Mark(criterion.statement, 0, criterion.points, failure))
    return Verdict(exercise.id, tuple(marks))


def _explained(
    missed: list[Where], suspects: list[tuple[Misconception, set[Where]]], got: Observed
) -> dict[int, Misconception]:
    """The misconception behind each missed criterion, by position, where the observations show it. A misconception that
    behaves the same everywhere is the one. Otherwise several may be combined: then one must explain each missed
    criterion, on all of its inputs and not only by errors. If anything stays unexplained, none is named: a hint must
    not claim more than was seen."""
    places = {where[1] for where in missed}
    whole = next((wrong for wrong, agreed in suspects if len(agreed) == len(got)), None)
    if whole is not None:
        return dict.fromkeys(places, whole)
    found = {}
    for i in places:
        asked = {where for where in got if where[1] == i}
        if all(plain.kind_of(got[where]) in ("an error", "None", "no end") for where in missed if where[1] == i):
            return {}
        wrong = next((wrong for wrong, agreed in suspects if asked <= agreed), None)
        if wrong is None:
            return {}
        found[i] = wrong
    return found


def _further(failure: Failure, shares: str) -> str:
    """What may be said next: what the numbers show of a known mistake, or how often it is right if nothing is told."""
    shown = failure.message.rpartition("does not hold. ")[2]
    if not failure.hint:
        return shares if shown.endswith(UNTOLD) else ""
    told = shown.endswith(UNTOLD) or re.match(r"It raised|Line \d+ of|It should raise|Wrong type", shown)
    return shares if told else shown[:1].upper() + shown[1:]


_CHANGES = {
    "": "`{}` was changed",
    "._version": "`{}` was written to: its version counter went up",
    ".requires_grad": "`{}.requires_grad` was changed",
    ".grad": "`{}.grad` was changed",
}


def _related(
    exercise: Exercise, beside: Known, seen: Observed, missed: list[Where], at: Where, failure: Failure
) -> Failure:
    """`failure`, with what its criterion's observations have to do with the right ones, where that can be said."""
    places = [where for where in beside.right if where[1] == at[1] and where[0] == at[0]]
    criterion = exercise.criteria[at[1]]
    if criterion.measure is not None:
        said = measured_fault(beside.seen[at], seen[at])
        return replace(failure, message=f"{failure.message} {said}") if said else failure
    rows = [
        Row(
            dict(zip(criterion.parameters, decode(beside.cases[at[1]][where[2]]), strict=True)),
            beside.seen[where],
            seen[where],
            where not in missed,
        )
        for where in places
    ]
    said = relation(rows)
    return replace(failure, message=_short(said)) if said else failure


def _told_of_change(failure: Failure, changed: frozenset[str]) -> Failure:
    """`failure`, with a sentence on the first argument that an answer changed, if it has no hint yet."""
    name, dot, aspect = sorted(changed)[0].partition(".")
    sentence = f"{_CHANGES[dot + aspect].format(name)}. It belongs to the caller: leave it as it is, or work on a copy."
    return failure if failure.hint else replace(failure, message=sentence)


@dataclass(frozen=True)
class Seen:
    """What is known of one answer: its observations, the compared part of them, and the arguments that it changed."""

    data: Observed
    seen: Observed  # another than `data` where a criterion has a measure
    changed: schema.Changed


@dataclass(frozen=True)
class Known:
    """What the judge compares an answer with: the cases, what is right, and what each misconception gives."""

    cases: list[list[Data]]
    right: Observed
    seen: Observed
    run_wrongs: Callable[[], list[tuple[Misconception, Seen]]]

    @functools.cached_property
    def wrongs(self) -> list[tuple[Misconception, Seen]]:
        """What each misconception gives. They run when this is first asked for: a right answer does not need them."""
        return self.run_wrongs()

    def measured(self, exercise: Exercise, where: Where, data: Data) -> Data:
        """The part of an observation that is compared."""
        _, i, j = where
        return _measured(exercise.criteria[i], self.cases[i][j], data)


@functools.lru_cache(maxsize=512)
def known(exercise: Exercise, seed: int, engines: tuple[str, ...]) -> Known:
    """The cases of `exercise`, the results of its reference on them, and on demand those of each misconception."""
    cases = [criterion.inputs(seed) for criterion in exercise.criteria]
    probes = [criterion.probe for criterion in exercise.criteria]
    everywhere = [(e, i, j) for e in engines for i, inputs in enumerate(cases) for j in range(len(inputs))]

    def observe(answer: object) -> Seen:
        with warnings.catch_warnings():  # judge the same even if warnings are errors in this process
            warnings.simplefilter("ignore")
            probed = probe(probes, cases, answer, engines, math.inf, parameters=exercise.parameters)
        data = {(e, i, j): plain.checked(probed["observed"][e][i][j]) for e, i, j in everywhere}
        seen = {w: _measured(exercise.criteria[w[1]], cases[w[1]][w[2]], data[w]) for w in everywhere}
        return Seen(data, seen, schema.changes(exercise, everywhere, probed["changed"]))

    right = observe(exercise.rights[0])
    return Known(cases, right.data, right.seen, lambda: [(wrong, observe(wrong.answer)) for wrong in exercise.wrongs])


def _measured(criterion: Criterion, case: Data, data: Data) -> Data:
    if criterion.measure is None or (isinstance(data, dict) and ("raised" in data or "stopped" in data)):
        return data
    try:
        return plain.encode(criterion.measure(plain.decode(data), *plain.decode(case)))
    except Exception:  # an answer that cannot be measured agrees only with an equal one
        return {"object": plain.kind_of(data), "text": plain.show(data)}


def _same_error(a: Data, b: Data) -> bool:
    """Whether two matching observations that are errors are the same one: the engine has a fixed sentence for each."""
    if not (isinstance(a, dict) and isinstance(b, dict) and "raised" in a and "raised" in b):
        return True
    if not (a["beneath"] and b["beneath"]):  # raised by the answers themselves, in their own words
        return bool(a["beneath"] == b["beneath"])
    # The sentence names a function by the one that defines it, which differs from process to process.
    opening, other = (re.sub(r"\S*<locals>\.", "", one["message"])[:30] for one in (a, b))
    return bool(opening == other)


def _is_stub(data: Data) -> bool:
    return isinstance(data, dict) and data.get("raised") == "NotImplementedError"


def _is_blank(exercise: Exercise, data: Data) -> bool:
    """Whether this is the None that the exercise starts with, to be replaced by a prediction."""
    return data is None and not callable(exercise.rights[0])


def _is_the_answer(exercise: Exercise, criterion: Criterion) -> bool:
    """Whether the expected result of a criterion would give away the solution: the value itself is asked for."""
    return not callable(exercise.rights[0]) and not (criterion.parameters and criterion.measure is None)


def _trouble(exercise: Exercise, probed: schema.Probed) -> Trouble | None:
    """Why the observations cannot be graded, if so."""
    wanted, given = kind_of_answer(exercise.rights[0]), probed.kind
    if given in ("of type NoneType", "of type ellipsis"):
        return schema.told("not answered")
    if all(_is_stub(data) or _is_blank(exercise, data) for data in probed.observed.values()):
        return schema.told("not answered")
    if given != wanted:
        sentence = f"Wrong type: `{exercise.name}` should be {wanted}"
        return Trouble(f"{sentence}, and it is {given}.", f"{sentence}.")
    return None


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
    blank = _is_blank(exercise, got)  # do not show what is right before an attempt
    message = BLANK if blank else difference(expected, got)
    if criterion.measure is not None and plain.kind_of(got) not in ("an error", "no end", "None"):
        # There may be other right answers than the one expected.
        message = f"{'On this input this' if names else 'This'} does not hold."
    if "raised TypeError" in message and "argument" in message and not got["line"]:
        message += f" It is called as {exercise.signature}."
    return Failure(
        message=_short(message),
        input=", ".join(f"{name} = {plain.show(value)}" for name, value in zip(names, values, strict=True))
        + (" (with T = torch)" if engine == "torch" else ""),
        expected="" if blank or _is_the_answer(exercise, criterion) else _short(plain.show(expected)),
        got="" if blank or (criterion.measure is not None and _is_long(got)) else _short(plain.show(got)),
        engine=engine,
        case=case,
        misconception=made.name if made else "",
        hint=made.hint if made else "",
    )


def _is_long(got: Data) -> bool:
    """Whether more numbers came than anybody would read. A measured criterion's message says what they show."""
    return len(plain.show(got)) > LONGEST


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def difference(expected: Data, got: Data, part: bool = False) -> str:
    """One sentence on the most important difference of `got` from `expected`, which may be a part of a result.

    >>> difference({"tuple": [1.0, 2.0]}, {"tuple": [1.0]})
    'Wrong shape: expected 2 values, but got 1.'
    """
    ours, theirs = plain.kind_of(expected), plain.kind_of(got)
    if theirs == "no end" != ours:
        return "Endless loop? It was still running when its time was up, so it was stopped."
    if theirs == "an error":
        who = f"Line {got['line']} of your answer" if got.get("line") else "It"
        where = f"{who} raised {plain.show(got).rstrip('.')}."
        return where if ours != "an error" else f"{where} It should raise {expected['raised']} instead."
    if ours == "an error":
        return f"It should raise {expected['raised']} here, but it did not."
    if got is None and part:
        return "It is None: nothing was put there, or no gradient arrived."
    if got is None and ours == "a tensor":
        return "You returned None instead of a tensor. Is a `return` missing, or did no gradient arrive?"
    if got is None:
        return "It returned nothing (None). Is a `return` missing?"
    xs, ys = plain.items(expected, got), plain.items(got, expected)
    if xs is not None and ys is not None:
        if len(xs) != len(ys):
            return f"Wrong shape: expected {_count(len(xs))}, but got {len(ys)}."
        index = next((i for i, (x, y) in enumerate(zip(xs, ys, strict=True)) if not plain.same(x, y)), 0)
        return (
            f"Value {index + 1} of {len(xs)}: {difference(xs[index], ys[index], part=True)}"
            if xs
            else "The values differ."
        )
    if theirs == ours == "a dict":
        return _difference_of_dicts(dict(map(_named, expected["dict"])), dict(map(_named, got["dict"])))
    if xs is not None and theirs != ours:
        return f"Wrong type: expected {_count(len(xs))}, but got {theirs}."
    if theirs != ours:
        return f"Wrong type: expected {ours}, but got {theirs}."
    if plain.shape_of(expected) != plain.shape_of(got):
        return f"Wrong shape: expected {_shape(expected)}, but got {_shape(got)}."
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
    return "The answers differ." if name is None else f"At {name}: {difference(expected[name], got[name], part=True)}"


def _count(n: int) -> str:
    return "1 value" if n == 1 else f"{n} values"


def _shape(data: Data) -> str:
    return f"shape {tuple(plain.shape_of(data))}"
