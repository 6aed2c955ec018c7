"""A slider on a tangent: the slope of a curve at a point, and the slope of a chord around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import traitlets

from viz.export import bundle
from viz.picture.chart import short, ticks
from viz.widgets.live import Live

POSITIONS = 61
SAMPLES = 400
STEPS = (0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 2.0)  # as a slider has them: small ones at its left


class Slope(Live):
    """Shows the table that `slope` makes. Traits: `index` (which x), `step` (which h); both can be set."""

    _esm = bundle.script("slope.js")
    _css = bundle.style("slope.js")

    table = traitlets.Dict().tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def _text(self) -> str:
        return f"The curve of {self.table['label']}. {self.table['at'][self.index]['sentence']}"


def slope(
    f: Callable[[Any], Any], label: str, low: float = -3.0, high: float = 3.0, x: float = 1.0, chords: bool = False
) -> Slope:
    """Show the curve of `f` from `low` to `high` with its tangent at `x`; with `chords` also the chord around x.

    `f` takes one number, a float or a tensor of `tinygrad_edu`; `label` names it in the picture. The tangent's slope is
    what `backward` computes; a chord goes from x - h to x + h. Raises `ValueError` if `low` is not below `high`.

    >>> slope(lambda x: x * x, "x²", x=3.0).table["at"][-1]["slope"]
    6.0
    """
    if not low < high:
        raise ValueError(f"low must be below high, but {low:g} is not below {high:g}")
    spread = (high - low) / SAMPLES
    curve = [(low + i * spread, float(f(low + i * spread))) for i in range(SAMPLES + 1)]
    heights = [y for _, y in curve if math.isfinite(y)]
    room = 0.06 * (max(heights) - min(heights) or 1.0)
    positions = [low + i * (high - low) / (POSITIONS - 1) for i in range(POSITIONS)]
    table = {
        "label": label,
        "curve": curve,
        "window": [low, high, min(heights) - room, max(heights) + room],
        "ticks": {"x": ticks(low, high), "y": ticks(min(heights), max(heights))},
        "steps": [f"{h:g}" for h in STEPS] if chords else [],
        "at": [_at(f, round(position, 6), STEPS if chords else ()) for position in positions],
    }
    nearest = min(range(POSITIONS), key=lambda i: abs(positions[i] - x))
    inside = [h for h in STEPS if low <= positions[nearest] - h and positions[nearest] + h <= high]
    return Slope(table=table, index=nearest, step=STEPS.index(inside[-1]) if chords and inside else 0)


def _at(f: Callable[[Any], Any], x: float, steps: Sequence[float]) -> dict[str, Any]:
    from tinygrad_edu.ops.creation.factories import from_numpy

    point = from_numpy(np.array(x)).requires_grad_()
    y = f(point)
    y.backward()
    assert point.grad is not None, "the curve does not depend on x"
    exact = point.grad.item()
    chords = []
    for h in steps:
        before, after = (x - h, float(f(x - h))), (x + h, float(f(x + h)))
        of_chord = (after[1] - before[1]) / (2 * h)
        chords.append(
            {
                "before": before,
                "after": after,
                "slope": of_chord,
                "sentence": f"Slope of the chord: ({short(after[1])} − {short(before[1])}) / {2 * h:g} "
                f"= {short(of_chord)}, off by {short(abs(of_chord - exact))}.",
            }
        )
    sentence = f"At x = {short(x)} the curve is at {short(y.item())} and its slope is {short(exact)}."
    return {"x": x, "x_text": short(x), "y": y.item(), "slope": exact, "sentence": sentence, "chords": chords}
