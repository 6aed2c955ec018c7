"""The explorer: a program, its switches, and what both engines do after each change."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import re
import sys
import time
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import traitlets

from viz import engines
from viz.engines import CORE, TORCH
from viz.experiments.edits import DTYPES, Edited, Edits, edit
from viz.experiments.fixes import fixes
from viz.experiments.listing import read_back
from viz.experiments.mistake import mistake as lesson_on
from viz.experiments.parts import given, parts_of
from viz.experiments.program import Program, ProgramError, parse, reread
from viz.export import bundle, link
from viz.frames import scene
from viz.frames.director import VIEWS
from viz.frames.levels import packed
from viz.frames.scene import MODULES
from viz.picture.boxes import has_modules
from viz.picture.fit import BELOW, BESIDE, FOLDED, Room, left_out
from viz.picture.kept import Kept, Latest
from viz.recording import own
from viz.recording.record import STEPS, record
from viz.recording.recording import Recording
from viz.recording.source import Source, without_other_frames
from viz.recording.state import as_before, found_in
from viz.recording.summary import keeping
from viz.recording.teaching import check, name_of
from viz.telling.account import (
    ANOTHER,
    account,
    beside,
    errors_of,
    is_another,
    missing,
    not_built,
    pictured,
    rewritten,
    said,
    table,
    title,
    verdict,
)
from viz.telling.common_mistakes import recognise
from viz.telling.differing import lit
from viz.telling.explain import explain
from viz.telling.numbers import KEPT, all_sheets, asked_for, key_of, summarised
from viz.widgets import fallback
from viz.widgets.code import codes
from viz.widgets.live import Live, interruptible
from viz.widgets.mistake import MistakeView

_PAUSE = 0.2  # seconds to wait for the next change of a slider before drawing hidden views
_KEPT = ("code", "codes", "origin", "owner", "sides", "table", "errors", "verdict")
_OF_THE_QUESTION = ("seq", "drag", "why", "text")  # entries of a page's message that are not part of the state
_OF_PYTORCH = ("device", "default_dtype")  # entries that do not appear in the listing
_WARNED = 3  # warnings of a run that are shown
OF_ONE = "This program uses a network or tensors of {0}, which it does not make itself: {1} cannot run it."
SEED = 0  # the seed of every run on both engines, so that only the change makes a difference
# The sizes of a stage in these places, as a page measured them last: for the next explorer.
_sizes = [{"beside": [round(side) for side in BESIDE], "below": [round(side) for side in BELOW]}]
_FROM_OUTSIDE = {"__import__", "eval", "exec", "input", "open"}  # what these give may differ from run to run
JUDGED = 2.0  # seconds for the cause of an error
NO_NUMBER, NOT_FINITE = re.compile(r"\b(None|nan|inf)\b"), re.compile(r"nan|∞")
DEFAULTS = ("float32", "float64", "float16")  # choices for PyTorch's default dtype


@dataclass(frozen=True)
class _Run:
    """One run: the recordings of both engines, the switches, the program, and the listing that ran."""

    recordings: dict[str, Recording]
    state: dict[str, Any]
    program: Program
    listing: tuple[str, ...]
    owner: tuple[int, ...]
    # The same once more, with every number, if it was asked for.
    whole: dict[str, Recording] = field(default_factory=dict)

    def switches(self) -> dict[str, Any]:
        """Where every switch stands, also those that are as the program has them."""
        own = {known.name: known.requires_grad for known in self.program.inputs}
        wanted = {**own, **(self.state.get("requires_grad") or {})}
        made = {name: line.first for line in self.program.lines for name in line.names}
        calls = {str(line.first): line.passes for line in self.program.lines if line.kind == "backward"}
        asked = self.state.get("passes") or {}
        passes = {line: {**dict.fromkeys(own, True), **asked.get(line, {})} for line, own in calls.items()}
        return {**self.program.passes, **self.state, "requires_grad": wanted, "lines": made, "passes": passes}


@dataclass(frozen=True)
class _Performed:
    """What both engines did with a listing: each one's part of the result, the table, whether they agree, the pictures."""

    recordings: dict[str, Recording]
    sides: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    verdict: dict[str, Any]
    pictures: dict[str, dict[str, str]] = field(default_factory=dict)


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
            Text that uses networks or tensors of the caller, or a function without arguments, such as a training step, runs
            on their engine alone. Whatever it changes there is put back after each run.
        engine: an engine of your own that takes the place of ours (docs/engines.md).
        options: traits to start from: `view`, `state`.

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

    Traits: `state` (the switches, by line and name of the program; can be set from Python), `result` (of the last run),
    `history` (states to go back to), `future` (states that were undone), `view` ("modules", "values" or "grad_fn"; a program
    that runs modules starts with them), `step` (-1 is the last), `place` ("beside" the code or "below" it: where the whole graph
    fits when the explorer opens; in a narrow page both are below it, and "below" is higher), `sizes` (of a stage in these
    places, in pixels), `room` (of the stage, in pixels).

    `state["source"]` is the program after edits by hand. A page requests an edit by `state["text"]`: a whole listing, which is
    read back into a program and its switches.
    """

    _esm = bundle.script("explorer.js")
    _css = bundle.style("common.css", "explorer.js")

    program = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    result = traitlets.Dict().tag(**_TEXT)
    history: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    future: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    other = traitlets.Dict().tag(**_TEXT)  # the hidden view, sent a moment after `result`
    # Each engine's SVG by view. It is kept apart from the changes of each step, which are all that most answers contain.
    values_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    grad_fn_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    modules_pictures: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)  # the element whose numbers a page asks for, and which entry of it
    numbers = traitlets.Dict().tag(**_TEXT)  # the answer
    # All answers by engine, packed, for a page without a kernel.
    sheets: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    link_asked = traitlets.Int(0).tag(sync=True)  # how often a page asked for the program's link
    link = traitlets.Dict().tag(sync=True)  # the answer
    mistake = traitlets.Unicode("").tag(sync=True)  # the mistake whose lesson is shown below
    lesson = traitlets.Unicode("").tag(sync=True)  # the id of this lesson's widget
    view = traitlets.Unicode("").tag(sync=True)
    split = traitlets.Bool(False).tag(sync=True)  # whether PyTorch's own graph is shown beside ours
    step = traitlets.Int(-1).tag(sync=True)
    place = traitlets.Unicode("").tag(sync=True)
    sizes: traitlets.Dict[str, list[int]] = traitlets.Dict().tag(sync=True)  # measured by the page when it opens
    room: traitlets.List[int] = traitlets.List().tag(sync=True)  # the space for one graph, measured by the page

    _later: asyncio.TimerHandle | None = None  # the timer that draws the other view
    _also: tuple[Room, ...] = ()  # further rooms to draw for
    _lesson: MistakeView | None = None
    _settling = False  # whether the new state is one that has already run

    def __init__(self, program: Program | str | Callable[..., Any], engine: Any = None, **traits: Any):
        self._own = engine
        self._written: Program = program if isinstance(program, Program) else parse(program)
        self._parsed = self._written  # the current program, after edits by hand
        self._last = _Run({}, {}, self._written, (), ())
        self._drag: tuple[Any, _Run] | None = None  # a number that is being dragged, and the run before that
        self._kept = Kept()
        # The latest runs of texts, which start from the same seed each: a change that goes back to one need not run it again.
        self._ran: dict[Any, tuple[dict[str, Any], Recording, list[str]]] = Latest()
        self._prefix = scene.new_identity()
        traits.setdefault("sizes", dict(_sizes[-1]))
        super().__init__(program=_description(self._parsed), **traits)
        self.observe(self._asked, "state")
        self.observe(lambda change: self._at_home(self._opened), "sizes")
        self.observe(lambda change: self._at_home(self._fit), "room")
        self.observe(lambda change: self._at_home(self._teach), "mistake")
        self.observe(lambda change: self._at_home(self._tell_numbers), "asked")
        self.observe(lambda change: self._at_home(self._tell_link), "link_asked")

    def _asked(self, change: Any) -> None:
        if not self._settling:
            self._at_home(self._answer)

    def _tell_link(self) -> None:
        program = self._written
        made = link.answer(program.source, program.namespace, state=self.state, view=self.view, step=self.step)
        self.link = {**made, "n": self.link_asked}

    def _tell_numbers(self) -> None:
        """The tables and the arithmetic of the element that was asked for; a large array is recorded once more, in full."""
        engine, element = str(self.asked.get("engine")), str(self.asked.get("key"))
        recording = self._recordings.get(engine)
        key = key_of(recording, element) if recording is not None else None
        if recording is None or key is None:
            self.numbers = {"n": self.asked.get("n")}
            return
        if summarised(recording, key):
            if engine not in self._last.whole:
                with keeping(KEPT), interruptible():
                    listing = "\n".join(self._last.listing)
                    self._last.whole[engine], _ = self._recorded(engine, listing, self._last.state)
            recording = self._last.whole[engine]
        self.numbers = {**asked_for(recording, self.asked), "n": self.asked.get("n")}

    def _teach(self) -> None:
        """Create the lesson on the requested mistake, and close the previous one."""
        if self._lesson is not None:
            self._lesson.close()
        self._lesson = MistakeView(lesson_on(self.mistake)) if self.mistake else None
        self.lesson = self._lesson.model_id if self._lesson is not None else ""

    def _begin(self) -> None:
        self._answer()

    @property
    def _recordings(self) -> dict[str, Recording]:
        return self._last.recordings

    def _tensors(self) -> list[str]:
        """The program's values that are tensors, and those that no run has reached: these can have a gradient."""
        recordings = self._recordings.values()
        found = {name for one in recordings for value in one.graph.values.values() for name in value.names}
        ends = [one.error["line"] or 0 for one in recordings if one.error is not None]
        reached = len(self._parsed.source) if len(ends) < len(recordings) else max(ends, default=0)
        unseen = {name for line in self._parsed.lines if line.last >= reached for name in line.names}
        return [name for name in self._parsed.values if name in found | unseen]

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
        """Beside the code, unless the place below it leaves out less; by modules, unless only the values are whole there."""
        recording = next(iter(recordings.values()))

        def missing(place: str) -> dict[str, int]:
            room = Room(*self.sizes[place])
            views = scene.scene(recording, views=(MODULES, *VIEWS), kept=self._kept, rooms=(room,))["views"]
            return {view: left_out(picture, room) for view, picture in views.items()}

        found = {"beside": missing("beside")}
        if any(found["beside"].values()):
            found["below"] = missing("below")
        place = min(found, key=lambda place: sum(found[place].values()))
        with self.hold_sync():
            self.place = place
            self.room = self.sizes[place]
            if anew or not self.view:
                first = [view for view in found[place] if view in (MODULES, VIEWS[0])]
                self.view = min(first, key=lambda view: found[place][view] > FOLDED)

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
            self.result = {**self.result, "sides": sides}
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
        self.sheets = {engine: packed(all_sheets(one)) for engine, one in self._recordings.items() if engine == CORE}
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
        self._drag = None
        super().close()

    def _draw_other(self, result: dict[str, Any]) -> None:
        self._later = None
        if result is not self.result or result.get("refused"):
            return
        pictures, others = {}, {}
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
        with self.hold_sync():
            self._show(pictures)
            self.other = {"seq": result["seq"], "scenes": others}
        self._keep()

    def _show(self, pictures: dict[str, dict[str, str]]) -> None:
        """Set the traits of the drawn pictures. An unchanged picture is not sent again."""
        for view in {view for drawn in pictures.values() for view in drawn}:
            name = f"{view}_pictures"
            drawn = {engine: drawn[view] for engine, drawn in pictures.items() if view in drawn}
            self.set_trait(name, {**getattr(self, name), **drawn})

    def _identity(self, engine: str) -> str:
        return f"{self._prefix}{engine[0]}"

    def _run(self) -> None:
        """Run the program as the page requests, on both engines, and send the result in one message."""
        began = time.perf_counter()
        asked = {name: self.state.get(name) for name in _OF_THE_QUESTION}
        state = {name: value for name, value in self.state.items() if name not in _OF_THE_QUESTION}
        result: dict[str, Any] = {"seq": asked["seq"] or 0}
        drawn: list[str] = []
        program = self._parsed
        try:
            self._parsed, state = self._wanted(state, asked["text"])
            edited = edit(self._parsed, Edits.of(state))
            listing = tuple(edited.source.splitlines())
            anew = asked["text"] is not None and is_another(self._last.listing, listing)
            with interruptible():
                done = self._performed(edited, state, drawn, anew)
        except (ProgramError, KeyboardInterrupt) as error:
            self._refuse(error, program, asked["text"] is not None, result)
            return
        recordings = done.recordings
        ran = _Run(recordings, state, self._parsed, listing, edited.owner)
        before = _Run({}, {}, self._parsed, (), ()) if anew else self._before(asked["drag"])
        self._last = ran
        result["code"] = list(ran.listing)
        result["codes"] = codes(edited.source, self._parsed, state, {name: SEED for name in drawn})
        result["origin"] = list(edited.origin)
        result["owner"] = list(edited.owner)
        result["sides"] = done.sides
        result["table"] = done.rows
        result["errors"] = errors_of(done.sides)
        result["verdict"] = done.verdict
        is_new = program is not self._parsed or not before.recordings
        told = self._told(before, ran, asked["why"] or "") if before.recordings else ANOTHER * anew
        result["account"] = f"{self._parsed.cleaned * is_new} {told}".strip()
        both = [engine for engine in recordings if engine in before.recordings]
        result["lit"] = {engine: lit(before.recordings[engine], recordings[engine]) for engine in both}
        first = next(iter(recordings.values()), None)
        result["cause"] = self._cause(edited, first, done.rows) if first is not None else ""
        result["fixes"] = fixes(self._parsed, state, first, self._works) if first is not None else []
        result["state"] = state
        result["took"] = round((time.perf_counter() - began) * 1000, 1)
        with self.hold_sync():
            if is_new:
                parts = [] if first is None else parts_of(self._parsed, first, state.get("frozen") or {})
                self.program = {
                    **_description(self._parsed),
                    "values": self._tensors(),
                    "parts": [vars(part) for part in parts],
                }
            if anew:
                self.step = -1
            self._show(done.pictures)
            self._settle({**state, "seq": result["seq"]} if asked["text"] is not None else None)
            self.result = result

    def _cause(self, edited: Edited, lead: Recording, rows: list[dict[str, Any]]) -> str:
        """What an error, a printed None or a gradient that is not finite comes from, if the error does not say it.

        Of what a switch has done `account` speaks.
        """
        program, error = self._parsed, lead.error
        if edited.source != program.source or self._own is not None or program.namespace:
            return ""
        gradients = (row["grad"][lead.engine] for row in rows if row["requires_grad"])
        if not error and not NO_NUMBER.search(lead.stdout) and not any(map(NOT_FINITE.search, gradients)):
            return ""
        from viz.diagnosis.diagnose import Run  # a live page fetches it when a program goes wrong

        engine = engines.load(lead.engine)
        with warnings.catch_warnings(), engine.seeded(SEED, "cpu"):
            warnings.simplefilter("ignore")
            report = Run(engine, Source(program.source), inputs={"input": _asks}, limit=JUDGED).report(tries=False)
        report.place = lambda line: f"line {edited.line_of(line)}"
        first = next((one for one in report.findings[:1] if one.explains_error or (one.certain and not error)), None)
        if first is None or first.line is None:
            return ""
        if error and error["line"] == edited.line_of(first.line) and recognise(error["message"]):
            return ""
        parts = {kind: text for kind, text in report.told_of(first) if kind in ("", "fix")}
        return f"{parts['']} {parts['fix']}"

    def _performed(self, edited: Edited, state: dict[str, Any], drawn: list[str], anew: bool = False) -> _Performed:
        """Run a listing on both engines, and draw it in the current view; `anew`: in the place and the view that suit it.

        `drawn` receives the sources of random numbers that the program used.
        """
        recordings: dict[str, Recording] = {}
        sides: list[dict[str, Any]] = []
        for engine in (CORE, TORCH):
            if self._parsed.alone not in ("", engine):
                name = title(engine, "cpu")
                sides.append({"engine": engine, "title": name, "missing": OF_ONE.format(self._parsed.alone, name)})
                continue
            side, recording = self._side(engine, edited, state, drawn)
            sides.append(side)
            if recording is not None:
                recordings[engine] = recording
        if CORE in recordings and (why := not_built(recordings[CORE], recordings.get(TORCH))):
            del recordings[CORE]
            sides[0] = {"engine": CORE, "title": sides[0]["title"], "missing": why}
        if CORE not in recordings and TORCH in recordings:
            ours, theirs = sides
            sides = [{**theirs, "alone": ours["missing"]}, ours]  # the stage shows the one that ran
        if recordings and (anew or not self.place):
            self._choose_place(recordings, anew)
        rows = table(recordings)
        done = _Performed(recordings, sides, rows, verdict(recordings, rows, sides))
        agree = done.verdict["agree"]
        for side in sides:
            if (recording := recordings.get(side["engine"])) is not None:
                side.update(said(recording))
                # Where both agree, the answer does not wait for the picture that is behind the badge.
                if recording.graph.values and (side is sides[0] or self.split or not agree):
                    side["scene"] = self._drawn(side["engine"], recordings, agree)
                    done.pictures[side["engine"]] = _taken_out(side["scene"])
        return done

    def rehearse(self, state: dict[str, Any]) -> None:
        """Do what a press that asks for this state will ask for, and show nothing: the press finds its run remembered.

        Raises:
            ProgramError: no program can be written with these switches.
        """
        edited = edit(self._parsed, Edits.of(state))
        kept = self._kept
        self._kept = kept.branch()
        try:
            if self._may_remember(edited.source):
                self._performed(edited, state, [])
        finally:
            self._kept = kept

    def _may_remember(self, source: str) -> bool:
        """Whether a listing gives the same each time that it runs."""
        return self._own is None and not self._parsed.namespace and _runs_alike(source)

    def _wanted(self, state: dict[str, Any], text: str | None) -> tuple[Program, dict[str, Any]]:
        """The program and the switches that the page requests."""
        cleaned = ""
        if text is not None:
            program, switches = read_back(text, self._parsed)
            cleaned = program.cleaned
            source = {} if program.source == self._written.source else {"source": program.source}
            state = {**switches, **source, **{name: state[name] for name in _OF_PYTORCH if name in state}}
        wanted = state.get("source", self._written.source)
        if wanted == self._written.source:
            return self._written, state
        if wanted == self._parsed.source:
            return self._parsed, state
        return replace(reread(wanted, self._written), cleaned=cleaned), state

    def _refuse(self, error: BaseException, program: Program, written_by_hand: bool, result: dict[str, Any]) -> None:
        """Say why nothing has run. The pictures of the last run stay, since they belong to the last code that ran."""
        self._parsed = program
        message = str(error) or "stopped"
        sentence = explain(type(error).__name__, message)
        bare = edit(program, Edits())  # the listing if nothing has run to its end yet
        kept: dict[str, Any] = {
            "code": bare.source.splitlines(),
            "origin": list(bare.origin),
            "owner": list(bare.owner),
            **{name: self.result[name] for name in _KEPT if name in self.result},
        }
        if isinstance(error, ProgramError):
            result["line"] = error.line
        if written_by_hand:  # code that cannot run stays in the editor, not in the state
            result["state"] = self._last.state
            self._settle({**self._last.state, "seq": result["seq"]})
        self.result = {**kept, **result, "account": f"Not run: {message}. {sentence}".strip(), "refused": True}

    def _settle(self, state: dict[str, Any] | None) -> None:
        """Set `state` to what has run, without running it again."""
        if state is None:
            return
        self._settling = True
        try:
            self.state = state
        finally:
            self._settling = False

    def _before(self, drag: Any) -> _Run:
        """What a change is compared with: the last run, or the run before a number began to be dragged."""
        if drag is None:
            self._drag = None
        elif self._drag is None or self._drag[0] != drag:
            self._drag = drag, self._last
        return self._last if self._drag is None else self._drag[1]

    def _told(self, before: _Run, ran: _Run, why: str) -> str:
        """The sentence about a change. The program's own sentence is used if no switch says something else."""
        same = before.program.source == ran.program.source
        by_hand = "" if same else rewritten(before.listing, ran.listing, ran.owner)
        return account(before.switches(), ran.switches(), before.recordings, ran.recordings, why or by_hand)

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
        rooms = (Room(*self.room), *self._also)
        return {
            **pictured(recording, self._identity(engine), tuple(views), self._kept, rooms, other),
            "offers": list(offers),
        }

    def _works(self, state: dict[str, Any]) -> bool:
        """Whether the program in another state runs to its end on our engine."""
        try:
            program, state = self._wanted(state, None)
            with interruptible(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source = edit(program, Edits.of(state)).source
                recording, _ = self._recorded(program.alone or CORE, source, state, limit=0)
                return recording.error is None
        except (ProgramError, ValueError, RuntimeError, KeyboardInterrupt):
            return False

    def _recorded(
        self, engine: str, source: str, state: dict[str, Any], limit: int = STEPS
    ) -> tuple[Recording, list[str]]:
        """A run of a listing on one engine, and the sources of random numbers that it used."""
        chosen, device = engines.load(engine), _device(engine, state)
        dtype = None if engine == CORE else state.get("default_dtype")
        namespace = self._parsed.namespace
        at_dtype = chosen.default_dtype(dtype) if dtype else contextlib.nullcontext()
        alone = self._parsed.alone
        outside = as_before(chosen, found_in(chosen, namespace)) if alone else contextlib.nullcontext()
        with outside, at_dtype, chosen.on_one_thread(), chosen.seeded(SEED, device) as asked:
            used = self._own if engine == CORE and self._own else engine
            return record(source, used, device, inputs={"input": _asks, **namespace}, limit=limit), asked()

    def _side(
        self, engine: str, edited: Edited, state: dict[str, Any], drawn: list[str]
    ) -> tuple[dict[str, Any], Recording | None]:
        """One engine's part of the result, and its recording; a sentence instead if the engine cannot run.

        `drawn` receives the sources of random numbers that the program used.
        """
        run = engine, edited.source, edited.origin, edited.owner, *(state.get(name) for name in _OF_PYTORCH)
        if run in self._ran:
            known, recording, random = self._ran[run]
            drawn += [name for name in random if name not in drawn]
            return dict(known), recording
        device = _device(engine, state)
        name = engine if self._own is None or engine != CORE else name_of(self._own)
        side: dict[str, Any] = {"engine": engine, "title": title(name, device)}
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                recording, random = self._recorded(engine, edited.source, state)
        except (ModuleNotFoundError, ValueError, RuntimeError, MemoryError) as error:
            # An error outside the program, such as a missing PyTorch or device. The other engine continues.
            return {**side, "missing": missing(str(error) or type(error).__name__)}, None
        _count_from_zero(recording)
        if recording.error is not None:
            recording.error["line"] = edited.line_of(recording.error["line"])
        said = [recording.graph.note] if recording.graph.ops else []
        if recording.cut is not None:
            said.append(
                f"The picture ends at line {edited.line_of(recording.cut)}, after {STEPS:,} steps; the program ran on without it."
            )
        if any(said):
            side["cut"] = " ".join(said).strip()
        drawn += [name for name in random if name not in drawn]
        told = dict.fromkeys(without_other_frames(f"{one.category.__name__}: {one.message}") for one in warned)
        side["warnings"] = list(told)[:_WARNED]
        about = [f"random numbers start from seed {SEED} in every run"] if random else []
        if engine == TORCH:
            about += [f"{name.upper()}: {reason}" for name, reason in self.program["devices"].items() if reason]
        side["about"] = " · ".join(about)
        if self._may_remember(edited.source):
            self._ran[run] = dict(side), recording, random
        return side, recording

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


def _runs_alike(text: str) -> bool:
    """Whether a text computes the same each time: it imports nothing but the engines, and reads nothing from outside."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return False
    imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {name.partition(".")[0] for name in imported} <= {TORCH, CORE} and not names & _FROM_OUTSIDE


def _device(engine: str, state: dict[str, Any]) -> str:
    return "cpu" if engine == CORE else state.get("device", "cpu")


def _asks(prompt: object = "") -> str:
    """Replaces `input` in a program that runs again at every change, with nobody there to answer."""
    raise RuntimeError("input() would ask at every change of a switch; write the value into the program instead")


def _count_from_zero(recording: Recording) -> None:
    """Restart sequence numbers, as in a fresh process: an engine keeps counting, and the picture would change."""
    numbered = [op for op in recording.graph.ops.values() if op.sequence_nr is not None]
    least = min((op.sequence_nr or 0 for op in numbered), default=0)
    for op in numbered:
        op.sequence_nr = (op.sequence_nr or 0) - least


def _taken_out(made: dict[str, Any]) -> dict[str, str]:
    """Take the SVG of each view out of a scene. What remains are the changes of each step, which most answers consist of."""
    return {view: picture.pop("svg") for view, picture in made["views"].items()}


def _description(program: Program) -> dict[str, Any]:
    """What the browser needs to know about the program to draw the toggles."""
    try:
        devices = engines.load(TORCH).devices()
    except ModuleNotFoundError as error:
        devices = {"cpu": "", "cuda": str(error)}
    return {
        "source": program.source.splitlines(),
        "inputs": [{**vars(one), "kind": one.kind} for one in program.inputs],
        "lines": [{**vars(line), "names": list(line.names), "passes": list(line.passes)} for line in program.lines],
        "values": list(program.values),
        "parts": [],
        "given": given(program.namespace),
        "passes": program.passes,
        "devices": devices,
        "dtypes": list(DTYPES),
        "default_dtypes": list(DEFAULTS),
    }
