"""A report as HTML: the output of a cell, and a page that needs no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from viz.diagnosis import cause, chart
from viz.diagnosis.finding import GROUPS, Finding
from viz.diagnosis.report import Report
from viz.draw import as_html
from viz.picture.svg import escape

# The class is doubled where JupyterLab has its own rule for such an element, so that our rule wins.
STYLE = """
.tgv-diagnosis { LIGHT; color: var(--ink); background: var(--jp-layout-color0, var(--paper)); max-width: 960px;
  font: 14px/1.5 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; padding: 2px 0 }
@media (prefers-color-scheme: dark) { .tgv-diagnosis { DARK } }
[data-jp-theme-light="true"] .tgv-diagnosis { LIGHT }
[data-jp-theme-light="false"] .tgv-diagnosis, .vscode-dark .tgv-diagnosis { DARK }
.tgv-diagnosis.tgv-diagnosis h3 { font-size: 16px; font-weight: bold; margin: 4px 0 8px }
.tgv-diagnosis.tgv-diagnosis section { border: 1px solid var(--line); border-left: 4px solid var(--soft); border-radius: 4px;
  padding: 8px 14px; margin: 0 0 10px }
.tgv-diagnosis.tgv-diagnosis section.certain { border-left-color: var(--bad) }
.tgv-diagnosis.tgv-diagnosis h4 { font-size: 14px; font-weight: bold; margin: 0 0 6px; padding: 0; display: flex; gap: 10px; flex-wrap: wrap; align-items: baseline }
.tgv-diagnosis.tgv-diagnosis h4 small { font-weight: normal; color: var(--soft); font-size: 12px }
.tgv-diagnosis.tgv-diagnosis h4 b.sure { background: var(--bad-fill); color: var(--bad); border-radius: 3px; padding: 0 6px; font-size: 12px }
.tgv-diagnosis.tgv-diagnosis pre { background: var(--code); color: var(--ink); margin: 6px 0; padding: 6px 10px; overflow-x: auto;
  font: 13px/1.5 'DejaVu Sans Mono', Consolas, monospace; border-radius: 3px }
.tgv-diagnosis.tgv-diagnosis pre mark { background: var(--mark); color: inherit; display: block }
.tgv-diagnosis.tgv-diagnosis pre del, .tgv-diagnosis.tgv-diagnosis pre ins { display: block; text-decoration: none }
.tgv-diagnosis.tgv-diagnosis pre del { color: var(--bad) } .tgv-diagnosis.tgv-diagnosis pre ins { color: var(--good) }
.tgv-diagnosis.tgv-diagnosis p code { background: var(--code); color: inherit; padding: 1px 4px; border-radius: 3px;
  font: 12.5px 'DejaVu Sans Mono', Consolas, monospace }
.tgv-diagnosis.tgv-diagnosis p { margin: 4px 0 } .tgv-diagnosis .soft { color: var(--soft); font-size: 13px }
.tgv-diagnosis.tgv-diagnosis table { border-collapse: collapse; font-size: 13px; margin: 6px 0 }
.tgv-diagnosis.tgv-diagnosis details { margin: 6px 0 } .tgv-diagnosis.tgv-diagnosis summary { cursor: pointer; color: var(--soft) }
"""
_LIGHT = "--ink: #1c2430; --soft: #5b6675; --line: #d5dae1; --paper: #ffffff; --code: #f5f6f8; --bad: #b3261e; --bad-fill: #fdecea; --good: #1b6e3c; --mark: #fff1d0; --forward: #0072b2; --back: #d55e00"
_DARK = "--ink: #e8ecf2; --soft: #a5b0bf; --line: #3a4350; --paper: #14181f; --code: #1d232d; --bad: #ff8a80; --bad-fill: #43201d; --good: #7fd6a0; --mark: #4a3508; --forward: #56b4e9; --back: #ff8c42"
PICTURES = 5  # findings that get a picture
AROUND = 1  # lines of code shown before and after the line that matters


Staged = Callable[[str, dict[str, Any]], str]


def fragment(report: Report, staged: Staged | None = None, starter: str = "") -> str:
    """The report as HTML for the output of a cell.

    `staged` makes HTML of a still picture and of the scene that takes its place where a script runs; `starter` is that script,
    which comes once. Without them the pictures stay still.
    """
    style = STYLE.replace("LIGHT", _LIGHT).replace("DARK", _DARK)
    sections = [_finding(report, place, finding, staged) for place, finding in enumerate(report.findings, 1)]
    body, rest = "".join(sections[: len(report.causes)]), "".join(sections[len(report.causes) :])
    if rest:
        body += f"<details><summary>{escape(report.may_follow)}: {len(report.consequences)}</summary>{rest}</details>"
    error = ""
    if report.error is not None:
        error = (
            f"<p>It ended with <b>{escape(report.error['type'])}</b>{escape(report.at_error)}: "
            f"{escape(report.error['message'] + report.advice)}</p>"
        )
    sizes = _sizes(report)
    return (
        f'<style>{style}</style><div class="tgv-diagnosis"><h3>{escape(report.headline)}</h3>{body}{sizes}{error}'
        f'<p class="soft">{escape(report.looked_at)}</p>{starter if "tgv-cause-place" in body else ""}</div>'
    )


def _sizes(report: Report) -> str:
    """The table of sizes, open if the findings are about sizes."""
    told = chart.text(report.layers)
    opened = " open" if report.concerns_sizes else ""
    summary = "the size of activations and gradients, layer by layer"
    return (
        f"<details{opened}><summary>{summary}</summary><pre>{chr(10).join(map(escape, told.splitlines()))}</pre></details>"
        if told
        else ""
    )


def page(report: Report, staged: Staged | None = None, starter: str = "") -> str:
    """The report as one page; the arguments are those of `fragment`."""
    marked = {finding.line for finding in report.causes}
    code = "".join(_line(report, number, number in marked) for number in range(1, len(report.source) + 1))
    listing = f'<div class="tgv-diagnosis"><h3>The program</h3><pre>{code}</pre></div>' if code else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<title>Diagnosis</title><style>body { margin: 24px; background: #ffffff } "
        "@media (prefers-color-scheme: dark) { body { background: #14181f } }</style></head>"
        f"<body>{fragment(report, staged, starter)}{listing}</body></html>\n"
    )


def _finding(report: Report, place: int, finding: Finding, staged: Staged | None) -> str:
    sure = '<b class="sure">certain</b>' if finding.certain else "<small>likely</small>"
    where = report.place(finding.line) if finding.line is not None else ""
    group = GROUPS.get(finding.group, "")
    parts = [
        f'<section class="{"certain" if finding.certain else "likely"}"><h4>{place}. {escape(finding.kind.replace("-", " "))}'
        f"<small>{escape(' · '.join(filter(None, (where, group))))}</small>{sure}</h4>",
        _listing(report, finding),
        f"<p>{_with_code(report.below_its_line(finding))}</p>",
    ]
    if finding.where is not None and not report.several:
        parts.append(
            f'<p class="soft">The code that ran is in {escape(finding.where[0])}, line {finding.where[1]}.</p>'
        )
    parts.append(f"<p><b>Fix:</b> {_with_code(report.told(finding.fix))}</p>")
    if finding.changes:
        parts.append(f"<pre>{''.join(_changed(report, finding))}</pre>")
    if finding.tried:
        parts.append(f'<p class="soft">{_with_code(report.told(finding.tried))}</p>')
    path = cause.path_of(report.observation, finding) if place <= PICTURES else None
    if path is not None:
        opened = " open" if place == 1 else ""
        picture = cause.picture(path)
        shown = as_html(picture.svg, picture.description)
        if staged is not None:
            shown = staged(shown, cause.scene(report.observation, path))
        parts.append(f"<details{opened}><summary>the path in the graph</summary>{shown}</details>")
    return "".join(parts) + "</section>"


def _changed(report: Report, finding: Finding) -> Iterator[str]:
    """The lines of a fix, each in its colour; those of other places of the program under their number."""
    for change in finding.changes:
        if len(finding.changes) > 1 or change.line != finding.line:
            yield f"<span>{escape(report.place(change.line))}:</span>\n"
        for line in change.shown():
            tag = {"-": "del", "+": "ins"}.get(line[0], "span")
            yield f"<{tag}>{escape(line)}</{tag}>" + ("\n" if tag == "span" else "")


def _listing(report: Report, finding: Finding) -> str:
    if finding.line is None or not report.source:
        return ""
    first, last = max(1, finding.line - AROUND), min(len(report.source), finding.line + AROUND)
    shown = (_line(report, number, number == finding.line) for number in range(first, last + 1))
    return f"<pre>{''.join(shown)}</pre>"


def _line(report: Report, number: int, marked: bool) -> str:
    text = f"{report.number(number):>4}  {escape(report.source[number - 1])}"
    return f"<mark>{text}</mark>" if marked else f"{text}\n"


def _with_code(sentence: str) -> str:
    """A sentence as HTML, with text between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence))
