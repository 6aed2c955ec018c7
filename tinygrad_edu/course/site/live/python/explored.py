"""The program of explore.html: its explorer, and what is wrong with it. The page gets nothing but plain data."""

from __future__ import annotations

import contextlib
import functools
import json
from typing import Any

import kernel
import later
import tape

_SHOWN: list[Any] = []  # the explorer on the page
_OF_A_LINK = ("view", "step", "split")
HERE = "The page runs the names of `torch` on tinygrad_edu: PyTorch itself does not run in a browser."


def prepare() -> None:
    """Say why PyTorch is missing here in this page's words: no recordings go with a link."""
    tape.NOT_RECORDED = HERE


def open(about: str) -> None:
    """Show the explorer over a program, in place of the one before. A program that cannot be read is told to the page.

    Args:
        about: JSON with `program`, and as far as the link has them `state`, `view`, `step` and `split`.
    """
    asked = json.loads(about)
    with kernel.output():
        try:
            _open(asked)
        except later.NotHere:
            raise
        except BaseException as error:
            _refused(error)


def _open(asked: dict[str, Any]) -> None:
    for one in _SHOWN:
        one.close()
    _SHOWN.clear()
    given = {name: asked[name] for name in _OF_A_LINK if name in asked}
    made = _linked()(asked["program"], **given)
    _SHOWN.append(made)
    if asked.get("state"):
        try:
            made.press(asked["state"])
        except (TypeError, AttributeError, LookupError) as error:
            raise ValueError("the switches in this link fit no program: a part of it was changed") from error
    kernel.send({"type": "explored", "model": made.model_id})


@functools.cache
def _linked() -> Any:
    from viz.frames.scene import scene
    from viz.picture.fit import Room
    from viz.widgets.explorer import Explorer

    class Linked(Explorer):
        """An explorer that opens with the switches of a link, and looks as it did to whoever pressed them.

        No switch turns a picture round: for every room the bare program decides how the graph is laid out.
        """

        _bare: dict[str, Any] | None = None

        def __init__(self, program: str, **traits: Any) -> None:
            super().__init__(program, **traits)
            self._bare = self._recordings

        def press(self, state: dict[str, Any]) -> None:
            """Set all switches, in one step that can be undone."""
            self.history = {"labels": ["the switches of the link"], "states": [{}, None], "at": 1}
            self.state = state

        def _choose_place(self, recordings: dict[str, Any], anew: bool = False) -> None:
            self._bare = None if anew else self._bare
            super()._choose_place(self._bare or recordings, anew)

        def _fit(self) -> None:
            for recording in (self._bare or {}).values():
                views = next(
                    (tuple(side["scene"]["offers"]) for side in self.result.get("sides", ()) if "scene" in side), ()
                )
                scene(recording, views=views, kept=self._kept, rooms=(Room(*self.room),))
            super()._fit()

    return Linked


def _refused(error: BaseException) -> None:
    line = getattr(error, "line", None)
    text = str(error).removeprefix(f"line {line}: ")  # the page says the line itself
    kernel.send({"type": "refused", "text": text or type(error).__name__, "line": line})


def diagnose(program: str) -> None:
    """Run a program under observation and send what is wrong with it, as data."""
    import viz

    with kernel.output():
        try:
            report = viz.diagnose(program, engine="tinygrad_edu")
            kernel.send({"type": "report", **_told(report)})
        except later.NotHere:
            raise
        except BaseException as error:
            _refused(error)


def _told(report: Any) -> dict[str, Any]:
    found = []
    for one in report.findings:
        repaired = ""
        with contextlib.suppress(ValueError):
            repaired = report.repaired(one)
        found.append(
            {
                "kind": one.kind,
                "line": one.line,
                "certain": one.certain,
                "code": report.observation.places.code(one.line) or "",
                "message": next(text for kind, text in report.told_of(one) if not kind),
                "fix": report.told(one.fix),
                "tried": report.told(one.tried),
                "repaired": repaired,
            }
        )
    return {"headline": report.headline, "found": found, "error": report.ended, "looked_at": report.looked_at}
