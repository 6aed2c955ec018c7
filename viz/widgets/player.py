"""The player as a widget: steps through one scene, with or without a kernel."""

from __future__ import annotations

from typing import Any

import traitlets

from viz.export import bundle
from viz.frames import levels
from viz.frames.scene import frame
from viz.frames.scene import scene as scene_of
from viz.recording.recording import Recording
from viz.telling.numbers import all_sheets, asked_for
from viz.widgets import fallback
from viz.widgets.live import Live, packed


class Player(Live):
    """Shows a recording and steps through it. The traits follow the reader, and can be set.

    Traits: `scene` (of `viz.frames.scene`), `step` (from 0), `view` ("values" or "grad_fn"), `playing`, `speed`.

    >>> player = Player(viz.record(program))  # doctest: +SKIP
    >>> player.step = 3                       # doctest: +SKIP
    """

    _esm = bundle.script("player.js")
    _css = bundle.style("player.js")

    scene = traitlets.Dict().tag(sync=True, to_json=packed)
    step = traitlets.Int(0).tag(sync=True)
    view = traitlets.Unicode("values").tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    speed = traitlets.Float(1.0).tag(sync=True)
    link = traitlets.Dict().tag(sync=True)  # to a program that can be shared: `viz.export.link.answer`
    asked = traitlets.Dict().tag(sync=True)  # the element whose numbers a page asks for, and which entry of it
    numbers = traitlets.Dict().tag(sync=True)  # the answer

    def __init__(self, shown: Recording | dict[str, Any], recording: Recording | None = None, **traits: Any):
        scene = shown if isinstance(shown, dict) else scene_of(shown)
        self._recording = recording if isinstance(shown, dict) else shown
        traits = {"view": next(iter(scene["views"])), "step": 1, **traits}  # before the first step nothing is drawn yet
        super().__init__(scene=scene, **traits)
        self.observe(lambda change: self._at_home(self._tell_numbers), "asked")

    def _tell_numbers(self) -> None:
        sheet = {} if self._recording is None else asked_for(self._recording, self.asked)
        self.numbers = {**sheet, "n": self.asked.get("n")}

    def count_ahead(self) -> None:
        """Put all the numbers into the scene, for a page that can ask no kernel later."""
        if self._recording is not None:
            self.scene = {**self.scene, "sheets": levels.packed(all_sheets(self._recording))}

    @traitlets.validate("step")
    def _within_the_scene(self, proposal: dict[str, Any]) -> int:
        return int(min(max(proposal["value"], 0), len(self.scene["steps"]) - 1))

    @traitlets.validate("view")
    def _one_of_the_views(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self.scene["views"]:
            raise traitlets.TraitError(f"view is one of {', '.join(self.scene['views'])}, not {proposal['value']!r}")
        return str(proposal["value"])

    def _still(self) -> dict[str, str]:
        last = len(self.scene["steps"]) - 1
        title, sentence = self.scene["title"], self.scene["steps"][last]["sentence"]
        picture = fallback.picture([frame(self.scene, self.view, last)], title, sentence)
        return {"text/html": picture, "text/plain": f"{title}. {sentence}"}

    def _text(self) -> str:
        return f"A player: {self.scene['title']}"
