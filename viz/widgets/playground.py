"""The playground: a small network learns points of the plane, optionally beside a second one with other settings."""

from __future__ import annotations

import base64
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import traitlets

from viz.experiments import curves, plane
from viz.experiments.playground import (
    DATA,
    FEATURES,
    FIRST_OWN,
    OWN,
    REACH,
    ROWS,
    Inside,
    Learner,
    Point,
    Setting,
    points_of,
    setting_of,
)
from viz.export import bundle
from viz.frames.scene import scene as scene_of
from viz.picture.chart import short
from viz.picture.fit import Room
from viz.recording.teaching import check, name_of
from viz.widgets import fallback
from viz.widgets.live import Live, interruptible

STEP = Room(928, 391)  # the stage of a step that is opened, below its program
SLICE = 0.12  # seconds of training for one answer
TOGETHER = 8  # pictures of one answer at most
SMALL, LARGE = 1e-2, 1e2  # ratio of the first layer's gradient to the last's: below it vanishes, above it explodes
DONE = 0.99  # accuracy above which small gradients are normal
TINY = 1e-4  # largest gradient below which an unfinished network hardly moves
NAMES = plane.LETTERS


class Playground(Live):
    """The result of `viz.playground`. `run(steps)` continues, `code()` is the program, `learners` are its runs.

    Traits: `asked` is the page's request, `frame` the answer; `task` is the data and settings; `scene` the opened step.
    """

    _esm = bundle.script("playground.js")
    _css = bundle.style("common.css", "playground.js")

    asked = traitlets.Dict().tag(sync=True, echo_update=False)  # the page knows what it asked
    frame = traitlets.Dict().tag(sync=True)
    task = traitlets.Dict().tag(sync=True)
    scene = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        data: str,
        points: tuple[Point, ...],
        settings: list[Setting | None],
        own: Mapping[str, Any] | None = None,
        **traits: Any,
    ) -> None:
        self._own = own or {}  # engines of the user's own, by name
        self._looked, self._at, self._wide = 0, -1, plane.WIDE
        self.learners: list[Learner | None] = []
        self._set(data, points, settings)
        super().__init__(**traits)
        self.observe(lambda change: self._at_home(self._answer), "asked")

    def _begin(self) -> None:
        self.task, self.frame = self._task(), self._frame()

    # --- the interface for Python ---

    def run(self, steps: int = 1) -> None:
        """Take this many more steps with both settings, at once.

        Raises:
            ValueError: `steps` is negative.
        """
        if steps < 0:
            raise ValueError(f"steps must not be negative, but it is {steps}")
        self._advance(steps, seconds=float("inf"))
        self._at = -1
        self.frame = self._frame()
        self._keep()

    def code(self, run: int = 0) -> str:
        """The program of a run (0 is A, 1 is B). It is exactly what runs here, and it runs anywhere."""
        return self._learner(run).text

    def call(self) -> str:
        """The call that makes this playground again, up to the step of now: to keep, or to send to somebody."""
        first, second = self._settings
        assert first is not None
        arguments = [repr(self._data), *(f"{name}={value!r}" for name, value in _changed(Setting(), first).items())]
        if second is not None:
            arguments.append(f"beside={_changed(first, second)!r}")
        if self._data == "own" and self._points != FIRST_OWN:
            arguments.append(f"points={list(self._points)!r}")
        if self._taken:
            arguments.append(f"steps={self._taken}")
        call = f"viz.playground({', '.join(arguments)})"
        for name in self._own:
            call = call.replace(repr(name), name)
        return call

    def _learner(self, run: int) -> Learner:
        learner = self.learners[run] if 0 <= run < len(self.learners) else None
        if learner is None:
            raise IndexError(f"there is no run {run}; run 1 exists only with a second setting")
        return learner

    # --- requests of the page ---

    def _answer(self) -> None:
        """Do what the page requests; any error is shown on the page."""
        asked, said, begun = self.asked, "", False
        before: list[dict[str, Any]] = []
        try:
            with interruptible():
                begun = self._take(asked)
                if asked.get("begin") and not begun:
                    self._set(self._data, self._points, self._settings)
                self._looked = min(int(asked.get("looked", 0)), 1 if self.learners[1] else 0)
                self._at = int(asked.get("at", -1))
                self._wide = min(max(float(asked.get("wide", plane.WIDE)), 200.0), 700.0)
                self._play(int(asked.get("steps", 0)), int(asked.get("frames", 1)), before)
                if "open" in asked:
                    self._open(int(asked["open"]))
        except KeyboardInterrupt:
            said = "It was interrupted. Play goes on from here."
        except Exception as error:
            said = str(error)
        with self.hold_sync():
            if begun:
                self.task = self._task()
            self.frame = {**self._frame(asked.get("seq"), said), "before": before}
        if not asked.get("playing"):
            self._keep()

    def _take(self, asked: Mapping[str, Any]) -> bool:
        """Start again with the page's data and settings if they differ. Returns whether they do."""
        if "settings" not in asked:
            return False
        settings = []
        for name, setting in zip(NAMES, asked["settings"], strict=True):
            try:
                settings.append(None if setting is None else setting_of(setting, own=self._own))
            except ValueError as error:
                raise ValueError(f"{name}: {error}" if asked["settings"][1] else f"{error}") from None
        data, points = str(asked["data"]), points_of(asked["points"])
        if (data, settings) == (self._data, self._settings) and (data != "own" or points == self._points):
            return False
        self._set(data, points, settings)
        return True

    def _set(self, data: str, points: tuple[Point, ...], settings: list[Setting | None]) -> None:
        if data not in DATA:
            raise ValueError(f"data is one of {', '.join(DATA)}, not {data!r}")
        self.learners = [
            None if setting is None else Learner(setting, data, points, own=self._own.get(setting.engine))
            for setting in settings
        ]
        self._data, self._points, self._settings = data, points, settings

    def _play(self, steps: int, frames: int, before: list[dict[str, Any]]) -> None:
        """Take the steps of several pictures; what moves fast in each but the last goes into `before`."""
        end = time.monotonic() + SLICE
        for left in reversed(range(min(frames, TOGETHER))):
            self._advance(steps, end - time.monotonic())
            if not left or time.monotonic() > end or self._over:
                return
            before.append(self._moving())

    def _advance(self, steps: int, seconds: float) -> None:
        end = time.monotonic() + seconds
        for _ in range(steps):
            for learner in filter(None, self.learners):
                learner.step()
            if time.monotonic() > end:
                return

    def _open(self, run: int) -> None:
        """Put the selected step on the stage."""
        learner = self._learner(run)
        number = min(self._looked_at(), learner.taken)
        name = f" of {NAMES[run]}" if self.learners[1] else ""
        title = f"Step {number:,}{name}: one pass of the loop"
        scene = scene_of(learner.recording(number), title=title, rooms=(STEP,))
        self.scene = {**scene, "number": number, "run": run}

    # --- what is shown ---

    @property
    def _taken(self) -> int:
        return max(learner.taken for learner in self.learners if learner)

    def _looked_at(self) -> int:
        """The number of steps that the picture shows."""
        return self._taken if self._at < 0 else min(self._at, self._taken)

    def _task(self) -> dict[str, Any]:
        shown = next(learner for learner in self.learners if learner)
        return {
            "data": self._data,
            "points": [list(point) for point in self._points],
            "settings": [None if setting is None else asdict(setting) for setting in self._settings],
            "code": [learner.text if learner else None for learner in self.learners],
            "dots": _dots(shown),
            "features": self._features(),
            "look": curves.STYLE + plane.LOOK,
            "names": list(DATA),
            "rows": self._rows(),
            "limits": {"points": OWN, "reach": REACH},
        }

    def _rows(self) -> list[list[Any]]:
        """The settings: the name of each, its label, how it is set, and its choices: `[value, text]`, or numbers."""
        rows: list[list[Any]] = []
        for name, row in ROWS.items():
            offered = list(row.offered.items() if isinstance(row.offered, Mapping) else row.offered)
            rows.append([name, row.label, row.kind, offered])
        rows[0][3] += [(engine, engine) for engine in self._own]  # the engine
        return rows

    def _features(self) -> list[list[str]]:
        """The name and the picture of each feature that there is."""
        chosen = Learner(Setting(layers=0, features=" ".join(FEATURES)), "line")
        across = chosen.places_features()
        return [[name, _packed(plane.pictures(across[each : each + 1]))] for each, name in enumerate(FEATURES)]

    def _network(self, inside: Inside, learner: Learner) -> dict[str, Any]:
        """What the neurons of a run compute, its weights, and the gradients on them."""
        return {
            "widths": [learner.setting.width] * len(inside.maps),
            "maps": [_packed(plane.pictures(layer)) for layer in inside.maps],
            "weights": [_rows(weight) for weight in inside.weights],
            "gradients": [None if gradient is None else _rows(gradient) for gradient in inside.gradients],
        }

    @property
    def _over(self) -> bool:
        return all(learner.ended for learner in self.learners if learner)

    def _moving(self) -> dict[str, Any]:
        """What moves fast: the plane, and the network on it."""
        at = self._looked_at()
        heat, lines, network = None, ["", ""], None
        for run, learner in enumerate(self.learners):
            if learner is None:
                continue
            if run == self._looked:
                inside = learner.inside(learner.nearest(min(at, learner.taken)))
                margins, network = inside.field, self._network(inside, learner)
            else:
                margins = learner.field(learner.nearest(at))
            lines[run] = plane.boundary(run, margins)
            if run == self._looked and (shaded := plane.shades(margins)) is not None:
                heat = base64.b64encode(shaded.tobytes()).decode()
        return {"at": at, "looked": self._looked, "heat": heat, "network": network, "lines": "".join(lines)}

    def _frame(self, seq: Any = None, said: str = "") -> dict[str, Any]:
        at = self._looked_at()
        shown = self._learner(self._looked)
        return {
            **self._moving(),
            "before": [],
            "seq": seq,
            "taken": self._taken,
            "present": self._at < 0 or at == self._taken,
            "stops": max((learner.kept for learner in self.learners if learner), key=len),
            "call": self.call(),
            "charts": plane.charts(self.learners, at, self._wide),
            "sentences": [self._sentence(run, at) for run, learner in enumerate(self.learners) if learner],
            "said": said,
            "playing": bool(self.asked.get("playing")) and not said,
            "over": self._over,
            "opens": at > 0 and shown.taken > 0,
        }

    def _sentence(self, run: int, at: int) -> str:
        """A run in words, after `at` steps."""
        learner = self._learner(run)
        at = min(at, learner.taken)
        if not at:
            return "Nothing is learned yet: these are the first weights."
        right = learner.right(learner.nearest(at))
        tested = f" (test {short(learner.test_losses[at - 1])})" if learner.test_losses else ""
        what = "of the variance explained" if learner.numbers else "of the points on the right side"
        parts = [f"loss {short(learner.losses[at - 1])}{tested}, {right:.0%} {what}."]
        if at == learner.taken and learner.ended:
            parts = [f"{learner.ended}"]
        else:
            parts.append(_flow(learner.sizes[at - 1]) if right < DONE else "")
        return " ".join(filter(None, parts))

    def _still(self) -> dict[str, str]:
        at = self._looked_at()
        points = _dots(next(learner for learner in self.learners if learner))
        svg = plane.still(self.learners, self._looked, at, points)
        title = f"Playground, {self._data}, after {at:,} steps."
        return {"text/html": fallback.picture([svg], title, self._words()), "text/plain": f"{title} {self._words()}"}

    def _words(self) -> str:
        told = [(run, self._sentence(run, self._looked_at())) for run, learner in enumerate(self.learners) if learner]
        return " ".join(f"{NAMES[run]}: {sentence}" if len(told) > 1 else sentence for run, sentence in told)

    def _text(self) -> str:
        return f"viz.playground({self._data!r}): {self._words()}"


def _dots(learner: Learner) -> str:
    tested, trained = learner.everything(test=True), learner.everything()
    return plane.dots(tested, learner.numbers, test=True) + plane.dots(trained, learner.numbers)


def _packed(pixels: np.ndarray) -> str:
    return base64.b64encode(pixels.tobytes()).decode()


def _rows(matrix: np.ndarray) -> list[list[float | None]]:
    """A matrix with three digits; None for a number that is not finite."""
    return [[float(f"{number:.3g}") if math.isfinite(number) else None for number in row] for row in matrix.tolist()]


def _changed(base: Setting, setting: Setting) -> dict[str, Any]:
    before = asdict(base)
    return {name: value for name, value in asdict(setting).items() if value != before[name]}


def _flow(sizes: list[float | None]) -> str:
    """How the gradient changes on its way from the last layer to the first."""
    known = [size for size in sizes if size is not None]
    if len(known) < 2:
        return ""
    first, last = known[0], known[-1]
    if not any(known):
        return "The gradient of every weight is 0: no layer will ever move."
    if first == 0:
        return "No gradient at all reaches the first layer."
    if max(known) < TINY:
        return f"The largest gradient of all layers is {short(max(known))}: the weights hardly move."
    if last == 0:
        return ""
    share = first / last
    if share < SMALL:
        return f"The gradient vanishes: in the first layer it is {_about(1 / share)} times smaller than in the last."
    if share > LARGE:
        return f"The gradient explodes: in the first layer it is {_about(share)} times larger than in the last."
    return ""


def _about(number: float) -> str:
    """A large number with two significant digits: 15,000,000."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _named(settings: Mapping[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The settings with an engine of the user's own by its name, under which it is put into `own`."""
    engine = settings.get("engine", "")
    if isinstance(engine, str):
        return dict(settings)
    check(engine)
    name = re.sub(r"\W", "_", name_of(engine))
    name = f"my_{name}" if name in ROWS["engine"].offered else name
    own[name] = engine
    return {**settings, "engine": name}


def playground(
    data: str = "circles",
    *,
    beside: Mapping[str, Any] | None = None,
    points: Iterable[Any] = FIRST_OWN,
    steps: int = 0,
    **settings: Any,
) -> Playground:
    """A small network that learns points of the plane: the boundary, the loss and the gradients move as it trains.

    Args:
        data: `"circles"`, `"moons"`, `"spiral"`, `"xor"`, `"line"`, or `"own"` for your own points; `"slope"` and
            `"hills"` have numbers instead of classes (regression).
        beside: the differences of a second setting, trained beside the first: `{"activation": "relu"}`.
        points: the points for `"own"`, each `(x, y, class)` with class 0 or 1.
        steps: how many steps to take before it is shown.
        settings: `engine` (its name, or one of your own: docs/engines.md), `layers` (hidden ones), `width`,
            `activation`, `init`, `norm`, `residual`, `optimizer`, `lr`, `batch` (0 for all points at once),
            `weight_decay`, `l1`, `zero_grad`, `seed`; `noise` (added to the points), `test` (the share of the points
            kept for a test loss), and `features`, a choice of `"x1 x2 x1^2 x2^2 x1*x2 sin(x1) sin(x2)"`.

    Raises:
        TypeError: there is no such setting (the message lists the settings), or an engine of your own lacks a part.
        ValueError: a setting cannot have that value, or your engine cannot take a step with it; the message says why.

    >>> import viz
    >>> shown = viz.playground("xor", layers=1, activation="none", beside={"activation": "tanh"}, steps=200)
    >>> [learner.right(200) > 0.95 for learner in shown.learners]
    [False, True]
    """
    own: dict[str, Any] = {}
    first = setting_of(_named(settings, own), own=own)
    second = None if beside is None else setting_of(_named(beside, own), first, own)
    made = Playground(data, points_of(points), [first, second], own)
    if steps:
        made.run(steps)
    return made
