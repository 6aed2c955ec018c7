"""What a grading run writes: a gradebook CSV, each student's feedback, files for Gradescope and Classroom 50."""

from __future__ import annotations

import csv
import datetime
import hashlib
import html
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import counted
from ..judging.judge import Verdict
from ..judging.report import Report, html_of
from ..plain import one_line
from .class_report import class_report

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }}
.tge-report {{ margin: 1rem 0 }}</style></head>
<body><h1>{title}</h1><p><b>{points} of {out_of} points</b></p>{notes}{reports}</body></html>
"""


def write_all(
    out: Path,
    results: Sequence[Mapping[str, Any]],
    verdicts: Mapping[str, Sequence[Verdict]],
    predicted: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write all outputs of a run into `out`, over those of an earlier run; `predicted` has students' first choices."""
    _write_csv(out / "gradebook.csv", results, verdicts)
    (out / "class.html").write_text(class_report(verdicts, predicted), "utf-8")
    folders = file_names([result["student"] for result in results])
    for result in results:
        student, own = result["student"], verdicts[result["student"]]
        folder = out / "students" / folders[student]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "feedback.html").write_text(feedback(student, own, result["notes"]), "utf-8", errors="replace")
        (folder / "results.json").write_text(json.dumps(gradescope(own, result["notes"]), indent=1))
        (folder / "summary.md").write_text(summary(own), "utf-8")
        (folder / "result.json").write_text(json.dumps(classroom50(student, own), indent=1))


def file_names(students: Sequence[str]) -> dict[str, str]:
    """A folder name for each student that cannot lead out of the output folder, and that no two share.

    Neither macOS nor Windows tells `Anna` from `anna`, or one way of writing `é` from another.
    """
    safe = {name: re.sub(r"[^\w@.-]", "_", name).strip(".")[:50] for name in students}  # of 255 bytes, 4 a character
    same = Counter(map(_as_a_disk_reads_it, safe.values()))
    known = {name: hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:8] for name in students}
    return {
        name: text if text == name and same[_as_a_disk_reads_it(text)] == 1 else f"{text}-{known[name]}"
        for name, text in safe.items()
    }


def _as_a_disk_reads_it(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def feedback(student: str, verdicts: Sequence[Verdict], notes: Sequence[str]) -> str:
    """A complete page, without scripts, for one student."""
    begun = [verdict for verdict in verdicts if verdict in counted(verdicts) or not verdict.trouble]
    return _PAGE.format(
        title=html.escape(one_line(student)),
        points=sum(verdict.points for verdict in counted(verdicts)),
        out_of=sum(verdict.out_of for verdict in counted(verdicts)),
        notes="".join(f"<p>{html.escape(one_line(note))}</p>" for note in notes),
        reports="".join(html_of(verdict) for verdict in begun),
    )


def summary(verdicts: Sequence[Verdict]) -> str:
    """A table in Markdown, for the page of a run on GitHub. It contains no word of a submission."""
    points, out_of = (sum(getattr(verdict, name) for verdict in counted(verdicts)) for name in ("points", "out_of"))
    lines = [f"**{points} of {out_of} points**", "", "| exercise | points | what is missing |", "| --- | --- | --- |"]
    for verdict in verdicts:
        missed = verdict.reason or "; ".join(mark.statement for mark in verdict.marks if mark.failure)
        text = html.escape(one_line(missed)).replace("|", "\\|")
        lines.append(f"| {verdict.exercise} | {verdict.points} of {verdict.out_of} | {text} |")
    return "\n".join(lines) + "\n"


def gradescope(verdicts: Sequence[Verdict], notes: Sequence[str]) -> dict[str, Any]:
    """`results.json`, as Gradescope reads it from /autograder/results/."""
    return {
        "score": sum(verdict.points for verdict in counted(verdicts)),
        "output": "\n".join(notes),
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": verdict.exercise,
                "score": verdict.points,
                "max_score": verdict.out_of,
                "status": "passed" if verdict.passed else "failed",
                "output": repr(Report(verdict)),
                "output_format": "text",
                "visibility": "visible",
            }
            for verdict in counted(verdicts)
        ],
    }


def classroom50(student: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """`result.json` in the schema classroom50/result/v1; its runner provides the details in environment variables."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    given = os.environ.get
    return {
        "schema": "classroom50/result/v1",
        "classroom": given("CLASSROOM", ""),
        "assignment": given("ASSIGNMENT", ""),
        "assignment_type": given("ASSIGNMENT_TYPE", "individual"),
        "owner": given("OWNER") or given("USERNAME") or student,
        "submission": given("SUBMISSION_TAG", ""),
        "commit": given("COMMIT_URL", ""),
        "release": given("RELEASE_URL", ""),
        "review": given("REVIEW_URL") or given("COMMIT_URL", ""),
        "datetime": given("SUBMITTED_AT", now),
        "graded_at": now,
        "score": sum(verdict.points for verdict in counted(verdicts)),
        "max-score": sum(verdict.out_of for verdict in counted(verdicts)),
        "tests": [
            {
                "test-name": verdict.exercise,
                "passed": verdict.passed,
                "score": verdict.points,
                "max-score": verdict.out_of,
            }
            for verdict in counted(verdicts)
        ],
    }


def _write_csv(file: Path, results: Sequence[Mapping[str, Any]], verdicts: Mapping[str, Sequence[Verdict]]) -> None:
    ids = [verdict.exercise for verdict in next(iter(verdicts.values()), ())]
    with file.open("w", newline="", encoding="utf-8", errors="replace") as handle:
        table = csv.writer(handle)
        table.writerow(["student", "points", "out_of", *ids, "notes"])
        for result in results:
            own = verdicts[result["student"]]
            points, out_of = sum(v.points for v in counted(own)), sum(v.out_of for v in counted(own))
            notes = " ".join([*result["notes"], *(f"{v.exercise}: {v.reason}" for v in own if v.reason)])
            table.writerow([_cell(result["student"]), points, out_of, *(v.points for v in own), _cell(notes)])


def _cell(text: str) -> str:
    """Text in one line that no spreadsheet mistakes for a formula."""
    text = one_line(text)
    return f"'{text}" if text.lstrip()[:1] in tuple("=+-@＝＋－＠") else text
