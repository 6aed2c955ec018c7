"""Training runs on the map of the loss: where a loop goes, step by step, over two parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anywidget
import traitlets
from IPython.display import display

from viz.widgets import bundle
from viz.widgets.slope import short, ticks

COLUMNS, ROWS, LEVELS = 40, 28, 12

Point = tuple[float, float]


class Descent(anywidget.AnyWidget):
    """Shows the map that `descent` makes. Traits: `run` (which training run), `step` (how far); both may be set."""

    _esm = bundle.script("descent.js")
    _css = bundle.style("player.css", "predict.css", "slope.css", "descent.css")

    map = traitlets.Dict().tag(sync=True)
    run = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def _ipython_display_(self) -> None:
        """Show the live map, and where each run ends where no widget can be."""
        data, metadata = self._repr_mimebundle_() or ({}, {})
        text = "\n".join(f"{run['label']}: {run['sentences'][-1]}" for run in self.map["runs"])
        display({**data, "text/plain": text}, metadata=metadata, raw=True)


def descent(
    loss: Callable[[float, float], float],
    runs: Mapping[str, Sequence[Point]],
    window: tuple[float, float, float, float],
    names: tuple[str, str] = ("w", "b"),
) -> Descent:
    """Show `runs`, each the points where a training run has been, on the map of `loss`.

    `loss` takes two numbers; `window` is (left, right, bottom, top). The stronger the
    colour, the lower the loss. Raises `ValueError` when there is no run, or a run has no point.

    >>> descent(lambda w, b: w * w + b * b, {"one step": [(1.0, 1.0), (0.0, 0.0)]}, (-2, 2, -2, 2)).map["columns"]
    40
    """
    if not runs or not all(len(points) for points in runs.values()):
        raise ValueError("there is no training run to show: runs maps a label to the points of a run")
    left, right, bottom, top = window
    centres = [
        (left + (column + 0.5) * (right - left) / COLUMNS, top - (row + 0.5) * (top - bottom) / ROWS)
        for row in range(ROWS)
        for column in range(COLUMNS)
    ]
    heights = [math.log(max(loss(*centre), 1e-12)) for centre in centres]
    low, high = min(heights), max(heights)
    steep = (high - low) or 1.0
    levels = [math.floor(LEVELS * (high - height) / steep) / LEVELS for height in heights]
    shown = [
        {
            "label": label,
            "points": [(float(x), float(y)) for x, y in points],
            "sentences": [
                f"Step {step}: {names[0]} = {short(x)}, {names[1]} = {short(y)}, loss = {short(loss(x, y))}."
                for step, (x, y) in enumerate(points)
            ],
        }
        for label, points in runs.items()
    ]
    drawn: dict[str, Any] = {
        "cells": [round(0.75 * level, 3) for level in levels],
        "columns": COLUMNS,
        "rows": ROWS,
        "window": [left, right, bottom, top],
        "names": list(names),
        "ticks": {"x": ticks(left, right), "y": ticks(bottom, top)},
        "runs": shown,
    }
    return Descent(map=drawn, step=max(len(run["points"]) for run in shown) - 1)
