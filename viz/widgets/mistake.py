"""A common mistake as a widget: the wrong program and a fixed one beside each other, on either engine."""

from __future__ import annotations

from typing import Any

import traitlets

from viz.engines import CORE, NAMES
from viz.experiments.mistake import SIGNS, TITLES, MistakeLesson
from viz.export import bundle
from viz.frames import scene
from viz.telling.account import NOT_YET, title
from viz.widgets import fallback
from viz.widgets.live import Live


class MistakeView(Live):
    """Shows a `MistakeLesson`. Traits: `fix` (which fix is beside the mistake), `engine`, `view`, `step`; all may be set.

    What was asked for once is in `parts` and needs no kernel any more.

    >>> MistakeView(viz.mistake("second backward"))  # doctest: +SKIP
    """

    _esm = bundle.script("mistake.js")
    _css = bundle.style("common.css", "mistake.js")

    lesson = traitlets.Dict().tag(sync=True)
    parts = traitlets.Dict().tag(sync=True)  # "engine position" -> what the engine made of that program
    fix = traitlets.Int(0).tag(sync=True)
    engine = traitlets.Unicode(CORE).tag(sync=True)
    view = traitlets.Unicode("values").tag(sync=True)
    step = traitlets.Int(-1).tag(sync=True)

    def __init__(self, lesson: MistakeLesson, **traits: Any) -> None:
        self._lesson = lesson
        self._prefix = scene.new_identity()
        super().__init__(lesson=_description(lesson), **traits)
        self.observe(lambda change: self._at_home(self._prepare), ["fix", "engine"])

    @traitlets.validate("fix")
    def _known_fix(self, proposal: dict[str, Any]) -> int:
        count = len(self._lesson.mistake.fixes)
        if not 0 <= proposal["value"] < count:
            raise traitlets.TraitError(f"fix must be from 0 to {count - 1}, not {proposal['value']}")
        return int(proposal["value"])

    @traitlets.validate("engine")
    def _known_engine(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in NAMES:
            raise traitlets.TraitError(f"engine must be one of {', '.join(NAMES)}, not {proposal['value']!r}")
        return str(proposal["value"])

    def _begin(self) -> None:
        self._prepare()

    def _prepare(self) -> None:
        """Run what is asked for and was not yet run."""
        wanted = [(position, self.engine) for position in (-1, self.fix)]
        fresh = {f"{engine} {position}": self._part(position, engine) for position, engine in wanted
                 if f"{engine} {position}" not in self.parts}  # fmt: skip
        if fresh:
            self.parts = {**self.parts, **fresh}
        self._keep()

    def _part(self, position: int, engine: str) -> dict[str, Any]:
        """One engine's run of the mistake (-1) or of a fix, and what both engines say to that program."""
        lesson = self._lesson
        said = []
        for name in NAMES:
            outcome = lesson.outcome(position, name)
            quiet = not outcome.said
            said.append({"engine": TITLES[name], "place": outcome.place, "said": outcome.said, "quiet": quiet})
        part: dict[str, Any] = {
            "said": said,
            "changes": [vars(one) for one in lesson.changes(max(position, 0), engine)],
        }
        outcome = lesson.outcome(position, engine)
        if outcome.recording is None:
            return {**part, "missing": outcome.missing}
        if outcome.recording.graph.values:
            shown = scene.scene(outcome.recording, identity=f"{self._prefix}{engine[0]}{position + 1}")
            if position < 0:
                mark(shown, lesson.marked(outcome.recording))
            part["scene"] = shown
        else:
            part["missing"] = NOT_YET
        part["title"] = (
            f"{'the mistake' if position < 0 else lesson.mistake.fixes[position].label} · {title(engine, 'cpu')}"
        )
        part["stdout"] = outcome.recording.stdout
        return part

    def _still(self) -> dict[str, str]:
        """Both pictures and the words, as a saved notebook keeps them."""
        told = self._lesson.mistake
        parts = [self.parts[f"{self.engine} {position}"] for position in (-1, self.fix)]
        pictures = [scene.frame(part["scene"], self.view, -1) for part in parts if "scene" in part]
        fixed = told.fixes[self.fix]
        words = f"{told.why} {SIGNS[fixed.kind]} {fixed.label}: {fixed.why}"
        still = fallback.picture(pictures, f"{told.number}. {told.title}.", words)
        return {"text/html": still, "text/plain": repr(self._lesson)}

    def _text(self) -> str:
        return f"viz.mistake({self._lesson.name!r})"


def mark(scene: dict[str, Any], key: str | None) -> None:
    """Mark an element of a scene at its last step as the place of an error."""
    if key is None:
        return
    for picture in scene["views"].values():
        last = picture["patches"][-1]
        last[key] = {**last.get(key, {}), "class": "error"}


def _description(lesson: MistakeLesson) -> dict[str, Any]:
    """What the browser needs to know of the mistake, whichever fix and engine are looked at."""
    told = lesson.mistake
    return {
        "title": f"{told.number}. {told.title}",
        "name": told.name,
        "why": told.why,
        "silent": told.silent,
        "code": told.program.splitlines(),
        "line": told.line,
        "engines": TITLES,
        "fixes": [
            {
                "label": fix.label,
                "kind": fix.kind,
                "sign": SIGNS[fix.kind],
                "why": fix.why,
                "code": told.fixed(fix).splitlines(),
                "changed": _changed(told.program.splitlines(), told.fixed(fix).splitlines()),
            }
            for fix in told.fixes
        ],
    }


def _changed(before: list[str], after: list[str]) -> list[int]:
    """The lines of `after`, from 0, that are not in `before` at that place."""
    from difflib import SequenceMatcher

    spans = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [line for how, _, _, start, end in spans if how != "equal" for line in range(start, end)]
