"""Training runs as SVG: the loss surface with every path, and the loss and gradients over the steps.

A page shows a run up to a step without drawing it again: each piece of a path on the surface has `data-run` and
`data-step`; a frame with `data-last` covers all steps of a chart, and reducing its width shows fewer.
"""

from __future__ import annotations

import math

import numpy as np

from viz.experiments.surface import Surface
from viz.experiments.train import Run, Training, point
from viz.picture.chart import Panel, Scale, contour, path, short, ticks
from viz.picture.svg import escape

LEVELS = 12
WIDTH, HEIGHT, GAP = 980.0, 380.0, 16.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 10.0, 22.0, 36.0
ASTRAY = 1e3  # a run that grows by more than this factor leaves its panel
NAMED = 4  # parameters whose lines carry their names
# Each run has a colour and a dash pattern; the rest of the style follows the page's theme, if there is one.
STYLE = """<style>
.tgc text{font:12px system-ui,sans-serif;fill:var(--tgv-muted,#57606a)}
.tgc .head{font-weight:600;fill:var(--tgv-text,#1b1f24)}
.tgc .name{paint-order:stroke;stroke:var(--tgv-bg,#fff);stroke-width:3px}
.tgc .plane{fill:none;stroke:var(--tgv-line,#d5d9df)}
.tgc .contour{fill:none;stroke:var(--tgv-blue,#0072b2)}
.tgc .path{fill:none;stroke-width:2}
.tgc .curve{fill:none;stroke:var(--tgv-blue,#0072b2);stroke-width:2}
.tgc .run0{stroke:var(--tgv-flow,#d55e00)}
.tgc .run1{stroke:var(--tgv-text,#1b1f24);stroke-dasharray:6 4}
.tgc .run2{stroke:var(--tgv-good,#1a7f4b);stroke-dasharray:2 3}
.tgc .run3{stroke:var(--tgv-keyword,#6f3fa8);stroke-dasharray:9 3 2 3}
.tgc .run4{stroke:var(--tgv-bad,#b3261e);stroke-dasharray:14 4}
.tgc .run5{stroke:var(--tgv-muted,#57606a);stroke-dasharray:3 3 9 3}
.tgc .dot{fill:var(--tgv-bg,#fff);stroke-width:1.6;stroke-dasharray:none}
</style>"""


def picture(training: Training, surface: Surface | None) -> str:
    """All runs of `training` as one SVG: on the left the surface, if any; on the right the loss and the gradients."""
    runs = training.runs
    if surface is not None:
        side = WIDTH * 0.53
        boxes = [_box(side, 0, WIDTH - side, HEIGHT / 2), _box(side, HEIGHT / 2, WIDTH - side, HEIGHT / 2)]
        parts = [_surface(_box(0, 0, side - GAP, HEIGHT), surface, runs)]
    else:
        parts, boxes = [], [_box(0, 0, WIDTH / 2, HEIGHT), _box(WIDTH / 2, 0, WIDTH / 2, HEIGHT)]
    longest = max((len(run.steps) for run in runs), default=0)
    losses = [(index, "", [step.loss for step in run.steps]) for index, run in enumerate(runs)]
    parts.append(_curves(boxes[0], "loss", losses, longest))
    gradients = [
        (index, name, [_number(step.gradient_norms.get(name)) for step in run.steps])
        for index, run in enumerate(runs)
        for name in (run.steps[0].norms if run.steps else ())
    ]
    parts.append(_curves(boxes[1], "size of each parameter's gradient", gradients, longest))
    told = escape("; ".join(f"{run.label}: {training.sentence(run, len(run.steps) - 1)}" for run in runs if run.steps))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tgc" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" '
        f'height="{HEIGHT:g}" role="img" aria-label="{told}">{STYLE}{"".join(parts)}</svg>'
    )


def _box(x: float, y: float, wide: float, high: float) -> tuple[float, float, float, float]:
    return x + LEFT, y + TOP, wide - LEFT - RIGHT, high - TOP - BOTTOM


def _number(size: float | None) -> float:
    return math.nan if size is None else size


def _curves(
    box: tuple[float, float, float, float], head: str, series: list[tuple[int, str, list[float]]], longest: int
) -> str:
    """Numbers over the steps, each with its run and its name; on a logarithmic scale if they span a factor of 100."""
    finite = [number for _, _, numbers in series for number in numbers if math.isfinite(number)]
    first = max((abs(numbers[0]) for _, _, numbers in series if numbers and math.isfinite(numbers[0])), default=1.0)
    calm = [number for number in finite if abs(number) <= ASTRAY * (first or 1.0)] or [0.0, 1.0]
    scale = Scale(calm)
    room = 0.06 * (scale.high - scale.low) or 1.0
    panel = Panel(box, (0.0, max(1.0, longest - 1.0), scale.low - room, scale.high + room))
    panel.axes(head, "step", scale.marks(4 if box[3] < 150 else 9))
    lines, names = [], []
    for place, (run, name, numbers) in enumerate(series):
        points = [(float(step), scale.up(number)) for step, number in enumerate(numbers)]
        lines.append(panel.line(run, points))
        seen = [each for each in points if scale.low <= each[1] <= scale.high]
        if name and run == 0 and place < NAMED and seen:  # the lines of the other runs have the same order
            x, y = panel.at(*seen[int(len(seen) * (0.9 - 0.2 * place))])  # each at a different position
            anchor = "end" if x > panel.x + 0.85 * panel.wide else "middle"
            names.append(f'<text class="name" x="{x:.1f}" y="{y - 7:.1f}" text-anchor="{anchor}">{escape(name)}</text>')
    return panel.drawn("".join(lines), f' data-last="{max(1, longest - 1)}"') + "".join(names)


def _surface(box: tuple[float, float, float, float], surface: Surface, runs: list[Run]) -> str:
    if len(surface.names) == 1:
        return _slice(box, surface, runs)
    panel = Panel(box, surface.window)
    marks = [(tick, short(tick)) for tick in ticks(surface.window[2], surface.window[3])]
    panel.axes(
        f"{surface.names[1]} (upwards), with lines of equal loss: the stronger, the lower", surface.names[0], marks
    )
    known = [height for row in surface.heights for height in row if math.isfinite(height)] or [0.0]
    floor, span = min(known), (max(known) - min(known)) or 1.0
    # Contours at powers of ten above the lowest loss: differences are small near the minimum, unimportant far from it.
    heights = np.array(surface.heights)
    high, wide = heights.shape
    with np.errstate(all="ignore"):
        rows = np.log(heights - floor + 1e-4 * span)
    low, steep = math.log(1e-4 * span), math.log((max(known) - floor + 1e-4 * span) / (1e-4 * span)) or 1.0
    lines = []
    for number in range(1, LEVELS):
        found = [
            [(panel.x + panel.wide * (x + 0.5) / wide, panel.y + panel.high * (y + 0.5) / high) for x, y in line]
            for line in contour(rows - (low + steep * number / LEVELS))
        ]
        lines.append(f'<path class="contour" stroke-opacity="{1 - 0.8 * number / LEVELS:.2f}" d="{path(found)}"/>')
    paths = [panel.walk(index, [(x, y) for x, y in map(point, run.steps)]) for index, run in enumerate(runs)]
    return panel.drawn("".join(lines + paths))


def _slice(box: tuple[float, float, float, float], surface: Surface, runs: list[Run]) -> str:
    heights = surface.heights[0]
    finite = [height for height in heights if math.isfinite(height)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = 0.06 * (high - low) or 1.0
    left, right = surface.window[:2]
    panel = Panel(box, (left, right, low - room, high + room))
    panel.axes("loss", surface.names[0], [(tick, short(tick)) for tick in ticks(low, high)])
    spread = (right - left) / (len(heights) - 1)
    curve = path([[panel.at(left + i * spread, height) for i, height in enumerate(heights) if math.isfinite(height)]])
    paths = [
        panel.walk(index, [(*point(step), step.loss) for step in run.steps])  # type: ignore[misc]
        for index, run in enumerate(runs)
    ]
    return panel.drawn(f'<path class="curve" d="{curve}"/>' + "".join(paths))
