"""Training runs as a widget: their picture up to any step, further runs with other settings, stop and go on."""

from __future__ import annotations

import asyncio
from typing import Any

import anywidget
import traitlets
from IPython.display import DisplayHandle, display

from viz.experiments.curves import picture
from viz.experiments.train import Surface, Training
from viz.widgets import bundle, fallback

SLICE = 0.2  # seconds of training between two looks at what else the kernel has to do
MORE = 40


class TrainingView(anywidget.AnyWidget):
    """Shows a `Training`. Traits: `run` and `step` (what is looked at; may be set), `state` (what came of it).

    `asked` is what the buttons send: more steps, a stop, or a run with other settings.
    """

    _esm = bundle.script("training.js")
    _css = bundle.style("player.css", "predict.css", "slope.css", "explorer.css", "training.css")

    state = traitlets.Dict().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    run = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(-1).tag(sync=True)  # -1 is the last

    def __init__(self, training: Training, **traits: Any) -> None:
        self._training = training
        self._shown: DisplayHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._surface: Surface | None = None
        super().__init__(**traits)
        self.refresh()
        self.observe(self._answer, "asked")

    def refresh(self, running: bool = False, said: str = "") -> None:
        """Draw what the runs are now."""
        training = self._training
        runs = [
            {
                "label": run.label,
                "sentences": [training.sentence(run, step) for step in range(len(run.steps))],
                "ended": run.ended,
            }
            for run in training.runs
        ]
        if not running:  # the map costs more than the steps: while they run, the one that is there serves
            self._surface = training.surface()
        svg = picture(training, self._surface)
        settings = [{"name": name, "value": value} for name, value in training.settings.items()]
        self.state = {"svg": svg, "runs": runs, "settings": settings, "running": running, "said": said, "more": MORE}
        if self._shown is not None and not running:
            self._shown.update(self._still(), raw=True)

    def _answer(self, change: dict[str, Any]) -> None:
        asked = change["new"]
        if asked.get("stop"):
            self._training.stop()
            return
        if self._task is not None and not self._task.done():
            return
        if "settings" in asked:
            changed = {k: v for k, v in asked["settings"].items() if self._training.settings.get(k) != v}
            try:
                self._training.add(**changed)
            except Exception as error:  # the program's own: it is told where the button is
                self.refresh(said=f"{type(error).__name__}: {error}")
                return
            self.run = len(self._training.runs) - 1
            self.refresh()
        elif asked.get("steps"):
            work = self._go_on(int(asked["steps"]))
            try:
                self._task = asyncio.get_running_loop().create_task(work)
            except RuntimeError:  # no event loop: a script, where nobody can press stop
                work.close()
                self._training.run(int(asked["steps"]))
                self.refresh()

    async def _go_on(self, steps: int) -> None:
        try:
            for _ in self._training.slices(steps, SLICE):
                self.refresh(running=True)
                await asyncio.sleep(0.01)
        except Exception as error:
            self.refresh(said=f"{type(error).__name__}: {error}")
            return
        self.refresh()

    def _still(self) -> dict[str, str]:
        svg = self.state["svg"]
        return {
            "text/html": fallback.picture([svg], "Training.", repr(self._training)),
            "text/plain": repr(self._training),
        }

    def _ipython_display_(self) -> None:
        """Show a still, which a saved notebook keeps, and the live widget in its place."""
        self._shown = display(self._still(), raw=True, display_id=True)
        data, metadata = self._repr_mimebundle_() or ({}, {})
        display({**data, "text/plain": "Training runs"}, metadata=metadata, raw=True)
