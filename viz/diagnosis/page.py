"""A report as HTML: the output of a cell, and a page that needs no network."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from viz.diagnosis import cause
from viz.diagnosis.finding import GROUPS, Finding
from viz.diagnosis.report import Report
from viz.draw import as_html
from viz.picture.svg import escape

STYLE = Path(__file__).with_name("report.css")
PICTURES = 5  # findings that get a picture
AROUND = 1  # lines of code shown before and after the line that matters
Staged = Callable[[str, dict[str, Any]], str]


def fragment(report: Report, staged: Staged, starter: str) -> str:
    """The report as HTML of a cell. `staged` joins a still picture and its scene; `starter`, once, is their script."""
    body = "".join(_finding(report, number, finding, staged) for number, finding in enumerate(report.findings, 1))
    error = f"<p>{escape(report.ended)}</p>" if report.ended else ""
    style = STYLE.read_text(encoding="utf-8")
    return (
        f'<style>{style}</style><div class="tgv-diagnosis"><h3>{escape(report.headline)}</h3>{body}{error}'
        f'<p class="soft">{escape(report.looked_at)}</p>{starter if "tgv-cause-place" in body else ""}</div>'
    )


def _folded(summary: str, inside: str, opened: bool = False) -> str:
    return f"<details{' open' if opened else ''}><summary>{escape(summary)}</summary>{inside}</details>"


def page(report: Report, staged: Staged, starter: str) -> str:
    """The report as one page; the arguments are those of `fragment`."""
    code = _code(report, 1, len(report.source), {finding.line for finding in report.findings})
    listing = f'<div class="tgv-diagnosis"><h3>The program</h3>{code}</div>' if report.source else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<title>Diagnosis</title><style>body { margin: 24px; background: #ffffff } "
        "@media (prefers-color-scheme: dark) { body { background: #14181f } }</style></head>"
        f"<body>{fragment(report, staged, starter)}{listing}</body></html>\n"
    )


def _finding(report: Report, number: int, finding: Finding, staged: Staged) -> str:
    sure = '<b class="sure">certain</b>' if finding.certain else f"<small>{finding.sure}</small>"
    title = f"{number}. {escape(finding.kind.replace('-', ' '))}"
    where = report.place(finding.line) if finding.line is not None else ""
    about = escape(" · ".join(filter(None, (where, GROUPS[finding.group]))))
    line = finding.line
    told = _code(report, line - AROUND, line + AROUND, {line}) if line is not None else ""
    for kind, lines in itertools.groupby(report.told_of(finding), key=lambda told: told[0]):
        texts = [escape(text) for _, text in lines]
        parts = "".join(map(PARAGRAPHS.get(kind, _changed), texts))
        told += f"<pre>{parts}</pre>" if kind == "change" else parts
    path = cause.path_of(report.observation, finding) if number <= PICTURES else None
    if path is not None:
        picture = cause.picture(path)
        shown = staged(as_html(picture.svg, picture.description), cause.scene(report.observation, path))
        told += _folded("the path in the graph", shown, number == 1)
    return f'<section class="{finding.sure}"><h4>{title}<small>{about}</small>{sure}</h4>{told}</section>'


def _changed(line: str) -> str:
    tag = {"-": "del", "+": "ins"}.get(line[0])
    return f"<{tag}>{line}</{tag}>" if tag else f"<span>{line}</span>\n"


def _code(report: Report, first: int, last: int, marked: set[int | None]) -> str:
    text = ""
    for number in range(max(1, first), min(len(report.source), last) + 1):
        line = f"{report.program.place(number)[1]:>4}  {escape(report.source[number - 1])}"
        text += f"<mark>{line}</mark>" if number in marked else f"{line}\n"
    return f"<pre>{text}</pre>" if text else ""


def _with_code(sentence: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", sentence)


PARAGRAPHS: dict[str, Callable[[str], str]] = {
    "": lambda text: f"<p>{_with_code(text)}</p>",
    "fix": lambda text: f"<p><b>Fix:</b> {_with_code(text)}</p>",
    "soft": lambda text: f'<p class="soft">{_with_code(text)}</p>',
}
