"""The comparison as a widget: both engines' pictures in step, every difference, the table of gradients."""

from __future__ import annotations

from typing import Any

import traitlets

from viz.engines import CORE, TORCH
from viz.experiments.compare import Comparison, Difference
from viz.frames import scene
from viz.frames.director import VIEWS
from viz.widgets import bundle, fallback
from viz.widgets.account import missing, shown, table, title
from viz.widgets.live import Live

LISTED = 200  # rows of the table that are shown; what differs comes first


def _first(table: list[Difference]) -> list[Difference]:
    return sorted(table, key=lambda one: one.agree)[:LISTED] if len(table) > LISTED else table


def _row(one: Difference) -> dict[str, Any]:
    """A line of the table, as text."""
    return {
        "what": one.what,
        "where": one.where,
        "ours": one.ours,
        "theirs": one.theirs,
        "difference": "" if one.difference is None else f"{one.difference:.3g}",
        "tolerance": "" if one.tolerance is None else f"{one.tolerance:.0e}",
        "agree": one.agree,
    }


class ComparisonView(Live):
    """Shows what `viz.compare` found; `view` and `step` (-1 is the last) tell where the reader is, and may be set.

    >>> ComparisonView(viz.compare(program))  # doctest: +SKIP
    """

    _esm = bundle.script("comparison.js")
    _css = bundle.style("player.css", "pair.css", "explorer.css", "comparison.css")

    result = traitlets.Dict().tag(sync=True)
    view = traitlets.Unicode("values").tag(sync=True)
    step = traitlets.Int(-1).tag(sync=True)

    def __init__(self, comparison: Comparison, **traits: Any):
        prefix = scene.new_identity()
        recordings = {CORE: comparison.ours, TORCH: comparison.theirs}
        sides = [
            {
                "engine": engine,
                "title": title(engine, recording.device),
                **shown(recording, f"{prefix}{engine[0]}", VIEWS),
            }
            for engine, recording in recordings.items()
        ]
        if comparison.missing:
            del recordings[TORCH]
            sides[1] = {"engine": TORCH, "title": sides[1]["title"], "missing": missing(comparison.missing)}
        result = {
            "source": comparison.ours.source,
            "sides": sides,
            "table": table(recordings),
            "agree": comparison.agree,
            "verdict": comparison.verdict,
            "differences": [] if comparison.missing else [str(one) for one in comparison.differences],
            "compared": [_row(one) for one in _first(comparison.table)],
            "more": max(0, len(comparison.table) - LISTED),
            "timing": "" if comparison.timing is None else str(comparison.timing),
        }
        super().__init__(result=result, **traits)

    def _still(self) -> dict[str, str]:
        """Both pictures and the verdict, as a saved notebook keeps them."""
        stills = [scene.frame(side["scene"], self.view, -1) for side in self.result["sides"] if "scene" in side]
        verdict = self.result["verdict"]
        return {"text/html": fallback.picture(stills, "Both engines", verdict), "text/plain": verdict}

    def _text(self) -> str:
        return "A comparison"
