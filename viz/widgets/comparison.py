"""The comparison as a widget: both engines' pictures in step, every difference, the table of gradients."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets
from IPython.display import display

from viz import scene
from viz.compare import Comparison
from viz.director import VIEWS
from viz.engines import CORE, TORCH
from viz.widgets import bundle, fallback
from viz.widgets.account import shown, table, title


class ComparisonView(anywidget.AnyWidget):
    """Shows what `viz.compare` found; `view` and `step` (-1 is the last) tell where the reader is, and may be set.

    >>> ComparisonView(viz.compare(program))  # doctest: +SKIP
    """

    _esm = bundle.script("comparison.js")
    _css = bundle.style("player.css", "pair.css", "comparison.css")

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
        result = {
            "source": comparison.theirs.source,
            "sides": sides,
            "table": table(recordings),
            "agree": comparison.agree,
            "verdict": str(comparison).partition("\n")[0],
            "differences": [str(difference) for difference in comparison.differences],
        }
        super().__init__(result=result, **traits)

    def _ipython_display_(self) -> None:
        """Show a still of both pictures, which a saved notebook keeps, and the live widget in its place."""
        stills = [scene.frame(side["scene"], self.view, -1) for side in self.result["sides"]]
        verdict = self.result["verdict"]
        still = fallback.picture(stills, "Both engines", verdict)
        display({"text/html": still, "text/plain": verdict}, raw=True)
        data, metadata = self._repr_mimebundle_() or ({}, {})
        display({**data, "text/plain": "A comparison"}, metadata=metadata, raw=True)
