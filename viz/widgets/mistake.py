"""A common mistake as a widget: the program, one stage for the results of both engines, and what to try."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

import traitlets

from viz.engines import CORE, NAMES
from viz.experiments.mistake import SIGNS, TITLES, MistakeLesson
from viz.export import bundle
from viz.frames import scene
from viz.frames.director import VIEWS
from viz.telling.account import beside, errors_of, missing, shown, table, title, verdict
from viz.widgets import fallback
from viz.widgets.live import Live

AS_WRITTEN = -1  # instead of a fix: the mistake itself


class MistakeView(Live):
    """Shows a `MistakeLesson`. Traits: `fix` (-1 for the mistake itself), `view`, `split`, `step`; all can be set.

    Results are stored in `parts` once they are computed, and then need no kernel.

    >>> MistakeView(viz.mistake("second backward"))  # doctest: +SKIP
    """

    _esm = bundle.script("mistake.js")
    _css = bundle.style("common.css", "mistake.js")

    lesson = traitlets.Dict().tag(sync=True)
    parts = traitlets.Dict().tag(sync=True)  # position of a fix -> the results of both engines for that program
    fix = traitlets.Int(AS_WRITTEN).tag(sync=True)
    view = traitlets.Unicode("values").tag(sync=True)
    split = traitlets.Bool(False).tag(sync=True)  # whether PyTorch's own graph is shown beside ours
    step = traitlets.Int(-1).tag(sync=True)

    def __init__(self, lesson: MistakeLesson, **traits: Any) -> None:
        self._lesson = lesson
        self._prefix = scene.new_identity()
        super().__init__(lesson=_description(lesson), **traits)
        self.observe(lambda change: self._at_home(self._begin), "fix")

    @traitlets.validate("fix")
    def _known_fix(self, proposal: dict[str, Any]) -> int:
        count = len(self._lesson.mistake.fixes)
        if not AS_WRITTEN <= proposal["value"] < count:
            raise traitlets.TraitError(
                f"fix must be from 0 to {count - 1}, or -1 for the mistake itself, not {proposal['value']}"
            )
        return int(proposal["value"])

    def _begin(self) -> None:
        """Run what is requested and has not run yet."""
        fresh = {str(fix): self._part(fix) for fix in {AS_WRITTEN, self.fix} if str(fix) not in self.parts}
        if fresh:
            self.parts = {**self.parts, **fresh}
        self._keep()

    def _part(self, position: int) -> dict[str, Any]:
        """The results of both engines for the mistake (-1) or for a fix, and what that fix changes."""
        lesson = self._lesson
        outcomes = {engine: lesson.outcome(position, engine) for engine in NAMES}
        recordings = {
            engine: outcome.recording for engine, outcome in outcomes.items() if outcome.recording is not None
        }
        sides: list[dict[str, Any]] = [{"engine": engine, "title": title(engine, "cpu")} for engine in NAMES]
        for side in sides:
            if side["engine"] not in recordings:
                side["missing"] = missing(outcomes[side["engine"]].missing)
        rows = table(recordings)
        judged = verdict(recordings, rows, sides)
        for side in sides:
            engine = side["engine"]
            recording = recordings.get(engine)
            if recording is None:
                continue
            identity = f"{self._prefix}{engine[0]}{position + 1}"
            side.update(shown(recording, identity, VIEWS, beside(recordings, engine, judged["agree"])))
            if position == AS_WRITTEN and "scene" in side:
                mark(side["scene"], lesson.marked(recording))
        return {
            "sides": sides,
            "table": rows,
            "verdict": judged,
            "errors": errors_of(sides),
            "warned": [{"engine": TITLES[name], "said": said} for name in NAMES for said in outcomes[name].warned],
            "changes": [] if position == AS_WRITTEN else [vars(change) for change in lesson.changes(position, CORE)],
        }

    def _still(self) -> dict[str, str]:
        told = self._lesson.mistake
        sides = [side for side in self.parts[str(self.fix)]["sides"] if "scene" in side]
        pictures = [scene.frame(side["scene"], self.view, -1) for side in sides[:1]]
        words = told.why
        if self.fix != AS_WRITTEN:
            fixed = told.fixes[self.fix]
            words = f"{told.why} {SIGNS[fixed.kind]} {fixed.label}: {fixed.why}"
        still = fallback.picture(pictures, f"{told.number}. {told.title}.", words)
        return {"text/html": still, "text/plain": repr(self._lesson)}

    def _text(self) -> str:
        return f"viz.mistake({self._lesson.name!r})"


def mark(scene: dict[str, Any], key: str | None) -> None:
    """Mark an element of a scene, at its last step, as the location of an error."""
    if key is None:
        return
    for view in scene["views"].values():
        for picture in (view, *view.get("others", ())):
            last = picture["patches"][-1]
            last[key] = {**last.get(key, {}), "class": "error"}


def _description(lesson: MistakeLesson) -> dict[str, Any]:
    told = lesson.mistake
    before = told.program.splitlines()
    return {
        "title": f"{told.number}. {told.title}",
        "name": told.name,
        "why": told.why,
        "silent": told.silent,
        "code": [["!" if number == told.line else " ", text] for number, text in enumerate(before, 1)],
        "fixes": [
            {
                "label": fix.label,
                "kind": fix.kind,
                "sign": SIGNS[fix.kind],
                "why": fix.why,
                "code": _edited(before, told.fixed(fix).splitlines()),
            }
            for fix in told.fixes
        ],
    }


def _edited(before: list[str], after: list[str]) -> list[list[str]]:
    """The lines of `after`, with new ones marked by `+`, and removed ones in between, marked by `-`."""
    rows: list[list[str]] = []
    for how, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if how == "equal":
            rows += ([" ", text] for text in after[start:end])
        else:
            rows += (
                [sign, text] for sign, lines in (("-", before[first:last]), ("+", after[start:end])) for text in lines
            )
    return rows
