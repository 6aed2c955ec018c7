"""Training runs as a widget: their picture up to any step, further runs with other settings, stop and continue."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import traitlets

from viz.experiments.curves import picture
from viz.experiments.surface import Surface
from viz.experiments.train import Training
from viz.export import bundle
from viz.picture.chart import LOOKS, stops
from viz.widgets import fallback
from viz.widgets.live import Live

SLICE = 0.2  # seconds of training before the kernel may do other work
MORE = 40


class TrainingView(Live):
    """Shows a `Training`. Traits: `run` and `step` (the selected ones; can be set), `state` (the results).

    `asked` is what the buttons send: more steps, a stop, or a run with other settings.
    """

    _esm = bundle.script("training.js")
    _css = bundle.style("predict.css", "slope.css", "common.css", "training.js")

    state = traitlets.Dict().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    run = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(-1).tag(sync=True)  # -1 is the last

    def __init__(self, training: Training, **traits: Any) -> None:
        self._training = training
        self._busy = False
        self._surface: Surface | None = None
        self._cost = 0.0  # seconds that the last picture took
        super().__init__(**traits)
        self.observe(self._answer, "asked")

    def _begin(self) -> None:
        self.refresh()

    def refresh(self, done: tuple[int, int] | None = None, said: str = "") -> None:
        """Draw the current state of the runs; while they run, `done` is the number of steps taken, and their total."""
        began = time.monotonic()
        training = self._training
        runs = []
        for run in training.runs:
            at = stops(len(run.steps))
            sentences = [training.sentence(run, step) for step in at]
            runs.append({"label": run.label, "at": at, "sentences": sentences, "ended": run.ended})
        if done is None:  # the map costs more than the steps, so it is kept while they run
            self._surface = training.surface()
        svg = picture(training, self._surface)
        settings = [{"name": name, "value": value} for name, value in training.settings.items()]
        self.state = {
            "svg": svg,
            "runs": runs,
            "settings": settings,
            "done": done,
            "said": said,
            "more": MORE,
            "looks": LOOKS,
        }
        if done is None:
            self._keep()
        self._cost = time.monotonic() - began

    def close(self) -> None:
        """Remove the widget from the page, and release its runs."""
        self._training.stop()
        super().close()

    def _answer(self, change: dict[str, Any]) -> None:
        asked = change["new"]
        if asked.get("stop"):
            self._training.stop()
            return
        if self._busy:
            return
        steps = int(asked.get("steps", 0))
        if "settings" in asked:
            changed = {k: v for k, v in asked["settings"].items() if self._training.settings.get(k) != v}
            try:
                self._training.begin(**changed)
            except Exception as error:  # the program's own error is shown next to the button
                self.refresh(said=f"{type(error).__name__}: {error}")
                return
        self._busy = True
        work = self._go_on(steps, look="settings" in asked)
        if self._loop is None:  # this is a script, where nobody can press stop
            asyncio.run(work)
        else:
            asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _go_on(self, steps: int, look: bool) -> None:
        """Bring all runs to the same step and `steps` further; with `look`, select the newest run."""
        said = ""
        known = len(self._training.runs)
        await asyncio.sleep(0.01)  # first finish the message that requested it
        try:
            # If drawing takes long, there is more training between two pictures.
            for done in self._training.slices(steps, lambda: max(SLICE, 4 * self._cost)):
                if look:
                    self.run, look = known - 1, False
                self.refresh(done)
                await asyncio.sleep(0.01)
        except (Exception, KeyboardInterrupt) as error:
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
        finally:
            self._busy = False
        if look and len(self._training.runs) == known:
            self.run = known - 1
        self.refresh(said=said)

    def _still(self) -> dict[str, str]:
        svg = self.state["svg"]
        return {
            "text/html": fallback.picture([svg], "Training.", repr(self._training)),
            "text/plain": repr(self._training),
        }

    def _text(self) -> str:
        return "Training runs"
