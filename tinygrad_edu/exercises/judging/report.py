"""How a student sees a verdict: rich text in a notebook, plain text in a terminal; light and dark.

Everything that came from the answer (messages, types, numbers) is escaped, because one student's report may be opened
in another person's browser.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..look import drawn
from .judge import Mark, Verdict

# Safe for colour-blind readers, and doubled by a sign and a word. Mixed with the page's text, legible on both themes.
GOOD, BAD = (f"color-mix(in srgb, {colour} 70%, currentcolor)" for colour in ("#009E73", "#D55E00"))
FURTHER = "next hint"
ENOUGH = 3  # checks without success, after which there is more help


@dataclass(frozen=True, repr=False)
class Report:
    """A verdict that shows itself wherever it is displayed. `tries` counts the checks without success."""

    verdict: Verdict
    tries: int = 0

    @property
    def points(self) -> int:
        """The points earned."""
        return self.verdict.points

    @property
    def passed(self) -> bool:
        """Whether nothing is left to fix."""
        return self.verdict.passed

    def __repr__(self) -> str:
        return "\n".join(text_lines(self.verdict, self.tries))

    def _repr_markdown_(self) -> str:
        head, *rest = text_lines(self.verdict, self.tries)
        fenced = "\n".join(rest).replace("```", "'''")
        return f"**{head}**\n\n```text\n{fenced}\n```" if rest else f"**{head}**"

    def _repr_html_(self) -> str:
        return html_of(self.verdict, self.tries)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        # nbgrader reads partial credit from a graded cell's text output. Text that is no number would give full marks.
        grading = "NBGRADER_EXECUTION" in os.environ
        text = str(self.points) if grading else repr(self)
        return {"text/plain": text, "text/markdown": self._repr_markdown_(), "text/html": self._repr_html_()}


@dataclass(frozen=True, repr=False)
class ReportWithStage(Report):
    """A report with a player of the smallest input that was missed below it."""

    stage: Any = None

    def _repr_html_(self) -> str:
        return html_of(self.verdict, self.tries, "The first input above, step by step:")

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        self.stage._ipython_display_()


def text_lines(verdict: Verdict, tries: int = 0) -> list[str]:
    """The verdict as lines for a terminal."""
    lines = [_head(verdict)]
    if verdict.trouble:
        return [*lines, f"  {verdict.trouble}"]
    for mark, rows in _marks(verdict, tries):
        lines.append(f"  {'✗' if mark.failure else '✓'} {mark.statement} ({_points(mark)})")
        lines += [f"      {label + ': ' if label else ''}{text}" for label, text in rows]
    return lines


def html_of(verdict: Verdict, tries: int = 0, below: str = "") -> str:
    """The verdict as an HTML fragment that uses the colours of JupyterLab's theme, or of its page.

    `below` announces what is shown below it, and a picture of the input is then not drawn.
    """
    drawing = not below
    body = f'<p style="margin:4px 0">{html.escape(verdict.trouble)}</p>' if verdict.trouble else ""
    for mark, rows in _marks(verdict, tries):
        picture = drawn(verdict.exercise, json.dumps(mark.failure.case)) if drawing and mark.failure else ""
        drawing = drawing and not picture
        colour, sign, word = (BAD, "✗", "missed") if mark.failure else (GOOD, "✓", "earned")
        body += (
            f'<div style="margin:6px 0"><b style="color:{colour}" role="img" aria-label="{word}">{sign}</b> '
            f"{marked(mark.statement)} <small>({_points(mark)})</small>{_html_table(rows)}{picture}</div>"
        )
    colour = GOOD if verdict.passed else BAD
    return (
        f'<div class="tge-report" style="border-left:4px solid {colour};padding:4px 12px;'
        f'color:var(--jp-ui-font-color1,inherit)"><b>{html.escape(_head(verdict))}</b>{body}{below}</div>'
    )


def _html_table(rows: list[tuple[str, str]]) -> str:
    cell = "text-align:left;vertical-align:top;white-space:pre-wrap;padding:1px 12px 1px 0"
    lines = "".join(
        f'<tr style="background:none"><td style="{cell};width:1%">{label}</td>'
        f'<td style="{cell}">{marked(text) if label == FURTHER else f"<code>{html.escape(text)}</code>"}</td></tr>'
        if label
        else f'<tr style="background:none"><td style="{cell}" colspan="2"><b>{marked(text)}</b></td></tr>'
        for label, text in rows
    )
    return f'<table style="margin:2px 0 2px 18px;border:none;border-collapse:collapse">{lines}</table>' if rows else ""


def marked(text: str) -> str:
    """A hint as HTML: text between backticks is code, text between stars is emphasised."""
    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"(?<![\w*])\*(\w[^*<]*)\*(?![\w*])", r"<em>\1</em>", coded)


def _marks(verdict: Verdict, tries: int) -> Iterator[tuple[Mark, list[tuple[str, str]]]]:
    """Each mark with its labelled lines. What was said about one criterion is not repeated for the next."""
    said = set()
    for mark in () if verdict.trouble else verdict.marks:
        failure = mark.failure
        if failure is None:
            yield mark, []
            continue
        why = failure.hint or failure.message
        rows = [("", why if why not in said else "The same here.")]
        got = "" if failure.got.rstrip(".") in why else failure.got  # an error's message need not appear twice
        more = failure.further if tries >= ENOUGH else ""
        told = [("input", failure.input), ("expected", failure.expected), ("got", got), (FURTHER, more)]
        yield mark, rows + [(label, text) for label, text in told if text and text not in said]
        said |= {why, more}


def _head(verdict: Verdict) -> str:
    state = "all right" if verdict.passed else "not yet"
    return f"{verdict.exercise}: {verdict.points} of {verdict.out_of} points, {state}"


def _points(mark: Mark) -> str:
    return f"{mark.points} of {mark.out_of}"
