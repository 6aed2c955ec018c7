"""A page on what a class understood: how many students made each mistake, so that a teacher knows what to teach next.

All text on it is ours: hints, statements, headings, counts. It contains nothing that a submission wrote.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import html
import json
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import counted, get
from ..judging.judge import Verdict
from ..judging.report import marked

TAUGHT_NEXT = 3  # misconceptions that the page proposes to teach
BARS = 10  # of the distribution

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>What the class understood</title>
<style>:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem;
overflow-wrap: anywhere }} svg {{ display: block; width: 100%; height: auto }} h2 {{ margin: 1.6rem 0 .3rem }}
.row {{ display: grid; grid-template-columns: 6.5rem 1fr; gap: .2rem .8rem; margin: .5rem 0 }}
.row div {{ min-width: 0 }} .bar {{ max-width: 20rem; margin: .2rem 0 }} .distribution {{ max-width: 30rem }}
.where {{ opacity: .75; font-size: .9em }} .solved {{ fill: #009E73 }} .missed {{ fill: #D55E00 }}
.rest {{ fill: #8886 }} text {{ fill: currentColor; font-size: 11px }}</style></head>
<body><h1>What the class understood</h1>{summary}{next}{exercises}{predictions}</body></html>
"""


@dataclass(frozen=True)
class Asked:
    """A prediction as a lesson asks it: where, its choices with their replies, and the right one."""

    lesson: int
    question: str
    choices: Mapping[str, str]
    right: str


def class_report(verdicts: Mapping[str, Sequence[Verdict]], predicted: Sequence[Mapping[str, str]] = ()) -> str:
    """A complete page, without scripts, about all students together.

    `verdicts` are by student; `predicted`: a student's first choices by question. Only questions of a lesson count.
    """
    by_exercise: dict[str, list[Verdict]] = {}
    for own in verdicts.values():
        for verdict in counted(own):
            by_exercise.setdefault(verdict.exercise, []).append(verdict)
    return _PAGE.format(
        summary=_summary(verdicts),
        next=_next(by_exercise, len(verdicts), predicted),
        predictions=_predictions(predicted),
        exercises="".join(_exercise(id, own) for id, own in by_exercise.items()),
    )


def _summary(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """How many students there are, their mean, and how their points are distributed."""
    if not verdicts:
        return "<p>0 students.</p>"
    points = [sum(verdict.points for verdict in counted(own)) for own in verdicts.values()]
    out_of = max(sum(verdict.out_of for verdict in counted(own)) for own in verdicts.values())
    mean, middle = statistics.mean(points), statistics.median(points)
    text = f"{_students(len(points))}. Mean {mean:.1f} of {out_of} points, median {middle:g}."
    return f"<p>{text}</p>{_distribution(points, out_of)}"


def _distribution(points: Sequence[int], out_of: int) -> str:
    """A histogram: how many students have how many points."""
    wide = -(-(out_of + 1) // BARS)
    counts = Counter(n // wide for n in points)
    bins, most = out_of // wide + 1, max(counts.values())
    width, bars, told = 300 / bins, "", []
    for place in range(bins):
        low, high, n = place * wide, min(place * wide + wide - 1, out_of), counts[place]
        name, x, height = f"{low}" if low == high else f"{low}\u2013{high}", place * width, 60 * n / most
        told.append(f"{name} points: {_students(n)}")
        box = f'x="{x + 1:.1f}" y="{72 - height:.1f}" width="{width - 2:.1f}" height="{height:.1f}"'
        bars += f'<rect class="solved" {box}/>'
        bars += f'<text x="{x + width / 2:.1f}" y="84" text-anchor="middle">{name}</text>'
        if n:
            bars += f'<text x="{x + width / 2:.1f}" y="{70 - height:.1f}" text-anchor="middle">{n}</text>'
    label = f"Students by points. {'; '.join(told)}"
    return f'<svg class="distribution" viewBox="0 0 300 90" role="img" aria-label="{label}">{bars}</svg>'


def _next(by_exercise: Mapping[str, Sequence[Verdict]], count: int, predicted: Sequence[Mapping[str, str]] = ()) -> str:
    """The misconceptions that most students have, and where the lesson teaches what corrects them."""
    made: Counter[tuple[str, str]] = Counter()
    asked = _asked()
    for id, own in by_exercise.items():
        for verdict in own:
            made.update({(id, mark.failure.misconception) for mark in verdict.marks if mark.failure})
    hints = {(id, wrong.name): wrong.hint for id in by_exercise for wrong in get(id).wrongs}
    told = {key: (marked(hint), _taught(key[0])) for key, hint in hints.items()}
    for question, choice, n in _missed(predicted):
        made[question, choice] = n
        where = f"lesson {asked[question].lesson}, prediction: {marked(question)}"
        told[question, choice] = f"\u201c{marked(choice)}\u201d. {marked(asked[question].choices[choice])}", where
    rows = [
        _row(f'{told[key][0]}<div class="where">{told[key][1]}</div>', n, count, "missed")
        for key, n in made.most_common()
        if key in told
    ][:TAUGHT_NEXT]
    return f"<h2>To teach next</h2>{''.join(rows)}" if rows else ""


@functools.cache
def _asked() -> dict[str, Asked]:
    """The predictions of the lessons, by question, as their cells write them."""
    from ...course.working_copy import lessons_root

    found = {}
    for path in sorted(lessons_root().glob("[0-9][0-9]_*/*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] != "code" or not source.startswith("predict("):
                continue
            call = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            with contextlib.suppress(ValueError, KeyError, IndexError):  # a question made by a program
                question, choices = (ast.literal_eval(one) for one in call.args[:2])
                found[question] = Asked(int(path.name[:2]), question, choices, ast.literal_eval(named["right"]))
    return found


def _counts(predicted: Sequence[Mapping[str, str]]) -> dict[str, Counter[str]]:
    """How often each choice of a lesson's prediction was the first one, by question."""
    counts: dict[str, Counter[str]] = {}
    for own in predicted:
        for question, choice in own.items():
            if question in _asked() and choice in _asked()[question].choices:
                counts.setdefault(question, Counter())[choice] += 1
    return counts


def _missed(predicted: Sequence[Mapping[str, str]]) -> list[tuple[str, str, int]]:
    """The wrong choices that somebody made first: question, choice, how often."""
    return [
        (question, choice, n)
        for question, counts in _counts(predicted).items()
        for choice, n in counts.most_common()
        if choice != _asked()[question].right
    ]


def _predictions(predicted: Sequence[Mapping[str, str]]) -> str:
    """What was predicted before the answer was shown: each question that somebody answered, with the first choices."""
    parts = []
    for question, counts in _counts(predicted).items():
        asked, count = _asked()[question], counts.total()
        rows = [_row(f"\u201c{marked(asked.right)}\u201d, the right one", counts[asked.right], count, "solved")]
        rows += [
            _row(f"\u201c{marked(choice)}\u201d. {marked(asked.choices[choice])}", n, count, "missed")
            for choice, n in counts.most_common()
            if choice != asked.right
        ]
        parts.append(f"<h3>{marked(question)}</h3>{''.join(rows)}")
    return f"<h2>What they predicted</h2>{''.join(parts)}" if parts else ""


@functools.cache
def _taught(id: str) -> str:
    """Where a lesson teaches what an exercise asks for: its number and the section above the exercise."""
    from ...course.working_copy import lessons_root

    exercise = get(id)
    place = f"lesson {exercise.lesson}"
    for path in lessons_root().glob(f"{exercise.lesson:02}_*/*.ipynb"):
        section = ""
        for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"], start=1):
            if (cell["metadata"].get("nbgrader") or {}).get("grade_id") == id:
                return html.escape(f"{exercise.id}: {place}, {section}".rstrip(", "))
            headings = re.findall(r"(?m)^#+ (.*)", "".join(cell["source"])) if cell["cell_type"] == "markdown" else []
            for heading in headings:
                if not re.match(r"Exercise|For practice", heading):
                    section = f"\u201c{heading}\u201d (cell {number})"
    return html.escape(f"{exercise.id}: {place}")


def _exercise(id: str, verdicts: list[Verdict]) -> str:
    """Each student once: solved, or the first cause of missing points."""
    solved, count = sum(verdict.passed for verdict in verdicts), len(verdicts)
    causes = Counter(_cause(verdict) for verdict in verdicts if not verdict.passed)
    rows = [_row("solved it", solved, count, "solved")]
    rows += [_row(text, n, count, "missed") for text, n in causes.most_common()]
    return f"<h2>{html.escape(id)}</h2>{''.join(rows)}"


def _cause(verdict: Verdict) -> str:
    """Why a student misses points: a misconception's hint, a trouble, or the first statement that does not hold."""
    if verdict.reason:
        return html.escape(verdict.reason)
    hints = {wrong.name: wrong.hint for wrong in get(verdict.exercise).wrongs}
    missed = [mark for mark in verdict.marks if mark.failure]
    known = [mark.failure.misconception for mark in missed if mark.failure and mark.failure.misconception in hints]
    return marked(hints[known[0]]) if known else f"Missed for another reason: {html.escape(missed[0].statement)}"


def _students(n: int) -> str:
    return "1 student" if n == 1 else f"{n} students"


def _row(text: str, n: int, count: int, kind: str) -> str:
    width = round(180 * n / count)
    bar = (
        f'<svg class="bar" viewBox="0 0 180 10" role="img" aria-label="{n} of {_students(count)}">'
        '<rect class="rest" width="180" height="10" rx="3"/>'
        f'<rect class="{kind}" width="{width}" height="10" rx="3"/></svg>'
    )
    return f'<div class="row"><div>{n} of {count}</div><div>{bar}{text}</div></div>'
