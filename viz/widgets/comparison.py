"""The comparison as a widget: both engines' pictures in step, every difference, and the table of gradients."""

from __future__ import annotations

from typing import Any

import traitlets

from viz.engines import CORE, TORCH
from viz.experiments.compare import Comparison, Difference
from viz.export import bundle
from viz.export.files import page, script
from viz.frames import scene
from viz.frames.director import VIEWS
from viz.frames.scene import MODULES
from viz.picture.svg import escape
from viz.telling.account import beside, missing, not_built, shown, table, title
from viz.widgets import fallback
from viz.widgets.live import Live

_STYLES = ("common.css", "comparison.js")
LISTED = 200  # rows of the table that are shown; differences come first


def _first(table: list[Difference]) -> list[Difference]:
    return sorted(table, key=lambda row: row.agree)[:LISTED] if len(table) > LISTED else table


def _row(row: Difference) -> dict[str, Any]:
    return {
        "what": row.what,
        "where": row.where,
        "ours": row.ours,
        "theirs": row.theirs,
        "difference": "" if row.difference is None else f"{row.difference:.3g}",
        "tolerance": "" if row.tolerance is None else f"{row.tolerance:.0e}",
        "agree": row.agree,
    }


def _badge(comparison: Comparison, name: str) -> dict[str, Any]:
    """Whether PyTorch agrees, in a few words: `agree` is None if it has not run."""
    name = name.partition(",")[0]
    nothing: dict[str, Any] = {"agree": None, "differs": [], "details": []}
    if comparison.missing:
        return {**nothing, "label": f"{name} has not run", "compared": comparison.missing}
    if why := not_built(comparison.ours, comparison.theirs):
        return {**nothing, "label": f"{name} alone", "compared": why}
    return {
        "agree": comparison.agree,
        "label": f"{name} {'agrees' if comparison.agree else 'differs'}",
        "compared": f"{len(comparison.table)} things",
        "differs": [str(difference) for difference in comparison.differences],
        "details": [f"details of the graph: {comparison.counted}"] if comparison.details else [],
    }


def _result(comparison: Comparison) -> dict[str, Any]:
    prefix = scene.new_identity()
    recordings = {CORE: comparison.ours, TORCH: comparison.theirs}
    agree = None if comparison.missing else comparison.agree
    sides = [
        {
            "engine": engine,
            "title": title(recording.engine, recording.device),
            **shown(recording, f"{prefix}{engine[0]}", (MODULES, *VIEWS), beside(recordings, engine, agree)),
        }
        for engine, recording in recordings.items()
    ]
    if comparison.missing:
        del recordings[TORCH]
        sides[1] = {"engine": TORCH, "title": sides[1]["title"], "missing": missing(comparison.missing)}
    if why := not_built(comparison.ours, None if comparison.missing else comparison.theirs):
        del recordings[CORE]
        sides = [{**sides[1], "alone": why}, {"engine": CORE, "title": sides[0]["title"], "missing": why}]
    return {
        "view": next(iter(sides[0].get("scene", {}).get("views", VIEWS))),
        "source": comparison.ours.source,
        "sides": sides,
        "table": table(recordings),
        "agree": None if why else comparison.agree,
        "verdict": f"PyTorch alone runs this program. {why}" if why else comparison.verdict,
        "badge": _badge(comparison, next(side["title"] for side in sides if side["engine"] == TORCH)),
        "differences": [] if why or comparison.missing else [str(difference) for difference in comparison.differences],
        "details": {"counted": comparison.counted, "all": [str(detail) for detail in comparison.details[:LISTED]]},
        "compared": [_row(row) for row in _first(comparison.table)],
        "more": max(0, len(comparison.table) - LISTED),
        "timing": "" if comparison.timing is None else str(comparison.timing),
    }


def _stills(result: dict[str, Any], view: str) -> list[str]:
    """The pictures of both sides at their last step."""
    scenes = [side["scene"] for side in result["sides"] if "scene" in side]
    return [scene.frame(drawn, view, -1) for drawn in scenes if view in drawn["views"]]


# The requests that a widget makes to a kernel. A page has no kernel, and nothing else changes its state.
_MODEL = """
const result = JSON.parse(document.getElementById("result").textContent);
const state = { result, view: result.view, step: -1 };
const listeners = {};
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; listeners[`change:${name}`]?.(); },
  on: (event, listener) => { listeners[event] = listener; },
  off: () => {},
  save_changes: () => {},
};
widget(renderComparison).render({ model, el: document.getElementById("comparison") });
"""


def as_page(comparison: Comparison) -> str:
    """The comparison as one HTML page: both pictures in step, with no kernel and no network."""
    result = _result(comparison)
    stills = "".join(_stills(result, result["view"]))
    body = (
        f'<main id="comparison"><noscript><p>{escape(result["verdict"])}</p></noscript></main>\n'
        f"<noscript><figure>{stills}</figure></noscript>"
    )
    code = script("result", result, "comparison.js", _MODEL)
    return page("The same program on both engines", body, bundle.style(*_STYLES), code)


class ComparisonView(Live):
    """Shows the result of `viz.compare`; `view` and `step` (-1 is the last) follow the reader, and can be set.

    >>> ComparisonView(viz.compare(program))  # doctest: +SKIP
    """

    _esm = bundle.script("comparison.js")
    _css = bundle.style(*_STYLES)

    result = traitlets.Dict().tag(sync=True)
    view = traitlets.Unicode("values").tag(sync=True)
    step = traitlets.Int(-1).tag(sync=True)

    def __init__(self, comparison: Comparison, **traits: Any):
        result = _result(comparison)
        traits.setdefault("view", result["view"])
        super().__init__(result=result, **traits)

    def _still(self) -> dict[str, str]:
        verdict = self.result["verdict"]
        still = fallback.picture(_stills(self.result, self.view), "Both engines", verdict)
        return {"text/html": still, "text/plain": verdict}

    def _text(self) -> str:
        return "A comparison"
