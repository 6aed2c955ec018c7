"""What went wrong in a run of an explorer: the finding that names the line that caused it."""

from __future__ import annotations

import re
import warnings

from viz import engines
from viz.recording.source import Source
from viz.telling.common_mistakes import recognise
from viz.widgets.runs import SEED, Run, asks

JUDGED = 2.0  # seconds
NO_NUMBER, NOT_FINITE = re.compile(r"\b(None|nan|inf)\b"), re.compile(r"nan|∞")


def cause_of(run: Run) -> str:
    """What an error, a printed None or a gradient that is not finite comes from, if the error does not say it.

    Of what a switch has done `account` speaks.
    """
    program, edited, lead = run.program, run.edited, run.first
    if lead is None or edited.source != program.source or program.namespace:
        return ""
    error = lead.error
    gradients = (row["grad"][lead.engine] for row in run.rows if row["requires_grad"])
    if not error and not NO_NUMBER.search(lead.stdout) and not any(map(NOT_FINITE.search, gradients)):
        return ""
    from viz.diagnosis.diagnose import Run as Diagnosis  # a live page fetches it when a program goes wrong

    engine = engines.load(lead.engine)
    with warnings.catch_warnings(), engine.seeded(SEED, "cpu"):
        warnings.simplefilter("ignore")
        report = Diagnosis(engine, Source(program.source), inputs={"input": asks}, limit=JUDGED).report(tries=False)
    report.place = lambda line: f"line {edited.line_of(line)}"
    first = next(
        (finding for finding in report.findings[:1] if finding.explains_error or (finding.certain and not error)), None
    )
    if first is None or first.line is None:
        return ""
    if error and error["line"] == edited.line_of(first.line) and recognise(error["message"]):
        return ""
    parts = {kind: text for kind, text in report.told_of(first) if kind in ("", "fix")}
    return f"{parts['']} {parts['fix']}"
