"""The picture of training runs as SVG: the loss surface with every path, the loss and the gradients step by step.

Every element of a step carries `data-run` and `data-step`, so that a page shows a run up to a step without drawing.
"""

from __future__ import annotations

import math

from viz.experiments.train import Run, Surface, Training, norm
from viz.picture.axis import short, ticks
from viz.picture.svg import escape

LEVELS = 12
WIDTH, HEIGHT, GAP = 980.0, 380.0, 16.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 10.0, 22.0, 36.0
# Each run by colour and dash; the rest of the looks follows the page's theme where there is one.
STYLE = """<style>
.tgc text{font:12px system-ui,sans-serif;fill:var(--tgv-muted,#57606a)}
.tgc .head{font-weight:600;fill:var(--tgv-text,#1b1f24)}
.tgc .plane{fill:none;stroke:var(--tgv-line,#d5d9df)}
.tgc .cell{fill:var(--tgv-blue,#0072b2);shape-rendering:crispEdges}
.tgc .path{fill:none;stroke-width:2}
.tgc .curve{fill:none;stroke:var(--tgv-blue,#0072b2);stroke-width:2}
.tgc .run0{stroke:var(--tgv-flow,#d55e00)}.tgc .run1{stroke:var(--tgv-text,#1b1f24);stroke-dasharray:6 4}
.tgc .run2{stroke:var(--tgv-good,#1a7f4b);stroke-dasharray:2 3}.tgc .run3{stroke:var(--tgv-keyword,#6f3fa8);stroke-dasharray:9 3 2 3}
.tgc .dot{fill:var(--tgv-bg,#fff);stroke-width:1.6;stroke-dasharray:none}
</style>"""
STYLES = 4  # runs that have looks of their own
NAMED = 4  # parameters whose lines have their names on them


class _Panel:
    """One pair of axes at a place of the picture."""

    def __init__(self, box: tuple[float, float, float, float], window: tuple[float, float, float, float]) -> None:
        self.x, self.y, self.wide, self.high = box
        self.left, self.right, self.bottom, self.top = window
        self.parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.left) / ((self.right - self.left) or 1)
        up = (self.top - y) / ((self.top - self.bottom) or 1)
        # A path that leaves the window goes on for a little outside, where it is clipped.
        return self.x + self.wide * min(2.0, max(-1.0, across)), self.y + self.high * min(2.0, max(-1.0, up))

    def axes(self, head: str, below: str, marks: list[tuple[float, str]]) -> None:
        self.parts.append(f'<text class="head" x="{self.x:g}" y="{self.y - 7:g}">{escape(head)}</text>')
        for tick in ticks(self.left, self.right):
            x, _ = self.at(tick, 0)
            self.parts.append(
                f'<text x="{x:.1f}" y="{self.y + self.high + 15:g}" text-anchor="middle">{short(tick)}</text>'
            )
        for height, text in marks:
            _, y = self.at(0, height)
            self.parts.append(f'<text x="{self.x - 6:g}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        middle, low = self.x + self.wide / 2, self.y + self.high + 30
        self.parts.append(f'<text x="{middle:g}" y="{low:g}" text-anchor="middle">{escape(below)}</text>')
        self.parts.append(
            f'<rect class="plane" x="{self.x:g}" y="{self.y:g}" width="{self.wide:g}" height="{self.high:g}"/>'
        )

    def path(self, run: int, points: list[tuple[float, float] | None], dots: bool) -> str:
        """A line from each point to the next; None and what is not finite is left out."""
        parts = []
        before: tuple[float, float] | None = None
        for step, point in enumerate(points):
            if point is None or not all(map(math.isfinite, point)):
                before = None
                continue
            x, y = self.at(*point)
            where = f'data-run="{run}" data-step="{step}"'
            look = f"run{min(run, STYLES - 1)}"
            if before is not None:
                line = f'x1="{before[0]:.1f}" y1="{before[1]:.1f}" x2="{x:.1f}" y2="{y:.1f}"'
                parts.append(f'<line class="path {look}" {where} {line}/>')
            if dots or step == len(points) - 1:
                parts.append(f'<circle class="dot {look}" {where} cx="{x:.1f}" cy="{y:.1f}" r="{2.6 if dots else 4}"/>')
            before = (x, y)
        return "".join(parts)

    def drawn(self, paths: str) -> str:
        box = f'x="{self.x:g}" y="{self.y:g}" width="{self.wide:g}" height="{self.high:g}"'
        view = f'viewBox="{self.x:g} {self.y:g} {self.wide:g} {self.high:g}"'
        return "".join(self.parts) + f"<svg {box} {view}>{paths}</svg>"


def picture(training: Training, surface: Surface | None) -> str:
    """All runs of `training` as one SVG: left the surface (where there is one), right the loss and the gradients."""
    runs = training.runs
    if surface is not None:
        side = WIDTH * 0.53
        boxes = [_box(side, 0, WIDTH - side, HEIGHT / 2), _box(side, HEIGHT / 2, WIDTH - side, HEIGHT / 2)]
        parts = [_surface(_box(0, 0, side - GAP, HEIGHT), surface, runs)]
    else:
        parts, boxes = [], [_box(0, 0, WIDTH / 2, HEIGHT), _box(WIDTH / 2, 0, WIDTH / 2, HEIGHT)]
    longest = max(2, max((len(run.steps) for run in runs), default=2))
    losses = [(index, "", [step.loss for step in run.steps]) for index, run in enumerate(runs)]
    parts.append(_curves(boxes[0], "loss", losses, longest))
    gradients = [(index, name, _sizes(run, name)) for index, run in enumerate(runs) for name in _parameters(run)]
    parts.append(_curves(boxes[1], "size of each parameter's gradient", gradients, longest))
    told = escape("; ".join(f"{run.label}: {training.sentence(run, len(run.steps) - 1)}" for run in runs if run.steps))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tgc" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" '
        f'height="{HEIGHT:g}" role="img" aria-label="{told}">{STYLE}{"".join(parts)}</svg>'
    )


def _box(x: float, y: float, wide: float, high: float) -> tuple[float, float, float, float]:
    return x + LEFT, y + TOP, wide - LEFT - RIGHT, high - TOP - BOTTOM


def _parameters(run: Run) -> list[str]:
    return list(run.steps[0].values) if run.steps else []


def _sizes(run: Run, name: str) -> list[float]:
    """The size of a parameter's gradient at each step; NaN where there is none."""
    found = [step.gradients[name] for step in run.steps]
    return [math.nan if gradient is None else norm(gradient) for gradient in found]


def _curves(
    box: tuple[float, float, float, float], head: str, series: list[tuple[int, str, list[float]]], longest: int
) -> str:
    """Numbers over the steps, each with its run and its name; a logarithmic scale where they span a factor of 100."""
    finite = [number for _, _, numbers in series for number in numbers if math.isfinite(number)]
    positive = [number for number in finite if number > 0]
    scaled = bool(positive) and len(positive) == len(finite) and max(positive) > 100 * min(positive)
    scale = math.log10 if scaled else float
    low, high = (min(map(scale, finite)), max(map(scale, finite))) if finite else (0.0, 1.0)
    room = 0.06 * (high - low) or 1.0
    panel = _Panel(box, (0.0, longest - 1.0, low - room, high + room))
    heights = [height for height in ticks(low, high) if not scaled or height == int(height)][
        :: 2 if box[3] < 150 else 1
    ]
    panel.axes(head, "step", [(height, f"{10.0**height:g}" if scaled else short(height)) for height in heights])
    lines = []
    for place, (run, name, numbers) in enumerate(series):
        points = [(float(step), scale(y)) if math.isfinite(y) else None for step, y in enumerate(numbers)]
        lines.append(panel.path(run, points, False))
        seen = [point for point in points if point is not None]
        if name and run == 0 and place < NAMED and seen:  # the other runs' lines have the same order
            x, y = panel.at(*seen[int(len(seen) * (0.9 - 0.2 * place))])  # each at a place of its own
            lines.append(f'<text x="{x:.1f}" y="{y - 7:.1f}" text-anchor="middle">{escape(name)}</text>')
    return panel.drawn("".join(lines))


def _surface(box: tuple[float, float, float, float], surface: Surface, runs: list[Run]) -> str:
    if len(surface.names) == 1:
        return _slice(box, surface, runs)
    panel = _Panel(box, surface.window)
    marks = [(tick, short(tick)) for tick in ticks(surface.window[2], surface.window[3])]
    panel.axes(f"{surface.names[1]} (upwards); the stronger the blue, the lower the loss", surface.names[0], marks)
    rows = [
        [math.log(max(height, 1e-12)) if height == height else math.inf for height in row] for row in surface.heights
    ]
    finite = [height for row in rows for height in row if math.isfinite(height)] or [0.0]
    low, steep = min(finite), (max(finite) - min(finite)) or 1.0
    wide, high = panel.wide / len(rows[0]), panel.high / len(rows)
    cells = []
    for row, heights in enumerate(rows):
        levels = [
            math.floor(LEVELS * max(0.0, 1 - (height - low) / steep)) if height < math.inf else 0 for height in heights
        ]
        start = 0
        for column in range(1, len(levels) + 1):  # equal neighbours are one rectangle
            if column == len(levels) or levels[column] != levels[start]:
                place = f'x="{panel.x + start * wide:.1f}" y="{panel.y + row * high:.1f}"'
                size = f'width="{(column - start) * wide:.1f}" height="{high:.1f}"'
                cells.append(f'<rect class="cell" {place} {size} fill-opacity="{0.75 * levels[start] / LEVELS:.3f}"/>')
                start = column
    paths = [panel.path(index, _points(run), True) for index, run in enumerate(runs)]
    return panel.drawn("".join(cells + paths))


def _slice(box: tuple[float, float, float, float], surface: Surface, runs: list[Run]) -> str:
    heights = surface.heights[0]
    finite = [height for height in heights if math.isfinite(height)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = 0.06 * (high - low) or 1.0
    left, right = surface.window[:2]
    panel = _Panel(box, (left, right, low - room, high + room))
    panel.axes("loss", surface.names[0], [(tick, short(tick)) for tick in ticks(low, high)])
    spread = (right - left) / (len(heights) - 1)
    places = [panel.at(left + i * spread, height) for i, height in enumerate(heights) if math.isfinite(height)]
    curve = "".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(places))
    paths = [
        panel.path(index, [(next(iter(step.values.values()))[0], step.loss) for step in run.steps], True)
        for index, run in enumerate(runs)
    ]
    return panel.drawn(f'<path class="curve" d="{curve}"/>' + "".join(paths))


def _points(run: Run) -> list[tuple[float, float] | None]:
    found: list[tuple[float, float] | None] = []
    for step in run.steps:
        x, y = (number for numbers in step.values.values() for number in numbers)
        found.append((x, y))
    return found
