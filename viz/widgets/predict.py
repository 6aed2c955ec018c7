"""A prediction: a question that a lesson asks before it shows the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import traitlets

from viz.export import bundle
from viz.widgets import fallback
from viz.widgets.live import Live

CHOSEN = "application/vnd.tinygrad-edu.prediction+json"
"""What a saved notebook has of a prediction besides its words: the question, and the first choice."""


class HasSvg(Protocol):
    """What can be revealed: anything with an SVG picture, such as the result of `viz.draw`."""

    @property
    def svg(self) -> str: ...


class Prediction(Live):
    """Shows a question with its choices, replies to each choice, and reveals a picture once the right one is found.

    Traits: `question`, `choices` ([text, reply] pairs), `right` (the text of the right one), `reveal` (SVG text or ""),
    `tried` (the texts chosen so far, the newest last), `covers` (how many of the following cells are covered until a
    choice is made), `shown` (whether the reader asked to see them anyway).
    """

    _esm = bundle.script("predict.js")
    _css = bundle.style("predict.js")

    question = traitlets.Unicode().tag(sync=True)
    choices: traitlets.List[Any] = traitlets.List().tag(sync=True)
    right = traitlets.Unicode().tag(sync=True)
    reveal = traitlets.Unicode("").tag(sync=True)
    tried: traitlets.List[Any] = traitlets.List().tag(sync=True)
    covers = traitlets.Int(0).tag(sync=True)
    shown = traitlets.Bool(False).tag(sync=True)

    @traitlets.observe("tried")
    def _kept(self, change: Any) -> None:
        if len(change["new"]) == 1:  # the first choice is the prediction
            self._keep()

    def _still(self) -> dict[str, str]:
        first = self.tried[0] if self.tried else None
        said = f"Chosen first: {first}." if first else ""
        kept: dict[str, Any] = {
            "text/html": fallback.picture([], self._text(), said),
            "text/plain": f"{self._text()} {said}".strip(),
        }
        return kept | {CHOSEN: {"question": self.question, "first": first}}

    def _text(self) -> str:
        return f"Predict. {self.question}  ({' / '.join(choice for choice, _ in self.choices)})"


def predict(
    question: str, choices: Mapping[str, str], right: str, reveal: HasSvg | None = None, covers: int = 0
) -> Prediction:
    """Ask for a prediction; `choices` maps each choice to the reply it gets, `right` is the right one.

    Text between backticks is shown as code. `reveal` is a picture to show once the right choice is found. `covers` is
    how many of the next cells answer the question: their text and output stay covered until the reader chooses, or asks
    to see them anyway. Raises `ValueError` if `right` is not among the choices, or `covers` is negative.

    >>> predict("What is 2 + 2?", {"4": "Yes.", "5": "One too many."}, right="4").tried
    []
    """
    if right not in choices:
        raise ValueError(f"the right choice {right!r} is not among {', '.join(map(repr, choices))}")
    if covers < 0:
        raise ValueError(f"covers is the number of following cells to cover, so it cannot be {covers}")
    pairs: list[Any] = [[text, reply] for text, reply in choices.items()]
    svg = reveal.svg if reveal else ""
    return Prediction(question=question, choices=pairs, right=right, reveal=svg, covers=covers)
