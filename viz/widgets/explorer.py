"""The explorer: a program, its switches, and what both engines do after each change."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import traitlets

from viz.engines import CORE
from viz.experiments.edits import Edited, edit
from viz.experiments.fixes import fixes
from viz.experiments.listing import read_back
from viz.experiments.mistake import mistake as lesson_on
from viz.experiments.parts import Part, given, parts_of
from viz.experiments.program import Program, ProgramError, parse, reread
from viz.experiments.switches import PYTORCH, offers
from viz.export import bundle, link
from viz.frames import scene
from viz.frames.director import VIEWS
from viz.frames.levels import packed
from viz.frames.scene import MODULES
from viz.picture.boxes import has_modules
from viz.picture.fit import BELOW, BESIDE, FOLDED, Room, left_out
from viz.picture.kept import Kept
from viz.recording import own
from viz.recording.recording import Recording
from viz.recording.summary import keeping
from viz.recording.teaching import check
from viz.telling.account import ANOTHER, beside, errors_of, is_another, pictured
from viz.telling.differing import lit
from viz.telling.explain import explain
from viz.telling.numbers import KEPT, all_sheets, asked_for, key_of, summarised
from viz.widgets import fallback
from viz.widgets.cause import cause_of
from viz.widgets.code import codes
from viz.widgets.live import Live, interruptible
from viz.widgets.mistake import MistakeView
from viz.widgets.runs import SEED, Run, Runs

_PAUSE = 0.2  # seconds to wait for the next change of a slider before drawing hidden views
_KEPT = ("code", "codes", "origin", "owner", "place", "sides", "table", "errors", "verdict")
# The sizes of a stage in these places, as a page measured them last: for the next explorer.
_sizes = [{"beside": [round(side) for side in BESIDE], "below": [round(side) for side in BELOW]}]
DEFAULTS = ("float32", "float64", "float16")  # choices for PyTorch's default dtype


def _as_text(value: dict[str, Any], widget: Any) -> str:
    """A large answer, sent to the browser as text, so that it is not searched for binary parts number by number."""
    return json.dumps(value, ensure_ascii=False)


def _from_text(text: str, widget: Any) -> dict[str, Any]:
    return dict(json.loads(text))


_TEXT: dict[str, Any] = {"sync": True, "to_json": _as_text, "from_json": _from_text}


def explore(program: str | Callable[..., Any], engine: Any = None, **options: Any) -> Explorer:
    """A program that you can change, by switches or by hand, to see what both engines do after each change.

    Args:
        program: source text in which `T` is the engine, or a function that takes the engine first: both engines run it.
            Text that uses networks or tensors of the caller runs on their engine alone, and so does a function without
            arguments, such as a training step. Whatever it changes there is put back after each run.
        engine: an engine of your own that takes the place of ours (docs/engines.md).
        options: what to start from: `view`, `state`.

    Raises:
        ProgramError: the program cannot be read; the message says which line.

    >>> explore("w = T.tensor(3.0, requires_grad=True)\\nL = w * w\\nL.backward()")  # doctest: +SKIP
    """
    own.check(program, "viz.explore")
    if engine is not None:
        check(engine)
    frame = sys._getframe(1)
    read = parse(program, ChainMap(frame.f_locals, frame.f_globals))  # to which later cells add names
    return Explorer(read, engine, **options)


class Explorer(Live):
    """Shows a program with its switches, and the graph that both engines build for it.

    `state` has the switches, by line and name of the program, and as `source` the program after edits by hand; `result`
    is what both engines did with it. `place` is "beside" the code or "below" it: where the whole graph fits at first
    (in a narrow page both are below it, and "below" is higher). What can be set: `state`, `view` ("modules", "values"
    or "grad_fn"; a program that runs modules starts with them), `split`, `step` (-1: the last).

    A page writes `request`, `questions` and `history`, Python `result` and `answers`. A trait is sent as a whole, so
    they are several: a step does not send the history again, and neither a number nor the hidden view the result.
    """

    _esm = bundle.script("explorer.js")
    _css = bundle.style("common.css", "explorer.js")

    # What to run: `state`, and of a page also `seq`, the number that the result repeats, and `text` (a listing after an
    # edit by hand, to be read back into a state), `drag` (the drag that it is part of) or `why` (what is said of it).
    request = traitlets.Dict().tag(sync=True)
    program = traitlets.Dict().tag(sync=True)  # its lines, and the switches beside them
    result = traitlets.Dict().tag(**_TEXT)
    other = traitlets.Dict().tag(**_TEXT)  # the hidden view, sent a moment after `result`
    # Each engine's SVG by view, apart from the changes of each step, which are all that most answers contain.
    values_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    grad_fn_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    modules_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    questions = traitlets.Dict().tag(sync=True)  # about what is shown: of each kind the last, with a number `n`
    answers = traitlets.Dict().tag(**_TEXT)  # to the new ones among them
    # The page's changes: their `labels`, the `states` before, between and after them, and the one that it is `at`.
    history: traitlets.Dict[str, Any] = traitlets.Dict({"labels": [], "states": [None], "at": 0}).tag(sync=True)
    view = traitlets.Unicode("").tag(sync=True)
    split = traitlets.Bool(False).tag(sync=True)  # whether PyTorch's own graph is shown beside ours
    step = traitlets.Int(-1).tag(sync=True)
    sizes: traitlets.Dict[str, list[int]] = traitlets.Dict().tag(sync=True)  # of a stage in each place, in pixels
    room: traitlets.List[int] = traitlets.List().tag(sync=True)  # the space for one graph, measured by the page

    place = ""
    _later: asyncio.TimerHandle | None = None  # the timer that draws the other view
    _also: tuple[Room, ...] = ()  # further rooms to draw for
    _lesson: MistakeView | None = None

    def __init__(
        self,
        program: Program | str | Callable[..., Any],
        engine: Any = None,
        state: dict[str, Any] | None = None,
        **traits: Any,
    ):
        self._written: Program = program if isinstance(program, Program) else parse(program)
        self._runs = Runs(engine)
        self._last = Run(self._written, {}, Edited("", (), ()))
        self._kept = Kept()
        self._prefix = scene.new_identity()
        traits.setdefault("sizes", dict(_sizes[-1]))
        super().__init__(program=self._description(), request={"state": state or {}}, **traits)
        self.observe(lambda change: self._at_home(self._answer), "request")
        self.observe(lambda change: self._at_home(self._opened), "sizes")
        self.observe(lambda change: self._at_home(self._fit), "room")
        self.observe(lambda change: self._at_home(lambda: self._reply(change.old)), "questions")

    @property
    def state(self) -> dict[str, Any]:
        return dict(self.result["state"])

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self.request = {"state": {**state}}

    def _reply(self, before: dict[str, Any]) -> None:
        """Answer the questions that are new. Those that a page asks while this is busy come in one message."""
        ways = {"numbers": self._numbers, "link": self._link, "lesson": self._teach}
        asked = {kind: what for kind, what in self.questions.items() if what != before.get(kind)}
        self.answers = {kind: {**ways[kind](what), "n": what["n"]} for kind, what in asked.items()}

    def _link(self, asked: dict[str, Any]) -> dict[str, str]:
        program = self._written
        return link.answer(program.source, program.namespace, state=self.state, view=self.view, step=self.step)

    def _numbers(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The tables and the arithmetic of the element asked for; a large array is recorded once more, in full."""
        engine, element = str(asked["engine"]), str(asked["key"])
        recording = self._recordings.get(engine)
        key = key_of(recording, element) if recording is not None else None
        if recording is None or key is None:
            return {}
        if summarised(recording, key):
            if engine not in self._last.whole:
                with keeping(KEPT), interruptible():
                    last = self._last
                    last.whole[engine], _ = self._runs.recorded(last.program, engine, last.edited.source, last.state)
            recording = self._last.whole[engine]
        return asked_for(recording, asked)

    def _teach(self, asked: dict[str, Any]) -> dict[str, str]:
        """Create the lesson on the mistake asked for, if any, and close the previous one."""
        if self._lesson is not None:
            self._lesson.close()
        self._lesson = MistakeView(lesson_on(asked["name"])) if asked["name"] else None
        return {"lesson": self._lesson.model_id if self._lesson is not None else ""}

    def _begin(self) -> None:
        self._answer()

    @property
    def _recordings(self) -> dict[str, Recording]:
        return self._last.recordings

    def _answer(self) -> None:
        """Answer with the current view; the others are drawn after the answer is sent."""
        self._run()
        self._draw_others_soon()

    def _opened(self) -> None:
        """The page has measured its places: choose the stage's again."""
        _sizes[-1] = dict(self.sizes)
        if self._recordings:
            self._choose_place(self._recordings)

    def _choose_place(self, recordings: dict[str, Recording], anew: bool = False) -> None:
        """Beside the code, unless the place below leaves out less: of a network by its modules, else of all views.

        By modules, unless only the values are whole there.
        """
        recording = next(iter(recordings.values()))
        omitted, order = {}, {}
        for place in ("beside", "below"):
            room = Room(*self.sizes[place])
            views = scene.scene(recording, views=(MODULES, *VIEWS), kept=self._kept, rooms=(room,))["views"]
            omitted[place] = {view: left_out(picture, room) for view, picture in views.items()}
            first = next(iter(views))
            larger = min(room.width / views[first]["width"], room.height / views[first]["height"])
            order[place] = omitted[place][first] > FOLDED, sum(omitted[place].values()), -larger
            if not omitted[place][first] and (first == MODULES or not order[place][1]):
                break
        place = min(order, key=lambda place: order[place])
        self.place = place
        with self.hold_sync():
            self.room = self.sizes[place]
            if anew or not self.view:
                offered = [view for view in omitted[place] if view in (MODULES, VIEWS[0])]
                self.view = min(offered, key=lambda view: omitted[place][view] > 0)

    def _fit(self) -> None:
        """The stage has another size: draw the last run for it."""
        if not self._recordings or self.result.get("refused"):
            return
        sides, pictures = [], {}
        for side in self.result["sides"]:
            if "scene" in side:
                made = self._drawn(side["engine"], self._recordings, self.result["verdict"]["agree"])
                side, pictures[side["engine"]] = {**side, "scene": made}, _taken_out(made)
            sides.append(side)
        with self.hold_sync():
            self._show(pictures)
            self.result = {**self.result, "sides": sides, "place": self.place}
        self._draw_others_soon()

    def _draw_others_soon(self) -> None:
        if self._later is not None:
            self._later.cancel()
        try:
            self._later = asyncio.get_running_loop().call_later(_PAUSE, self._draw_other, self.result)
        except RuntimeError:  # no event loop: this is a script, where nobody waits
            self._draw_other(self.result)

    def draw_for(self, *rooms: Room) -> None:
        """Draw every view for other rooms as well, and count all numbers, for a page that can ask no kernel later."""
        self._also = rooms
        self._fit()
        if self._later is not None:
            self._later.cancel()
            self._draw_other(self.result)

    def close(self) -> None:
        """Remove the explorer from the page, and release everything that it has recorded."""
        if self._later is not None:
            self._later.cancel()
        if self._lesson is not None:
            self._lesson.close()
        super().close()

    def _draw_other(self, result: dict[str, Any]) -> None:
        self._later = None
        if result is not self.result or result.get("refused"):
            return
        pictures, others, sheets = {}, {}, {}
        for side in result["sides"]:
            engine, first = side["engine"], side.get("scene")
            if "missing" in side:
                continue
            made = self._drawn(
                engine, self._recordings, result["verdict"]["agree"], () if first is None else first["views"]
            )
            if first is not None:
                fresh = {key: rows for key, rows in made["details"].items() if key not in first["details"]}
                made = {"views": made["views"], "details": fresh}
            others[engine], pictures[engine] = made, _taken_out(made)
            if self._also and engine == CORE:  # nobody will be there to count
                sheets[engine] = packed(all_sheets(self._recordings[engine]))
        with self.hold_sync():
            self._show(pictures)
            self.other = {"seq": result["seq"], "scenes": others, "sheets": sheets}
        self._keep()

    def _show(self, pictures: dict[str, dict[str, str]]) -> None:
        """Set the traits of the drawn pictures. An unchanged picture is not sent again."""
        for view in {view for drawn in pictures.values() for view in drawn}:
            name = f"{view}_pictures"
            drawn = {engine: drawn[view] for engine, drawn in pictures.items() if view in drawn}
            self.set_trait(name, {**getattr(self, name), **drawn})

    def _run(self) -> None:
        """Run the program as the page requests, on both engines, and send the result in one message."""
        began = time.perf_counter()
        asked, last = self.request, self._last
        state, text, drag = asked["state"], asked.get("text"), asked.get("drag")
        result: dict[str, Any] = {"seq": asked.get("seq", 0)}
        try:
            program, state = self._wanted(state, text)
            edited = edit(program, state)
            anew = text is not None and is_another(last.listing, edited.source.splitlines())
            with interruptible():
                run = self._runs.both(program, edited, state)
                pictures = self._pictures(run, anew)
        except (ProgramError, KeyboardInterrupt) as error:
            # Code that cannot run stays in the editor, not in the state.
            self._refuse(error, {**result, "state": state if text is None else last.state})
            return
        # A change is compared with the last run, or with the run before its number began to be dragged.
        since = last.since if drag is not None and drag == last.drag else None
        before = Run(program, {}, edited) if anew else since or last
        if drag is not None and not anew:
            run = replace(run, drag=drag, since=replace(before, since=None))
        self._last = run
        is_new = program is not last.program or not before.recordings
        told = run.told(before, asked.get("why", "")) if before.recordings else ANOTHER * anew
        both = [engine for engine in run.recordings if engine in before.recordings]
        result |= {
            "code": run.listing,
            "codes": codes(edited.source, program, state, dict.fromkeys(run.random, SEED)),
            "origin": list(edited.origin),
            "owner": list(edited.owner),
            "sides": run.sides,
            "table": run.rows,
            "errors": errors_of(run.sides),
            "verdict": run.verdict,
            "account": f"{program.cleaned * is_new} {told}".strip(),
            "lit": {engine: lit(before.recordings[engine], run.recordings[engine]) for engine in both},
            "cause": cause_of(run) if self._runs.own is None else "",
            "fixes": fixes(program, state, run.first, self._works) if run.first is not None else [],
            "state": state,
            "place": self.place,
            "took": round((time.perf_counter() - began) * 1000, 1),
        }
        with self.hold_sync():
            if is_new:
                parts = parts_of(program, run.first, state.get("frozen") or {}) if run.first is not None else []
                self.program = self._description(run.tensors(), parts)
            if anew:
                self.step = -1
            self._show(pictures)
            self.result = result

    def _pictures(self, run: Run, anew: bool = False) -> dict[str, dict[str, str]]:
        """Draw a run in the current view; `anew`: in the place and the view that suit it."""
        if run.recordings and (anew or not self.place):
            self._choose_place(run.recordings, anew)
        pictures, agree = {}, run.verdict["agree"]
        for side in run.sides:
            recording = run.recordings.get(side["engine"])
            # Where both agree, the answer does not wait for the picture that is behind the badge.
            if recording and recording.graph.values and (side is run.sides[0] or self.split or not agree):
                side["scene"] = self._drawn(side["engine"], run.recordings, agree)
                pictures[side["engine"]] = _taken_out(side["scene"])
        return pictures

    def rehearse(self, state: dict[str, Any]) -> None:
        """Do what a press that asks for this state will ask for, and show nothing: the press finds its run remembered.

        Raises:
            ProgramError: no program can be written with these switches.
        """
        program, kept = self._last.program, self._kept
        edited = edit(program, state)
        self._kept = kept.branch()
        try:
            if self._runs.remembers(program, edited.source):
                self._pictures(self._runs.both(program, edited, state))
        finally:
            self._kept = kept

    def _wanted(self, state: dict[str, Any], text: str | None) -> tuple[Program, dict[str, Any]]:
        """The program and the switches that the page requests."""
        cleaned = ""
        if text is not None:
            program, switches = read_back(text, self._last.program)
            cleaned = program.cleaned
            source = {} if program.source == self._written.source else {"source": program.source}
            state = {**switches, **source, **{name: state[name] for name in PYTORCH if name in state}}
        wanted = state.get("source", self._written.source)
        if wanted == self._written.source:
            return self._written, state
        if wanted == self._last.program.source:
            return self._last.program, state
        return replace(reread(wanted, self._written), cleaned=cleaned), state

    def _refuse(self, error: BaseException, result: dict[str, Any]) -> None:
        """Say why nothing has run. The pictures of the last run stay, since they belong to the last code that ran."""
        message = str(error) or "stopped"
        sentence = explain(type(error).__name__, message)
        bare = edit(self._last.program, {})  # the listing if nothing has run to its end yet
        kept: dict[str, Any] = {
            "code": bare.source.splitlines(),
            "origin": list(bare.origin),
            "owner": list(bare.owner),
            **{name: self.result[name] for name in _KEPT if name in self.result},
        }
        if isinstance(error, ProgramError):
            result["line"] = error.line
        self.result = {**kept, **result, "account": f"Not run: {message}. {sentence}".strip(), "refused": True}

    def _drawn(
        self, engine: str, recordings: dict[str, Recording], agree: bool | None, without: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """The scene of a recording in the current view; or in all views but some."""
        recording = recordings[engine]
        by_module = has_modules(recording.graph)
        if not self.view:
            self.view = MODULES if by_module else VIEWS[0]
        offers = (MODULES, *VIEWS) if by_module else VIEWS
        views = [view for view in offers if without is not None and view not in without]
        if without is None:
            views = [self.view if self.view in offers else VIEWS[0]]
        other = beside(recordings, engine, agree)
        rooms, identity = (Room(*self.room), *self._also), f"{self._prefix}{engine[0]}"
        return {**pictured(recording, identity, tuple(views), self._kept, rooms, other), "offers": list(offers)}

    def _works(self, state: dict[str, Any]) -> bool:
        """Whether the program in another state runs to its end on our engine."""
        try:
            program, state = self._wanted(state, None)
            with interruptible(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source = edit(program, state).source
                recording, _ = self._runs.recorded(program, program.alone or CORE, source, state, limit=0)
                return recording.error is None
        except (ProgramError, ValueError, RuntimeError, KeyboardInterrupt):
            return False

    def _description(self, values: Sequence[str] = (), parts: Sequence[Part] = ()) -> dict[str, Any]:
        """What the browser needs to know about the program: its lines, and the switches beside them."""
        program = self._last.program
        return {
            "source": program.source.splitlines(),
            "inputs": [{**vars(one), "kind": one.kind} for one in program.inputs],
            "lines": [{"first": line.first, "last": line.last, "kind": line.kind} for line in program.lines],
            "switches": offers(program, values, parts),
            "given": given(program.namespace),
            "devices": self._runs.devices,
            "default_dtypes": list(DEFAULTS),
        }

    def _still(self) -> dict[str, str]:
        """Both pictures that a saved notebook stores."""
        sides = [side for side in self.result.get("sides", []) if "scene" in side]
        titles = " and ".join(side["title"] for side in sides)
        sentence = self.result.get("account") or "The graph of this program."
        pictures = []
        for side in sides:
            for view, picture in side["scene"]["views"].items():
                drawn = {**picture, "svg": getattr(self, f"{view}_pictures")[side["engine"]]}
                pictures.append(scene.frame({"views": {view: drawn}}, view, -1))
        return {"text/html": fallback.picture(pictures, titles, sentence), "text/plain": f"{titles}: {sentence}"}


def _taken_out(made: dict[str, Any]) -> dict[str, str]:
    """Take the SVG of each view out of a scene. The changes of each step remain: most answers are no more."""
    return {view: picture.pop("svg") for view, picture in made["views"].items()}
