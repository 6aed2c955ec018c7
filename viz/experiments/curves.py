"""Training runs as SVG: the loss surface with every path, and the loss and gradients over the steps.

A page shows a run up to a step without drawing it again: each piece of a path on the surface has `data-run` and `data-step`;
a frame with `data-last` covers all steps of a chart, and reducing its width shows fewer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from viz.experiments.surface import Surface
from viz.experiments.train import Run, Training, point
from viz.picture.axis import short, ticks
from viz.picture.svg import escape

LEVELS = 12
WIDTH, HEIGHT, GAP = 980.0, 380.0, 16.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 10.0, 22.0, 36.0
STOPS = 400  # steps that can be selected; a longer run skips some
DOTTED = 200  # up to this many steps each have a dot on the surface
ASTRAY = 1e3  # a run that grows by more than this factor leaves its panel
DECADES = 12  # the most that a logarithmic scale shows
NAMED = 4  # parameters whose lines carry their names
LOOKS = 6  # number of distinguishable styles
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


def stops(count: int) -> list[int]:
    """The steps of `count` that can be selected: all of them, or evenly spaced ones and the last."""
    stride = max(1, math.ceil(count / STOPS))
    found = list(range(0, count, stride))
    return found if not found or found[-1] == count - 1 else [*found, count - 1]


class Panel:
    """One pair of axes at a position in the picture."""

    def __init__(self, box: tuple[float, float, float, float], window: tuple[float, float, float, float]) -> None:
        self.x, self.y, self.wide, self.high = box
        self.left, self.right, self.bottom, self.top = window
        self.parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.left) / ((self.right - self.left) or 1)
        up = (self.top - y) / ((self.top - self.bottom) or 1)
        # A path that leaves the window continues a little outside, where it is clipped.
        return self.x + self.wide * min(2.0, max(-1.0, across)), self.y + self.high * min(2.0, max(-1.0, up))

    def axes(self, head: str, below: str, marks: list[tuple[float, str]], counted: bool = False) -> None:
        """The frame with its labels; `counted` if the horizontal axis has only whole numbers."""
        self.parts.append(f'<text class="head" x="{self.x:g}" y="{self.y - 7:g}">{escape(head)}</text>')
        for tick in ticks(self.left, self.right):
            if counted and tick != int(tick):
                continue
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

    def line(self, run: int, points: list[tuple[float, float]]) -> str:
        """A line through the points; where one is NaN it has a gap."""
        text, pen = "", "M"
        for each in points:
            if any(map(math.isnan, each)):
                pen = "M"
                continue
            x, y = self.at(*each)
            text += f"{pen}{x:.1f} {y:.1f}"
            pen = "L"
        return f'<path class="path run{run % LOOKS}" data-run="{run}" d="{text}"/>' if text else ""

    def walk(self, run: int, points: list[tuple[float, float]]) -> str:
        """A path with a separate element for each stop, so that it can be shown up to any of them."""
        parts: list[str] = []
        length = 0.0  # so far, because the dash pattern continues from element to element
        drawn: list[tuple[float, float]] = []
        where = iter(stops(len(points)))
        stop = next(where, None)
        for step, each in enumerate(points):
            x, y = self.at(*each) if all(map(math.isfinite, each)) else (math.inf, math.inf)
            if abs(x - self.x - self.wide / 2) < 1.5 * self.wide and abs(y - self.y - self.high / 2) < 1.5 * self.high:
                drawn.append((x, y))
            else:  # too far outside for its line to have the right direction
                drawn.clear()
            if step != stop:
                continue
            stop = next(where, None)
            mark = f'data-run="{run}" data-step="{step}"'
            if len(drawn) > 1:
                text = "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
                dashes = f' stroke-dashoffset="{-length:.0f}"' if run % LOOKS else ""
                parts.append(f'<path class="path run{run % LOOKS}" {mark}{dashes} d="M{text}"/>')
                length += sum(math.dist(a, b) for a, b in pairwise(drawn))
            if drawn and (len(points) <= DOTTED or step == len(points) - 1):
                x, y = drawn[-1]
                parts.append(f'<circle class="dot run{run % LOOKS}" {mark} cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>')
            if drawn and step in (0, len(points) - 1):
                x, y = drawn[-1]
                end = "start" if step == 0 else "end"
                parts.append(f'<text class="name" {mark} x="{x + 6:.1f}" y="{y - 6:.1f}">{end}</text>')
            del drawn[:-1]
        return "".join(parts)

    def drawn(self, paths: str, marks: str = "") -> str:
        box = f'x="{self.x:g}" y="{self.y:g}" width="{self.wide:g}" height="{self.high:g}"'
        view = f'viewBox="{self.x:g} {self.y:g} {self.wide:g} {self.high:g}"'
        return "".join(self.parts) + f"<svg {box} {view}{marks}>{paths}</svg>"


def picture(training: Training, surface: Surface | None) -> str:
    """All runs of `training` as one SVG: on the left the surface (if there is one), on the right the loss and the gradients."""
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
    low, high = min(calm), max(calm)
    positive = [number for number in calm if number > 0]
    scaled = low >= 0 and bool(positive) and high > 100 * min(positive)
    if scaled:
        low, high = math.log10(max(min(positive), high * 10.0**-DECADES)), math.log10(high)
    room = 0.06 * (high - low) or 1.0
    panel = Panel(box, (0.0, max(1.0, longest - 1.0), low - room, high + room))
    heights = [height for height in ticks(low, high) if not scaled or height == int(height)]
    heights = heights[:: 2 if box[3] < 150 and len(heights) > 2 else 1]
    panel.axes(head, "step", [(height, _power(height) if scaled else short(height)) for height in heights])

    def up(number: float) -> float:
        if not scaled or not math.isfinite(number):
            return number
        return math.log10(number) if number > 0 else -math.inf

    lines, names = [], []
    for place, (run, name, numbers) in enumerate(series):
        points = [(float(step), up(number)) for step, number in enumerate(numbers)]
        lines.append(panel.line(run, points))
        seen = [each for each in points if low <= each[1] <= high]
        if name and run == 0 and place < NAMED and seen:  # the lines of the other runs have the same order
            x, y = panel.at(*seen[int(len(seen) * (0.9 - 0.2 * place))])  # each at a different position
            anchor = "end" if x > panel.x + 0.85 * panel.wide else "middle"
            names.append(f'<text class="name" x="{x:.1f}" y="{y - 7:.1f}" text-anchor="{anchor}">{escape(name)}</text>')
    return panel.drawn("".join(lines), f' data-last="{max(1, longest - 1)}"') + "".join(names)


def _power(exponent: float) -> str:
    return short(10.0**exponent) if -4 <= exponent < 5 else f"1e{exponent:.0f}".replace("-", "−")


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
    # Contours at powers of ten above the lowest loss: differences near the minimum are small, and those far away do not matter.
    rows = [[math.log(height - floor + 1e-4 * span) if math.isfinite(height) else math.inf for height in row] for row in surface.heights]  # fmt: skip
    low, steep = math.log(1e-4 * span), math.log((max(known) - floor + 1e-4 * span) / (1e-4 * span)) or 1.0
    lines = []
    for number in range(1, LEVELS):
        drawn = "".join(_contour(panel, rows, low + steep * number / LEVELS))
        lines.append(f'<path class="contour" stroke-opacity="{1 - 0.8 * number / LEVELS:.2f}" d="{drawn}"/>')
    paths = [panel.walk(index, [(x, y) for x, y in map(point, run.steps)]) for index, run in enumerate(runs)]
    return panel.drawn("".join(lines + paths))


def _contour(panel: Panel, rows: list[list[float]], level: float) -> Iterator[str]:
    """Where the heights cross a level: in each square of four neighbours a segment, or two, between its edges."""
    for y, (upper, lower) in enumerate(pairwise(rows)):
        for x, square in enumerate(zip(pairwise(upper), pairwise(lower), strict=True)):
            corners = [(0, 0, square[0][0]), (1, 0, square[0][1]), (1, 1, square[1][1]), (0, 1, square[1][0])]
            crossed = []
            for (left, top, one), (right, low, other) in pairwise([*corners, corners[0]]):
                if (one < level) != (other < level) and math.isfinite(one + other):
                    part = (level - one) / (other - one)
                    across = (x + 0.5 + left + part * (right - left)) / len(upper)
                    down = (y + 0.5 + top + part * (low - top)) / len(rows)
                    crossed.append(f"{panel.x + panel.wide * across:.1f} {panel.y + panel.high * down:.1f}")
            yield from (f"M{crossed[at]}L{crossed[at + 1]}" for at in range(0, len(crossed) - 1, 2))


def _slice(box: tuple[float, float, float, float], surface: Surface, runs: list[Run]) -> str:
    heights = surface.heights[0]
    finite = [height for height in heights if math.isfinite(height)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = 0.06 * (high - low) or 1.0
    left, right = surface.window[:2]
    panel = Panel(box, (left, right, low - room, high + room))
    panel.axes("loss", surface.names[0], [(tick, short(tick)) for tick in ticks(low, high)])
    spread = (right - left) / (len(heights) - 1)
    places = [panel.at(left + i * spread, height) for i, height in enumerate(heights) if math.isfinite(height)]
    curve = "".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(places))
    paths = [panel.walk(index, [(*point(step), step.loss) for step in run.steps]) for index, run in enumerate(runs)]  # type: ignore[misc]
    return panel.drawn(f'<path class="curve" d="{curve}"/>' + "".join(paths))
