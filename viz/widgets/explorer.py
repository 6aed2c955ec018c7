"""The explorer: one program, toggles over it, and what both engines make of each change."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import traitlets

from viz import engines
from viz.engines import CORE, TORCH
from viz.experiments.edits import DTYPES, Edited, Edits, edit
from viz.experiments.mistake import mistake as lesson_on
from viz.experiments.program import Program, ProgramError, parse
from viz.export import bundle
from viz.frames import scene
from viz.frames.director import VIEWS
from viz.picture.kept import Kept
from viz.recording.record import record
from viz.recording.recording import Recording
from viz.widgets import fallback
from viz.widgets.account import BESIDE, account, missing, shown, table, title
from viz.widgets.code import codes
from viz.widgets.explain import explain
from viz.widgets.live import Live, interruptible
from viz.widgets.mend import mends
from viz.widgets.mistake import MistakeView

_SETS = ("no_grad", "inference_mode", "retain_grad", "detach", "volatile")
_MAPS = ("requires_grad", "values", "shapes", "dtypes", "hooks")
_PAUSE = 0.2  # seconds in which the next change of a slider comes before the view that nobody sees
_KEPT = ("code", "codes", "origin", "sides", "table")
_WARNED = 3  # warnings of a run that are shown
SEED = 0  # where random numbers begin in every run, on both engines: only the change makes a difference
DEFAULTS = ("float32", "float64", "float16")  # dtypes that PyTorch may make tensors of floats in
_PASS = ("backwards", "retain_graph", "create_graph", "zero_grad", "anomaly")


def _as_text(value: dict[str, Any], widget: Any) -> str:
    """A large answer on its way to the browser: as text, it is not searched for binary parts number by number."""
    return json.dumps(value, ensure_ascii=False)


def _from_text(text: str, widget: Any) -> dict[str, Any]:
    return dict(json.loads(text))


_TEXT: dict[str, Any] = {"sync": True, "to_json": _as_text, "from_json": _from_text}


def explore(program: str | Callable[..., Any], **options: Any) -> Explorer:
    """Toggles over any program: change one thing, see what both engines make of it.

    Args:
        program: source text in which `T` is the engine, or a function that takes the engine first.
        options: traits to start from: `view`, `state`.

    Raises:
        ProgramError: the program cannot be read; the message says which line.

    >>> explore("w = T.tensor(3.0, requires_grad=True)\\nL = w * w\\nL.backward()")  # doctest: +SKIP
    """
    return Explorer(program, **options)


class Explorer(Live):
    """Shows a program with its toggles, both engines' graphs, and every `.grad` side by side.

    Traits: `state` (what the toggles say, by original line and name; may be set from Python), `result` (what came of
    it), `history` (states to go back to), `view`, `step` (of both pictures; -1 is the last).
    """

    _esm = bundle.script("explorer.js")
    _css = bundle.style("explorer.js")

    program = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    result = traitlets.Dict().tag(**_TEXT)
    history: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    other = traitlets.Dict().tag(**_TEXT)  # the view that is not looked at, a moment after `result`
    # Each engine's SVG by view: apart from what the steps change in it, which is all that most answers bring.
    values_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    grad_fn_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    mistake = traitlets.Unicode("").tag(sync=True)  # the name of the one whose lesson is wanted below
    lesson = traitlets.Unicode("").tag(sync=True)  # the widget that is this lesson, by its id
    view = traitlets.Unicode("values").tag(sync=True)
    step = traitlets.Int(-1).tag(sync=True)

    _later: asyncio.TimerHandle | None = None  # the other view, about to be drawn
    _lesson: MistakeView | None = None

    def __init__(self, program: str | Callable[..., Any], **traits: Any):
        self._parsed: Program = parse(program)
        self._recordings: dict[str, Recording] = {}
        self._ran: dict[str, Any] = {}
        self._direction: dict[str, str] = {}  # of each view, as it first was: no toggle turns a picture around
        self._kept = Kept()
        self._prefix = scene.new_identity()
        super().__init__(program=_description(self._parsed), **traits)
        self.observe(lambda change: self._at_home(self._answer), "state")
        self.observe(lambda change: self._at_home(self._teach), "mistake")

    def _teach(self) -> None:
        """Make the lesson on the mistake that is asked for, and let go of the one before."""
        if self._lesson is not None:
            self._lesson.close()
        self._lesson = MistakeView(lesson_on(self.mistake)) if self.mistake else None
        self.lesson = self._lesson.model_id if self._lesson is not None else ""

    def _begin(self) -> None:
        self._answer()
        self.program = {**self.program, "values": self._tensors()}

    def _tensors(self) -> list[str]:
        """The program's values that are tensors, and those that no run has come to: what can have a gradient."""
        recordings = self._recordings.values()
        found = {name for one in recordings for value in one.graph.values.values() for name in value.names}
        ends = [one.error["line"] or 0 for one in recordings if one.error is not None]
        reached = len(self._parsed.source) if len(ends) < len(recordings) else max(ends, default=0)
        unseen = {name for line in self._parsed.lines if line.last >= reached for name in line.names}
        return [name for name in self._parsed.values if name in found | unseen]

    def _answer(self) -> None:
        """Answer with the view that is looked at; the other one is drawn when the answer is on its way."""
        self._run((self.view,))
        if self._later is not None:
            self._later.cancel()
        try:
            self._later = asyncio.get_running_loop().call_later(_PAUSE, self._draw_other, self.result)
        except RuntimeError:  # no event loop: a script, where nobody waits
            self._draw_other(self.result)

    def close(self) -> None:
        """Take the explorer off the page, and let go of all that it has recorded."""
        if self._later is not None:
            self._later.cancel()
        if self._lesson is not None:
            self._lesson.close()
        super().close()

    def _draw_other(self, result: dict[str, Any]) -> None:
        if result is not self.result or result.get("refused"):
            return
        scenes = {side["engine"]: side["scene"] for side in result["sides"] if "scene" in side}
        views = tuple(view for view in VIEWS if any(view not in drawn["views"] for drawn in scenes.values()))
        pictures, others = {}, {}
        for engine, first in scenes.items():
            recording = self._recordings[engine]
            made = scene.scene(
                recording,
                self._identity(engine),
                views=views,
                direction=self._direction,
                kept=self._kept,
                wide=BESIDE,
            )
            fresh = {key: rows for key, rows in made["details"].items() if key not in first["details"]}
            others[engine], pictures[engine] = {"views": made["views"], "details": fresh}, _taken_out(made)
        with self.hold_sync():
            self._show(pictures)
            self.other = {"seq": result["seq"], "scenes": others}
        self._keep()

    def _show(self, pictures: dict[str, dict[str, str]]) -> None:
        """Set the traits of the pictures drawn; one that is the same as before is not sent again."""
        for view in {view for drawn in pictures.values() for view in drawn}:
            self.set_trait(
                f"{view}_pictures", {engine: drawn[view] for engine, drawn in pictures.items() if view in drawn}
            )

    def _identity(self, engine: str) -> str:
        return f"{self._prefix}{engine[0]}"

    def _run(self, views: tuple[str, ...]) -> None:
        """Run the program as the toggles want it, on both engines, and send what came of it in one message."""
        began = time.perf_counter()
        state = dict(self.state)
        result: dict[str, Any] = {"seq": state.pop("seq", 0)}
        before, ran = self._recordings, self._ran
        recordings: dict[str, Recording] = {}
        sides, pictures = [], {}
        drawn: list[str] = []
        try:
            edited = edit(self._parsed, edits_of(state))
            with interruptible():
                for engine in (CORE, TORCH):
                    side, recording = self._side(engine, edited, state, views, drawn)
                    sides.append(side)
                    if recording is not None:
                        recordings[engine] = recording
                    if "scene" in side:
                        pictures[engine] = _taken_out(side["scene"])
        except (ProgramError, KeyboardInterrupt) as error:
            # The pictures of the last run stay: they are still true of the last code that ran.
            message = str(error) or "stopped"
            sentence = explain(type(error).__name__, message)
            kept: dict[str, Any] = {name: self.result[name] for name in _KEPT if name in self.result}
            self.result = {**kept, **result, "account": f"Not run: {message}. {sentence}".strip(), "refused": True}
            return
        self._recordings, self._ran = recordings, state
        result["code"] = edited.source.splitlines()
        result["codes"] = codes(edited.source, self._parsed, state, {name: SEED for name in drawn})
        result["origin"] = list(edited.origin)
        result["sides"] = sides
        result["table"] = table(recordings)
        own = self._parsed.passes  # what the program says where no toggle says another thing
        result["account"] = account({**own, **ran}, {**own, **state}, before, recordings) if before else ""
        first = next(iter(recordings.values()), None)
        result["mends"] = mends(self._parsed, state, first.error if first else None)
        result["took"] = round((time.perf_counter() - began) * 1000, 1)
        with self.hold_sync():
            self._show(pictures)
            self.result = result

    def _side(
        self, engine: str, edited: Edited, state: dict[str, Any], views: tuple[str, ...], drawn: list[str]
    ) -> tuple[dict[str, Any], Recording | None]:
        """One engine's part of the result, and its recording; a sentence in its place where the engine cannot run.

        `drawn` is told where the program has taken random numbers from.
        """
        device, dtype = ("cpu", None) if engine == CORE else (state.get("device", "cpu"), state.get("default_dtype"))
        side: dict[str, Any] = {"engine": engine, "title": title(engine, device)}
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                chosen = engines.load(engine)
                given = {"input": _asks, **self._parsed.namespace}
                with (
                    chosen.default_dtype(dtype) if dtype else contextlib.nullcontext(),
                    chosen.seeded(SEED, device) as asked,
                ):
                    recording = record(edited.source, engine, device, inputs=given)
                    random = asked()
        except (ModuleNotFoundError, ValueError, RuntimeError, MemoryError) as error:
            # PyTorch that is missing, a device that is: what is raised outside of the program. The other engine goes on.
            return {**side, "missing": missing(str(error) or type(error).__name__)}, None
        _count_from_zero(recording)
        if recording.error is not None:
            recording.error["line"] = edited.line_of(recording.error["line"])
        drawn += [name for name in random if name not in drawn]
        side.update(shown(recording, self._identity(engine), views, self._direction, self._kept))
        for view, picture in side.get("scene", {"views": {}})["views"].items():
            self._direction.setdefault(view, picture["direction"])
        told = dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in warned)
        side["warnings"] = list(told)[:_WARNED]
        about = [f"random numbers begin at seed {SEED} in every run"] if random else []
        if engine == TORCH:
            about += [f"{name.upper()}: {reason}" for name, reason in self.program["devices"].items() if reason]
        side["about"] = " · ".join(about)
        return side, recording

    def _still(self) -> dict[str, str]:
        """Both pictures as a saved notebook keeps them."""
        sides = [side for side in self.result.get("sides", []) if "scene" in side]
        titles = " and ".join(side["title"] for side in sides)
        sentence = self.result.get("account") or "The graph of this program."
        pictures = []
        for side in sides:
            if self.view in side["scene"]["views"]:
                svg = getattr(self, f"{self.view}_pictures")[side["engine"]]
                drawn = {**side["scene"]["views"][self.view], "svg": svg}
                pictures.append(scene.frame({"views": {self.view: drawn}}, self.view, -1))
        return {"text/html": fallback.picture(pictures, titles, sentence), "text/plain": f"{titles}: {sentence}"}

    def _text(self) -> str:
        return "An explorer of this program"


def _asks(prompt: object = "") -> str:
    """What `input` is to a program that runs again at every change, with nobody there to answer."""
    raise RuntimeError("input() would ask at every change of a toggle; write the value into the program instead")


def _count_from_zero(recording: Recording) -> None:
    """Sequence numbers as in a fresh process: an engine counts on from run to run, and the picture would change."""
    numbered = [op for op in recording.graph.ops.values() if op.sequence_nr is not None]
    least = min((op.sequence_nr or 0 for op in numbered), default=0)
    for op in numbered:
        op.sequence_nr = (op.sequence_nr or 0) - least


def _taken_out(made: dict[str, Any]) -> dict[str, str]:
    """The SVG of each view of a scene, which is left with what a step changes: that is what most answers consist of."""
    return {view: picture.pop("svg") for view, picture in made["views"].items()}


def edits_of(state: dict[str, Any]) -> Edits:
    """The toggles, which JSON brings as lists, as the edits that they stand for."""
    known: dict[str, Any] = {name: frozenset(state[name]) for name in _SETS if state.get(name)}
    known.update({name: dict(state[name]) for name in _MAPS if state.get(name)})
    known.update({name: state[name] for name in _PASS if state.get(name) is not None})
    return Edits(**known)


def _description(program: Program) -> dict[str, Any]:
    """What the browser needs to know of the program to draw the toggles."""
    try:
        devices = engines.load(TORCH).devices()
    except ModuleNotFoundError as error:
        devices = {"cpu": "", "cuda": str(error)}
    return {
        "source": program.source.splitlines(),
        "inputs": [
            {
                "name": i.name,
                "line": i.line,
                "value": i.value,
                "kind": i.kind,
                "shape": i.shape,
                "dtype": i.dtype,
                "requires_grad": i.requires_grad,
            }
            for i in program.inputs
        ],
        "lines": [
            {"first": line.first, "last": line.last, "kind": line.kind, "names": list(line.names)}
            for line in program.lines
        ],
        "passes": program.passes,
        "devices": devices,
        "dtypes": list(DTYPES),
        "default_dtypes": list(DEFAULTS),
    }
