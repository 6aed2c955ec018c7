"""A page on what a class understood: how often each mistake was made, so that a teacher knows what to teach next.

All text on it is ours: hints, statements, counts. It contains nothing that a submission wrote.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence

from .. import get
from ..judging.judge import Verdict
from ..judging.report import marked

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>What the class understood</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
padding: 0 1rem }} table {{ border-collapse: collapse; width: 100% }} td {{ padding: .2rem .6rem .2rem 0; vertical-align: top }}
td.bar {{ width: 12rem }} td.n {{ width: 5rem; text-align: right; white-space: nowrap }} svg {{ display: block; margin-top: .4rem }}
.solved {{ fill: #009E73 }} .missed {{ fill: #D55E00 }} .rest {{ fill: #8886 }}</style></head>
<body><h1>What the class understood</h1><p>{students}. The most frequent mistakes come first.</p>{exercises}</body></html>
"""


def class_report(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """A complete page, without scripts, about all students together; `verdicts` are given by student."""
    by_exercise: dict[str, list[Verdict]] = {}
    for own in verdicts.values():
        for verdict in own:
            by_exercise.setdefault(verdict.exercise, []).append(verdict)
    students = "1 student" if len(verdicts) == 1 else f"{len(verdicts)} students"
    return _PAGE.format(students=students, exercises="".join(_exercise(id, own) for id, own in by_exercise.items()))


def _exercise(id: str, verdicts: list[Verdict]) -> str:
    solved, count = sum(verdict.passed for verdict in verdicts), len(verdicts)
    rows = [_row("solved", solved, count, "solved")]
    causes: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        causes.update(_causes(verdict))
    rows += [_row(text, n, count, kind) for (kind, text), n in causes.most_common()]
    return f"<h2>{html.escape(id)}</h2><table>{''.join(rows)}</table>"


def _causes(verdict: Verdict) -> set[tuple[str, str]]:
    """Why points are missing: misconceptions by their hint, statements missed for other reasons, and troubles."""
    if verdict.reason:
        return {("missed", html.escape(verdict.reason))}
    hints = {wrong.name: wrong.hint for wrong in get(verdict.exercise).wrongs}
    found = set()
    for mark in verdict.marks:
        if mark.failure and mark.failure.misconception in hints:
            found.add(("missed", marked(hints[mark.failure.misconception])))
        elif mark.failure:
            found.add(("missed", f"Missed for another reason: {html.escape(mark.statement)}"))
    return found


def _row(text: str, n: int, count: int, kind: str) -> str:
    width = round(180 * n / count)
    bar = (
        f'<svg width="180" height="12" role="img" aria-label="{n} of {count}"><rect class="rest" width="180" height="12" rx="3"/>'
        f'<rect class="{kind}" width="{width}" height="12" rx="3"/></svg>'
    )
    return f'<tr><td class="n">{n} of {count}</td><td class="bar">{bar}</td><td>{text}</td></tr>'
