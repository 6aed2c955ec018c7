"""A watched training as a widget that is renewed while the cell runs, and as a page of its own."""

from __future__ import annotations

from typing import Any

import traitlets

from viz.export import bundle
from viz.export.files import page, script
from viz.monitor.history import MEASURES
from viz.monitor.picture import COLUMNS, drawn, maps_of, numbers_of
from viz.monitor.watch import Watch
from viz.picture.svg import escape
from viz.widgets import fallback
from viz.widgets.live import Live

LIGHT = 6_000  # numbers that go to the page with each picture; more of them go when the training rests
TROUBLES = 3  # sentences that are shown


def state_of(watch: Watch, numbers: bool = True) -> dict[str, Any]:
    """Everything that the page shows."""
    told, maps = watch.report(), maps_of(watch)
    sentences = [trouble.sentence for trouble in told.troubles] or [
        sentence for sentence in told.sentences if watch.columns or watch.ended
    ]
    return {
        "wide": drawn(watch, "wide", maps),
        "narrow": drawn(watch, "narrow", maps),
        "sentence": watch.sentence(),
        "troubles": sentences[:TROUBLES],
        "more": max(0, len(sentences) - TROUBLES),
        "notes": watch.notes,
        "good": not told.troubles,
        "running": watch.running,
        "measures": MEASURES,
        "numbers": numbers_of(watch, maps) if numbers else None,
    }


class WatchView(Live):
    """Shows a `Watch`. Trait: `state`, everything that the page shows; Python renews it as the training goes on."""

    _esm = bundle.script("watched.js")
    _css = bundle.style("common.css", "watched.js")

    state = traitlets.Dict().tag(sync=True)

    def __init__(self, watch: Watch, **traits: Any) -> None:
        self._watch = watch
        super().__init__(**traits)

    def _begin(self) -> None:
        self.state = state_of(self._watch)

    def show(self) -> None:
        """Send what is new."""
        columns = min(len(self._watch.columns), COLUMNS)
        light = columns * len(self._watch.layers) * len(MEASURES) < LIGHT
        self.state = state_of(self._watch, light)

    def end(self) -> None:
        """The training is over: send everything, and renew the picture that a saved notebook keeps."""
        self._begin()
        self._keep()

    def _still(self) -> dict[str, str]:
        svg, words = drawn(self._watch), " ".join([self._watch.sentence(), *self._watch.report().sentences])
        return {"text/html": fallback.picture([svg], "A watched training.", words), "text/plain": words}

    def _text(self) -> str:
        return repr(self._watch)


def as_page(watch: Watch) -> str:
    """The watch as one page that needs no kernel and no network."""
    words = " ".join([watch.sentence(), *watch.report().sentences])
    body = (
        f"<h1>A watched training</h1>\n<noscript><p>{escape(words)}</p><figure>{drawn(watch)}</figure></noscript>\n"
        '<main id="watched"></main>'
    )
    mount = (
        'mountWatched(document.getElementById("watched"), JSON.parse(document.getElementById("state").textContent));\n'
    )
    code = script("state", state_of(watch), "watched.js", mount)
    style = bundle.style("common.css", "watched.js") + "h1{font-size:20px;margin:4px 2px 10px}"
    return page("A watched training", body, style, code)
